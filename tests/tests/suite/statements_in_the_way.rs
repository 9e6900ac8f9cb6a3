//! Statements of one write that a running transaction blocks: those before them are done, they themselves not in part.

use std::time::Duration;

use odm::Db;
use odm::bson::{Document, doc};

crate::on_every_backend! {
    an_update_of_many_is_applied_once_when_the_transaction_is_aborted,
    an_update_of_many_stays_as_far_as_it_came_when_the_transaction_took_its_key,
    statements_before_the_blocked_one_are_done_meanwhile,
}

const PAUSE: Duration = Duration::from_millis(100);

/// Documents with a unique `u`: 1, 4 and 90, which is not to be changed.
async fn numbered(db: &Db) {
    let index = doc! { "key": { "u": 1 }, "name": "u", "unique": true };
    db.run_command(doc! { "createIndexes": "numbers", "indexes": [index] })
        .await
        .unwrap();
    let documents = vec![
        doc! { "_id": "a", "u": 1, "n": 0 },
        doc! { "_id": "b", "u": 4, "n": 0 },
        doc! { "_id": "z", "u": 90, "n": 0 },
    ];
    insert(db, "numbers", documents).await;
}

async fn insert(db: &Db, collection: &str, documents: Vec<Document>) {
    db.run_command(doc! { "insert": collection, "documents": documents })
        .await
        .unwrap();
}

/// An update whose second statement counts two documents on, of which the second gets the key 5.
fn counting() -> Document {
    let many = doc! { "q": { "u": { "$lt": 50 } }, "u": { "$inc": { "u": 1, "n": 1 } }, "multi": true };
    let one = doc! { "q": { "_id": "z" }, "u": { "$inc": { "n": 1 } } };
    doc! { "update": "numbers", "updates": [one, many] }
}

/// What `_id`, `u` and `n` are, in order of `_id`.
async fn found(db: &Db) -> Vec<(String, i32, i32)> {
    let reply = db
        .run_command(doc! { "find": "numbers", "sort": { "_id": 1 } })
        .await
        .unwrap();
    let batch = reply
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    let numbers = batch.iter().map(|one| {
        let one = one.as_document().unwrap();
        (
            one.get_str("_id").unwrap().to_owned(),
            one.get_i32("u").unwrap(),
            one.get_i32("n").unwrap(),
        )
    });
    numbers.collect()
}

fn numbers(expected: &[(&str, i32, i32)]) -> Vec<(String, i32, i32)> {
    let owned = expected.iter().map(|(id, u, n)| ((*id).to_owned(), *u, *n));
    owned.collect()
}

async fn an_update_of_many_is_applied_once_when_the_transaction_is_aborted(db: &Db) {
    numbered(db).await;
    let tx = db.begin().await.unwrap();
    insert(&tx, "numbers", vec![doc! { "_id": "t", "u": 5 }]).await;
    let update = db.run_command(counting());
    let abort = async {
        tokio::time::sleep(PAUSE).await;
        tx.abort().await;
    };
    let (reply, ()) = futures_util::future::join(update, abort).await;
    let reply = reply.unwrap();
    assert_eq!(
        (reply.get_i32("n").unwrap(), reply.get_i32("nModified").unwrap()),
        (3, 3)
    );
    assert_eq!(
        found(db).await,
        numbers(&[("a", 2, 1), ("b", 5, 1), ("z", 90, 1)])
    );
}

async fn an_update_of_many_stays_as_far_as_it_came_when_the_transaction_took_its_key(db: &Db) {
    numbered(db).await;
    let tx = db.begin().await.unwrap();
    insert(&tx, "numbers", vec![doc! { "_id": "t", "u": 5, "n": 0 }]).await;
    let update = db.run_command(counting());
    let commit = async {
        tokio::time::sleep(PAUSE).await;
        tx.commit().await.unwrap();
    };
    let (reply, ()) = futures_util::future::join(update, commit).await;
    let reply = reply.unwrap();
    let errors = reply.get_array("writeErrors").unwrap();
    let error = errors[0].as_document().unwrap();
    assert_eq!(
        (
            errors.len(),
            error.get_i32("index").unwrap(),
            error.get_i32("code").unwrap()
        ),
        (1, 1, 11000)
    );
    let expected = [("a", 2, 1), ("b", 4, 0), ("t", 5, 0), ("z", 90, 1)];
    assert_eq!(found(db).await, numbers(&expected));
}

async fn statements_before_the_blocked_one_are_done_meanwhile(db: &Db) {
    numbered(db).await;
    let tx = db.begin().await.unwrap();
    insert(&tx, "numbers", vec![doc! { "_id": "t", "u": 5 }]).await;
    let update = db.run_command(counting());
    let look = async {
        tokio::time::sleep(PAUSE).await;
        let seen = found(db).await;
        tx.abort().await;
        seen
    };
    let (reply, seen) = futures_util::future::join(update, look).await;
    reply.unwrap();
    assert_eq!(seen[2], ("z".to_owned(), 90, 1));
    // The server writes document by document; the embedded engine a whole statement or none of it.
    if db.backend_name() != "mongodb" {
        assert_eq!(seen, numbers(&[("a", 1, 0), ("b", 4, 0), ("z", 90, 1)]));
    }
}
