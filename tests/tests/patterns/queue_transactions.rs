//! The queue inside of the caller's transactions.

use bson::doc;
use odm::{Db, Error, ErrorKind};
use odm_patterns::queue::{Failure, LeaseLost, New, State};

use super::queue_model::{Work, lost, number, queue, seconds};

crate::on_every_backend! {
    what_is_rolled_back_was_never_enqueued,
    a_unique_key_is_one_in_transactions_too,
    a_job_is_done_if_and_only_if_its_work_is,
}

fn give_up<T>() -> odm::Result<T> {
    Err(Error::new(ErrorKind::Validation, "changed my mind"))
}

async fn what_is_rolled_back_was_never_enqueued(db: &Db) {
    let (queue, _) = queue(db).await;
    let orders = queue.db().raw_collection("orders");
    orders.insert(doc! { "_id": 0 }).await.unwrap();
    for commits in [false, true] {
        let outcome = queue
            .db()
            .transaction(async |tx| {
                let queue = queue.on(&tx);
                tx.raw_collection("orders").insert(doc! { "_id": 1 }).await?;
                queue.enqueue(Work::Number(1)).await?;
                queue.enqueue(New::job(Work::Number(2)).unique("a")).await?;
                let jobs = (3..=5).map(|job| New::job(Work::Number(job)).group("g"));
                queue.enqueue_many(jobs).await?;
                assert_eq!(queue.list(State::Waiting, 0).await?.len(), 3);
                match commits {
                    true => Ok(()),
                    false => give_up(),
                }
            })
            .await;
        assert_eq!(outcome.is_ok(), commits);
        let statistics = queue.statistics().await.unwrap();
        let expected = if commits { (3, 2) } else { (0, 0) };
        assert_eq!((statistics.ready, statistics.waiting), expected);
        assert_eq!(orders.count(doc! {}).await.unwrap(), 1 + u64::from(commits));
    }
    assert!(
        !queue
            .enqueue(New::job(Work::Number(2)).unique("a"))
            .await
            .unwrap()
            .is_added()
    );
}

async fn a_unique_key_is_one_in_transactions_too(db: &Db) {
    let (queue, _) = queue(db).await;
    queue
        .enqueue(New::job(Work::Number(0)).unique("first"))
        .await
        .unwrap();
    let tasks = (0..4).map(|job| {
        let queue = queue.clone();
        tokio::spawn(async move {
            let added = queue.db().transaction(async |tx| {
                let enqueued = queue
                    .on(&tx)
                    .enqueue(New::job(Work::Number(job)).unique("a"))
                    .await?;
                Ok(enqueued.is_added())
            });
            added.await.unwrap()
        })
    });
    let mut added = 0;
    for task in tasks.collect::<Vec<_>>() {
        added += u32::from(task.await.unwrap());
    }
    assert_eq!(added, 1);
    assert_eq!(queue.statistics().await.unwrap().ready, 2);
}

async fn a_job_is_done_if_and_only_if_its_work_is(db: &Db) {
    let (queue, clock) = queue(db).await;
    let accounts = queue.db().raw_collection("accounts");
    accounts.insert(doc! { "_id": 1, "balance": 0 }).await.unwrap();
    let mut jobs = Vec::new();
    for job in 1..=3 {
        jobs.push(New::job(Work::Number(job)).group("g"));
    }
    queue.enqueue_many(jobs).await.unwrap();
    let claimed = queue.claim().await.unwrap().unwrap();
    for commits in [false, true] {
        let outcome = queue.db().transaction(async |tx| {
            let accounts = tx.raw_collection("accounts");
            accounts
                .update_one(doc! { "_id": 1 }, doc! { "$inc": { "balance": 5 } })
                .await?;
            queue.on(&tx).ack_with(&claimed, &"paid").await?;
            match commits {
                true => Ok(()),
                false => give_up(),
            }
        });
        assert_eq!(outcome.await.is_ok(), commits);
        let entry = queue.get(claimed.id()).await.unwrap().unwrap();
        assert_eq!(entry.state, if commits { State::Done } else { State::Running });
        // The next one of its group is let go after the commit.
        assert_eq!(queue.statistics().await.unwrap().ready, u64::from(commits));
    }
    assert_eq!(
        accounts.get(bson::Bson::Int32(1)).await.unwrap(),
        Some(doc! { "_id": 1, "balance": 5 })
    );

    // Who lost the lease cannot commit anything.
    let zombie = queue.claim().await.unwrap().unwrap();
    clock.advance(seconds(10));
    let owner = queue.claim().await.unwrap().unwrap();
    assert_eq!((number(&owner.job), zombie.id()), (2, owner.id()));
    let outcome = queue.db().transaction(async |tx| {
        let accounts = tx.raw_collection("accounts");
        accounts
            .update_one(doc! { "_id": 1 }, doc! { "$inc": { "balance": 5 } })
            .await?;
        queue.on(&tx).ack(&zombie).await
    });
    let error = outcome.await.unwrap_err();
    assert_eq!(LeaseLost::of(&error).unwrap().token, 1);
    assert_eq!(
        accounts.get(bson::Bson::Int32(1)).await.unwrap(),
        Some(doc! { "_id": 1, "balance": 5 })
    );
    // Each of the others in a transaction, too.
    queue
        .db()
        .transaction(async |tx| {
            let queue = queue.on(&tx);
            queue.heartbeat(&owner).await?;
            queue.fail(&owner, Failure::dead("no")).await?;
            queue.enqueue(Work::Number(9)).await
        })
        .await
        .unwrap();
    lost(queue.ack(&owner).await, Some(State::Dead));
    assert_eq!(number(&queue.claim().await.unwrap().unwrap().job), 3);
}
