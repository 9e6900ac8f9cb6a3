//! Changing time series: sources are updated and deleted, measurements are not; and the series itself is modified.

use bson::{Bson, Document, doc};
use odm::Db;

use super::collections_kinds::options_of;
use super::time_series::{at, code, ids, with_sources};

crate::on_every_backend! {
    only_sources_of_many_are_updated,
    only_whole_sources_are_deleted,
    without_sources_only_all_is_deleted,
    a_series_may_only_become_coarser,
}

async fn only_sources_of_many_are_updated(db: &Db) {
    with_sources(db).await;
    let update = |q: Document, u: Bson, more: Document| {
        let mut entry = doc! { "q": q, "u": u, "multi": true };
        entry.extend(more);
        doc! { "update": "s", "updates": [entry] }
    };
    let set = |field: &str| Bson::from(doc! { "$set": { field: 5 } });
    let none = Document::new;
    for (command, expected) in [
        (
            update(
                doc! { "v": 1 },
                set("m.z"),
                doc! { "multi": false, "upsert": true },
            ),
            72,
        ),
        (update(doc! { "m.a": 1 }, set("m.z"), doc! { "multi": false }), 72),
        (update(doc! { "m.a": 1 }, set("m.z"), doc! { "upsert": true }), 72),
        (update(doc! { "v": 1 }, set("m.z"), none()), 72),
        (update(doc! { "mm": 1 }, set("m.z"), none()), 72),
        (update(doc! { "m.a": 1, "t": at(0) }, set("m.z"), none()), 72),
        (
            update(doc! { "$or": [{ "m.a": 1 }, { "v": 1 }] }, set("m.z"), none()),
            72,
        ),
        (update(doc! { "$nor": [{ "v": 1 }] }, set("m.z"), none()), 72),
        (
            update(doc! { "$expr": { "$eq": ["$m", 1] } }, set("m.z"), none()),
            72,
        ),
        (
            update(doc! { "$jsonSchema": { "required": ["v"] } }, set("m.z"), none()),
            72,
        ),
        (update(doc! { "m.a": 1 }, set("v"), none()), 72),
        (update(doc! { "m.a": 1 }, set("t"), none()), 72),
        (
            update(
                doc! { "m.a": 1 },
                Bson::from(doc! { "$rename": { "m": "n" } }),
                none(),
            ),
            72,
        ),
        (
            update(
                doc! { "m.a": 1 },
                Bson::from(doc! { "$rename": { "v": "m" } }),
                none(),
            ),
            72,
        ),
        (
            update(
                doc! { "m.a": 1 },
                Bson::from(vec![doc! { "$set": { "m": 5 } }]),
                none(),
            ),
            72,
        ),
        (
            update(doc! { "m.a": 1 }, Bson::from(doc! { "$bad": { "m": 5 } }), none()),
            9,
        ),
        (update(doc! { "m": { "$bad": 1 } }, set("m.z"), none()), 2),
        (
            update(doc! { "m": "x" }, set("m.z"), doc! { "hint": { "m": 1 } }),
            2,
        ),
    ] {
        assert_eq!(code(db, command.clone()).await, Some(expected), "{command}");
    }
    assert_eq!(db.raw_collection("s").count(doc! { "m.z": 5 }).await.unwrap(), 0);
    for (command, matched, modified) in [
        (update(doc! { "m.a": 1 }, set("m.b"), none()), 2, 2),
        (update(doc! { "m.a": 1 }, set("m.b"), none()), 2, 0),
        (
            update(
                doc! { "$or": [{ "m.a": 2 }, { "m": 7 }] },
                Bson::from(doc! { "$inc": { "m.a": 1 } }),
                none(),
            ),
            1,
            1,
        ),
        (
            update(doc! { "m": { "$exists": false } }, set("m.z"), none()),
            1,
            1,
        ),
        (
            update(
                doc! { "$comment": "x", "m.z": 5 },
                Bson::from(doc! { "$unset": { "m": 1 } }),
                none(),
            ),
            1,
            1,
        ),
        (
            update(
                doc! { "$jsonSchema": { "required": ["m"] } },
                Bson::from(doc! { "$set": {} }),
                none(),
            ),
            3,
            0,
        ),
        (
            update(doc! {}, Bson::from(doc! { "$set": { "m.all": true } }), none()),
            4,
            4,
        ),
    ] {
        let reply = db.run_command(command.clone()).await.unwrap();
        let did = (reply.get_i32("n").unwrap(), reply.get_i32("nModified").unwrap());
        assert_eq!(did, (matched, modified), "{command}: {reply}");
    }
    let found = db.raw_collection("s").find(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(
        found,
        [doc! { "t": at(0), "m": { "a": 1, "b": 5, "all": true }, "_id": 1, "v": 1 }]
    );
    let error = db
        .raw_collection("s")
        .find_one_and_update(doc! {}, doc! { "$set": { "m": 1 } })
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(166));
}

async fn only_whole_sources_are_deleted(db: &Db) {
    with_sources(db).await;
    let delete = |q: Document, limit: i32| doc! { "delete": "s", "deletes": [{ "q": q, "limit": limit }] };
    for (command, expected) in [
        (delete(doc! { "m.a": 1 }, 1), 20),
        (delete(doc! { "v": 1 }, 1), 20),
        (delete(doc! { "v": 1 }, 0), 72),
        (delete(doc! { "_id": 1 }, 0), 72),
        (delete(doc! { "t": at(0) }, 0), 72),
        (delete(doc! { "$expr": { "$eq": ["$m.a", 1] } }, 0), 72),
        (delete(doc! { "$and": [{ "m.a": 1 }, { "v": 1 }] }, 0), 72),
    ] {
        assert_eq!(code(db, command.clone()).await, Some(expected), "{command}");
    }
    for (query, deleted) in [
        (doc! { "m": { "b": 1, "a": 1 } }, 0),
        (doc! { "m": { "a": 1, "b": 1 } }, 2),
        (doc! { "m": { "$exists": false } }, 1),
        (doc! {}, 1),
        (doc! {}, 0),
    ] {
        let reply = db.run_command(delete(query.clone(), 0)).await.unwrap();
        assert_eq!(reply.get_i32("n").unwrap(), deleted, "{query}");
    }
    // The source comes back.
    db.raw_collection("s")
        .insert(doc! { "_id": 9, "t": at(0), "m": { "a": 1, "b": 1 } })
        .await
        .unwrap();
    assert_eq!(ids(db, doc! {}).await, [9]);
}

async fn without_sources_only_all_is_deleted(db: &Db) {
    super::time_series::create(db, doc! { "timeField": "t" }).await;
    let s = db.raw_collection("s");
    s.insert_many([doc! { "_id": 1, "t": at(0) }, doc! { "_id": 2, "t": at(90) }])
        .await
        .unwrap();
    let update = doc! { "update": "s", "updates": [{ "q": {}, "u": { "$set": { "m": 1 } }, "multi": true }] };
    assert_eq!(code(db, update).await, Some(72));
    let some = doc! { "delete": "s", "deletes": [{ "q": { "_id": 1 }, "limit": 0 }] };
    assert_eq!(code(db, some).await, Some(72));
    assert_eq!(s.delete_many(doc! {}).await.unwrap().deleted, 2);
}

async fn a_series_may_only_become_coarser(db: &Db) {
    with_sources(db).await;
    let modify = |changes: Document| {
        let mut command = doc! { "collMod": "s" };
        command.extend(changes);
        command
    };
    let to = |granularity: &str| doc! { "timeseries": { "granularity": granularity } };
    for (changes, expected) in [
        (doc! {}, None),
        (doc! { "timeseries": {} }, None),
        (to("seconds"), None),
        (to("hours"), None),
        (to("minutes"), Some(72)),
        (to("Hours"), Some(2)),
        (doc! { "timeseries": { "granularity": 5 } }, Some(14)),
        (doc! { "timeseries": { "timeField": "x" } }, Some(40415)),
        (doc! { "expireAfterSeconds": 1_000_000_000 }, None),
        (doc! { "expireAfterSeconds": "Off" }, Some(72)),
        (doc! { "validator": {} }, Some(72)),
        (doc! { "validationLevel": "off" }, Some(72)),
        (doc! { "viewOn": "c", "pipeline": [] }, Some(72)),
        (doc! { "timeseries": {}, "isTimeseriesNamespace": true }, Some(72)),
        (
            doc! { "changeStreamPreAndPostImages": { "enabled": true } },
            Some(72),
        ),
        (doc! { "cappedSize": 100 }, None),
        (doc! { "index": { "name": "none", "hidden": true } }, Some(27)),
        (doc! { "unknown": true }, Some(40415)),
    ] {
        assert_eq!(code(db, modify(changes.clone())).await, expected, "{changes}");
    }
    let series = doc! {
        "timeField": "t", "metaField": "m", "granularity": "hours", "bucketMaxSpanSeconds": 2_592_000,
    };
    let expected = doc! { "expireAfterSeconds": 1_000_000_000_i64, "timeseries": series.clone() };
    assert_eq!(options_of(db, "s").await.1, expected);
    let buckets = options_of(db, "system.buckets.s").await.1;
    assert_eq!(buckets.get_document("timeseries").unwrap(), &series);
    assert_eq!(buckets.get_i64("expireAfterSeconds").unwrap(), 1_000_000_000);
    db.run_command(modify(doc! { "expireAfterSeconds": "off" }))
        .await
        .unwrap();
    assert_eq!(options_of(db, "s").await.1, doc! { "timeseries": series });
    // Documents of an hour and a day stand together now.
    db.raw_collection("s")
        .insert(doc! { "_id": 5, "t": at(3000) })
        .await
        .unwrap();
    assert_eq!(db.raw_collection("s").count(doc! {}).await.unwrap(), 5);
    for name in ["plain", "w"] {
        let mut create = doc! { "create": name };
        if name == "w" {
            create.insert("viewOn", "plain");
        }
        db.run_command(create).await.unwrap();
        let modify = doc! { "collMod": name, "timeseries": {} };
        assert_eq!(code(db, modify).await, Some(72));
    }
}
