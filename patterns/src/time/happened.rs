//! What happened, and what the clock showed then.

use jiff::civil;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};
use odm::bson::DateTime;
use odm::{Db, Embedded};
use serde::{Deserialize, Serialize};

use super::error::TimeError;

/// An instant that happened, with the offset of the clocks where it did. The offset is a fact: what the rules of the zone
/// become later does not change it.
///
/// ```
/// use odm_patterns::time::Happened;
///
/// let sold: Happened = "2026-07-01T09:30:00.123456789-04:00[America/New_York]".parse()?;
/// assert_eq!((sold.offset, sold.nanos), (-14_400, 456_789));
/// assert_eq!(sold.civil()?.to_string(), "2026-07-01T09:30:00.123456789");
/// assert_eq!(sold.to_string(), "2026-07-01T09:30:00.123456789-04:00[America/New_York]");
/// # Ok::<(), odm_patterns::time::TimeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Embedded)]
pub struct Happened {
    /// The instant, to the millisecond, rounded down.
    pub date: DateTime,
    /// By how much the clocks were ahead of UTC: seconds, east positive.
    pub offset: i32,
    /// The zone's IANA name, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The nanoseconds beyond the millisecond, 0 to 999,999; left out where there are none.
    #[serde(default, skip_serializing_if = "is_none")]
    pub nanos: i32,
}

fn is_none(nanos: &i32) -> bool {
    *nanos == 0
}

impl Happened {
    /// Now, by the database's [clock](Db::now), in this zone.
    ///
    /// # Errors
    /// `OutOfRange` for a clock that is.
    pub fn now(db: &Db, zone: &TimeZone) -> Result<Happened, TimeError> {
        Ok(Happened::at(instant(db.now())?, zone))
    }

    /// This instant, in this zone.
    pub fn at(timestamp: Timestamp, zone: &TimeZone) -> Happened {
        Happened {
            zone: zone.iana_name().map(str::to_owned),
            ..Happened::at_offset(timestamp, zone.to_offset(timestamp))
        }
    }

    /// This instant, where clocks are so far ahead of UTC, in a zone that is not known.
    pub fn at_offset(timestamp: Timestamp, offset: Offset) -> Happened {
        Happened {
            date: date(timestamp),
            offset: offset.seconds(),
            zone: None,
            // Below a million.
            nanos: timestamp.as_nanosecond().rem_euclid(1_000_000) as i32,
        }
    }

    /// The instant, to the nanosecond.
    ///
    /// # Errors
    /// `OutOfRange`.
    pub fn timestamp(&self) -> Result<Timestamp, TimeError> {
        let nanoseconds = i128::from(self.date.timestamp_millis()) * 1_000_000 + i128::from(self.nanos);
        Timestamp::from_nanosecond(nanoseconds).map_err(|_| TimeError::OutOfRange)
    }

    /// What the clock showed.
    ///
    /// # Errors
    /// `OutOfRange`.
    pub fn civil(&self) -> Result<civil::DateTime, TimeError> {
        Ok(self.zoned()?.datetime())
    }

    /// The instant with its offset, as `jiff`'s type: in a zone that has this offset always.
    ///
    /// # Errors
    /// `OutOfRange`.
    pub fn zoned(&self) -> Result<Zoned, TimeError> {
        let offset = Offset::from_seconds(self.offset).map_err(|_| TimeError::OutOfRange)?;
        Ok(self.timestamp()?.to_zoned(offset.to_time_zone()))
    }
}

impl From<&Zoned> for Happened {
    fn from(zoned: &Zoned) -> Happened {
        Happened::at(zoned.timestamp(), zoned.time_zone())
    }
}

/// The instant as a date, rounded down.
pub(super) fn date(timestamp: Timestamp) -> DateTime {
    let milliseconds = timestamp.as_nanosecond().div_euclid(1_000_000);
    // The years of a timestamp are within those of a date.
    DateTime::from_millis(i64::try_from(milliseconds).unwrap_or(i64::MAX))
}

/// The instant of a date.
pub(super) fn instant(date: DateTime) -> Result<Timestamp, TimeError> {
    Timestamp::from_millisecond(date.timestamp_millis()).map_err(|_| TimeError::OutOfRange)
}
