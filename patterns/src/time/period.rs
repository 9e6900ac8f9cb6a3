//! Local hours, days, weeks, months and years as ranges of instants.

use std::ops::Range;

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use odm::bson::DateTime;

use super::choice::Choice;
use super::error::TimeError;
use super::happened::{date, instant};
use super::unit::Unit;

/// A local hour, day, week, month, quarter or year in a zone: a range of instants, with its end outside.
///
/// The periods of a unit cover all time, without gap or overlap. A day that a zone left out, as it crossed the date line, has
/// no period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Period {
    unit: Unit,
    zone: TimeZone,
    start: Timestamp,
    end: Timestamp,
    key: String,
}

impl Period {
    /// The period of this unit that an instant is in.
    ///
    /// # Errors
    /// `OutOfRange`.
    pub fn of(unit: Unit, at: Timestamp, zone: &TimeZone) -> Result<Period, TimeError> {
        if unit == Unit::Hour {
            return Period::hour(at, zone);
        }
        let mut first = unit.first_day(zone.to_datetime(at).date())?;
        // Where midnight comes twice, the clock shows the day before once more when the next has begun.
        loop {
            let next = unit.next_day(first)?;
            let (start, end) = (midnight(first, zone)?, midnight(next, zone)?);
            if at < start {
                first = unit.first_day(first.yesterday().map_err(|_| TimeError::OutOfRange)?)?;
            } else if at >= end {
                first = next;
            } else {
                return Ok(Period {
                    unit,
                    zone: zone.clone(),
                    start,
                    end,
                    key: unit.key(first.at(0, 0, 0, 0)),
                });
            }
        }
    }

    /// The local day of this date.
    ///
    /// # Errors
    /// `Skipped` for a day that the zone left out, `OutOfRange`.
    pub fn day(day: Date, zone: &TimeZone) -> Result<Period, TimeError> {
        let period = Period::of(Unit::Day, midnight(day, zone)?, zone)?;
        match period.key == day.to_string() {
            true => Ok(period),
            false => Err(TimeError::Skipped {
                civil: day.at(0, 0, 0, 0),
            }),
        }
    }

    /// All periods of this unit that have a part of a range of dates, in their order: what there is to be counted, also
    /// where nothing happened. Groups of [`truncated_in`](super::LocalTime::truncated_in) have their beginnings as keys, but
    /// for those that it names.
    ///
    /// # Errors
    /// `OutOfRange`; also for more than a million of them.
    pub fn covering(unit: Unit, range: Range<DateTime>, zone: &TimeZone) -> Result<Vec<Period>, TimeError> {
        let (start, end) = (instant(range.start)?, instant(range.end)?);
        let mut all = Vec::new();
        let mut at = start;
        while at < end {
            let period = Period::of(unit, at, zone)?;
            at = period.end;
            all.push(period);
            if all.len() > 1_000_000 {
                return Err(TimeError::OutOfRange);
            }
        }
        Ok(all)
    }

    /// The one behind it.
    ///
    /// # Errors
    /// `OutOfRange`.
    pub fn next(&self) -> Result<Period, TimeError> {
        Period::of(self.unit, self.end, &self.zone)
    }

    /// The one before it.
    ///
    /// # Errors
    /// `OutOfRange`.
    pub fn previous(&self) -> Result<Period, TimeError> {
        let before = self.start.checked_sub(SignedDuration::from_nanos(1));
        Period::of(self.unit, before.map_err(|_| TimeError::OutOfRange)?, &self.zone)
    }

    /// The unit.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// Its first instant.
    pub fn start(&self) -> Timestamp {
        self.start
    }

    /// The first instant behind it.
    pub fn end(&self) -> Timestamp {
        self.end
    }

    /// The instants as dates.
    pub fn range(&self) -> Range<DateTime> {
        date(self.start)..date(self.end)
    }

    /// Whether an instant is in it.
    pub fn contains(&self, at: Timestamp) -> bool {
        self.start <= at && at < self.end
    }

    /// How long it is.
    pub fn hours(&self) -> f64 {
        self.start.duration_until(self.end).as_secs_f64() / 3600.0
    }

    /// A name that is different for every period of the unit in a zone: `2026-10-25T02+02:00`, `2026-10-25`, `2026-W43`,
    /// `2026-10`, `2026-Q4`, `2026`. A week from Sunday is named by its Sunday.
    pub fn key(&self) -> String {
        self.key.clone()
    }

    /// An hour by the clock, as far as the clock runs evenly: where it is changed within an hour, a new one begins.
    fn hour(at: Timestamp, zone: &TimeZone) -> Result<Period, TimeError> {
        let out_of_range = |_| TimeError::OutOfRange;
        let offset = zone.to_offset(at);
        let shown = offset.to_datetime(at);
        let full = shown.date().to_datetime(Time::constant(shown.hour(), 0, 0, 0));
        let mut start = offset.to_timestamp(full).map_err(out_of_range)?;
        let mut end = start
            .checked_add(SignedDuration::from_hours(1))
            .map_err(out_of_range)?;
        let after = at
            .checked_add(SignedDuration::from_nanos(1))
            .map_err(out_of_range)?;
        // Changes of a name alone are no changes of the clock.
        let is_change = |change: Timestamp| {
            let before = change.checked_sub(SignedDuration::from_nanos(1));
            before.is_ok_and(|before| zone.to_offset(before) != zone.to_offset(change))
        };
        let last = zone.preceding(after).map(|change| change.timestamp());
        if let Some(change) = last
            .take_while(|change| *change > start)
            .find(|change| is_change(*change))
        {
            start = change;
        }
        let coming = zone.following(at).map(|change| change.timestamp());
        if let Some(change) = coming
            .take_while(|change| *change < end)
            .find(|change| is_change(*change))
        {
            end = change;
        }
        let seconds = offset.seconds();
        let sign = if seconds < 0 { '-' } else { '+' };
        let (hours, minutes) = (seconds.abs() / 3600, seconds.abs() / 60 % 60);
        let mut key = format!("{}{sign}{hours:02}:{minutes:02}", Unit::Hour.key(full));
        if seconds % 60 != 0 {
            key.push_str(&format!(":{:02}", seconds.abs() % 60));
        }
        Ok(Period {
            unit: Unit::Hour,
            zone: zone.clone(),
            start,
            end,
            key,
        })
    }
}

/// When a day's midnight comes first; where clocks skip it, when they do.
fn midnight(day: Date, zone: &TimeZone) -> Result<Timestamp, TimeError> {
    let midnight = day.at(0, 0, 0, 0);
    let at = Choice::Compatible.instant(midnight, zone)?;
    // A skipped midnight is shown as much later as the clocks jump; the day begins with the jump.
    match zone.to_datetime(at) == midnight {
        true => Ok(at),
        false => {
            let jump = zone.preceding(
                at.checked_add(SignedDuration::from_nanos(1))
                    .map_err(|_| TimeError::OutOfRange)?,
            );
            let jump = jump.map(|change| change.timestamp()).next();
            Ok(jump.unwrap_or(at))
        }
    }
}
