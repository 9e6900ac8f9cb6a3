//! Collations of pipelines: groups, expressions, stages and joins.

use bson::{Bson, Document, doc};
use odm::Db;

use super::collation::things;
use odm_tests::command::{batch, insert, run};

crate::on_every_backend! {
    accumulators_and_groups_compare_by_the_collation,
    expressions_compare_by_the_collation,
    joins_compare_by_the_collation,
    stages_compare_by_the_collation,
}

/// Letters whatever their case.
fn caseless() -> Document {
    doc! { "locale": "en", "strength": 2 }
}

/// Letters whatever their case and accents.
fn plain() -> Document {
    doc! { "locale": "fr", "strength": 1 }
}

async fn aggregated(db: &Db, name: &str, pipeline: Vec<Document>, collation: Document) -> Vec<Document> {
    let command = doc! { "aggregate": name, "pipeline": pipeline, "cursor": {}, "collation": collation };
    batch(&run(db, command).await)
}

async fn accumulators_and_groups_compare_by_the_collation(db: &Db) {
    insert(db, "things", things()).await;
    let group = |by: &str| {
        vec![
            doc! { "$match": { "_id": { "$lte": 4 } } },
            doc! { "$sort": { "_id": 1 } },
            doc! { "$group": { "_id": by, "n": { "$sum": 1 }, "set": { "$addToSet": "$s" } } },
            doc! { "$sort": { "n": -1, "_id": 1 } },
        ]
    };
    assert_eq!(
        aggregated(db, "things", group("$s"), plain()).await,
        [
            doc! { "_id": "apple", "n": 3, "set": ["apple"] },
            doc! { "_id": "banana", "n": 1, "set": ["banana"] },
        ]
    );
    let extremes = vec![
        doc! { "$match": { "_id": { "$in": [2, 4, 12] } } },
        doc! { "$group": { "_id": null, "min": { "$min": "$s" }, "max": { "$max": "$s" } } },
    ];
    let upper = doc! { "$addFields": { "s": { "$cond": [{ "$eq": ["$_id", 4] }, "BANANA", "$s"] } } };
    let mut changed = extremes.clone();
    changed.insert(1, upper);
    assert_eq!(
        aggregated(db, "things", changed.clone(), caseless()).await,
        [doc! { "_id": null, "min": "Apple", "max": "cherry-2" }]
    );
    changed[2] =
        doc! { "$group": { "_id": null, "min": { "$min": { "$toLower": "$s" } }, "max": { "$max": "$s" } } };
    assert_eq!(
        aggregated(db, "things", changed, doc! { "locale": "simple" }).await,
        [doc! { "_id": null, "min": "apple", "max": "cherry-2" }]
    );
    let all = aggregated(db, "things", group("$none"), caseless()).await;
    assert_eq!(all[0].get_array("set").unwrap().len(), 3);
    let counted = vec![
        doc! { "$match": { "_id": { "$in": [6, 7] } } },
        doc! { "$sort": { "_id": 1 } },
        doc! { "$sortByCount": "$s" },
    ];
    assert_eq!(
        aggregated(db, "things", counted, caseless())
            .await
            .first()
            .unwrap(),
        &doc! { "_id": { "t": "Apple", "n": 1 }, "count": 2 }
    );
    let best = vec![
        doc! { "$match": { "_id": { "$lte": 4 } } },
        doc! { "$group": {
            "_id": null,
            "top": { "$top": { "sortBy": { "s": -1, "_id": 1 }, "output": "$_id" } },
            "first": { "$bottomN": { "n": 2, "sortBy": { "s": -1, "_id": 1 }, "output": "$_id" } },
            "least": { "$minN": { "n": 1, "input": "$s" } },
        } },
    ];
    assert_eq!(
        aggregated(db, "things", best, plain()).await,
        [doc! { "_id": null, "top": 4, "first": [2, 3], "least": ["apple"] }]
    );
    let command =
        doc! { "distinct": "things", "key": "s", "query": { "_id": { "$lte": 5 } }, "collation": plain() };
    let mut values = run(db, command).await.get_array("values").unwrap().clone();
    values.sort_by_key(|value| value.as_str().unwrap().to_lowercase());
    assert_eq!(values, ["apple", "banana", "cherry"].map(Bson::from));
}

async fn expressions_compare_by_the_collation(db: &Db) {
    insert(
        db,
        "one",
        vec![doc! { "_id": 1, "a": "x", "b": "X", "l": ["b", "A", "a", "C"], "d": { "k": "x" } }],
    )
    .await;
    for (expression, simple, caseless_too) in [
        (doc! { "$eq": ["$a", "$b"] }, Bson::from(false), Bson::from(true)),
        (doc! { "$ne": ["$a", "$b"] }, true.into(), false.into()),
        (doc! { "$cmp": ["$a", "$b"] }, 1.into(), 0.into()),
        (doc! { "$gt": ["$a", "$b"] }, true.into(), false.into()),
        (doc! { "$lte": ["$a", "$b"] }, false.into(), true.into()),
        (doc! { "$eq": ["$d", { "k": "X" }] }, false.into(), true.into()),
        (doc! { "$eq": ["x", "X"] }, false.into(), true.into()),
        (doc! { "$in": ["c", "$l"] }, false.into(), true.into()),
        (doc! { "$indexOfArray": ["$l", "B"] }, (-1).into(), 0.into()),
        (
            doc! { "$setUnion": ["$l", []] },
            doc! { "v": ["A", "C", "a", "b"] }.get("v").unwrap().clone(),
            doc! { "v": ["A", "b", "C"] }.get("v").unwrap().clone(),
        ),
        (
            doc! { "$setIntersection": ["$l", ["B"]] },
            Bson::Array(vec![]),
            Bson::Array(vec!["B".into()]),
        ),
        (
            doc! { "$setDifference": ["$l", ["B", "c"]] },
            doc! { "v": ["b", "A", "a", "C"] }.get("v").unwrap().clone(),
            Bson::Array(vec!["A".into()]),
        ),
        (
            doc! { "$setEquals": ["$l", ["a", "B", "c"]] },
            false.into(),
            true.into(),
        ),
        (doc! { "$setEquals": [["a"], ["A"]] }, false.into(), true.into()),
        (doc! { "$setIsSubset": [["B"], "$l"] }, false.into(), true.into()),
        (
            doc! { "$sortArray": { "input": "$l", "sortBy": 1 } },
            doc! { "v": ["A", "C", "a", "b"] }.get("v").unwrap().clone(),
            doc! { "v": ["A", "a", "b", "C"] }.get("v").unwrap().clone(),
        ),
        (doc! { "$max": "$l" }, "b".into(), "C".into()),
        (doc! { "$min": ["$a", "$b"] }, "X".into(), "x".into()),
        (
            doc! { "$maxN": { "n": 1, "input": "$l" } },
            Bson::Array(vec!["b".into()]),
            Bson::Array(vec!["C".into()]),
        ),
        (
            doc! { "$cond": [{ "$eq": ["$a", "X"] }, 1, 2] },
            2.into(),
            1.into(),
        ),
        (
            doc! { "$switch": { "branches": [{ "case": { "$eq": ["$a", "X"] }, "then": 1 }], "default": 2 } },
            2.into(),
            1.into(),
        ),
        (
            doc! { "$filter": { "input": "$l", "cond": { "$eq": ["$$this", "c"] } } },
            Bson::Array(vec![]),
            Bson::Array(vec!["C".into()]),
        ),
        // What looks for characters looks for characters.
        (doc! { "$indexOfCP": ["$a", "X"] }, (-1).into(), (-1).into()),
        (doc! { "$strcasecmp": ["$a", "$b"] }, 0.into(), 0.into()),
        (
            doc! { "$replaceOne": { "input": "$a", "find": "X", "replacement": "y" } },
            "x".into(),
            "x".into(),
        ),
        (
            doc! { "$split": ["$a", "X"] },
            Bson::Array(vec!["x".into()]),
            Bson::Array(vec!["x".into()]),
        ),
    ] {
        for (collation, wanted) in [
            (doc! { "locale": "simple" }, &simple),
            (caseless(), &caseless_too),
        ] {
            let pipeline = vec![doc! { "$project": { "v": expression.clone() } }];
            let own = aggregated(db, "one", pipeline, collation).await;
            assert_eq!(own[0].get("v"), Some(wanted), "{expression}");
        }
    }
}

async fn stages_compare_by_the_collation(db: &Db) {
    insert(db, "things", things()).await;
    let strings = doc! { "$match": { "_id": { "$lte": 4 } } };
    let facet = vec![
        strings.clone(),
        doc! { "$facet": {
            "a": [{ "$match": { "s": "APPLE" } }, { "$count": "n" }],
            "b": [{ "$sort": { "s": -1, "_id": -1 } }, { "$limit": 2 }, { "$project": { "_id": 1 } }],
        } },
    ];
    assert_eq!(
        aggregated(db, "things", facet, plain()).await,
        [doc! { "a": [{ "n": 3 }], "b": [{ "_id": 4 }, { "_id": 3 }] }]
    );
    let windows = vec![
        strings.clone(),
        doc! { "$setWindowFields": {
            "partitionBy": "$s", "sortBy": { "_id": 1 }, "output": { "n": { "$documentNumber": {} } },
        } },
        doc! { "$sort": { "_id": 1 } },
        doc! { "$project": { "n": 1 } },
    ];
    let numbers = aggregated(db, "things", windows, plain()).await;
    let numbers: Vec<i32> = numbers.iter().map(|row| row.get_i32("n").unwrap()).collect();
    assert_eq!(numbers, [1, 2, 3, 1]);
    let ranks = vec![
        strings.clone(),
        doc! { "$setWindowFields": { "sortBy": { "s": 1 }, "output": { "r": { "$denseRank": {} } } } },
        doc! { "$sort": { "_id": 1 } },
    ];
    let ranks = aggregated(db, "things", ranks, caseless()).await;
    let ranks: Vec<i32> = ranks.iter().map(|row| row.get_i32("r").unwrap()).collect();
    assert_eq!(ranks, [1, 1, 2, 3]);
    let buckets = vec![
        strings.clone(),
        doc! { "$bucket": { "groupBy": "$s", "boundaries": ["APPLE", "B", "C"], "default": "other" } },
    ];
    assert_eq!(
        aggregated(db, "things", buckets, plain()).await,
        [
            doc! { "_id": "APPLE", "count": 3 },
            doc! { "_id": "B", "count": 1 }
        ]
    );
    let auto = vec![strings, doc! { "$bucketAuto": { "groupBy": "$s", "buckets": 4 } }];
    let auto = aggregated(db, "things", auto, plain()).await;
    let auto: Vec<i32> = auto.iter().map(|row| row.get_i32("count").unwrap()).collect();
    assert_eq!(auto, [3, 1]);
    let redacted = vec![doc! { "$redact": { "$cond": [{ "$eq": ["$s", "APPLE"] }, "$$KEEP", "$$PRUNE"] } }];
    assert_eq!(aggregated(db, "things", redacted, caseless()).await.len(), 2);
}

async fn joins_compare_by_the_collation(db: &Db) {
    insert(
        db,
        "left",
        vec![
            doc! { "_id": 1, "k": "A" },
            doc! { "_id": 2, "k": ["b", "x"] },
            doc! { "_id": 3, "k": 5 },
        ],
    )
    .await;
    let right = vec![
        doc! { "_id": 1, "k": "a", "up": "B" },
        doc! { "_id": 2, "k": "B", "up": "c" },
        doc! { "_id": 3, "k": "C" },
        doc! { "_id": 4, "k": 5 },
    ];
    // The collation of the other collection says nothing.
    run(db, doc! { "create": "right", "collation": plain() }).await;
    insert(db, "right", right).await;
    let counts = |rows: Vec<Document>| -> Vec<usize> {
        rows.iter().map(|row| row.get_array("r").unwrap().len()).collect()
    };
    let order = doc! { "$sort": { "_id": 1 } };
    let simple = doc! { "locale": "simple" };
    for (join, by_bytes, by_case) in [
        (
            doc! { "from": "right", "localField": "k", "foreignField": "k", "as": "r" },
            [0, 0, 1],
            [1, 1, 1],
        ),
        (
            doc! { "from": "right", "let": { "k": "$k" }, "pipeline": [{ "$match": { "$expr": { "$eq": ["$$k", "$k"] } } }], "as": "r" },
            [0, 0, 1],
            [1, 0, 1],
        ),
        (
            doc! { "from": "right", "localField": "k", "foreignField": "k", "pipeline": [{ "$match": { "up": "b" } }], "as": "r" },
            [0, 0, 0],
            [1, 0, 0],
        ),
    ] {
        let pipeline = vec![order.clone(), doc! { "$lookup": join.clone() }];
        assert_eq!(
            counts(aggregated(db, "left", pipeline.clone(), simple.clone()).await),
            by_bytes,
            "{join}"
        );
        assert_eq!(
            counts(aggregated(db, "left", pipeline, caseless()).await),
            by_case,
            "{join}"
        );
    }
    let graph = vec![
        order,
        doc! { "$graphLookup": { "from": "right", "startWith": "$k", "connectFromField": "up", "connectToField": "k", "as": "r" } },
    ];
    assert_eq!(
        counts(aggregated(db, "left", graph.clone(), simple).await),
        [0, 0, 1]
    );
    assert_eq!(counts(aggregated(db, "left", graph, caseless()).await), [3, 2, 1]);
    let union = vec![
        doc! { "$match": { "k": "a" } },
        doc! { "$unionWith": { "coll": "right", "pipeline": [{ "$match": { "k": "A" } }] } },
        doc! { "$count": "n" },
    ];
    assert_eq!(aggregated(db, "left", union, caseless()).await, [doc! { "n": 2 }]);
}
