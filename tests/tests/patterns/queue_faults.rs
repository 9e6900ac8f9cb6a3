//! Failures at every write of every operation: nothing is lost, and no job is done by two.

use std::collections::BTreeSet;

use bson::doc;
use bson::oid::ObjectId;
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind};
use odm_patterns::queue::{Duplicates, Failure, Lease, New, Policy, Queue, State};

use super::queue_model::{Clock, Work, clear, number, options, queue, seconds};

crate::on_every_backend! {
    a_failure_at_any_write_loses_nothing,
    what_comes_behind_a_job_that_fails_is_not_enqueued,
    a_batch_is_kept_when_what_is_no_job_cannot_be_buried,
}

macro_rules! operations {
    ($($name:ident),+ $(,)?) => {
        /// What is done while something fails.
        #[derive(Clone, Copy, Debug, PartialEq)]
        enum Operation {
            $($name),+
        }

        const OPERATIONS: &[Operation] = &[$(Operation::$name),+];
    };
}

operations! {
    Enqueue,
    EnqueueUnique,
    EnqueueReplacing,
    EnqueueGroup,
    EnqueueMany,
    Claim,
    ClaimMany,
    Ack,
    AckMany,
    AckInTransaction,
    Fail,
    FailForGood,
    Snooze,
    Release,
    Heartbeat,
    Progress,
    Cancel,
    CancelRunning,
    Redrive,
    Tend,
    Pause,
}

/// What there is before: running jobs, one dead, two groups, one unique key, one scheduled.
struct Before {
    leases: Vec<Lease>,
    expired: Lease,
    dead: ObjectId,
    ready: ObjectId,
}

async fn prepare(queue: &Queue<Work>, clock: &Clock) -> Before {
    let ready = New::job(Work::Number(100)).priority(-5);
    let ready = queue.enqueue(ready).await.unwrap().id;
    let unique = New::job(Work::Number(101)).priority(-5).unique("there");
    queue.enqueue(unique).await.unwrap();
    let dead = queue.enqueue(Work::Number(102)).await.unwrap().id;
    let claimed = queue.claim().await.unwrap().unwrap();
    assert_eq!(claimed.id(), dead);
    queue.fail(&claimed, Failure::dead("before")).await.unwrap();
    queue.enqueue(Work::Number(103)).await.unwrap();
    let expired = queue.claim().await.unwrap().unwrap().lease;
    clock.advance(seconds(10));
    for group in ["a", "b"] {
        for job in 0..3 {
            let job = 200 + job + 10 * i32::from(group == "b");
            queue
                .enqueue(New::job(Work::Number(job)).group(group).priority(9))
                .await
                .unwrap();
        }
    }
    let leases = queue
        .claim_many(2)
        .await
        .unwrap()
        .into_iter()
        .map(|claimed| claimed.lease)
        .collect();
    let delayed = New::job(Work::Number(104)).delay(seconds(1));
    queue.enqueue(delayed).await.unwrap();
    clock.advance(seconds(1));
    Before {
        leases,
        expired,
        dead,
        ready,
    }
}

async fn perform(queue: &Queue<Work>, operation: Operation, before: &Before) -> odm::Result<()> {
    let (first, second) = (&before.leases[0], &before.leases[1]);
    let job = || New::job(Work::Number(1));
    match operation {
        Operation::Enqueue => queue.enqueue(job()).await.map(|_| ()),
        Operation::EnqueueUnique => queue.enqueue(job().unique("new")).await.map(|_| ()),
        Operation::EnqueueReplacing => {
            let replacing = Duplicates::of("there").policy(Policy::Replace);
            queue.enqueue(job().duplicates(replacing)).await.map(|_| ())
        }
        Operation::EnqueueGroup => queue.enqueue(job().group("c")).await.map(|_| ()),
        Operation::EnqueueMany => queue
            .enqueue_many([job(), job().group("c"), job().unique("new")])
            .await
            .map(|_| ()),
        Operation::Claim => queue.claim().await.map(|_| ()),
        Operation::ClaimMany => queue.claim_many(3).await.map(|_| ()),
        Operation::Ack => queue.ack(first).await,
        Operation::AckMany => queue.ack_many([first, second]).await.map(|_| ()),
        Operation::AckInTransaction => {
            let transaction = queue.db().transaction(async |tx| {
                tx.raw_collection("orders")
                    .insert(bson::doc! { "_id": 1 })
                    .await?;
                queue.on(&tx).ack(first).await
            });
            transaction.await
        }
        Operation::Fail => queue.fail(first, Failure::retry("no")).await,
        Operation::FailForGood => queue.fail(first, Failure::dead("no")).await,
        Operation::Snooze => queue.snooze(first, seconds(5)).await,
        Operation::Release => queue.release(first).await,
        Operation::Heartbeat => queue.heartbeat(first).await.map(|_| ()),
        Operation::Progress => queue.progress(first, &1).await.map(|_| ()),
        Operation::Cancel => queue.cancel(before.ready).await.map(|_| ()),
        Operation::CancelRunning => queue.cancel(first.id).await.map(|_| ()),
        Operation::Redrive => queue.redrive(before.dead).await.map(|_| ()),
        Operation::Tend => queue.tend().await.map(|_| ()),
        Operation::Pause => queue.pause().await,
    }
}

/// Works off what is left, by clock and by hand; the order in which each group's jobs were done.
async fn work_off(queue: &Queue<Work>, clock: &Clock) -> Vec<i32> {
    queue.resume().await.unwrap();
    let mut order = Vec::new();
    for _ in 0..40 {
        clock.advance(seconds(10));
        queue.tend().await.unwrap();
        for claimed in queue.claim_many(20).await.unwrap() {
            if claimed.group.is_some() {
                order.push(number(&claimed.job));
            }
            queue.ack(&claimed).await.unwrap();
        }
        if queue.statistics().await.unwrap().unfinished() == 0 {
            return order;
        }
    }
    panic!("not worked off: {:?}", queue.statistics().await.unwrap());
}

async fn check(queue: &Queue<Work>, clock: &Clock, before: &Before, text: &str) {
    let all: Vec<_> = {
        let mut all = Vec::new();
        for state in State::ALL {
            all.extend(queue.list(state, 0).await.unwrap());
        }
        all
    };
    // At most one live lease per group, and slots are unfinished jobs'.
    for group in ["a", "b", "c"] {
        let running = all
            .iter()
            .filter(|entry| entry.group.as_deref() == Some(group) && entry.state == State::Running);
        assert!(running.count() <= 1, "{text}");
    }
    let order = work_off(queue, clock).await;
    for (least, greatest) in [(200, 202), (210, 212)] {
        let of_group: Vec<i32> = order
            .iter()
            .copied()
            .filter(|job| (least..=greatest).contains(job))
            .collect();
        assert!(of_group.is_sorted(), "{text}: {order:?}");
    }
    let statistics = queue.statistics().await.unwrap();
    // What was there is there, and finished.
    assert!(
        statistics.done + statistics.dead + statistics.canceled >= 11,
        "{text}: {statistics:?}"
    );
    // Nobody can say anything with an old token.
    for lease in before.leases.iter().chain([&before.expired]) {
        let entry = queue.get(lease.id).await.unwrap().unwrap();
        assert!(entry.attempts <= entry.max_attempts, "{text}");
        if entry
            .lease
            .as_ref()
            .is_some_and(|(_, token, _)| *token != lease.token)
        {
            assert!(queue.ack(lease).await.is_err(), "{text}");
            assert!(queue.heartbeat(lease).await.is_err(), "{text}");
        }
    }
}

async fn a_failure_at_any_write_loses_nothing(db: &Db) {
    for &operation in OPERATIONS {
        for lost_reply in [false, true] {
            for nth in 1.. {
                let text = format!("{operation:?}, write {nth}, lost reply {lost_reply}");
                let (queue, clock) = queue(db).await;
                let before = prepare(&queue, &clock).await;
                let (faulty, faults) = queue.db().faulty();
                faults.add(match lost_reply {
                    true => Fault::nth_write(nth).after(Error::new(ErrorKind::Network, "connection reset")),
                    false => Fault::nth_write(nth).crash(),
                });
                let doomed: Queue<Work> = Queue::with_options(&faulty, "work", options());
                perform(&doomed, operation, &before).await.ok();
                let hit = faults.failures() > 0;
                faults.clear();
                // Who was not answered asks again.
                if lost_reply && hit {
                    let again = perform(&doomed, operation, &before).await;
                    if matches!(
                        operation,
                        Operation::Ack | Operation::AckMany | Operation::FailForGood | Operation::Heartbeat
                    ) {
                        again.unwrap_or_else(|error| panic!("{text}: {error}"));
                    }
                }
                check(&queue, &clock, &before, &text).await;
                clear(&queue).await;
                if !hit {
                    assert!(nth > 1, "{text}: nothing was written");
                    break;
                }
            }
        }
    }
}

async fn what_comes_behind_a_job_that_fails_is_not_enqueued(db: &Db) {
    let (queue, _) = queue(db).await;
    let (db, faults) = queue.db().faulty();
    let (db, log) = db.logged();
    let faulty = queue.on(&db);
    let jobs = || {
        (1..=6).map(|job| match job {
            3 | 4 => New::job(Work::Number(job)).unique(job.to_string()),
            _ => New::job(Work::Number(job)),
        })
    };
    faults.add(Fault::nth("findAndModify", 2).before(Error::new(ErrorKind::Network, "lost (injected)")));
    faulty.enqueue_many(jobs()).await.unwrap_err();
    let there = queue.list(State::Ready, 0).await.unwrap();
    let there: BTreeSet<i32> = there.iter().map(|entry| number(&entry.job)).collect();
    assert_eq!(there, BTreeSet::from([1, 2, 3]));
    // One round trip for those that follow each other.
    log.take();
    let enqueued = faulty.enqueue_many(jobs()).await.unwrap();
    assert_eq!(log.counts(), [("insert", 2), ("findAndModify", 2)]);
    let kept = enqueued.iter().map(|enqueued| !enqueued.is_added());
    assert_eq!(
        kept.collect::<Vec<_>>(),
        [false, false, true, false, false, false]
    );
}

async fn a_batch_is_kept_when_what_is_no_job_cannot_be_buried(db: &Db) {
    let (queue, clock) = queue(db).await;
    for job in 1..=3 {
        queue.enqueue(Work::Number(job)).await.unwrap();
        clock.step(1);
    }
    let work = queue.db().raw_collection("work");
    let first = queue.list(State::Ready, 0).await.unwrap()[0].id;
    let unread = doc! { "$set": { "message": "no job" } };
    work.update_one(doc! { "_id": first }, unread).await.unwrap();
    let (faulty, faults) = queue.db().faulty();
    let claims = Queue::<Work>::with_options(&faulty, "work", options());
    assert!(!claims.is_paused().await.unwrap());
    // The claim is a write, and so is the burial.
    let lost = || Error::new(ErrorKind::Network, "connection reset");
    faults.add(Fault::nth_write(2).before(lost()));
    let claimed = claims.claim_many(3).await.unwrap();
    let numbers: Vec<i32> = claimed.iter().map(|claimed| number(&claimed.job)).collect();
    assert_eq!((numbers, faults.failures()), (vec![2, 3], 1));
    assert_eq!(claims.ack_many(&claimed).await.unwrap(), []);
    // The end of its lease tries it again; when there is nothing else, the error is told.
    for attempt in 2..=3 {
        clock.advance(seconds(10));
        let is_last = attempt == 3;
        if !is_last {
            faults.add(Fault::nth_write(3).before(lost()));
        }
        assert_eq!(claims.claim().await.is_err(), !is_last);
    }
    assert_eq!(queue.get(first).await.unwrap_err().kind(), ErrorKind::Decode);
    assert_eq!(queue.statistics().await.unwrap().dead, 1);
}
