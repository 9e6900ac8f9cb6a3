//! Dates and durations of the standard library and of `bson`.

use std::time::{Duration, SystemTime};

use bson::DateTime;

use super::leaf::durations;

/// A date as RFC 3339.
fn text(date: DateTime) -> Option<String> {
    date.try_to_rfc3339_string().ok()
}

fn parse(text: &str) -> Result<DateTime, String> {
    DateTime::parse_rfc3339_str(text).map_err(|error| error.to_string())
}

impl super::leaf::Leaf for DateTime {
    type Stored = DateTime;

    fn store(&self) -> Result<DateTime, String> {
        Ok(*self)
    }

    fn load(stored: DateTime) -> Result<DateTime, String> {
        Ok(stored)
    }

    fn text(&self) -> Option<String> {
        text(*self)
    }

    fn parse(text: &str) -> Option<Result<DateTime, String>> {
        Some(parse(text))
    }
}

super::leaf::leaves!(DateTime);

/// Milliseconds since 1970, rounded down: also before it.
fn milliseconds(time: &SystemTime) -> Result<DateTime, String> {
    let exact = match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_millis()),
        Err(before) => i64::try_from(before.duration().as_nanos().div_ceil(1_000_000)).map(|before| -before),
    };
    let exact = exact.map_err(|_| "the time is beyond the dates of BSON".to_owned())?;
    Ok(DateTime::from_millis(exact))
}

fn system_time(date: DateTime) -> Result<SystemTime, String> {
    let distance = Duration::from_millis(date.timestamp_millis().unsigned_abs());
    match date.timestamp_millis() < 0 {
        true => SystemTime::UNIX_EPOCH.checked_sub(distance),
        false => SystemTime::UNIX_EPOCH.checked_add(distance),
    }
    .ok_or_else(|| "the date is beyond the times of this system".to_owned())
}

impl super::leaf::Leaf for SystemTime {
    type Stored = DateTime;

    fn store(&self) -> Result<DateTime, String> {
        milliseconds(self)
    }

    fn load(stored: DateTime) -> Result<SystemTime, String> {
        system_time(stored)
    }

    fn text(&self) -> Option<String> {
        milliseconds(self).ok().and_then(text)
    }

    fn parse(text: &str) -> Option<Result<SystemTime, String>> {
        Some(parse(text).and_then(system_time))
    }
}

super::leaf::leaves!(SystemTime);

durations! {
    Duration:
        |duration: &Duration| i64::try_from(duration.as_millis()).ok(),
        |milliseconds: i64| u64::try_from(milliseconds).ok().map(Duration::from_millis);
}
