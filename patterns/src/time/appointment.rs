//! What the clock is to show.

use jiff::civil;
use odm::Embedded;
use odm::bson::DateTime;
use serde::{Deserialize, Serialize};

use super::choice::Choice;
use super::error::TimeError;
use super::happened::{Happened, date};
use super::zones::Zones;

/// A time to come by the clock on a wall: a meeting at 10, a loan due at 18. The civil time and the zone are what was agreed
/// on; the instant follows from the rules of the zone, which may change until then: see
/// [`revalidate`](super::revalidate).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Embedded)]
pub struct Appointment {
    /// What the clock is to show. Stored as a date as if it showed UTC, so to the millisecond.
    #[serde(with = "odm::as_bson")]
    pub civil: civil::DateTime,
    /// The zone's IANA name.
    pub zone: String,
    /// Which instant is meant where clocks skip the time, or show it twice.
    pub choose: Choice,
    /// The instant, by the rules of the version `tzdb`: to search and sort by.
    pub date: DateTime,
    /// By how much clocks are ahead of UTC then, by those rules: seconds, east positive.
    pub offset: i32,
    /// The version of the rules.
    pub tzdb: String,
}

impl Appointment {
    /// At this time in this zone.
    ///
    /// # Errors
    /// `UnknownZone`; `Skipped` and `Repeated` where [`Choice::Reject`] says so; `TooFine`, `OutOfRange`.
    pub fn new(
        civil: civil::DateTime,
        zone: &str,
        choose: Choice,
        zones: &Zones,
    ) -> Result<Appointment, TimeError> {
        if civil.subsec_nanosecond() % 1_000_000 != 0 {
            return Err(TimeError::TooFine);
        }
        let rules = zones.get(zone)?;
        let instant = choose.instant(civil, &rules)?;
        Ok(Appointment {
            civil,
            zone: zone.to_owned(),
            choose,
            date: date(instant),
            offset: rules.to_offset(instant).seconds(),
            tzdb: zones.version().to_owned(),
        })
    }

    /// The same appointment by these rules.
    ///
    /// # Errors
    /// As [`new`](Appointment::new).
    pub fn revalidated(&self, zones: &Zones) -> Result<Appointment, TimeError> {
        Appointment::new(self.civil, &self.zone, self.choose, zones)
    }

    /// The instant and offset, by the rules as they were: what it becomes when it has happened.
    pub fn happened(&self) -> Happened {
        Happened {
            date: self.date,
            offset: self.offset,
            zone: Some(self.zone.clone()),
            nanos: 0,
        }
    }
}
