//! The worker loop. The clock is the case's: nothing happens by itself.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bson::doc;
use futures_util::future::{join, pending};
use odm::Db;
use odm::backend::wrap::Fault;
use odm_patterns::queue::{Failure, New, Queue, State, Stop, Task, Wait, Worker};
use tokio::sync::oneshot;

use super::queue_model::{Clock, Work, clear, number, options, queue, queue_with, seconds, until};

crate::on_every_backend! {
    a_worker_does_what_there_is,
    failed_jobs_come_back_by_themselves,
    a_long_job_keeps_its_lease,
    a_handler_is_told_to_stop,
    a_worker_ends_in_good_order,
    an_idle_worker_is_woken,
    a_worker_goes_on_after_errors,
    a_handler_completes_its_job_in_a_transaction,
}

fn worker(queue: &Queue<Work>, clock: &Clock) -> Worker<Work> {
    Worker::new(queue).wait_with(clock.clone()).watch(false)
}

/// Waits by the clock, and counts how often a sign of life was waited for: every three seconds.
fn counted(clock: &Clock) -> (impl Wait + 'static, Arc<AtomicU32>) {
    let beats = Arc::new(AtomicU32::new(0));
    let (clock, count) = (clock.clone(), beats.clone());
    let wait = move |length: Duration| {
        let waiting = clock.wait(length);
        count.fetch_add(u32::from(length == seconds(3)), Ordering::SeqCst);
        waiting
    };
    (wait, beats)
}

async fn state(queue: &Queue<Work>, job: i32) -> Option<State> {
    let mut found = None;
    for state in State::ALL {
        for entry in queue.list(state, 0).await.unwrap() {
            if entry.job == Work::Number(job) {
                found = Some(entry.state);
            }
        }
    }
    found
}

async fn ended(end: oneshot::Receiver<()>) {
    end.await.ok();
}

async fn a_worker_does_what_there_is(db: &Db) {
    let (queue, clock) = queue(db).await;
    queue.enqueue_many((0..30).map(Work::Number)).await.unwrap();
    let most = Arc::new(AtomicU32::new(0));
    let now = Arc::new(AtomicU32::new(0));
    let summary = worker(&queue, &clock)
        .concurrency(4)
        .until_empty()
        .run(
            async |task: Task<Work>| {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                now.fetch_sub(1, Ordering::SeqCst);
                match number(&task.job) {
                    7 => Err(Failure::dead("seven")),
                    8 => panic!("eight"),
                    9 => Ok("nein".parse::<i32>()?),
                    job => Ok(job * 2),
                }
            },
            pending(),
        )
        .await;
    assert_eq!(
        (summary.done, summary.failed, summary.lost, summary.errors),
        (27, 3, 0, 0)
    );
    assert!((2..=4).contains(&most.load(Ordering::SeqCst)));
    let done = queue.list(State::Done, 0).await.unwrap();
    for entry in done {
        assert_eq!(entry.result::<i32>().unwrap(), Some(number(&entry.job) * 2));
    }
    assert_eq!(state(&queue, 7).await, Some(State::Dead));
    assert_eq!(state(&queue, 8).await, Some(State::Failed));
    let failed = queue.list(State::Failed, 0).await.unwrap();
    let errors: Vec<_> = failed
        .iter()
        .map(|entry| entry.errors[0].error.as_str())
        .collect();
    assert_eq!(failed.len(), 2);
    assert!(errors.contains(&"the handler panicked") && errors.contains(&"invalid digit found in string"));
}

async fn failed_jobs_come_back_by_themselves(db: &Db) {
    // The clock runs on while a claim is on its way: no lease may end by that.
    let (queue, clock) = queue_with(db, options().lease(seconds(86_400))).await;
    queue.enqueue(Work::Number(1)).await.unwrap();
    queue
        .enqueue(New::job(Work::Number(2)).delay(seconds(25)))
        .await
        .unwrap();
    let (end, asked) = oneshot::channel();
    let attempts = Mutex::new(Vec::new());
    let worker = worker(&queue, &clock);
    let run = worker.run(
        async |task: Task<Work>| {
            attempts
                .lock()
                .unwrap()
                .push((number(&task.job), task.lease.attempt));
            match task.lease.attempt {
                3 => Ok(()),
                _ => Err(Failure::retry("not yet")),
            }
        },
        ended(asked),
    );
    let drive = async {
        until(async || {
            let statistics = queue.statistics().await.unwrap();
            // A handler has all the time it needs.
            if statistics.running == 0 {
                clock.step(500);
            }
            statistics.done == 2
        })
        .await;
        end.send(()).unwrap();
    };
    let (summary, ()) = join(run, drive).await;
    assert_eq!((summary.done, summary.failed), (2, 4));
    let mut attempts = attempts.into_inner().unwrap();
    attempts.sort_unstable();
    assert_eq!(attempts, [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]);
}

async fn a_long_job_keeps_its_lease(db: &Db) {
    let (queue, clock) = queue(db).await;
    let id = queue.enqueue(Work::Number(1)).await.unwrap().id;
    let (finish, finished) = oneshot::channel::<()>();
    let finished = Mutex::new(Some(finished));
    let (wait, beats) = counted(&clock);
    let worker = worker(&queue, &clock)
        .wait_with(wait)
        .until_empty()
        .heartbeat(seconds(3));
    let run = worker.run(
        async |task: Task<Work>| {
            let finished = finished.lock().unwrap().take().unwrap();
            task.set_progress(&"begun").await.map_err(Failure::from)?;
            finished.await.map_err(Failure::from)
        },
        pending(),
    );
    let drive = async {
        until(async || {
            let entry = queue.get(id).await.unwrap().unwrap();
            entry.progress::<String>().unwrap().is_some()
        })
        .await;
        for beat in 1..=10 {
            until(async || beats.load(Ordering::SeqCst) >= beat).await;
            clock.advance(seconds(3));
        }
        until(async || beats.load(Ordering::SeqCst) >= 11).await;
        let lease = queue.get(id).await.unwrap().unwrap().lease.unwrap();
        assert_eq!(lease.2.timestamp_millis(), clock.now() + 10_000);
        finish.send(()).unwrap();
    };
    let (summary, ()) = join(run, drive).await;
    assert_eq!((summary.done, summary.lost), (1, 0));
    assert_eq!(queue.get(id).await.unwrap().unwrap().attempts, 1);
}

async fn a_handler_is_told_to_stop(db: &Db) {
    let (queue, clock) = queue(db).await;
    let canceled = queue.enqueue(Work::Number(1)).await.unwrap().id;
    let lost = queue.enqueue(Work::Number(2)).await.unwrap().id;
    let stops = Mutex::new(Vec::new());
    let (wait, beats) = counted(&clock);
    let worker = worker(&queue, &clock)
        .wait_with(wait)
        .concurrency(2)
        .until_empty()
        .heartbeat(seconds(3));
    let run = worker.run(
        async |task: Task<Work>| {
            let stop = task.signal().raised().await;
            assert!(task.signal().is_raised());
            stops.lock().unwrap().push((number(&task.job), stop));
            match stop {
                Stop::Canceled => Err::<(), _>(Failure::canceled()),
                _ => Ok(()),
            }
        },
        pending(),
    );
    let drive = async {
        until(async || beats.load(Ordering::SeqCst) >= 2).await;
        queue.cancel(canceled).await.unwrap();
        // As if somebody else had claimed it.
        let raw = queue.db().raw_collection("work");
        raw.update_one(doc! { "_id": lost }, doc! { "$inc": { "lease.token": 1_i64 } })
            .await
            .unwrap();
        clock.advance(seconds(3));
    };
    let (summary, ()) = join(run, drive).await;
    assert_eq!((summary.done, summary.failed, summary.lost), (0, 1, 1));
    let mut stops = stops.into_inner().unwrap();
    stops.sort_by_key(|(job, _)| *job);
    assert_eq!(stops, [(1, Stop::Canceled), (2, Stop::LeaseLost)]);
    assert_eq!(queue.get(canceled).await.unwrap().unwrap().state, State::Canceled);
    assert_eq!(queue.get(lost).await.unwrap().unwrap().state, State::Running);
}

async fn a_worker_ends_in_good_order(db: &Db) {
    let (queue, clock) = queue(db).await;
    queue.enqueue_many((1..=4).map(Work::Number)).await.unwrap();
    let (end, asked) = oneshot::channel();
    let worker = worker(&queue, &clock)
        .concurrency(3)
        .grace(seconds(5))
        .heartbeat(seconds(3600));
    let run = worker.run(
        async |task: Task<Work>| {
            assert_eq!(task.signal().raised().await, Stop::ShuttingDown);
            // One of them does not care.
            if task.lease.token == 1 && task.id() == task.queue().list(State::Running, 1).await?[0].id {
                pending::<()>().await;
            }
            Ok(())
        },
        ended(asked),
    );
    let drive = async {
        until(async || queue.statistics().await.unwrap().running == 3).await;
        end.send(()).unwrap();
        until(async || queue.statistics().await.unwrap().running == 1).await;
        clock.advance(seconds(5));
    };
    let (summary, ()) = join(run, drive).await;
    assert_eq!((summary.done, summary.released, summary.lost), (2, 1, 0));
    let statistics = queue.statistics().await.unwrap();
    assert_eq!((statistics.ready, statistics.running, statistics.done), (2, 0, 2));
    // It was given back as if it had not been claimed.
    let claimed = queue.claim_many(2).await.unwrap();
    assert!(claimed.iter().all(|claimed| claimed.lease.attempt == 1));
}

async fn an_idle_worker_is_woken(db: &Db) {
    for watch in [false, true] {
        let (queue, clock) = queue(db).await;
        // The clock stands still, so that nothing is found by looking again.
        let producer = match watch {
            false => queue.clone(),
            true => Queue::with_options(queue.db(), "work", options()),
        };
        let (end, asked) = oneshot::channel();
        let worker = worker(&queue, &clock).watch(watch);
        let run = worker.run(async |_: Task<Work>| Ok(()), ended(asked));
        let drive = async {
            for job in 1..=4_u64 {
                // A change stream that is not open yet sees nothing: then there is polling.
                for _ in 0..50 {
                    tokio::task::yield_now().await;
                }
                producer.enqueue(Work::Number(job as i32)).await.unwrap();
                let (mut asked, before) = (0, clock.now());
                until(async || {
                    asked += 1;
                    if watch && asked % (if job < 4 { 200 } else { 50_000 }) == 0 {
                        clock.advance(seconds(1));
                    }
                    queue.statistics().await.unwrap().done == job
                })
                .await;
                // By now the stream is open.
                assert!(job < 4 || clock.now() == before, "it was not woken");
            }
            end.send(()).unwrap();
        };
        let (summary, ()) = join(run, drive).await;
        assert_eq!((summary.done, summary.errors), (4, 0));
        clear(&queue).await;
    }
}

async fn a_worker_goes_on_after_errors(db: &Db) {
    // The clock runs on while a claim is on its way: leases end for want of a reply alone.
    let options = || options().lease(seconds(600));
    let (queue, clock) = queue_with(db, options()).await;
    queue.enqueue_many((0..10).map(Work::Number)).await.unwrap();
    let (faulty, faults) = queue.db().faulty();
    let errors = Arc::new(AtomicU32::new(0));
    let noted = errors.clone();
    let (end, asked) = oneshot::channel();
    let doomed: Queue<Work> = Queue::with_options(&faulty, "work", options());
    let lost_reply = || odm::Error::new(odm::ErrorKind::Network, "connection reset");
    for nth in [1, 4, 9, 15] {
        faults.add(Fault::nth_operation(nth).before(lost_reply()));
    }
    for nth in [6, 12, 20] {
        faults.add(Fault::nth_write(nth).after(lost_reply()));
    }
    let worker = worker(&doomed, &clock).on_error(move |error| {
        assert_eq!(error.kind(), odm::ErrorKind::Network);
        noted.fetch_add(1, Ordering::SeqCst);
    });
    let run = worker.run(async |_: Task<Work>| Ok(()), ended(asked));
    let drive = async {
        until(async || {
            clock.step(200);
            queue.statistics().await.unwrap().done == 10
        })
        .await;
        end.send(()).unwrap();
    };
    let (summary, ()) = join(run, drive).await;
    assert!(summary.done + summary.lost >= 9, "{summary:?}");
    assert!(errors.load(Ordering::SeqCst) >= 4);
}

async fn a_handler_completes_its_job_in_a_transaction(db: &Db) {
    let (queue, clock) = queue(db).await;
    let accounts = queue.db().raw_collection("accounts");
    accounts.insert(doc! { "_id": 1, "balance": 0 }).await.unwrap();
    queue.enqueue_many((1..=3).map(Work::Number)).await.unwrap();
    let db = queue.db().clone();
    let summary = worker(&queue, &clock)
        .until_empty()
        .run(
            async |task: Task<Work>| {
                let task = &task;
                db.transaction(async |tx| {
                    let accounts = tx.raw_collection("accounts");
                    let raise = doc! { "$inc": { "balance": number(&task.job) } };
                    accounts.update_one(doc! { "_id": 1 }, raise).await?;
                    task.complete_with_on(&tx, &"booked").await
                })
                .await?;
                Ok(())
            },
            pending(),
        )
        .await;
    assert_eq!((summary.done, summary.errors), (3, 0));
    assert_eq!(
        accounts.get(bson::Bson::Int32(1)).await.unwrap(),
        Some(doc! { "_id": 1, "balance": 6 })
    );
    for entry in queue.list(State::Done, 0).await.unwrap() {
        assert_eq!(entry.result::<String>().unwrap().as_deref(), Some("booked"));
    }
}
