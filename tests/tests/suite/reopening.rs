//! Opening a directory again as soon as its last handle has gone, and after the process was killed.

use std::time::Duration;

use odm::bson::{DateTime, doc};
use odm::{Db, Durability};

crate::on_every_backend! {
    a_directory_is_free_when_its_last_handle_has_gone,
    the_last_handle_waits_for_no_transaction,
    what_an_interval_does_not_sync_survives_the_process,
}

/// Documents expire while the last handle goes.
async fn a_directory_is_free_when_its_last_handle_has_gone(db: &Db) {
    if db.backend_name() != "native" {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let url = format!("native:{}", directory.path().join("db").display());
    for round in 0..40 {
        let options = Db::options()
            .durability(Durability::None)
            .expiry_interval(Duration::from_millis(1));
        let db = options
            .open(&url)
            .await
            .unwrap_or_else(|error| panic!("round {round}: {error}"));
        if round == 0 {
            let index = doc! { "key": { "at": 1 }, "name": "at", "expireAfterSeconds": 0 };
            db.run_command(doc! { "createIndexes": "c", "indexes": [index] })
                .await
                .unwrap();
        }
        let documents = (0..2_000).map(|n| doc! { "_id": n + round * 2_000, "at": DateTime::from_millis(0) });
        db.raw_collection("c").insert_many(documents).await.unwrap();
        tokio::time::sleep(Duration::from_millis(round as u64 % 4)).await;
        drop(db);
    }
}

/// A transaction keeps the directory open, and not whoever drops the last handle beside it.
async fn the_last_handle_waits_for_no_transaction(db: &Db) {
    if db.backend_name() != "native" {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let url = format!("native:{}", directory.path().join("db").display());
    let options = Db::options().expiry_interval(Duration::from_millis(1));
    let db = options.open(&url).await.unwrap();
    let index = doc! { "key": { "at": 1 }, "name": "at", "expireAfterSeconds": 0 };
    db.run_command(doc! { "createIndexes": "c", "indexes": [index] })
        .await
        .unwrap();
    let soon = DateTime::from_millis(DateTime::now().timestamp_millis() + 300);
    let items = db.raw_collection("c");
    items.insert(doc! { "_id": 1, "at": soon }).await.unwrap();
    let tx = db.begin().await.unwrap();
    let touch = tx
        .raw_collection("c")
        .update_one(doc! { "_id": 1 }, doc! { "$set": { "a": 1 } });
    touch.await.unwrap();
    tokio::time::sleep(Duration::from_millis(600)).await;
    drop((items, db));
    tx.abort().await;
    drop(tx);
    Db::open(&url).await.unwrap();
}

/// What a killed process leaves is what is in the files: those of an open database are copied.
async fn what_an_interval_does_not_sync_survives_the_process(db: &Db) {
    if db.backend_name() != "native" {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let hour = Durability::Interval(Duration::from_secs(3600));
    let survivors = async |name: &str| {
        let copy = directory.path().join(name);
        std::fs::create_dir(&copy).unwrap();
        for file in ["odm.db", "odm.log"] {
            std::fs::copy(path.join(file), copy.join(file)).unwrap();
        }
        let db = Db::open(&format!("native:{}", copy.display())).await.unwrap();
        db.raw_collection("c").count(doc! {}).await.unwrap()
    };
    for round in 0..3_u64 {
        let url = format!("native:{}", path.display());
        let db = Db::options().durability(hour).open(&url).await.unwrap();
        let items = db.raw_collection("c");
        items.insert(doc! { "round": round as i64 }).await.unwrap();
        assert_eq!(survivors(&format!("first of {round}")).await, round * 1_001 + 1);
        // More than there is room for at first.
        for _ in 0..1_000 {
            items.insert(doc! { "text": "x".repeat(1_000) }).await.unwrap();
        }
        assert_eq!(survivors(&format!("last of {round}")).await, (round + 1) * 1_001);
    }
}
