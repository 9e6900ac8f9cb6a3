//! What an upsert inserts.

use super::check;

#[test]
fn set_answers_like_the_server() {
    check(
        r#"
 ; {"x": 1} ; {"$set": {"_id": {"$a": 1}}} ;  => 52 _id fields may not contain '$'-prefixed fields: $a is not valid for storage.
 ; {"_id": {"$a": 1}} ; {"$set": {"b": 1}} ;  => 2 unknown operator: $a
 ; {"_id": {"$eq": {"$a": 1}}} ; {"$set": {"b": 1}} ;  => 52 _id fields may not contain '$'-prefixed fields: $a is not valid for storage.
 ; {"x": 1} ; {"$set": {"_id": [1]}} ;  => 53 The '_id' value cannot be of type array
 ; {"_id": [1]} ; {"$set": {"b": 1}} ;  => 53 The '_id' value cannot be of type array
 ; {"_id": {"$eq": [1]}} ; {"$set": {"b": 1}} ;  => 53 The '_id' value cannot be of type array
 ; {"x": 1} ; {"$set": {"_id": {"$regularExpression": {"pattern": "a", "options": ""}}}} ;  => 53 The '_id' value cannot be of type regex
 ; {"_id": {"$regularExpression": {"pattern": "a", "options": ""}}} ; {"$set": {"b": 1}} ;  => {"b": 1}
 ; {"_id": {"$eq": {"$regularExpression": {"pattern": "a", "options": ""}}}} ; {"$set": {"b": 1}} ;  => 53 The '_id' value cannot be of type regex
 ; {"g": 5} ; {"$set": {"g.$": 0}} ;  => 2 The positional operator did not find the match needed from the query.
 ; {"g": 5} ; {"$set": {"g.$[]": 0}} ;  => 2 Cannot apply array updates to non-array element g: 5
 ; {"g": [5]} ; {"$set": {"g.$[]": 0}} ;  => {"g": [0]}
 ; {"g": [5]} ; {"$set": {"g.$[a]": 0}} ; [{"a": 5}] => {"g": [0]}
 ; {"a": 1} ; {"$set": {"z": 1}} ;  => {"a": 1, "z": 1}
 ; {"_id": 9, "b": 2, "a": 1} ; {"$set": {"z": 1}} ;  => {"_id": 9, "a": 1, "b": 2, "z": 1}
 ; {"a.b": 1, "a.c": 2} ; {"$set": {"z": 1}} ;  => {"a": {"b": 1, "c": 2}, "z": 1}
 ; {"a.b": 1, "a": {"c": 1}} ; {"$set": {"z": 1}} ;  => 54 cannot infer query fields to set, both paths 'a.b' and 'a' are matched
 ; {"a": {"b": 1}, "a.c": 1} ; {"$set": {"z": 1}} ;  => 54 cannot infer query fields to set, both paths 'a.c' and 'a' are matched
 ; {"a": {"$eq": 1}} ; {"$set": {"z": 1}} ;  => {"a": 1, "z": 1}
 ; {"a": {"$in": [1]}} ; {"$set": {"z": 1}} ;  => {"a": 1, "z": 1}
 ; {"a": {"$in": [1, 2]}} ; {"$set": {"z": 1}} ;  => {"z": 1}
 ; {"a": {"$in": []}} ; {"$set": {"z": 1}} ;  => {"z": 1}
 ; {"a": {"$in": [{"$regularExpression": {"pattern": "x", "options": ""}}]}} ; {"$set": {"z": 1}} ;  => {"z": 1}
 ; {"a": {"$all": [1]}} ; {"$set": {"z": 1}} ;  => {"a": 1, "z": 1}
 ; {"a": {"$all": [1, 2]}} ; {"$set": {"z": 1}} ;  => 54 cannot infer query fields to set, path 'a' is matched twice
 ; {"a": {"$all": [{"$regularExpression": {"pattern": "x", "options": ""}}]}} ; {"$set": {"z": 1}} ;  => {"z": 1}
 ; {"a": {"$all": [{"$elemMatch": {"x": 1}}]}} ; {"$set": {"z": 1}} ;  => {"z": 1}
 ; {"a": {"$gt": 1}} ; {"$set": {"z": 1}} ;  => {"z": 1}
 ; {"a": {"$eq": 1, "$gt": 0}} ; {"$set": {"z": 1}} ;  => {"a": 1, "z": 1}
 ; {"$and": [{"a": 1}, {"b": 2}]} ; {"$set": {"z": 1}} ;  => {"a": 1, "b": 2, "z": 1}
 ; {"$and": [{"a": 1}, {"a": 1}]} ; {"$set": {"z": 1}} ;  => 54 cannot infer query fields to set, path 'a' is matched twice
 ; {"$and": [{"a": 1}, {"a": 2}]} ; {"$set": {"z": 1}} ;  => 54 cannot infer query fields to set, path 'a' is matched twice
 ; {"$or": [{"a": 1}]} ; {"$set": {"z": 1}} ;  => {"a": 1, "z": 1}
 ; {"$or": [{"a": 1}, {"b": 1}]} ; {"$set": {"z": 1}} ;  => {"z": 1}
 ; {"$or": [{"$and": [{"a": 1}]}]} ; {"$set": {"z": 1}} ;  => {"a": 1, "z": 1}
 ; {"$nor": [{"a": 1}]} ; {"$set": {"z": 1}} ;  => {"z": 1}
 ; {"a": {"$not": {"$eq": 1}}} ; {"$set": {"z": 1}} ;  => {"z": 1}
 ; {"a": {"$regularExpression": {"pattern": "x", "options": ""}}} ; {"$set": {"z": 1}} ;  => {"z": 1}
 ; {"a": {"$eq": {"$regularExpression": {"pattern": "x", "options": ""}}}} ; {"$set": {"z": 1}} ;  => {"a": {"$regularExpression": {"pattern": "x", "options": ""}}, "z": 1}
 ; {"a": {"$elemMatch": {"b": 1}}} ; {"$set": {"z": 1}} ;  => {"z": 1}
 ; {"$expr": {"$eq": ["$a", 1]}} ; {"$set": {"z": 1}} ;  => 224 $expr is not allowed in the query predicate for an upsert
 ; {"$expr": true} ; {"$set": {"z": 1}} ;  => 224 $expr is not allowed in the query predicate for an upsert
 ; {"a": 1, "$expr": {"$eq": ["$b", 1]}} ; {"$set": {"z": 1}} ;  => 224 $expr is not allowed in the query predicate for an upsert
 ; {"_id": {"$gt": 1}} ; {"$set": {"z": 1}} ;  => {"z": 1}
 ; {"_id": [1]} ; {"$set": {"z": 1}} ;  => 53 The '_id' value cannot be of type array
 ; {"_id": {"$in": [5]}} ; {"$set": {"z": 1}} ;  => {"_id": 5, "z": 1}
 ; {"_id": {"a": 1}} ; {"$set": {"z": 1}} ;  => {"_id": {"a": 1}, "z": 1}
 ; {"_id.a": 1} ; {"$set": {"z": 1}} ;  => {"_id": {"a": 1}, "z": 1}
 ; {"_id.a": 1, "_id.b": 2} ; {"$set": {"z": 1}} ;  => {"_id": {"a": 1, "b": 2}, "z": 1}
 ; {"_id": {"$regularExpression": {"pattern": "a", "options": ""}}} ; {"$set": {"z": 1}} ;  => {"z": 1}
 ; {"_id": null} ; {"$set": {"z": 1}} ;  => {"_id": null, "z": 1}
 ; {"a": null} ; {"$set": {"z": 1}} ;  => {"a": null, "z": 1}
 ; {"a": {"$exists": true}} ; {"$set": {"z": 1}} ;  => {"z": 1}
 ; {"a.0": 1} ; {"$set": {"z": 1}} ;  => {"a": {"0": 1}, "z": 1}
 ; {"a.0.b": 1} ; {"$set": {"z": 1}} ;  => {"a": {"0": {"b": 1}}, "z": 1}
 ; {"a.10": 1, "a.9": 2, "b": 1} ; {"$set": {"z": 1}} ;  => {"a": {"10": 1, "9": 2}, "b": 1, "z": 1}
 ; {"z": 1, "c": 1, "a": 1} ; {"$set": {"z": 1}} ;  => {"a": 1, "c": 1, "z": 1}
 ; {"a.": 1} ; {"$set": {"z": 1}} ;  => {"a": {"": 1}, "z": 1}
 ; {"": 1} ; {"$set": {"z": 1}} ;  => 20 Cannot call setValue on the root object
 ; {".a": 1} ; {"$set": {"z": 1}} ;  => {"": {"a": 1}, "z": 1}
 ; {"a..b": 1} ; {"$set": {"z": 1}} ;  => {"a": {"": {"b": 1}}, "z": 1}
 ; {"a": {"$type": "int"}} ; {"$set": {"z": 1}} ;  => {"z": 1}
 ; {"a": {"x": 1, "$gt": 1}} ; {"$set": {"z": 1}} ;  => {"a": {"x": 1, "$gt": 1}, "z": 1}
 ; {"a": {}} ; {"$set": {"z": 1}} ;  => {"a": {}, "z": 1}
 ; {"a": []} ; {"$set": {"z": 1}} ;  => {"a": [], "z": 1}
 ; {"_id": {"$eq": 3}} ; {"$set": {"z": 1}} ;  => {"_id": 3, "z": 1}
 ; {"_id": {"$a": 1}} ; {"$set": {"z": 1}} ;  => 2 unknown operator: $a
 ; {"_id": {"x": {"$a": 1}}} ; {"$set": {"z": 1}} ;  => 52 _id fields may not contain '$'-prefixed fields: $a is not valid for storage.
 ; {"a": {"b": {"$c": 1}}} ; {"$set": {"z": 1}} ;  => {"a": {"b": {"$c": 1}}, "z": 1}
 ; {"$comment": "a"} ; {"$set": {"z": 1}} ;  => {"z": 1}
 ; {"a": {"$size": 1}} ; {"$set": {"z": 1}} ;  => {"z": 1}
 ; {"a": {"$ne": 1}} ; {"$set": {"z": 1}} ;  => {"z": 1}
 ; {"$jsonSchema": {}} ; {"$set": {"z": 1}} ;  => {"z": 1}
 ; {"a": {"$in": [[1]]}} ; {"$set": {"z": 1}} ;  => {"a": [1], "z": 1}
 ; {"$or": [{"a": 1, "b": 2}]} ; {"$set": {"z": 1}} ;  => {"a": 1, "b": 2, "z": 1}
 ; {"$or": [{"$or": [{"a": 1}]}]} ; {"$set": {"z": 1}} ;  => {"a": 1, "z": 1}
 ; {"a": {"$all": [[1]]}} ; {"$set": {"z": 1}} ;  => {"a": [1], "z": 1}
 ; {"$and": [{"$and": [{"a": {"$eq": 5}}]}]} ; {"$set": {"z": 1}} ;  => {"a": 5, "z": 1}
 ; {"a": 1, "a.b": 2} ; {"$set": {"z": 1}} ;  => 54 cannot infer query fields to set, both paths 'a.b' and 'a' are matched
 ; {"a.$b": 1} ; {"$set": {"z": 1}} ;  => {"a": {"$b": 1}, "z": 1}
 ; {"a.$": 1} ; {"$set": {"z": 1}} ;  => {"a": {"$": 1}, "z": 1}
 ; {"$and": [{"_id": 1}, {"_id": 2}]} ; {"$set": {"z": 1}} ;  => 54 cannot infer query fields to set, path '_id' is matched twice
 ; {"$and": [{"_id": 1}, {"_id": 1}]} ; {"$set": {"z": 1}} ;  => 54 cannot infer query fields to set, path '_id' is matched twice
 ; {"$or": [{"_id": 7}]} ; {"$set": {"z": 1}} ;  => {"_id": 7, "z": 1}
 ; {"a": {"$gte": 1, "$lte": 1}} ; {"$set": {"z": 1}} ;  => {"z": 1}
 ; {"a": {"$lte": null}} ; {"$set": {"z": 1}} ;  => {"z": 1}
 ; {"a": {"$eq": null}} ; {"$set": {"z": 1}} ;  => {"a": null, "z": 1}
 ; {"a": {"$code": "x"}} ; {"$set": {"z": 1}} ;  => {"a": {"$code": "x"}, "z": 1}
 ; {"$sampleRate": 0.0} ; {"$set": {"z": 1}} ;  => {"z": 1}
 ; {"a": {"$not": {"$not": {"$eq": 1}}}} ; {"$set": {"z": 1}} ;  => {"z": 1}
 ; {"a": {"$mod": [2, 0]}} ; {"$set": {"z": 1}} ;  => {"z": 1}
 ; {"a": {"$minKey": 1}} ; {"$set": {"z": 1}} ;  => {"a": {"$minKey": 1}, "z": 1}
 ; {"a": 1} ; {"$set": {"a.b": 2}} ;  => 28 Cannot create field 'b' in element {a: 1}
 ; {"a.b": 1} ; {"$set": {"a": 2}} ;  => {"a": 2}
 ; {"_id": 1} ; {"$set": {"_id": 1}} ;  => {"_id": 1}
 ; {"_id": 1} ; {"$set": {"_id": 1.0}} ;  => 66 Performing an update on the path '_id' would modify the immutable field '_id'
 ; {"_id": 1} ; {"$set": {"_id": 2}} ;  => 66 Performing an update on the path '_id' would modify the immutable field '_id'
 ; {"a": 1} ; {"$set": {"_id": 2}} ;  => {"_id": 2, "a": 1}
 ; {"a": 1} ; {"$set": {"_id.x": 2}} ;  => {"_id": {"x": 2}, "a": 1}
 ; {"_id.x": 1} ; {"$set": {"_id.x": 2}} ;  => 66 Performing an update on the path '_id.x' would modify the immutable field '_id'
 ; {"_id.x": 1} ; {"$set": {"_id.y": 2}} ;  => 66 Updating the path '_id' to _id: { x: 1, y: 2 } would modify the immutable field '_id'
 ; {"_id": {"$gt": 1}} ; {"$set": {"_id": 2}} ;  => {"_id": 2}
 ; {"a": 1} ; {"$set": {"_id": [1]}} ;  => 53 The '_id' value cannot be of type array
 ; {"a": 1} ; {"$set": {"_id": {"$regularExpression": {"pattern": "a", "options": ""}}}} ;  => 53 The '_id' value cannot be of type regex
 ; {"_id": 7} ; {"$set": {"$a": 1}} ;  => {"_id": 7, "$a": 1}
 ; {"a.b": 1, "a-c": 1, "a.c": 1} ; {"$set": {"zz": 1}} ;  => {"a-c": 1, "a": {"b": 1, "c": 1}, "zz": 1}
 ; {"a.10": 1, "a.9": 1, "a.b": 1, "9": 1, "10": 1} ; {"$set": {"zz": 1}} ;  => {"10": 1, "9": 1, "a": {"10": 1, "9": 1, "b": 1}, "zz": 1}
 ; {"a": {"$in": [1, 1]}} ; {"$set": {"zz": 1}} ;  => {"a": 1, "zz": 1}
 ; {"a": {"$in": [1, 1.0]}} ; {"$set": {"zz": 1}} ;  => {"a": 1, "zz": 1}
 ; {"a": {"$all": [1, 1]}} ; {"$set": {"zz": 1}} ;  => 54 cannot infer query fields to set, path 'a' is matched twice
 ; {"a": {"$in": [null]}} ; {"$set": {"zz": 1}} ;  => {"a": null, "zz": 1}
 ; {"a": {"$in": [1, {"$regularExpression": {"pattern": "x", "options": ""}}]}} ; {"$set": {"zz": 1}} ;  => {"zz": 1}
 ; {"b": {"$all": [1, {"$regularExpression": {"pattern": "x", "options": ""}}]}} ; {"$set": {"zz": 1}} ;  => {"b": 1, "zz": 1}
 ; {"$and": [{"$or": [{"a": 1}]}]} ; {"$set": {"zz": 1}} ;  => {"a": 1, "zz": 1}
 ; {"$or": [{"a": {"$gt": 1}}]} ; {"$set": {"zz": 1}} ;  => {"zz": 1}
 ; {"a.b.c": 1, "a.b": {"$eq": 1}} ; {"$set": {"zz": 1}} ;  => 54 cannot infer query fields to set, both paths 'a.b.c' and 'a.b' are matched
 ; {"a": {"$not": {"$in": [1]}}} ; {"$set": {"zz": 1}} ;  => {"zz": 1}
 ; {"$nor": [{"$nor": [{"a": 1}]}]} ; {"$set": {"zz": 1}} ;  => {"zz": 1}
 ; {"$or": [{"a": 1}, {"a": 1}]} ; {"$set": {"zz": 1}} ;  => {"zz": 1}
 ; {"$and": [{"a": 1}, {"b": {"$gt": 1}}, {"c": 3}]} ; {"$set": {"zz": 1}} ;  => {"a": 1, "c": 3, "zz": 1}
 ; {"a": {"$eq": 1, "$in": [1]}} ; {"$set": {"zz": 1}} ;  => 54 cannot infer query fields to set, path 'a' is matched twice
 ; {"$or": [{"a": {"$in": []}}, {"a": 1}]} ; {"$set": {"zz": 1}} ;  => {"zz": 1}
 ; {"b": 1, "_id.x": 1, "a": 2} ; {"$set": {"zz": 1}} ;  => {"_id": {"x": 1}, "a": 2, "b": 1, "zz": 1}
 ; {"_id": {"x": 1}, "_id.x": 1} ; {"$set": {"zz": 1}} ;  => 54 cannot infer query fields to set, both paths '_id.x' and '_id' are matched
 ; {"$and": [{"$expr": true}]} ; {"$set": {"zz": 1}} ;  => 224 $expr is not allowed in the query predicate for an upsert
 ; {"$or": [{"$expr": true}]} ; {"$set": {"zz": 1}} ;  => 224 $expr is not allowed in the query predicate for an upsert
 ; {"a": 5, "b": 1} ; {"$set": {"b": 2, "a": 7}} ;  => {"a": 7, "b": 2}
 ; {"z": 5} ; {"$set": {"b": 2, "_id": 7}} ;  => {"_id": 7, "z": 5, "b": 2}
 ; {"x": 1} ; {"$set": {"_id": {"b": {"$c": 1}}}} ;  => 52 _id fields may not contain '$'-prefixed fields: $c is not valid for storage.
 ; {"_id.a": 1} ; {"$set": {"_id.a": 1}} ;  => {"_id": {"a": 1}}
 ; {"a.b": 1} ; {"$set": {"a.b.c": 1}} ;  => 28 Cannot create field 'c' in element {b: 1}
 ; {"a": {"$eq": {"b": 1}}} ; {"$set": {"a.c": 1}} ;  => {"a": {"b": 1, "c": 1}}
"#,
    );
}

#[test]
fn set_on_insert_answers_like_the_server() {
    check(
        r#"
 ; {"x": 1} ; {"$setOnInsert": {"_id": {"$a": 1}}} ;  => 52 _id fields may not contain '$'-prefixed fields: $a is not valid for storage.
 ; {"x": 1} ; {"$setOnInsert": {"_id": [1]}} ;  => 53 The '_id' value cannot be of type array
 ; {"x": 1} ; {"$setOnInsert": {"_id": {"$regularExpression": {"pattern": "a", "options": ""}}}} ;  => 53 The '_id' value cannot be of type regex
 ; {"a": 1} ; {"$setOnInsert": {"_id": 2}} ;  => {"_id": 2, "a": 1}
 ; {"a": 1} ; {"$setOnInsert": {"_id.x": 1}} ;  => {"_id": {"x": 1}, "a": 1}
"#,
    );
}

#[test]
fn replacement_answers_like_the_server() {
    check(
        r#"
 ; {"x": 1} ; {"_id": {"$a": 1}} ;  => 52 _id fields may not contain '$'-prefixed fields: $a is not valid for storage.
 ; {"x": 1} ; {"_id": [1]} ;  => 54 After applying the update to the document, the (immutable) field '_id' was found to be an array or array descendant.
 ; {"x": 1} ; {"_id": {"$regularExpression": {"pattern": "a", "options": ""}}} ;  => 53 The '_id' value cannot be of type regex
 ; {"a": 1} ; {"b": 1} ;  => {"b": 1}
 ; {"_id": 1, "a": 1} ; {"b": 1} ;  => {"_id": 1, "b": 1}
 ; {"_id": 1, "a": 1} ; {"_id": 1, "b": 1} ;  => {"_id": 1, "b": 1}
 ; {"_id": 1, "a": 1} ; {"_id": 1.0, "b": 1} ;  => {"_id": 1.0, "b": 1}
 ; {"_id": 1, "a": 1} ; {"_id": 2, "b": 1} ;  => 66 After applying the update, the (immutable) field '_id' was found to have been altered to _id: 2
 ; {"a": 1} ; {"b": 1, "_id": 2} ;  => {"_id": 2, "b": 1}
 ; {"_id": {"$gt": 1}} ; {"b": 1} ;  => {"b": 1}
 ; {"_id": {"$in": [3]}} ; {"b": 1} ;  => {"_id": 3, "b": 1}
 ; {"_id": {"$in": [3, 4]}} ; {"b": 1} ;  => {"b": 1}
 ; {"$and": [{"_id": 1}, {"_id": 2}]} ; {"b": 1} ;  => 54 cannot infer query fields to set, path '_id' is matched twice
 ; {"_id.a": 1} ; {"b": 1} ;  => 111 field at '_id' must be exactly specified, field at sub-path '_id.a'found
 ; {"_id.a": 1} ; {"_id": {"a": 1}, "b": 1} ;  => 111 field at '_id' must be exactly specified, field at sub-path '_id.a'found
 ; {"_id.a": 1} ; {"_id": {"a": 1, "b": 1}, "b": 1} ;  => 111 field at '_id' must be exactly specified, field at sub-path '_id.a'found
 ; {"_id.a": 1, "_id.b": 2} ; {"b": 1} ;  => 111 field at '_id' must be exactly specified, field at sub-path '_id.a'found
 ; {"$expr": true} ; {"b": 1} ;  => 224 $expr is not allowed in the query predicate for an upsert
 ; {"a": 1, "a.b": 1} ; {"b": 1} ;  => {"b": 1}
 ; {"_id": [1]} ; {"b": 1} ;  => 54 After applying the update to the document, the (immutable) field '_id' was found to be an array or array descendant.
 ; {"_id": {"$regularExpression": {"pattern": "a", "options": ""}}} ; {"b": 1} ;  => {"b": 1}
 ; {"$or": [{"_id": 1}]} ; {"b": 1} ;  => {"_id": 1, "b": 1}
 ; {"_id": {"$all": [3]}} ; {"b": 1} ;  => {"_id": 3, "b": 1}
 ; {"_id": {"x": 1}} ; {"_id": {"x": 1.0}} ;  => {"_id": {"x": 1.0}}
 ; {"_id": 1} ; {"b": {"$c": 1}} ;  => {"_id": 1, "b": {"$c": 1}}
 ; {"_id": 1} ; {} ;  => {"_id": 1}
 ; {"z": 5} ; {"b": 2, "_id": 7} ;  => {"_id": 7, "b": 2}
 ; {"_id.a.b": 1} ; {"x": 1} ;  => 111 field at '_id' must be exactly specified, field at sub-path '_id.a.b'found
 ; {"_id": 1, "_id.a": 2} ; {"x": 1} ;  => 111 field at '_id' must be exactly specified, field at sub-path '_id.a'found
 ; {"_id": {"$regularExpression": {"pattern": "a", "options": ""}}} ; {"_id": 5} ;  => {"_id": 5}
 ; {"_id": {"$eq": {"$regularExpression": {"pattern": "a", "options": ""}}}} ; {"x": 5} ;  => 53 The '_id' value cannot be of type regex
"#,
    );
}

#[test]
fn inc_answers_like_the_server() {
    check(
        r#"
 ; {"a": 1} ; {"$inc": {"a": 2}} ;  => {"a": 3}
 ; {"_id": 1} ; {"$inc": {"_id": 0}} ;  => {"_id": 1}
 ; {"a": 1} ; {"$inc": {"_id": 7}} ;  => {"_id": 7, "a": 1}
 ; {"a": "s"} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {no id} has the field 'a' of non-numeric type string
 ; {"a": {"$numberLong": "9223372036854775807"}} ; {"$inc": {"a": {"$numberLong": "1"}}} ;  => 2 Failed to apply $inc operations to current value ((NumberLong)9223372036854775807) for document {no id}
"#,
    );
}

#[test]
fn unset_answers_like_the_server() {
    check(
        r#"
 ; {"a": 1} ; {"$unset": {"a": 2}} ;  => {}
 ; {"_id": 5} ; {"$unset": {"_id": 2}} ;  => 66 Performing an update on the path '_id' would modify the immutable field '_id'
 ; {"a": 1} ; {"$unset": {"_id": 2}} ;  => {"a": 1}
"#,
    );
}

#[test]
fn rename_answers_like_the_server() {
    check(
        r#"
 ; {"a": 1} ; {"$rename": {"a": "b"}} ;  => {"b": 1}
 ; {"a": 1} ; {"$rename": {"a": "_id"}} ;  => {"_id": 1}
 ; {"a": [1]} ; {"$rename": {"a.0": "b"}} ;  => 2 The source field cannot be an array element, 'a.0' in doc with no id has an array field called 'a'
 ; {"_id": 1, "a": 1} ; {"$rename": {"a": "_id"}} ;  => 66 Performing an update on the path '_id' would modify the immutable field '_id'
"#,
    );
}

#[test]
fn unknown_modifier_answers_like_the_server() {
    check(
        r#"
 ; {"_id": 1} ; {"$c": 1} ;  => 9 Unknown modifier: $c. Expected a valid update modifier or pipeline-style update specified as an array
"#,
    );
}

#[test]
fn pipeline_answers_like_the_server() {
    check(
        r#"
 ; {"a": 1} ; [{"$set": {"b": 1}}] ;  => {"a": 1, "b": 1}
 ; {"_id": 1} ; [{"$set": {"b": 1}}] ;  => {"_id": 1, "b": 1}
 ; {"a.b": 1} ; [{"$set": {"b": 1}}] ;  => {"a": {"b": 1}, "b": 1}
 ; {"_id": 1} ; [{"$set": {"_id": 2}}] ;  => 66 After applying the update, the (immutable) field '_id' was found to have been altered to _id: 2
 ; {"_id": 1} ; [{"$set": {"_id": 1.0}}] ;  => {"_id": 1.0}
 ; {"a": 1} ; [{"$set": {"_id": 2}}] ;  => {"_id": 2, "a": 1}
 ; {"a": 1} ; [{"$unset": "_id"}] ;  => {"a": 1}
 ; {"_id": 1} ; [{"$unset": "_id"}] ;  => {"_id": 1}
 ; {"_id": 1} ; [{"$replaceWith": {"x": 1}}] ;  => {"_id": 1, "x": 1}
 ; {"a": 1} ; [{"$replaceWith": {"x": 1}}] ;  => {"x": 1}
 ; {"a": 1} ; [{"$set": {"_id": [1]}}] ;  => 54 After applying the update to the document, the (immutable) field '_id' was found to be an array or array descendant.
 ; {"z": 5} ; [{"$set": {"b": 2, "_id": 7}}] ;  => {"_id": 7, "z": 5, "b": 2}
"#,
    );
}

#[test]
fn push_answers_like_the_server() {
    check(
        r#"
 ; {"a": "s"} ; {"$push": {"a": 1}} ;  => 2 The field 'a' must be an array but is of type string in document {no id}
 ; {"x": 1} ; {"$push": {"_id": 1}} ;  => 54 After applying the update to the document, the field '_id' was found to be an array or array descendant.
"#,
    );
}
