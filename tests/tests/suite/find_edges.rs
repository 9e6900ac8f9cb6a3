//! The options of the command `find` about keys and records: `min`, `max`, `returnKey`, `showRecordId`.

use bson::{Bson, Document, doc};
use odm::Db;

use super::time_series::code;

crate::on_every_backend! {
    a_find_looks_between_two_keys,
    edges_must_fit_the_hinted_index,
    edges_follow_the_order_of_the_index,
    edges_are_explained,
    a_find_returns_keys,
    a_find_shows_records,
    views_have_neither_keys_nor_records,
}

async fn prepare(db: &Db) {
    let c = db.raw_collection("c");
    c.insert_many((1..6).map(|id| doc! { "_id": id, "a": id * 10, "b": -id, "s": format!("x{id}") }))
        .await
        .unwrap();
    c.insert(doc! { "_id": 9, "a": [5, 25] }).await.unwrap();
    for (key, name) in [
        (doc! { "a": 1 }, "a_1"),
        (doc! { "a": 1, "b": -1 }, "a_1_b_-1"),
        (doc! { "b": -1 }, "b_-1"),
    ] {
        let index = doc! { "createIndexes": "c", "indexes": [{ "key": key, "name": name }] };
        db.run_command(index).await.unwrap();
    }
}

fn find(more: Document) -> Document {
    let mut command = doc! { "find": "c" };
    command.extend(more);
    command
}

async fn batch(db: &Db, command: Document) -> Vec<Document> {
    let reply = db.run_command(command).await.unwrap();
    let batch = reply
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    batch
        .iter()
        .map(|one| one.as_document().unwrap().clone())
        .collect()
}

async fn ids(db: &Db, more: Document) -> Vec<i32> {
    let found = batch(db, find(more)).await;
    found.iter().map(|one| one.get_i32("_id").unwrap()).collect()
}

async fn a_find_looks_between_two_keys(db: &Db) {
    prepare(db).await;
    let a = || doc! { "a": 1 };
    for (more, expected) in [
        (doc! { "min": { "a": 20 }, "hint": a() }, vec![2, 9, 3, 4, 5]),
        (doc! { "max": { "a": 20 }, "hint": a() }, vec![9, 1]),
        (
            doc! { "min": { "a": 20 }, "max": { "a": 40 }, "hint": "a_1" },
            vec![2, 9, 3],
        ),
        (
            doc! { "min": { "a": 20.0 }, "hint": a(), "skip": 1, "limit": 2 },
            vec![9, 3],
        ),
        (
            doc! { "min": { "a": 20 }, "hint": a(), "sort": { "a": -1 } },
            vec![5, 4, 3, 9, 2],
        ),
        (
            doc! { "min": { "a": 20 }, "hint": a(), "sort": { "b": 1 } },
            vec![9, 5, 4, 3, 2],
        ),
        (doc! { "min": { "a": null }, "hint": a() }, vec![9, 1, 2, 3, 4, 5]),
        (doc! { "min": { "a": "x" }, "hint": a() }, vec![]),
        (doc! { "max": { "a": "x" }, "hint": a() }, vec![9, 1, 2, 3, 4, 5]),
        (doc! { "min": {}, "max": {}, "hint": a() }, vec![9, 1, 2, 3, 4, 5]),
        (
            doc! { "min": { "_id": 2 }, "max": { "_id": 4 }, "hint": "_id_", "filter": { "a": { "$gt": 20 } } },
            vec![3],
        ),
        (
            doc! { "min": { "_id": 2 }, "hint": { "_id": 1 }, "filter": { "_id": 3 } },
            vec![3],
        ),
        (
            doc! { "min": { "_id": 4 }, "hint": { "_id": 1 }, "filter": { "_id": 3 } },
            vec![],
        ),
        (
            doc! { "min": { "a": 20 }, "hint": a(), "filter": { "$or": [{ "a": 1 }, { "b": -2 }] } },
            vec![2],
        ),
    ] {
        assert_eq!(ids(db, more.clone()).await, expected, "{more}");
    }
    let none = doc! { "find": "none", "min": { "a": 1 } };
    assert_eq!(batch(db, none).await, [] as [Document; 0]);
}

async fn edges_must_fit_the_hinted_index(db: &Db) {
    prepare(db).await;
    for index in [
        doc! { "key": { "$**": 1 }, "name": "all" },
        doc! { "key": { "x": "text" }, "name": "text" },
        doc! { "key": { "l": 1 }, "name": "coll", "collation": { "locale": "en", "strength": 2 } },
        doc! { "key": { "h": 1 }, "name": "h_1", "hidden": true },
    ] {
        db.run_command(doc! { "createIndexes": "c", "indexes": [index] })
            .await
            .unwrap();
    }
    let ab = || doc! { "a": 1, "b": -1 };
    for (more, expected) in [
        (doc! { "min": { "a": 20 } }, 51173),
        (doc! { "min": { "a": 20 }, "hint": { "$natural": 1 } }, 291),
        (doc! { "min": { "a": 20 }, "hint": { "zz": 1 } }, 2),
        (doc! { "min": { "h": 20 }, "hint": "h_1" }, 2),
        (doc! { "min": { "b": 20 }, "hint": { "a": 1 } }, 51174),
        (doc! { "min": { "a": 20, "b": 1 }, "hint": { "a": 1 } }, 51174),
        (doc! { "min": { "a": 20 }, "hint": ab() }, 51174),
        (doc! { "min": { "b": -2, "a": 20 }, "hint": ab() }, 51174),
        (doc! { "min": { "a": 2 }, "hint": "all" }, 51174),
        (doc! { "min": { "x": "a" }, "hint": "text" }, 51174),
        (doc! { "min": { "l": "a" }, "hint": "coll" }, 51174),
        (
            doc! { "min": { "a": 40 }, "max": { "a": 20 }, "hint": { "a": 1 } },
            51175,
        ),
        (
            doc! { "min": { "a": 20 }, "max": { "a": 20 }, "hint": { "a": 1 } },
            51175,
        ),
        (
            doc! { "min": { "b": -3 }, "max": { "b": -1 }, "hint": { "b": -1 } },
            51175,
        ),
        (
            doc! { "min": { "a": 20 }, "max": { "b": 20 }, "hint": { "a": 1 } },
            51176,
        ),
        (
            doc! { "min": { "a": 20 }, "max": { "a": 20, "b": 1 }, "hint": { "a": 1 } },
            51176,
        ),
        (doc! { "min": 5, "hint": { "a": 1 } }, 14),
    ] {
        assert_eq!(code(db, find(more.clone())).await, Some(expected), "{more}");
    }
    let collated =
        doc! { "min": { "l": "a" }, "hint": "coll", "collation": { "locale": "en", "strength": 2 } };
    assert_eq!(ids(db, collated).await, [] as [i32; 0]);
    assert_eq!(
        ids(db, doc! { "min": { "l": 5 }, "hint": "coll" }).await,
        [] as [i32; 0]
    );
    let clustered = doc! { "create": "o", "clusteredIndex": { "key": { "_id": 1 }, "unique": true } };
    db.run_command(clustered).await.unwrap();
    db.raw_collection("o")
        .insert_many([doc! { "_id": 5 }, doc! { "_id": 7 }])
        .await
        .unwrap();
    let within = doc! { "find": "o", "max": { "_id": 6 }, "hint": { "_id": 1 } };
    assert_eq!(batch(db, within).await, [doc! { "_id": 5 }]);
    let other = doc! { "find": "o", "min": { "a": 6 }, "hint": { "_id": 1 } };
    assert_eq!(code(db, other).await, Some(6_137_400));
}

async fn edges_follow_the_order_of_the_index(db: &Db) {
    prepare(db).await;
    let ab = || doc! { "a": 1, "b": -1 };
    for (more, expected) in [
        (
            doc! { "min": { "a": 20, "b": -2 }, "hint": ab() },
            vec![2, 9, 3, 4, 5],
        ),
        (
            doc! { "min": { "a": 10, "b": -1 }, "max": { "a": 30, "b": -3 }, "hint": ab() },
            vec![1, 2, 9],
        ),
        (doc! { "max": { "b": -3 }, "hint": { "b": -1 } }, vec![1, 2]),
        (
            doc! { "min": { "b": -1 }, "max": { "b": -3 }, "hint": { "b": -1 } },
            vec![1, 2],
        ),
        (doc! { "min": { "b": -4 }, "hint": { "b": -1 } }, vec![4, 5, 9]),
    ] {
        assert_eq!(ids(db, more.clone()).await, expected, "{more}");
    }
}

fn inner_stage(plan: &Document) -> &Document {
    match plan.get_document("inputStage") {
        Ok(inner) => inner_stage(inner),
        Err(_) => plan,
    }
}

async fn edges_are_explained(db: &Db) {
    prepare(db).await;
    let explain = async |more: Document| {
        let command = doc! { "explain": find(more), "verbosity": "executionStats" };
        db.run_command(command).await.unwrap()
    };
    let reply = explain(doc! { "min": { "a": 20 }, "max": { "a": 40 }, "hint": { "a": 1 } }).await;
    let plan = reply
        .get_document("queryPlanner")
        .unwrap()
        .get_document("winningPlan")
        .unwrap();
    let scan = inner_stage(plan);
    assert_eq!(scan.get_str("indexName").unwrap(), "a_1");
    assert_eq!(scan.get_document("indexBounds").unwrap(), &doc! {});
    let figures = reply.get_document("executionStats").unwrap();
    assert_eq!(Bson::from(3), number(figures.get("nReturned")));
    let reply = explain(doc! { "returnKey": true, "hint": { "a": 1 } }).await;
    let plan = reply
        .get_document("queryPlanner")
        .unwrap()
        .get_document("winningPlan")
        .unwrap();
    assert_eq!(plan.get_str("stage").unwrap(), "RETURN_KEY");
    let reply = explain(doc! { "showRecordId": true }).await;
    let plan = reply
        .get_document("queryPlanner")
        .unwrap()
        .get_document("winningPlan")
        .unwrap();
    assert_eq!(
        plan.get_document("transformBy").unwrap(),
        &doc! { "$recordId": { "$meta": "recordId" } }
    );
    let wrong = doc! { "explain": find(doc! { "min": { "a": 20 } }) };
    assert_eq!(code(db, wrong).await, Some(51173));
}

fn number(value: Option<&Bson>) -> Bson {
    match value {
        Some(Bson::Int64(number)) => Bson::from(i32::try_from(*number).unwrap()),
        Some(other) => other.clone(),
        None => Bson::Null,
    }
}

async fn a_find_returns_keys(db: &Db) {
    prepare(db).await;
    for (more, expected) in [
        (
            doc! { "hint": { "a": 1 } },
            vec![
                doc! { "a": 5 },
                doc! { "a": 10 },
                doc! { "a": 20 },
                doc! { "a": 30 },
                doc! { "a": 40 },
                doc! { "a": 50 },
            ],
        ),
        (
            doc! { "hint": "a_1", "filter": { "a": { "$gt": 20 } }, "projection": { "b": 1 } },
            vec![
                doc! { "a": 25 },
                doc! { "a": 30 },
                doc! { "a": 40 },
                doc! { "a": 50 },
            ],
        ),
        (doc! { "filter": { "_id": 2 } }, vec![doc! { "_id": 2 }]),
        (doc! { "filter": { "s": "x1" } }, vec![doc! {}]),
        (
            doc! { "hint": "a_1_b_-1", "limit": 2, "showRecordId": true },
            vec![doc! { "a": 5, "b": null }, doc! { "a": 10, "b": -1 }],
        ),
    ] {
        let mut more = more;
        more.insert("returnKey", true);
        assert_eq!(batch(db, find(more.clone())).await, expected, "{more}");
    }
    let key = |filter: Document| {
        find(
            doc! { "filter": filter, "hint": "a_1", "projection": { "_id": 1, "k": { "$meta": "indexKey" } } },
        )
    };
    assert_eq!(
        batch(db, key(doc! { "a": 20 })).await,
        [doc! { "_id": 2, "k": { "a": 20 } }]
    );
    let scanned = doc! { "filter": { "s": "x2" }, "projection": { "_id": 1, "k": { "$meta": "indexKey" } } };
    assert_eq!(batch(db, find(scanned)).await, [doc! { "_id": 2 }]);
}

async fn a_find_shows_records(db: &Db) {
    prepare(db).await;
    let shown =
        find(doc! { "showRecordId": true, "sort": { "_id": 1 }, "limit": 2, "projection": { "a": 1 } });
    assert_eq!(
        batch(db, shown).await,
        [
            doc! { "_id": 1, "a": 10, "$recordId": 1_i64 },
            doc! { "_id": 2, "a": 20, "$recordId": 2_i64 },
        ]
    );
    let whole = find(doc! { "showRecordId": true, "filter": { "_id": 9 } });
    assert_eq!(
        batch(db, whole).await,
        [doc! { "_id": 9, "a": [5, 25], "$recordId": 6_i64 }]
    );
    let meta = find(
        doc! { "filter": { "_id": 2 }, "projection": { "_id": 0, "b": 1, "r": { "$meta": "recordId" } } },
    );
    assert_eq!(batch(db, meta).await, [doc! { "b": -2, "r": 2_i64 }]);
}

async fn views_have_neither_keys_nor_records(db: &Db) {
    prepare(db).await;
    db.run_command(doc! { "create": "w", "viewOn": "c" })
        .await
        .unwrap();
    let series = doc! { "create": "s", "timeseries": { "timeField": "t" } };
    db.run_command(series).await.unwrap();
    for name in ["w", "s"] {
        for more in [
            doc! { "min": { "a": 1 }, "hint": { "a": 1 } },
            doc! { "max": { "a": 1 }, "hint": { "a": 1 } },
            doc! { "returnKey": true },
            doc! { "showRecordId": true },
        ] {
            let mut command = doc! { "find": name };
            command.extend(more);
            assert_eq!(code(db, command.clone()).await, Some(168), "{command}");
        }
    }
}
