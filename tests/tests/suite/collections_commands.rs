//! Commands about collections: names of the server, write concerns, UUIDs, listings and views.

use bson::{Bson, Document, doc};
use futures_util::future::{join, join_all};
use odm::Db;
use odm_tests::command::run;

use super::collections_kinds::options_of;

crate::on_every_backend! {
    names_of_the_server_are_left_to_it,
    a_concern_that_cannot_be_satisfied_is_said_beside_the_reply,
    a_collection_is_told_by_its_uuid,
    names_are_listed_by_what_a_listing_of_names_has,
    a_view_has_no_projections_of_find_alone,
    options_the_engine_lacks_are_checked_before_they_are_refused,
    the_cursor_of_a_command_goes_on_beside_other_commands,
}

async fn code(db: &Db, command: Document) -> Option<i32> {
    db.run_command(command).await.err().and_then(|error| error.code())
}

async fn names_of_the_server_are_left_to_it(db: &Db) {
    let name = |collection: &str| format!("{}.{collection}", db.name());
    let admin = db.database("admin").unwrap();
    db.raw_collection("x").insert(doc! { "_id": 1 }).await.unwrap();
    for collection in ["system.other", "system.indexes"] {
        for command in [
            doc! { "create": collection },
            doc! { "insert": collection, "documents": [{ "a": 1 }] },
            doc! { "update": collection, "updates": [{ "q": {}, "u": { "$set": { "a": 1 } } }] },
            doc! { "delete": collection, "deletes": [{ "q": {}, "limit": 0 }] },
            doc! { "createIndexes": collection, "indexes": [{ "key": { "a": 1 }, "name": "a_1" }] },
        ] {
            assert_eq!(code(db, command.clone()).await, Some(73), "{command}");
        }
        assert_eq!(code(db, doc! { "find": collection }).await, None);
    }
    assert_eq!(
        code(db, doc! { "insert": "system.profile", "documents": [{}] }).await,
        Some(73)
    );
    assert_eq!(
        code(db, doc! { "insert": "system.js", "documents": [{}] }).await,
        None
    );
    for (from, to, expected) in [
        (name("x"), name("system.other"), 20),
        (name("system.views"), name("y"), 20),
        (name("x"), name("system.profile"), 20),
        (name("x"), name("a$b"), 20),
        (name("a$b"), name("y"), 20),
        (name("x"), "a$b.c".to_owned(), 20),
        (name("x"), ".c".to_owned(), 73),
        (name("x"), "nothing".to_owned(), 73),
        ("nothing".to_owned(), name("y"), 73),
    ] {
        let rename = doc! { "renameCollection": &from, "to": &to };
        assert_eq!(code(&admin, rename).await, Some(expected), "{from} to {to}");
    }
}

async fn a_concern_that_cannot_be_satisfied_is_said_beside_the_reply(db: &Db) {
    for (w, expected) in [
        (Bson::from(1), None),
        ("majority".into(), None),
        (50.into(), Some(100)),
        ("west".into(), Some(79)),
        (Bson::Null, Some(79)),
        (doc! { "dc": 2 }.into(), Some(4)),
    ] {
        let concern = doc! { "w": w };
        let insert = doc! {
            "insert": "c", "documents": [{ "a": 1 }], "writeConcern": concern.clone(),
        };
        let reply = db.run_command(insert).await.unwrap();
        assert_eq!(reply.get_i32("n").unwrap(), 1, "{concern}");
        let error = reply.get_document("writeConcernError").ok();
        assert_eq!(
            error.and_then(|error| error.get_i32("code").ok()),
            expected,
            "{concern}"
        );
    }
    // What was done is done.
    assert_eq!(db.raw_collection("c").count(doc! {}).await.unwrap(), 6);
    let find = doc! { "find": "c", "writeConcern": { "w": 1 } };
    assert_eq!(code(db, find).await, Some(72));
}

async fn a_collection_is_told_by_its_uuid(db: &Db) {
    let uuid = async |name: &str| {
        let list = doc! { "listCollections": 1, "filter": { "name": name } };
        let reply = db.run_command(list).await.unwrap();
        let batch = reply
            .get_document("cursor")
            .unwrap()
            .get_array("firstBatch")
            .unwrap();
        let entry = batch[0].as_document().unwrap();
        entry.get_document("info").unwrap().get("uuid").cloned().unwrap()
    };
    let admin = db.database("admin").unwrap();
    let name = |collection: &str| format!("{}.{collection}", db.name());
    for collection in ["a", "b"] {
        db.raw_collection(collection)
            .insert(doc! { "_id": collection })
            .await
            .unwrap();
    }
    let (a, b) = (uuid("a").await, uuid("b").await);
    let rename = |target: &Bson, own: &Bson| {
        doc! {
            "renameCollection": name("a"), "to": name("b"), "dropTarget": target.clone(),
            "collectionUUID": own.clone(),
        }
    };
    assert_eq!(code(&admin, rename(&a, &a)).await, Some(361));
    assert_eq!(code(&admin, rename(&b, &b)).await, Some(361));
    assert_eq!(
        code(db, doc! { "drop": "a", "collectionUUID": b.clone() }).await,
        Some(361)
    );
    let aggregate = |own: &Bson| {
        doc! { "aggregate": "a", "pipeline": [], "cursor": {}, "collectionUUID": own.clone() }
    };
    assert_eq!(code(db, aggregate(&b)).await, Some(361));
    assert_eq!(code(db, aggregate(&a)).await, None);
    assert_eq!(code(&admin, rename(&b, &a)).await, None);
    let left = db.raw_collection("b").find_all().await.unwrap();
    assert_eq!(left, [doc! { "_id": "a" }]);
}

async fn names_are_listed_by_what_a_listing_of_names_has(db: &Db) {
    db.create_collection("c").await.unwrap();
    let list = |filter: Document| doc! { "listCollections": 1, "nameOnly": true, "filter": filter };
    let missing = doc! { "$expr": { "$eq": [{ "$type": "$options" }, "missing"] } };
    for (filter, expected) in [
        (missing, 1),
        (doc! { "options": { "$exists": true } }, 0),
        (doc! { "type": "collection" }, 1),
    ] {
        let reply = db.run_command(list(filter.clone())).await.unwrap();
        let batch = reply
            .get_document("cursor")
            .unwrap()
            .get_array("firstBatch")
            .unwrap();
        assert_eq!(batch.len(), expected, "{filter}");
    }
}

async fn a_view_has_no_projections_of_find_alone(db: &Db) {
    let c = db.raw_collection("c");
    c.insert(doc! { "_id": 1, "a": [1, 2, 3], "b": [{ "x": 1 }] })
        .await
        .unwrap();
    db.run_command(doc! { "create": "v", "viewOn": "c", "pipeline": [] })
        .await
        .unwrap();
    for (projection, expected) in [
        (doc! { "a": { "$slice": 2 } }, 28667),
        (doc! { "a": { "$slice": [1, 2] } }, 28724),
        (doc! { "b": { "$elemMatch": { "x": 1 } } }, 168),
        (doc! { "a.$": 1 }, 31324),
    ] {
        let find = |collection: &str| {
            doc! { "find": collection, "filter": { "a": 2 }, "projection": projection.clone() }
        };
        assert_eq!(code(db, find("c")).await, None, "{projection}");
        assert_eq!(code(db, find("v")).await, Some(expected), "{projection}");
    }
    let plain = doc! { "find": "v", "projection": { "first": { "$slice": ["$a", 1] } } };
    assert_eq!(code(db, plain).await, None);
    let pipeline = |stage: Document| doc! { "create": "w", "viewOn": "c", "pipeline": [stage] };
    for (stage, expected) in [
        (doc! { "$changeStream": {} }, 167),
        (doc! { "$currentOp": {} }, 73),
        (doc! { "$listSessions": {} }, 73),
        (doc! { "$documents": [] }, 73),
    ] {
        assert_eq!(code(db, pipeline(stage.clone())).await, Some(expected), "{stage}");
    }
}

async fn options_the_engine_lacks_are_checked_before_they_are_refused(db: &Db) {
    let series = |options: Document| doc! { "create": "c", "timeseries": options };
    for (command, expected) in [
        (series(doc! {}), 40414),
        (series(doc! { "timeField": 1 }), 14),
        (series(doc! { "timeField": "a.b" }), 72),
        (series(doc! { "timeField": "t", "metaField": "t" }), 72),
        (series(doc! { "timeField": "t", "metaField": "_id" }), 72),
        (series(doc! { "timeField": "t", "granularity": "days" }), 2),
        (
            series(doc! { "timeField": "t", "bucketMaxSpanSeconds": 5 }),
            5_510_500,
        ),
        (series(doc! { "timeField": "t", "more": 5 }), 40415),
        (doc! { "create": "c", "storageEngine": { "other": {} } }, 72),
        (doc! { "create": "c", "storageEngine": { "wiredTiger": 5 } }, 2),
        (doc! { "create": "c", "encryptedFields": {} }, 40414),
        (
            doc! { "create": "c", "encryptedFields": { "fields": [] }, "viewOn": "b" },
            6_346_401,
        ),
    ] {
        assert_eq!(code(db, command.clone()).await, Some(expected), "{command}");
    }
    let engine = doc! { "create": "c", "storageEngine": { "wiredTiger": { "configString": "" } } };
    db.run_command(engine).await.unwrap();
    assert!(options_of(db, "c").await.1.contains_key("storageEngine"));
}

/// A server takes a `getMore` only from the session that the cursor was opened in.
async fn the_cursor_of_a_command_goes_on_beside_other_commands(db: &Db) {
    let documents: Vec<Document> = (0..40).map(|id| doc! { "_id": id }).collect();
    run(db, doc! { "insert": "c", "documents": documents }).await;
    let find = doc! { "find": "c", "batchSize": 2 };
    let aggregate = doc! { "aggregate": "c", "pipeline": [], "cursor": { "batchSize": 2 } };
    for open in [find, aggregate.clone()] {
        let mut reply = run(db, open).await;
        let mut count = 2;
        loop {
            let id = reply.get_document("cursor").unwrap().get_i64("id").unwrap();
            if id == 0 {
                break;
            }
            // They take sessions of their own meanwhile.
            let others = join_all((0..8).map(|_| run(db, doc! { "find": "c", "limit": 1 })));
            let more = run(db, doc! { "getMore": id, "collection": "c", "batchSize": 5 });
            reply = join(others, more).await.1;
            let batch = reply.get_document("cursor").unwrap().get_array("nextBatch");
            count += batch.unwrap().len();
        }
        assert_eq!(count, 40);
    }
    let reply = run(db, aggregate).await;
    let id = reply.get_document("cursor").unwrap().get_i64("id").unwrap();
    let killed = run(db, doc! { "killCursors": "c", "cursors": [id] }).await;
    assert_eq!(killed.get_array("cursorsKilled").unwrap(), &[Bson::Int64(id)]);
    let more = doc! { "getMore": id, "collection": "c" };
    assert_eq!(code(db, more).await, Some(43));
}
