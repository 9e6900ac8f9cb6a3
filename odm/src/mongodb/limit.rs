//! Numbers as the server takes them.

use std::time::Duration;

/// How many documents: no more than the server can count.
pub(super) fn count(documents: u64) -> Option<u64> {
    (documents > 0).then(|| documents.min(i64::MAX.unsigned_abs()))
}

/// How many documents a batch has at the most. The driver adds one where it is as large as the limit.
pub(super) fn batch(documents: Option<u32>) -> Option<u32> {
    documents.map(|documents| documents.min(i32::MAX.unsigned_abs() - 1))
}

/// How long something may take: whole milliseconds, and no limit beyond the largest one that the server takes. To it,
/// none would be no limit.
pub(super) fn time(limit: Option<Duration>) -> Option<Duration> {
    let millis = limit?.as_nanos().div_ceil(1_000_000).max(1);
    let millis = i32::try_from(millis).ok()?;
    Some(Duration::from_millis(millis.unsigned_abs().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_time_are_whole_milliseconds_that_the_server_takes() {
        let (day, nano) = (Duration::from_secs(86_400), Duration::from_nanos(1));
        let longest = Duration::from_millis(i32::MAX.unsigned_abs().into());
        for (given, sent) in [
            (Duration::ZERO, Some(1)),
            (nano, Some(1)),
            (Duration::from_millis(5), Some(5)),
            (Duration::from_millis(5) + nano, Some(6)),
            (longest, Some(2_147_483_647)),
            (longest + nano, None),
            (day * 30, None),
            (Duration::MAX, None),
        ] {
            assert_eq!(time(Some(given)), sent.map(Duration::from_millis), "{given:?}");
        }
        assert_eq!(time(None), None);
    }
}
