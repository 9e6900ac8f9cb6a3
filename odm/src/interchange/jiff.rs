//! Dates and durations of `jiff`.

use ::jiff::civil::{Date, DateTime};
use ::jiff::tz::TimeZone;
use ::jiff::{SignedDuration, Timestamp, Zoned};

use super::leaf::{dates, durations};
use crate::model::Ordered;

fn stored(instant: &Timestamp) -> bson::DateTime {
    // Rounded down, also before 1970.
    let nanoseconds = instant.as_nanosecond().div_euclid(1_000_000);
    bson::DateTime::from_millis(i64::try_from(nanoseconds).unwrap_or_else(|_| instant.as_millisecond()))
}

fn instant(date: bson::DateTime) -> Result<Timestamp, String> {
    Timestamp::from_millisecond(date.timestamp_millis()).map_err(said)
}

fn civil(date: bson::DateTime) -> Result<DateTime, String> {
    instant(date).map(|instant| TimeZone::UTC.to_datetime(instant))
}

fn in_utc(civil: DateTime) -> Result<bson::DateTime, String> {
    let zoned: Zoned = civil.to_zoned(TimeZone::UTC).map_err(said)?;
    Ok(stored(&zoned.timestamp()))
}

fn said(error: ::jiff::Error) -> String {
    error.to_string()
}

dates! {
    Timestamp:
        |instant| Ok(stored(instant)),
        instant,
        |instant: &Timestamp| Some(instant.to_string()),
        |text: &str| text.parse::<Timestamp>().map_err(said);
    DateTime:
        |civil: &DateTime| in_utc(*civil),
        civil,
        |civil: &DateTime| Some(civil.to_string()),
        |text: &str| text.parse::<DateTime>().map_err(said);
    Date:
        |day: &Date| in_utc(day.at(0, 0, 0, 0)),
        |date| {
            let civil = civil(date)?;
            match civil == civil.date().at(0, 0, 0, 0) {
                true => Ok(civil.date()),
                false => Err("the stored date has a time of day, which a civil date cannot hold".to_owned()),
            }
        },
        |civil: &Date| Some(civil.to_string()),
        |text: &str| text.parse::<Date>().map_err(said);
}

durations! {
    SignedDuration:
        |duration: &SignedDuration| i64::try_from(duration.as_millis()).ok(),
        |milliseconds| Some(SignedDuration::from_millis(milliseconds));
}

impl Ordered for SignedDuration {}

impl crate::lifecycle::Timestamp for Timestamp {
    fn at(date: bson::DateTime) -> Timestamp {
        instant(date).unwrap_or(match date.timestamp_millis() < 0 {
            true => Timestamp::MIN,
            false => Timestamp::MAX,
        })
    }
}
