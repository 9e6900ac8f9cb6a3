//! The worker loop. The clock is the case's: nothing happens by itself.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bson::doc;
use futures_util::future::{join, join_all, pending};
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
    a_worker_until_empty_does_what_its_groups_let_go,
    a_worker_until_empty_does_what_becomes_ready_meanwhile,
    a_worker_until_empty_waits_for_permits,
    a_worker_until_empty_leaves_what_is_not_ready,
    workers_until_empty_leave_nothing_to_each_other,
    a_worker_until_empty_passes_over_what_is_no_job,
    a_job_that_a_worker_claims_again_while_it_runs_is_two_of_its_jobs,
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

async fn left(queue: &Queue<Work>) -> (u64, u64) {
    let statistics = queue.statistics().await.unwrap();
    (statistics.ready, statistics.waiting)
}

fn in_group(group: &str, job: i32) -> New<Work> {
    New::job(Work::Number(job)).group(group)
}

async fn a_worker_until_empty_does_what_its_groups_let_go(db: &Db) {
    for concurrency in [1, 2, 5] {
        for (groups, limit) in [(1, 1), (3, 1), (1, 2)] {
            let (queue, clock) = queue_with(db, options().group_limit(limit)).await;
            for job in 0..20 {
                let group = format!("group {}", job % groups);
                queue.enqueue(in_group(&group, job)).await.unwrap();
            }
            let order = Mutex::new(Vec::new());
            let run = worker(&queue, &clock).concurrency(concurrency).until_empty();
            let summary = run
                .run(
                    async |task: Task<Work>| {
                        order.lock().unwrap().push(number(&task.job));
                        tokio::time::sleep(Duration::from_millis(1)).await;
                        Ok::<_, Failure>(())
                    },
                    pending(),
                )
                .await;
            let context = format!("{concurrency} at a time, {groups} groups of {limit}");
            assert_eq!((summary.done, summary.errors), (20, 0), "{context}");
            assert_eq!(left(&queue).await, (0, 0), "{context}");
            let order = order.into_inner().unwrap();
            for group in (0..groups).filter(|_| limit == 1) {
                let of_group = order.iter().filter(|job| *job % groups == group);
                assert!(of_group.is_sorted(), "{context}: {order:?}");
            }
            clear(&queue).await;
        }
    }
}

async fn a_worker_until_empty_does_what_becomes_ready_meanwhile(db: &Db) {
    for concurrency in [1, 2, 5] {
        let (queue, clock) = queue(db).await;
        // This handle rings no bell of the worker's.
        let elsewhere: Queue<Work> = Queue::with_options(queue.db(), "work", options());
        queue.enqueue(Work::Number(1)).await.unwrap();
        let summary = worker(&queue, &clock)
            .concurrency(concurrency)
            .until_empty()
            .run(
                async |task: Task<Work>| {
                    // By now a second look has found nothing.
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    match (number(&task.job), task.lease.attempt) {
                        (4, 1) => Err(Failure::retry("at once").after(Duration::ZERO)),
                        (4, _)
                            if queue
                                .get(task.id())
                                .await?
                                .is_some_and(|entry| entry.errors.len() < 3) =>
                        {
                            Err(Failure::retry("and again").after(Duration::ZERO))
                        }
                        (job @ 1..4, _) => {
                            elsewhere.enqueue(Work::Number(job + 1)).await?;
                            Ok(())
                        }
                        _ => Ok(()),
                    }
                },
                pending(),
            )
            .await;
        assert_eq!(left(&queue).await, (0, 0), "{concurrency} at a time: {summary:?}");
        assert_eq!((summary.done, summary.failed), (3, 3), "{concurrency} at a time");
        assert_eq!(state(&queue, 4).await, Some(State::Dead));
        clear(&queue).await;
    }
}

async fn a_worker_until_empty_waits_for_permits(db: &Db) {
    for concurrency in [1, 2, 5] {
        let (queue, clock) =
            queue_with(db, options().lease(seconds(86_400)).rate_limit(3, seconds(30))).await;
        queue.enqueue_many((0..10).map(Work::Number)).await.unwrap();
        let run = worker(&queue, &clock).concurrency(concurrency).until_empty();
        let run = run.run(async |_: Task<Work>| Ok::<_, Failure>(()), pending());
        let (end, mut ended) = oneshot::channel();
        let run = async {
            let summary = run.await;
            end.send(()).unwrap();
            summary
        };
        let drive = until(async || {
            clock.step(500);
            ended.try_recv().is_ok()
        });
        let begun = clock.now();
        let (summary, ()) = join(run, drive).await;
        assert_eq!((summary.done, summary.errors), (10, 0), "{concurrency} at a time");
        assert_eq!(left(&queue).await, (0, 0));
        assert!(clock.now() - begun >= 70_000, "{concurrency} at a time");
        clear(&queue).await;
    }
}

async fn a_worker_until_empty_leaves_what_is_not_ready(db: &Db) {
    for concurrency in [1, 2, 5] {
        let (queue, clock) = queue(db).await;
        for job in 0..5 {
            queue.enqueue(in_group("group", job)).await.unwrap();
        }
        queue
            .enqueue(New::job(Work::Number(5)).delay(seconds(1)))
            .await
            .unwrap();
        let summary = worker(&queue, &clock)
            .concurrency(concurrency)
            .until_empty()
            .run(
                async |task: Task<Work>| match number(&task.job) {
                    1 => Err(Failure::retry("not yet")),
                    _ => Ok(()),
                },
                pending(),
            )
            .await;
        // The order of a group is kept, so that the others wait for the one that failed.
        assert_eq!((summary.done, summary.failed), (1, 1), "{concurrency} at a time");
        let statistics = queue.statistics().await.unwrap();
        let counts = (
            statistics.ready,
            statistics.waiting,
            statistics.scheduled,
            statistics.failed,
        );
        assert_eq!(counts, (0, 3, 1, 1), "{concurrency} at a time");
        // It ends at once when the queue is paused, and leaves all.
        clock.advance(seconds(100));
        queue.pause().await.unwrap();
        let paused = worker(&queue, &clock).concurrency(concurrency).until_empty();
        let summary = paused
            .run(async |_: Task<Work>| Ok::<_, Failure>(()), pending())
            .await;
        assert_eq!((summary.done, summary.errors), (0, 0));
        queue.resume().await.unwrap();
        let summary = paused
            .run(async |_: Task<Work>| Ok::<_, Failure>(()), pending())
            .await;
        assert_eq!(
            (summary.done, left(&queue).await),
            (5, (0, 0)),
            "{concurrency} at a time"
        );
        clear(&queue).await;
    }
}

async fn workers_until_empty_leave_nothing_to_each_other(db: &Db) {
    for concurrency in [1, 2, 5] {
        for groups in [0, 1, 4] {
            let (queue, clock) = queue(db).await;
            for job in 0..20 {
                let new = New::job(Work::Number(job));
                let new = match groups {
                    0 => new,
                    _ => new.group(format!("group {}", job % groups)),
                };
                queue.enqueue(new).await.unwrap();
            }
            let others: Vec<Queue<Work>> = (0..3)
                .map(|_| Queue::with_options(queue.db(), "work", options()))
                .collect();
            let runs = others.iter().map(|queue| {
                let worker = worker(queue, &clock).concurrency(concurrency).until_empty();
                async move {
                    let handler = async |_: Task<Work>| {
                        tokio::task::yield_now().await;
                        Ok::<_, Failure>(())
                    };
                    worker.run(handler, pending()).await
                }
            });
            let done: u64 = join_all(runs).await.iter().map(|summary| summary.done).sum();
            let context = format!("{concurrency} at a time, {groups} groups");
            assert_eq!((done, left(&queue).await), (20, (0, 0)), "{context}");
            clear(&queue).await;
        }
    }
}

async fn a_worker_until_empty_passes_over_what_is_no_job(db: &Db) {
    for concurrency in [1, 2, 5] {
        // The clock runs on while a claim is on its way: no lease may end by that.
        let options = || options().lease(seconds(86_400));
        let (queue, clock) = queue_with(db, options()).await;
        let strangers: Queue<String> = Queue::with_options(queue.db(), "work", options());
        strangers
            .enqueue_many((0..7).map(|n| n.to_string()))
            .await
            .unwrap();
        queue.enqueue(Work::Number(1)).await.unwrap();
        // The first look fails, as does the second.
        let (faulty, faults) = queue.db().faulty();
        let lost = || odm::Error::new(odm::ErrorKind::Network, "connection reset");
        faults.add(Fault::nth_operation(1).before(lost()));
        faults.add(Fault::nth_operation(2).before(lost()));
        let doomed: Queue<Work> = Queue::with_options(&faulty, "work", options());
        let worker = worker(&doomed, &clock).concurrency(concurrency).until_empty();
        let (end, mut ended) = oneshot::channel();
        let run = async {
            let summary = worker
                .run(async |_: Task<Work>| Ok::<_, Failure>(()), pending())
                .await;
            end.send(()).unwrap();
            summary
        };
        let drive = until(async || {
            clock.step(200);
            ended.try_recv().is_ok()
        });
        let (summary, ()) = join(run, drive).await;
        assert_eq!((summary.done, summary.errors), (1, 2), "{concurrency} at a time");
        let statistics = queue.statistics().await.unwrap();
        assert_eq!(
            (statistics.ready, statistics.dead),
            (0, 7),
            "{concurrency} at a time"
        );
        clear(&queue).await;
    }
}

/// A lease that ends while its handler runs: the machine slept, or the clock jumped.
async fn a_job_that_a_worker_claims_again_while_it_runs_is_two_of_its_jobs(db: &Db) {
    let (queue, clock) = queue(db).await;
    let id = queue.enqueue(Work::Number(1)).await.unwrap().id;
    let (wake, slept) = oneshot::channel::<()>();
    let (wake, slept) = (Mutex::new(Some(wake)), Mutex::new(Some(slept)));
    let (now, most) = (AtomicU32::new(0), AtomicU32::new(0));
    let (wait, waits) = counted(&clock);
    let worker = worker(&queue, &clock)
        .wait_with(wait)
        .concurrency(2)
        .until_empty()
        .poll(seconds(3))
        .tend_every(seconds(3))
        .heartbeat(seconds(3_600));
    let run = worker.run(
        async |task: Task<Work>| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            if task.lease.token == 1 && task.id() == id {
                let slept = slept.lock().unwrap().take().unwrap();
                slept.await.map_err(Failure::from)?;
            } else if task.id() == id {
                // There is no room for a third.
                queue.enqueue(Work::Number(2)).await?;
                for _ in 0..30 {
                    queue.statistics().await?;
                    tokio::task::yield_now().await;
                }
                wake.lock().unwrap().take().unwrap().send(()).unwrap();
                // The first one ends meanwhile; this one still runs.
                for _ in 0..30 {
                    queue.statistics().await?;
                    tokio::task::yield_now().await;
                }
            }
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(())
        },
        pending(),
    );
    let drive = async {
        // It has looked for a second job, and has tended: both are done again by the clock.
        until(async || waits.load(Ordering::SeqCst) == 2).await;
        clock.advance(seconds(11));
    };
    let (summary, ()) = join(run, drive).await;
    assert_eq!((summary.done, summary.lost, summary.released), (2, 1, 0));
    assert_eq!(most.load(Ordering::SeqCst), 2);
    let entry = queue.get(id).await.unwrap().unwrap();
    assert_eq!((entry.state, entry.attempts), (State::Done, 2));
}
