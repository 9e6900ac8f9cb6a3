//! The jobs that the queue's cases work with, and a clock that they set.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use bson::DateTime;
use futures_util::future::BoxFuture;
use odm::Db;
use odm_patterns::queue::{Job, LeaseLost, Options, Queue, Retry, State, Wait};
use serde::{Deserialize, Serialize};

/// When every case begins.
pub(super) const START: i64 = 1_800_000_000_000;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Work {
    Mail { to: String },
    Number(i32),
}

impl Job for Work {
    fn kind(&self) -> &str {
        match self {
            Work::Mail { .. } => "mail",
            Work::Number(_) => "number",
        }
    }
}

/// The clock of a case; who waits by it waits until the case moves it.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock(Arc<Time>);

#[derive(Debug, Default)]
struct Time {
    now: AtomicI64,
    sleepers: Mutex<Vec<Waker>>,
}

impl Clock {
    pub(super) fn now(&self) -> i64 {
        self.0.now.load(Ordering::SeqCst)
    }

    pub(super) fn advance(&self, length: Duration) {
        self.step(i64::try_from(length.as_millis()).unwrap());
    }

    /// By so many milliseconds, back too.
    pub(super) fn step(&self, millis: i64) {
        self.0.now.fetch_add(millis, Ordering::SeqCst);
        let sleepers = std::mem::take(&mut *self.0.sleepers.lock().unwrap());
        sleepers.into_iter().for_each(Waker::wake);
    }

    async fn wait_until(self, until: i64) {
        std::future::poll_fn(|ctx| {
            // Noted first, so that no step is missed.
            self.0.sleepers.lock().unwrap().push(ctx.waker().clone());
            match self.now() >= until {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }
}

impl Wait for Clock {
    fn wait(&self, length: Duration) -> BoxFuture<'static, ()> {
        let until = self.now() + i64::try_from(length.as_millis()).unwrap();
        Box::pin(self.clone().wait_until(until))
    }
}

/// Asks again and again until it is so, for some minutes at most.
pub(super) async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(
            begun.elapsed() < Duration::from_secs(300),
            "it does not come about"
        );
        tokio::task::yield_now().await;
    }
}

/// The database with a clock that the case sets.
pub(super) fn clocked(db: &Db) -> (Db, Clock) {
    let clock = Clock::default();
    clock.step(START);
    let time = clock.clone();
    (db.with_clock(move || DateTime::from_millis(time.now())), clock)
}

/// A lease of ten seconds; three attempts, ten seconds after the first, twenty after the second.
pub(super) fn options() -> Options {
    Options::new()
        .lease(seconds(10))
        .retry(Retry::times(3).backoff(seconds(10), 2.0).jitter(0.0))
}

pub(super) fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// A queue of work with [`options`].
pub(super) async fn queue(db: &Db) -> (Queue<Work>, Clock) {
    queue_with(db, options()).await
}

pub(super) async fn queue_with(db: &Db, options: Options) -> (Queue<Work>, Clock) {
    let (db, clock) = clocked(db);
    let queue = Queue::with_options(&db, "work", options);
    queue.prepare().await.unwrap();
    // So that claims need not ask whether the queue is paused.
    assert!(!queue.is_paused().await.unwrap());
    (queue, clock)
}

/// The number of a job that is a number.
pub(super) fn number(work: &Work) -> i32 {
    match work {
        Work::Number(number) => *number,
        Work::Mail { to } => panic!("a mail to {to}"),
    }
}

/// Empties the queue for the next round of a case.
pub(super) async fn clear(queue: &Queue<Work>) {
    for name in ["work", "work.control", "orders"] {
        let collection = queue.db().raw_collection(name);
        collection.delete_many(bson::doc! {}).await.unwrap();
    }
}

/// The lease was lost, and the job is in this state.
pub(super) fn lost<T: std::fmt::Debug>(result: odm::Result<T>, state: Option<State>) {
    let error = result.unwrap_err();
    let lost = LeaseLost::of(&error).unwrap_or_else(|| panic!("{error}"));
    assert_eq!(lost.state, state);
    assert!(error.is_conflict());
    assert_eq!(error.id(), Some(&bson::Bson::ObjectId(lost.id)));
}
