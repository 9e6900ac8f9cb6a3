//! Waiting until an instant without an async runtime.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// Waits until an instant, on any executor: one thread for all sleepers of the process keeps their time. It starts with
/// the first.
///
/// ```
/// # #[tokio::main]
/// # async fn main() {
/// use std::time::{Duration, Instant};
///
/// let start = Instant::now();
/// odm::sleep_until(start + Duration::from_millis(5)).await;
/// assert!(start.elapsed() >= Duration::from_millis(5));
/// # }
/// ```
///
/// Cancel safety: dropping the future forgets it.
pub fn sleep_until(instant: Instant) -> Sleep {
    Sleep::until(instant)
}

/// Ready at an instant: [`sleep_until`] makes it.
#[must_use = "a future does nothing until it is awaited"]
pub struct Sleep {
    until: Instant,
    entry: Option<Arc<Mutex<Waker>>>,
}

impl Sleep {
    pub(crate) fn until(until: Instant) -> Sleep {
        Sleep { until, entry: None }
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep")
            .field("until", &self.until)
            .finish_non_exhaustive()
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.until {
            return Poll::Ready(());
        }
        match &self.entry {
            Some(waker) => lock(waker).clone_from(ctx.waker()),
            None => {
                let waker = Arc::new(Mutex::new(ctx.waker().clone()));
                if Clock::shared().wake_at(self.until, waker.clone()) {
                    self.entry = Some(waker);
                } else {
                    // No thread to be had: be asked again at once.
                    ctx.waker().wake_by_ref();
                }
            }
        }
        Poll::Pending
    }
}

/// Wakes `waker` at an instant; `false` when there can be no thread for it.
pub(crate) fn wake_at(until: Instant, waker: Waker) -> bool {
    Clock::shared().wake_at(until, Arc::new(Mutex::new(waker)))
}

struct Clock {
    sleepers: Mutex<BinaryHeap<Reverse<Sleeper>>>,
    changed: Condvar,
}

struct Sleeper {
    until: Instant,
    waker: Arc<Mutex<Waker>>,
}

impl Clock {
    fn shared() -> &'static Clock {
        static CLOCK: Clock = Clock {
            sleepers: Mutex::new(BinaryHeap::new()),
            changed: Condvar::new(),
        };
        &CLOCK
    }

    /// Wakes `waker` at that time; `false` when the thread cannot be started.
    fn wake_at(&'static self, until: Instant, waker: Arc<Mutex<Waker>>) -> bool {
        static RUNS: OnceLock<bool> = OnceLock::new();
        let start = || {
            std::thread::Builder::new()
                .name("odm-clock".to_owned())
                .spawn(|| self.run())
        };
        if !*RUNS.get_or_init(|| start().is_ok()) {
            return false;
        }
        lock(&self.sleepers).push(Reverse(Sleeper { until, waker }));
        self.changed.notify_one();
        true
    }

    fn run(&self) {
        let mut sleepers = lock(&self.sleepers);
        loop {
            let now = Instant::now();
            let next = sleepers.peek().map(|Reverse(sleeper)| sleeper.until);
            match next {
                Some(until) if until <= now => {
                    if let Some(Reverse(sleeper)) = sleepers.pop() {
                        // A waker may run anything, so no lock is held over it.
                        drop(sleepers);
                        let waker = lock(&sleeper.waker).clone();
                        waker.wake();
                        sleepers = lock(&self.sleepers);
                    }
                }
                Some(until) => {
                    let waited = self.changed.wait_timeout(sleepers, until - now);
                    sleepers = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                None => {
                    sleepers = self
                        .changed
                        .wait(sleepers)
                        .unwrap_or_else(PoisonError::into_inner)
                }
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PartialEq for Sleeper {
    fn eq(&self, other: &Sleeper) -> bool {
        self.until == other.until
    }
}

impl Eq for Sleeper {}

impl PartialOrd for Sleeper {
    fn partial_cmp(&self, other: &Sleeper) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Sleeper {
    fn cmp(&self, other: &Sleeper) -> Ordering {
        self.until.cmp(&other.until)
    }
}
