//! A loop that claims jobs and hands them to a function.

mod event;
mod run;
mod task;
mod wait;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use odm::Error;
use serde::Serialize;

use self::run::Run;
pub use self::task::Task;
pub use self::wait::{Timer, Wait};
use super::Queue;
#[cfg(feature = "cron")]
use super::cron::Schedule;
use super::failure::Failure;
use super::job::Job;

/// A loop that claims jobs and hands them to a function, keeps their leases while it works, and says what became of them.
///
/// It is one future, for any executor: handlers run at the same time, but on one thread. A handler that computes for long
/// should hand that to a thread of its own, or the leases of all of them end without a sign of life; run several workers
/// to use several threads.
///
/// ```
/// use std::time::Duration;
/// use odm::Db;
/// use odm_patterns::queue::{Failure, Queue, Task, Worker};
///
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// let db = Db::open("memory:").await?;
/// let queue: Queue<String> = Queue::new(&db, "greetings");
/// queue.prepare().await?;
/// queue.enqueue_many(["ann".to_owned(), "joe".to_owned()]).await?;
///
/// let worker = Worker::new(&queue).concurrency(4).until_empty();
/// let summary = worker
///     .run(
///         async |task: Task<String>| {
///             println!("hello {}", task.job);
///             Ok::<_, Failure>(())
///         },
///         std::future::pending(), // give it the future of a signal, to end in good order
///     )
///     .await;
/// assert_eq!(summary.done, 2);
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct Worker<J> {
    queue: Queue<J>,
    concurrency: usize,
    poll: Duration,
    tend: Duration,
    heartbeat: Duration,
    grace: Duration,
    watch: bool,
    until_empty: bool,
    wait: Arc<dyn Wait>,
    on_error: Arc<dyn Fn(&Error) + Send + Sync>,
    #[cfg(feature = "cron")]
    schedules: Vec<Schedule<J>>,
}

/// What a worker did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Jobs that were done.
    pub done: u64,
    /// Jobs that were not done: to be tried again, dead, put off or called off.
    pub failed: u64,
    /// Jobs whose leases were lost; somebody else has them.
    pub lost: u64,
    /// Jobs that were given back because time was up.
    pub released: u64,
    /// Operations that failed, and were given to [`on_error`](Worker::on_error).
    pub errors: u64,
}

impl<J: Job> Worker<J> {
    /// A worker of one job at a time.
    pub fn new(queue: &Queue<J>) -> Worker<J> {
        Worker {
            concurrency: 1,
            poll: Duration::from_secs(1),
            tend: Duration::from_secs(1),
            heartbeat: queue.options.lease / 3,
            grace: Duration::from_secs(30),
            watch: queue.home.backend_name() == "mongodb",
            until_empty: false,
            wait: Arc::new(Timer),
            on_error: Arc::new(|_| {}),
            queue: queue.clone(),
            #[cfg(feature = "cron")]
            schedules: Vec::new(),
        }
    }

    /// How many jobs are worked on at a time: 1 unless said otherwise. More than one are claimed in one batch.
    pub fn concurrency(self, jobs: usize) -> Worker<J> {
        Worker {
            concurrency: jobs.max(1),
            ..self
        }
    }

    /// How long to wait before looking again when nothing was ready: a second unless said otherwise. What is enqueued by a
    /// clone of this handle, or seen by the [change stream](Worker::watch), is looked for at once.
    pub fn poll(self, every: Duration) -> Worker<J> {
        Worker { poll: every, ..self }
    }

    /// How often to [tend](Queue::tend) to the queue: every second unless said otherwise.
    pub fn tend_every(self, every: Duration) -> Worker<J> {
        Worker { tend: every, ..self }
    }

    /// How often to give a sign of life for each job: three times during a lease unless said otherwise.
    pub fn heartbeat(self, every: Duration) -> Worker<J> {
        Worker {
            heartbeat: every,
            ..self
        }
    }

    /// How long jobs may go on after the end was asked for, before they are given back: 30 seconds unless said otherwise.
    pub fn grace(self, length: Duration) -> Worker<J> {
        Worker {
            grace: length,
            ..self
        }
    }

    /// Whether a change stream wakes the worker when something becomes ready. It is only a hint: the worker polls all the
    /// same. On MongoDB it is on unless said otherwise; on the embedded engine it is off, since it makes the engine log all
    /// changes.
    pub fn watch(self, watch: bool) -> Worker<J> {
        Worker { watch, ..self }
    }

    /// Ends when nothing is ready and none of its own jobs runs. It looks once more after the last of them ended, so that
    /// what this let go, or what its handler enqueued, is done too; and it waits for a [rate](super::Options::rate_limit)
    /// that holds jobs up. When the look itself fails, it looks again after the [poll](Worker::poll).
    ///
    /// Left are jobs that are not ready: those of later, those that failed and are tried again later, those of groups that
    /// wait for such a one, and those that run elsewhere. A [paused](Queue::pause) queue counts as empty.
    pub fn until_empty(self) -> Worker<J> {
        Worker {
            until_empty: true,
            ..self
        }
    }

    /// Waits in another way, such as by a test's clock.
    pub fn wait_with(self, wait: impl Wait + 'static) -> Worker<J> {
        Worker {
            wait: Arc::new(wait),
            ..self
        }
    }

    /// What to do with errors of the database. The worker goes on after them.
    pub fn on_error(self, action: impl Fn(&Error) + Send + Sync + 'static) -> Worker<J> {
        Worker {
            on_error: Arc::new(action),
            ..self
        }
    }

    /// Enqueues a job at each tick of a schedule. Any number of workers may do the same: each tick is enqueued once. What
    /// goes wrong with one is [told](Worker::on_error), each time, and holds up nothing else.
    #[cfg(feature = "cron")]
    pub fn schedule(mut self, schedule: Schedule<J>) -> Worker<J> {
        self.schedules.push(schedule);
        self
    }

    /// Looks after all schedules; what went wrong.
    #[cfg(feature = "cron")]
    async fn tick(&self) -> Vec<Error> {
        let mut failed = Vec::new();
        for schedule in &self.schedules {
            failed.extend(self.queue.tick(schedule).await.err());
        }
        failed
    }

    #[cfg(not(feature = "cron"))]
    async fn tick(&self) -> Vec<Error> {
        Vec::new()
    }

    /// Works until `end` is ready: then claims no more, [tells](Task::signal) the handlers, waits for them, and gives back
    /// what is not done in [time](Worker::grace).
    ///
    /// What the handler gives back is the job's result: `()` keeps none. An error, or a panic, is a [`Failure`]. A handler
    /// whose lease is lost is told, and what it says afterwards has no effect. An acknowledgement that fails is tried three
    /// times.
    ///
    /// Cancel safety: when the future is dropped, its jobs are ready again when their leases end.
    pub async fn run<R, H, F>(&self, handler: H, end: impl Future<Output = ()> + Send) -> Summary
    where
        R: Serialize + Send + Sync,
        H: Fn(Task<J>) -> F + Send + Sync,
        F: Future<Output = Result<R, Failure>> + Send,
    {
        Run::new(self, &handler).until(end).await
    }
}

impl<J> fmt::Debug for Worker<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("queue", &self.queue)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}
