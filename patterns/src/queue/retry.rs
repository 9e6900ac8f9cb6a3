//! When a job that failed is tried again.

use std::time::Duration;

use odm::bson::oid::ObjectId;

/// How often a job is tried, and how long it waits in between: exponential backoff with jitter.
///
/// ```
/// use std::time::Duration;
/// use odm_patterns::queue::Retry;
///
/// let retry = Retry::times(5).backoff(Duration::from_secs(2), 3.0).at_most(Duration::from_secs(60)).jitter(0.0);
/// let id = odm::bson::oid::ObjectId::new();
/// let waits: Vec<u64> = (1..=4).map(|attempt| retry.delay(id, attempt).as_secs()).collect();
/// assert_eq!(waits, [2, 6, 18, 54]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    pub(super) attempts: u32,
    first: Duration,
    factor: f64,
    cap: Duration,
    jitter: f64,
}

impl Default for Retry {
    /// 5 attempts; 1 second before the second, twice as long before each later one, an hour at the most; up to half of
    /// that less, by chance.
    fn default() -> Retry {
        Retry {
            attempts: 5,
            first: Duration::from_secs(1),
            factor: 2.0,
            cap: Duration::from_secs(3600),
            jitter: 0.5,
        }
    }
}

impl Retry {
    /// So many attempts in all; the first counts. At least one.
    pub fn times(attempts: u32) -> Retry {
        Retry {
            attempts: attempts.clamp(1, i32::MAX as u32),
            ..Retry::default()
        }
    }

    /// One attempt.
    pub fn never() -> Retry {
        Retry::times(1)
    }

    /// How long to wait before the second attempt, and by how much longer before each further one.
    pub fn backoff(self, first: Duration, factor: f64) -> Retry {
        Retry {
            first,
            factor: if factor.is_finite() { factor.max(1.0) } else { 1.0 },
            ..self
        }
    }

    /// The longest wait.
    pub fn at_most(self, cap: Duration) -> Retry {
        Retry { cap, ..self }
    }

    /// Which part of a wait is left to chance, so that jobs that failed together do not come back together: 0 to 1.
    pub fn jitter(self, part: f64) -> Retry {
        Retry {
            jitter: if part.is_finite() {
                part.clamp(0.0, 1.0)
            } else {
                0.0
            },
            ..self
        }
    }

    /// How long the job waits after its attempt of this number, counted from 1. The chance in it is drawn from the job's
    /// id and the number, so that the same is answered each time.
    pub fn delay(&self, id: ObjectId, attempt: u32) -> Duration {
        let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        let cap = self.cap.as_secs_f64();
        let whole = (self.first.as_secs_f64() * self.factor.powi(exponent).min(1e18)).min(cap);
        let less = whole * self.jitter * chance(id, attempt);
        Duration::try_from_secs_f64(whole - less).unwrap_or(self.cap)
    }
}

/// A number from 0 to 1: splitmix64 of the id's bytes and the attempt.
fn chance(id: ObjectId, attempt: u32) -> f64 {
    let mut state = u64::from(attempt);
    for byte in id.bytes() {
        state = state.wrapping_mul(0x100_0000_01b3) ^ u64::from(byte);
    }
    state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^= state >> 31;
    (state >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_their_cap_and_differ_by_chance() {
        let retry = Retry::default();
        let ids: Vec<ObjectId> = (0..100).map(|_| ObjectId::new()).collect();
        for attempt in 1..=40 {
            let whole = 2.0_f64.powi(attempt - 1).min(3600.0);
            let waits: Vec<f64> = ids
                .iter()
                .map(|id| retry.delay(*id, attempt as u32).as_secs_f64())
                .collect();
            assert!(
                waits
                    .iter()
                    .all(|wait| *wait <= whole + 1e-9 && *wait >= whole * 0.5 - 1e-9)
            );
            let mean = waits.iter().sum::<f64>() / 100.0;
            assert!((mean / whole - 0.75).abs() < 0.1, "{attempt}: {mean} of {whole}");
        }
        assert_eq!(retry.delay(ids[0], 3), retry.delay(ids[0], 3));
    }

    #[test]
    fn odd_settings_do_no_harm() {
        let retry = Retry::times(0)
            .backoff(Duration::MAX, f64::NAN)
            .at_most(Duration::MAX)
            .jitter(f64::INFINITY);
        assert_eq!(retry.attempts, 1);
        assert!(retry.delay(ObjectId::new(), u32::MAX) > Duration::from_secs(3600));
        let zero = Retry::times(3).backoff(Duration::ZERO, 0.0);
        assert_eq!(zero.delay(ObjectId::new(), 7), Duration::ZERO);
    }
}
