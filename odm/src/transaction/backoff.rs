//! Waiting before a transaction is tried again, without an async runtime.

use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::clock::Sleep;

/// How often the first tries only let other tasks run: conflicts in one process are over in microseconds.
const YIELDS: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
const GROWTH: f64 = 1.5;

/// Growing, jittered pauses between tries: what transactions wait by when they are run again, for code that has a loop of
/// its own. The first tries only let other tasks run; then pauses grow from 5 to 500 ms. Runs on any executor.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// # #[tokio::main]
/// # async fn main() {
/// let mut backoff = odm::Backoff::new(Instant::now().checked_add(Duration::from_millis(20)));
/// let mut tries = 1;
/// while backoff.wait().await {
///     tries += 1;
/// }
/// assert!(tries > 3);
/// # }
/// ```
#[derive(Debug)]
pub struct Backoff {
    deadline: Option<Instant>,
    tries: u32,
}

impl Backoff {
    /// Pauses until `deadline`; without one, for ever.
    pub fn new(deadline: Option<Instant>) -> Backoff {
        Backoff { deadline, tries: 0 }
    }

    /// Pauses and says `true`, or says `false` at once when the deadline leaves no time for it.
    ///
    /// Cancel safety: a dropped pause counts as a try.
    pub async fn wait(&mut self) -> bool {
        let now = Instant::now();
        let pause = self.next_pause();
        let until = now + pause;
        if self.deadline.is_some_and(|deadline| until >= deadline) {
            return false;
        }
        if pause.is_zero() {
            Yield(false).await;
        } else {
            Sleep::until(until).await;
        }
        true
    }

    fn next_pause(&mut self) -> Duration {
        self.tries = self.tries.saturating_add(1);
        if self.tries <= YIELDS {
            return Duration::ZERO;
        }
        let exponent = f64::from(self.tries - YIELDS - 1).min(64.0);
        let longest = FIRST_PAUSE
            .mul_f64(GROWTH.powf(exponent).min(1e3))
            .min(LONGEST_PAUSE);
        longest.mul_f64(jitter())
    }
}

/// A number in 0.0..1.0; each `RandomState` is keyed differently.
fn jitter() -> f64 {
    let bits = RandomState::new().hash_one(0u8) >> 11;
    bits as f64 / (1u64 << 53) as f64
}

/// Lets other tasks run once.
struct Yield(bool);

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        ctx.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::fake::block_on;

    #[test]
    fn pauses_grow_with_jitter_to_a_bound() {
        let mut backoff = Backoff::new(None);
        let pauses: Vec<Duration> = (0..200).map(|_| backoff.next_pause()).collect();
        assert!(pauses[..YIELDS as usize].iter().all(Duration::is_zero));
        assert!(pauses[YIELDS as usize] <= FIRST_PAUSE);
        assert!(pauses.iter().all(|pause| *pause <= LONGEST_PAUSE));
        assert!(pauses[100..].iter().any(|pause| *pause > LONGEST_PAUSE / 2));
    }

    #[test]
    fn ends_at_the_deadline() {
        let until = Instant::now() + Duration::from_millis(40);
        let mut backoff = Backoff::new(Some(until));
        let mut tries = 0;
        block_on(async {
            while backoff.wait().await {
                tries += 1;
            }
        });
        assert!(tries >= YIELDS && Instant::now() < until + Duration::from_secs(1));
    }

    #[test]
    fn many_sleepers_share_one_clock() {
        let started = Instant::now();
        let threads: Vec<_> = (1..=20u64)
            .map(|n| {
                let until = started + Duration::from_millis(n);
                std::thread::spawn(move || block_on(Sleep::until(until)))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(started.elapsed() >= Duration::from_millis(20));
    }
}
