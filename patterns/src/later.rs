//! Times to come.

use std::time::Duration;

use odm::bson::DateTime;

/// The time so much later, or the last that there is.
pub(crate) fn later(time: DateTime, by: Duration) -> DateTime {
    time.saturating_add_millis(i64::try_from(by.as_millis()).unwrap_or(i64::MAX))
}
