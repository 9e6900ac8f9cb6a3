//! Paths: positional operators, array filters, conflicts, and the order of new fields.

use super::check;

#[test]
fn set_answers_like_the_server() {
    check(
        r#"
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"a.$b": 2}} ;  => 28 Cannot create field '$b' in element {a: [ 1 ]}
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"a.$": 2}} ;  => 2 The positional operator did not find the match needed from the query.
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"a.$[": 2}} ;  => 28 Cannot create field '$[' in element {a: [ 1 ]}
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"a.$[]": 2}} ;  => {"_id": 1, "a": [2]}
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"a.$[E]": 2}} ;  => 2 No array filter found for identifier 'E' in path 'a.$[E]'
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"a.$[e1_]": 2}} ;  => 2 No array filter found for identifier 'e1_' in path 'a.$[e1_]'
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"a.$[e": 2}} ;  => 28 Cannot create field '$[e' in element {a: [ 1 ]}
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"a.$.b.$": 2}} ;  => 2 Too many positional (i.e. '$') elements found in path 'a.$.b.$'
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"a.$[].$": 2}} ;  => 2 The positional operator did not find the match needed from the query.
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"_id.$": 2}} ;  => 2 The positional operator did not find the match needed from the query.
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"a.$id": 2}} ;  => 28 Cannot create field '$id' in element {a: [ 1 ]}
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"a.$ref": 2}} ;  => 28 Cannot create field '$ref' in element {a: [ 1 ]}
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"a.$db": 2}} ;  => 28 Cannot create field '$db' in element {a: [ 1 ]}
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"a.b.$[": 2}} ;  => 28 Cannot create field 'b' in element {a: [ 1 ]}
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"a.$]": 2}} ;  => 28 Cannot create field '$]' in element {a: [ 1 ]}
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"a.$$": 2}} ;  => 28 Cannot create field '$$' in element {a: [ 1 ]}
{"_id": 1} ; {"_id": 1} ; {"$set": {"a": 1}, "b": 1} ;  => 9 Unknown modifier: b. Expected a valid update modifier or pipeline-style update specified as an array
{"_id": 1} ; {"_id": 1} ; {"$set": {}, "$inc": {}} ;  => =
{"_id": 1} ; {"_id": 1} ; {"$set": {"a.b.c": 1}, "$inc": {"a.b": 1}} ;  => 40 Updating the path 'a.b' would create a conflict at 'a.b'
{"_id": 1, "g": [1, 2]} ; {"_id": 1} ; {"$set": {"g.$[]": 1}, "$inc": {"g.0": 1}} ;  => 40 Updating the path 'g.0' would create a conflict at 'g'
{"_id": 1, "g": [1, 2]} ; {"_id": 1} ; {"$set": {"g.$[]": 1}, "$inc": {"g.$[]": 1}} ;  => 40 Updating the path 'g.$[]' would create a conflict at 'g.$[]'
{"_id": 1, "g": [1, 2]} ; {"_id": 1} ; {"$set": {"g.$[e]": 1}, "$inc": {"g.0": 1}} ; [{"e": 1}] => 40 Updating the path 'g.0' would create a conflict at 'g'
{"_id": 1, "g": [1, 2]} ; {"_id": 1} ; {"$set": {"g.$[e]": 1}, "$inc": {"g.0": 1}} ; [{"e": 2}] => 40 Updating the path 'g.0' would create a conflict at 'g'
{"_id": 1, "g": [1, 2]} ; {"_id": 1} ; {"$set": {"g.$[e]": 5}, "$inc": {"g.$[f]": 1}} ; [{"e": 2}, {"f": 1}] => {"_id": 1, "g": [2, 5]}
{"_id": 1, "g": [1, 2]} ; {"_id": 1} ; {"$set": {"g.$[e]": 5}, "$inc": {"g.$[f]": 1}} ; [{"e": 2}, {"f": 2}] => 40 Update created a conflict at 'g.1'
{"_id": 1, "g": [1, 2]} ; {"g": 1} ; {"$set": {"g.$": 5}, "$inc": {"g.0": 1}} ;  => 40 Update created a conflict at 'g.0'
{"_id": 1, "g": [1, 2]} ; {"g": 1} ; {"$set": {"g.$": 5}, "$inc": {"g.1": 1}} ;  => {"_id": 1, "g": [5, 3]}
{"_id": 1, "g": [{"x": 1}, {"x": 2}]} ; {"_id": 1} ; {"$set": {"g.$[e].a": 5}, "$inc": {"g.$[f].b": 1}} ; [{"e.x": 2}, {"f.x": 2}] => {"_id": 1, "g": [{"x": 1}, {"x": 2, "a": 5, "b": 1}]}
{"_id": 1, "g": [{"x": 1}, {"x": 2}]} ; {"_id": 1} ; {"$set": {"g.$[e].a": 5}, "$inc": {"g.$[].b": 1, "g.0.c": 9}} ; [{"e.x": 2}] => 40 Updating the path 'g.0.c' would create a conflict at 'g'
{"_id": 1, "g": [{"x": 1}, {"x": 2}]} ; {"_id": 1} ; {"$set": {"g.$[e].a": 5}, "$inc": {"g.$[].a": 1, "g.0.c": 9}} ; [{"e.x": 2}] => 40 Updating the path 'g.0.c' would create a conflict at 'g'
{"_id": 1, "g": [{"x": 1}, {"x": 2}]} ; {"_id": 1} ; {"$set": {"g.$[e].a": 5}, "$inc": {"g.$[].a.b": 1, "g.0.c": 9}} ; [{"e.x": 2}] => 40 Updating the path 'g.0.c' would create a conflict at 'g'
{"_id": 1, "g": [{"x": 1}, {"x": 2}]} ; {"_id": 1} ; {"$set": {"g.$[].a": 5, "g.$[]": 1}} ;  => 40 Updating the path 'g.$[]' would create a conflict at 'g.$[]'
{"_id": 1} ; {"_id": 1} ; {"$set": {"a": 1}, "$setOnInsert": {"a": 1}} ;  => 40 Updating the path 'a' would create a conflict at 'a'
{"_id": 1} ; {"_id": 1} ; {"$set": {"z": 1}, "$inc": {"y": 1}, "$push": {"x": 1}, "$currentDate": {}} ;  => {"_id": 1, "x": [1], "y": 1, "z": 1}
{"_id": 1} ; {"_id": 1} ; {"$set": {"a.$b": 1}} ;  => {"_id": 1, "a": {"$b": 1}}
{"_id": 1} ; {"_id": 1} ; {"$set": {"a.b.$c": 1}} ;  => {"_id": 1, "a": {"b": {"$c": 1}}}
{"_id": 1} ; {"_id": 1} ; {"$set": {"a.$b.c": 1}} ;  => {"_id": 1, "a": {"$b": {"c": 1}}}
{"_id": 1, "a": {"$b": 1}} ; {"_id": 1} ; {"$set": {"a.$b": 2}} ;  => {"_id": 1, "a": {"$b": 2}}
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0}} ; [{}] => 9 Cannot use an expression without a top-level field name in arrayFilters
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0}} ; [{"a": 1, "b": 1}] => 9 Error parsing array filter :: caused by :: Expected a single top-level field name, found 'a' and 'b'
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0}} ; [{"a.x": 1, "a.y": 2}] => =
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0}} ; [{"a.x": 1, "b.y": 2}] => 9 Error parsing array filter :: caused by :: Expected a single top-level field name, found 'a' and 'b'
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0}} ; [{"a": 1}, {"a": 2}] => 9 Found multiple array filters with the same top-level field name a
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0}} ; [{"$and": [{"a": 1}]}] => {"_id": 1, "g": [0, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]}
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0}} ; [{"$or": [{"a": 1}, {"b": 2}]}] => 9 Error parsing array filter :: caused by :: Expected a single top-level field name, found 'a' and 'b'
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0}} ; [{"$or": [{"a": 1}, {"a": 5}]}] => {"_id": 1, "g": [0, 0, 0, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]}
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0}} ; [{"a": {"$bad": 1}}] => 2 Error parsing array filter :: caused by :: unknown operator: $bad
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0}} ; [{"$expr": 1}] => 224 Error parsing array filter :: caused by :: $expr is not allowed in this context
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0}} ; [{"$expr": {"$eq": ["$a", 1]}}] => 224 Error parsing array filter :: caused by :: $expr is not allowed in this context
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0}} ; [{"$nor": [{"a": 1}]}] => {"_id": 1, "g": [1, 0, 0, 0], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]}
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0}} ; [{"a": {"$elemMatch": {"x": 1}}}] => =
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0}} ; [{"$comment": "x"}] => 9 Cannot use an expression without a top-level field name in arrayFilters
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0}} ; [{"a": 1, "$comment": "x"}] => {"_id": 1, "g": [0, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]}
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0}} ; [{"aB9": 1}] => 2 No array filter found for identifier 'a' in path 'g.$[a]'
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0}} ; [{"$jsonSchema": {}}] => 224 Error parsing array filter :: caused by :: $jsonSchema is not allowed in this context
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0}} ; [{"$alwaysTrue": 1}] => 9 Cannot use an expression without a top-level field name in arrayFilters
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0}} ; [{"a": {"$regularExpression": {"pattern": "x", "options": ""}}}] => =
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0}} ; [{"a": {"$exists": true}}] => {"_id": 1, "g": [0, 0, 0, 0], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]}
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0, "g.$[aB9]": 1}} ; [{"aB9": 7}, {"a": 1}] => {"_id": 1, "g": [0, 5, 5, 1], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]}
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"x": 1}} ; [{"a": 7}] => 9 The array filter for identifier 'a' was not used in the update { $set: { x: 1 } }
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {}} ; [{"a": 7}] => 9 The array filter for identifier 'a' was not used in the update { $set: {} }
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"h.$[e].v.$[f]": 0}} ; [{"e.k": 2}, {"f": {"$gt": 1}}] => {"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 0, 0]}]}
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"h.$[e].v.$[f]": 0}} ; [{"e.k": 1}, {"f": {"$gt": 1}}] => 2 Cannot apply array updates to non-array element v: 1
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"z.$[a]": 0}} ; [{"a": 7}] => 2 The path 'z' must exist in the document in order to apply array updates.
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"_id.$[a]": 0}} ; [{"a": 7}] => 2 Cannot apply array updates to non-array element _id: 1
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"h.$[].k": 0}} ;  => {"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 0, "v": 1}, {"k": 0, "v": [1, 2, 3]}]}
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"h.$[].v.$[]": 0}} ;  => 2 Cannot apply array updates to non-array element v: 1
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"h.1.v.$[]": 0}} ;  => {"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [0, 0, 0]}]}
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0}} ; [{"a": 9}] => =
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[].x": 0}} ;  => 28 Cannot create field 'x' in element {0: 1}
{"_id": 1, "g": []} ; {"_id": 1} ; {"$set": {"g.$[].x": 0}} ;  => =
{"_id": 1, "g": {"a": 1}} ; {"_id": 1} ; {"$set": {"g.$[].x": 0}} ;  => 2 Cannot apply array updates to non-array element g: { a: 1 }
{"_id": 1, "g": {"a": {"b": [1]}}} ; {"_id": 1} ; {"$set": {"g.a.$[].x": 0}} ;  => 2 Cannot apply array updates to non-array element a: { b: [ 1 ] }
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"h.$[a].k": 0}} ; [{"a": {"k": 1, "v": 1}}] => {"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 0, "v": 1}, {"k": 2, "v": [1, 2, 3]}]}
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"h.$[a].k": 0}} ; [{"a.v": 2}] => {"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 0, "v": [1, 2, 3]}]}
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"h.$[a].k": 0}} ; [{"a.0.v": 2}] => =
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0}} ; [{"a": {"$in": [1, 7]}}] => {"_id": 1, "g": [0, 5, 5, 0], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]}
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0}} ; [{"a": null}] => =
{"_id": 1, "g": [[1], [2], 1]} ; {"_id": 1} ; {"$set": {"g.$[a]": 0}} ; [{"a": 1}] => {"_id": 1, "g": [0, [2], 0]}
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"g": 5} ; {"$set": {"g.$": 0}} ;  => {"_id": 1, "g": [1, 0, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]}
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"g": 5} ; {"$set": {"x.$": 0}} ;  => {"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}], "x": {"1": 0}}
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"g": 5} ; {"$set": {"_id.$": 0}} ;  => 28 Cannot create field '1' in element {_id: 1}
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"g": 5} ; {"$set": {"x.$.y": 0}} ;  => {"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}], "x": {"1": {"y": 0}}}
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"h.v": 2} ; {"$set": {"h.1.v.$": 0}} ;  => {"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 0, 3]}]}
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"g": 5} ; {"$set": {"g.$.x": 0}} ;  => 28 Cannot create field 'x' in element {1: 5}
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"g": 5} ; {"$set": {"g.$": 0, "g.$[]": 1}} ;  => 40 Updating the path 'g.$[]' would create a conflict at 'g'
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"g": 5} ; {"$set": {"g.$": 0, "g.2": 1}} ;  => {"_id": 1, "g": [1, 0, 1, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]}
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"h.k": 1} ; {"$set": {"h.$.k": 0, "h.$.v": 1, "h.0.z": 2, "h.1.w": 5}} ;  => {"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 0, "v": 1, "z": 2}, {"k": 2, "v": [1, 2, 3], "w": 5}]}
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"g": 5} ; {"$set": {"g.$[a]": 0, "g.$[]": 1}} ; [{"a": 5}] => 40 Update created a conflict at 'g.1'
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"g": 5} ; {"$set": {"h.$[a].p": 0, "h.$[].p.r": 1}} ; [{"a.k": 1}] => 40 Update created a conflict at 'h.0.p'
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$set": {"h.$[].a": 0, "h.$[].b": 1}} ;  => {"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1, "a": 0, "b": 1}, {"k": 2, "v": [1, 2, 3], "a": 0, "b": 1}]}
{"_id": 1} ; {"_id": 1} ; {"$set": {"a": 1}, "$unset": {"b": 1}, "$inc": {"b.c": 1}} ;  => 40 Updating the path 'b.c' would create a conflict at 'b'
{"_id": 1} ; {"_id": 1} ; {"$set": {"a.b.$[]": 1}} ;  => 2 The path 'a.b' must exist in the document in order to apply array updates.
{"_id": 1, "a": 5} ; {"_id": 1} ; {"$set": {"a.b.$[]": 1}} ;  => 2 The path 'a.b' must exist in the document in order to apply array updates.
{"_id": 1, "a": []} ; {"_id": 1} ; {"$set": {"a.b.$[]": 1}} ;  => 2 The path 'a.b' must exist in the document in order to apply array updates.
{"_id": 1, "$b": [1]} ; {"_id": 1} ; {"$set": {"$b.$[]": 5}} ;  => {"_id": 1, "$b": [5]}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$set": {"a.$[z]..b": 1}} ;  => 56 The update path 'a.$[z]..b' contains an empty field name, which is not allowed.
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$set": {"a..$[z]": 1}} ;  => 56 The update path 'a..$[z]' contains an empty field name, which is not allowed.
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$set": 5, "$bad": 1} ;  => 9 Modifiers operate on fields but we found type int instead. For example: {$mod: {<field>: ...}} not {$set: 5}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$set": {"a.$.$": 1}} ;  => 2 Too many positional (i.e. '$') elements found in path 'a.$.$'
{"_id": 1} ; {"_id": 9} ; {"$set": {"x.$[a]": 1}} ; [{"a": 1}, {"b": 1}] => 9 The array filter for identifier 'b' was not used in the update { $set: { x.$[a]: 1 } }
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"a.$[i]": 3}} ; [{"$and": [{"i": 1}, {"$expr": 1}]}] => 224 Error parsing array filter :: caused by :: $expr is not allowed in this context
{"_id": 1, "a": [{"x": 1}]} ; {"_id": 1} ; {"$set": {"a.$[i]": 3}} ; [{"i": {"$elemMatch": {"$expr": 1}}}] => 2 Error parsing array filter :: caused by :: $expr can only be applied to the top-level document
"#,
    );
}

#[test]
fn replacement_answers_like_the_server() {
    check(
        r#"
{"_id": 1} ; {"_id": 1} ; {"b": 1, "$set": {"a": 1}} ;  => 52 The dollar ($) prefixed field '$set' in '$set' is not allowed in the context of an update's replacement document. Consider using an aggregation pipeline with $replaceWith.
{"_id": 1, "a": 1} ; {"_id": 1} ; {"b": 1, "$a": 1} ;  => 52 The dollar ($) prefixed field '$a' in '$a' is not allowed in the context of an update's replacement document. Consider using an aggregation pipeline with $replaceWith.
{"_id": 1, "a": 1} ; {"_id": 1} ; {"_id": {"$numberLong": "1"}, "a": 1} ;  => {"_id": {"$numberLong": "1"}, "a": 1}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"a": 1, "_id": 1} ;  => {"_id": 1, "a": 1}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"b": 1, "$id": 1} ;  => 55 Found $id field without a $ref before it, which is invalid.
{"_id": 1, "a": 1} ; {"_id": 1} ; {"b": 1, "$ref": 1} ;  => 55 The DBRef $ref field must be a String, not a int
{"_id": 1, "a": 1} ; {"_id": 1} ; {"b": 1, "_id": {"$a": 1}} ;  => 52 _id fields may not contain '$'-prefixed fields: $a is not valid for storage.
{"a": 1, "_id": 1} ; {} ; {"_id": 1, "a": 1} ;  => =
{"_id": 1, "a": 1} ; {} ; {"_id": 1, "a": 1} ;  => =
{"_id": 1, "a": 1, "c": 2} ; {"_id": 1} ; {"c": 2, "_id": 1, "a": 1} ;  => {"_id": 1, "c": 2, "a": 1}
{"_id": 1} ; {"_id": 1} ; {"b": 1, "$ref": "x"} ;  => 55 The DBRef $ref field must be followed by a $id field
{"_id": 1} ; {"_id": 1} ; {"b": 1, "$id": 1, "$ref": "x"} ;  => 55 Found $id field without a $ref before it, which is invalid.
{"_id": 1} ; {"_id": 1} ; {"b": 1, "$db": "x"} ;  => 55 Found $db field without a $id before it, which is invalid.
{"_id": 1} ; {"_id": 1} ; {"b": 1, "$ref": "x", "$db": "y"} ;  => 55 The DBRef $ref field must be followed by a $id field
{"_id": 1} ; {"_id": 1} ; {"b": 1, "$ref": "x", "$id": 1, "$db": 5} ;  => 55 The DBRef $db field must be a String, not a int
{"_id": 1} ; {"_id": 1} ; {"b": 1, "$ref": "x", "c": 1, "$id": 1} ;  => 55 The DBRef $ref field must be followed by a $id field
{"_id": 1} ; {"_id": 1} ; {"b": 1, "a.b": {"$x": 1}, "": 2} ;  => {"_id": 1, "b": 1, "a.b": {"$x": 1}, "": 2}
"#,
    );
}

#[test]
fn rename_answers_like_the_server() {
    check(
        r#"
{"_id": 1} ; {"_id": 1} ; {"$rename": {"_id": "b"}} ;  => 66 Performing an update on the path '_id' would modify the immutable field '_id'
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$rename": {"a": "_id"}} ;  => 66 Performing an update on the path '_id' would modify the immutable field '_id'
{"_id": 1, "a": 2} ; {"_id": 1} ; {"$rename": {"a": "_id"}} ;  => 66 Performing an update on the path '_id' would modify the immutable field '_id'
{"_id": 1} ; {"_id": 1} ; {"$rename": {"a": "b"}, "$set": {"b": 1}} ;  => 40 Updating the path 'b' would create a conflict at 'b'
{"_id": 1} ; {"_id": 1} ; {"$rename": {"a": "b"}, "$set": {"a": 1}} ;  => 40 Updating the path 'a' would create a conflict at 'a'
{"_id": 1} ; {"_id": 1} ; {"$rename": {"a": "a"}} ;  => 2 The source and target field for $rename must differ: a: "a"
{"_id": 1} ; {"_id": 1} ; {"$rename": {"a": "a.b"}} ;  => 2 The source and target field for $rename must not be on the same path: a: "a.b"
{"_id": 1} ; {"_id": 1} ; {"$rename": {"a.b": "a"}} ;  => 2 The source and target field for $rename must not be on the same path: a.b: "a"
{"_id": 1, "a": 1, "b": 2} ; {"_id": 1} ; {"$rename": {"a": "b", "b": "c"}} ;  => 40 Updating the path 'b' would create a conflict at 'b'
{"_id": 1, "a": 1, "b": 2} ; {"_id": 1} ; {"$rename": {"a": "c", "b": "d"}} ;  => {"_id": 1, "c": 1, "d": 2}
{"_id": 1} ; {"_id": 1} ; {"$rename": {"a": "b.c"}} ;  => =
{"_id": 1, "z": 1} ; {"_id": 1} ; {"$rename": {"z": "b"}, "$set": {"c": 1, "a": 1}} ;  => {"_id": 1, "a": 1, "b": 1, "c": 1}
{"_id": 1, "a": {"b": 1}} ; {"_id": 1} ; {"$rename": {"a.b": "c"}, "$set": {"a.d": 1}} ;  => {"_id": 1, "a": {"d": 1}, "c": 1}
{"_id": 1, "a": {"b": 1}} ; {"_id": 1} ; {"$rename": {"a": "c"}, "$set": {"a.d": 1}} ;  => 40 Updating the path 'a.d' would create a conflict at 'a'
{"_id": 1, "a": 1, "b": 1} ; {"_id": 1} ; {"$rename": {"a": "b"}} ;  => {"_id": 1, "b": 1}
{"_id": 1, "b": 1, "z": 1, "a": 1} ; {"_id": 1} ; {"$rename": {"a": "b"}} ;  => {"_id": 1, "b": 1, "z": 1}
{"_id": 1, "a": 1, "b": {"c": [1]}} ; {"_id": 1} ; {"$rename": {"a": "b.c.0"}} ;  => 2 The destination field cannot be an array element, 'b.c.0' in doc with _id: 1 has an array field called 'c'
{"_id": 1, "a": 1, "b": [{"c": 1}]} ; {"_id": 1} ; {"$rename": {"a": "b.0.c"}} ;  => 2 The destination field cannot be an array element, 'b.0.c' in doc with _id: 1 has an array field called 'b'
{"_id": 1, "a": 1, "b": [{"c": 1}]} ; {"_id": 1} ; {"$rename": {"b.0.c": "q"}} ;  => 2 The source field cannot be an array element, 'b.0.c' in doc with _id: 1 has an array field called 'b'
{"_id": 1, "a": 1, "b": 5} ; {"_id": 1} ; {"$rename": {"a": "b.c"}} ;  => 28 Cannot create field 'c' in element {b: 5}
{"_id": 1, "a": 1, "b": 5} ; {"_id": 1} ; {"$rename": {"b.x": "c"}} ;  => 28 cannot use the part (b of b.x) to traverse the element ({b: 5})
{"_id": 1, "b": []} ; {"_id": 1} ; {"$rename": {"b.x": "c"}} ;  => 28 cannot use the part (b of b.x) to traverse the element ({b: []})
{"_id": 1, "b": [1]} ; {"_id": 1} ; {"$rename": {"b.0": "c"}} ;  => 2 The source field cannot be an array element, 'b.0' in doc with _id: 1 has an array field called 'b'
{"_id": 1, "b": [1]} ; {"_id": 1} ; {"$rename": {"b.5": "c"}} ;  => =
{"_id": 1, "b": [1], "x": 1} ; {"_id": 1} ; {"$rename": {"x": "b.5"}} ;  => 2 The destination field cannot be an array element, 'b.5' in doc with _id: 1 has an array field called 'b'
{"_id": 1, "b": [1], "x": 1} ; {"_id": 1} ; {"$rename": {"x": "b.foo"}} ;  => 2 The destination field cannot be an array element, 'b.foo' in doc with _id: 1 has an array field called 'b'
{"_id": 1} ; {"_id": 1} ; {"$rename": {"a.$": "b"}} ;  => 2 The source field for $rename may not be dynamic: a.$
{"_id": 1} ; {"_id": 1} ; {"$rename": {"a": "b.$"}} ;  => 2 The destination field for $rename may not be dynamic: b.$
{"_id": 1} ; {"_id": 1} ; {"$rename": {"a": "b.$[]"}} ;  => 2 The destination field for $rename may not be dynamic: b.$[]
{"_id": 1} ; {"_id": 1} ; {"$rename": {"a.$[]": "b"}} ;  => 2 The source field for $rename may not be dynamic: a.$[]
{"_id": 1} ; {"_id": 1} ; {"$rename": {"a": ""}} ;  => 56 An empty update path is not valid.
{"_id": 1} ; {"_id": 1} ; {"$rename": {"a": "$b"}} ;  => =
{"_id": 1} ; {"_id": 1} ; {"$rename": {"a": "b..c"}} ;  => 56 The update path 'b..c' contains an empty field name, which is not allowed.
{"_id": 1} ; {"_id": 1} ; {"$rename": {"a": 1}} ;  => 2 The 'to' field for $rename must be a string: a: 1
{"_id": 1} ; {"_id": 1} ; {"$rename": {"a": "b."}} ;  => 56 The update path 'b.' contains an empty field name, which is not allowed.
{"_id": 1} ; {"_id": 1} ; {"$rename": {"$b": "c"}} ;  => =
{"_id": 1, "$b": 1} ; {"_id": 1} ; {"$rename": {"$b": "c"}} ;  => {"_id": 1, "c": 1}
{"_id": 1, "b": 1} ; {"_id": 1} ; {"$rename": {"b": "$c"}} ;  => 52 The dollar ($) prefixed field '$c' in '$c' is not allowed in the context of an update's replacement document. Consider using an aggregation pipeline with $replaceWith.
{"_id": 1, "b": 1} ; {"_id": 1} ; {"$rename": {"b": "x.$c"}} ;  => {"_id": 1, "x": {"$c": 1}}
{"_id": 1, "a": {"b": 5}} ; {"_id": 1} ; {"$rename": {"a.b.x.y": "c"}} ;  => 28 cannot use the part (b of a.b.x.y) to traverse the element ({b: 5})
{"_id": 1, "a": {"b": 5}} ; {"_id": 1} ; {"$rename": {"a.b.x": "c"}} ;  => 28 cannot use the part (b of a.b.x) to traverse the element ({b: 5})
{"_id": 1, "a": [{"b": 5}]} ; {"_id": 1} ; {"$rename": {"a.0.b.x": "c"}} ;  => 28 cannot use the part (b of a.0.b.x) to traverse the element ({b: 5})
{"_id": 1, "a": [{"b": 5}]} ; {"_id": 1} ; {"$rename": {"a.0.c": "c"}} ;  => =
{"_id": 1, "a": [{"b": 5}]} ; {"_id": 1} ; {"$rename": {"a.x.c": "c"}} ;  => 28 cannot use the part (a of a.x.c) to traverse the element ({a: [ { b: 5 } ]})
{"_id": 1, "a": null} ; {"_id": 1} ; {"$rename": {"a.x.c": "c"}} ;  => 28 cannot use the part (a of a.x.c) to traverse the element ({a: null})
{"_id": 1, "z": 1, "a": {"b": [{"c": 1}]}} ; {"_id": 1} ; {"$rename": {"z": "a.b.0.d"}} ;  => 2 The destination field cannot be an array element, 'a.b.0.d' in doc with _id: 1 has an array field called 'b'
{"_id": 1, "z": 1, "a": {"b": [{"c": 1}]}} ; {"_id": 1} ; {"$rename": {"z": "a.b"}} ;  => {"_id": 1, "a": {"b": 1}}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$rename": {"a..b": "a..b"}} ;  => 56 The update path 'a..b' contains an empty field name, which is not allowed.
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$rename": {"$.a": "b"}} ;  => 2 Cannot have positional (i.e. '$') element in the first position in path '$.a'
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$rename": {"": "b"}} ;  => 56 An empty update path is not valid.
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$rename": {"a.$": "a.$"}} ;  => 2 The source and target field for $rename must differ: a.$: "a.$"
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$rename": {"a.$[x]": "b"}} ;  => 2 No array filter found for identifier 'x' in path 'a.$[x]'
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$rename": {"a": "$[x]"}} ;  => 2 The destination field for $rename may not be dynamic: $[x]
"#,
    );
}

#[test]
fn inc_answers_like_the_server() {
    check(
        r#"
{"_id": 1} ; {"_id": 1} ; {"$inc": {"a.b": 1}, "$set": {"a.b.c": 1}} ;  => 40 Updating the path 'a.b.c' would create a conflict at 'a.b'
{"_id": 1, "b": "s", "a": "s"} ; {"_id": 1} ; {"$inc": {"b": 1}, "$push": {"a": 1}} ;  => 2 The field 'a' must be an array but is of type string in document {_id: 1}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$inc": {"a": 1}, "$set": {"a": 2}, "$foo": 1} ;  => 40 Updating the path 'a' would create a conflict at 'a'
{"_id": 1} ; {"_id": 1} ; {"$inc": {"a": "x"}} ; [{"a": 1, "b": 1}] => 9 Error parsing array filter :: caused by :: Expected a single top-level field name, found 'a' and 'b'
"#,
    );
}

#[test]
fn unset_answers_like_the_server() {
    check(
        r#"
{"_id": 1, "a": {"$b": 1}} ; {"_id": 1} ; {"$unset": {"a.$b": 2}} ;  => {"_id": 1, "a": {}}
{"_id": 1, "a": [{"b": 1}, {"b": 2}]} ; {"_id": 1} ; {"$unset": {"a.$[].b": 1}} ;  => {"_id": 1, "a": [{}, {}]}
{"_id": 1, "a": [{"b": 1}, {"b": 2}]} ; {"_id": 1} ; {"$unset": {"a.$[]": 1}} ;  => {"_id": 1, "a": [null, null]}
{"_id": 1} ; {"_id": 1} ; {"$unset": {"a.$[]": 1}} ;  => 2 The path 'a' must exist in the document in order to apply array updates.
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$unset": {"h.1.v.$[]": 0}} ;  => {"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [null, null, null]}]}
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"_id": 1} ; {"$unset": {"g.$[a]": 0}} ; [{"a": 9}] => =
{"_id": 1, "g": [1, 5, 5, 7], "h": [{"k": 1, "v": 1}, {"k": 2, "v": [1, 2, 3]}]} ; {"g": 5} ; {"$unset": {"x.$": 0}} ;  => =
{"_id": 1, "a": 5} ; {"_id": 1} ; {"$unset": {"a.b.$[]": 1}} ;  => 2 The path 'a.b' must exist in the document in order to apply array updates.
{"_id": 1} ; {"_id": 1} ; {"$unset": {"a.b.$[]": 1}} ;  => 2 The path 'a.b' must exist in the document in order to apply array updates.
"#,
    );
}

#[test]
fn push_answers_like_the_server() {
    check(
        r#"
{"_id": 1, "b": 1} ; {"_id": 1} ; {"$push": {"x.$c": 1}} ;  => {"_id": 1, "b": 1, "x": {"$c": [1]}}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$push": {"a.$[z]": {"$each": 1}}} ;  => 2 The argument to $each in $push must be an array but it was of type: int
"#,
    );
}

#[test]
fn pop_answers_like_the_server() {
    check(
        r#"
{"_id": 1, "a": [[1, 2]]} ; {"_id": 1} ; {"$pop": {"a.$[]": 1}} ;  => {"_id": 1, "a": [[1]]}
{"_id": 1, "a": [[1, 2], 5]} ; {"_id": 1} ; {"$pop": {"a.$[]": 1}} ;  => 14 Path 'a.1' contains an element of non-array type 'int'
"#,
    );
}

#[test]
fn set_on_insert_answers_like_the_server() {
    check(
        r#"
{"_id": 1} ; {"_id": 1} ; {"$setOnInsert": {"a.b.$[]": 1}} ;  => 2 The path 'a.b' must exist in the document in order to apply array updates.
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$setOnInsert": {"a": 1}, "$x": 1} ;  => 9 Unknown modifier: $x. Expected a valid update modifier or pipeline-style update specified as an array
"#,
    );
}

#[test]
fn unknown_modifier_answers_like_the_server() {
    check(
        r#"
{"_id": 1} ; {"_id": 1} ; {"$bad": 1} ; [{"a": 1}] => 9 Unknown modifier: $bad. Expected a valid update modifier or pipeline-style update specified as an array
"#,
    );
}
