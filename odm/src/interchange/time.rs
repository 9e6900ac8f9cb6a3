//! Dates and durations of `time`.

use ::time::format_description::well_known::{Iso8601, Rfc3339};
use ::time::{Date, Duration, OffsetDateTime, PrimitiveDateTime, Time};

use super::leaf::{dates, durations};
use crate::lifecycle::Timestamp;
use crate::model::Ordered;

const MILLISECOND: i128 = 1_000_000;

fn stored(instant: &OffsetDateTime) -> Result<bson::DateTime, String> {
    i64::try_from(instant.unix_timestamp_nanos().div_euclid(MILLISECOND))
        .map(bson::DateTime::from_millis)
        .map_err(|error| error.to_string())
}

fn utc(date: bson::DateTime) -> Result<OffsetDateTime, String> {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(date.timestamp_millis()) * MILLISECOND)
        .map_err(|error| error.to_string())
}

fn civil(date: bson::DateTime) -> Result<PrimitiveDateTime, String> {
    utc(date).map(|instant| PrimitiveDateTime::new(instant.date(), instant.time()))
}

dates! {
    OffsetDateTime:
        stored,
        utc,
        |instant: &OffsetDateTime| instant.format(&Rfc3339).ok(),
        |text| OffsetDateTime::parse(text, &Rfc3339).map_err(|error| error.to_string());
    PrimitiveDateTime:
        |civil: &PrimitiveDateTime| stored(&civil.assume_utc()),
        civil,
        |civil: &PrimitiveDateTime| civil.format(&Iso8601::DATE_TIME).ok(),
        |text| PrimitiveDateTime::parse(text, &Iso8601::DATE_TIME).map_err(|error| error.to_string());
    Date:
        |civil: &Date| stored(&civil.midnight().assume_utc()),
        |date| {
            let civil = civil(date)?;
            match civil.time() == Time::MIDNIGHT {
                true => Ok(civil.date()),
                false => Err("the stored date has a time of day, which a civil date cannot hold".to_owned()),
            }
        },
        |civil: &Date| civil.format(&Iso8601::DATE).ok(),
        |text| Date::parse(text, &Iso8601::DATE).map_err(|error| error.to_string());
}

durations! {
    Duration:
        |duration: &Duration| i64::try_from(duration.whole_milliseconds()).ok(),
        |milliseconds| Some(Duration::milliseconds(milliseconds));
}

impl Ordered for Duration {}

impl Timestamp for OffsetDateTime {
    fn at(instant: bson::DateTime) -> OffsetDateTime {
        utc(instant).unwrap_or(match instant.timestamp_millis() < 0 {
            true => PrimitiveDateTime::MIN.assume_utc(),
            false => PrimitiveDateTime::MAX.assume_utc(),
        })
    }
}
