//! Clustered collections that are made capped, and what the commands about storage say.

use bson::{Document, doc};
use odm::Db;

use super::collections_kinds::options_of;
use super::time_series::code;

crate::on_every_backend! {
    a_clustered_collection_becomes_capped,
    a_collection_is_compacted,
    settings_of_the_servers_storage_are_known_or_not,
    views_are_kept_in_a_collection_with_an_index,
}

async fn a_clustered_collection_becomes_capped(db: &Db) {
    let create = doc! { "create": "c", "clusteredIndex": { "key": { "_id": 1 }, "unique": true } };
    db.run_command(create).await.unwrap();
    let c = db.raw_collection("c");
    c.insert_many([doc! { "_id": 2 }, doc! { "_id": 1 }])
        .await
        .unwrap();
    db.run_command(doc! { "convertToCapped": "c", "size": 4096 })
        .await
        .unwrap();
    let (_, options) = options_of(db, "c").await;
    let index = doc! { "v": 2, "key": { "_id": 1 }, "name": "_id_", "unique": true };
    assert_eq!(
        options,
        doc! { "capped": true, "size": 4096, "clusteredIndex": index }
    );
    assert!(c.insert(doc! { "_id": 1 }).await.unwrap_err().is_duplicate_key());
    c.insert(doc! { "_id": 0 }).await.unwrap();
    assert_eq!(
        c.find(doc! {}).await.unwrap(),
        [doc! { "_id": 0 }, doc! { "_id": 1 }, doc! { "_id": 2 }]
    );
}

async fn a_collection_is_compacted(db: &Db) {
    db.raw_collection("c").insert(doc! { "_id": 1 }).await.unwrap();
    db.run_command(doc! { "create": "w", "viewOn": "c" })
        .await
        .unwrap();
    let compact = |name: &str| doc! { "compact": name, "force": true };
    let reply = db.run_command(compact("c")).await.unwrap();
    assert_eq!(reply.get_i32("bytesFreed").unwrap(), 0);
    assert_eq!(code(db, compact("none")).await, Some(26));
    assert_eq!(code(db, compact("w")).await, Some(166));
    assert_eq!(code(db, doc! { "compact": 5 }).await, Some(73));
    // Whoever serves others does not stop for this.
    assert!(db.run_command(doc! { "compact": "c" }).await.is_err());
}

async fn settings_of_the_servers_storage_are_known_or_not(db: &Db) {
    let create = |settings: &str| -> Document {
        doc! { "create": "c", "storageEngine": { "wiredTiger": { "configString": settings } } }
    };
    for (settings, expected) in [
        ("", None),
        ("invalid=bad", Some(2)),
        ("block_compressor=zlib,invalid=1", Some(2)),
        ("a", Some(2)),
        ("block_compressor=zlib", None),
        ("app_metadata=(a=1,b=2)", None),
        (" \"block_compressor\" = zlib ", None),
    ] {
        assert_eq!(code(db, create(settings)).await, expected, "{settings}");
        db.drop_collection("c").await.unwrap();
    }
}

async fn views_are_kept_in_a_collection_with_an_index(db: &Db) {
    let list = || doc! { "listIndexes": "system.views" };
    assert_eq!(code(db, list()).await, Some(26));
    db.run_command(doc! { "create": "w", "viewOn": "c" })
        .await
        .unwrap();
    let reply = db.run_command(list()).await.unwrap();
    let found = reply
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    assert_eq!(
        found[0].as_document().unwrap(),
        &doc! { "v": 2, "key": { "_id": 1 }, "name": "_id_" }
    );
}
