//! The time of an operation.

use std::sync::atomic::{AtomicU64, Ordering};

/// The time of one operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    /// Milliseconds since the Unix epoch.
    pub(crate) millis: i64,
    pub(crate) timestamps: Timestamps,
}

/// Where an operation's timestamps come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Timestamps {
    /// As on the server, none is given twice: each is later than the one before, whatever it is for.
    Later,
    /// All are of these seconds and this increment.
    Same(u32, u32),
}

/// The last timestamp that was given.
static LAST: AtomicU64 = AtomicU64::new(0);

impl Now {
    /// The next timestamp: seconds since the epoch, and the increment within the second.
    pub(crate) fn timestamp(self) -> (u32, u32) {
        if let Timestamps::Same(seconds, increment) = self.timestamps {
            return (seconds, increment);
        }
        let seconds = u64::try_from(self.millis.div_euclid(1000)).unwrap_or(0);
        let first = seconds.min(u32::MAX.into()) << 32 | 1;
        let later = |last: u64| last.saturating_add(1).max(first);
        let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(later(last)));
        let given = later(last.unwrap_or_default());
        ((given >> 32) as u32, given as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_timestamp_is_given_twice() {
        let now = |millis: i64| Now {
            millis,
            timestamps: Timestamps::Later,
        };
        let given: Vec<(u32, u32)> = [2_000_999, 2_000_001, 1_000_000, 2_001_000, 2_001_000]
            .into_iter()
            .map(|millis| now(millis).timestamp())
            .collect();
        assert!(given.is_sorted_by(|a, b| a < b), "{given:?}");
    }
}
