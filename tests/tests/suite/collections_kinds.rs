//! Capped collections, validators, renames, changes and figures.

use std::time::Duration;

use bson::{Bson, Document, doc};
use odm::{Collection, Db};

use odm_tests::raw::RawCollection;

crate::on_every_backend! {
    wrong_options_are_the_servers_errors,
    a_capped_collection_keeps_the_newest,
    a_tailable_cursor_waits_for_more,
    a_tailable_cursor_sees_a_first_document_that_comes_while_it_is_opened,
    a_validator_refuses_what_does_not_match,
    a_collection_is_renamed,
    a_collection_is_modified,
    figures_count_documents_and_bytes,
    commands_give_the_figures_too,
}

pub async fn all_ids(collection: &Collection<Document>) -> Vec<i32> {
    let found = collection.find_all().await.unwrap();
    found.iter().map(|row| row.get_i32("_id").unwrap()).collect()
}

pub async fn options_of(db: &Db, name: &str) -> (String, Document) {
    let listed = db.list_collections().await.unwrap();
    let info = listed.into_iter().find(|info| info.name == name).unwrap();
    (info.kind, info.options)
}

async fn create_code(db: &Db, options: Document) -> Option<i32> {
    let mut create = db.create_collection("x");
    for (name, value) in options {
        create = create.option(name, value);
    }
    let code = create.await.err().and_then(|error| error.code());
    db.drop_collection("x").await.unwrap();
    code
}

async fn wrong_options_are_the_servers_errors(db: &Db) {
    for (options, code) in [
        (doc! { "capped": true }, Some(72)),
        (doc! { "size": 100 }, Some(72)),
        (doc! { "max": 5 }, Some(72)),
        (doc! { "capped": true, "size": 0 }, Some(51024)),
        (
            doc! { "capped": true, "size": 5000, "max": 1_i64 << 31 },
            Some(51024),
        ),
        (doc! { "capped": "x", "size": 1 }, Some(14)),
        (doc! { "capped": false }, None),
        (doc! { "validator": { "a": { "$zz": 1 } } }, Some(2)),
        (doc! { "validator": 5 }, Some(14)),
        (doc! { "validator": {} }, None),
        (doc! { "validator": { "$text": { "$search": "a" } } }, Some(2)),
        (doc! { "validationLevel": "zz" }, Some(2)),
        (doc! { "validationAction": "zz" }, Some(2)),
        (doc! { "pipeline": [] }, Some(72)),
        (doc! { "viewOn": "", "pipeline": [] }, Some(2)),
        (doc! { "viewOn": "y", "pipeline": [{ "$out": "z" }] }, Some(167)),
        (doc! { "viewOn": "y", "pipeline": [{ "$zz": "z" }] }, Some(40324)),
        (doc! { "viewOn": "y", "pipeline": [5] }, Some(14)),
        (doc! { "viewOn": "x", "pipeline": [] }, Some(5)),
        (doc! { "zz": 1 }, Some(40415)),
        (doc! { "expireAfterSeconds": 5 }, Some(72)),
    ] {
        assert_eq!(create_code(db, options.clone()).await, code, "{options}");
    }
}

async fn a_capped_collection_keeps_the_newest(db: &Db) {
    db.create_collection("ring").capped(900).await.unwrap();
    let (_, options) = options_of(db, "ring").await;
    assert_eq!(options, doc! { "capped": true, "size": 1024 });
    let ring = db.raw_collection("ring");
    for id in 0..20 {
        ring.insert(doc! { "_id": id, "s": "x".repeat(100) })
            .await
            .unwrap();
    }
    assert_eq!(all_ids(&ring).await, [12, 13, 14, 15, 16, 17, 18, 19]);
    // Growing is allowed; room is made at the next insert.
    ring.update_one(doc! { "_id": 19 }, doc! { "$set": { "s": "x".repeat(500) } })
        .await
        .unwrap();
    assert_eq!(all_ids(&ring).await.len(), 8);
    ring.insert(doc! { "_id": 20 }).await.unwrap();
    assert_eq!(all_ids(&ring).await, [15, 16, 17, 18, 19, 20]);
    ring.delete(Bson::from(17)).await.unwrap();
    assert_eq!(all_ids(&ring).await, [15, 16, 18, 19, 20]);
    // One that is larger than the bound is alone.
    ring.insert(doc! { "_id": 21, "s": "x".repeat(3000) })
        .await
        .unwrap();
    assert_eq!(all_ids(&ring).await, [21]);
    let newest_first = ring.find_all().sort_raw(doc! { "$natural": -1 }).await.unwrap();
    assert_eq!(newest_first.len(), 1);

    db.create_collection("few")
        .capped(1 << 20)
        .max_documents(3)
        .await
        .unwrap();
    let few = db.raw_collection("few");
    few.insert_many((0..10).map(|id| doc! { "_id": id }))
        .await
        .unwrap();
    assert_eq!(all_ids(&few).await, [7, 8, 9]);
    // Those that made room are gone from the indexes too.
    few.insert(doc! { "_id": 0 }).await.unwrap();
    assert_eq!(all_ids(&few).await, [8, 9, 0]);
    few.modify().max_documents(2).await.unwrap();
    few.insert(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(all_ids(&few).await, [0, 1]);
    let figures = few.stats().await.unwrap();
    assert_eq!((figures.documents, figures.capped_max), (2, Some(2)));

    let tx = db.begin().await.unwrap();
    let error = tx
        .raw_collection("few")
        .insert(doc! { "_id": 5 })
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(263));
    drop(tx);
    let tx = db.begin().await.unwrap();
    let error = tx.raw_collection("few").delete(Bson::from(1)).await.unwrap_err();
    assert_eq!(error.code(), Some(20));
    drop(tx);
    if let Ok(report) = db.check().await {
        assert!(report.is_clean(), "{:?}", report.problems);
    }
}

async fn a_tailable_cursor_waits_for_more(db: &Db) {
    db.create_collection("log").capped(1 << 16).await.unwrap();
    let log = db.raw_collection("log");
    log.insert_many((0..3).map(|id| doc! { "_id": id }))
        .await
        .unwrap();
    let mut entries = log.find_all().tail();
    for id in 0..3 {
        let entry = entries.next().await.unwrap().unwrap();
        assert_eq!(entry.get_i32("_id").unwrap(), id);
    }
    let writer = log.clone();
    let writing = tokio::spawn(async move {
        for id in 3..6 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            writer.insert(doc! { "_id": id }).await.unwrap();
        }
    });
    for id in 3..6 {
        let entry = tokio::time::timeout(Duration::from_secs(20), entries.next())
            .await
            .unwrap();
        assert_eq!(entry.unwrap().unwrap().get_i32("_id").unwrap(), id);
    }
    writing.await.unwrap();
    db.raw_collection("plain")
        .insert(doc! { "_id": 1 })
        .await
        .unwrap();
    let refused = db.raw_collection("plain").find_all().tail().next().await.unwrap();
    assert_eq!(refused.unwrap_err().code(), Some(2));
}

/// MongoDB looks whether the collection is empty after it has read it: a cursor that was opened in between never goes on.
async fn a_tailable_cursor_sees_a_first_document_that_comes_while_it_is_opened(db: &Db) {
    for round in 0..150 {
        let name = format!("log_{round}");
        db.create_collection(&name).capped(1 << 16).await.unwrap();
        let log = db.raw_collection(&name);
        let writer = log.clone();
        let writing = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_micros(100 * (round % 8))).await;
            writer.insert(doc! { "_id": round as i64 }).await.unwrap();
        });
        let first = tokio::time::timeout(Duration::from_secs(60), async {
            loop {
                // It ends where there is nothing yet.
                if let Some(entry) = log.find_all().tail().next().await {
                    break entry.unwrap();
                }
            }
        });
        assert_eq!(first.await.unwrap(), doc! { "_id": round as i64 });
        writing.await.unwrap();
    }
}

async fn a_validator_refuses_what_does_not_match(db: &Db) {
    let books = db.raw_collection("books");
    books.insert(doc! { "_id": 0, "pages": "old" }).await.unwrap();
    books
        .modify()
        .validator(doc! { "pages": { "$gt": 5 } })
        .await
        .unwrap();
    let error = books.insert(doc! { "_id": 1, "pages": 1 }).await.unwrap_err();
    assert_eq!(error.code(), Some(121));
    assert_eq!(error.kind(), odm::ErrorKind::Validation);
    assert_eq!(error.message(), "Document failed validation");
    assert_eq!(
        error.details(),
        Some(&doc! {
            "failingDocumentId": 1,
            "details": {
                "operatorName": "$gt",
                "specifiedAs": { "pages": { "$gt": 5 } },
                "reason": "comparison failed",
                "consideredValue": 1,
            },
        })
    );
    books.insert(doc! { "_id": 10, "pages": 9 }).await.unwrap();
    let refused = [
        books
            .update_one(doc! { "_id": 10 }, doc! { "$set": { "pages": 1 } })
            .await,
        books
            .update_one(doc! { "_id": 0 }, doc! { "$set": { "b": 1 } })
            .await,
        books.replace(doc! { "_id": 10, "pages": 1 }).await,
        books.save(doc! { "_id": 50, "pages": 1 }).await,
    ];
    for refused in refused {
        assert_eq!(refused.unwrap_err().code(), Some(121));
    }
    let error = books
        .find_one_and_update(doc! { "_id": 10 }, doc! { "$set": { "pages": 1 } })
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(121));
    // What changes nothing is not looked at.
    books
        .update_one(doc! { "_id": 0 }, doc! { "$set": { "pages": "old" } })
        .await
        .unwrap();
    books.modify().validation_level("moderate").await.unwrap();
    books
        .update_one(doc! { "_id": 0 }, doc! { "$set": { "b": 1 } })
        .await
        .unwrap();
    let error = books
        .update_one(doc! { "_id": 10 }, doc! { "$set": { "pages": 1 } })
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(121));
    books.modify().validation_action("warn").await.unwrap();
    books.insert(doc! { "_id": 2, "pages": 1 }).await.unwrap();
    books
        .modify()
        .validation_action("error")
        .validator(doc! {})
        .await
        .unwrap();
    books.insert(doc! { "_id": 3 }).await.unwrap();
    assert_eq!(books.estimated_count().await.unwrap(), 4);

    db.create_collection("typed")
        .validator(doc! { "$jsonSchema": { "required": ["title"], "properties": { "title": { "bsonType": "string" } } } })
        .await
        .unwrap();
    let typed = db.raw_collection("typed");
    typed.insert(doc! { "_id": 1, "title": "Emma" }).await.unwrap();
    for wrong in [doc! { "_id": 2 }, doc! { "_id": 2, "title": 1 }] {
        assert_eq!(typed.insert(wrong).await.unwrap_err().code(), Some(121));
    }
}

async fn a_collection_is_renamed(db: &Db) {
    let (old, new) = (db.raw_collection("old"), db.raw_collection("new"));
    old.insert(doc! { "_id": 1, "a": 1 }).await.unwrap();
    RawCollection::new(db, "old")
        .create_index(&doc! { "key": { "a": 1 }, "name": "a_1", "unique": true })
        .await
        .unwrap();
    old.rename("new").await.unwrap();
    assert_eq!(old.estimated_count().await.unwrap(), 0);
    assert_eq!(all_ids(&new).await, [1]);
    assert!(
        new.insert(doc! { "_id": 2, "a": 1 })
            .await
            .unwrap_err()
            .is_duplicate_key()
    );
    assert_eq!(old.rename("x").await.unwrap_err().code(), Some(26));
    assert_eq!(new.rename("new").await.unwrap_err().code(), Some(20));
    assert_eq!(new.rename("a$b").await.unwrap_err().code(), Some(20));
    old.insert(doc! { "_id": 7 }).await.unwrap();
    assert_eq!(old.rename("new").await.unwrap_err().code(), Some(48));
    old.rename("new").drop_target().await.unwrap();
    assert_eq!(all_ids(&new).await, [7]);
    assert_eq!(new.list_indexes().await.unwrap().len(), 1);
}

async fn a_collection_is_modified(db: &Db) {
    let items = db.raw_collection("items");
    items.insert(doc! { "_id": 1, "d": 1, "e": 1 }).await.unwrap();
    let raw = RawCollection::new(db, "items");
    for spec in [
        doc! { "key": { "d": 1 }, "name": "d_1", "expireAfterSeconds": 10 },
        doc! { "key": { "e": 1 }, "name": "e_1" },
    ] {
        raw.create_index(&spec).await.unwrap();
    }
    items.modify().expire_after_seconds("d_1", 30).await.unwrap();
    items
        .modify()
        .expire_after_seconds(doc! { "e": 1 }, 20)
        .await
        .unwrap();
    items.modify().hidden("e_1", true).await.unwrap();
    let indexes = items.list_indexes().await.unwrap();
    let shown = format!("{indexes:?}");
    assert!(shown.contains("30") && shown.contains("20"), "{shown}");
    // A hidden index is maintained, and no hint finds it.
    let hinted = items.find(doc! { "e": 1 }).hint("e_1").await;
    assert_eq!(hinted.unwrap_err().code(), Some(2));
    items.modify().hidden("e_1", false).await.unwrap();
    assert_eq!(items.find(doc! { "e": 1 }).hint("e_1").await.unwrap().len(), 1);
    for (wrong, code) in [
        (items.modify().hidden("nosuch", true), 27),
        (items.modify().hidden("_id_", true), 2),
        (items.modify().expire_after_seconds("_id_", 3), 72),
        (items.modify().change("index", doc! { "name": "d_1" }), 72),
        (items.modify().change("index", doc! { "hidden": true }), 72),
        (
            items
                .modify()
                .change("index", doc! { "name": "d_1", "expireAfterSeconds": -1 }),
            72,
        ),
        (items.modify().validator(doc! { "a": { "$zz": 1 } }), 2),
        (items.modify().validation_level("x"), 2),
        (items.modify().capped(100), 72),
        (items.modify().change("zz", 1), 40415),
        (db.raw_collection("nosuch").modify().validator(doc! {}), 26),
    ] {
        assert_eq!(wrong.await.unwrap_err().code(), Some(code));
    }
    items.modify().await.unwrap();
}

async fn figures_count_documents_and_bytes(db: &Db) {
    let items = db.raw_collection("items");
    assert_eq!(items.stats().await.unwrap().documents, 0);
    let documents: Vec<Document> = (0..50).map(|n| doc! { "_id": n, "s": "x".repeat(20) }).collect();
    items.insert_many(&documents).await.unwrap();
    RawCollection::new(db, "items")
        .create_index(&doc! { "key": { "s": 1 }, "name": "s_1" })
        .await
        .unwrap();
    let figures = items.stats().await.unwrap();
    let bytes: usize = documents
        .iter()
        .map(|doc| bson::serialize_to_vec(doc).unwrap().len())
        .sum();
    assert_eq!(figures.documents, 50);
    assert_eq!(figures.size, bytes as u64);
    assert_eq!(figures.average_size(), bytes as u64 / 50);
    assert!(figures.storage_size > 0 && figures.index_size > 0);
    let mut names: Vec<&str> = figures.indexes.iter().map(|index| index.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["_id_", "s_1"]);
    assert_eq!(figures.capped_size, None);
    db.raw_collection("other")
        .insert(doc! { "_id": 1 })
        .await
        .unwrap();
    let all = db.stats().await.unwrap();
    assert_eq!((all.collections, all.views, all.documents), (2, 0, 51));
}

async fn commands_give_the_figures_too(db: &Db) {
    for command in [
        doc! { "create": "log", "capped": true, "size": 5120, "max": 7 },
        doc! { "create": "view", "viewOn": "log", "pipeline": [] },
        doc! { "insert": "log", "documents": [{ "_id": 1, "a": 5 }] },
    ] {
        db.run_command(command).await.unwrap();
    }
    let figures = db.run_command(doc! { "collStats": "log" }).await.unwrap();
    let number = |name: &str| figures.get_i32(name).unwrap();
    assert!(figures.get_bool("capped").unwrap());
    assert_eq!((number("max"), number("maxSize")), (7, 5120));
    assert_eq!(
        (number("count"), number("size"), number("avgObjSize")),
        (1, 21, 21)
    );
    for name in ["collStats", "validate"] {
        let error = db.run_command(doc! { name: "view" }).await.unwrap_err();
        assert_eq!(error.code(), Some(166), "{error}");
    }
    let all = db
        .run_command(doc! { "dbStats": 1, "scale": 1024 })
        .await
        .unwrap();
    assert_eq!(all.get_i32("views").unwrap(), 1);
    let size = all.get_f64("dataSize").unwrap();
    assert!(0.0 < size && size < 1.0, "sizes are not rounded");
    assert!(!all.contains_key("freeStorageSize"));
    let free = doc! { "dbStats": 1, "freeStorage": 1 };
    let all = db.run_command(free).await.unwrap();
    for name in ["freeStorageSize", "indexFreeStorageSize", "totalFreeStorageSize"] {
        assert!(all.get_f64(name).unwrap() >= 0.0);
    }
}
