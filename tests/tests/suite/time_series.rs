//! Time series by commands: what they take, how they are read, changed, deleted and listed.

use bson::{Bson, DateTime, Document, doc};
use odm::Db;

use super::collections_kinds::options_of;

crate::on_every_backend! {
    a_series_is_listed_with_its_buckets,
    a_measurement_has_its_time,
    measurements_are_read_like_documents,
    measurements_come_source_by_source,
    sources_have_their_fields_in_order,
    a_series_and_its_buckets_go_together,
    what_is_not_for_series_is_refused,
    transactions_read_series_only,
    strings_of_a_series_compare_by_its_collation,
}

pub(crate) async fn code(db: &Db, command: Document) -> Option<i32> {
    match db.run_command(command).await {
        Err(error) => error.code(),
        Ok(reply) => {
            let errors = reply.get_array("writeErrors").ok()?;
            errors.first()?.as_document()?.get_i32("code").ok()
        }
    }
}

/// Minutes after a moment.
pub(crate) fn at(minutes: i64) -> DateTime {
    DateTime::from_millis(1_767_225_600_000 + minutes * 60_000)
}

pub(crate) async fn create(db: &Db, series: Document) {
    let create = doc! { "create": "s", "timeseries": series };
    db.run_command(create).await.unwrap();
}

pub(crate) async fn with_sources(db: &Db) {
    create(db, doc! { "timeField": "t", "metaField": "m" }).await;
    let documents = [
        doc! { "_id": 1, "t": at(0), "m": { "a": 1, "b": 1 }, "v": 1 },
        doc! { "_id": 2, "t": at(1), "m": { "a": 2 }, "v": 2 },
        doc! { "_id": 3, "t": at(2), "m": { "a": 1, "b": 1 }, "v": 3, "w": [3, 4] },
        doc! { "_id": 4, "t": at(3), "v": 3 },
    ];
    db.raw_collection("s").insert_many(documents).await.unwrap();
}

pub(crate) async fn ids(db: &Db, filter: Document) -> Vec<i32> {
    let found = db.raw_collection("s").find(filter).await.unwrap();
    found.iter().map(|one| one.get_i32("_id").unwrap()).collect()
}

async fn a_series_is_listed_with_its_buckets(db: &Db) {
    let create = doc! {
        "create": "s", "timeseries": { "timeField": "t", "metaField": "m" }, "expireAfterSeconds": 10.7,
    };
    db.run_command(create).await.unwrap();
    let (kind, options) = options_of(db, "s").await;
    assert_eq!(kind, "timeseries");
    let series = doc! {
        "timeField": "t", "metaField": "m", "granularity": "seconds", "bucketMaxSpanSeconds": 3600,
    };
    assert_eq!(
        options,
        doc! { "expireAfterSeconds": 10_i64, "timeseries": series.clone() }
    );
    let (kind, buckets) = options_of(db, "system.buckets.s").await;
    assert_eq!(kind, "collection");
    let names: Vec<&str> = buckets.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["validator", "clusteredIndex", "expireAfterSeconds", "timeseries"]
    );
    assert_eq!(buckets.get_document("timeseries").unwrap(), &series);
    assert!(buckets.get_bool("clusteredIndex").unwrap());
    let schema = buckets
        .get_document("validator")
        .unwrap()
        .get_document("$jsonSchema")
        .unwrap();
    let properties = schema.get_document("properties").unwrap();
    assert_eq!(
        properties
            .get_document("control")
            .unwrap()
            .get_document("properties")
            .unwrap()
            .get("max"),
        Some(&Bson::Document(
            doc! { "bsonType": "object", "required": ["t"], "properties": { "t": { "bsonType": "date" } } }
        ))
    );
    let listed = db
        .run_command(doc! { "listCollections": 1, "filter": { "name": "s" } })
        .await
        .unwrap();
    let listed = listed
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    let listed = listed[0].as_document().unwrap();
    assert_eq!(listed.get_document("info").unwrap(), &doc! { "readOnly": false });
    assert!(!listed.contains_key("idIndex"));
    for (options, expected) in [
        (doc! { "validator": {} }, Some(72)),
        (doc! { "capped": true, "size": 5 }, Some(72)),
        (doc! { "viewOn": "c" }, Some(72)),
        (doc! { "clusteredIndex": true }, Some(72)),
        (
            doc! { "changeStreamPreAndPostImages": { "enabled": false } },
            Some(72),
        ),
        (doc! { "autoIndexId": true }, Some(72)),
        (doc! { "expireAfterSeconds": -1 }, Some(72)),
        (doc! { "expireAfterSeconds": "off" }, Some(14)),
        (
            doc! { "capped": false, "comment": "c", "storageEngine": { "wiredTiger": {} } },
            None,
        ),
    ] {
        let mut command = doc! { "create": "other", "timeseries": { "timeField": "t" } };
        command.extend(options);
        assert_eq!(code(db, command.clone()).await, expected, "{command}");
    }
}

async fn a_measurement_has_its_time(db: &Db) {
    create(db, doc! { "timeField": "t" }).await;
    for document in [
        doc! { "_id": 0 },
        doc! { "_id": 0, "t": 5 },
        doc! { "_id": 0, "t": null },
        doc! { "_id": 0, "t": [at(0)] },
        doc! { "_id": 0, "t": bson::Timestamp { time: 1, increment: 1 } },
    ] {
        let insert = doc! { "insert": "s", "documents": [document.clone()] };
        assert_eq!(code(db, insert).await, Some(2), "{document}");
        let error = db.raw_collection("s").insert(document).await.unwrap_err();
        assert_eq!(error.code(), Some(2));
    }
    let three = [
        doc! { "_id": 1, "t": at(0) },
        doc! { "_id": 2 },
        doc! { "_id": 3, "t": at(0) },
    ];
    for (ordered, expected) in [(true, vec![1]), (false, vec![1, 1, 3])] {
        let insert = doc! { "insert": "s", "documents": three.to_vec(), "ordered": ordered };
        let reply = db.run_command(insert).await.unwrap();
        let errors = reply.get_array("writeErrors").unwrap();
        assert_eq!(errors.len(), 1, "{reply}");
        assert_eq!(errors[0].as_document().unwrap().get_i32("index").unwrap(), 1);
        // The same `_id` comes as often as it is inserted.
        let mut found = ids(db, doc! {}).await;
        found.sort_unstable();
        assert_eq!(found, expected);
    }
    // None is made where there is none.
    let insert = doc! { "insert": "s", "documents": [{ "t": at(9), "x": 1 }] };
    assert_eq!(db.run_command(insert).await.unwrap().get_i32("n").unwrap(), 1);
    let found = db.raw_collection("s").find(doc! { "x": 1 }).await.unwrap();
    assert_eq!(found, [doc! { "t": at(9), "x": 1 }]);
}

async fn measurements_are_read_like_documents(db: &Db) {
    with_sources(db).await;
    let s = db.raw_collection("s");
    assert_eq!(ids(db, doc! { "v": 3 }).await, [3, 4]);
    assert_eq!(ids(db, doc! { "w": 4 }).await, [3]);
    assert_eq!(
        ids(
            db,
            doc! { "_id": { "$gt": 1 }, "m.a": { "$exists": true }, "t": { "$lt": at(2) } }
        )
        .await,
        [2]
    );
    assert_eq!(s.count(doc! {}).await.unwrap(), 4);
    assert_eq!(s.count(doc! { "m.a": 1 }).await.unwrap(), 2);
    assert_eq!(s.estimated_count().await.unwrap(), 4);
    let last = s.find(doc! {}).sort_raw(doc! { "t": -1 }).limit(2).await.unwrap();
    assert_eq!(last[0], doc! { "t": at(3), "_id": 4, "v": 3 });
    assert_eq!(last[1].get_i32("_id").unwrap(), 3);
    let shown = doc! { "find": "s", "filter": { "_id": 3 }, "projection": { "v": { "$slice": ["$w", 1] }, "_id": 0 } };
    let reply = db.run_command(shown).await.unwrap();
    assert!(reply.to_string().contains("[{ \"v\": [3] }]"), "{reply}");
    let distinct = db
        .run_command(doc! { "distinct": "s", "key": "m.a" })
        .await
        .unwrap();
    // In no defined order.
    let values = distinct.get_array("values").unwrap();
    assert_eq!(values.len(), 2);
    assert!(values.contains(&Bson::from(1)) && values.contains(&Bson::from(2)));
    let grouped = s
        .aggregate_raw([
            doc! { "$match": { "v": { "$type": "int" } } },
            doc! { "$group": { "_id": "$m.a", "n": { "$sum": 1 }, "last": { "$max": "$t" } } },
            doc! { "$sort": { "_id": 1 } },
        ])
        .await
        .unwrap();
    assert_eq!(
        grouped,
        [
            doc! { "_id": null, "n": 1, "last": at(3) },
            doc! { "_id": 1, "n": 2, "last": at(2) },
            doc! { "_id": 2, "n": 1, "last": at(1) },
        ]
    );
    db.raw_collection("o").insert(doc! { "_id": 1 }).await.unwrap();
    let joined = db
        .raw_collection("o")
        .aggregate_raw([
            doc! { "$lookup": { "from": "s", "localField": "_id", "foreignField": "m.a", "as": "found" } },
            doc! { "$unionWith": { "coll": "s", "pipeline": [{ "$match": { "v": 2 } }] } },
            doc! { "$project": { "n": { "$size": { "$ifNull": ["$found", []] } } } },
        ])
        .await
        .unwrap();
    assert_eq!(joined, [doc! { "_id": 1, "n": 2 }, doc! { "_id": 2, "n": 0 }]);
    // A view on it, and what it gives in a collection of its own.
    let view = doc! { "create": "w", "viewOn": "s", "pipeline": [{ "$match": { "v": 3 } }] };
    db.run_command(view).await.unwrap();
    assert_eq!(db.raw_collection("w").count(doc! { "_id": 4 }).await.unwrap(), 1);
    s.aggregate_raw([doc! { "$out": "copy" }]).await.unwrap();
    assert_eq!(db.raw_collection("copy").count(doc! {}).await.unwrap(), 4);
    let mut cursor = doc! { "find": "s", "batchSize": 3 };
    let reply = db.run_command(cursor).await.unwrap();
    let id = reply.get_document("cursor").unwrap().get_i64("id").unwrap();
    cursor = doc! { "getMore": id, "collection": "s" };
    let reply = db.run_command(cursor).await.unwrap();
    let rest = reply
        .get_document("cursor")
        .unwrap()
        .get_array("nextBatch")
        .unwrap();
    assert_eq!(rest.len(), 1, "{reply}");
}

async fn measurements_come_source_by_source(db: &Db) {
    create(db, doc! { "timeField": "t", "metaField": "m" }).await;
    let s = db.raw_collection("s");
    let mut id = 0;
    let mut measured = |minutes: i64, source: &str| {
        id += 1;
        doc! { "_id": id, "t": at(minutes), "m": source }
    };
    // Begun in the same minute, each source stands together; later ones and earlier ones stand in their time.
    let documents = [
        measured(0, "a"),
        measured(0, "b"),
        measured(20, "a"),
        measured(30, "b"),
        measured(59, "a"),
        measured(60, "a"),
        measured(10, "c"),
        measured(5, "b"),
        measured(-5, "a"),
    ];
    for document in documents {
        s.insert(document).await.unwrap();
    }
    // What comes before its bucket begins closes that; 60 is beyond an hour of 0.
    assert_eq!(ids(db, doc! {}).await, [9, 1, 3, 5, 2, 4, 8, 7, 6]);
    let backward = doc! { "find": "s", "hint": { "$natural": -1 } };
    let reply = db.run_command(backward).await.unwrap();
    let batch = reply
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    let first = batch[0].as_document().unwrap();
    assert_eq!(first.get_i32("_id").unwrap(), 6);
}

async fn sources_have_their_fields_in_order(db: &Db) {
    create(db, doc! { "timeField": "t", "metaField": "m" }).await;
    let s = db.raw_collection("s");
    s.insert(doc! { "_id": 1, "m": { "z": 1, "a": [{ "y": 1, "b": { "d": 1, "c": 1 } }] }, "t": at(0) })
        .await
        .unwrap();
    let found = s.find(doc! {}).await.unwrap();
    let source = doc! { "a": [{ "b": { "c": 1, "d": 1 }, "y": 1 }], "z": 1 };
    assert_eq!(
        found[0].to_string(),
        doc! { "t": at(0), "m": source.clone(), "_id": 1 }.to_string()
    );
    assert_eq!(s.count(doc! { "m": source }).await.unwrap(), 1);
    // Nothing, null and an empty document are three sources.
    s.insert_many([
        doc! { "_id": 2, "t": at(0), "m": null },
        doc! { "_id": 3, "t": at(0) },
        doc! { "_id": 4, "t": at(0), "m": {} },
    ])
    .await
    .unwrap();
    assert_eq!(ids(db, doc! { "m": {} }).await, [4]);
    assert_eq!(ids(db, doc! { "m": null }).await, [2, 3]);
    assert_eq!(ids(db, doc! { "m": { "$exists": false } }).await, [3]);
}

async fn a_series_and_its_buckets_go_together(db: &Db) {
    with_sources(db).await;
    for create in [
        doc! { "create": "s" },
        doc! { "create": "s", "timeseries": { "timeField": "t" } },
        doc! { "create": "s", "viewOn": "x" },
        doc! { "create": "system.buckets.s" },
    ] {
        assert_eq!(code(db, create.clone()).await, Some(48), "{create}");
    }
    let names = async || -> Vec<String> {
        let mut names: Vec<String> = db
            .list_collections()
            .await
            .unwrap()
            .into_iter()
            .map(|own| own.name)
            .collect();
        names.retain(|name| name != "system.views");
        names.sort();
        names
    };
    assert_eq!(names().await, ["s", "system.buckets.s"]);
    let reply = db.run_command(doc! { "drop": "s" }).await.unwrap();
    assert_eq!(reply.get_i32("nIndexesWas").unwrap(), 0, "{reply}");
    assert_eq!(names().await, [""; 0]);
    assert_eq!(code(db, doc! { "drop": "s" }).await, Some(26));
    // A name that is free again is an ordinary collection's.
    db.raw_collection("s").insert(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(ids(db, doc! {}).await, [1]);
    let series = doc! { "create": "s", "timeseries": { "timeField": "t" } };
    assert_eq!(code(db, series).await, Some(48));
    db.raw_collection("s").drop().await.unwrap();
    with_sources(db).await;
    assert_eq!(ids(db, doc! { "m.a": 2 }).await, [2]);
    let reply = db.run_command(doc! { "drop": "system.buckets.s" }).await.unwrap();
    assert_eq!(reply.get_str("ns").unwrap(), format!("{}.s", db.name()));
    assert_eq!(names().await, [""; 0]);
    with_sources(db).await;
    let admin = db.database("admin").unwrap();
    let name = |collection: &str| format!("{}.{collection}", db.name());
    db.raw_collection("plain")
        .insert(doc! { "_id": 1 })
        .await
        .unwrap();
    for (from, to, expected) in [("s", "z", 166), ("plain", "s", 48), ("system.buckets.s", "z", 20)] {
        let rename = doc! { "renameCollection": name(from), "to": name(to), "dropTarget": true };
        assert_eq!(code(&admin, rename).await, Some(expected), "{from}");
    }
}

async fn what_is_not_for_series_is_refused(db: &Db) {
    with_sources(db).await;
    let aggregate =
        |from: &str, stage: Document| doc! { "aggregate": from, "pipeline": [stage], "cursor": {} };
    db.raw_collection("o")
        .insert(doc! { "_id": 1, "t": at(0) })
        .await
        .unwrap();
    for (command, expected) in [
        (doc! { "findAndModify": "s", "query": {}, "remove": true }, 166),
        (doc! { "validate": "s" }, 166),
        (doc! { "convertToCapped": "s", "size": 1000 }, 166),
        (
            doc! { "cloneCollectionAsCapped": "s", "toCollection": "z", "size": 1000 },
            166,
        ),
        (doc! { "find": "s", "tailable": true }, 168),
        (
            doc! { "find": "s", "filter": { "$text": { "$search": "a" } } },
            27,
        ),
        (
            doc! { "find": "s", "filter": { "m.loc": { "$near": [0, 0] } } },
            5_626_500,
        ),
        (
            doc! { "find": "s", "filter": { "w": { "$elemMatch": { "$gt": 3 } } }, "projection": { "w.$": 1 } },
            31324,
        ),
        (doc! { "find": "s", "hint": { "x": 1 } }, 2),
        (aggregate("s", doc! { "$collStats": { "count": {} } }), 166),
        (aggregate("o", doc! { "$out": "s" }), 166),
        (aggregate("o", doc! { "$merge": "s" }), 166),
        (
            aggregate("o", doc! { "$merge": { "into": "s", "on": "t" } }),
            51183,
        ),
        (aggregate("s", doc! { "$changeStream": {} }), 166),
    ] {
        assert_eq!(code(db, command.clone()).await, Some(expected), "{command}");
    }
    let watched = db.raw_collection("s").watch().await;
    assert_eq!(watched.unwrap_err().code(), Some(166));
    let sized = db.run_command(doc! { "collStats": "s" }).await.unwrap();
    let series = sized.get_document("timeseries").unwrap();
    assert_eq!(
        series.get_str("bucketsNs").unwrap(),
        format!("{}.system.buckets.s", db.name())
    );
    assert_eq!(series.get_i32("bucketCount").unwrap(), 3, "{series}");
    assert!(!sized.contains_key("count") && sized.get_i32("size").unwrap() > 0);
}

async fn transactions_read_series_only(db: &Db) {
    with_sources(db).await;
    let tx = db.begin().await.unwrap();
    assert_eq!(
        tx.raw_collection("s")
            .find(doc! { "m.a": 1 })
            .await
            .unwrap()
            .len(),
        2
    );
    drop(tx);
    let tx = db.begin().await.unwrap();
    let inserted = tx.raw_collection("s").insert(doc! { "_id": 8, "t": at(0) }).await;
    assert_eq!(inserted.unwrap_err().code(), Some(263));
    drop(tx);
    let tx = db.begin().await.unwrap();
    let deleted = tx.raw_collection("s").delete_many(doc! { "m.a": 1 }).await;
    assert_eq!(deleted.unwrap_err().code(), Some(263));
    drop(tx);
    let tx = db.begin().await.unwrap();
    let created = tx
        .run_command(doc! { "create": "more", "timeseries": { "timeField": "t" } })
        .await;
    assert_eq!(created.unwrap_err().code(), Some(263));
    drop(tx);
    assert_eq!(ids(db, doc! {}).await.len(), 4);
}

async fn strings_of_a_series_compare_by_its_collation(db: &Db) {
    let create = doc! {
        "create": "s", "timeseries": { "timeField": "t", "metaField": "m" },
        "collation": { "locale": "en", "strength": 1 },
    };
    db.run_command(create).await.unwrap();
    let s = db.raw_collection("s");
    s.insert(doc! { "_id": 1, "t": at(0), "m": "x" }).await.unwrap();
    assert_eq!(ids(db, doc! { "m": "X" }).await, [1]);
    let index = doc! { "createIndexes": "s", "indexes": [{ "key": { "m": 1 }, "name": "mm" }] };
    db.run_command(index).await.unwrap();
    assert_eq!(ids(db, doc! { "m": "X" }).await, [1]);
    let changed = s
        .update_many(doc! { "m": "X" }, doc! { "$set": { "m": "y" } })
        .await
        .unwrap();
    assert_eq!(changed.modified, 1);
    assert_eq!(ids(db, doc! { "m": "Y" }).await, [1]);
}
