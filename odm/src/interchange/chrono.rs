//! Dates and durations of `chrono`.

use ::chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, SecondsFormat, TimeDelta, Utc};

use super::leaf::{dates, durations};
use crate::lifecycle::Timestamp;
use crate::model::Ordered;

const BEYOND: &str = "the stored date is beyond those of `chrono`";

fn utc(date: bson::DateTime) -> Result<DateTime<Utc>, String> {
    DateTime::from_timestamp_millis(date.timestamp_millis()).ok_or_else(|| BEYOND.to_owned())
}

fn stored(instant: &DateTime<Utc>) -> bson::DateTime {
    bson::DateTime::from_millis(instant.timestamp_millis())
}

fn parsed<T>(parsed: Result<T, ::chrono::ParseError>) -> Result<T, String> {
    parsed.map_err(|error| error.to_string())
}

dates! {
    DateTime<Utc>:
        |instant| Ok(stored(instant)),
        utc,
        |instant: &DateTime<Utc>| Some(instant.to_rfc3339_opts(SecondsFormat::AutoSi, true)),
        |text| parsed(DateTime::parse_from_rfc3339(text)).map(|instant| instant.to_utc());
    NaiveDateTime:
        |civil: &NaiveDateTime| Ok(stored(&civil.and_utc())),
        |date| utc(date).map(|instant| instant.naive_utc()),
        |civil: &NaiveDateTime| Some(format!("{civil:?}")),
        |text: &str| parsed(text.parse::<NaiveDateTime>());
    NaiveDate:
        |civil: &NaiveDate| Ok(stored(&civil.and_time(NaiveTime::MIN).and_utc())),
        |date| {
            let civil = utc(date)?.naive_utc();
            match civil.time() == NaiveTime::MIN {
                true => Ok(civil.date()),
                false => Err("the stored date has a time of day, which a civil date cannot hold".to_owned()),
            }
        },
        |civil: &NaiveDate| Some(civil.to_string()),
        |text: &str| parsed(text.parse::<NaiveDate>());
}

durations! {
    TimeDelta: |delta: &TimeDelta| Some(delta.num_milliseconds()), TimeDelta::try_milliseconds;
}

impl Ordered for TimeDelta {}

impl Timestamp for DateTime<Utc> {
    fn at(instant: bson::DateTime) -> DateTime<Utc> {
        utc(instant).unwrap_or(match instant.timestamp_millis() < 0 {
            true => DateTime::<Utc>::MIN_UTC,
            false => DateTime::<Utc>::MAX_UTC,
        })
    }
}
