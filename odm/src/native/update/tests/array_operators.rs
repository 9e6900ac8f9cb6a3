//! Operators on arrays.

use super::check;

#[test]
fn push_answers_like_the_server() {
    check(
        r#"
{"_id": 1} ; {"_id": 1} ; {"$push": {"_id": 1}} ;  => 2 The field '_id' must be an array but is of type int in document {_id: 1}
{"_id": 1, "b": 1} ; {"_id": 1} ; {"$push": {"$c": 1}} ;  => 52 The dollar ($) prefixed field '$c' in '$c' is not allowed in the context of an update's replacement document. Consider using an aggregation pipeline with $replaceWith.
{"_id": 1, "a": [{"$b": 1}]} ; {"_id": 1} ; {"$push": {"a": {"$x": 1}}} ;  => {"_id": 1, "a": [{"$b": 1}, {"$x": 1}]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [1]}}} ;  => {"_id": 1, "a": [3, 1, 2, 1]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": 1}}} ;  => 2 The argument to $each in $push must be an array but it was of type: int
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$slice": 1}}} ;  => {"_id": 1, "a": [3, 1, 2, {"$slice": 1}]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$slice": 1.0}}} ;  => {"_id": 1, "a": [3]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$slice": 1.5}}} ;  => 2 The value for $slice must be an integer value but was given type: double
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$slice": "a"}}} ;  => 2 The value for $slice must be an integer value but was given type: string
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$slice": {"$numberDecimal": "2"}}}} ;  => {"_id": 1, "a": [3, 1]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$slice": -2}}} ;  => {"_id": 1, "a": [1, 2]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$slice": 0}}} ;  => {"_id": 1, "a": []}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$slice": 10}}} ;  => =
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$slice": -10}}} ;  => =
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": 1}}} ;  => {"_id": 1, "a": [1, 2, 3]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": -1}}} ;  => {"_id": 1, "a": [3, 2, 1]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": -1.0}}} ;  => {"_id": 1, "a": [3, 2, 1]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": 1.5}}} ;  => 2 The $sort element value must be either 1 or -1
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": 2}}} ;  => 2 The $sort element value must be either 1 or -1
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": "a"}}} ;  => 2 The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": {}}}} ;  => 2 The sort pattern is empty when it should be a set of fields.
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": []}}} ;  => 2 The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": {"a": 2}}}} ;  => 2 The sort element value must be either 1 or -1
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": {"a": "x"}}}} ;  => 2 The sort element value must be either 1 or -1
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": {"": 1}}}} ;  => 2 The sort field cannot be empty
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": {"a.": 1}}}} ;  => 2 The sort field is a dotted field but has an empty part: a.
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": {".a": 1}}}} ;  => 2 The sort field is a dotted field but has an empty part: .a
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": {"a..b": 1}}}} ;  => 2 The sort field is a dotted field but has an empty part: a..b
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": {"a": 1, "b": -1}}}} ;  => {"_id": 1, "a": [3, 1, 2]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": {"a": 1.0, "b": true}}}} ;  => 2 The sort element value must be either 1 or -1
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [9], "$position": 0}}} ;  => {"_id": 1, "a": [9, 3, 1, 2]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [9], "$position": 1.0}}} ;  => {"_id": 1, "a": [3, 9, 1, 2]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [9], "$position": 1.5}}} ;  => 2 The value for $position must be an integer value, not of type: double
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [9], "$position": "a"}}} ;  => 2 The value for $position must be an integer value, not of type: string
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [9], "$position": -1}}} ;  => {"_id": 1, "a": [3, 1, 9, 2]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [9, 8], "$position": -2, "$slice": 4}}} ;  => {"_id": 1, "a": [3, 9, 8, 1]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [9], "$foo": 1}}} ;  => 2 Unrecognized clause in $push: $foo
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [9], "x": 1}}} ;  => 2 Unrecognized clause in $push: x
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"x": 1, "$each": [9]}}} ;  => 2 Unrecognized clause in $push: x
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$slice": 2, "$each": [9]}}} ;  => {"_id": 1, "a": [3, 1]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [9], "$slice": 1, "$slice ": 2}}} ;  => 2 Unrecognized clause in $push: $slice 
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$position": 1}}} ;  => =
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": []}}} ;  => =
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$position": 1}}} ;  => {"_id": 1, "a": [3, 1, 2, {"$position": 1}]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$sort": 1}}} ;  => {"_id": 1, "a": [3, 1, 2, {"$sort": 1}]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [9], "$position": {"$numberLong": "1099511627776"}}}} ;  => {"_id": 1, "a": [3, 1, 2, 9]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$slice": {"$numberLong": "1099511627776"}}}} ;  => =
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$slice": {"$numberLong": "-1099511627776"}}}} ;  => =
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$slice": null}}} ;  => 2 The value for $slice must be an integer value but was given type: null
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": {"$numberLong": "1"}}}} ;  => {"_id": 1, "a": [1, 2, 3]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": {"$numberDecimal": "1"}}}} ;  => {"_id": 1, "a": [1, 2, 3]}
{"_id": 1} ; {"_id": 1} ; {"$push": {"a": {"$each": []}}} ;  => {"_id": 1, "a": []}
{"_id": 1} ; {"_id": 1} ; {"$push": {"a": {"$each": [3, 1], "$sort": 1}}} ;  => {"_id": 1, "a": [1, 3]}
{"_id": 1, "a": 5} ; {"_id": 1} ; {"$push": {"a": 1}} ;  => 2 The field 'a' must be an array but is of type int in document {_id: 1}
{"_id": 1, "a": {"b": 5}} ; {"_id": 1} ; {"$push": {"a.b": 1}} ;  => 2 The field 'a.b' must be an array but is of type int in document {_id: 1}
{"_id": 1, "a": [{"b": 2}]} ; {"_id": 1} ; {"$push": {"a.b": 1}} ;  => 28 Cannot create field 'b' in element {a: [ { b: 2 } ]}
{"_id": 1, "a": [[1]]} ; {"_id": 1} ; {"$push": {"a.0": 1}} ;  => {"_id": 1, "a": [[1, 1]]}
{"_id": 1, "a": [[1]]} ; {"_id": 1} ; {"$push": {"a.2": 1}} ;  => {"_id": 1, "a": [[1], null, [1]]}
{"_id": 1, "a": [[1], 5]} ; {"_id": 1} ; {"$push": {"a.1": 1}} ;  => 2 The field 'a.1' must be an array but is of type int in document {_id: 1}
{"_id": 1} ; {"_id": 1} ; {"$push": {"a": {"$each": [1, 2, 3], "$slice": 2, "$position": 1}}} ;  => {"_id": 1, "a": [1, 2]}
{"_id": 1, "a": [{"b": [{"c": 2}, {"c": 0}]}, {"b": {"c": 1}}]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": {"b.c": 1}}}} ;  => {"_id": 1, "a": [{"b": [{"c": 2}, {"c": 0}]}, {"b": {"c": 1}}]}
{"_id": 1, "a": [[2], [1, 5], 1, [], null, "x", [[0]]]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": 1}}} ;  => {"_id": 1, "a": [null, 1, "x", [], [1, 5], [2], [[0]]]}
{"_id": 1, "a": [[2], [1, 5], 1, [], null, "x", [[0]]]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": -1}}} ;  => {"_id": 1, "a": [[[0]], [2], [1, 5], [], "x", 1, null]}
{"_id": 1, "a": [[2], [1, 5], 1, [], null, "x", [[0]]]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": {"0": 1}}}} ;  => {"_id": 1, "a": [[2], [1, 5], 1, [], null, "x", [[0]]]}
{"_id": 1, "a": [{"x": [2, 1]}, {"x": [1, 5]}, {"x": []}]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": {"x": 1, "y": 1}}}} ;  => {"_id": 1, "a": [{"x": []}, {"x": [1, 5]}, {"x": [2, 1]}]}
{"_id": 1, "a": [{"x": [2, 1], "y": [1]}, {"x": [1, 5]}, {"x": []}]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": {"x": 1, "y": 1}}}} ;  => {"_id": 1, "a": [{"x": []}, {"x": [1, 5]}, {"x": [2, 1], "y": [1]}]}
{"_id": 1, "a": [1, 1.0, {"$numberLong": "1"}]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": -1}}} ;  => {"_id": 1, "a": [1, 1.0, {"$numberLong": "1"}]}
{"_id": 1, "a": [1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": 1}}} ;  => {"_id": 1, "a": [1, 2]}
{"_id": 1, "a": [1, 1.0]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": 1}}} ;  => {"_id": 1, "a": [1, 1.0]}
{"_id": 1, "a": [{"s": null}, {}, {"s": null, "t": 1}, {"t": 5}]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": {"s": 1}}}} ;  => {"_id": 1, "a": [{"s": null}, {}, {"s": null, "t": 1}, {"t": 5}]}
{"_id": 1, "a": [{"s": null}, {}, {"s": null, "t": 1}, {"t": 5}]} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$sort": {"s": -1}}}} ;  => {"_id": 1, "a": [{"s": null}, {}, {"s": null, "t": 1}, {"t": 5}]}
{"_id": 1, "a": [3, 1]} ; {"_id": 1} ; {"$push": {"a": {"$each": [1], "$sort": 1, "$slice": 2}}} ;  => {"_id": 1, "a": [1, 1]}
{"_id": 1, "a": [1, 2]} ; {"_id": 1} ; {"$push": {"a": {"$each": [2], "$slice": 2}}} ;  => {"_id": 1, "a": [1, 2]}
{"_id": 1, "$b": [1]} ; {"_id": 1} ; {"$push": {"$b": 2}} ;  => 52 The dollar ($) prefixed field '$b' in '$b' is not allowed in the context of an update's replacement document. Consider using an aggregation pipeline with $replaceWith.
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$push": {"": {"$each": 1}}} ;  => 56 An empty update path is not valid.
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$push": {"a": {"$each": 1, "$foo": 1}}} ;  => 2 Unrecognized clause in $push: $foo
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$push": {"a": {"$each": [], "$slice": "x", "$sort": "y", "$position": "z"}}} ;  => 2 The value for $slice must be an integer value but was given type: string
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$push": {"a": {"$position": "z", "$sort": "y", "$slice": "x", "$each": []}}} ;  => 2 The value for $slice must be an integer value but was given type: string
"#,
    );
}

#[test]
fn add_to_set_answers_like_the_server() {
    check(
        r#"
{"_id": 1, "a": [{"$b": 1}]} ; {"_id": 1} ; {"$addToSet": {"a": {"$x": 1}}} ;  => {"_id": 1, "a": [{"$b": 1}, {"$x": 1}]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$addToSet": {"a": 1}} ;  => =
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$addToSet": {"a": [1]}} ;  => {"_id": 1, "a": [3, 1, 2, [1]]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$addToSet": {"a": {"$each": [5, 5, 3]}}} ;  => {"_id": 1, "a": [3, 1, 2, 5]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$addToSet": {"a": {"$each": 5}}} ;  => 14 The argument to $each in $addToSet must be an array but it was of type int
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$addToSet": {"a": {"$each": [5], "$slice": 1}}} ;  => 2 Found unexpected fields after $each in $addToSet: { $each: [ 5 ], $slice: 1 }
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$addToSet": {"a": {"$each": [5], "x": 1}}} ;  => 2 Found unexpected fields after $each in $addToSet: { $each: [ 5 ], x: 1 }
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$addToSet": {"a": {"x": 1, "$each": [5]}}} ;  => {"_id": 1, "a": [3, 1, 2, {"x": 1, "$each": [5]}]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$addToSet": {"a": {"$each": []}}} ;  => =
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$addToSet": {"a": {"$slice": 1}}} ;  => {"_id": 1, "a": [3, 1, 2, {"$slice": 1}]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$addToSet": {"a": 3.0}} ;  => =
{"_id": 1} ; {"_id": 1} ; {"$addToSet": {"a": {"$each": []}}} ;  => {"_id": 1, "a": []}
{"_id": 1} ; {"_id": 1} ; {"$addToSet": {"a": {"$each": [1, 1.0, 2]}}} ;  => {"_id": 1, "a": [1, 2]}
{"_id": 1} ; {"_id": 1} ; {"$addToSet": {"a": 1}} ;  => {"_id": 1, "a": [1]}
{"_id": 1, "a": [1, 1]} ; {"_id": 1} ; {"$addToSet": {"a": 2}} ;  => {"_id": 1, "a": [1, 1, 2]}
{"_id": 1, "a": null} ; {"_id": 1} ; {"$addToSet": {"a": 2}} ;  => 2 Cannot apply $addToSet to non-array field. Field named 'a' has non-array type null
{"_id": 1, "a": {"b": "x"}} ; {"_id": 1} ; {"$addToSet": {"a.b": 2}} ;  => 2 Cannot apply $addToSet to non-array field. Field named 'b' has non-array type string
{"_id": 1, "a": 1} ; {"_id": 1} ; {"$addToSet": {"a": {"$each": 1, "x": 1}}} ;  => 14 The argument to $each in $addToSet must be an array but it was of type int
"#,
    );
}

#[test]
fn pop_answers_like_the_server() {
    check(
        r#"
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$pop": {"a": 1}} ;  => {"_id": 1, "a": [3, 1]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$pop": {"a": -1}} ;  => {"_id": 1, "a": [1, 2]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$pop": {"a": 0}} ;  => 9 $pop expects 1 or -1, found: 0
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$pop": {"a": 1.0}} ;  => {"_id": 1, "a": [3, 1]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$pop": {"a": -1.0}} ;  => {"_id": 1, "a": [1, 2]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$pop": {"a": {"$numberDecimal": "1"}}} ;  => {"_id": 1, "a": [3, 1]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$pop": {"a": {"$numberLong": "-1"}}} ;  => {"_id": 1, "a": [1, 2]}
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$pop": {"a": 1.5}} ;  => 9 Expected an integer: a: 1.5
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$pop": {"a": "a"}} ;  => 9 Expected a number in: a: "a"
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$pop": {"a": true}} ;  => 9 Expected a number in: a: true
{"_id": 1, "a": [3, 1, 2]} ; {"_id": 1} ; {"$pop": {"a": null}} ;  => 9 Expected a number in: a: null
{"_id": 1} ; {"_id": 1} ; {"$pop": {"a": 1}} ;  => =
{"_id": 1} ; {"_id": 1} ; {"$pop": {"a.b": 1}} ;  => =
{"_id": 1, "a": []} ; {"_id": 1} ; {"$pop": {"a": 1}} ;  => =
{"_id": 1, "a": null} ; {"_id": 1} ; {"$pop": {"a": 1}} ;  => 14 Path 'a' contains an element of non-array type 'null'
{"_id": 1, "a": {"b": 1}} ; {"_id": 1} ; {"$pop": {"a.b": 1}} ;  => 14 Path 'a.b' contains an element of non-array type 'int'
{"_id": 1, "a": {"b": 1}} ; {"_id": 1} ; {"$pop": {"a.b.c": 1}} ;  => 28 Cannot use the part (c) of (a.b.c) to traverse the element ({b: 1})
{"_id": 1, "a": [{"b": 1}]} ; {"_id": 1} ; {"$pop": {"a.b": 1}} ;  => 28 Cannot use the part (b) of (a.b) to traverse the element ({a: [ { b: 1 } ]})
{"_id": 1, "a": [{"b": 1}]} ; {"_id": 1} ; {"$pop": {"a.5": 1}} ;  => =
{"_id": 1, "a": [{"b": 1}]} ; {"_id": 1} ; {"$pop": {"a.x.y": 1}} ;  => 28 Cannot use the part (x) of (a.x.y) to traverse the element ({a: [ { b: 1 } ]})
{"_id": 1, "a": [[1, 2]]} ; {"_id": 1} ; {"$pop": {"a.0": 1}} ;  => {"_id": 1, "a": [[1]]}
{"_id": 1, "a": 5} ; {"_id": 1} ; {"$pop": {"a": {"$numberDecimal": "1.5"}}} ;  => 9 Cannot represent as a 64-bit integer: a: 1.5
{"_id": 1, "a": 5} ; {"_id": 1} ; {"$pop": {"a": {"$numberLong": "1099511627776"}}} ;  => 9 $pop expects 1 or -1, found: 1099511627776
{"_id": 1, "a": 5} ; {"_id": 1} ; {"$pop": {"a": {"$numberDouble": "NaN"}}} ;  => 9 Expected an integer, but found NaN in: a: nan.0
{"_id": 1, "a": 5} ; {"_id": 1} ; {"$pop": {"a": 1e+30}} ;  => 9 Cannot represent as a 64-bit integer: a: 1e+30.0
{"_id": 1, "a": [5]} ; {"_id": 1} ; {"$pop": {"a": -2}} ;  => 9 $pop expects 1 or -1, found: -2
{"_id": 1, "a": [[1]]} ; {"_id": 1} ; {"$pop": {"a.00": 1}} ;  => {"_id": 1, "a": [[]]}
{"_id": 1, "$b": [1]} ; {"_id": 1} ; {"$pop": {"$b": 1}} ;  => {"_id": 1, "$b": []}
"#,
    );
}

#[test]
fn pull_answers_like_the_server() {
    check(
        r#"
{"_id": 1, "a": [1, 2, [1], [1, 2], "ab", null, {"x": 1}, {"x": 1, "y": 2}, {"x": [1, 2]}, {}, {"$regularExpression": {"pattern": "^a", "options": ""}}]} ; {"_id": 1} ; {"$pull": {"a": {"$exists": true}}} ;  => {"_id": 1, "a": []}
{"_id": 1, "a": [1, 2, [1], [1, 2], "ab", null, {"x": 1}, {"x": 1, "y": 2}, {"x": [1, 2]}, {}, {"$regularExpression": {"pattern": "^a", "options": ""}}]} ; {"_id": 1} ; {"$pull": {"a": {"$ne": 1}}} ;  => {"_id": 1, "a": [1, [1], [1, 2]]}
{"_id": 1, "a": [1, 2, [1], [1, 2], "ab", null, {"x": 1}, {"x": 1, "y": 2}, {"x": [1, 2]}, {}, {"$regularExpression": {"pattern": "^a", "options": ""}}]} ; {"_id": 1} ; {"$pull": {"a": {"x": {"$bad": 1}}}} ;  => 2 unknown operator: $bad
{"_id": 1, "a": [1, 2, [1], [1, 2], "ab", null, {"x": 1}, {"x": 1, "y": 2}, {"x": [1, 2]}, {}, {"$regularExpression": {"pattern": "^a", "options": ""}}]} ; {"_id": 1} ; {"$pull": {"a": {"$expr": {"$eq": [1, 1]}}}} ;  => 224 $expr is not allowed in this context
{"_id": 1, "a": [1, 2, [1], [1, 2], "ab", null, {"x": 1}, {"x": 1, "y": 2}, {"x": [1, 2]}, {}, {"$regularExpression": {"pattern": "^a", "options": ""}}]} ; {"_id": 1} ; {"$pull": {"a": {"$gt": 0, "x": 1}}} ;  => 2 unknown operator: x
{"_id": 1, "a": [1, 2, [1], [1, 2], "ab", null, {"x": 1}, {"x": 1, "y": 2}, {"x": [1, 2]}, {}, {"$regularExpression": {"pattern": "^a", "options": ""}}]} ; {"_id": 1} ; {"$pull": {"a": {"$jsonSchema": {}}}} ;  => 224 $jsonSchema is not allowed in this context
{"_id": 1, "a": [1, 2, [1], [1, 2], "ab", null, {"x": 1}, {"x": 1, "y": 2}, {"x": [1, 2]}, {}, {"$regularExpression": {"pattern": "^a", "options": ""}}]} ; {"_id": 1} ; {"$pull": {"a": {"$nin": [1]}}} ;  => {"_id": 1, "a": [1, [1], [1, 2]]}
{"_id": 1, "a": [1, 2, [1], [1, 2], "ab", null, {"x": 1}, {"x": 1, "y": 2}, {"x": [1, 2]}, {}, {"$regularExpression": {"pattern": "^a", "options": ""}}]} ; {"_id": 1} ; {"$pull": {"a": {"$ref": "a", "$id": 1}}} ;  => =
{"_id": 1} ; {"_id": 1} ; {"$pull": {"a": 1}} ;  => =
{"_id": 1, "a": 5} ; {"_id": 1} ; {"$pull": {"a": 1}} ;  => 2 Cannot apply $pull to a non-array value
{"_id": 1, "a": 5} ; {"_id": 1} ; {"$pull": {"a.b": 1}} ;  => 28 Cannot use the part (b) of (a.b) to traverse the element ({a: 5})
{"_id": 1, "a": []} ; {"_id": 1} ; {"$pull": {"a.b": 1}} ;  => 28 Cannot use the part (b) of (a.b) to traverse the element ({a: []})
{"_id": 1, "a": [{"b": [1]}]} ; {"_id": 1} ; {"$pull": {"a.b": 1}} ;  => 28 Cannot use the part (b) of (a.b) to traverse the element ({a: [ { b: [ 1 ] } ]})
{"_id": 1, "a": [{"b": [1]}]} ; {"_id": 1} ; {"$pull": {"a.5.b": 1}} ;  => =
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$pull": {"a": {"$sampleRate": 0.5}}} ;  => =
{"_id": 1, "a": [1]} ; {"_id": 1} ; {"$pull": {"a": {"$alwaysTrue": 1}}} ;  => =
{"_id": 1, "a": [1, {}]} ; {"_id": 1} ; {"$pull": {"a": {"$alwaysTrue": 1}}} ;  => {"_id": 1, "a": [1]}
{"_id": 1, "a": [{"$ref": "a", "$id": 1}]} ; {"_id": 1} ; {"$pull": {"a": {"$ref": "a", "$id": 1}}} ;  => {"_id": 1, "a": []}
{"_id": 1, "a": [{"$id": 1}]} ; {"_id": 1} ; {"$pull": {"a": {"$id": 1}}} ;  => {"_id": 1, "a": []}
"#,
    );
}

#[test]
fn pull_all_answers_like_the_server() {
    check(
        r#"
{"_id": 1, "a": [1, 2, [1], [1, 2], "ab", null, {"x": 1}, {"x": 1, "y": 2}, {"x": [1, 2]}, {}, {"$regularExpression": {"pattern": "^a", "options": ""}}]} ; {"_id": 1} ; {"$pullAll": {"a": 1}} ;  => 2 $pullAll requires an array argument but was given a int
{"_id": 1, "a": [1, 2, [1], [1, 2], "ab", null, {"x": 1}, {"x": 1, "y": 2}, {"x": [1, 2]}, {}, {"$regularExpression": {"pattern": "^a", "options": ""}}]} ; {"_id": 1} ; {"$pullAll": {"a": []}} ;  => =
{"_id": 1, "a": [1, 2, [1], [1, 2], "ab", null, {"x": 1}, {"x": 1, "y": 2}, {"x": [1, 2]}, {}, {"$regularExpression": {"pattern": "^a", "options": ""}}]} ; {"_id": 1} ; {"$pullAll": {"a": [{"y": 2, "x": 1}]}} ;  => =
{"_id": 1} ; {"_id": 1} ; {"$pullAll": {"a": [1]}} ;  => =
{"_id": 1, "a": 5} ; {"_id": 1} ; {"$pullAll": {"a": [1]}} ;  => 2 Cannot apply $pull to a non-array value
{"_id": 1, "a": 5} ; {"_id": 1} ; {"$pullAll": {"a.b": [1]}} ;  => 28 Cannot use the part (b) of (a.b) to traverse the element ({a: 5})
{"_id": 1, "a": null} ; {"_id": 1} ; {"$pullAll": {"a": [1]}} ;  => 2 Cannot apply $pull to a non-array value
"#,
    );
}
