//! Opening what is not there, and with options.

use std::time::Duration;

use bson::{DateTime, doc};
use odm::{Db, ErrorKind};

#[tokio::test]
async fn a_directory_without_a_database_is_not_found_when_none_may_be_made() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let url = format!("native:{}?create=false", directory.path().display());
    let error = Db::open(&url).await.expect_err("there is no database");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains(&directory.path().display().to_string()));
    drop(
        Db::open(&url.replace("?create=false", ""))
            .await
            .expect("a new database"),
    );
    Db::open(&url).await.expect("the database is there now");
}

/// A transaction that was forgotten is aborted when its time is over, and what it held is free again.
#[tokio::test]
async fn a_transaction_lives_as_long_as_it_was_said() {
    let limit = Duration::from_millis(20);
    let db = Db::options()
        .transaction_lifetime(limit)
        .open("memory:")
        .await
        .unwrap();
    let books = db.raw_collection("books");
    books.insert(doc! {"_id": 1, "available": 1}).await.unwrap();

    let tx = db.begin().await.unwrap();
    let inside = tx.raw_collection("books");
    inside
        .update_one(doc! {"_id": 1}, doc! {"$set": {"available": 5}})
        .await
        .unwrap();
    // Waits for the transaction, which nobody ends.
    let update = books.update_one(doc! {"_id": 1}, doc! {"$inc": {"available": 1}});
    assert_eq!(update.await.unwrap().modified, 1);
    for error in [
        inside.find(doc! {}).await.unwrap_err(),
        tx.commit().await.unwrap_err(),
    ] {
        assert_eq!(error.code(), Some(251), "{error:?}");
        assert!(error.has_label("TransientTransactionError"));
    }
    assert_eq!(
        books.find(doc! {}).await.unwrap(),
        [doc! {"_id": 1, "available": 2}]
    );
}

/// A collection in the order of `_id` is the same when its files are read again.
#[tokio::test]
async fn a_clustered_collection_is_read_again() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let url = format!("native:{}", directory.path().join("db").display());
    let spec = doc! {"key": {"_id": 1}, "unique": true, "name": ""};
    for round in 0..2 {
        let db = Db::open(&url).await.unwrap();
        if round == 0 {
            let create = doc! {"create": "c", "clusteredIndex": spec.clone(), "expireAfterSeconds": 1_000};
            db.run_command(create).await.unwrap();
        }
        let c = db.raw_collection("c");
        c.insert(doc! {"_id": 9 - round}).await.unwrap();
        assert!(c.insert(doc! {"_id": 9}).await.unwrap_err().is_duplicate_key());
        let indexes = db.run_command(doc! {"listIndexes": "c"}).await.unwrap();
        assert!(indexes.to_string().contains("\"clustered\": true"), "{indexes}");
        let found = c.find(doc! {}).await.unwrap();
        assert_eq!(found.first(), Some(&doc! {"_id": 9 - round}));
        assert!(db.check().await.unwrap().is_clean());
    }
}

/// A time series has its documents, its order and its indexes when its files are read again.
#[tokio::test]
async fn a_time_series_is_read_again() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let url = format!("native:{}", directory.path().join("db").display());
    let at = |minutes: i64| DateTime::from_millis(1_767_225_600_000 + minutes * 60_000);
    for round in 0..3 {
        let db = Db::open(&url).await.unwrap();
        if round == 0 {
            let series = doc! {"timeField": "t", "metaField": "m"};
            db.run_command(doc! {"create": "s", "timeseries": series, "expireAfterSeconds": 1_000_000_000})
                .await
                .unwrap();
            let index = doc! {"key": {"v": 1}, "name": "v_1"};
            db.run_command(doc! {"createIndexes": "s", "indexes": [index]})
                .await
                .unwrap();
        }
        let s = db.raw_collection("s");
        for source in ["a", "b"] {
            s.insert(doc! {"_id": 1, "t": at(0), "m": source, "v": round})
                .await
                .unwrap();
            s.insert(doc! {"_id": 2, "t": at(30), "m": source, "v": round})
                .await
                .unwrap();
        }
        let found = s.find(doc! {}).await.unwrap();
        // A new bucket for each source and opening.
        let sources: String = found.iter().map(|one| one.get_str("m").unwrap()).collect();
        assert_eq!(sources, "aabb".repeat(round as usize + 1));
        assert_eq!(s.count(doc! {"v": round}).await.unwrap(), 4);
        assert_eq!(s.list_indexes().await.unwrap().len(), 1);
        let listed = db.list_collections().await.unwrap();
        assert_eq!(listed.iter().filter(|own| own.kind == "timeseries").count(), 1);
        let report = db.check().await.unwrap();
        assert!(report.is_clean(), "{:?}", report.problems);
    }
}
