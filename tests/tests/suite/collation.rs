//! Collations: what strings compare by their language's rules, and what compares their bytes all the same.

use bson::{Bson, Document, doc};
use odm::Db;

crate::on_every_backend! {
    accumulators_and_groups_compare_by_the_collation,
    array_operators_of_updates_compare_by_the_collation,
    collection_defaults_are_inherited_and_overridden,
    expressions_compare_by_the_collation,
    filters_compare_by_the_collation,
    joins_compare_by_the_collation,
    malformed_collations_are_the_servers_errors,
    settings_are_listed_in_full,
    sorts_go_by_the_collation,
    stages_compare_by_the_collation,
    views_have_a_collation_of_their_own,
    writes_find_by_the_collation,
}

/// Letters whatever their case.
fn caseless() -> Document {
    doc! { "locale": "en", "strength": 2 }
}

/// Letters whatever their case and accents.
fn plain() -> Document {
    doc! { "locale": "fr", "strength": 1 }
}

async fn run(db: &Db, command: Document) -> Document {
    let shown = command.to_string();
    db.run_command(command)
        .await
        .unwrap_or_else(|error| panic!("{shown}: {error}"))
}

/// The code of the error that a command gets, or that its first write gets.
async fn code(db: &Db, command: Document) -> i32 {
    match db.run_command(command).await {
        Err(error) => error.code().unwrap_or(-1),
        Ok(reply) => match reply.get_array("writeErrors") {
            Ok(errors) => errors[0].as_document().unwrap().get_i32("code").unwrap(),
            Err(_) => 0,
        },
    }
}

fn batch(reply: &Document) -> Vec<Document> {
    let cursor = reply.get_document("cursor").unwrap();
    let documents = cursor.get_array("firstBatch").unwrap();
    documents
        .iter()
        .map(|document| document.as_document().unwrap().clone())
        .collect()
}

fn ids(documents: &[Document]) -> Vec<i32> {
    documents
        .iter()
        .map(|document| document.get_i32("_id").unwrap())
        .collect()
}

async fn found(db: &Db, name: &str, filter: Document, collation: Document) -> Vec<i32> {
    let command = doc! { "find": name, "filter": filter, "sort": { "_id": 1 }, "collation": collation };
    ids(&batch(&run(db, command).await))
}

async fn aggregated(db: &Db, name: &str, pipeline: Vec<Document>, collation: Document) -> Vec<Document> {
    let command = doc! { "aggregate": name, "pipeline": pipeline, "cursor": {}, "collation": collation };
    batch(&run(db, command).await)
}

async fn insert(db: &Db, name: &str, documents: Vec<Document>) {
    run(db, doc! { "insert": name, "documents": documents }).await;
}

/// Strings in documents, arrays and alone, and other types between them.
fn things() -> Vec<Document> {
    vec![
        doc! { "_id": 1, "s": "apple" },
        doc! { "_id": 2, "s": "Apple" },
        doc! { "_id": 3, "s": "ÁPPLE" },
        doc! { "_id": 4, "s": "banana" },
        doc! { "_id": 5, "s": ["BANANA", "cherry"] },
        doc! { "_id": 6, "s": { "t": "Apple", "n": 1 } },
        doc! { "_id": 7, "s": { "t": "APPLE", "n": 1 } },
        doc! { "_id": 8, "s": 5 },
        doc! { "_id": 9, "s": null },
        doc! { "_id": 10 },
        doc! { "_id": 11, "s": [{ "t": "Cherry" }, { "t": "Date" }] },
        doc! { "_id": 12, "s": "cherry-2" },
        doc! { "_id": 13, "s": "" },
    ]
}

async fn filters_compare_by_the_collation(db: &Db) {
    insert(db, "things", things()).await;
    let regex = |pattern: &str| doc! { "$regex": pattern };
    for (filter, simple, by_case, by_letter) in [
        (doc! { "s": "APPLE" }, vec![], vec![1, 2], vec![1, 2, 3]),
        (
            doc! { "s": { "$ne": "APPLE" } },
            (1..=13).collect(),
            vec![3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13],
            vec![4, 5, 6, 7, 8, 9, 10, 11, 12, 13],
        ),
        (
            doc! { "s": { "$in": ["BANANA", "x", 5] } },
            vec![5, 8],
            vec![4, 5, 8],
            vec![4, 5, 8],
        ),
        (
            doc! { "s": { "$nin": ["BANANA", "APPLE"] } },
            vec![1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13],
            vec![3, 6, 7, 8, 9, 10, 11, 12, 13],
            vec![6, 7, 8, 9, 10, 11, 12, 13],
        ),
        (
            doc! { "s": { "$gt": "APPLE" } },
            vec![1, 2, 3, 4, 5, 12],
            vec![3, 4, 5, 12],
            vec![4, 5, 12],
        ),
        (
            doc! { "s": { "$gte": "APPLE", "$lt": "B" } },
            vec![2],
            vec![1, 2, 3],
            vec![1, 2, 3],
        ),
        (
            doc! { "s": { "$lte": "Apple" } },
            vec![2, 13],
            vec![1, 2, 13],
            vec![1, 2, 3, 13],
        ),
        (doc! { "s": { "$lt": "" } }, vec![], vec![], vec![]),
        (
            doc! { "s": { "t": "apple", "n": 1.0 } },
            vec![],
            vec![6, 7],
            vec![6, 7],
        ),
        (
            doc! { "s": { "$gt": { "t": "apple", "n": 0 } } },
            vec![],
            vec![6, 7, 11],
            vec![6, 7, 11],
        ),
        (doc! { "s.t": "CHERRY" }, vec![], vec![11], vec![11]),
        (
            doc! { "s.t": { "$in": ["CHERRY", "apple"] } },
            vec![],
            vec![6, 7, 11],
            vec![6, 7, 11],
        ),
        (doc! { "s": ["banana", "CHERRY"] }, vec![], vec![5], vec![5]),
        (
            doc! { "s": { "$all": ["banana", "CHERRY"] } },
            vec![],
            vec![5],
            vec![5],
        ),
        (
            doc! { "s": { "$elemMatch": { "$gt": "b", "$lt": "bb" } } },
            vec![],
            vec![5],
            vec![5],
        ),
        (
            doc! { "s": { "$elemMatch": { "t": "DATE" } } },
            vec![],
            vec![11],
            vec![11],
        ),
        (
            doc! { "s": { "$not": { "$gte": "BANANA" } } },
            vec![2, 6, 7, 8, 9, 10, 11, 13],
            vec![1, 2, 3, 6, 7, 8, 9, 10, 11, 13],
            vec![1, 2, 3, 6, 7, 8, 9, 10, 11, 13],
        ),
        (
            doc! { "$or": [{ "s": "APPLE" }, { "s": 5 }] },
            vec![8],
            vec![1, 2, 8],
            vec![1, 2, 3, 8],
        ),
        (
            doc! { "$nor": [{ "s": "APPLE" }, { "s": { "$gt": "a" } }] },
            vec![2, 6, 7, 8, 9, 10, 11, 13],
            vec![6, 7, 8, 9, 10, 11, 13],
            vec![6, 7, 8, 9, 10, 11, 13],
        ),
        // Patterns match characters, whatever the collation.
        (doc! { "s": regex("^app") }, vec![1], vec![1], vec![1]),
        (
            doc! { "s": { "$in": [Bson::RegularExpression(bson::Regex { pattern: "^app".try_into().unwrap(), options: "".try_into().unwrap() }), "BANANA"] } },
            vec![1, 5],
            vec![1, 4, 5],
            vec![1, 4, 5],
        ),
        (
            doc! { "s": { "$type": "string" } },
            vec![1, 2, 3, 4, 5, 12, 13],
            vec![1, 2, 3, 4, 5, 12, 13],
            vec![1, 2, 3, 4, 5, 12, 13],
        ),
        (doc! { "s": null }, vec![9, 10], vec![9, 10], vec![9, 10]),
        (
            doc! { "$expr": { "$eq": ["$s", "APPLE"] } },
            vec![],
            vec![1, 2],
            vec![1, 2, 3],
        ),
        (
            doc! { "$expr": { "$eq": ["a", "A"] } },
            vec![],
            (1..=13).collect(),
            (1..=13).collect(),
        ),
        (
            doc! { "$jsonSchema": { "properties": { "s": { "enum": ["APPLE", "apple"] } } } },
            vec![1, 10],
            vec![1, 10],
            vec![1, 10],
        ),
    ] {
        for (collation, wanted) in [
            (doc! { "locale": "simple" }, &simple),
            (caseless(), &by_case),
            (plain(), &by_letter),
        ] {
            let own = found(db, "things", filter.clone(), collation.clone()).await;
            assert_eq!(&own, wanted, "{filter} {collation}");
            let count = doc! { "count": "things", "query": filter.clone(), "collation": collation.clone() };
            assert_eq!(
                run(db, count).await.get_i32("n").unwrap() as usize,
                wanted.len(),
                "{filter}"
            );
            let pipeline = vec![doc! { "$match": filter.clone() }, doc! { "$sort": { "_id": 1 } }];
            let own = ids(&aggregated(db, "things", pipeline, collation.clone()).await);
            assert_eq!(&own, wanted, "{filter} {collation}");
        }
    }
    // Positions and projections know the collation too.
    let command = doc! {
        "find": "things", "filter": { "s": "BANANA" }, "projection": { "s.$": 1 }, "sort": { "_id": -1 },
        "limit": 1, "collation": caseless(),
    };
    assert_eq!(
        batch(&run(db, command).await)[0],
        doc! { "_id": 5, "s": ["BANANA"] }
    );
    let command = doc! {
        "find": "things", "filter": { "_id": { "$in": [1, 11] } }, "sort": { "_id": 1 }, "collation": caseless(),
        "projection": { "s": { "$elemMatch": { "t": "DATE" } }, "same": { "$eq": ["$s", "APPLE"] } },
    };
    assert_eq!(
        batch(&run(db, command).await),
        [
            doc! { "_id": 1, "same": true },
            doc! { "_id": 11, "s": [{ "t": "Date" }], "same": false },
        ]
    );
}

async fn sorts_go_by_the_collation(db: &Db) {
    let words = [
        "b", "A", "a", "B", "ä", "Z", "z", "10", "9", "a-b", "ab", "_x", "é", "e", "日", "😀",
    ];
    let documents = words
        .iter()
        .zip(1..)
        .map(|(word, id)| doc! { "_id": id, "s": *word, "d": { "s": *word }, "l": [*word] });
    insert(db, "words", documents.collect()).await;
    for (collation, wanted) in [
        (
            doc! { "locale": "simple" },
            "10 9 A B Z _x a a-b ab b e z ä é 日 😀",
        ),
        (doc! { "locale": "en" }, "_x 😀 10 9 a A ä a-b ab b B e é z Z 日"),
        (doc! { "locale": "sv" }, "_x 😀 10 9 a A a-b ab b B e é z Z ä 日"),
        (
            doc! { "locale": "en", "caseFirst": "upper" },
            "_x 😀 10 9 A a ä a-b ab B b e é Z z 日",
        ),
        (
            doc! { "locale": "en", "numericOrdering": true },
            "_x 😀 9 10 a A ä a-b ab b B e é z Z 日",
        ),
        (
            doc! { "locale": "en", "alternate": "shifted" },
            "😀 10 9 a A ä a-b ab b B e é _x z Z 日",
        ),
        (
            doc! { "locale": "en", "strength": 1 },
            "_x 😀 10 9 A a ä a-b ab b B e é Z z 日",
        ),
    ] {
        let mut order: Vec<&str> = wanted.split(' ').collect();
        if collation.get("strength").is_some() {
            // Of equal strings the order is that of `_id`.
            order = "_x 😀 10 9 A a ä a-b ab b B é e Z z 日".split(' ').collect();
        }
        for field in ["s", "d.s", "l", "d"] {
            let sort = doc! { field: 1, "_id": 1 };
            let command = doc! { "find": "words", "sort": sort.clone(), "collation": collation.clone() };
            let own = batch(&run(db, command).await);
            let own: Vec<&str> = own
                .iter()
                .map(|document| document.get_str("s").unwrap())
                .collect();
            assert_eq!(own, order, "{field} {collation}");
            // `$sort` behind a stage that keeps no index's order.
            let pipeline = vec![
                doc! { "$match": {} },
                doc! { "$addFields": { "x": 1 } },
                doc! { "$sort": sort },
            ];
            let own = aggregated(db, "words", pipeline, collation.clone()).await;
            let own: Vec<&str> = own
                .iter()
                .map(|document| document.get_str("s").unwrap())
                .collect();
            assert_eq!(own, order, "{field} {collation}");
        }
    }
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

async fn writes_find_by_the_collation(db: &Db) {
    insert(db, "things", things()).await;
    let reply = run(db, doc! { "update": "things", "updates": [
        { "q": { "s": "APPLE" }, "u": { "$set": { "u": 1 } }, "multi": true, "collation": caseless() },
        { "q": { "s": "APPLE" }, "u": { "$set": { "u": 2 } }, "multi": true },
        { "q": { "s": "BANANA" }, "u": { "$set": { "u": 3 } }, "multi": true, "collation": { "locale": "simple" } },
        { "q": { "s": "PEAR" }, "u": { "$set": { "u": 4 } }, "upsert": true, "collation": caseless() },
    ] }).await;
    assert_eq!(
        (reply.get_i32("n").unwrap(), reply.get_i32("nModified").unwrap()),
        (4, 3)
    );
    // The value of an upsert is the filter's own.
    assert_eq!(
        run(db, doc! { "count": "things", "query": { "s": "PEAR" } })
            .await
            .get_i32("n")
            .unwrap(),
        1
    );
    let change = doc! {
        "findAndModify": "things", "query": { "s": "apple" }, "sort": { "s": 1, "_id": -1 },
        "update": { "$set": { "u": 9 } }, "collation": caseless(), "new": true,
    };
    let changed = run(db, change).await;
    assert_eq!(changed.get_document("value").unwrap().get_i32("_id").unwrap(), 2);
    let reply = run(
        db,
        doc! { "delete": "things", "deletes": [
            { "q": { "s": "APPLE" }, "limit": 0 },
            { "q": { "s": "APPLE" }, "limit": 0, "collation": plain() },
            { "q": { "s": "cherry" }, "limit": 1, "collation": caseless() },
        ] },
    )
    .await;
    assert_eq!(reply.get_i32("n").unwrap(), 4);
    assert_eq!(
        code(
            db,
            doc! { "update": "things", "updates": [
                { "q": {}, "u": { "$set": { "u": 1 } }, "collation": { "locale": "xx" } },
            ] }
        )
        .await,
        2
    );
    assert_eq!(
        code(
            db,
            doc! { "delete": "things", "deletes": [
                { "q": {}, "limit": 0, "collation": { "locale": 5 } },
            ] }
        )
        .await,
        14
    );
}

async fn array_operators_of_updates_compare_by_the_collation(db: &Db) {
    let list = || doc! { "_id": 1, "l": ["a", "B", "c"], "d": [{ "k": "a", "n": 1 }, { "k": "B", "n": 2 }], "m": "b" };
    let cases = [
        (doc! { "$pull": { "l": "A" } }, vec![], doc! { "l": ["B", "c"] }),
        (
            doc! { "$pull": { "l": { "$gt": "A" } } },
            vec![],
            doc! { "l": ["a"] },
        ),
        (
            doc! { "$pull": { "d": { "k": "b" } } },
            vec![],
            doc! { "d": [{ "k": "a", "n": 1 }] },
        ),
        (
            doc! { "$pullAll": { "l": ["A", "b"] } },
            vec![],
            doc! { "l": ["c"] },
        ),
        (doc! { "$addToSet": { "l": "A" } }, vec![], doc! {}),
        (
            doc! { "$addToSet": { "l": { "$each": ["A", "D", "d", "e"] } } },
            vec![],
            doc! { "l": ["a", "B", "c", "D", "e"] },
        ),
        (
            doc! { "$push": { "l": { "$each": ["A"], "$sort": 1 } } },
            vec![],
            doc! { "l": ["a", "A", "B", "c"] },
        ),
        (
            doc! { "$push": { "d": { "$each": [{ "k": "A", "n": 0 }], "$sort": { "k": -1, "n": 1 } } } },
            vec![],
            doc! { "d": [{ "k": "B", "n": 2 }, { "k": "A", "n": 0 }, { "k": "a", "n": 1 }] },
        ),
        (doc! { "$min": { "m": "A" } }, vec![], doc! { "m": "A" }),
        (doc! { "$min": { "m": "B" } }, vec![], doc! {}),
        (doc! { "$max": { "m": "C" } }, vec![], doc! { "m": "C" }),
        (
            doc! { "$set": { "l.$[e]": "x" } },
            vec![doc! { "e": "b" }],
            doc! { "l": ["a", "x", "c"] },
        ),
        (
            doc! { "$inc": { "d.$[e].n": 5 } },
            vec![doc! { "e.k": { "$gte": "B" } }],
            doc! { "d": [{ "k": "a", "n": 1 }, { "k": "B", "n": 7 }] },
        ),
        // The same value in other letters is another value to set.
        (doc! { "$set": { "m": "B" } }, vec![], doc! { "m": "B" }),
    ];
    for (update, filters, wanted) in cases {
        let name = "lists";
        db.run_command(doc! { "delete": name, "deletes": [{ "q": {}, "limit": 0 }] })
            .await
            .unwrap();
        insert(db, name, vec![list()]).await;
        let statement =
            doc! { "q": { "_id": 1 }, "u": update.clone(), "arrayFilters": filters, "collation": caseless() };
        run(db, doc! { "update": name, "updates": [statement] }).await;
        let mut expected = list();
        expected.extend(wanted);
        let own = batch(&run(db, doc! { "find": name }).await);
        assert_eq!(own, [expected], "{update}");
    }
    // A pipeline, and the position that the filter found.
    insert(db, "pipelines", vec![list()]).await;
    let command = doc! { "update": "pipelines", "updates": [
        { "q": { "m": "B" }, "u": [{ "$set": { "same": { "$eq": ["$m", "B"] } } }], "collation": caseless() },
        { "q": { "l": "b" }, "u": { "$set": { "l.$": "z" } }, "collation": caseless() },
    ] };
    run(db, command).await;
    let own = batch(&run(db, doc! { "find": "pipelines" }).await);
    assert!(own[0].get_bool("same").unwrap());
    assert_eq!(own[0].get_array("l").unwrap()[1], Bson::from("z"));
}

async fn collection_defaults_are_inherited_and_overridden(db: &Db) {
    run(
        db,
        doc! { "create": "names", "collation": caseless(), "validator": { "n": { "$ne": "nobody" } } },
    )
    .await;
    insert(
        db,
        "names",
        vec![
            doc! { "_id": "Ann", "n": "Ann", "l": ["x"] },
            doc! { "_id": "bob", "n": "bob", "l": [] },
        ],
    )
    .await;
    let count = |filter: Document| doc! { "count": "names", "query": filter };
    assert_eq!(run(db, count(doc! { "n": "ANN" })).await.get_i32("n").unwrap(), 1);
    assert_eq!(
        run(db, count(doc! { "_id": "ANN" })).await.get_i32("n").unwrap(),
        1
    );
    let mut simple = count(doc! { "_id": "ANN" });
    simple.insert("collation", doc! { "locale": "simple" });
    assert_eq!(run(db, simple).await.get_i32("n").unwrap(), 0);
    let mut simple = count(doc! { "_id": "Ann" });
    simple.insert("collation", doc! { "locale": "simple" });
    assert_eq!(run(db, simple).await.get_i32("n").unwrap(), 1);
    // `_id` is unique by it, and validators compare by it.
    assert_eq!(
        code(db, doc! { "insert": "names", "documents": [{ "_id": "ANN" }] }).await,
        11000
    );
    assert_eq!(
        code(
            db,
            doc! { "insert": "names", "documents": [{ "_id": 1, "n": "NOBODY" }] }
        )
        .await,
        121
    );
    let find = batch(
        &run(
            db,
            doc! { "find": "names", "sort": { "n": -1 }, "projection": { "same": { "$eq": ["$n", "BOB"] } } },
        )
        .await,
    );
    assert_eq!(
        find,
        [
            doc! { "_id": "bob", "same": true },
            doc! { "_id": "Ann", "same": false }
        ]
    );
    let command = doc! { "aggregate": "names", "cursor": {}, "pipeline": [{ "$match": { "n": "BOB" } }, { "$group": { "_id": null, "n": { "$sum": 1 } } }] };
    assert_eq!(batch(&run(db, command).await), [doc! { "_id": null, "n": 1 }]);
    run(db, doc! { "update": "names", "updates": [{ "q": { "n": "ANN" }, "u": { "$addToSet": { "l": "X" }, "$set": { "hit": 1 } } }] }).await;
    let own = batch(&run(db, doc! { "find": "names", "filter": { "hit": 1 } }).await);
    assert_eq!(own, [doc! { "_id": "Ann", "n": "Ann", "l": ["x"], "hit": 1 }]);
    let change = doc! { "findAndModify": "names", "query": { "_id": "BOB" }, "update": { "$max": { "n": "BOB" } }, "new": true };
    assert_eq!(
        run(db, change)
            .await
            .get_document("value")
            .unwrap()
            .get_str("n")
            .unwrap(),
        "bob"
    );
    let values = run(
        db,
        doc! { "distinct": "names", "key": "n", "query": { "n": { "$lt": "BO" } } },
    )
    .await;
    assert_eq!(values.get_array("values").unwrap(), &vec![Bson::from("Ann")]);
    run(
        db,
        doc! { "delete": "names", "deletes": [{ "q": { "n": "ann" }, "limit": 0 }] },
    )
    .await;
    assert_eq!(run(db, count(doc! {})).await.get_i32("n").unwrap(), 1);
}

/// The settings with all that was not said.
fn full(locale: &str, strength: i32) -> Document {
    doc! {
        "locale": locale, "caseLevel": false, "caseFirst": "off", "strength": strength, "numericOrdering": false,
        "alternate": "non-ignorable", "maxVariable": "punct", "normalization": false, "backwards": false,
        "version": "57.1",
    }
}

async fn settings_are_listed_in_full(db: &Db) {
    let listed = async |name: &str| {
        let reply = run(db, doc! { "listCollections": 1, "filter": { "name": name } }).await;
        let options = batch(&reply)[0].get_document("options").unwrap().clone();
        options.get_document("collation").ok().cloned()
    };
    run(
        db,
        doc! { "create": "a", "collation": { "strength": 2, "locale": "en" } },
    )
    .await;
    assert_eq!(listed("a").await, Some(full("en", 2)));
    // Where a collection is made, what is not said is the same for all languages but one thing.
    run(db, doc! { "create": "b", "collation": { "locale": "da" } }).await;
    assert_eq!(listed("b").await, Some(full("da", 3)));
    run(db, doc! { "create": "c", "collation": { "locale": "fr_CA" } }).await;
    let mut french = full("fr_CA", 3);
    french.insert("backwards", true);
    assert_eq!(listed("c").await, Some(french));
    run(db, doc! { "create": "d", "collation": { "locale": "simple" } }).await;
    assert_eq!(listed("d").await, None);
    // For an index it is the language's.
    run(
        db,
        doc! { "createIndexes": "a", "indexes": [
            { "key": { "x": 1 }, "name": "own" },
            { "key": { "x": 1 }, "name": "da", "collation": { "locale": "da" } },
            { "key": { "x": 1 }, "name": "th", "collation": { "locale": "th" } },
            { "key": { "x": 1 }, "name": "simple", "collation": { "locale": "simple" } },
        ] },
    )
    .await;
    let mut danish = full("da", 3);
    danish.insert("caseFirst", "upper");
    let mut thai = full("th", 3);
    thai.insert("alternate", "shifted");
    thai.insert("normalization", true);
    let reply = run(db, doc! { "listIndexes": "a" }).await;
    let own: Vec<Option<Document>> = batch(&reply)
        .iter()
        .map(|index| index.get_document("collation").ok().cloned())
        .collect();
    assert_eq!(
        own,
        [
            Some(full("en", 2)),
            Some(full("en", 2)),
            Some(danish),
            Some(thai),
            None
        ]
    );
}

async fn malformed_collations_are_the_servers_errors(db: &Db) {
    insert(db, "x", vec![doc! { "_id": 1 }]).await;
    for (collation, wanted) in [
        (doc! {}, 0),
        (doc! { "locale": "en" }, 0),
        (doc! { "strength": 1 }, 40414),
        (doc! { "locale": null }, 40414),
        (doc! { "locale": 1 }, 14),
        (doc! { "locale": "" }, 2),
        (doc! { "locale": "xx" }, 2),
        (doc! { "locale": "EN" }, 2),
        (doc! { "locale": "en-US" }, 2),
        (doc! { "locale": "en_GB" }, 2),
        (doc! { "locale": "root" }, 2),
        (doc! { "locale": "en\0" }, 2),
        (doc! { "locale": "de@collation=phonebook" }, 0),
        (doc! { "locale": "de@collation=nothing" }, 2),
        (doc! { "locale": "fr@collation=phonebook" }, 2),
        (doc! { "locale": "simple", "strength": 2 }, 0),
        (doc! { "locale": "simple", "what": 2 }, 40415),
        (doc! { "locale": "en", "what": 2 }, 40415),
        (doc! { "locale": "en", "strength": 0 }, 2),
        (doc! { "locale": "en", "strength": 6 }, 51024),
        (doc! { "locale": "en", "strength": -1 }, 51024),
        (doc! { "locale": "en", "strength": 2.9 }, 0),
        (doc! { "locale": "en", "strength": "2" }, 14),
        (doc! { "locale": "en", "strength": null }, 0),
        (doc! { "locale": "en", "caseLevel": 1 }, 14),
        (doc! { "locale": "en", "caseFirst": "first" }, 2),
        (doc! { "locale": "en", "caseFirst": 1 }, 14),
        (doc! { "locale": "en", "caseFirst": "upper", "strength": 2 }, 2),
        (
            doc! { "locale": "en", "caseFirst": "upper", "strength": 2, "caseLevel": true },
            0,
        ),
        (doc! { "locale": "da", "strength": 2 }, 2),
        (doc! { "locale": "en", "numericOrdering": "yes" }, 14),
        (doc! { "locale": "en", "alternate": "other" }, 2),
        (doc! { "locale": "en", "maxVariable": "symbol" }, 2),
        (doc! { "locale": "en", "backwards": 1 }, 14),
        (doc! { "locale": "en", "backwards": true, "strength": 1 }, 2),
        (doc! { "locale": "en", "normalization": 0 }, 14),
        (doc! { "locale": "en", "version": "57.1" }, 0),
        (doc! { "locale": "en", "version": "58.1" }, 161),
        (doc! { "locale": "en", "version": 57 }, 14),
    ] {
        for command in [
            doc! { "find": "x", "collation": collation.clone() },
            doc! { "aggregate": "x", "pipeline": [], "cursor": {}, "collation": collation.clone() },
            doc! { "count": "x", "collation": collation.clone() },
            doc! { "distinct": "x", "key": "a", "collation": collation.clone() },
            doc! { "update": "x", "updates": [{ "q": {}, "u": { "$set": { "a": 1 } }, "collation": collation.clone() }] },
            doc! { "findAndModify": "x", "update": { "$set": { "a": 1 } }, "collation": collation.clone() },
        ] {
            assert_eq!(code(db, command.clone()).await, wanted, "{command}");
        }
    }
    for (collation, wanted) in [
        (Bson::from(5), 14),
        (doc! {}.into(), 40414),
        (doc! { "locale": "xx" }.into(), 2),
        (doc! { "locale": "en", "what": 1 }.into(), 40415),
    ] {
        assert_eq!(
            code(db, doc! { "create": "y", "collation": collation.clone() }).await,
            wanted,
            "{collation}"
        );
    }
}

async fn views_have_a_collation_of_their_own(db: &Db) {
    insert(
        db,
        "base",
        vec![
            doc! { "_id": 1, "s": "a" },
            doc! { "_id": 2, "s": "A" },
            doc! { "_id": 3, "s": "b" },
        ],
    )
    .await;
    run(db, doc! { "create": "caseless", "viewOn": "base", "pipeline": [{ "$match": { "s": { "$ne": "B" } } }], "collation": caseless() }).await;
    run(
        db,
        doc! { "create": "bytes", "viewOn": "base", "pipeline": [{ "$match": { "s": { "$ne": "B" } } }] },
    )
    .await;
    let n = async |command: Document| run(db, command).await.get_i32("n").unwrap();
    assert_eq!(n(doc! { "count": "caseless" }).await, 2);
    assert_eq!(n(doc! { "count": "bytes" }).await, 3);
    assert_eq!(n(doc! { "count": "caseless", "query": { "s": "A" } }).await, 2);
    assert_eq!(n(doc! { "count": "bytes", "query": { "s": "A" } }).await, 1);
    assert_eq!(
        n(doc! { "count": "caseless", "query": { "s": "A" }, "collation": caseless() }).await,
        2
    );
    let distinct = run(db, doc! { "distinct": "caseless", "key": "s" }).await;
    assert_eq!(distinct.get_array("values").unwrap().len(), 1);
    let find = batch(
        &run(
            db,
            doc! { "find": "caseless", "filter": { "s": "A" }, "sort": { "s": 1, "_id": -1 } },
        )
        .await,
    );
    assert_eq!(ids(&find), [2, 1]);
    for command in [
        doc! { "find": "caseless", "collation": { "locale": "fr" } },
        doc! { "find": "bytes", "collation": { "locale": "fr" } },
        doc! { "count": "caseless", "collation": { "locale": "simple" } },
        doc! { "distinct": "caseless", "key": "s", "collation": { "locale": "fr" } },
        doc! { "aggregate": "caseless", "pipeline": [], "cursor": {}, "collation": { "locale": "fr" } },
        doc! { "create": "other", "viewOn": "caseless", "pipeline": [] },
        doc! { "create": "other", "viewOn": "base", "pipeline": [{ "$unionWith": "caseless" }] },
        doc! { "aggregate": "base", "pipeline": [{ "$lookup": { "from": "caseless", "localField": "s", "foreignField": "s", "as": "r" } }], "cursor": {} },
        doc! { "aggregate": "base", "pipeline": [{ "$unionWith": "caseless" }], "cursor": {} },
    ] {
        assert_eq!(code(db, command.clone()).await, 167, "{command}");
    }
    run(
        db,
        doc! { "create": "above", "viewOn": "caseless", "pipeline": [], "collation": caseless() },
    )
    .await;
    assert_eq!(n(doc! { "count": "above", "query": { "s": "A" } }).await, 2);
    let joined = doc! { "aggregate": "base", "pipeline": [{ "$lookup": { "from": "caseless", "localField": "s", "foreignField": "s", "as": "r" } }, { "$sort": { "_id": 1 } }], "cursor": {}, "collation": caseless() };
    let joined = batch(&run(db, joined).await);
    assert_eq!(joined[0].get_array("r").unwrap().len(), 2);
}
