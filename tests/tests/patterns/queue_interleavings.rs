//! All orders in which the operations of two who share a queue, or a key, can follow each other.

use std::sync::{Arc, Mutex};

use bson::{DateTime, doc};
use odm::Db;
use odm_patterns::idempotency::{Keys, Ran};
use odm_patterns::queue::{Cancel, Duplicates, Enqueued, New, Outcome, Policy, Queue, State};
use odm_tests::interleavings::{every_interleaving, every_interleaving_of};

use super::queue_model::{START, Work, number, options};

/// The queue by a clock that stands so many seconds after the start.
fn at(db: &Db, seconds: i64) -> Queue<Work> {
    let now = DateTime::from_millis(START + seconds * 1_000);
    Queue::with_options(&db.with_clock(move || now), "work", options())
}

async fn with_jobs(jobs: impl IntoIterator<Item = New<Work>>) -> Db {
    let db = Db::open("memory:").await.unwrap();
    let queue = at(&db, 0);
    queue.prepare().await.unwrap();
    queue.enqueue_many(jobs).await.unwrap();
    db
}

/// What is ready or becomes so, acknowledged: the numbers.
async fn work_off(db: &Db) -> Vec<i32> {
    let mut done = Vec::new();
    for hour in 1..10 {
        let queue = at(db, hour * 3_600);
        queue.tend().await.unwrap();
        while let Some(claimed) = queue.claim().await.unwrap() {
            queue.ack(&claimed).await.unwrap();
            done.push(number(&claimed.job));
        }
    }
    assert_eq!(at(db, 0).statistics().await.unwrap().unfinished(), 0);
    done
}

/// A worker whose lease is over as soon as its successor looks.
#[tokio::test]
async fn a_job_is_acknowledged_once_by_a_worker_and_its_successor() {
    let acked = Arc::new(Mutex::new(0));
    let orders = every_interleaving(
        async || with_jobs([New::job(Work::Number(1))]).await,
        |db, n| {
            let acked = acked.clone();
            Box::pin(async move {
                let queue = at(db, 20 * n as i64);
                if n == 1 {
                    queue.tend().await.unwrap();
                }
                if let Some(claimed) = queue.claim().await.unwrap() {
                    queue.heartbeat(&claimed).await.ok();
                    *acked.lock().unwrap() += usize::from(queue.ack(&claimed).await.is_ok());
                }
            })
        },
        async |db, order| {
            let left = work_off(db).await;
            let accepted = std::mem::take(&mut *acked.lock().unwrap());
            assert_eq!(accepted + left.len(), 1, "{order:?}");
            let job = at(db, 0).list(State::Done, 0).await.unwrap().remove(0);
            let token = job.lease.as_ref().map(|(_, token, _)| *token);
            assert_eq!(token, Some(i64::from(job.attempts)), "{order:?}");
        },
    );
    let orders = orders.await;
    println!("{orders} orders of a worker and its successor");
    assert!(orders > 100, "{orders}");
}

/// Of one who replaces a job by its key, and one who works on that job.
#[tokio::test]
async fn what_replaces_a_job_is_worked_on_or_was_kept_out() {
    let seen: Arc<Mutex<(Option<Enqueued>, Vec<i32>)>> = Arc::default();
    let orders = every_interleaving(
        async || with_jobs([New::job(Work::Number(1)).unique("key")]).await,
        |db, n| {
            let seen = seen.clone();
            Box::pin(async move {
                let queue = at(db, 0);
                if n == 0 {
                    let replacing = Duplicates::of("key").policy(Policy::Replace);
                    let new = New::job(Work::Number(2)).duplicates(replacing);
                    let enqueued = queue.enqueue(new).await.unwrap();
                    seen.lock().unwrap().0 = Some(enqueued);
                } else if let Some(claimed) = queue.claim().await.unwrap() {
                    queue.ack(&claimed).await.unwrap();
                    seen.lock().unwrap().1.push(number(&claimed.job));
                }
            })
        },
        async |db, order| {
            let (enqueued, mut done) = std::mem::take(&mut *seen.lock().unwrap());
            done.extend(work_off(db).await);
            let expected: &[i32] = match enqueued.unwrap().outcome {
                Outcome::Added => &[1, 2],
                Outcome::Replaced => &[2],
                // It ran.
                Outcome::Kept => &[1],
                other => panic!("{other:?}"),
            };
            assert_eq!(done, expected, "{order:?}");
        },
    );
    assert!(orders.await > 10);
}

#[tokio::test]
async fn a_key_that_two_enqueue_is_enqueued_once() {
    let added = Arc::new(Mutex::new(0));
    let orders = every_interleaving(
        async || with_jobs([]).await,
        |db, n| {
            let added = added.clone();
            Box::pin(async move {
                let new = New::job(Work::Number(n as i32)).unique("key");
                let enqueued = at(db, 0).enqueue(new).await.unwrap();
                *added.lock().unwrap() += usize::from(enqueued.is_added());
            })
        },
        async |db, order| {
            assert_eq!(std::mem::take(&mut *added.lock().unwrap()), 1, "{order:?}");
            assert_eq!(work_off(db).await.len(), 1, "{order:?}");
        },
    );
    assert!(orders.await > 1);
}

/// Two who end the jobs of a group at the same time, one of them by calling off.
#[tokio::test]
async fn of_a_group_one_at_a_time_is_let_go_by_whoever_ends_the_one_before() {
    let orders = every_interleaving(
        async || with_jobs((1..=3).map(|n| New::job(Work::Number(n)).group("group"))).await,
        |db, n| {
            Box::pin(async move {
                let queue = at(db, 0);
                if n == 0 {
                    let claimed = queue.claim().await.unwrap().expect("the first is ready");
                    assert_eq!(number(&claimed.job), 1);
                    queue.ack(&claimed).await.unwrap();
                } else {
                    let second = queue.list(State::Waiting, 0).await.unwrap();
                    let second = second.iter().find(|job| number(&job.job) == 2);
                    queue
                        .cancel(second.map(|job| job.id).unwrap_or_default())
                        .await
                        .unwrap();
                }
            })
        },
        async |db, order| {
            let queue = at(db, 0);
            let (ready, waiting) = (
                queue.list(State::Ready, 0).await.unwrap().len(),
                queue.list(State::Waiting, 0).await.unwrap().len(),
            );
            assert!(ready <= 1 && ready + waiting <= 2, "{order:?}");
            let left = work_off(db).await;
            assert!(left == [3] || left == [2, 3], "{left:?} after {order:?}");
        },
    );
    assert!(orders.await > 10);
}

#[tokio::test]
async fn what_two_run_under_one_key_is_done_once() {
    let ran = Arc::new(Mutex::new(Vec::new()));
    let orders = every_interleaving(
        async || {
            let db = Db::open("memory:").await.unwrap();
            let accounts = db.raw_collection("accounts");
            accounts.insert(doc! { "_id": 1, "balance": 0 }).await.unwrap();
            // So that no order begins by creating it.
            Keys::new(&db).sync_indexes().await.unwrap();
            db
        },
        |db, _| {
            let ran = ran.clone();
            Box::pin(async move {
                let keys = Keys::new(db);
                let done = keys.run("payments", "key", &30, async |tx| {
                    let accounts = tx.raw_collection("accounts");
                    let paid = accounts.update_one(doc! { "_id": 1 }, doc! { "$inc": { "balance": 30 } });
                    paid.await?;
                    Ok(Ok::<i32, String>(30))
                });
                let done = done.await.unwrap();
                ran.lock().unwrap().push(done);
            })
        },
        async |db, order| {
            let accounts = db.raw_collection("accounts").find(doc! {}).await.unwrap();
            assert_eq!(accounts, [doc! { "_id": 1, "balance": 30 }], "{order:?}");
            let ran = std::mem::take(&mut *ran.lock().unwrap());
            assert_eq!(ran.len(), 2);
            for answer in [Ran::Now(Ok(30)), Ran::Replayed(Ok(30))] {
                assert!(ran.contains(&answer), "{ran:?} after {order:?}");
            }
        },
    );
    let orders = orders.await;
    println!("{orders} orders of two who run the same key");
    assert!(orders > 10, "{orders}");
}

/// Of one who calls a job off, and one who takes it from a worker that died.
#[tokio::test]
async fn a_job_that_is_called_off_while_it_is_taken_back_does_not_run_again() {
    let answer = Arc::new(Mutex::new(None));
    let orders = every_interleaving(
        async || {
            let db = with_jobs([New::job(Work::Number(1))]).await;
            at(&db, 0).claim().await.unwrap().expect("it is ready");
            db
        },
        |db, n| {
            let answer = answer.clone();
            Box::pin(async move {
                let queue = at(db, 20);
                if n == 0 {
                    queue.tend().await.unwrap();
                } else {
                    let running = queue.list(State::Running, 0).await.unwrap();
                    let Some(job) = running.first() else { return };
                    let canceled = queue.cancel(job.id).await.unwrap();
                    *answer.lock().unwrap() = Some(canceled);
                }
            })
        },
        async |db, order| {
            let expected: &[i32] = match answer.lock().unwrap().take() {
                Some(Cancel::Asked | Cancel::Canceled) => &[],
                None => &[1],
                other => panic!("{other:?}"),
            };
            assert_eq!(work_off(db).await, expected, "{order:?}");
        },
    );
    assert!(orders.await > 10);
}

/// Of one who enqueues jobs of a group, and one who works on them as they come.
#[tokio::test]
async fn jobs_of_a_group_that_come_together_are_worked_on_in_their_order() {
    let done = Arc::new(Mutex::new(Vec::new()));
    let orders = every_interleaving_of(
        3,
        async || with_jobs([]).await,
        |db, n| {
            let done = done.clone();
            Box::pin(async move {
                let queue = at(db, 0);
                if n == 0 {
                    let job = |number| New::job(Work::Number(number)).group("group");
                    let jobs = [job(1), job(2).unique("two"), job(3)];
                    queue.enqueue_many(jobs).await.unwrap();
                    return;
                }
                queue.tend().await.unwrap();
                while let Some(claimed) = queue.claim().await.unwrap() {
                    queue.ack(&claimed).await.unwrap();
                    done.lock().unwrap().push(number(&claimed.job));
                }
            })
        },
        async |db, order| {
            let mut done = std::mem::take(&mut *done.lock().unwrap());
            done.extend(work_off(db).await);
            assert_eq!(done, [1, 2, 3], "{order:?}");
        },
    );
    assert!(orders.await > 10);
}
