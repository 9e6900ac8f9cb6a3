//! Filters and commands with what MongoDB 6.0.5 shows of them.

use super::Cases;

pub(super) const FILTERS: Cases = &[
    ("{}", "{}"),
    (
        r#"{ "a": { "$gt": 1, "$lt": 5 } }"#,
        r#"{ "$and": [{ "a": { "$lt": 5 } }, { "a": { "$gt": 1 } }] }"#,
    ),
    (r#"{ "x": { "$in": [2, 1] } }"#, r#"{ "x": { "$in": [1, 2] } }"#),
    (r#"{ "x": { "$in": [1] } }"#, r#"{ "x": { "$eq": 1 } }"#),
    (
        r#"{ "x": { "$nin": [1, 2] } }"#,
        r#"{ "x": { "$not": { "$in": [1, 2] } } }"#,
    ),
    (r#"{ "x": { "$ne": 1 } }"#, r#"{ "x": { "$not": { "$eq": 1 } } }"#),
    (
        r#"{ "x": { "$exists": false } }"#,
        r#"{ "x": { "$not": { "$exists": true } } }"#,
    ),
    (
        r#"{ "x": { "$type": ["number", "string"] } }"#,
        r#"{ "x": { "$type": ["number", 2] } }"#,
    ),
    (r#"{ "x": { "$mod": [3, 1] } }"#, r#"{ "x": { "$mod": [3, 1] } }"#),
    (r#"{ "x": { "$size": 2 } }"#, r#"{ "x": { "$size": 2 } }"#),
    (
        r#"{ "x": { "$all": [1, 2] } }"#,
        r#"{ "$and": [{ "x": { "$eq": 1 } }, { "x": { "$eq": 2 } }] }"#,
    ),
    (
        r#"{ "x": { "$elemMatch": { "y": 1, "z": { "$gt": 2 } } } }"#,
        r#"{ "x": { "$elemMatch": { "$and": [{ "y": { "$eq": 1 } }, { "z": { "$gt": 2 } }] } } }"#,
    ),
    (
        r#"{ "x": { "$elemMatch": { "$gt": 1, "$lt": 3 } } }"#,
        r#"{ "x": { "$elemMatch": { "$lt": 3, "$gt": 1 } } }"#,
    ),
    (
        r#"{ "x": { "$regex": "abc", "$options": "i" } }"#,
        r#"{ "x": { "$regex": "abc", "$options": "i" } }"#,
    ),
    (
        r#"{ "x": { "$not": { "$gt": 1, "$lt": 3 } } }"#,
        r#"{ "$nor": [{ "$and": [{ "x": { "$lt": 3 } }, { "x": { "$gt": 1 } }] }] }"#,
    ),
    (
        r#"{ "$nor": [{ "x": 1 }, { "y": 2 }] }"#,
        r#"{ "$nor": [{ "x": { "$eq": 1 } }, { "y": { "$eq": 2 } }] }"#,
    ),
    (
        r#"{ "$nor": [{ "x": 1 }] }"#,
        r#"{ "x": { "$not": { "$eq": 1 } } }"#,
    ),
    (r#"{ "$or": [{ "x": 1 }] }"#, r#"{ "x": { "$eq": 1 } }"#),
    (
        r#"{ "$or": [{ "x": 1 }, { "x": 2 }] }"#,
        r#"{ "x": { "$in": [1, 2] } }"#,
    ),
    (
        r#"{ "$or": [{ "x": 1 }, { "y": 1 }, { "x": 2 }] }"#,
        r#"{ "$or": [{ "y": { "$eq": 1 } }, { "x": { "$in": [1, 2] } }] }"#,
    ),
    (
        r#"{ "$and": [{ "x": 1, "z": 2 }, { "$or": [{ "y": 1 }, { "w": 2 }] }] }"#,
        r#"{ "$and": [{ "$or": [{ "w": { "$eq": 2 } }, { "y": { "$eq": 1 } }] }, { "x": { "$eq": 1 } }, { "z": { "$eq": 2 } }] }"#,
    ),
    (
        r#"{ "$expr": { "$eq": ["$x", 1] } }"#,
        r#"{ "$and": [{ "$expr": { "$eq": ["$x", { "$const": 1 }] } }, { "x": { "$_internalExprEq": 1 } }] }"#,
    ),
    (
        r#"{ "$expr": { "$gt": ["$x", "$y"] } }"#,
        r#"{ "$expr": { "$gt": ["$x", "$y"] } }"#,
    ),
    (
        r#"{ "x": { "$bitsAnyClear": 7 } }"#,
        r#"{ "x": { "$bitsAnyClear": [0, 1, 2] } }"#,
    ),
    (r#"{ "$comment": "h", "x": 1 }"#, r#"{ "x": { "$eq": 1 } }"#),
    (r#"{ "x": null }"#, r#"{ "x": { "$eq": null } }"#),
    (r#"{ "x": { "y": 1 } }"#, r#"{ "x": { "$eq": { "y": 1 } } }"#),
    (r#"{ "$alwaysFalse": 1 }"#, r#"{ "$alwaysFalse": 1 }"#),
    (
        r#"{ "$sampleRate": 0.5 }"#,
        r#"{ "$expr": { "$lt": [{ "$rand": {} }, { "$const": 0.5 }] } }"#,
    ),
    (
        r#"{ "x": { "$geoWithin": { "$box": [[1, 2], [3, 4]] } } }"#,
        r#"{ "x": { "$geoWithin": { "$box": [[1, 2], [3, 4]] } } }"#,
    ),
    (
        r#"{ "$and": [{ "d": 3 }, { "$and": [{ "d": 1 }, { "$and": [{ "b": 1 }, { "a": 1 }] }] }] }"#,
        r#"{ "$and": [{ "a": { "$eq": 1 } }, { "b": { "$eq": 1 } }, { "d": { "$eq": 3 } }, { "d": { "$eq": 1 } }] }"#,
    ),
];

pub(super) const LIMITS: Cases = &[
    (
        r#"{ "find": "c", "filter": { "a": 1 }, "limit": 3 }"#,
        "LIMIT(3) < FETCH < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] })",
    ),
    (
        r#"{ "find": "c", "filter": { "a": 1 }, "skip": 2, "limit": 3 }"#,
        "LIMIT(3) < FETCH < SKIP(2) < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] })",
    ),
    (
        r#"{ "find": "c", "filter": { "a": 1, "x": 1 }, "skip": 2, "limit": 3, "projection": { "b": 1 } }"#,
        r#"LIMIT(3) < PROJECTION_SIMPLE({ "b": 1 }) < SKIP(2) < FETCH({ "x": { "$eq": 1 } }) < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] })"#,
    ),
    (
        r#"{ "find": "c", "filter": { "a": 1 }, "projection": { "a": 1, "b": 1, "_id": 0 }, "limit": 2, "skip": 1 }"#,
        r#"LIMIT(2) < PROJECTION_COVERED({ "a": 1, "b": 1, "_id": 0 }) < SKIP(1) < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] })"#,
    ),
    (
        r#"{ "find": "c", "filter": { "a": 1 }, "projection": { "a": 1, "b": 1, "_id": 0 }, "sort": { "x": 1 } }"#,
        r#"PROJECTION_SIMPLE({ "a": 1, "b": 1, "_id": 0 }) < SORT({ "x": 1 }, simple) < FETCH < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] })"#,
    ),
    (
        r#"{ "find": "c", "filter": { "a": { "$gt": 1 } }, "projection": { "a": 1, "b": 1, "_id": 0 }, "sort": { "b": 1 } }"#,
        r#"SORT({ "b": 1 }, default) < PROJECTION_COVERED({ "a": 1, "b": 1, "_id": 0 }) < IXSCAN(a_1_b_-1, { a: [(1, inf.0]], b: [[MaxKey, MinKey]] })"#,
    ),
    (
        r#"{ "find": "c", "filter": { "a": { "$gt": 1 } }, "projection": { "a": 1, "b": 1, "_id": 0 }, "sort": { "b": 1 }, "limit": 3 }"#,
        r#"PROJECTION_COVERED({ "a": 1, "b": 1, "_id": 0 }) < SORT({ "b": 1 }, 3, default) < IXSCAN(a_1_b_-1, { a: [(1, inf.0]], b: [[MaxKey, MinKey]] })"#,
    ),
    (
        r#"{ "find": "c", "filter": {}, "projection": { "x": 1 }, "sort": { "x": 1 } }"#,
        r#"SORT({ "x": 1 }, simple) < PROJECTION_SIMPLE({ "x": 1 }) < COLLSCAN"#,
    ),
    (
        r#"{ "find": "c", "filter": {}, "projection": { "x": 0 }, "sort": { "y": 1 } }"#,
        r#"SORT({ "y": 1 }, simple) < PROJECTION_DEFAULT({ "x": 0 }) < COLLSCAN"#,
    ),
    (
        r#"{ "find": "c", "filter": {}, "projection": { "x": 0 }, "sort": { "x": 1 } }"#,
        r#"PROJECTION_DEFAULT({ "x": 0 }) < SORT({ "x": 1 }, simple) < COLLSCAN"#,
    ),
    (
        r#"{ "find": "c", "filter": {}, "projection": { "y": 1 }, "sort": { "x": 1 }, "limit": 2, "skip": 1 }"#,
        r#"PROJECTION_SIMPLE({ "y": 1 }) < SKIP(1) < SORT({ "x": 1 }, 3, simple) < COLLSCAN"#,
    ),
    (
        r#"{ "find": "c", "filter": {}, "skip": 1, "sort": { "x": 1 }, "projection": { "x": 1 } }"#,
        r#"SKIP(1) < SORT({ "x": 1 }, simple) < PROJECTION_SIMPLE({ "x": 1 }) < COLLSCAN"#,
    ),
    (
        r#"{ "find": "c", "filter": { "_id": 1 }, "projection": { "a": 1 } }"#,
        r#"PROJECTION_SIMPLE({ "a": 1 }) < IDHACK"#,
    ),
    (
        r#"{ "find": "c", "filter": { "_id": 1 }, "skip": 1 }"#,
        "FETCH < SKIP(1) < IXSCAN(_id_, { _id: [[1, 1]] })",
    ),
    (
        r#"{ "find": "c", "filter": { "_id": 1 }, "sort": { "a": 1 }, "limit": 1 }"#,
        "IDHACK",
    ),
    (
        r#"{ "find": "c", "filter": { "_id": 1 }, "hint": { "_id": 1 } }"#,
        "FETCH < IXSCAN(_id_, { _id: [[1, 1]] })",
    ),
    (
        r#"{ "find": "c", "filter": {}, "returnKey": true }"#,
        "RETURN_KEY < COLLSCAN",
    ),
    (
        r#"{ "find": "c", "filter": { "a": 1 }, "returnKey": true }"#,
        "RETURN_KEY < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] })",
    ),
    (
        r#"{ "find": "c", "filter": { "a": 1 }, "showRecordId": true, "projection": { "a": 1 } }"#,
        r#"PROJECTION_DEFAULT({ "a": 1, "$recordId": { "$meta": "recordId" } }) < FETCH < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] })"#,
    ),
    (
        r#"{ "find": "c", "filter": { "a": 1 }, "hint": { "$natural": -1 }, "limit": 2 }"#,
        r#"LIMIT(2) < COLLSCAN({ "a": { "$eq": 1 } }, backward)"#,
    ),
];

pub(super) const BOUNDS: Cases = &[
    (
        r#"{ "find": "c", "filter": { "a": 1, "x": 2 } }"#,
        r#"FETCH({ "x": { "$eq": 2 } }) < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] })"#,
    ),
    (
        r#"{ "find": "c", "filter": { "c": { "$regex": "^1" } } }"#,
        "FETCH < IXSCAN(c_1, { c: [['1', '2'), [/^1/, /^1/]] })",
    ),
    (
        r#"{ "find": "c", "filter": { "c": { "$regex": "1" } } }"#,
        r#"FETCH < IXSCAN({ "c": { "$regex": "1" } }, c_1, { c: [['', {}), [/1/, /1/]] })"#,
    ),
    (
        r#"{ "find": "c", "filter": { "a": 1, "b": { "$mod": [2, 0] } } }"#,
        r#"FETCH < IXSCAN({ "b": { "$mod": [2, 0] } }, a_1_b_-1, { a: [[1, 1]], b: [[inf.0, nan.0]] })"#,
    ),
    (
        r#"{ "find": "c", "filter": { "a": { "$mod": [2, 0] }, "b": { "$exists": true } } }"#,
        r#"FETCH({ "b": { "$exists": true } }) < IXSCAN({ "a": { "$mod": [2, 0] } }, a_1_b_-1, { a: [[nan.0, inf.0]], b: [[MaxKey, MinKey]] })"#,
    ),
    (
        r#"{ "find": "c", "filter": { "d": { "$elemMatch": { "$gt": 1, "$lt": 5 } } } }"#,
        r#"FETCH({ "d": { "$elemMatch": { "$lt": 5, "$gt": 1 } } }) < IXSCAN(d_1, { d: [(1, 5)] })"#,
    ),
    (
        r#"{ "find": "c", "filter": { "a": { "$type": "number" } } }"#,
        "FETCH < IXSCAN(a_1_b_-1, { a: [[nan.0, inf.0]], b: [[MaxKey, MinKey]] })",
    ),
    (
        r#"{ "find": "c", "filter": { "a": { "$type": "int" } } }"#,
        r#"FETCH < IXSCAN({ "a": { "$type": [16] } }, a_1_b_-1, { a: [[nan.0, inf.0]], b: [[MaxKey, MinKey]] })"#,
    ),
    (
        r#"{ "find": "c", "filter": { "a": { "$exists": false } } }"#,
        r#"FETCH({ "a": { "$not": { "$exists": true } } }) < IXSCAN(a_1_b_-1, { a: [[null, null]], b: [[MaxKey, MinKey]] })"#,
    ),
    (
        r#"{ "find": "c", "filter": { "a": { "$gt": 3 }, "$expr": { "$eq": ["$x", 1] }, "x": { "$ne": 3 } } }"#,
        r#"FETCH({ "$and": [{ "x": { "$not": { "$eq": 3 } } }, { "$expr": { "$eq": ["$x", { "$const": 1 }] } }, { "x": { "$_internalExprEq": 1 } }] }) < IXSCAN(a_1_b_-1, { a: [(3, inf.0]], b: [[MaxKey, MinKey]] })"#,
    ),
    (
        r#"{ "find": "c", "filter": { "$expr": { "$eq": ["$a", 1] } } }"#,
        r#"FETCH({ "$expr": { "$eq": ["$a", { "$const": 1 }] } }) < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] })"#,
    ),
    (
        r#"{ "find": "c", "filter": { "a": 1 }, "hint": "c_1" }"#,
        r#"FETCH({ "a": { "$eq": 1 } }) < IXSCAN(c_1, { c: [[MinKey, MaxKey]] })"#,
    ),
    (
        r#"{ "find": "c", "filter": { "a": 1, "e.f": { "$ne": 3 }, "$or": [{ "x": 1 }, { "y": 1 }] } }"#,
        r#"FETCH({ "$and": [{ "$or": [{ "x": { "$eq": 1 } }, { "y": { "$eq": 1 } }] }, { "e.f": { "$not": { "$eq": 3 } } }] }) < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] })"#,
    ),
    (
        r#"{ "find": "c", "filter": { "a": { "$gt": 5, "$lt": 1 } } }"#,
        "FETCH < IXSCAN(a_1_b_-1, { a: [], b: [[MaxKey, MinKey]] })",
    ),
    (
        r#"{ "find": "c", "filter": { "a": { "f": 1 } } }"#,
        "FETCH < IXSCAN(a_1_b_-1, { a: [[{ f: 1 }, { f: 1 }]], b: [[MaxKey, MinKey]] })",
    ),
    (
        r#"{ "find": "c", "filter": { "a": [1, { "f": "x" }] } }"#,
        r#"FETCH({ "a": { "$eq": [1, { "f": "x" }] } }) < IXSCAN(a_1_b_-1, { a: [[1, 1], [[ 1, { f: 'x' } ], [ 1, { f: 'x' } ]]], b: [[MaxKey, MinKey]] })"#,
    ),
];

pub(super) const CHOICES: Cases = &[
    (
        r#"{ "find": "c", "filter": { "$or": [{ "a": 1, "x": 2 }, { "c": "2" }] } }"#,
        r#"SUBPLAN < FETCH < OR < [FETCH({ "x": { "$eq": 2 } }) < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] }); IXSCAN(c_1, { c: [['2', '2']] })]"#,
    ),
    (
        r#"{ "find": "c", "filter": { "$or": [{ "a": 1 }, { "c": "2" }], "x": 1 } }"#,
        r#"FETCH({ "x": { "$eq": 1 } }) < OR < [IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] }); IXSCAN(c_1, { c: [['2', '2']] })]"#,
    ),
    (
        r#"{ "find": "c", "filter": { "$or": [{ "a": 1 }, { "c": "2" }] }, "sort": { "x": 1 }, "limit": 3 }"#,
        r#"SUBPLAN < SORT({ "x": 1 }, 3, simple) < FETCH < OR < [IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] }); IXSCAN(c_1, { c: [['2', '2']] })]"#,
    ),
    (
        r#"{ "find": "c", "filter": { "$or": [{ "a": 1 }, { "c": "2" }] }, "limit": 3, "skip": 1, "projection": { "a": 1 } }"#,
        r#"SUBPLAN < LIMIT(3) < PROJECTION_SIMPLE({ "a": 1 }) < FETCH < SKIP(1) < OR < [IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] }); IXSCAN(c_1, { c: [['2', '2']] })]"#,
    ),
    (
        r#"{ "find": "c", "filter": { "$or": [{ "a": 1 }, { "x": 2 }] } }"#,
        r#"SUBPLAN < COLLSCAN({ "$or": [{ "a": { "$eq": 1 } }, { "x": { "$eq": 2 } }] })"#,
    ),
    (
        r#"{ "find": "c", "filter": { "$or": [{ "a": 1 }, { "a": { "$gt": 3 } }, { "c": { "$regex": "1" } }] } }"#,
        r#"SUBPLAN < FETCH < OR < [IXSCAN(a_1_b_-1, { a: [[1, 1], (3, inf.0]], b: [[MaxKey, MinKey]] }); IXSCAN({ "$or": [{ "c": { "$regex": "1" } }] }, c_1, { c: [['', {}), [/1/, /1/]] })]"#,
    ),
    (
        r#"{ "find": "c", "filter": { "a": { "$in": [1, 3] } }, "sort": { "b": 1 } }"#,
        r#"FETCH < SORT_MERGE({ "b": 1 }) < [IXSCAN(a_1_b_-1, backward, { a: [[3, 3]], b: [[MinKey, MaxKey]] }); IXSCAN(a_1_b_-1, backward, { a: [[1, 1]], b: [[MinKey, MaxKey]] })]"#,
    ),
    (
        r#"{ "find": "c", "filter": { "a": { "$in": [1, 3] }, "$or": [{ "x": 1 }, { "y": 1 }] }, "sort": { "b": 1 } }"#,
        r#"FETCH({ "$or": [{ "x": { "$eq": 1 } }, { "y": { "$eq": 1 } }] }) < SORT_MERGE({ "b": 1 }) < [IXSCAN(a_1_b_-1, backward, { a: [[3, 3]], b: [[MinKey, MaxKey]] }); IXSCAN(a_1_b_-1, backward, { a: [[1, 1]], b: [[MinKey, MaxKey]] })]"#,
    ),
    (
        r#"{ "find": "c", "filter": { "$or": [{ "a": 1 }, { "c": "3" }], "x": 1, "y": { "$ne": 3 } } }"#,
        r#"FETCH({ "$and": [{ "y": { "$not": { "$eq": 3 } } }, { "x": { "$eq": 1 } }] }) < OR < [IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] }); IXSCAN(c_1, { c: [['3', '3']] })]"#,
    ),
    (
        r#"{ "find": "c", "filter": { "$or": [{ "a": { "$gt": 1 }, "x": 1 }, { "a": 4, "y": 1 }] } }"#,
        r#"SUBPLAN < OR < [FETCH({ "y": { "$eq": 1 } }) < IXSCAN(a_1_b_-1, { a: [[4, 4]], b: [[MaxKey, MinKey]] }); FETCH({ "x": { "$eq": 1 } }) < IXSCAN(a_1_b_-1, { a: [(1, inf.0]], b: [[MaxKey, MinKey]] })]"#,
    ),
    (
        r#"{ "find": "c", "filter": { "$or": [{ "a": { "$in": [1, 3] }, "x": 1 }, { "a": 4, "y": 1 }] }, "sort": { "b": 1 } }"#,
        r#"SUBPLAN < SORT_MERGE({ "b": 1 }) < [FETCH({ "y": { "$eq": 1 } }) < IXSCAN(a_1_b_-1, backward, { a: [[4, 4]], b: [[MinKey, MaxKey]] }); FETCH({ "x": { "$eq": 1 } }) < IXSCAN(a_1_b_-1, backward, { a: [[3, 3]], b: [[MinKey, MaxKey]] }); FETCH({ "x": { "$eq": 1 } }) < IXSCAN(a_1_b_-1, backward, { a: [[1, 1]], b: [[MinKey, MaxKey]] })]"#,
    ),
    (
        r#"{ "find": "c", "filter": { "$or": [{ "a": 1 }, { "b": 1, "$or": [{ "c": "1" }, { "d": 2 }] }] } }"#,
        r#"SUBPLAN < FETCH < OR < [FETCH({ "b": { "$eq": 1 } }) < OR < [IXSCAN(d_1, { d: [[2, 2]] }); IXSCAN(c_1, { c: [['1', '1']] })]; IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] })]"#,
    ),
    (
        r#"{ "find": "c", "filter": { "$or": [{ "x": 1 }, { "x": 2 }, { "y": 1 }] } }"#,
        r#"SUBPLAN < COLLSCAN({ "$or": [{ "y": { "$eq": 1 } }, { "x": { "$in": [1, 2] } }] })"#,
    ),
];

pub(super) const COUNTS: Cases = &[
    (r#"{ "count": "c", "query": {} }"#, "RECORD_STORE_FAST_COUNT"),
    (
        r#"{ "count": "c", "query": { "a": 1 } }"#,
        "COUNT < COUNT_SCAN(a_1_b_-1)",
    ),
    (
        r#"{ "count": "c", "query": { "a": 1, "x": 1 } }"#,
        r#"COUNT < FETCH({ "x": { "$eq": 1 } }) < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] })"#,
    ),
    (
        r#"{ "count": "c", "query": { "x": 1 } }"#,
        r#"COUNT < COLLSCAN({ "x": { "$eq": 1 } })"#,
    ),
    (
        r#"{ "count": "c", "query": { "a": { "$in": [1, 2] } } }"#,
        "COUNT < IXSCAN(a_1_b_-1, { a: [[1, 1], [2, 2]], b: [[MaxKey, MinKey]] })",
    ),
    (
        r#"{ "count": "c", "query": { "$or": [{ "a": 1 }, { "c": "1" }] } }"#,
        "COUNT < SUBPLAN < OR < [IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] }); IXSCAN(c_1, { c: [['1', '1']] })]",
    ),
    (r#"{ "count": "c", "query": { "_id": 1 } }"#, "COUNT < IDHACK"),
    (
        r#"{ "count": "c", "query": {}, "hint": "a_1_b_-1" }"#,
        "COUNT < COUNT_SCAN(a_1_b_-1)",
    ),
    (r#"{ "count": "nothing", "query": { "a": 1 } }"#, "COUNT < EOF"),
    (
        r#"{ "update": "c", "updates": [{ "q": { "a": 1 }, "u": { "$set": { "z": 1 } }, "multi": false }] }"#,
        "UPDATE < FETCH < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] })",
    ),
    (
        r#"{ "update": "c", "updates": [{ "q": { "_id": 1 }, "u": { "$set": { "z": 1 } }, "multi": false }] }"#,
        "UPDATE < IDHACK",
    ),
    (
        r#"{ "update": "c", "updates": [{ "q": { "$or": [{ "a": 1 }, { "c": "1" }] }, "u": { "$set": { "z": 1 } }, "multi": true }] }"#,
        "UPDATE < SUBPLAN < FETCH < OR < [IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] }); IXSCAN(c_1, { c: [['1', '1']] })]",
    ),
    (
        r#"{ "delete": "c", "deletes": [{ "q": { "x": 1 }, "limit": 1 }] }"#,
        r#"DELETE < COLLSCAN({ "x": { "$eq": 1 } })"#,
    ),
    (
        r#"{ "delete": "c", "deletes": [{ "q": { "a": 1 }, "limit": 0 }] }"#,
        "DELETE < FETCH < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] })",
    ),
    (
        r#"{ "delete": "c", "deletes": [{ "q": { "_id": 1 }, "limit": 1 }] }"#,
        "DELETE < IDHACK",
    ),
    (
        r#"{ "findAndModify": "c", "query": { "a": 1 }, "remove": true }"#,
        "DELETE < FETCH < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] })",
    ),
    (
        r#"{ "findAndModify": "c", "query": { "a": 1 }, "sort": { "x": 1 }, "update": { "$set": { "q": 1 } }, "fields": { "a": 1 } }"#,
        r#"PROJECTION_DEFAULT({ "a": 1 }) < UPDATE < SORT({ "x": 1 }, 1, default) < FETCH < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] })"#,
    ),
    (
        r#"{ "findAndModify": "c", "query": { "a": 1 }, "sort": { "b": 1 }, "remove": true, "fields": { "a": 1, "_id": 0 } }"#,
        r#"PROJECTION_DEFAULT({ "a": 1, "_id": 0 }) < DELETE < LIMIT(1) < FETCH < IXSCAN(a_1_b_-1, backward, { a: [[1, 1]], b: [[MinKey, MaxKey]] })"#,
    ),
    (r#"{ "distinct": "c", "key": "x" }"#, "COLLSCAN"),
    (
        r#"{ "distinct": "c", "key": "a", "query": { "a": { "$gt": 1 } } }"#,
        "PROJECTION_COVERED({}) < DISTINCT_SCAN(a_1_b_-1, { a: [(1, inf.0]], b: [[MaxKey, MinKey]] })",
    ),
    (
        r#"{ "distinct": "c", "key": "b" }"#,
        "PROJECTION_SIMPLE({}) < COLLSCAN",
    ),
    (
        r#"{ "distinct": "c", "key": "b", "query": { "a": 1 } }"#,
        "PROJECTION_COVERED({}) < DISTINCT_SCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] })",
    ),
    (
        r#"{ "distinct": "c", "key": "c", "query": { "a": 1 } }"#,
        "PROJECTION_SIMPLE({}) < FETCH < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] })",
    ),
    (
        r#"{ "distinct": "c", "key": "a", "query": { "a": 1, "x": 1 } }"#,
        r#"FETCH({ "x": { "$eq": 1 } }) < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] })"#,
    ),
];

pub(super) const DONE: Cases = &[
    (
        r#"{ "find": "c", "filter": { "a": 1, "b": { "$mod": [2, 0] } }, "projection": { "a": 1, "b": 1, "_id": 0 } }"#,
        r#"PROJECTION_COVERED({ "a": 1, "b": 1, "_id": 0 }, nReturned: 4) < IXSCAN({ "b": { "$mod": [2, 0] } }, a_1_b_-1, { a: [[1, 1]], b: [[inf.0, nan.0]] }, nReturned: 4, keysExamined: 6)"#,
    ),
    (
        r#"{ "count": "c", "query": { "a": 1, "b": { "$mod": [2, 0] } } }"#,
        r#"COUNT(nReturned: 0, nCounted: 4, nSkipped: 0) < IXSCAN({ "b": { "$mod": [2, 0] } }, a_1_b_-1, { a: [[1, 1]], b: [[inf.0, nan.0]] }, nReturned: 4, keysExamined: 6)"#,
    ),
    (
        r#"{ "find": "c", "filter": { "a": 1 }, "limit": 3 }"#,
        "LIMIT(3, nReturned: 3) < FETCH(nReturned: 3, docsExamined: 3) < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] }, nReturned: 3, keysExamined: 3)",
    ),
    (
        r#"{ "find": "c", "filter": { "a": 1 }, "skip": 2, "limit": 3 }"#,
        "LIMIT(3, nReturned: 3) < FETCH(nReturned: 3, docsExamined: 3) < SKIP(nReturned: 3) < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] }, nReturned: 5, keysExamined: 5)",
    ),
    (
        r#"{ "find": "c", "filter": { "a": 1, "c": { "$gt": "1" } }, "sort": { "x": 1 }, "limit": 3, "skip": 1, "projection": { "a": 1 } }"#,
        r#"PROJECTION_SIMPLE({ "a": 1 }, nReturned: 3) < SKIP(nReturned: 3) < SORT({ "x": 1 }, 4, simple, nReturned: 4) < FETCH({ "c": { "$gt": "1" } }, nReturned: 5, docsExamined: 6) < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] }, nReturned: 6, keysExamined: 6)"#,
    ),
    (
        r#"{ "find": "c", "filter": { "x": { "$exists": false } }, "skip": 28 }"#,
        r#"SKIP(nReturned: 2) < COLLSCAN({ "x": { "$not": { "$exists": true } } }, nReturned: 30, docsExamined: 30)"#,
    ),
    (
        r#"{ "find": "c", "filter": { "$or": [{ "a": 1 }, { "c": "1" }, { "d": 2 }] } }"#,
        "SUBPLAN(nReturned: 7) < FETCH(nReturned: 7, docsExamined: 7) < OR(nReturned: 7) < [IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] }, nReturned: 6, keysExamined: 6); IXSCAN(d_1, { d: [[2, 2]] }, nReturned: 2, keysExamined: 2); IXSCAN(c_1, { c: [['1', '1']] }, nReturned: 1, keysExamined: 1)]",
    ),
    (
        r#"{ "find": "c", "filter": { "_id": 1 } }"#,
        "IDHACK(nReturned: 1, docsExamined: 1, keysExamined: 1)",
    ),
    (
        r#"{ "find": "c", "filter": { "_id": 100 } }"#,
        "IDHACK(nReturned: 0, docsExamined: 0, keysExamined: 0)",
    ),
    (
        r#"{ "find": "c", "filter": { "a": 1, "b": { "$mod": [2, 0] } } }"#,
        r#"FETCH(nReturned: 4, docsExamined: 4) < IXSCAN({ "b": { "$mod": [2, 0] } }, a_1_b_-1, { a: [[1, 1]], b: [[inf.0, nan.0]] }, nReturned: 4, keysExamined: 6)"#,
    ),
    (
        r#"{ "find": "c", "filter": { "a": { "$in": [1, 3] } }, "sort": { "b": 1 }, "limit": 4 }"#,
        r#"LIMIT(4, nReturned: 4) < FETCH(nReturned: 4, docsExamined: 4) < SORT_MERGE({ "b": 1 }, nReturned: 4) < [IXSCAN(a_1_b_-1, backward, { a: [[3, 3]], b: [[MinKey, MaxKey]] }, nReturned: 3, keysExamined: 3); IXSCAN(a_1_b_-1, backward, { a: [[1, 1]], b: [[MinKey, MaxKey]] }, nReturned: 2, keysExamined: 2)]"#,
    ),
    (
        r#"{ "find": "c", "filter": { "a": 1 }, "projection": { "a": 1, "b": 1, "_id": 0 } }"#,
        r#"PROJECTION_COVERED({ "a": 1, "b": 1, "_id": 0 }, nReturned: 6) < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] }, nReturned: 6, keysExamined: 6)"#,
    ),
    (
        r#"{ "count": "c", "query": {}, "skip": 2 }"#,
        "RECORD_STORE_FAST_COUNT(nReturned: 0, nCounted: 28, nSkipped: 2)",
    ),
    (
        r#"{ "count": "c", "query": { "a": 1 }, "skip": 1, "limit": 2 }"#,
        "COUNT(nReturned: 0, nCounted: 2, nSkipped: 1) < COUNT_SCAN(a_1_b_-1, nReturned: 3, keysExamined: 3)",
    ),
    (
        r#"{ "count": "c", "query": { "x": 1 } }"#,
        r#"COUNT(nReturned: 0, nCounted: 0, nSkipped: 0) < COLLSCAN({ "x": { "$eq": 1 } }, nReturned: 0, docsExamined: 30)"#,
    ),
    (
        r#"{ "update": "c", "updates": [{ "q": { "a": 1 }, "u": { "$set": { "z": 1 } }, "multi": false }] }"#,
        "UPDATE(nReturned: 0, nMatched: 1) < FETCH(nReturned: 1, docsExamined: 1) < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] }, nReturned: 1, keysExamined: 1)",
    ),
    (
        r#"{ "update": "c", "updates": [{ "q": { "a": 1 }, "u": { "$set": { "z": 1 } }, "multi": true }] }"#,
        "UPDATE(nReturned: 0, nMatched: 6) < FETCH(nReturned: 6, docsExamined: 6) < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] }, nReturned: 6, keysExamined: 6)",
    ),
    (
        r#"{ "delete": "c", "deletes": [{ "q": { "a": 1 }, "limit": 0 }] }"#,
        "DELETE(nReturned: 0, nWouldDelete: 6) < FETCH(nReturned: 6, docsExamined: 6) < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] }, nReturned: 6, keysExamined: 6)",
    ),
    (
        r#"{ "findAndModify": "c", "query": { "a": 1 }, "remove": true }"#,
        "DELETE(nReturned: 1, nWouldDelete: 1) < FETCH(nReturned: 1, docsExamined: 1) < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] }, nReturned: 1, keysExamined: 1)",
    ),
    (r#"{ "find": "nothing" }"#, "EOF(nReturned: 0)"),
];

/// Filters with the plans of a find and of a count, and how many documents they find.
pub(super) const PRESENT: &[(&str, &str, &str, i32)] = &[
    (
        r#"{ "s": { "$exists": true } }"#,
        "FETCH < IXSCAN(s, { s: [[MinKey, MaxKey]] })",
        "COUNT < COUNT_SCAN(s)",
        10,
    ),
    (
        r#"{ "m": { "$exists": true } }"#,
        "FETCH < IXSCAN(m, { m: [[MaxKey, MinKey]] })",
        "COUNT < COUNT_SCAN(m)",
        7,
    ),
    (
        r#"{ "p.q": { "$exists": true } }"#,
        "FETCH < IXSCAN(p, { p.q: [[MinKey, MaxKey]] })",
        "COUNT < COUNT_SCAN(p)",
        4,
    ),
    (
        r#"{ "h": { "$exists": true } }"#,
        "FETCH < IXSCAN(h, { h: [[MinKey, MaxKey]] })",
        "COUNT < COUNT_SCAN(h)",
        10,
    ),
    (
        r#"{ "u": { "$exists": true } }"#,
        r#"FETCH({ "u": { "$exists": true } }) < IXSCAN(u, { u: [[MinKey, MaxKey]], w: [[MinKey, MaxKey]] })"#,
        r#"COUNT < FETCH({ "u": { "$exists": true } }) < IXSCAN(u, { u: [[MinKey, MaxKey]], w: [[MinKey, MaxKey]] })"#,
        4,
    ),
    (
        r#"{ "s": { "$exists": true }, "x": 1 }"#,
        r#"FETCH({ "x": { "$eq": 1 } }) < IXSCAN(s, { s: [[MinKey, MaxKey]] })"#,
        r#"COUNT < FETCH({ "x": { "$eq": 1 } }) < IXSCAN(s, { s: [[MinKey, MaxKey]] })"#,
        0,
    ),
    (
        r#"{ "s": { "$exists": true, "$gt": 3 } }"#,
        "FETCH < IXSCAN(s, { s: [(3, inf.0]] })",
        "COUNT < COUNT_SCAN(s)",
        8,
    ),
];
