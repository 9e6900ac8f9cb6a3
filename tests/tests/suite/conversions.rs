//! Collections and indexes that become another kind: commands that MongoDB has for it.

use bson::{Document, doc};
use odm::Db;

crate::on_every_backend! {
    a_collection_is_made_capped,
    a_collection_is_copied_into_a_capped_one,
    an_index_is_made_unique_in_two_steps,
    a_pipeline_knows_the_cluster_time,
}

async fn code(db: &Db, command: Document) -> i32 {
    let error = db.run_command(command.clone()).await.expect_err("a refusal");
    error.code().unwrap_or_else(|| panic!("{command}: {error:?}"))
}

async fn ten(db: &Db, name: &str) {
    let long = "a".repeat(100);
    let all = (0..10).map(|id| doc! {"_id": id, "x": &long});
    db.raw_collection(name).insert_many(all).await.unwrap();
    let index = doc! {"key": {"x": 1}, "name": "x_1"};
    db.run_command(doc! {"createIndexes": name, "indexes": [index]})
        .await
        .unwrap();
}

async fn ids(db: &Db, name: &str) -> Vec<i32> {
    let all = db.raw_collection(name).find(doc! {}).await.unwrap();
    all.iter().map(|one| one.get_i32("_id").unwrap()).collect()
}

async fn options(db: &Db, name: &str) -> Document {
    let all = db.list_collections().await.unwrap();
    let own = all.into_iter().find(|own| own.name == name);
    own.expect("the collection is listed").options
}

async fn a_collection_is_made_capped(db: &Db) {
    ten(db, "logs").await;
    db.run_command(doc! {"convertToCapped": "logs", "size": 1000})
        .await
        .unwrap();
    assert_eq!(options(db, "logs").await, doc! {"capped": true, "size": 1024});
    // What has room stays, the newest; of the indexes only that of `_id`.
    assert_eq!(ids(db, "logs").await, [2, 3, 4, 5, 6, 7, 8, 9]);
    let indexes = db.raw_collection("logs").list_indexes().await.unwrap();
    assert_eq!(
        indexes.iter().map(|index| &*index.name).collect::<Vec<_>>(),
        ["_id_"]
    );
    assert_eq!(code(db, doc! {"convertToCapped": "none", "size": 1000}).await, 26);
    assert_eq!(code(db, doc! {"convertToCapped": "logs", "size": -5}).await, 2);
}

async fn a_collection_is_copied_into_a_capped_one(db: &Db) {
    ten(db, "all").await;
    let copy =
        |to: &str, size: f64| doc! {"cloneCollectionAsCapped": "all", "toCollection": to, "size": size};
    db.run_command(copy("newest", 1.0)).await.unwrap();
    assert_eq!(ids(db, "newest").await, [8, 9]);
    assert_eq!(ids(db, "all").await.len(), 10);
    assert_eq!(code(db, copy("newest", 1000.0)).await, 48);
    assert_eq!(code(db, copy("a$b", 1000.0)).await, 73);
    assert_eq!(code(db, copy("other", 9e18)).await, 2);
}

async fn an_index_is_made_unique_in_two_steps(db: &Db) {
    let books = db.raw_collection("books");
    books
        .insert_many([doc! {"_id": 1, "a": 1}, doc! {"_id": 2, "a": 1}])
        .await
        .unwrap();
    let index = doc! {"key": {"a": 1}, "name": "a_1"};
    db.run_command(doc! {"createIndexes": "books", "indexes": [index]})
        .await
        .unwrap();
    let change = |option: &str, to: bool| doc! {"collMod": "books", "index": {"name": "a_1", option: to}};
    assert_eq!(code(db, change("unique", true)).await, 72);
    let reply = db.run_command(change("prepareUnique", true)).await.unwrap();
    assert!(reply.get_bool("prepareUnique_new").unwrap());
    // From now on no key is taken twice; what was there has to be cleared by hand.
    let error = books.insert(doc! {"_id": 3, "a": 1}).await.unwrap_err();
    assert!(error.is_duplicate_key(), "{error:?}");
    assert_eq!(code(db, change("unique", true)).await, 359);
    books.delete_one(doc! {"_id": 2}).await.unwrap();
    let dry = doc! {"collMod": "books", "index": {"name": "a_1", "unique": true}, "dryRun": true};
    db.run_command(dry).await.unwrap();
    let unique = async || {
        let all = books.list_indexes().await.unwrap();
        all.iter().any(|index| index.name == "a_1" && index.unique)
    };
    assert!(!unique().await);
    let reply = db.run_command(change("unique", true)).await.unwrap();
    assert!(reply.get_bool("unique_new").unwrap());
    assert!(unique().await);
    assert_eq!(code(db, change("unique", false)).await, 2);
}

async fn a_pipeline_knows_the_cluster_time(db: &Db) {
    let books = db.raw_collection("books");
    books.insert(doc! {"_id": 1}).await.unwrap();
    books
        .update_one(doc! {"_id": 1}, vec![doc! {"$set": {"at": "$$CLUSTER_TIME"}}])
        .await
        .unwrap();
    let found = books.find_one(doc! {}).required().await.unwrap();
    assert!(found.get_timestamp("at").unwrap().time > 1_700_000_000);
    let later = doc! {"$expr": {"$gte": ["$$CLUSTER_TIME", "$at"]}};
    assert_eq!(books.count(later).await.unwrap(), 1);
}
