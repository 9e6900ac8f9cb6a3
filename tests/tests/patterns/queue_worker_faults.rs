//! Workers among things that fail: one of them holds up nothing else.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bson::doc;
use futures_util::future::{join, pending};
use odm::{Db, ErrorKind};
use odm_patterns::queue::{Failure, New, Queue, Schedule, State, Stop, Task, Worker};
use tokio::sync::oneshot;

use super::queue_model::{Clock, Work, options, queue, queue_with, seconds, until};

crate::on_every_backend! {
    schedules_that_fail_hold_up_nothing,
    a_result_that_has_no_room_is_not_worked_for_again,
    an_error_that_has_no_room_is_not_worked_for_again,
    a_transaction_that_completes_first_outlasts_the_signs_of_life,
}

fn worker(queue: &Queue<Work>, clock: &Clock) -> Worker<Work> {
    Worker::new(queue).wait_with(clock.clone()).watch(false)
}

fn minutely(name: &str, make: impl Fn() -> Work + Send + Sync + 'static) -> Schedule<Work> {
    Schedule::new(name, "* * * * *", "UTC", move |_| New::job(make())).unwrap()
}

/// What each schedule that fails is said to fail by.
const FAILING: [(&str, ErrorKind); 3] = [
    ("malformed", ErrorKind::Decode),
    ("too large", ErrorKind::InvalidArgument),
    ("panics", ErrorKind::InvalidArgument),
];

/// The first error that says it is about a schedule.
fn about<'e>(errors: &'e [odm::Error], schedule: &str) -> Option<&'e odm::Error> {
    let id = bson::Bson::String(format!("schedule/{schedule}"));
    errors.iter().find(|error| error.id() == Some(&id))
}

async fn schedules_that_fail_hold_up_nothing(db: &Db) {
    let (queue, clock) = queue_with(db, options().keep_done(seconds(1))).await;
    // A dead worker's job, an old one, and enough to do that no claim finds nothing.
    queue
        .enqueue(New::job(Work::Number(1)).priority(9))
        .await
        .unwrap();
    let held = queue.owner("dead").claim().await.unwrap().unwrap();
    queue.enqueue(Work::Number(2)).await.unwrap();
    let old = queue.claim().await.unwrap().unwrap();
    queue.ack(&old).await.unwrap();
    let control = queue.db().raw_collection("work.control");
    control
        .insert(doc! { "_id": "schedule/malformed", "last": 5 })
        .await
        .unwrap();
    queue.enqueue(Work::Number(0)).await.unwrap();

    let errors = Arc::new(Mutex::new(Vec::new()));
    let noted = errors.clone();
    let worker = worker(&queue, &clock)
        .schedule(minutely("malformed", || Work::Number(50)))
        .schedule(minutely("too large", || Work::Mail {
            to: "x".repeat(17 << 20),
        }))
        .schedule(minutely("panics", || panic!("no job today")))
        .schedule(minutely("well", || Work::Number(100)))
        .on_error(move |error| noted.lock().unwrap().push(error.clone()));
    let (end, asked) = oneshot::channel();
    let done = Mutex::new(Vec::new());
    let run = worker.run(
        async |task: Task<Work>| {
            let Work::Number(number) = task.job else {
                return Err(Failure::dead("a mail"));
            };
            done.lock().unwrap().push(number);
            // Something is always ready.
            if number == 0 {
                tokio::time::sleep(Duration::from_millis(2)).await;
                task.queue().enqueue(Work::Number(0)).await?;
            }
            Ok::<_, Failure>(())
        },
        async {
            asked.await.ok();
        },
    );
    let drive = async {
        until(async || {
            clock.step(200);
            tokio::time::sleep(Duration::from_millis(2)).await;
            let done = done.lock().unwrap();
            done.contains(&1) && done.contains(&100)
        })
        .await;
        // The minute may turn between one schedule and the next.
        until(async || {
            clock.step(200);
            tokio::time::sleep(Duration::from_millis(2)).await;
            let errors = errors.lock().unwrap();
            FAILING.iter().all(|(name, _)| about(&errors, name).is_some())
        })
        .await;
        until(async || {
            clock.step(200);
            tokio::time::sleep(Duration::from_millis(2)).await;
            queue.get(old.id()).await.unwrap().is_none()
        })
        .await;
        end.send(()).unwrap();
    };
    let (summary, ()) = join(run, drive).await;
    assert!(summary.errors >= 3, "{summary:?}");
    assert_ne!(
        queue.get(held.id()).await.unwrap().map(|job| job.state),
        Some(State::Running)
    );
    // Each says which schedule it is about.
    let errors = errors.lock().unwrap();
    for (name, kind) in FAILING {
        let found = about(&errors, name).map(odm::Error::kind);
        assert_eq!(found, Some(kind), "{name}: {errors:?}");
    }
}

async fn a_result_that_has_no_room_is_not_worked_for_again(db: &Db) {
    // The clock runs on while the result is on its way.
    let (queue, clock) = queue_with(db, options().lease(seconds(86_400))).await;
    let id = queue.enqueue(Work::Number(1)).await.unwrap().id;
    let times = AtomicU32::new(0);
    let run = worker(&queue, &clock).until_empty();
    let run = run.run(
        async |_: Task<Work>| {
            times.fetch_add(1, Ordering::SeqCst);
            Ok::<_, Failure>("x".repeat((16 << 20) - 100))
        },
        pending(),
    );
    let over = AtomicU32::new(0);
    let run = async {
        let summary = run.await;
        over.store(1, Ordering::SeqCst);
        summary
    };
    let drive = async {
        while over.load(Ordering::SeqCst) == 0 {
            clock.step(50);
            tokio::task::yield_now().await;
        }
    };
    let (summary, ()) = join(run, drive).await;
    assert_eq!(
        (summary.done, summary.failed, summary.errors),
        (0, 1, 0),
        "{summary:?}"
    );
    assert_eq!(times.load(Ordering::SeqCst), 1);
    let entry = queue.get(id).await.unwrap().unwrap();
    assert_eq!((entry.state, entry.errors.len()), (State::Dead, 1));
    assert_eq!(entry.result::<String>().unwrap(), None);
    // It says what was wrong.
    assert!(
        !entry.errors[0].error.contains("lease"),
        "{}",
        entry.errors[0].error
    );
}

async fn an_error_that_has_no_room_is_not_worked_for_again(db: &Db) {
    for failure in [Failure::retry("no luck"), Failure::dead("no hope")] {
        let (queue, clock) = queue(db).await;
        let grouped = |number| New::job(Work::Number(number)).group("group");
        let id = queue.enqueue(grouped(1)).await.unwrap().id;
        let next = queue.enqueue(grouped(2)).await.unwrap().id;
        let claimed = queue.claim().await.unwrap().unwrap();
        queue.progress(&claimed, &"").await.unwrap();
        let raw = queue.db().raw_collection("work");
        let stored = raw.get(bson::Bson::from(id)).required().await.unwrap();
        let size = bson::serialize_to_vec(&stored).unwrap().len();
        queue
            .progress(&claimed, &"x".repeat((16 << 20) - size - 5))
            .await
            .unwrap();
        queue.fail(&claimed, failure).await.unwrap();
        assert_eq!(queue.get(id).await.unwrap().unwrap().state, State::Dead);
        // Said again it is the same, and the next of the group is let go.
        queue.fail(&claimed, Failure::dead("again")).await.unwrap();
        let claimed = queue.claim().await.unwrap().unwrap();
        assert_eq!(claimed.id(), next);
        queue.ack(&claimed).await.unwrap();
        super::queue_model::clear(&queue).await;
        clock.step(1);
    }
}

async fn a_transaction_that_completes_first_outlasts_the_signs_of_life(db: &Db) {
    let (queue, _) = queue_with(db, options().lease(seconds(60))).await;
    let accounts = queue.db().raw_collection("accounts");
    accounts.insert(doc! { "_id": 1, "balance": 0 }).await.unwrap();
    queue.enqueue(Work::Number(5)).await.unwrap();
    let runs = AtomicU32::new(0);
    let stopped = Mutex::new(None);
    let db = queue.db().clone();
    let summary = Worker::new(&queue)
        .watch(false)
        .heartbeat(Duration::from_millis(50))
        .until_empty()
        .run(
            async |task: Task<Work>| {
                let task = &task;
                db.transaction(async |tx| {
                    runs.fetch_add(1, Ordering::SeqCst);
                    task.complete_on(&tx).await?;
                    tokio::time::sleep(Duration::from_millis(400)).await;
                    let accounts = tx.raw_collection("accounts");
                    let raise = doc! { "$inc": { "balance": 5 } };
                    accounts.update_one(doc! { "_id": 1 }, raise).await?;
                    Ok(())
                })
                .await?;
                *stopped.lock().unwrap() = task.signal().reason();
                Ok(())
            },
            pending(),
        )
        .await;
    assert_eq!(
        (summary.done, summary.failed, summary.lost),
        (1, 0, 0),
        "{summary:?}"
    );
    assert!(runs.load(Ordering::SeqCst) <= 3, "{runs:?}");
    assert_eq!(*stopped.lock().unwrap(), None::<Stop>);
    let account = accounts.get(bson::Bson::Int32(1)).await.unwrap();
    assert_eq!(account, Some(doc! { "_id": 1, "balance": 5 }));
}
