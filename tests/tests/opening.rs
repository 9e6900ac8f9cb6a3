//! Opening what is not there, and with options.

use std::time::Duration;

use bson::doc;
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
