//! How long what cannot be published is left alone.

use std::time::Duration;

/// Pauses between tries that fail: each is twice as long as the one before it, up to the longest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pauses {
    first: Duration,
    longest: Duration,
}

impl Default for Pauses {
    fn default() -> Pauses {
        Pauses::new(Duration::from_secs(1), Duration::from_secs(600))
    }
}

impl Pauses {
    pub(super) fn new(first: Duration, longest: Duration) -> Pauses {
        Pauses { first, longest }
    }

    /// The pause after the last of so many tries.
    pub(super) fn after(&self, tries: i32) -> Duration {
        let doublings = u32::try_from(tries.saturating_sub(1)).unwrap_or(0);
        let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
        self.first.saturating_mul(factor).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let pauses = Pauses::default();
        let seconds = |tries| pauses.after(tries).as_secs();
        assert_eq!([0, 1, 2, 3, 10].map(seconds), [1, 1, 2, 4, 512]);
        assert_eq!([11, 32, 33, 1_000, i32::MAX].map(seconds), [600; 5]);
    }
}
