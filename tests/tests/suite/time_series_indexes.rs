//! Indexes of time series: which they may have, how they are listed, used, changed and dropped.

use bson::{Document, doc};
use odm::Db;

use super::time_series::{at, code, create, ids};

crate::on_every_backend! {
    series_have_indexes_on_sources_times_and_measurements,
    indexes_that_series_cannot_have_are_refused,
    indexes_of_series_answer_queries,
    indexes_of_series_are_dropped_and_changed,
}

async fn index(db: &Db, key: Document, name: &str, options: Document) -> Option<i32> {
    let mut spec = doc! { "key": key, "name": name };
    spec.extend(options);
    code(db, doc! { "createIndexes": "s", "indexes": [spec] }).await
}

async fn listed(db: &Db) -> Vec<Document> {
    let reply = db.run_command(doc! { "listIndexes": "s" }).await.unwrap();
    let batch = reply
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    batch
        .iter()
        .map(|spec| spec.as_document().unwrap().clone())
        .collect()
}

async fn series_have_indexes_on_sources_times_and_measurements(db: &Db) {
    create(db, doc! { "timeField": "t", "metaField": "m" }).await;
    assert_eq!(listed(db).await, []);
    let reply = db
        .run_command(doc! { "createIndexes": "s", "indexes": [
            { "key": { "t": 1 }, "name": "t_1" },
            { "key": { "m.a": 1, "t": -1 }, "name": "m.a_1_t_-1" },
        ] })
        .await
        .unwrap();
    let counts = (
        reply.get_i32("numIndexesBefore").unwrap(),
        reply.get_i32("numIndexesAfter").unwrap(),
    );
    assert_eq!(counts, (0, 2), "{reply}");
    for (key, name, options, expected) in [
        (doc! { "t": 1 }, "t_1", doc! {}, None),
        (doc! { "t": 1 }, "other", doc! {}, Some(85)),
        (doc! { "t": -1 }, "t_1", doc! {}, Some(86)),
        (doc! { "v": 1 }, "v_1", doc! {}, None),
        (doc! { "m": 1 }, "sparse", doc! { "sparse": true }, None),
        (doc! { "t": 1 }, "sparse too", doc! { "sparse": true }, None),
        (doc! { "m": "hashed" }, "hashed", doc! {}, None),
        (doc! { "m.loc": "2d" }, "flat", doc! {}, None),
        (doc! { "v": "2dsphere" }, "sphere", doc! {}, None),
        (doc! { "m.$**": 1 }, "wildcard", doc! {}, None),
        (
            doc! { "m": 1 },
            "partial",
            doc! { "partialFilterExpression": { "m.a": 1 } },
            None,
        ),
        (doc! { "v": 1, "m": 1 }, "both", doc! { "hidden": true }, None),
    ] {
        assert_eq!(index(db, key.clone(), name, options).await, expected, "{key}");
    }
    let listed = listed(db).await;
    assert_eq!(
        listed[1],
        doc! { "v": 2, "key": { "m.a": 1, "t": -1 }, "name": "m.a_1_t_-1" }
    );
    assert_eq!(listed[2], doc! { "v": 2, "key": { "v": 1 }, "name": "v_1" });
    assert_eq!(listed.len(), 11);
    assert_eq!(db.raw_collection("s").list_indexes().await.unwrap().len(), 11);
}

async fn indexes_that_series_cannot_have_are_refused(db: &Db) {
    create(db, doc! { "timeField": "t", "metaField": "m" }).await;
    for (key, options, expected) in [
        (doc! { "m": 1 }, doc! { "unique": true }, 72),
        (doc! { "t": 1 }, doc! { "expireAfterSeconds": 10 }, 72),
        (doc! { "m": "text" }, doc! {}, 72),
        (doc! { "m": 1, "v": "text" }, doc! {}, 72),
        (doc! { "v": 1 }, doc! { "sparse": true }, 72),
        (doc! { "v": "hashed" }, doc! {}, 67),
        (doc! { "v": "2d" }, doc! {}, 67),
        (doc! { "$**": 1 }, doc! {}, 67),
        (doc! { "v.$**": 1 }, doc! {}, 67),
        (doc! { "t": "2d" }, doc! {}, 67),
        (doc! { "t": "hashed" }, doc! {}, 67),
        (doc! { "v": 0 }, doc! {}, 67),
        (doc! {}, doc! {}, 67),
        (doc! { "m": 1 }, doc! { "bogus": 1 }, 197),
        (doc! { "m": 1 }, doc! { "clustered": true }, 67),
    ] {
        assert_eq!(
            index(db, key.clone(), "i", options.clone()).await,
            Some(expected),
            "{key} {options}"
        );
    }
    assert_eq!(listed(db).await, []);
}

async fn indexes_of_series_answer_queries(db: &Db) {
    create(db, doc! { "timeField": "t", "metaField": "m" }).await;
    let s = db.raw_collection("s");
    for (key, name) in [
        (doc! { "m": 1 }, "m_1"),
        (doc! { "t": 1 }, "t_1"),
        (doc! { "v": 1 }, "v_1"),
    ] {
        assert_eq!(index(db, key, name, doc! {}).await, None);
    }
    for id in 0..20 {
        s.insert(doc! { "_id": id, "t": at(i64::from(id)), "m": id % 4, "v": -id })
            .await
            .unwrap();
    }
    assert_eq!(ids(db, doc! { "m": 3 }).await, [3, 7, 11, 15, 19]);
    let mut found = ids(db, doc! { "v": { "$lt": -17 } }).await;
    found.sort_unstable();
    assert_eq!(found, [18, 19]);
    let sorted = s
        .find(doc! { "m": { "$in": [0, 1] } })
        .sort_raw(doc! { "t": -1 })
        .limit(3)
        .await
        .unwrap();
    let sorted: Vec<i32> = sorted.iter().map(|one| one.get_i32("_id").unwrap()).collect();
    assert_eq!(sorted, [17, 16, 13]);
    for hint in [doc! { "m": 1 }, doc! { "t": 1 }, doc! { "v": 1 }] {
        let find = doc! { "find": "s", "filter": { "v": { "$gt": -2 } }, "hint": hint.clone(), "sort": { "_id": 1 } };
        let reply = db.run_command(find).await.unwrap();
        let batch = reply
            .get_document("cursor")
            .unwrap()
            .get_array("firstBatch")
            .unwrap();
        assert_eq!(batch.len(), 2, "{hint}");
    }
    let update = doc! { "update": "s", "updates": [
        { "q": { "m": 3 }, "u": { "$set": { "m": 30 } }, "multi": true, "hint": "m_1" },
    ] };
    assert_eq!(
        db.run_command(update)
            .await
            .unwrap()
            .get_i32("nModified")
            .unwrap(),
        5
    );
    assert_eq!(ids(db, doc! { "m": 30 }).await, [3, 7, 11, 15, 19]);
    let delete = doc! { "delete": "s", "deletes": [{ "q": { "m": 0 }, "limit": 0, "hint": { "m": 1 } }] };
    assert_eq!(db.run_command(delete).await.unwrap().get_i32("n").unwrap(), 5);
    assert_eq!(s.count(doc! { "m": 0 }).await.unwrap(), 0);
    let described = s
        .aggregate_raw([doc! { "$indexStats": {} }, doc! { "$sort": { "name": 1 } }])
        .await
        .unwrap();
    let names: Vec<&str> = described.iter().map(|one| one.get_str("name").unwrap()).collect();
    assert_eq!(names, ["m_1", "t_1", "v_1"]);
    assert_eq!(described[1].get_document("key").unwrap(), &doc! { "t": 1 });
    if let Ok(report) = db.check().await {
        assert!(report.is_clean(), "{:?}", report.problems);
    }
}

async fn indexes_of_series_are_dropped_and_changed(db: &Db) {
    create(db, doc! { "timeField": "t", "metaField": "m" }).await;
    for (key, name) in [
        (doc! { "m": 1 }, "m_1"),
        (doc! { "t": 1 }, "t_1"),
        (doc! { "v": 1 }, "v_1"),
    ] {
        assert_eq!(index(db, key, name, doc! {}).await, None);
    }
    let modify = |index: Document| doc! { "collMod": "s", "index": index };
    let reply = db
        .run_command(modify(doc! { "name": "t_1", "hidden": true }))
        .await
        .unwrap();
    assert!(!reply.get_bool("hidden_old").unwrap() && reply.get_bool("hidden_new").unwrap());
    assert_eq!(
        code(db, modify(doc! { "keyPattern": { "v": 1 }, "hidden": true })).await,
        None
    );
    assert_eq!(
        code(db, modify(doc! { "keyPattern": { "x": 1 }, "hidden": true })).await,
        Some(27)
    );
    assert_eq!(
        code(db, modify(doc! { "name": "t_1", "expireAfterSeconds": 5 })).await,
        Some(72)
    );
    let drop = |index: bson::Bson| doc! { "dropIndexes": "s", "index": index };
    for (which, expected) in [
        ("none".into(), Some(27)),
        ("_id_".into(), Some(5_979_800)),
        (doc! { "x": 1 }.into(), Some(27)),
        (doc! { "m": 1 }.into(), None),
        ("t_1".into(), None),
    ] {
        assert_eq!(code(db, drop(which)).await, expected);
    }
    assert_eq!(listed(db).await.len(), 1);
    let reply = db.run_command(drop("*".into())).await.unwrap();
    assert_eq!(reply.get_i32("nIndexesWas").unwrap(), 1);
    assert_eq!(listed(db).await, []);
}
