//! One in n.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Decides which events are written, and as how many. Cheap to clone; clones share the source of chance.
#[derive(Clone)]
pub struct Sampled {
    every: u64,
    chance: Arc<dyn Fn() -> u64 + Send + Sync>,
}

impl Sampled {
    /// One event in so many is written.
    pub fn one_in(every: u32) -> Sampled {
        let state = AtomicU64::new(RandomState::new().hash_one(0_u64));
        Sampled::with_chance(every, move || {
            mixed(state.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed))
        })
    }

    /// The same with another source of random numbers, all 64 bits of them: for tests.
    pub fn with_chance(every: u32, chance: impl Fn() -> u64 + Send + Sync + 'static) -> Sampled {
        Sampled {
            every: u64::from(every.max(1)),
            chance: Arc::new(chance),
        }
    }

    /// An event: what is to be added for it, mostly nothing.
    pub fn hit(&self) -> Option<i64> {
        self.hits(1)
    }

    /// So many events at once: what is to be added for them. Its error is that of less than n events, however many they are.
    pub fn hits(&self, events: u64) -> Option<i64> {
        let whole = events / self.every;
        let rest = events % self.every;
        // The upper bits of the product are evenly spread over 0..every.
        let drawn = (u128::from((self.chance)()) * u128::from(self.every)) >> 64;
        let more = u64::from(drawn < u128::from(rest));
        let amount = whole.saturating_add(more).saturating_mul(self.every);
        (amount > 0).then(|| i64::try_from(amount).unwrap_or(i64::MAX))
    }

    /// The standard deviation of a counter after so many single events, as a part of it: √((n-1)/k). Two thirds of all
    /// counters are nearer than this, 95 of 100 nearer than twice.
    pub fn relative_error(&self, events: i64) -> f64 {
        match events {
            ..=0 => f64::INFINITY,
            events => ((self.every - 1) as f64 / events as f64).sqrt(),
        }
    }
}

/// A permutation of all numbers that looks like chance (the finalizer of SplitMix64).
fn mixed(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

impl fmt::Debug for Sampled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sampled")
            .field("every", &self.every)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeded(every: u32, seed: u64) -> Sampled {
        let state = AtomicU64::new(seed);
        Sampled::with_chance(every, move || {
            mixed(state.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed))
        })
    }

    #[test]
    fn counts_are_right_on_average_and_as_far_off_as_said() {
        const EVENTS: i64 = 10_000;
        const RUNS: u64 = 400;
        let mut squares = 0.0;
        let mut sum = 0.0;
        for seed in 0..RUNS {
            let sampled = seeded(100, seed * 7_919);
            let counted: i64 = (0..EVENTS).filter_map(|_| sampled.hit()).sum();
            let error = (counted - EVENTS) as f64 / EVENTS as f64;
            sum += error;
            squares += error * error;
        }
        let expected = seeded(100, 0).relative_error(EVENTS);
        let deviation = (squares / RUNS as f64).sqrt();
        assert!(
            (deviation / expected - 1.0).abs() < 0.15,
            "{deviation} {expected}"
        );
        assert!((sum / RUNS as f64).abs() < 4.0 * expected / (RUNS as f64).sqrt());
    }

    #[test]
    fn events_at_once_are_nearly_exact() {
        let sampled = seeded(100, 5);
        for _ in 0..1_000 {
            let amount = sampled.hits(1_250).unwrap();
            assert!(amount == 1_200 || amount == 1_300);
        }
        assert_eq!(sampled.hits(300), Some(300));
        assert_eq!(sampled.hits(0), None);
        assert_eq!(Sampled::one_in(1).hit(), Some(1));
        assert_eq!(Sampled::one_in(0).relative_error(5), 0.0);
    }
}
