//! Transactions: all or nothing, own writes, conflicts, retries.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use odm::bson::doc;
use odm::{Db, Error, ErrorKind, Model as _, Tx};

use super::models::Account;

crate::on_every_backend! {
    a_committed_transaction_is_there_whole,
    a_failed_transaction_leaves_nothing,
    a_transaction_sees_its_own_writes_and_nobody_elses,
    the_first_writer_wins,
    conflicting_transactions_are_retried_until_both_are_done,
    a_dropped_transaction_is_aborted_and_releases_what_it_held,
    a_transaction_cut_in_its_first_operation_holds_nothing,
    a_finished_transaction_takes_no_more_operations,
    two_transactions_cannot_take_one_unique_key,
    a_single_write_waits_for_the_transaction_in_its_way,
    a_merge_waits_for_the_transaction_in_its_way,
    waiting_writes_leave_the_transaction_a_connection,
    a_collection_can_be_created_inside,
    a_swallowed_failure_is_the_failure_of_the_transaction,
    what_follows_a_swallowed_failure_is_not_retried,
    a_swallowed_conflict_is_retried,
    a_command_that_cannot_run_inside_leaves_the_transaction_alone,
    a_transaction_takes_options,
    a_single_write_waits_no_longer_than_it_may,
    a_write_that_changes_nothing_is_in_nobodys_way,
}

async fn two(db: &Db) -> (Account, Account) {
    let accounts = db.collection::<Account>();
    accounts.create_indexes().await.unwrap();
    let (a, b) = (
        Account::new("a@example.org", 100),
        Account::new("b@example.org", 0),
    );
    accounts.insert_many([&a, &b]).await.unwrap();
    (a, b)
}

/// A transaction that has changed the balance of this account.
async fn begun_with(db: &Db, account: &Account, change: i64) -> Tx {
    let tx = db.begin().await.unwrap();
    tx.collection::<Account>()
        .update_one(|x| x.id.eq(account.id), |x| x.balance.inc(change))
        .await
        .unwrap();
    tx
}

async fn balance(db: &Db, account: &Account) -> i64 {
    db.collection::<Account>()
        .get(account.id)
        .await
        .unwrap()
        .expect("the account is there")
        .balance
}

async fn a_committed_transaction_is_there_whole(db: &Db) {
    let (a, b) = two(db).await;
    db.transaction(async |tx| {
        let accounts = tx.collection::<Account>();
        accounts
            .update_one(|x| x.id.eq(a.id), |x| x.balance.inc(-30))
            .await?;
        accounts
            .update_one(|x| x.id.eq(b.id), |x| x.balance.inc(30))
            .await?;
        Ok(())
    })
    .await
    .unwrap();
    assert_eq!((balance(db, &a).await, balance(db, &b).await), (70, 30));
}

async fn a_failed_transaction_leaves_nothing(db: &Db) {
    let (a, _) = two(db).await;
    let outcome: Result<(), Error> = db
        .transaction(async |tx| {
            let accounts = tx.collection::<Account>();
            accounts
                .update_one(|x| x.id.eq(a.id), |x| x.balance.inc(-30))
                .await?;
            accounts.insert(Account::new("c@example.org", 1)).await?;
            Err(Error::new(ErrorKind::Validation, "changed my mind"))
        })
        .await;
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Validation);
    assert_eq!(balance(db, &a).await, 100);
    assert_eq!(
        db.collection::<Account>()
            .count(|_| odm::Filter::all())
            .await
            .unwrap(),
        2
    );
}

async fn a_transaction_sees_its_own_writes_and_nobody_elses(db: &Db) {
    let (a, b) = two(db).await;
    let tx = db.begin().await.unwrap();
    let inside = tx.collection::<Account>();
    assert_eq!(inside.get(a.id).await.unwrap().map(|x| x.balance), Some(100));
    inside
        .update_one(|x| x.id.eq(a.id), |x| x.balance.set(1))
        .await
        .unwrap();
    assert_eq!(inside.get(a.id).await.unwrap().map(|x| x.balance), Some(1));
    assert_eq!(balance(db, &a).await, 100);
    db.collection::<Account>()
        .update_one(|x| x.id.eq(b.id), |x| x.balance.set(7))
        .await
        .unwrap();
    assert_eq!(inside.get(b.id).await.unwrap().map(|x| x.balance), Some(0));
    let new = Account::new("c@example.org", 3);
    inside.insert(&new).await.unwrap();
    assert_eq!(inside.count(|_| odm::Filter::all()).await.unwrap(), 3);
    assert_eq!(
        inside
            .find(|x| x.balance.lt(5))
            .sort(|x| x.balance.asc())
            .await
            .unwrap()
            .len(),
        3
    );
    tx.commit().await.unwrap();
    assert_eq!(balance(db, &a).await, 1);
    assert_eq!(balance(db, &new).await, 3);
}

async fn the_first_writer_wins(db: &Db) {
    let (a, _) = two(db).await;
    let (first, second) = (db.begin().await.unwrap(), db.begin().await.unwrap());
    first
        .collection::<Account>()
        .update_one(|x| x.id.eq(a.id), |x| x.balance.inc(1))
        .await
        .unwrap();
    let error = second
        .collection::<Account>()
        .update_one(|x| x.id.eq(a.id), |x| x.balance.inc(1))
        .await
        .unwrap_err();
    assert!(error.is_conflict(), "{error}");
    assert_eq!(error.code(), Some(112));
    assert!(error.has_label("TransientTransactionError"));
    first.commit().await.unwrap();
    assert!(second.commit().await.is_err());
    assert_eq!(balance(db, &a).await, 101);
}

async fn conflicting_transactions_are_retried_until_both_are_done(db: &Db) {
    let (a, _) = two(db).await;
    let attempts = AtomicU32::new(0);
    let run = || async {
        for _ in 0..5 {
            db.transaction(async |tx| {
                attempts.fetch_add(1, Ordering::Relaxed);
                let accounts = tx.collection::<Account>();
                let now = accounts.get(a.id).await?.map_or(0, |x| x.balance);
                accounts
                    .update_one(|x| x.id.eq(a.id), |x| x.balance.set(now + 1))
                    .await?;
                Ok(())
            })
            .await
            .unwrap();
        }
    };
    futures_util::future::join3(run(), run(), run()).await;
    assert_eq!(balance(db, &a).await, 115);
    assert!(attempts.load(Ordering::Relaxed) >= 15);
}

async fn a_dropped_transaction_is_aborted_and_releases_what_it_held(db: &Db) {
    let (a, _) = two(db).await;
    {
        let tx = db.begin().await.unwrap();
        tx.collection::<Account>()
            .update_one(|x| x.id.eq(a.id), |x| x.balance.set(5))
            .await
            .unwrap();
    }
    db.collection::<Account>()
        .update_one(|x| x.id.eq(a.id), |x| x.balance.inc(1))
        .await
        .unwrap();
    assert_eq!(balance(db, &a).await, 101);
}

async fn a_transaction_cut_in_its_first_operation_holds_nothing(db: &Db) {
    let (a, b) = two(db).await;
    let cut = |account: Account, after: u64| async move {
        let work = async {
            let tx = db.begin().await.unwrap();
            // The one before may still be in the way.
            let update = tx.collection::<Account>();
            drop(
                update
                    .update_one(|x| x.id.eq(account.id), |x| x.balance.inc(10))
                    .await,
            );
            tokio::time::sleep(Duration::from_secs(60)).await;
            drop(tx);
        };
        let after = Duration::from_micros(after);
        assert!(tokio::time::timeout(after, work).await.is_err());
    };
    for after in (0..2_000).step_by(100) {
        // The other one takes the first one's session out of the pool while its transaction may be open.
        tokio::join!(cut(a.clone(), after), cut(b.clone(), after + 700));
    }
    // The server would abort what nobody ends after a minute.
    for (account, expected) in [(a, 101), (b, 1)] {
        let accounts = db.collection::<Account>();
        let update = async {
            accounts
                .update_one(|x| x.id.eq(account.id), |x| x.balance.inc(1))
                .await
        };
        let update = tokio::time::timeout(Duration::from_secs(30), update);
        update.await.expect("nothing is in the way").unwrap();
        assert_eq!(balance(db, &account).await, expected);
    }
}

async fn a_finished_transaction_takes_no_more_operations(db: &Db) {
    let (a, _) = two(db).await;
    let tx = db.begin().await.unwrap();
    tx.collection::<Account>()
        .update_one(|x| x.id.eq(a.id), |x| x.balance.set(5))
        .await
        .unwrap();
    tx.commit().await.unwrap();
    assert!(tx.collection::<Account>().get(a.id).await.is_err());
}

async fn two_transactions_cannot_take_one_unique_key(db: &Db) {
    two(db).await;
    let (first, second) = (db.begin().await.unwrap(), db.begin().await.unwrap());
    first
        .collection::<Account>()
        .insert(Account::new("new@example.org", 1))
        .await
        .unwrap();
    let error = second
        .collection::<Account>()
        .insert(Account::new("new@example.org", 2))
        .await
        .unwrap_err();
    assert!(error.is_conflict(), "{error}");
    first.commit().await.unwrap();
    assert_eq!(
        db.collection::<Account>()
            .count(|x| x.email.eq("new@example.org"))
            .await
            .unwrap(),
        1
    );
}

async fn a_single_write_waits_for_the_transaction_in_its_way(db: &Db) {
    let (a, _) = two(db).await;
    let tx = begun_with(db, &a, 10).await;
    let accounts = db.collection::<Account>();
    let single = async {
        accounts
            .update_one(|x| x.id.eq(a.id), |x| x.balance.inc(1))
            .await
            .unwrap()
    };
    let commit = async {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        tx.commit().await.unwrap();
    };
    let (result, ()) = futures_util::future::join(single, commit).await;
    assert_eq!(result.modified, 1);
    assert_eq!(balance(db, &a).await, 111);
}

async fn a_merge_waits_for_the_transaction_in_its_way(db: &Db) {
    let (a, b) = two(db).await;
    let accounts = Account::DESCRIPTOR.collection;
    // The row before the one that waits is merged once, too.
    let rows = vec![doc! { "_id": b.id, "note": 1 }, doc! { "_id": a.id, "note": 1 }];
    db.run_command(doc! { "insert": "notes", "documents": rows })
        .await
        .unwrap();
    let tx = begun_with(db, &a, 10).await;
    let noted = doc! { "$set": { "note": "$$new.note", "balance": { "$add": ["$balance", 1] } } };
    let merge = doc! { "$merge": { "into": accounts, "whenMatched": [noted] } };
    let merge = doc! { "aggregate": "notes", "pipeline": [{ "$sort": { "_id": -1 } }, merge], "cursor": {} };
    let single = async { db.run_command(merge).await.unwrap() };
    let commit = async {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        tx.commit().await.unwrap();
    };
    futures_util::future::join(single, commit).await;
    assert_eq!((balance(db, &a).await, balance(db, &b).await), (111, 1));
    let noted = db
        .run_command(doc! { "count": accounts, "query": { "note": 1 } })
        .await;
    assert_eq!(noted.unwrap().get_i32("n").unwrap(), 2);
}

/// Once a server's connections were all with writes that waited for a transaction, which waited for a connection.
async fn waiting_writes_leave_the_transaction_a_connection(db: &Db) {
    let (a, b) = two(db).await;
    let tx = begun_with(db, &a, 1).await;
    let inside = tx.collection::<Account>();
    let writes: Vec<_> = (0..30)
        .map(|_| {
            let db = db.clone();
            tokio::spawn(async move {
                let accounts = db.collection::<Account>();
                accounts.update_one(|x| x.id.eq(a.id), |x| x.balance.inc(1)).await
            })
        })
        .collect();
    for _ in 0..100 {
        assert!(inside.get(b.id).await.unwrap().is_some());
    }
    tx.commit().await.unwrap();
    for write in writes {
        assert_eq!(write.await.unwrap().unwrap().modified, 1);
    }
    assert_eq!(balance(db, &a).await, 131);
}

async fn a_collection_can_be_created_inside(db: &Db) {
    db.transaction(async |tx| {
        tx.collection_named::<Account>("fresh")
            .insert(Account::new("a@example.org", 1))
            .await?;
        Ok(())
    })
    .await
    .unwrap();
    assert_eq!(
        db.collection_named::<Account>("fresh")
            .count(|_| odm::Filter::all())
            .await
            .unwrap(),
        1
    );
}

async fn a_swallowed_failure_is_the_failure_of_the_transaction(db: &Db) {
    let (a, _) = two(db).await;
    let runs = AtomicU32::new(0);
    let error = db
        .transaction(async |tx| {
            runs.fetch_add(1, Ordering::Relaxed);
            let accounts = tx.collection::<Account>();
            accounts
                .update_one(|x| x.id.eq(a.id), |x| x.balance.inc(-30))
                .await?;
            assert!(accounts.insert(Account::new("a@example.org", 1)).await.is_err());
            Ok(())
        })
        .await
        .unwrap_err();
    assert!(error.is_duplicate_key(), "{error:?}");
    assert!(!error.has_label("TransientTransactionError"));
    let cause = std::error::Error::source(&error).expect("the first failure is the cause");
    assert!(cause.to_string().contains("E11000"), "{cause}");
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    assert_eq!(balance(db, &a).await, 100);
}

async fn what_follows_a_swallowed_failure_is_not_retried(db: &Db) {
    let (a, _) = two(db).await;
    let runs = AtomicU32::new(0);
    let error = db
        .transaction(async |tx| {
            runs.fetch_add(1, Ordering::Relaxed);
            let accounts = tx.collection::<Account>();
            assert!(accounts.insert(Account::new("a@example.org", 1)).await.is_err());
            accounts.get(a.id).await
        })
        .await
        .unwrap_err();
    assert_eq!((error.code(), runs.load(Ordering::Relaxed)), (Some(251), 1));
}

async fn a_swallowed_conflict_is_retried(db: &Db) {
    let (a, _) = two(db).await;
    let runs = AtomicU32::new(0);
    let other = begun_with(db, &a, 1).await;
    db.transaction(async |tx| {
        let accounts = tx.collection::<Account>();
        let done = accounts
            .update_one(|x| x.id.eq(a.id), |x| x.balance.inc(10))
            .await;
        if runs.fetch_add(1, Ordering::Relaxed) == 0 {
            assert!(done.unwrap_err().is_conflict());
            other.commit().await.unwrap();
        }
        Ok(())
    })
    .await
    .unwrap();
    assert_eq!(runs.load(Ordering::Relaxed), 2);
    assert_eq!(balance(db, &a).await, 111);
}

/// What the server refuses before it looks at the transaction leaves the transaction as it is.
async fn a_command_that_cannot_run_inside_leaves_the_transaction_alone(db: &Db) {
    let (a, _) = two(db).await;
    db.transaction(async |tx| {
        let accounts = tx.collection::<Account>();
        accounts
            .update_one(|x| x.id.eq(a.id), |x| x.balance.inc(1))
            .await?;
        let none = bson::doc! { "_id": 1 };
        let concern = bson::doc! { "insert": "other", "documents": [none], "writeConcern": { "w": 1 } };
        for (command, code) in [
            (bson::doc! { "nosuch": 1 }, 59),
            (bson::doc! { "ping": 1 }, 263),
            (bson::doc! { "count": "accounts" }, 263),
            (bson::doc! { "drop": "accounts" }, 263),
            (bson::doc! { "collMod": "accounts" }, 263),
            (bson::doc! { "listCollections": 1 }, 263),
            (bson::doc! { "explain": { "find": "accounts" } }, 263),
            (
                bson::doc! { "find": "accounts", "readConcern": { "level": "local" } },
                72,
            ),
            (concern, 72),
        ] {
            let error = tx.run_command(command.clone()).await.unwrap_err();
            // The driver refuses a second read concern itself, without a code.
            assert_eq!(error.code().unwrap_or(72), code, "{command}: {error:?}");
        }
        assert_eq!(tx.list_collections().await.unwrap_err().code(), Some(263));
        assert_eq!(tx.drop_collection("other").await.unwrap_err().code(), Some(263));
        Ok(())
    })
    .await
    .unwrap();
    assert_eq!(balance(db, &a).await, 101);
}

async fn a_transaction_takes_options(db: &Db) {
    use odm::backend::{ReadConcern, ReadPreference, TransactionOptions, WriteConcern};

    let (a, _) = two(db).await;
    for concern in [ReadConcern::Local, ReadConcern::Majority, ReadConcern::Snapshot] {
        let options = TransactionOptions::new()
            .read_concern(concern)
            .write_concern(WriteConcern::members(1).timeout(std::time::Duration::from_secs(5)))
            .read_preference(ReadPreference::Primary)
            .max_commit_time(std::time::Duration::from_secs(30));
        let done = db.transaction_with(options, async |tx| {
            let accounts = tx.collection::<Account>();
            accounts.update_one(|x| x.id.eq(a.id), |x| x.balance.inc(1)).await
        });
        assert_eq!(done.await.unwrap().modified, 1);
    }
    assert_eq!(balance(db, &a).await, 103);

    let nobody = TransactionOptions::new().write_concern(WriteConcern::members(0));
    let error = db.begin_with(nobody).await.unwrap_err();
    assert!(
        error.to_string().contains("unacknowledged write concern"),
        "{error}"
    );

    let elsewhere = TransactionOptions::new().read_preference(ReadPreference::Secondary);
    let tx = db.begin_with(elsewhere).await.unwrap();
    let accounts = tx.collection::<Account>();
    accounts
        .update_one(|x| x.id.eq(a.id), |x| x.balance.inc(1))
        .await
        .unwrap();
    let error = accounts.get(a.id).await.unwrap_err();
    assert!(error.to_string().contains("must be primary"), "{error}");
    tx.commit().await.unwrap();
    assert_eq!(balance(db, &a).await, 104);

    let journaled = TransactionOptions::new().write_concern(WriteConcern::majority().journal(true));
    let done = db.transaction_with(journaled, async |tx| {
        let accounts = tx.collection::<Account>();
        accounts.update_one(|x| x.id.eq(a.id), |x| x.balance.inc(1)).await
    });
    match done.await {
        Ok(result) => assert_eq!(result.modified, 1),
        Err(error) => assert!(
            error.is_unsupported() && db.backend_name() == "memory",
            "{error:?}"
        ),
    }
}

async fn a_single_write_waits_no_longer_than_it_may(db: &Db) {
    let (a, _) = two(db).await;
    let tx = begun_with(db, &a, 10).await;
    let accounts = db.collection::<Account>();
    let limit = std::time::Duration::from_millis(30);
    let update = accounts
        .update_one(|x| x.id.eq(a.id), |x| x.balance.inc(1))
        .max_time(limit);
    let error = update.await.unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::Timeout, Some(50)),
        "{error:?}"
    );
    let command = bson::doc! {
        "findAndModify": accounts.name(),
        "query": { "email": "a@example.org" },
        "remove": true,
        "maxTimeMS": 30,
    };
    assert_eq!(db.run_command(command).await.unwrap_err().code(), Some(50));
    tx.commit().await.unwrap();
    assert_eq!(balance(db, &a).await, 110);
    let update = accounts.update_one(|x| x.id.eq(a.id), |x| x.balance.inc(1));
    assert_eq!(
        update
            .max_time(std::time::Duration::from_secs(60))
            .await
            .unwrap()
            .modified,
        1
    );
}

/// A write that changed nothing was noted as one of a commit that never came: every later transaction on the document
/// conflicted, until something else was written.
async fn a_write_that_changes_nothing_is_in_nobodys_way(db: &Db) {
    let (a, _) = two(db).await;
    let accounts = db.collection::<Account>();
    let same = accounts
        .update_one(|x| x.id.eq(a.id), |x| x.balance.set(100))
        .await
        .unwrap();
    assert_eq!((same.matched, same.modified), (1, 0));
    let tx = begun_with(db, &a, 1).await;
    tx.commit().await.unwrap();
    assert_eq!(balance(db, &a).await, 101);
}
