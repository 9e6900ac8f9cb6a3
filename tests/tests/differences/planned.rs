//! What a server has indexes for beside the filter and the order at the beginning of a pipeline.

use odm::Db;
use odm::bson::{Bson, DateTime, Document, bson, doc};
use odm_tests::command::{aggregate, batch, ids, insert, run};

crate::on_every_backend! {
    filters_behind_other_stages_have_an_index,
    comparisons_in_expressions_have_an_index,
    comparisons_in_expressions_find_the_same_by_an_index,
    pipelines_of_joins_and_unions_give_the_same_by_an_index,
    orders_are_made_before_arrays_are_taken_apart,
    bits_are_looked_for_in_the_order_of_documents,
    a_choice_of_one_field_is_found_in_the_order_of_its_index,
    choices_come_last_by_the_order_of_their_indexes,
}

/// Whether the read is by an index.
async fn is_by_index(db: &Db, explained: Document) -> bool {
    let reply = run(db, doc! { "explain": explained, "verbosity": "queryPlanner" }).await;
    let reply = reply.to_string();
    ["IXSCAN", "DISTINCT_SCAN"]
        .iter()
        .any(|stage| reply.contains(stage))
}

async fn many(db: &Db) {
    for name in ["c", "o"] {
        let all = (0..200).map(|id| doc! { "_id": id, "k": id % 20, "n": id, "l": [id, 1] });
        insert(db, name, all.collect()).await;
        let index = doc! { "key": { "k": 1 }, "name": "k" };
        run(db, doc! { "createIndexes": name, "indexes": [index] }).await;
    }
}

/// Values of many types, one of which is no value.
fn values() -> Vec<Option<Bson>> {
    vec![
        None,
        Some(Bson::Null),
        Some(Bson::MinKey),
        Some(Bson::MaxKey),
        Some(bson!(f64::NAN)),
        Some(bson!(1)),
        Some(bson!(1.5)),
        Some(bson!(2_i64)),
        Some(bson!("a")),
        Some(bson!("")),
        Some(bson!(true)),
        Some(bson!({})),
        Some(bson!({ "x": 1 })),
        Some(Bson::DateTime(DateTime::from_millis(0))),
    ]
}

async fn filters_behind_other_stages_have_an_index(db: &Db) {
    many(db).await;
    let filter = || doc! { "$match": { "k": 5 } };
    for stage in [
        doc! { "$sort": { "n": 1 } },
        doc! { "$set": { "x": { "$add": ["$n", 1] } } },
        doc! { "$unset": "n" },
        doc! { "$project": { "k": 1 } },
        doc! { "$unwind": "$l" },
        doc! { "$lookup": { "from": "o", "localField": "n", "foreignField": "k", "as": "j" } },
        doc! { "$graphLookup": {
            "from": "o", "startWith": "$n", "connectFromField": "z", "connectToField": "k", "as": "g",
        } },
        doc! { "$redact": "$$KEEP" },
        doc! { "$unionWith": "none" },
    ] {
        let pipeline = vec![stage.clone(), filter()];
        let found = aggregate(db, "c", pipeline.clone()).await;
        assert_eq!(
            found.len(),
            if stage.contains_key("$unwind") { 20 } else { 10 },
            "{stage}"
        );
        let explained = doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} };
        assert!(is_by_index(db, explained).await, "{stage}");
    }
    for (stage, filter) in [
        (doc! { "$group": { "_id": "$k" } }, doc! { "_id": 5 }),
        (doc! { "$project": { "q": "$k" } }, doc! { "q": 5 }),
        (
            doc! { "$set": { "q": "$k" } },
            doc! { "$expr": { "$eq": ["$q", 5] } },
        ),
    ] {
        let pipeline = vec![stage.clone(), doc! { "$match": filter }];
        let explained = doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} };
        assert!(is_by_index(db, explained).await, "{stage}");
    }
    let view =
        doc! { "create": "v", "viewOn": "c", "pipeline": [{ "$set": { "x": { "$add": ["$n", 1] } } }] };
    run(db, view).await;
    assert!(is_by_index(db, doc! { "find": "v", "filter": { "k": 5 } }).await);
    let found = run(
        db,
        doc! { "find": "v", "filter": { "k": 5, "x": { "$gt": 100 } }, "sort": { "_id": 1 } },
    )
    .await;
    assert_eq!(ids(&batch(&found)), [105, 125, 145, 165, 185]);
    let count = run(
        db,
        doc! { "count": "v", "query": { "k": 5, "x": { "$gt": 100 } } },
    )
    .await;
    assert_eq!(count.get_i32("n").unwrap(), 5);
}

async fn comparisons_in_expressions_have_an_index(db: &Db) {
    many(db).await;
    for (expression, expected) in [
        (doc! { "$eq": ["$k", 5] }, true),
        (doc! { "$eq": [5, "$k"] }, true),
        (doc! { "$lt": ["$k", 2] }, true),
        (doc! { "$gte": [2, "$k"] }, true),
        (
            doc! { "$and": [{ "$gt": ["$k", 2] }, { "$lt": ["$k", 4] }, { "$ne": ["$n", 3] }] },
            true,
        ),
        (doc! { "$eq": ["$k", { "$add": [2, 3] }] }, true),
        (doc! { "$eq": ["$k", "$n"] }, false),
        (doc! { "$ne": ["$k", 5] }, false),
        (doc! { "$in": ["$k", [5]] }, false),
        (doc! { "$eq": ["$n", 5] }, false),
    ] {
        let find = doc! { "find": "c", "filter": { "$expr": expression.clone() } };
        assert_eq!(is_by_index(db, find).await, expected, "{expression}");
    }
    let by_variable =
        doc! { "find": "c", "filter": { "$expr": { "$eq": ["$k", "$$v"] } }, "let": { "v": 5 } };
    assert!(is_by_index(db, by_variable).await);
    // Of a field that has been an array an index does not hold the whole.
    let of_arrays = doc! { "key": { "l": 1 }, "name": "l" };
    run(db, doc! { "createIndexes": "c", "indexes": [of_arrays] }).await;
    let find = doc! { "find": "c", "filter": { "$expr": { "$eq": ["$l", [5, 1]] } } };
    assert!(!is_by_index(db, find.clone()).await);
    assert_eq!(ids(&batch(&run(db, find).await)), [5]);
}

async fn comparisons_in_expressions_find_the_same_by_an_index(db: &Db) {
    for (id, value) in (0..).zip(values()) {
        let mut document = doc! { "_id": id };
        document.extend(value.map(|value| ("k".to_owned(), value)));
        insert(db, "plain", vec![document.clone()]).await;
        insert(db, "indexed", vec![document]).await;
    }
    let index = doc! { "key": { "k": 1 }, "name": "k" };
    run(db, doc! { "createIndexes": "indexed", "indexes": [index] }).await;
    for value in values().into_iter().flatten() {
        for operator in ["$eq", "$lt", "$lte", "$gt", "$gte"] {
            let literal = doc! { "$literal": value.clone() };
            for sides in [bson!(["$k", literal.clone()]), bson!([literal.clone(), "$k"])] {
                let pipeline = vec![
                    doc! { "$match": { "$expr": { operator: sides } } },
                    doc! { "$sort": { "_id": 1 } },
                ];
                let [plain, indexed] = ["plain", "indexed"].map(|name| aggregate(db, name, pipeline.clone()));
                let (plain, indexed) = (ids(&plain.await), ids(&indexed.await));
                // MongoDB loses what is missing where it looks for what is less than null or MinKey.
                let is_lost = matches!(value, Bson::Null | Bson::MinKey) && plain.contains(&0);
                assert!(plain == indexed || is_lost, "{pipeline:?}: {plain:?} {indexed:?}");
            }
        }
    }
}

async fn pipelines_of_joins_and_unions_give_the_same_by_an_index(db: &Db) {
    many(db).await;
    let plain = (0..200).map(|id| doc! { "_id": id, "k": id % 20, "n": id, "l": [id, 1] });
    insert(db, "plain", plain.collect()).await;
    let view = doc! { "create": "v", "viewOn": "o", "pipeline": [{ "$set": { "z": 1 } }, { "$unset": "z" }] };
    run(db, view).await;
    let same = || doc! { "$match": { "$expr": { "$eq": ["$k", "$$v"] } } };
    let pipelines = [
        vec![same(), doc! { "$sort": { "_id": 1 } }],
        vec![same(), doc! { "$sort": { "_id": -1 } }, doc! { "$limit": 2 }],
        vec![
            same(),
            doc! { "$sort": { "n": 1 } },
            doc! { "$skip": 3 },
            doc! { "$limit": 4 },
        ],
        vec![doc! { "$sort": { "_id": 1 } }, same(), doc! { "$skip": 8 }],
        vec![
            doc! { "$set": { "x": "$n" } },
            same(),
            doc! { "$sort": { "k": 1, "_id": 1 } },
        ],
        vec![
            doc! { "$match": { "$expr": { "$lt": ["$k", "$$v"] }, "n": { "$gt": 150 } } },
            doc! { "$sort": { "_id": 1 } },
        ],
        vec![same(), doc! { "$group": { "_id": "$k", "n": { "$sum": "$n" } } }],
        vec![doc! { "$sort": { "k": 1, "_id": 1 } }, doc! { "$limit": 3 }],
    ];
    for pipeline in pipelines {
        for by_fields in [false, true] {
            let joined = async |from: &str| {
                let mut lookup =
                    doc! { "from": from, "let": { "v": "$k" }, "pipeline": pipeline.clone(), "as": "j" };
                if by_fields {
                    lookup.extend(doc! { "localField": "k", "foreignField": "k" });
                }
                let first = doc! { "$match": { "_id": { "$lt": 30 } } };
                aggregate(db, "c", vec![first, doc! { "$lookup": lookup }]).await
            };
            let plain = joined("plain").await;
            assert_eq!(joined("o").await, plain, "{pipeline:?}");
            assert_eq!(joined("v").await, plain, "{pipeline:?}");
        }
    }
    for pipeline in [
        vec![doc! { "$match": { "k": 5 } }, doc! { "$sort": { "_id": 1 } }],
        vec![doc! { "$sort": { "_id": -1 } }, doc! { "$limit": 3 }],
        vec![
            doc! { "$sort": { "k": 1, "_id": 1 } },
            doc! { "$skip": 7 },
            doc! { "$limit": 3 },
        ],
        vec![
            doc! { "$set": { "x": 1 } },
            doc! { "$match": { "k": { "$in": [3, 4] } } },
            doc! { "$sort": { "_id": 1 } },
        ],
    ] {
        let added = async |name: &str| {
            let union = doc! { "$unionWith": { "coll": name, "pipeline": pipeline.clone() } };
            aggregate(db, "none", vec![union]).await
        };
        let found = added("o").await;
        assert!(found.len() >= 3, "{pipeline:?}");
        assert_eq!(found, added("plain").await, "{pipeline:?}");
        assert_eq!(found, added("v").await, "{pipeline:?}");
    }
}

async fn orders_are_made_before_arrays_are_taken_apart(db: &Db) {
    many(db).await;
    let by_index = async |order: Document| {
        let pipeline = vec![doc! { "$unwind": "$l" }, doc! { "$sort": order }];
        is_by_index(db, doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} }).await
    };
    assert!(by_index(doc! { "k": 1 }).await);
    assert!(!by_index(doc! { "l": 1, "k": 1 }).await);
    let given = async |order: Document| {
        let stages = vec![
            doc! { "$match": { "_id": { "$in": [3, 1, 2] } } },
            doc! { "$unwind": "$l" },
            doc! { "$sort": order },
            doc! { "$limit": 4 },
        ];
        ids(&aggregate(db, "c", stages).await)
    };
    assert_eq!(given(doc! { "k": -1 }).await, [3, 3, 2, 2]);
    assert_eq!(given(doc! { "l": 1, "k": -1 }).await, [3, 2, 1, 1]);
}

/// Documents that an index of `c` has in another order.
async fn turned(db: &Db, key: Document) {
    let all = [(1, 3, 1), (2, 1, 2), (3, 2, 1), (4, 1, 1)];
    let all = all.map(|(id, c, d)| doc! { "_id": id, "c": c, "d": d });
    insert(db, "t", all.to_vec()).await;
    run(
        db,
        doc! { "createIndexes": "t", "indexes": [{ "key": key, "name": "k" }] },
    )
    .await;
}

/// The ids of what is found, in the order in which it is.
async fn found(db: &Db, filter: &Document) -> Vec<i32> {
    ids(&batch(
        &run(db, doc! { "find": "t", "filter": filter.clone() }).await,
    ))
}

async fn bits_are_looked_for_in_the_order_of_documents(db: &Db) {
    turned(db, doc! { "c": 1 }).await;
    for (bits, expected) in [
        (doc! { "$bitsAllSet": 0 }, vec![1, 2, 3, 4]),
        (doc! { "$bitsAnySet": 2 }, vec![1, 3]),
        (doc! { "$bitsAllClear": 8 }, vec![1, 2, 3, 4]),
        (doc! { "$bitsAllSet": 0, "$gt": 0 }, vec![2, 4, 3, 1]),
    ] {
        let filter = doc! { "c": bits };
        assert_eq!(found(db, &filter).await, expected, "{filter}");
    }
}

async fn a_choice_of_one_field_is_found_in_the_order_of_its_index(db: &Db) {
    turned(db, doc! { "c": 1 }).await;
    for (filter, expected) in [
        (doc! { "$or": [{ "c": 2 }, { "c": 1 }] }, vec![2, 4, 3]),
        (
            doc! { "$or": [{ "c": { "$in": [2, 3] } }, { "c": 1 }] },
            vec![2, 4, 3, 1],
        ),
        (
            doc! { "$or": [{ "c": 2 }, { "c": 1 }, { "c": { "$gt": 2 } }] },
            vec![2, 4, 3, 1],
        ),
        (
            doc! { "$or": [{ "c": { "$gt": 2 } }, { "c": 1 }], "d": 1 },
            vec![4, 1],
        ),
        (
            doc! { "$or": [{ "$or": [{ "c": 3 }, { "c": 2 }] }, { "c": 1 }] },
            vec![2, 4, 3, 1],
        ),
        (
            doc! { "$or": [{ "c": { "$gt": 2 } }, { "c": { "$not": { "$gt": 2 } } }] },
            vec![2, 4, 3, 1],
        ),
    ] {
        assert_eq!(found(db, &filter).await, expected, "{filter}");
    }
    let first = doc! { "q": { "$or": [{ "c": 2 }, { "c": 1 }] }, "u": { "$set": { "first": true } } };
    run(db, doc! { "update": "t", "updates": [first] }).await;
    assert_eq!(found(db, &doc! { "first": true }).await, [2]);
    run(db, doc! { "dropIndexes": "t", "index": "k" }).await;
    run(
        db,
        doc! { "createIndexes": "t", "indexes": [{ "key": { "c": -1 }, "name": "k" }] },
    )
    .await;
    assert_eq!(
        found(db, &doc! { "$or": [{ "c": 1 }, { "c": 3 }] }).await,
        [1, 2, 4]
    );
}

async fn choices_come_last_by_the_order_of_their_indexes(db: &Db) {
    turned(db, doc! { "c": 1 }).await;
    run(
        db,
        doc! { "createIndexes": "t", "indexes": [{ "key": { "d": 1 }, "name": "d" }] },
    )
    .await;
    for (filter, expected) in [
        (doc! { "$or": [{ "d": 2 }, { "c": 3 }] }, vec![1, 2]),
        (
            doc! { "$or": [{ "d": { "$gt": 1 } }, { "c": { "$gt": 2 } }, { "d": 1 }, { "c": 1 }] },
            vec![2, 4, 1, 3],
        ),
        (doc! { "$or": [{ "c": 3 }, { "_id": 3 }] }, vec![3, 1]),
        (
            doc! { "$or": [{ "c": { "$gt": 2 } }, { "c": { "$gte": 1, "$lte": 2 } }] },
            vec![2, 4, 3, 1],
        ),
        (
            doc! { "$or": [{ "d": { "$gt": 1 } }, { "c": { "$gt": 2, "$lt": 5 } }, { "c": 1 }, { "c": 2, "_id": 3 }] },
            vec![3, 1, 2, 4],
        ),
    ] {
        assert_eq!(found(db, &filter).await, expected, "{filter}");
    }
}
