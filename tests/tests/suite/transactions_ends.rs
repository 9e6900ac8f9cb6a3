//! The end of a transaction: what is cut before it, what is asked again after it, what is not known of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::try_join;
use odm::backend::{TransactionOptions, WriteConcern};
use odm::bson::doc;
use odm::{Db, Error, ErrorKind, Result, Tx};

crate::on_every_backend! {
    what_is_cut_before_the_abort_is_not_stored,
    what_is_cut_before_the_commit_is_stored_with_it_or_never,
    a_commit_that_was_cut_is_asked_again,
    two_commits_at_a_time_are_one,
    a_commit_that_took_effect_is_not_said_to_be_rolled_back,
    a_commit_in_the_body_whose_end_is_open_is_neither_rolled_back_nor_run_again,
    a_commit_in_the_body_whose_end_is_open_is_asked_again,
    nobody_estimates_in_a_transaction,
}

/// Longer than an operation takes that nobody waits for any more.
const LATER: Duration = Duration::from_millis(300);

/// What the end of a transaction ran.
#[derive(Clone, Default)]
struct Ends {
    committed: Arc<AtomicBool>,
    rolled_back: Arc<AtomicBool>,
}

impl Ends {
    async fn of(tx: &Tx) -> Ends {
        let own = Ends::default();
        own.clone().follow(tx).await;
        own
    }

    async fn follow(self, tx: &Tx) {
        let (committed, rolled_back) = (self.committed, self.rolled_back);
        tx.after_commit(move || async move { committed.store(true, Ordering::SeqCst) })
            .await;
        tx.after_rollback(move || async move { rolled_back.store(true, Ordering::SeqCst) });
    }

    /// Whether it was committed, and whether it was rolled back.
    fn seen(&self) -> (bool, bool) {
        (
            self.committed.load(Ordering::SeqCst),
            self.rolled_back.load(Ordering::SeqCst),
        )
    }
}

async fn count(db: &Db) -> u64 {
    db.raw_collection("items").count(doc! {}).await.unwrap()
}

async fn insert(db: &Db, id: i32) -> Result<()> {
    db.raw_collection("items")
        .insert(doc! {"_id": id})
        .await
        .map(drop)
}

/// The operation was made after the abort, and so outside of the transaction.
async fn what_is_cut_before_the_abort_is_not_stored(db: &Db) {
    for id in 0..50 {
        let db = db.clone();
        let refused = tokio::spawn(async move {
            let refused: Result<()> = db
                .transaction(async |tx| {
                    let refusal = async { Err(Error::new(ErrorKind::Validation, "changed my mind")) };
                    try_join(insert(&tx, id), refusal).await.map(|((), ())| ())
                })
                .await;
            refused
        });
        let error = refused.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Validation, "{error:?}");
    }
    tokio::time::sleep(LATER).await;
    assert_eq!(count(db).await, 0);
}

async fn what_is_cut_before_the_commit_is_stored_with_it_or_never(db: &Db) {
    for id in 0..20 {
        let own = db.clone();
        let committed = tokio::spawn(async move {
            let tx = own.begin().await.unwrap();
            drop(insert(&tx, id).now_or_never());
            tx.commit().await
        });
        committed.await.unwrap().unwrap();
        let there = db.raw_collection("items").exists(doc! {"_id": id}).await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(
            db.raw_collection("items").exists(doc! {"_id": id}).await.unwrap(),
            there,
            "{id}"
        );
    }
}

/// It was said to be aborted, and to be run again, although it may have been stored.
async fn a_commit_that_was_cut_is_asked_again(db: &Db) {
    for id in 0..20 {
        let tx = db.begin().await.unwrap();
        let ends = Ends::of(&tx).await;
        insert(&tx, id).await.unwrap();
        let _ = tx.commit().now_or_never();
        tx.commit().await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(ends.seen(), (true, false), "{id}");
    }
    assert_eq!(count(db).await, 20);
    // What was refused is refused again, for the same reason.
    let (first, second) = (db.begin().await.unwrap(), db.begin().await.unwrap());
    let change = async |tx: &Tx| {
        let items = tx.raw_collection("items");
        items
            .update_one(doc! {"_id": 0}, doc! {"$inc": {"n": 1}})
            .await
            .map(drop)
    };
    change(&first).await.unwrap();
    let ends = Ends::of(&second).await;
    assert!(change(&second).await.unwrap_err().is_conflict());
    first.commit().await.unwrap();
    let _ = second.commit().now_or_never();
    let error = second.commit().await.unwrap_err();
    assert!(
        error.is_conflict() || error.kind() == ErrorKind::Locked,
        "{error:?}"
    );
    assert_eq!(ends.seen(), (false, true));
}

async fn two_commits_at_a_time_are_one(db: &Db) {
    for id in 0..20 {
        let tx = db.begin().await.unwrap();
        let ends = Ends::of(&tx).await;
        insert(&tx, id).await.unwrap();
        let (one, other) = (tx.clone(), tx.clone());
        let one = tokio::spawn(async move { one.commit().await });
        let other = tokio::spawn(async move { other.commit().await });
        one.await.unwrap().unwrap();
        other.await.unwrap().unwrap();
        assert!(!tx.is_running());
        assert_eq!(ends.seen(), (true, false), "{id}");
    }
    assert_eq!(count(db).await, 20);
}

/// A transaction that takes effect where it is committed, and whose concern nobody can meet; `None` where such a concern
/// cannot be asked for.
fn unsatisfiable(db: &Db) -> Option<TransactionOptions> {
    let several = TransactionOptions::new().write_concern(WriteConcern::members(50));
    (db.backend_name() == "mongodb").then_some(several)
}

fn assert_unsatisfied(error: &Error) {
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::InDoubt, Some(100)),
        "{error:?}"
    );
}

async fn a_commit_that_took_effect_is_not_said_to_be_rolled_back(db: &Db) {
    let Some(options) = unsatisfiable(db) else {
        return;
    };
    let (ends, runs) = (Ends::default(), AtomicU32::new(0));
    let done = db.transaction_with(options.clone(), async |tx| {
        runs.fetch_add(1, Ordering::SeqCst);
        ends.clone().follow(&tx).await;
        insert(&tx, 1).await
    });
    assert_unsatisfied(&done.await.unwrap_err());
    assert_eq!((ends.seen(), count(db).await), ((false, false), 1));
    assert_eq!(runs.load(Ordering::SeqCst), 1);

    // What it reads may be older than the collection, as long as no majority has that.
    let mut tries = 0;
    let (tx, ends) = loop {
        tries += 1;
        let tx = db.begin_with(options.clone()).await.unwrap();
        let ends = Ends::of(&tx).await;
        match insert(&tx, 2).await {
            Ok(()) => break (tx, ends),
            Err(error) if tries < 50 && error.has_label("TransientTransactionError") => tx.abort().await,
            Err(error) => panic!("{error}"),
        }
    };
    assert_unsatisfied(&tx.commit().await.unwrap_err());
    // It is too late for that.
    tx.abort().await;
    assert_eq!((ends.seen(), count(db).await), ((false, false), 2));
    assert_eq!(insert(&tx, 3).await.unwrap_err().kind(), ErrorKind::Locked);
    // Asked again, a majority is enough.
    tx.commit().await.unwrap();
    assert_eq!(ends.seen(), (true, false));
}

async fn a_commit_in_the_body_whose_end_is_open_is_neither_rolled_back_nor_run_again(db: &Db) {
    let Some(options) = unsatisfiable(db) else {
        return;
    };
    let (ends, runs) = (Ends::default(), AtomicU32::new(0));
    let done = db.transaction_with(options, async |tx| {
        runs.fetch_add(1, Ordering::SeqCst);
        ends.clone().follow(&tx).await;
        insert(&tx, 1).await?;
        tx.commit().await
    });
    assert_unsatisfied(&done.await.unwrap_err());
    assert_eq!((ends.seen(), count(db).await), ((false, false), 1));
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

async fn a_commit_in_the_body_whose_end_is_open_is_asked_again(db: &Db) {
    let Some(options) = unsatisfiable(db) else {
        return;
    };
    let ends = Ends::default();
    db.transaction_with(options, async |tx| {
        ends.clone().follow(&tx).await;
        insert(&tx, 1).await?;
        assert_unsatisfied(&tx.commit().await.unwrap_err());
        Ok::<_, Error>(())
    })
    .await
    .unwrap();
    assert_eq!((ends.seen(), count(db).await), ((true, false), 1));
}

async fn nobody_estimates_in_a_transaction(db: &Db) {
    insert(db, 1).await.unwrap();
    let tx = db.begin().await.unwrap();
    insert(&tx, 2).await.unwrap();
    let items = tx.raw_collection("items");
    assert_eq!(items.estimated_count().await.unwrap(), 2);
    assert_eq!(tx.raw_collection("none").estimated_count().await.unwrap(), 0);
    tx.abort().await;
    assert_eq!(count(db).await, 1);
}
