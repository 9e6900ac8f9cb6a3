//! Pipelines with what MongoDB 6.0.5 shows of them: each stage with how many documents it gave.

/// Pipelines with their stages.
pub(super) const PIPELINES: &[(&str, &[&str])] = &[
    (
        r#"[{ "$match": { "a": 1 } }]"#,
        &[r#"FETCH < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] }) = 6"#],
    ),
    (
        r#"[{ "$match": { "a": 1 } }, { "$match": { "b": 2 } }]"#,
        &[r#"FETCH < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[2, 2]] }) = 2"#],
    ),
    (
        r#"[{ "$sort": { "a": 1 } }, { "$limit": 3 }]"#,
        &[r#"LIMIT(3) < FETCH < IXSCAN(a_1_b_-1, { a: [[MinKey, MaxKey]], b: [[MaxKey, MinKey]] }) = 3"#],
    ),
    (
        r#"[{ "$sort": { "b": 1 } }, { "$skip": 2 }, { "$limit": 3 }]"#,
        &[r#"SKIP < SORT({ "b": 1 }, 5, simple) < COLLSCAN = 3"#],
    ),
    (
        r#"[{ "$limit": 9 }, { "$skip": 2 }, { "$limit": 4 }]"#,
        &[r#"LIMIT(4) < SKIP < COLLSCAN = 4"#],
    ),
    (
        r#"[{ "$project": { "a": 1, "_id": 0 } }]"#,
        &[r#"PROJECTION_SIMPLE({ "a": true, "_id": false }) < COLLSCAN = 30"#],
    ),
    (
        r#"[{ "$match": { "a": 2 } }, { "$project": { "a": 1, "_id": 0 } }]"#,
        &[
            r#"PROJECTION_COVERED({ "a": true, "_id": false }) < IXSCAN(a_1_b_-1, { a: [[2, 2]], b: [[MaxKey, MinKey]] }) = 6"#,
        ],
    ),
    (
        r#"[{ "$project": { "x": { "$add": ["$a", 1] } } }]"#,
        &[r#"PROJECTION_DEFAULT({ "_id": true, "x": { "$add": ["$a", { "$const": 1 }] } }) < COLLSCAN = 30"#],
    ),
    (
        r#"[{ "$project": { "a": 0 } }]"#,
        &[
            r#"COLLSCAN = 30"#,
            r#"$project: { "a": false, "_id": true } = 30"#,
        ],
    ),
    (
        r#"[{ "$sort": { "e.f": 1 } }, { "$project": { "e.f": 1 } }]"#,
        &[
            r#"SORT({ "e.f": 1 }, simple) < PROJECTION_DEFAULT({ "_id": true, "e": { "f": true } }) < COLLSCAN = 30"#,
        ],
    ),
    (
        r#"[{ "$sort": { "b": 1 } }, { "$project": { "a": 1 } }]"#,
        &[r#"PROJECTION_SIMPLE({ "_id": true, "a": true }) < SORT({ "b": 1 }, simple) < COLLSCAN = 30"#],
    ),
    (
        r#"[{ "$unwind": "$d" }]"#,
        &[r#"COLLSCAN = 30"#, r#"$unwind: { "path": "$d" } = 60"#],
    ),
    (
        r#"[{ "$match": { "a": 1 } }, { "$unwind": "$d" }, { "$match": { "b": 1, "d": { "$gt": 3 } } }]"#,
        &[
            r#"FETCH < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[1, 1]] }) = 2"#,
            r#"$unwind: { "path": "$d" } = 4"#,
            r#"$match: { "d": { "$gt": 3 } } = 2"#,
        ],
    ),
    (
        r#"[{ "$unwind": { "path": "$d", "includeArrayIndex": "i", "preserveNullAndEmptyArrays": true } }, { "$sort": { "a": 1, "_id": 1 } }]"#,
        &[
            r#"SORT({ "a": 1, "_id": 1 }, simple) < COLLSCAN = 30"#,
            r#"$unwind: { "path": "$d", "preserveNullAndEmptyArrays": true, "includeArrayIndex": "i" } = 60"#,
        ],
    ),
    (
        r#"[{ "$unwind": "$d" }, { "$sort": { "d": -1 } }, { "$skip": 1 }, { "$limit": 3 }]"#,
        &[
            r#"COLLSCAN = 30"#,
            r#"$unwind: { "path": "$d" } = 60"#,
            r#"$sort: { "sortKey": { "d": -1 }, "limit": 4 } = 4"#,
            r#"$skip: 1 = 3"#,
        ],
    ),
    (
        r#"[{ "$unwind": "$d" }, { "$skip": 2 }, { "$skip": 3 }, { "$project": { "d": 1 } }]"#,
        &[
            r#"PROJECTION_SIMPLE({ "_id": 1, "d": 1 }) < COLLSCAN = 30"#,
            r#"$unwind: { "path": "$d" } = 60"#,
            r#"$skip: 5 = 55"#,
            r#"$project: { "_id": true, "d": true } = 55"#,
        ],
    ),
    (
        r#"[{ "$match": { "a": { "$gte": 3 } } }, { "$set": { "x": { "$multiply": ["$a", 2, 3] }, "e.g": 1 } }, { "$addFields": { "y": "$x" } }, { "$unset": ["e.f", "b"] }]"#,
        &[
            r#"FETCH < IXSCAN(a_1_b_-1, { a: [[3, inf.0]], b: [[MaxKey, MinKey]] }) = 12"#,
            r#"$set: { "x": { "$multiply": ["$a", { "$const": 6 }] }, "e": { "g": { "$const": 1 } } } = 12"#,
            r#"$addFields: { "y": "$x" } = 12"#,
            r#"$project: { "b": false, "e": { "f": false }, "_id": true } = 12"#,
        ],
    ),
    (
        r#"[{ "$unwind": "$d" }, { "$project": { "e.f": 1, "x": { "$cond": { "if": { "$gt": ["$a", 1] }, "then": "$d", "else": "$$REMOVE" } } } }]"#,
        &[
            r#"PROJECTION_DEFAULT({ "_id": 1, "a": 1, "d": 1, "e.f": 1 }) < COLLSCAN = 30"#,
            r#"$unwind: { "path": "$d" } = 60"#,
            r#"$project: { "_id": true, "e": { "f": true }, "x": { "$cond": [{ "$gt": ["$a", { "$const": 1 }] }, "$d", "$$REMOVE"] } } = 60"#,
        ],
    ),
    (
        r#"[{ "$unwind": "$d" }, { "$replaceWith": { "k": "$d", "f": "$e.f" } }]"#,
        &[
            r#"PROJECTION_DEFAULT({ "d": 1, "e.f": 1, "_id": 0 }) < COLLSCAN = 30"#,
            r#"$unwind: { "path": "$d" } = 60"#,
            r#"$replaceRoot: { "newRoot": { "k": "$d", "f": "$e.f" } } = 60"#,
        ],
    ),
    (
        r#"[{ "$unwind": "$d" }, { "$replaceRoot": { "newRoot": "$e" } }]"#,
        &[
            r#"PROJECTION_SIMPLE({ "d": 1, "e": 1, "_id": 0 }) < COLLSCAN = 30"#,
            r#"$unwind: { "path": "$d" } = 60"#,
            r#"$replaceRoot: { "newRoot": "$e" } = 60"#,
        ],
    ),
    (
        r#"[{ "$unwind": "$d" }, { "$group": { "_id": { "a": "$a" }, "n": { "$sum": 1 }, "m": { "$avg": "$d" }, "l": { "$topN": { "n": 2, "sortBy": { "d": -1 }, "output": "$d" } }, "f": { "$firstN": { "n": 2, "input": "$d" } }, "q": { "$count": {} } } }]"#,
        &[
            r#"PROJECTION_SIMPLE({ "a": 1, "d": 1, "_id": 0 }) < COLLSCAN = 30"#,
            r#"$unwind: { "path": "$d" } = 60"#,
            r#"$group: { "_id": { "a": "$a" }, "n": { "$sum": { "$const": 1 } }, "m": { "$avg": "$d" }, "l": { "$topN": { "n": { "$const": 2 }, "output": "$d", "sortBy": { "d": -1 } } }, "f": { "$firstN": { "n": { "$const": 2 }, "input": "$d" } }, "q": { "$sum": { "$const": 1 } } } = 5"#,
        ],
    ),
    (
        r#"[{ "$unwind": "$d" }, { "$group": { "_id": null, "n": { "$max": "$d" } } }]"#,
        &[
            r#"PROJECTION_SIMPLE({ "d": 1, "_id": 0 }) < COLLSCAN = 30"#,
            r#"$unwind: { "path": "$d" } = 60"#,
            r#"$group: { "_id": { "$const": null }, "n": { "$max": "$d" } } = 1"#,
        ],
    ),
    (
        r#"[{ "$unwind": "$d" }, { "$sortByCount": "$a" }]"#,
        &[
            r#"PROJECTION_SIMPLE({ "a": 1, "d": 1, "_id": 0 }) < COLLSCAN = 30"#,
            r#"$unwind: { "path": "$d" } = 60"#,
            r#"$group: { "_id": "$a", "count": { "$sum": { "$const": 1 } } } = 5"#,
            r#"$sort: { "sortKey": { "count": -1 } } = 5"#,
        ],
    ),
    (
        r#"[{ "$unwind": "$d" }, { "$bucket": { "groupBy": "$a", "boundaries": [0, 3, 9], "default": "x" } }]"#,
        &[
            r#"PROJECTION_SIMPLE({ "a": 1, "d": 1, "_id": 0 }) < COLLSCAN = 30"#,
            r#"$unwind: { "path": "$d" } = 60"#,
            r#"$group: { "_id": { "$switch": { "branches": [{ "case": { "$and": [{ "$gte": ["$a", { "$const": 0 }] }, { "$lt": ["$a", { "$const": 3 }] }] }, "then": { "$const": 0 } }, { "case": { "$and": [{ "$gte": ["$a", { "$const": 3 }] }, { "$lt": ["$a", { "$const": 9 }] }] }, "then": { "$const": 3 } }], "default": { "$const": "x" } } }, "count": { "$sum": { "$const": 1 } } } = 2"#,
            r#"$sort: { "sortKey": { "_id": 1 } } = 2"#,
        ],
    ),
    (
        r#"[{ "$unwind": "$d" }, { "$bucketAuto": { "groupBy": "$d", "buckets": 2, "granularity": "R5" } }]"#,
        &[
            r#"PROJECTION_SIMPLE({ "d": 1, "_id": 0 }) < COLLSCAN = 30"#,
            r#"$unwind: { "path": "$d" } = 60"#,
            r#"$bucketAuto: { "groupBy": "$d", "buckets": 2, "granularity": "R5", "output": { "count": { "$sum": { "$const": 1 } } } } = 2"#,
        ],
    ),
    (
        r#"[{ "$count": "n" }]"#,
        &[
            r#"COLLSCAN = 30"#,
            r#"$group: { "_id": { "$const": null }, "n": { "$sum": { "$const": 1 } } } = 1"#,
            r#"$project: { "n": true, "_id": false } = 1"#,
        ],
    ),
    (
        r#"[{ "$match": { "a": 1 } }, { "$count": "n" }]"#,
        &[
            r#"COUNT_SCAN(a_1_b_-1) = 6"#,
            r#"$group: { "_id": { "$const": null }, "n": { "$sum": { "$const": 1 } } } = 1"#,
            r#"$project: { "n": true, "_id": false } = 1"#,
        ],
    ),
    (
        r#"[{ "$unwind": "$d" }, { "$count": "n" }]"#,
        &[
            r#"PROJECTION_SIMPLE({ "d": 1, "_id": 0 }) < COLLSCAN = 30"#,
            r#"$unwind: { "path": "$d" } = 60"#,
            r#"$group: { "_id": { "$const": null }, "n": { "$sum": { "$const": 1 } } } = 1"#,
            r#"$project: { "n": true, "_id": false } = 1"#,
        ],
    ),
    (
        r#"[{ "$sample": { "size": 3 } }]"#,
        &[r#"COLLSCAN = 30"#, r#"$sample: { "size": 3 } = 3"#],
    ),
    (
        r#"[{ "$unwind": "$d" }, { "$redact": { "$cond": [{ "$eq": ["$a", 1] }, "$$KEEP", "$$PRUNE"] } }]"#,
        &[
            r#"COLLSCAN = 30"#,
            r#"$unwind: { "path": "$d" } = 60"#,
            r#"$redact: { "$cond": [{ "$eq": ["$a", { "$const": 1 }] }, "$$KEEP", "$$PRUNE"] } = 12"#,
        ],
    ),
    (
        r#"[{ "$lookup": { "from": "o", "localField": "a", "foreignField": "k", "as": "j" } }, { "$unwind": "$j" }]"#,
        &[
            r#"COLLSCAN = 30"#,
            r#"$lookup: { "from": "o", "as": "j", "localField": "a", "foreignField": "k", "unwinding": { "preserveNullAndEmptyArrays": false } } = 72"#,
        ],
    ),
    (
        r#"[{ "$lookup": { "from": "o", "let": { "q": "$a" }, "pipeline": [{ "$match": { "$expr": { "$eq": ["$k", "$$q"] } } }], "as": "j" } }, { "$match": { "j.z": 1 } }]"#,
        &[
            r#"COLLSCAN = 30"#,
            r#"$lookup: { "from": "o", "as": "j", "let": { "q": "$a" }, "pipeline": [{ "$match": { "$expr": { "$eq": ["$k", "$$q"] } } }] } = 30"#,
            r#"$match: { "j.z": { "$eq": 1 } } = 30"#,
        ],
    ),
    (
        r#"[{ "$graphLookup": { "from": "o", "startWith": "$a", "connectFromField": "z", "connectToField": "k", "as": "g", "maxDepth": 2, "depthField": "n", "restrictSearchWithMatch": { "z": 1 } } }, { "$unwind": { "path": "$g", "preserveNullAndEmptyArrays": true } }]"#,
        &[
            r#"COLLSCAN = 30"#,
            r#"$graphLookup: { "from": "o", "as": "g", "connectToField": "k", "connectFromField": "z", "startWith": "$a", "depthField": "n", "maxDepth": 2, "restrictSearchWithMatch": { "z": 1 }, "unwinding": { "preserveNullAndEmptyArrays": true } } = 84"#,
        ],
    ),
    (
        r#"[{ "$fill": { "output": { "e": { "value": 1 } } } }]"#,
        &[
            r#"COLLSCAN = 30"#,
            r#"$addFields: { "e": { "$ifNull": ["$e", { "$const": 1 }] } } = 30"#,
        ],
    ),
    (
        r#"[{ "$unwind": "$d" }, { "$out": "zz" }]"#,
        &[
            r#"COLLSCAN = 30"#,
            r#"$unwind: { "path": "$d" } = 60"#,
            r#"$out: { "db": "main", "coll": "zz" } = 0"#,
        ],
    ),
    (
        r#"[{ "$match": { "a": 1 } }, { "$merge": { "into": "zz", "whenMatched": "replace" } }]"#,
        &[
            r#"FETCH < IXSCAN(a_1_b_-1, { a: [[1, 1]], b: [[MaxKey, MinKey]] }) = 6"#,
            r#"$merge: { "into": { "db": "main", "coll": "zz" }, "on": "_id", "whenMatched": "replace", "whenNotMatched": "insert" } = 0"#,
        ],
    ),
    (
        r#"[{ "$collStats": { "count": {} } }]"#,
        &[r#"$collStats: { "count": {} } = 1"#],
    ),
    (
        r#"[{ "$indexStats": {} }, { "$project": { "name": 1 } }]"#,
        &[
            r#"$indexStats: {} = 4"#,
            r#"$project: { "_id": true, "name": true } = 4"#,
        ],
    ),
    (
        r#"[{ "$unwind": "$d" }, { "$set": { "x": { "$map": { "input": ["$a", "$b"], "as": "v", "in": { "$add": ["$$v", "$d"] } } }, "y": { "$let": { "vars": { "p": "$a", "q": 2 }, "in": { "$subtract": ["$$p", "$$q"] } } }, "z": { "$dateToString": { "date": "$t", "format": "%Y", "onNull": "none" } } } }]"#,
        &[
            r#"COLLSCAN = 30"#,
            r#"$unwind: { "path": "$d" } = 60"#,
            r#"$set: { "x": { "$map": { "input": ["$a", "$b"], "as": "v", "in": { "$add": ["$$v", "$d"] } } }, "y": { "$let": { "vars": { "p": "$a", "q": { "$const": 2 } }, "in": { "$subtract": ["$$p", "$$q"] } } }, "z": { "$dateToString": { "date": "$t", "format": { "$const": "%Y" }, "onNull": { "$const": "none" } } } } = 60"#,
        ],
    ),
    (
        r#"[{ "$unwind": "$d" }, { "$set": { "x": { "$reduce": { "input": "$l", "initialValue": 0, "in": { "$add": ["$$value", "$$this"] } } }, "y": { "$filter": { "input": "$l", "cond": { "$gt": ["$$this", 1] }, "limit": 2 } }, "z": { "$switch": { "branches": [{ "case": "$a", "then": 1 }], "default": { "$toInt": "$c" } } } } }]"#,
        &[
            r#"COLLSCAN = 30"#,
            r#"$unwind: { "path": "$d" } = 60"#,
            r#"$set: { "x": { "$reduce": { "input": "$l", "initialValue": { "$const": 0 }, "in": { "$add": ["$$value", "$$this"] } } }, "y": { "$filter": { "input": "$l", "as": "this", "cond": { "$gt": ["$$this", { "$const": 1 }] }, "limit": { "$const": 2 } } }, "z": { "$switch": { "branches": [{ "case": "$a", "then": { "$const": 1 } }], "default": { "$convert": { "input": "$c", "to": { "$const": "int" } } } } } } = 60"#,
        ],
    ),
    (
        r#"[{ "$unwind": "$d" }, { "$match": { "d": { "$lt": 3 } } }, { "$match": { "d": { "$ne": 2 } } }]"#,
        &[
            r#"COLLSCAN = 30"#,
            r#"$unwind: { "path": "$d" } = 60"#,
            r#"$match: { "$and": [{ "d": { "$lt": 3 } }, { "d": { "$not": { "$eq": 2 } } }] } = 3"#,
        ],
    ),
];
