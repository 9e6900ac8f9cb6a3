//! Operators on fields, replacements and pipelines.

use super::check;

#[test]
fn set_answers_like_the_server() {
    check(
        r#"
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"": 2}} ;  => 56 An empty update path is not valid.
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {".": 2}} ;  => 56 The update path '.' contains an empty field name, which is not allowed.
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"a.": 2}} ;  => 56 The update path 'a.' contains an empty field name, which is not allowed.
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {".a": 2}} ;  => 56 The update path '.a' contains an empty field name, which is not allowed.
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"a..b": 2}} ;  => 56 The update path 'a..b' contains an empty field name, which is not allowed.
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"$": 2}} ;  => 2 Cannot have positional (i.e. '$') element in the first position in path '$'
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"$a": 2}} ;  => 52 The dollar ($) prefixed field '$a' in '$a' is not allowed in the context of an update's replacement document. Consider using an aggregation pipeline with $replaceWith.
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"$[]": 2}} ;  => 2 Cannot have array filter identifier (i.e. '$[<id>]') element in the first position in path '$[]'
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"$[e]": 2}} ;  => 2 Cannot have array filter identifier (i.e. '$[<id>]') element in the first position in path '$[e]'
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$set": {"$id": 2}} ;  => 55 Found $id field without a $ref before it, which is invalid.
{"_id": 1} ; {"_id": 1} ; {"$set": 5} ;  => 9 Modifiers operate on fields but we found type int instead. For example: {$mod: {<field>: ...}} not {$set: 5}
{"_id": 1} ; {"_id": 1} ; {"$set": {}} ;  => =
{"_id": 1} ; {"_id": 1} ; {"$set": {"_id": 1, "a": 1}} ;  => {"_id": 1, "a": 1}
{"_id": 1} ; {"_id": 1} ; {"$set": {"_id": 1.0}} ;  => 66 Performing an update on the path '_id' would modify the immutable field '_id'
{"_id": 1} ; {"_id": 1} ; {"$set": {"_id.a": 1}} ;  => 28 Cannot create field 'a' in element {_id: 1}
{"_id": {"a": 1, "b": 2}} ; {} ; {"$set": {"_id.a": 1}} ;  => =
{"_id": {"a": 1, "b": 2}} ; {} ; {"$set": {"_id.a": 2}} ;  => 66 Performing an update on the path '_id.a' would modify the immutable field '_id'
{"_id": {"a": 1, "b": 2}} ; {} ; {"$set": {"_id.c": 2}} ;  => 66 Updating the path '_id' to _id: { a: 1, b: 2, c: 2 } would modify the immutable field '_id'
{"_id": 1} ; {"_id": 1} ; {"$set": {"a": 1, "a.b": 1}} ;  => 40 Updating the path 'a.b' would create a conflict at 'a'
{"_id": 1} ; {"_id": 1} ; {"$set": {"a.b": 1, "a": 1}} ;  => 40 Updating the path 'a' would create a conflict at 'a'
{"_id": 1} ; {"_id": 1} ; {"$set": {"10": 1, "9": 1, "a": 1, "A": 1, "b.10": 1, "b.9": 1, "b.a": 2, "010": 1, "x9": 1, "x10": 1}} ;  => {"_id": 1, "010": 1, "9": 1, "10": 1, "A": 1, "a": 1, "b": {"9": 1, "10": 1, "a": 2}, "x10": 1, "x9": 1}
{"_id": 1, "m": []} ; {"_id": 1} ; {"$set": {"m.10": 1, "m.2": 3}} ;  => {"_id": 1, "m": [null, null, 3, null, null, null, null, null, null, null, 1]}
{"_id": 1} ; {"_id": 1} ; {"$set": {"a": {"$b": 1}}} ;  => {"_id": 1, "a": {"$b": 1}}
{"_id": 1} ; {"_id": 1} ; {"$set": {"a": {"a": {"$b": {"c": 1}}}}} ;  => {"_id": 1, "a": {"a": {"$b": {"c": 1}}}}
{"_id": 1} ; {"_id": 1} ; {"$set": {"a": {"a.b": 1}}} ;  => {"_id": 1, "a": {"a.b": 1}}
{"_id": 1} ; {"_id": 1} ; {"$set": {"a": {"": 1}}} ;  => {"_id": 1, "a": {"": 1}}
{"_id": 1} ; {"_id": 1} ; {"$set": {"a": [{"$b": 1}]}} ;  => {"_id": 1, "a": [{"$b": 1}]}
{"_id": 1} ; {"_id": 1} ; {"$set": {"a": {"_id": [1]}}} ;  => {"_id": 1, "a": {"_id": [1]}}
{"_id": 1} ; {"_id": 1} ; {"$set": {"a": {"_id": {"$a": 1}}}} ;  => {"_id": 1, "a": {"_id": {"$a": 1}}}
{"_id": 1} ; {"_id": 1} ; {"$set": {"a": {"x": {"_id": {"$a": 1}}}}} ;  => {"_id": 1, "a": {"x": {"_id": {"$a": 1}}}}
{"_id": 1} ; {"_id": 1} ; {"$set": {"a": {"_id": {"$regularExpression": {"pattern": "a", "options": ""}}}}} ;  => {"_id": 1, "a": {"_id": {"$regularExpression": {"pattern": "a", "options": ""}}}}
{"_id": 1} ; {"_id": 1} ; {"$set": {"$ref": 1}} ;  => 55 The DBRef $ref field must be a String, not a int
{"_id": 1} ; {"_id": 1} ; {"$set": {"$id": 1}} ;  => 55 Found $id field without a $ref before it, which is invalid.
{"_id": 1} ; {"_id": 1} ; {"$set": {"$db": 1}} ;  => 55 The DBRef $db field must be a String, not a int
{"_id": 1, "$b": 1} ; {"_id": 1} ; {"$set": {"$b": 2}} ;  => 52 The dollar ($) prefixed field '$b' in '$b' is not allowed in the context of an update's replacement document. Consider using an aggregation pipeline with $replaceWith.
{"_id": 1, "$b": 1} ; {"_id": 1} ; {"$set": {"c": 2}} ;  => {"_id": 1, "$b": 1, "c": 2}
{"_id": 1} ; {"_id": 1} ; {"$set": {"_id": {"$a": 1}}} ;  => 66 Performing an update on the path '_id' would modify the immutable field '_id'
{"_id": 1} ; {"_id": 1} ; {"$set": {"_id": [1]}} ;  => 66 Performing an update on the path '_id' would modify the immutable field '_id'
{"_id": 1} ; {"_id": 1} ; {"$set": {"_id": {"$regularExpression": {"pattern": "a", "options": ""}}}} ;  => 66 Performing an update on the path '_id' would modify the immutable field '_id'
{"_id": 1, "a": [1, {"x": 1}], "c": 5, "d": {"e": "s"}, "n": null, "e": {}, "s": {"x": [1]}} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: [ 1, { x: 1 } ]}
{"_id": 1, "a": [1, {"x": 1}], "c": 5, "d": {"e": "s"}, "n": null, "e": {}, "s": {"x": [1]}} ; {"_id": 1} ; {"$set": {"a.0": 1}} ;  => =
{"_id": 1, "a": [1, {"x": 1}], "c": 5, "d": {"e": "s"}, "n": null, "e": {}, "s": {"x": [1]}} ; {"_id": 1} ; {"$set": {"a.0.b": 1}} ;  => 28 Cannot create field 'b' in element {0: 1}
{"_id": 1, "a": [1, {"x": 1}], "c": 5, "d": {"e": "s"}, "n": null, "e": {}, "s": {"x": [1]}} ; {"_id": 1} ; {"$set": {"a.1.c": 1}} ;  => {"_id": 1, "a": [1, {"x": 1, "c": 1}], "c": 5, "d": {"e": "s"}, "n": null, "e": {}, "s": {"x": [1]}}
{"_id": 1, "a": [1, {"x": 1}], "c": 5, "d": {"e": "s"}, "n": null, "e": {}, "s": {"x": [1]}} ; {"_id": 1} ; {"$set": {"a.2.c": 1}} ;  => {"_id": 1, "a": [1, {"x": 1}, {"c": 1}], "c": 5, "d": {"e": "s"}, "n": null, "e": {}, "s": {"x": [1]}}
{"_id": 1, "a": [1, {"x": 1}], "c": 5, "d": {"e": "s"}, "n": null, "e": {}, "s": {"x": [1]}} ; {"_id": 1} ; {"$set": {"a.7": 1}} ;  => {"_id": 1, "a": [1, {"x": 1}, null, null, null, null, null, 1], "c": 5, "d": {"e": "s"}, "n": null, "e": {}, "s": {"x": [1]}}
{"_id": 1, "a": [1, {"x": 1}], "c": 5, "d": {"e": "s"}, "n": null, "e": {}, "s": {"x": [1]}} ; {"_id": 1} ; {"$set": {"a.01": 1}} ;  => {"_id": 1, "a": [1, 1], "c": 5, "d": {"e": "s"}, "n": null, "e": {}, "s": {"x": [1]}}
{"_id": 1, "a": [1, {"x": 1}], "c": 5, "d": {"e": "s"}, "n": null, "e": {}, "s": {"x": [1]}} ; {"_id": 1} ; {"$set": {"a.-1": 1}} ;  => 28 Cannot create field '-1' in element {a: [ 1, { x: 1 } ]}
{"_id": 1, "a": [1, {"x": 1}], "c": 5, "d": {"e": "s"}, "n": null, "e": {}, "s": {"x": [1]}} ; {"_id": 1} ; {"$set": {"c.x": 1}} ;  => 28 Cannot create field 'x' in element {c: 5}
{"_id": 1, "a": [1, {"x": 1}], "c": 5, "d": {"e": "s"}, "n": null, "e": {}, "s": {"x": [1]}} ; {"_id": 1} ; {"$set": {"c.0": 1}} ;  => 28 Cannot create field '0' in element {c: 5}
{"_id": 1, "a": [1, {"x": 1}], "c": 5, "d": {"e": "s"}, "n": null, "e": {}, "s": {"x": [1]}} ; {"_id": 1} ; {"$set": {"d.e.f": 1}} ;  => 28 Cannot create field 'f' in element {e: "s"}
{"_id": 1, "a": [1, {"x": 1}], "c": 5, "d": {"e": "s"}, "n": null, "e": {}, "s": {"x": [1]}} ; {"_id": 1} ; {"$set": {"n.x": 1}} ;  => 28 Cannot create field 'x' in element {n: null}
{"_id": 1, "a": [1, {"x": 1}], "c": 5, "d": {"e": "s"}, "n": null, "e": {}, "s": {"x": [1]}} ; {"_id": 1} ; {"$set": {"e.0": 1}} ;  => {"_id": 1, "a": [1, {"x": 1}], "c": 5, "d": {"e": "s"}, "n": null, "e": {"0": 1}, "s": {"x": [1]}}
{"_id": 1, "a": [1, {"x": 1}], "c": 5, "d": {"e": "s"}, "n": null, "e": {}, "s": {"x": [1]}} ; {"_id": 1} ; {"$set": {"s.x.y": 1}} ;  => 28 Cannot create field 'y' in element {x: [ 1 ]}
{"_id": 1, "a": [1, {"x": 1}], "c": 5, "d": {"e": "s"}, "n": null, "e": {}, "s": {"x": [1]}} ; {"_id": 1} ; {"$set": {"a.1.x.y": 1}} ;  => 28 Cannot create field 'y' in element {x: 1}
{"_id": 1, "a": [1, {"x": 1}], "c": 5, "d": {"e": "s"}, "n": null, "e": {}, "s": {"x": [1]}} ; {"_id": 1} ; {"$set": {"a.99999999": 1}} ;  => 34 can't backfill more than 1500000 elements
{"_id": 1, "a": [1, {"x": 1}], "c": 5, "d": {"e": "s"}, "n": null, "e": {}, "s": {"x": [1]}} ; {"_id": 1} ; {"$set": {"a.99999999999999999999": 1}} ;  => 28 Cannot create field '99999999999999999999' in element {a: [ 1, { x: 1 } ]}
{"_id": 1, "a": 5} ; {"_id": 1} ; {"$set": {"a.b.c": 1}} ;  => 28 Cannot create field 'b' in element {a: 5}
{"_id": 1, "a": 1.0} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: 1.0}
{"_id": 1, "a": 1.5} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: 1.5}
{"_id": 1, "a": {"$numberLong": "5"}} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: 5}
{"_id": 1, "a": true} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: true}
{"_id": 1, "a": null} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: null}
{"_id": 1, "a": {"$oid": "000000000000000000000000"}} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: ObjectId('000000000000000000000000')}
{"_id": 1, "a": {"$date": {"$numberLong": "1577836800000"}}} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: new Date(1577836800000)}
{"_id": 1, "a": {"$timestamp": {"t": 5, "i": 6}}} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: Timestamp(5, 6)}
{"_id": 1, "a": {"$regularExpression": {"pattern": "a", "options": "i"}}} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: /a/i}
{"_id": 1, "a": {"$binary": {"base64": "YWJj", "subType": "00"}}} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: BinData(0, 616263)}
{"_id": 1, "a": {"$binary": {"base64": "eA==", "subType": "04"}}} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: BinData(4, 78)}
{"_id": 1, "a": {"$minKey": 1}} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: MinKey}
{"_id": 1, "a": {"$maxKey": 1}} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: MaxKey}
{"_id": 1, "a": {"$code": "x"}} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: x}
{"_id": 1, "a": {"$code": "x", "$scope": {"a": 1}}} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: CodeWScope( x, { a: 1 })}
{"_id": 1, "a": {"$numberDecimal": "1.5"}} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: 1.5}
{"_id": 1, "a": {"$numberDouble": "NaN"}} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: nan.0}
{"_id": 1, "a": {"$numberDouble": "Infinity"}} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: inf.0}
{"_id": 1, "a": 1e+100} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: 1e+100.0}
{"_id": 1, "a": []} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: []}
{"_id": 1, "a": {}} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => {"_id": 1, "a": {"b": 1}}
{"_id": 1, "a": [[], {}]} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: [ [], {} ]}
{"_id": 1, "a": 0.1} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: 0.1}
{"_id": 1, "a": 1e+20} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: 1e+20.0}
{"_id": 1, "a": 1000000000000000.0} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: 1000000000000000.0}
{"_id": 1, "a": 123456789.125} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: 123456789.125}
{"_id": 1, "a": {"$numberDouble": "-0.0"}} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: -0.0}
{"_id": 1, "a": 1e-07} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: 1e-07.0}
{"_id": 1, "a": {"$date": {"$numberLong": "-315619200000"}}} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: new Date(-315619200000)}
{"_id": 1, "a": {"$numberLong": "9007199254740992"}} ; {"_id": 1} ; {"$set": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: 9007199254740992}
{"_id": 1} ; {"_id": 1} ; {"$set": {"a.b": 3, "a.b.c": 2}} ;  => 40 Updating the path 'a.b.c' would create a conflict at 'a.b'
{"_id": 1, "a": {"$numberDouble": "NaN"}} ; {"_id": 1} ; {"$set": {"a": {"$numberDouble": "NaN"}}} ;  => =
{"_id": 1, "a": {"$numberDouble": "-0.0"}} ; {"_id": 1} ; {"$set": {"a": 0.0}} ;  => {"_id": 1, "a": 0.0}
{"_id": 1, "a": 0.0} ; {"_id": 1} ; {"$set": {"a": {"$numberDouble": "-0.0"}}} ;  => {"_id": 1, "a": {"$numberDouble": "-0.0"}}
{"_id": 1, "a": {"x": {"$numberDouble": "NaN"}}} ; {"_id": 1} ; {"$set": {"a": {"x": {"$numberDouble": "NaN"}}}} ;  => =
{"_id": 1, "a": {"x": 0.0}} ; {"_id": 1} ; {"$set": {"a": {"x": {"$numberDouble": "-0.0"}}}} ;  => {"_id": 1, "a": {"x": {"$numberDouble": "-0.0"}}}
{"_id": 1, "a": {"$numberDecimal": "1.0"}} ; {"_id": 1} ; {"$set": {"a": {"$numberDecimal": "1.00"}}} ;  => {"_id": 1, "a": {"$numberDecimal": "1.00"}}
{"_id": 1, "a": {"$numberDecimal": "NaN"}} ; {"_id": 1} ; {"$set": {"a": {"$numberDecimal": "NaN"}}} ;  => =
{"_id": 1, "a": {"x": {"$numberDecimal": "1.0"}}} ; {"_id": 1} ; {"$set": {"a": {"x": {"$numberDecimal": "1.00"}}}} ;  => {"_id": 1, "a": {"x": {"$numberDecimal": "1.00"}}}
{"_id": 1, "a": {"x": 1}} ; {"_id": 1} ; {"$set": {"a": {"x": 1.0}}} ;  => {"_id": 1, "a": {"x": 1.0}}
{"_id": 1, "$b": 1} ; {"_id": 1} ; {"$set": {"$b": 1}} ;  => =
{"_id": 1, "$b": {"c": 1}} ; {"_id": 1} ; {"$set": {"$b.c": 2}} ;  => {"_id": 1, "$b": {"c": 2}}
{"_id": 1, "$b": {"c": 1}} ; {"_id": 1} ; {"$set": {"$b.d": 2}} ;  => {"_id": 1, "$b": {"c": 1, "d": 2}}
{"_id": 1} ; {"_id": 1} ; {"$set": {"$b.c": 2}} ;  => 52 The dollar ($) prefixed field '$b' in '$b' is not allowed in the context of an update's replacement document. Consider using an aggregation pipeline with $replaceWith.
{"_id": 1, "$b": [1]} ; {"_id": 1} ; {"$set": {"$b.0": 5}} ;  => {"_id": 1, "$b": [5]}
{"_id": 1} ; {"_id": 1} ; {"$set": {"$ref": "x"}} ;  => 55 The DBRef $ref field must be followed by a $id field
{"_id": 1} ; {"_id": 1} ; {"$set": {"$ref": "x", "$id": 1}} ;  => 55 Found $id field without a $ref before it, which is invalid.
{"_id": 1} ; {"_id": 1} ; {"$set": {"$id": 1, "x": 1}} ;  => 55 Found $id field without a $ref before it, which is invalid.
{"_id": 1} ; {"_id": 1} ; {"$set": {"$db": "x"}} ;  => 55 Found $db field without a $id before it, which is invalid.
{"_id": 1} ; {"_id": 1} ; {"$set": {"$ref": "x", "$id": 1, "$db": "y"}} ;  => 55 Found $db field without a $id before it, which is invalid.
{"_id": 1} ; {"_id": 1} ; {"$set": {"$ref": "x", "$db": "y"}} ;  => 55 Found $db field without a $id before it, which is invalid.
{"_id": 1, "$ref": "x"} ; {"_id": 1} ; {"$set": {"$ref": 5}} ;  => 55 The DBRef $ref field must be a String, not a int
"#,
    );
}

#[test]
fn unknown_modifier_answers_like_the_server() {
    check(
        r#"
{"_id": 1} ; {"_id": 1} ; {"$foo": {"a": 1}} ;  => 9 Unknown modifier: $foo. Expected a valid update modifier or pipeline-style update specified as an array
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$a": 1} ;  => 9 Unknown modifier: $a. Expected a valid update modifier or pipeline-style update specified as an array
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$bad": 5} ;  => 9 Unknown modifier: $bad. Expected a valid update modifier or pipeline-style update specified as an array
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$pushAll": {"a": [1]}} ;  => 9 Unknown modifier: $pushAll. Expected a valid update modifier or pipeline-style update specified as an array
"#,
    );
}

#[test]
fn replacement_answers_like_the_server() {
    check(
        r#"
{"_id": 1} ; {"_id": 1} ; {} ;  => {"_id": 1}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"b": {"$a": 1}} ;  => {"_id": 1, "b": {"$a": 1}}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"a.b": 1} ;  => {"_id": 1, "a.b": 1}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"": 1} ;  => {"_id": 1, "": 1}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"_id": 2} ;  => 66 After applying the update, the (immutable) field '_id' was found to have been altered to _id: 2
{"_id": 1, "a": 1} ; {"_id": 1} ; {"_id": 1.0} ;  => {"_id": 1.0}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"a": 1} ;  => {"_id": 1, "a": 1}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"_id": [1]} ;  => 53 The '_id' value cannot be of type array
{"_id": {"a": 1}} ; {} ; {"_id": {"a": 1.0}} ;  => {"_id": {"a": 1.0}}
{"_id": {"a": 1, "b": 1}} ; {} ; {"_id": {"b": 1, "a": 1}} ;  => 66 After applying the update, the (immutable) field '_id' was found to have been altered to _id: { b: 1, a: 1 }
"#,
    );
}

#[test]
fn unset_answers_like_the_server() {
    check(
        r#"
{"_id": {"a": 1, "b": 2}} ; {} ; {"$unset": {"_id.a": 2}} ;  => 66 Performing an update on the path '_id.a' would modify the immutable field '_id'
{"_id": {"a": 1, "b": 2}} ; {} ; {"$unset": {"_id.c": 2}} ;  => =
{"_id": 1} ; {"_id": 1} ; {"$unset": {"_id": 1}} ;  => 66 Performing an update on the path '_id' would modify the immutable field '_id'
{"_id": 1, "$b": 1} ; {"_id": 1} ; {"$unset": {"$b": 2}} ;  => {"_id": 1}
{"_id": 1, "a": [1, {"x": 1}], "c": 5} ; {"_id": 1} ; {"$unset": {"a": 1}} ;  => {"_id": 1, "c": 5}
{"_id": 1, "a": [1, {"x": 1}], "c": 5} ; {"_id": 1} ; {"$unset": {"b": 1}} ;  => =
{"_id": 1, "a": [1, {"x": 1}], "c": 5} ; {"_id": 1} ; {"$unset": {"a.b": 1}} ;  => =
{"_id": 1, "a": [1, {"x": 1}], "c": 5} ; {"_id": 1} ; {"$unset": {"a.0": 1}} ;  => {"_id": 1, "a": [null, {"x": 1}], "c": 5}
{"_id": 1, "a": [1, {"x": 1}], "c": 5} ; {"_id": 1} ; {"$unset": {"a.5": 1}} ;  => =
{"_id": 1, "a": [1, {"x": 1}], "c": 5} ; {"_id": 1} ; {"$unset": {"a.x": 1}} ;  => =
{"_id": 1, "a": [1, {"x": 1}], "c": 5} ; {"_id": 1} ; {"$unset": {"c.0": 1}} ;  => =
{"_id": 1, "a": [null]} ; {"_id": 1} ; {"$unset": {"a.0": 1}} ;  => {"_id": 1, "a": [null]}
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$unset": {"a.00": 1}} ;  => {"_id": 1, "a": [null]}
{"_id": 1, "$b": {"c": 1}} ; {"_id": 1} ; {"$unset": {"$b.c": 2}} ;  => {"_id": 1, "$b": {}}
"#,
    );
}

#[test]
fn inc_answers_like_the_server() {
    check(
        r#"
{"_id": {"a": 1, "b": 2}} ; {} ; {"$inc": {"_id.a": 1}} ;  => 66 Performing an update on the path '_id.a' would modify the immutable field '_id'
{"_id": {"a": 1, "b": 2}} ; {} ; {"$inc": {"_id.a": 0}} ;  => =
{"_id": 1} ; {"_id": 1} ; {"$inc": {"_id": 0}} ;  => =
{"_id": 1} ; {"_id": 1} ; {"$inc": {"_id": 1}} ;  => 66 Performing an update on the path '_id' would modify the immutable field '_id'
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$inc": {"a": "a"}} ;  => 14 Cannot increment with non-numeric argument: {a: "a"}
{"_id": 1, "a": null} ; {"_id": 1} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: 1} has the field 'a' of non-numeric type null
{"_id": 1, "a": "a"} ; {"_id": 1} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: 1} has the field 'a' of non-numeric type string
{"_id": 1, "a": 2147483647} ; {"_id": 1} ; {"$inc": {"a": 2}} ;  => {"_id": 1, "a": {"$numberLong": "2147483649"}}
{"_id": 1, "a": {"$numberLong": "4611686018427387904"}} ; {"_id": 1} ; {"$inc": {"a": {"$numberLong": "4"}}} ;  => {"_id": 1, "a": {"$numberLong": "4611686018427387908"}}
{"_id": 1, "a": {"$numberLong": "9223372036854775807"}} ; {"_id": 1} ; {"$inc": {"a": {"$numberLong": "1"}}} ;  => 2 Failed to apply $inc operations to current value ((NumberLong)9223372036854775807) for document {_id: 1}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$inc": {"a": 1.5}} ;  => {"_id": 1, "a": 2.5}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$inc": {"a": {"$numberDecimal": "1.5"}}} ;  => {"_id": 1, "a": {"$numberDecimal": "2.5"}}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$inc": {"a": true}} ;  => 14 Cannot increment with non-numeric argument: {a: true}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$inc": {"a": null}} ;  => 14 Cannot increment with non-numeric argument: {a: null}
{"_id": 1, "a": 0} ; {"_id": 1} ; {"$inc": {"a": 0}} ;  => =
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$inc": {"a": 0}} ;  => =
{"_id": 1, "a": 1.0} ; {"_id": 1} ; {"$inc": {"a": 0}} ;  => =
{"_id": 1, "a": {"$numberLong": "1"}} ; {"_id": 1} ; {"$inc": {"a": 0}} ;  => =
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$inc": {"a": {"$numberLong": "0"}}} ;  => {"_id": 1, "a": {"$numberLong": "1"}}
{"_id": 1, "a": 1.0} ; {"_id": 1} ; {"$inc": {"a": 1}} ;  => {"_id": 1, "a": 2.0}
{"_id": 1, "a": {"$numberDouble": "NaN"}} ; {"_id": 1} ; {"$inc": {"a": 1}} ;  => {"_id": 1, "a": {"$numberDouble": "NaN"}}
{"_id": 1, "a": {"$numberDecimal": "1.0"}} ; {"_id": 1} ; {"$inc": {"a": 1}} ;  => {"_id": 1, "a": {"$numberDecimal": "2.0"}}
{"_id": 1, "a": {"$numberDecimal": "NaN"}} ; {"_id": 1} ; {"$inc": {"a": 1}} ;  => {"_id": 1, "a": {"$numberDecimal": "NaN"}}
{"_id": 1, "a": {"$numberDecimal": "1.0"}} ; {"_id": 1} ; {"$inc": {"a": {"$numberDecimal": "0"}}} ;  => =
{"_id": 1, "a": {"$numberDouble": "-0.0"}} ; {"_id": 1} ; {"$inc": {"a": 0}} ;  => =
{"_id": 1, "a": {"$numberDouble": "Infinity"}} ; {"_id": 1} ; {"$inc": {"a": 1}} ;  => =
{"_id": 1, "a": 5} ; {"_id": 1} ; {"$inc": {"a": {"a": 1}}} ;  => 14 Cannot increment with non-numeric argument: {a: { a: 1 }}
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: 1} has the field 'a' of non-numeric type array
{"_id": 1} ; {"_id": 1} ; {"$inc": {"a.b": 1}} ;  => {"_id": 1, "a": {"b": 1}}
{"_id": 1} ; {"_id": 1} ; {"$inc": {"a": {"$numberDecimal": "2"}}} ;  => {"_id": 1, "a": {"$numberDecimal": "2"}}
{"_id": 1} ; {"_id": 1} ; {"$inc": {"a": {"$numberLong": "2"}}} ;  => {"_id": 1, "a": {"$numberLong": "2"}}
{"_id": 1} ; {"_id": 1} ; {"$inc": {"a": 2.5}} ;  => {"_id": 1, "a": 2.5}
{"_id": 1, "a": [1, {"b": "x"}]} ; {"_id": 1} ; {"$inc": {"a.1.b": 2}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: 1} has the field 'b' of non-numeric type string
{"_id": {"x": 1}, "a": "s"} ; {} ; {"$inc": {"a": 2}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: { x: 1 }} has the field 'a' of non-numeric type string
{"_id": {"$oid": "000000000000000000000000"}, "a": "s"} ; {} ; {"$inc": {"a": 2}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: ObjectId('000000000000000000000000')} has the field 'a' of non-numeric type string
{"_id": "q", "a": {"$numberLong": "4611686018427387904"}} ; {} ; {"$inc": {"a": {"$numberLong": "4611686018427387904"}}} ;  => 2 Failed to apply $inc operations to current value ((NumberLong)4611686018427387904) for document {_id: "q"}
{"_id": 1, "b": "s", "a": "s"} ; {"_id": 1} ; {"$inc": {"b": 1, "a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: 1} has the field 'a' of non-numeric type string
{"_id": 1.0, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: 1.0} has the field 'a' of non-numeric type string
{"_id": 1.5, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: 1.5} has the field 'a' of non-numeric type string
{"_id": {"$numberLong": "5"}, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: 5} has the field 'a' of non-numeric type string
{"_id": true, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: true} has the field 'a' of non-numeric type string
{"_id": null, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: null} has the field 'a' of non-numeric type string
{"_id": {"$date": {"$numberLong": "1577836800000"}}, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: new Date(1577836800000)} has the field 'a' of non-numeric type string
{"_id": {"$timestamp": {"t": 5, "i": 6}}, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: Timestamp(5, 6)} has the field 'a' of non-numeric type string
{"_id": 0, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: 0} has the field 'a' of non-numeric type string
{"_id": {"$binary": {"base64": "YWJj", "subType": "00"}}, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: BinData(0, 616263)} has the field 'a' of non-numeric type string
{"_id": {"$binary": {"base64": "eA==", "subType": "04"}}, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: BinData(4, 78)} has the field 'a' of non-numeric type string
{"_id": {"$minKey": 1}, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: MinKey} has the field 'a' of non-numeric type string
{"_id": {"$maxKey": 1}, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: MaxKey} has the field 'a' of non-numeric type string
{"_id": {"$code": "x"}, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: x} has the field 'a' of non-numeric type string
{"_id": {"$code": "x", "$scope": {"a": 1}}, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: CodeWScope( x, { a: 1 })} has the field 'a' of non-numeric type string
{"_id": {"$numberDecimal": "1.5"}, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: 1.5} has the field 'a' of non-numeric type string
{"_id": {"$numberDouble": "NaN"}, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: nan.0} has the field 'a' of non-numeric type string
{"_id": {"$numberDouble": "Infinity"}, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: inf.0} has the field 'a' of non-numeric type string
{"_id": 1e+100, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: 1e+100.0} has the field 'a' of non-numeric type string
{"_id": {}, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: {}} has the field 'a' of non-numeric type string
{"_id": 0.1, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: 0.1} has the field 'a' of non-numeric type string
{"_id": 1e+20, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: 1e+20.0} has the field 'a' of non-numeric type string
{"_id": 1000000000000000.0, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: 1000000000000000.0} has the field 'a' of non-numeric type string
{"_id": 123456789.125, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: 123456789.125} has the field 'a' of non-numeric type string
{"_id": {"$numberDouble": "-0.0"}, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: -0.0} has the field 'a' of non-numeric type string
{"_id": 1e-07, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: 1e-07.0} has the field 'a' of non-numeric type string
{"_id": {"$date": {"$numberLong": "-315619200000"}}, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: new Date(-315619200000)} has the field 'a' of non-numeric type string
{"_id": {"$numberLong": "9007199254740992"}, "a": "s"} ; {} ; {"$inc": {"a": 1}} ;  => 14 Cannot apply $inc to a value of non-numeric type. {_id: 9007199254740992} has the field 'a' of non-numeric type string
{"_id": 1, "$b": 5} ; {"_id": 1} ; {"$inc": {"$b": 1}} ;  => 52 The dollar ($) prefixed field '$b' in '$b' is not allowed in the context of an update's replacement document. Consider using an aggregation pipeline with $replaceWith.
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$inc": {"": "x"}} ;  => 56 An empty update path is not valid.
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$inc": {"a": 1, "a.b": "x"}} ;  => 14 Cannot increment with non-numeric argument: {a.b: "x"}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$inc": {"$.a": "x"}} ;  => 2 Cannot have positional (i.e. '$') element in the first position in path '$.a'
"#,
    );
}

#[test]
fn mul_answers_like_the_server() {
    check(
        r#"
{"_id": 1} ; {"_id": 1} ; {"$mul": {"_id": 1.0}} ;  => 66 Performing an update on the path '_id' would modify the immutable field '_id'
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$mul": {"a": "a"}} ;  => 14 Cannot multiply with non-numeric argument: {a: "a"}
{"_id": 1, "a": null} ; {"_id": 1} ; {"$mul": {"a": 1}} ;  => 14 Cannot apply $mul to a value of non-numeric type. {_id: 1} has the field 'a' of non-numeric type null
{"_id": 1, "a": "a"} ; {"_id": 1} ; {"$mul": {"a": 1}} ;  => 14 Cannot apply $mul to a value of non-numeric type. {_id: 1} has the field 'a' of non-numeric type string
{"_id": 1, "a": 2147483647} ; {"_id": 1} ; {"$mul": {"a": 2}} ;  => {"_id": 1, "a": {"$numberLong": "4294967294"}}
{"_id": 1, "a": {"$numberLong": "4611686018427387904"}} ; {"_id": 1} ; {"$mul": {"a": {"$numberLong": "4"}}} ;  => 2 Failed to apply $mul operations to current value ((NumberLong)4611686018427387904) for document {_id: 1}
{"_id": 1, "a": {"$numberLong": "9223372036854775807"}} ; {"_id": 1} ; {"$mul": {"a": {"$numberLong": "1"}}} ;  => =
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$mul": {"a": 1.5}} ;  => {"_id": 1, "a": 1.5}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$mul": {"a": {"$numberDecimal": "1.5"}}} ;  => {"_id": 1, "a": {"$numberDecimal": "1.5"}}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$mul": {"a": true}} ;  => 14 Cannot multiply with non-numeric argument: {a: true}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$mul": {"a": null}} ;  => 14 Cannot multiply with non-numeric argument: {a: null}
{"_id": 1, "a": 0} ; {"_id": 1} ; {"$mul": {"a": 0}} ;  => =
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$mul": {"a": 0}} ;  => {"_id": 1, "a": 0}
{"_id": 1, "a": 1.0} ; {"_id": 1} ; {"$mul": {"a": 0}} ;  => {"_id": 1, "a": 0.0}
{"_id": 1, "a": {"$numberLong": "1"}} ; {"_id": 1} ; {"$mul": {"a": 0}} ;  => {"_id": 1, "a": {"$numberLong": "0"}}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$mul": {"a": {"$numberLong": "0"}}} ;  => {"_id": 1, "a": {"$numberLong": "0"}}
{"_id": 1, "a": 1.0} ; {"_id": 1} ; {"$mul": {"a": 1}} ;  => =
{"_id": 1, "a": {"$numberDouble": "NaN"}} ; {"_id": 1} ; {"$mul": {"a": 1}} ;  => {"_id": 1, "a": {"$numberDouble": "NaN"}}
{"_id": 1, "a": {"$numberDecimal": "1.0"}} ; {"_id": 1} ; {"$mul": {"a": 1}} ;  => =
{"_id": 1, "a": {"$numberDecimal": "NaN"}} ; {"_id": 1} ; {"$mul": {"a": 1}} ;  => {"_id": 1, "a": {"$numberDecimal": "NaN"}}
{"_id": 1, "a": {"$numberDecimal": "1.0"}} ; {"_id": 1} ; {"$mul": {"a": {"$numberDecimal": "0"}}} ;  => {"_id": 1, "a": {"$numberDecimal": "0.0"}}
{"_id": 1, "a": {"$numberDouble": "-0.0"}} ; {"_id": 1} ; {"$mul": {"a": 0}} ;  => =
{"_id": 1, "a": {"$numberDouble": "Infinity"}} ; {"_id": 1} ; {"$mul": {"a": 1}} ;  => =
{"_id": 1, "a": 5} ; {"_id": 1} ; {"$mul": {"a": {"a": 1}}} ;  => 14 Cannot multiply with non-numeric argument: {a: { a: 1 }}
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$mul": {"a": 1}} ;  => 14 Cannot apply $mul to a value of non-numeric type. {_id: 1} has the field 'a' of non-numeric type array
{"_id": 1} ; {"_id": 1} ; {"$mul": {"a.b": 1}} ;  => {"_id": 1, "a": {"b": 0}}
{"_id": 1} ; {"_id": 1} ; {"$mul": {"a": {"$numberDecimal": "2"}}} ;  => {"_id": 1, "a": {"$numberDecimal": "0"}}
{"_id": 1} ; {"_id": 1} ; {"$mul": {"a": {"$numberLong": "2"}}} ;  => {"_id": 1, "a": {"$numberLong": "0"}}
{"_id": 1} ; {"_id": 1} ; {"$mul": {"a": 2.5}} ;  => {"_id": 1, "a": 0.0}
{"_id": 1, "a": [1, {"b": "x"}]} ; {"_id": 1} ; {"$mul": {"a.1.b": 2}} ;  => 14 Cannot apply $mul to a value of non-numeric type. {_id: 1} has the field 'b' of non-numeric type string
{"_id": {"x": 1}, "a": "s"} ; {} ; {"$mul": {"a": 2}} ;  => 14 Cannot apply $mul to a value of non-numeric type. {_id: { x: 1 }} has the field 'a' of non-numeric type string
{"_id": {"$oid": "000000000000000000000000"}, "a": "s"} ; {} ; {"$mul": {"a": 2}} ;  => 14 Cannot apply $mul to a value of non-numeric type. {_id: ObjectId('000000000000000000000000')} has the field 'a' of non-numeric type string
{"_id": "q", "a": {"$numberLong": "4611686018427387904"}} ; {} ; {"$mul": {"a": {"$numberLong": "4611686018427387904"}}} ;  => 2 Failed to apply $mul operations to current value ((NumberLong)4611686018427387904) for document {_id: "q"}
"#,
    );
}

#[test]
fn min_answers_like_the_server() {
    check(
        r#"
{"_id": 1} ; {"_id": 1} ; {"$min": {"_id": 1}} ;  => =
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$min": {"a": 1.0}} ;  => =
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$min": {"a": {"$numberLong": "1"}}} ;  => =
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$min": {"a": 2}} ;  => =
{"_id": 1, "a": 2} ; {"_id": 1} ; {"$min": {"a": 1}} ;  => {"_id": 1, "a": 1}
{"_id": 1, "a": null} ; {"_id": 1} ; {"$min": {"a": 1}} ;  => =
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$min": {"a": null}} ;  => {"_id": 1, "a": null}
{"_id": 1, "a": "a"} ; {"_id": 1} ; {"$min": {"a": 1}} ;  => {"_id": 1, "a": 1}
{"_id": 1, "a": {"$numberDouble": "NaN"}} ; {"_id": 1} ; {"$min": {"a": 1}} ;  => =
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$min": {"a": {"$numberDouble": "NaN"}}} ;  => {"_id": 1, "a": {"$numberDouble": "NaN"}}
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$min": {"a": 5}} ;  => {"_id": 1, "a": 5}
{"_id": 1, "a": {"a": 1}} ; {"_id": 1} ; {"$min": {"a": {"a": 2}}} ;  => =
{"_id": 1, "a": true} ; {"_id": 1} ; {"$min": {"a": false}} ;  => {"_id": 1, "a": false}
{"_id": 1} ; {"_id": 1} ; {"$min": {"a.b": 1}} ;  => {"_id": 1, "a": {"b": 1}}
"#,
    );
}

#[test]
fn current_date_answers_like_the_server() {
    check(
        r#"
{"_id": 1} ; {"_id": 1} ; {"$currentDate": {"_id": true}} ;  => 66 Performing an update on the path '_id' would modify the immutable field '_id'
{"_id": 1} ; {"_id": 1} ; {"$currentDate": {"a": 1}} ;  => 2 int is not valid type for $currentDate. Please use a boolean ('true') or a $type expression ({$type: 'timestamp/date'}).
{"_id": 1} ; {"_id": 1} ; {"$currentDate": {"a": {"$type": "Date"}}} ;  => 2 The '$type' string field is required to be 'date' or 'timestamp': {$currentDate: {field : {$type: 'date'}}}
{"_id": 1} ; {"_id": 1} ; {"$currentDate": {"a": {"$type": 1}}} ;  => 2 The '$type' string field is required to be 'date' or 'timestamp': {$currentDate: {field : {$type: 'date'}}}
{"_id": 1} ; {"_id": 1} ; {"$currentDate": {"a": {}}} ;  => 2 The '$type' string field is required to be 'date' or 'timestamp': {$currentDate: {field : {$type: 'date'}}}
{"_id": 1} ; {"_id": 1} ; {"$currentDate": {"a": {"a": 1}}} ;  => 2 Unrecognized $currentDate option: a
{"_id": 1} ; {"_id": 1} ; {"$currentDate": {"a": {"$type": "date", "b": 1}}} ;  => 2 Unrecognized $currentDate option: b
{"_id": 1} ; {"_id": 1} ; {"$currentDate": {"a": {"b": 1, "$type": "date"}}} ;  => 2 Unrecognized $currentDate option: b
{"_id": 1} ; {"_id": 1} ; {"$currentDate": {"a": "date"}} ;  => 2 string is not valid type for $currentDate. Please use a boolean ('true') or a $type expression ({$type: 'timestamp/date'}).
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$currentDate": {"": 5}} ;  => 56 An empty update path is not valid.
"#,
    );
}

#[test]
fn max_answers_like_the_server() {
    check(
        r#"
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$max": {"a": 1.0}} ;  => =
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$max": {"a": {"$numberLong": "1"}}} ;  => =
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$max": {"a": 2}} ;  => {"_id": 1, "a": 2}
{"_id": 1, "a": 2} ; {"_id": 1} ; {"$max": {"a": 1}} ;  => =
{"_id": 1, "a": null} ; {"_id": 1} ; {"$max": {"a": 1}} ;  => {"_id": 1, "a": 1}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$max": {"a": null}} ;  => =
{"_id": 1, "a": "a"} ; {"_id": 1} ; {"$max": {"a": 1}} ;  => =
{"_id": 1, "a": {"$numberDouble": "NaN"}} ; {"_id": 1} ; {"$max": {"a": 1}} ;  => {"_id": 1, "a": 1}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$max": {"a": {"$numberDouble": "NaN"}}} ;  => =
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$max": {"a": 5}} ;  => =
{"_id": 1, "a": {"a": 1}} ; {"_id": 1} ; {"$max": {"a": {"a": 2}}} ;  => {"_id": 1, "a": {"a": 2}}
{"_id": 1, "a": true} ; {"_id": 1} ; {"$max": {"a": false}} ;  => =
{"_id": 1} ; {"_id": 1} ; {"$max": {"a.b": 1}} ;  => {"_id": 1, "a": {"b": 1}}
"#,
    );
}

#[test]
fn bit_answers_like_the_server() {
    check(
        r#"
{"_id": 1, "a": 3} ; {"_id": 1} ; {"$bit": {"a": {"and": 1}}} ;  => {"_id": 1, "a": 1}
{"_id": 1, "a": 3} ; {"_id": 1} ; {"$bit": {"a": {"or": 4}}} ;  => {"_id": 1, "a": 7}
{"_id": 1, "a": 3} ; {"_id": 1} ; {"$bit": {"a": {"xor": 3}}} ;  => {"_id": 1, "a": 0}
{"_id": 1, "a": 3} ; {"_id": 1} ; {"$bit": {"a": {"and": 1, "or": 8}}} ;  => {"_id": 1, "a": 9}
{"_id": 1, "a": 3} ; {"_id": 1} ; {"$bit": {"a": {}}} ;  => 2 You must pass in at least one bitwise operation. The format is: {$bit: {field: {and/or/xor: #}}
{"_id": 1, "a": 3} ; {"_id": 1} ; {"$bit": {"a": {"not": 1}}} ;  => 2 The $bit modifier only supports 'and', 'or', and 'xor', not 'not' which is an unknown operator: {not: 1}
{"_id": 1, "a": 3} ; {"_id": 1} ; {"$bit": {"a": {"and": 1.0}}} ;  => 2 The $bit modifier field must be an Integer(32/64 bit); a 'double' is not supported here: {and: 1.0}
{"_id": 1, "a": 3} ; {"_id": 1} ; {"$bit": {"a": {"and": {"$numberLong": "1"}}}} ;  => {"_id": 1, "a": {"$numberLong": "1"}}
{"_id": 1, "a": 3} ; {"_id": 1} ; {"$bit": {"a": 5}} ;  => 2 The $bit modifier is not compatible with a int. You must pass in an embedded document: {$bit: {field: {and/or/xor: #}}
{"_id": 1, "a": 3} ; {"_id": 1} ; {"$bit": {"a": {"and": "x"}}} ;  => 2 The $bit modifier field must be an Integer(32/64 bit); a 'string' is not supported here: {and: "x"}
{"_id": 1, "a": 3} ; {"_id": 1} ; {"$bit": {"a": {"AND": 1}}} ;  => 2 The $bit modifier only supports 'and', 'or', and 'xor', not 'AND' which is an unknown operator: {AND: 1}
{"_id": 1, "a": 3} ; {"_id": 1} ; {"$bit": {"a": []}} ;  => 2 The $bit modifier is not compatible with a array. You must pass in an embedded document: {$bit: {field: {and/or/xor: #}}
{"_id": 1, "a": 3} ; {"_id": 1} ; {"$bit": {"a": {"and": 3}}} ;  => =
{"_id": 1} ; {"_id": 1} ; {"$bit": {"a": {"or": 5}}} ;  => {"_id": 1, "a": 5}
{"_id": 1} ; {"_id": 1} ; {"$bit": {"a": {"and": 5}}} ;  => {"_id": 1, "a": 0}
{"_id": 1} ; {"_id": 1} ; {"$bit": {"a": {"or": {"$numberLong": "5"}}}} ;  => {"_id": 1, "a": {"$numberLong": "5"}}
{"_id": 1, "a": "s"} ; {"_id": 1} ; {"$bit": {"a": {"or": 5}}} ;  => 2 Cannot apply $bit to a value of non-integral type._id: 1 has the field a of non-integer type string
{"_id": 1, "a": 1.0} ; {"_id": 1} ; {"$bit": {"a": {"or": 5}}} ;  => 2 Cannot apply $bit to a value of non-integral type._id: 1 has the field a of non-integer type double
{"_id": 1, "a": {"$numberLong": "1"}} ; {"_id": 1} ; {"$bit": {"a": {"or": 5}}} ;  => {"_id": 1, "a": {"$numberLong": "5"}}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$bit": {"a": {"or": {"$numberLong": "1"}}}} ;  => {"_id": 1, "a": {"$numberLong": "1"}}
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$bit": {"": 5}} ;  => 56 An empty update path is not valid.
"#,
    );
}

#[test]
fn pipeline_answers_like_the_server() {
    check(
        r#"
{"_id": 1, "a": 1} ; {"_id": 1} ; [] ;  => =
{"_id": 1, "a": 1} ; {"_id": 1} ; [{"$set": {"a": 1}}] ;  => =
{"_id": 1, "a": 1} ; {"_id": 1} ; [{"$set": {"a": 1.0}}] ;  => {"_id": 1, "a": 1.0}
{"_id": 1, "a": 1} ; {"_id": 1} ; [{"$set": {"_id": 2}}] ;  => 66 After applying the update, the (immutable) field '_id' was found to have been altered to _id: 2
{"_id": 1, "a": 1} ; {"_id": 1} ; [{"$set": {"_id": 1.0}}] ;  => {"_id": 1.0, "a": 1}
{"_id": 1, "a": 1} ; {"_id": 1} ; [{"$unset": "_id"}] ;  => {"_id": 1, "a": 1}
{"_id": 1, "a": 1} ; {"_id": 1} ; [{"$replaceWith": {"x": 1}}] ;  => {"_id": 1, "x": 1}
{"_id": 1, "a": 1} ; {"_id": 1} ; [{"$replaceWith": {"x": 1, "_id": 1}}] ;  => {"_id": 1, "x": 1}
{"_id": 1, "a": 1} ; {"_id": 1} ; [{"$replaceWith": "$a"}] ;  => 40228 'replacement document'  must evaluate to an object, but resulting value was: 1. Type of resulting value: 'int'. Input document: {_id: 1, a: 1}
{"_id": 1, "a": 1} ; {"_id": 1} ; [{"$match": {}}] ;  => 72 $match is not allowed to be used within an update
{"_id": 1, "a": 1} ; {"_id": 1} ; [{"$group": {"_id": 1}}] ;  => 72 $group is not allowed to be used within an update
{"_id": 1, "a": 1} ; {"_id": 1} ; [{"$set": {"$x": 1}}] ;  => 16410 Invalid $set :: caused by :: FieldPath field names may not start with '$'. Consider using $getField or $setField.
{"_id": 1, "a": 1} ; {"_id": 1} ; [{"$set": {"b": {"$literal": {"$x": 1}}}}] ;  => {"_id": 1, "a": 1, "b": {"$x": 1}}
{"_id": 1, "a": 1} ; {"_id": 1} ; [{"$replaceWith": {"$literal": {"$x": 1}}}] ;  => {"_id": 1, "$x": 1}
{"_id": 1, "a": 1} ; {"_id": 1} ; [{"$project": {"a": 1}}] ;  => =
{"_id": 1, "a": 1} ; {"_id": 1} ; [{"$project": {"_id": 0}}] ;  => {"_id": 1, "a": 1}
{"_id": 1, "a": 1} ; {"_id": 1} ; [{"$limit": 1}] ;  => 72 $limit is not allowed to be used within an update
{"_id": 1, "a": 1} ; {"_id": 1} ; [{"$set": {"a": "$$foo"}}] ;  => 17276 Invalid $set :: caused by :: Use of undefined variable: foo
{"_id": 1, "a": 1} ; {"_id": 1} ; [{"$set": {"a": {"$divide": [1, 0]}}}] ;  => 2 can't $divide by zero
{"_id": 1} ; {"_id": 1} ; [{"$set": {"_id": {"$literal": [1]}}}] ;  => 53 The '_id' value cannot be of type array
{"_id": 1} ; {"_id": 1} ; [{"$set": {"_id": {"$literal": {"$a": 1}}}}] ;  => 52 _id fields may not contain '$'-prefixed fields: $a is not valid for storage.
{"_id": 1} ; {"_id": 1} ; [{"$replaceWith": {"$literal": {"_id": {"$regularExpression": {"pattern": "a", "options": ""}}}}}] ;  => 53 The '_id' value cannot be of type regex
{"_id": {"a": 1}} ; {} ; [{"$set": {"_id.a": 2}}] ;  => 66 After applying the update, the (immutable) field '_id' was found to have been altered to _id: { a: 2 }
"#,
    );
}

#[test]
fn set_on_insert_answers_like_the_server() {
    check(
        r#"
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$setOnInsert": 5} ;  => 9 Modifiers operate on fields but we found type int instead. For example: {$mod: {<field>: ...}} not {$setOnInsert: 5}
"#,
    );
}
