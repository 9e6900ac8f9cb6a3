//! Transactions: all or nothing, own writes, conflicts, retries.

use std::sync::atomic::{AtomicU32, Ordering};

use odm::{Db, Error, ErrorKind};

use super::models::Account;

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

async fn balance(db: &Db, account: &Account) -> i64 {
    db.collection::<Account>()
        .get(account.id)
        .await
        .unwrap()
        .expect("the account is there")
        .balance
}

pub async fn a_committed_transaction_is_there_whole(db: &Db) {
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

pub async fn a_failed_transaction_leaves_nothing(db: &Db) {
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

pub async fn a_transaction_sees_its_own_writes_and_nobody_elses(db: &Db) {
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

pub async fn the_first_writer_wins(db: &Db) {
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

pub async fn conflicting_transactions_are_retried_until_both_are_done(db: &Db) {
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

pub async fn a_dropped_transaction_is_aborted_and_releases_what_it_held(db: &Db) {
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

pub async fn a_finished_transaction_takes_no_more_operations(db: &Db) {
    let (a, _) = two(db).await;
    let tx = db.begin().await.unwrap();
    tx.collection::<Account>()
        .update_one(|x| x.id.eq(a.id), |x| x.balance.set(5))
        .await
        .unwrap();
    tx.commit().await.unwrap();
    assert!(tx.collection::<Account>().get(a.id).await.is_err());
}

pub async fn two_transactions_cannot_take_one_unique_key(db: &Db) {
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

pub async fn a_single_write_waits_for_the_transaction_in_its_way(db: &Db) {
    let (a, _) = two(db).await;
    let tx = db.begin().await.unwrap();
    tx.collection::<Account>()
        .update_one(|x| x.id.eq(a.id), |x| x.balance.inc(10))
        .await
        .unwrap();
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

pub async fn a_collection_can_be_created_inside(db: &Db) {
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
