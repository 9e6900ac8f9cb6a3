//! Transactions: their end, their retries, and transactions inside transactions.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bson::doc;

use super::Tx;
use super::guard::{TRANSIENT, UNKNOWN_COMMIT};
use crate::action::tests::book::Book;
use crate::backend::TransactionOptions;
use crate::backend::fake::{Fake, block_on};
use crate::db::Db;
use crate::error::{Error, ErrorKind, Result};

fn conflict() -> Error {
    Error::new(ErrorKind::Conflict, "write conflict")
        .with_code(112)
        .with_label(TRANSIENT)
}

fn unknown() -> Error {
    Error::new(ErrorKind::Network, "connection reset").with_label(UNKNOWN_COMMIT)
}

fn in_doubt() -> Error {
    Error::new(ErrorKind::InDoubt, "write concern was not satisfied").with_code(100)
}

/// What the end of a transaction ran.
#[derive(Default)]
struct Ends {
    committed: Arc<AtomicBool>,
    rolled_back: Arc<AtomicBool>,
}

impl Ends {
    async fn follow(&self, tx: &Tx) {
        let (committed, rolled_back) = (self.committed.clone(), self.rolled_back.clone());
        tx.after_commit(|| async move { committed.store(true, Ordering::SeqCst) })
            .await;
        tx.after_rollback(|| async move { rolled_back.store(true, Ordering::SeqCst) });
    }

    /// Whether it was committed, and whether it was rolled back.
    fn seen(&self) -> (bool, bool) {
        (
            self.committed.load(Ordering::SeqCst),
            self.rolled_back.load(Ordering::SeqCst),
        )
    }
}

fn inserted(fake: &Fake) -> &Fake {
    fake.written(|summary| summary.inserted = 1)
}

async fn insert(db: &Db, id: i32) -> Result<i32> {
    db.collection::<Book>().insert(Book::new(id, "Emma")).await
}

#[test]
fn a_body_that_succeeds_is_committed_once() {
    let fake = Fake::default();
    inserted(&fake);
    let id = block_on(fake.db().transaction(async |tx| insert(&tx, 3).await)).unwrap();
    assert_eq!((id, fake.transactions()), (3, (1, 1, 0)));
}

#[test]
fn a_body_that_fails_is_aborted_and_not_run_again() {
    let fake = Fake::default();
    let runs = Cell::new(0);
    let result: Result<()> = block_on(fake.db().transaction(async |_| {
        runs.set(runs.get() + 1);
        Err(Error::new(ErrorKind::Validation, "no copies are left"))
    }));
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Validation);
    assert_eq!((runs.get(), fake.transactions()), (1, (1, 0, 1)));
}

#[test]
fn a_conflict_runs_the_body_again_in_a_new_transaction() {
    let fake = Fake::default();
    for _ in 0..5 {
        fake.fail(conflict());
    }
    inserted(&fake);
    let runs = Cell::new(0);
    block_on(fake.db().transaction(async |tx| {
        runs.set(runs.get() + 1);
        insert(&tx, 1).await
    }))
    .unwrap();
    assert_eq!((runs.get(), fake.transactions()), (6, (6, 1, 5)));
}

#[test]
fn a_conflict_is_seen_through_an_error_type_of_the_users_own() {
    #[derive(Debug)]
    struct Own;
    impl From<Error> for Own {
        fn from(_: Error) -> Own {
            Own
        }
    }
    let fake = Fake::default();
    inserted(fake.fail(conflict()));
    let done: Result<i32, Own> = block_on(
        fake.db()
            .transaction_with(TransactionOptions::new(), async |tx| Ok(insert(&tx, 1).await?)),
    );
    assert_eq!((done.unwrap(), fake.transactions()), (1, (2, 1, 1)));
}

#[test]
fn retries_end_with_their_time() {
    let fake = Fake::default();
    for _ in 0..1000 {
        fake.fail(conflict());
    }
    let options = TransactionOptions::new().retry_for(Duration::from_millis(30));
    let error = block_on(
        fake.db()
            .transaction_with(options, async |tx| insert(&tx, 1).await),
    )
    .unwrap_err();
    assert!(error.is_conflict());
    let options = TransactionOptions::new().retry_for(Duration::ZERO);
    let before = fake.transactions().0;
    block_on(
        fake.db()
            .transaction_with(options, async |tx| insert(&tx, 1).await),
    )
    .unwrap_err();
    assert_eq!(fake.transactions().0, before + 1);
}

#[test]
fn a_commit_of_unknown_outcome_is_asked_again_alone() {
    let fake = Fake::default();
    inserted(&fake);
    fake.commit_answers(Err(unknown())).commit_answers(Err(unknown()));
    let runs = Cell::new(0);
    block_on(fake.db().transaction(async |tx| {
        runs.set(runs.get() + 1);
        insert(&tx, 1).await
    }))
    .unwrap();
    assert_eq!((runs.get(), fake.transactions()), (1, (1, 1, 0)));
}

#[test]
fn what_may_be_committed_is_not_said_to_be_rolled_back() {
    let says = |answer: Error| {
        let fake = Fake::default();
        fake.commit_answers(Err(answer));
        let ends = Ends::default();
        let options = TransactionOptions::new().retry_for(Duration::ZERO);
        let result: Result<()> = block_on(fake.db().transaction_with(options, async |tx| {
            ends.follow(&tx).await;
            Ok(())
        }));
        result.unwrap_err();
        ends.seen().1
    };
    let too_late = Error::new(ErrorKind::Timeout, "operation exceeded time limit")
        .with_code(50)
        .with_label(UNKNOWN_COMMIT);
    assert!(!says(unknown()));
    assert!(!says(too_late));
    assert!(!says(in_doubt()));
    assert!(says(conflict()));
}

#[test]
fn what_may_be_committed_in_the_body_is_neither_rolled_back_nor_run_again() {
    for answer in [unknown(), in_doubt()] {
        let fake = Fake::default();
        inserted(&fake).commit_answers(Err(answer));
        let ends = Ends::default();
        let runs = Cell::new(0);
        let result: Result<()> = block_on(fake.db().transaction(async |tx| {
            runs.set(runs.get() + 1);
            ends.follow(&tx).await;
            insert(&tx, 1).await?;
            tx.commit().await.unwrap_err();
            // As one that had to do with it would be.
            tx.guard().notice(&conflict());
            Err(conflict())
        }));
        result.unwrap_err();
        assert_eq!((runs.get(), ends.seen()), (1, (false, false)));
        assert_eq!(fake.transactions(), (1, 0, 0));
    }
}

#[test]
fn what_may_be_committed_in_the_body_is_asked_again() {
    let fake = Fake::default();
    fake.commit_answers(Err(in_doubt()));
    let ends = Ends::default();
    block_on(fake.db().transaction(async |tx| {
        ends.follow(&tx).await;
        tx.commit().await.unwrap_err();
        Ok(())
    }))
    .unwrap();
    assert_eq!((fake.transactions(), ends.seen()), ((1, 1, 0), (true, false)));
}

#[test]
fn an_abort_rolls_back_nothing_that_may_be_committed() {
    for answer in [unknown(), in_doubt()] {
        let fake = Fake::default();
        fake.commit_answers(Err(answer));
        let tx = block_on(fake.db().begin()).unwrap();
        let ends = Ends::default();
        block_on(ends.follow(&tx));
        block_on(tx.commit()).unwrap_err();
        block_on(tx.abort());
        assert_eq!(ends.seen(), (false, false));
        block_on(tx.commit()).unwrap();
        assert_eq!((fake.transactions(), ends.seen()), ((1, 1, 0), (true, false)));
    }
}

#[test]
fn a_commit_that_conflicts_runs_the_body_again() {
    let fake = Fake::default();
    fake.commit_answers(Err(conflict()));
    let runs = Cell::new(0);
    block_on(fake.db().transaction(async |_| {
        runs.set(runs.get() + 1);
        Ok(())
    }))
    .unwrap();
    assert_eq!((runs.get(), fake.transactions()), (2, (2, 1, 0)));
}

#[test]
fn what_is_run_again_is_not_rolled_back() {
    // The body ends its transaction itself, by a commit or an abort.
    for commits in [true, false] {
        let fake = Fake::default();
        if commits {
            fake.commit_answers(Err(conflict()));
        }
        let first = Ends::default();
        let runs = Cell::new(0);
        block_on(fake.db().transaction(async |tx| {
            runs.set(runs.get() + 1);
            if runs.get() > 1 {
                return Ok(());
            }
            first.follow(&tx).await;
            if commits {
                return tx.commit().await;
            }
            tx.guard().notice(&conflict());
            tx.abort().await;
            Err(conflict())
        }))
        .unwrap();
        assert_eq!((runs.get(), first.seen()), (2, (false, false)), "{commits}");
    }
}

#[test]
fn a_body_that_aborts_rolls_back_once() {
    let fake = Fake::default();
    let ends = Ends::default();
    block_on(fake.db().transaction(async |tx| {
        ends.follow(&tx).await;
        tx.abort().await;
        assert_eq!(ends.seen(), (false, false));
        Ok(())
    }))
    .unwrap();
    assert_eq!((fake.transactions(), ends.seen()), ((1, 0, 1), (false, true)));
}

fn no_such_transaction() -> Error {
    Error::new(ErrorKind::Conflict, "the transaction has been aborted")
        .with_code(251)
        .with_label(TRANSIENT)
}

fn duplicate() -> Error {
    Error::new(ErrorKind::DuplicateKey, "E11000").with_code(11000)
}

#[test]
fn a_swallowed_failure_comes_out_of_the_commit_and_is_not_run_again() {
    let fake = Fake::default();
    fake.fail(duplicate())
        .fail(no_such_transaction())
        .commit_answers(Err(no_such_transaction()));
    let runs = Cell::new(0);
    let error = block_on(fake.db().transaction(async |tx| {
        runs.set(runs.get() + 1);
        assert!(insert(&tx, 1).await.is_err());
        assert!(insert(&tx, 2).await.is_err());
        Ok(())
    }))
    .unwrap_err();
    assert!(error.is_duplicate_key() && !error.has_label(TRANSIENT), "{error}");
    assert!(
        std::error::Error::source(&error)
            .unwrap()
            .to_string()
            .contains("E11000")
    );
    assert_eq!((runs.get(), fake.transactions().0), (1, 1));
}

#[test]
fn what_follows_a_swallowed_failure_is_not_run_again_either() {
    let fake = Fake::default();
    fake.fail(duplicate()).fail(no_such_transaction());
    let error = block_on(fake.db().transaction(async |tx| {
        assert!(insert(&tx, 1).await.is_err());
        insert(&tx, 2).await
    }))
    .unwrap_err();
    assert_eq!((error.code(), fake.transactions()), (Some(251), (1, 0, 1)));
}

#[test]
fn a_swallowed_conflict_runs_the_body_again() {
    let fake = Fake::default();
    inserted(fake.fail(conflict()));
    let runs = Cell::new(0);
    block_on(fake.db().transaction(async |tx| {
        runs.set(runs.get() + 1);
        let _ = insert(&tx, 1).await;
        Ok(())
    }))
    .unwrap();
    assert_eq!((runs.get(), fake.transactions()), (2, (2, 1, 1)));
}

#[test]
fn a_failure_that_left_the_transaction_alone_may_be_swallowed() {
    let fake = Fake::default();
    fake.fail(Error::new(ErrorKind::InvalidArgument, "no such command").with_code(59));
    block_on(fake.db().transaction(async |tx| {
        assert!(insert(&tx, 1).await.is_err());
        Ok(())
    }))
    .unwrap();
    assert_eq!(fake.transactions(), (1, 1, 0));
}

#[test]
fn an_error_in_doubt_is_never_retried() {
    let fake = Fake::default();
    fake.commit_answers(Err(Error::new(ErrorKind::InDoubt, "fsync failed")));
    let error = block_on(fake.db().transaction(async |_| Ok(()))).unwrap_err();
    assert!(error.is_in_doubt());
    assert_eq!(
        (error.operation(), fake.transactions().0),
        (Some("commitTransaction"), 1)
    );
}

#[test]
fn nothing_runs_after_the_end() {
    let fake = Fake::default();
    inserted(&fake);
    fake.batches([vec![doc! {"_id": 1, "title": "a"}]]);
    let tx = block_on(fake.db().begin()).unwrap();
    let books = tx.collection::<Book>();
    block_on(insert(&tx, 1)).unwrap();
    let mut cursor = books.find_all().stream();
    block_on(cursor.next()).unwrap().unwrap();
    assert!(tx.is_running());
    block_on(tx.commit()).unwrap();
    block_on(tx.commit()).unwrap();
    assert!(!tx.is_running());
    let asked = fake.asked().len();
    for error in [
        block_on(books.get(1).into_future()).unwrap_err(),
        block_on(tx.run_command(doc! {"ping": 1})).unwrap_err(),
        block_on(cursor.next()).unwrap().unwrap_err(),
        block_on(books.insert_many(&[] as &[Book]).into_future()).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Locked, "{error}");
        assert!(error.message().contains("was committed"));
    }
    assert_eq!((fake.asked().len(), fake.transactions()), (asked, (1, 1, 0)));

    let tx = block_on(fake.db().begin()).unwrap();
    block_on(tx.abort());
    block_on(tx.abort());
    assert_eq!(block_on(tx.commit()).unwrap_err().kind(), ErrorKind::Locked);
    assert_eq!(fake.transactions(), (2, 1, 1));
}

#[test]
fn a_transaction_inside_a_transaction_joins_it() {
    let fake = Fake::default();
    inserted(inserted(&fake));
    block_on(fake.db().transaction(async |tx| {
        insert(&tx, 1).await?;
        tx.transaction(async |inner| insert(&inner, 2).await).await?;
        assert!(tx.begin().await.is_err());
        Ok(())
    }))
    .unwrap();
    assert_eq!(fake.transactions(), (1, 1, 0));
}

#[test]
fn a_failed_part_keeps_the_whole_from_being_committed() {
    let fake = Fake::default();
    let error = block_on(fake.db().transaction(async |tx| {
        let part: Result<()> = tx
            .transaction(async |_| Err(Error::new(ErrorKind::NotFound, "no")))
            .await;
        assert!(part.is_err());
        Ok(())
    }))
    .unwrap_err();
    assert!(error.message().contains("can only be aborted"), "{error}");
    assert_eq!(fake.transactions(), (1, 0, 1));
}

#[test]
fn the_future_of_a_transaction_is_send() {
    fn send<T: Send>(future: T) -> T {
        future
    }
    let fake = Fake::default();
    inserted(inserted(&fake));
    let db = fake.db();
    let names = vec!["Emma".to_owned()];
    let task = async move {
        db.transaction(async |tx| {
            let books = tx.collection::<Book>();
            for name in &names {
                books.insert(Book::new(1, name)).await?;
            }
            insert(&tx, 9).await
        })
        .await
    };
    std::thread::spawn(move || block_on(send(task)))
        .join()
        .unwrap()
        .unwrap();
}
