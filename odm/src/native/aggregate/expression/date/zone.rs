//! Time zones: fixed offsets, and the names of the time zone database that comes with the program.

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::super::super::super::document::Value;
use super::super::super::super::fault::{Fault, Result};
use super::super::Answer;
use super::calendar::Local;

/// A rule from moments to the clocks of a place.
#[derive(Clone, Debug)]
pub(super) enum Zone {
    /// Always so many milliseconds ahead of UTC.
    Fixed(i64),
    /// UTC by its name.
    Utc,
    Named(TimeZone),
}

/// What a zone's clocks show at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shift {
    /// Milliseconds ahead of UTC.
    pub(super) offset: i64,
    /// Whether that is daylight saving time.
    pub(super) is_summer: bool,
}

/// After so many milliseconds the calendar repeats, weekdays too.
const CYCLE: i64 = 146_097 * 86_400_000;

/// The latest moment that is looked up as it is: the end of 9998.
const LATEST: i64 = 253_370_764_800_000;

/// Before the first rule of any zone.
const EARLIEST: i64 = -62_167_219_200_000;

/// How far around a change of clocks is looked to tell its two sides apart.
const TWO_HOURS: i64 = 7_200_000;

impl Zone {
    pub(super) const UTC: Zone = Zone::Fixed(0);

    /// The zone of an optional argument: UTC when not given, `None` when null.
    pub(super) fn of(argument: &Answer<'_>) -> Result<Option<Zone>> {
        if argument.is_absent() {
            return Ok(Some(Zone::UTC));
        }
        match argument.value() {
            None | Some(Value::Null | Value::Undefined) => Ok(None),
            Some(Value::String(name)) => Zone::parse(name).map(Some),
            Some(_) => Err(Fault::new(
                40517,
                format!(
                    "timezone must evaluate to a string, found {}",
                    argument.type_name()
                ),
            )),
        }
    }

    /// A name of the time zone database, in its own spelling, or `+hh`, `+hhmm`, `+hh:mm`.
    pub(super) fn parse(name: &str) -> Result<Zone> {
        if let Some(minutes) = offset_minutes(name) {
            return Ok(Zone::Fixed(minutes * 60_000));
        }
        if name == "UTC" {
            return Ok(Zone::Utc);
        }
        match TimeZoneDatabase::bundled().get(name) {
            Ok(zone) if zone.iana_name() == Some(name) => Ok(Zone::Named(zone)),
            _ => Err(Fault::new(
                40485,
                format!("unrecognized time zone identifier: \"{name}\""),
            )),
        }
    }

    /// Whether it is an offset of nothing; the zone named UTC is not one.
    pub(super) fn is_utc(&self) -> bool {
        matches!(self, Zone::Fixed(0))
    }

    /// The clocks at this moment, in milliseconds since the epoch.
    pub(super) fn at(&self, ms: i64) -> Shift {
        match self {
            Zone::Fixed(offset) => Shift {
                offset: *offset,
                is_summer: false,
            },
            Zone::Utc => Zone::UTC.at(ms),
            Zone::Named(zone) => {
                let info = zone.to_offset_info(moment(ms));
                Shift {
                    offset: i64::from(info.offset().seconds()) * 1000,
                    is_summer: info.dst().is_dst(),
                }
            }
        }
    }

    /// The clocks at this moment as a date and a time.
    pub(super) fn local(&self, ms: i64) -> Local {
        Local::at(ms, self.at(ms).offset)
    }

    /// The moment when clocks show `local`; `None` out of range. A time that clocks skip counts as before the
    /// change; of one that they show twice it is the second, but the first where `was_summer`: that is how the
    /// server resolves them.
    pub(super) fn moment_of(&self, local: i128, was_summer: bool) -> Option<i64> {
        let offset = match self {
            Zone::Fixed(offset) => *offset,
            Zone::Utc => 0,
            Zone::Named(_) => {
                let nearest = local.clamp(i64::MIN.into(), i64::MAX.into());
                self.offset_of(nearest as i64, was_summer)
            }
        };
        i64::try_from(local - i128::from(offset)).ok()
    }

    /// The moment of a clock time that no other moment led to.
    pub(super) fn moment_of_parts(&self, local: i64) -> Option<i64> {
        self.moment_of(local.into(), self.at(0).is_summer)
    }

    fn offset_of(&self, local: i64, was_summer: bool) -> i64 {
        let before = self.at(local);
        let guess = local.saturating_sub(before.offset);
        let after = self.at(guess);
        let mut changed = self.change_before(guess);
        let mut offset = after.offset;
        if before.offset == after.offset {
            let is_past = |offset: i64, change: Option<i64>| {
                change.is_none_or(|change| local.saturating_sub(offset) >= change)
            };
            if before.offset >= 0 && was_summer && !before.is_summer {
                let near = guess.saturating_sub(TWO_HOURS);
                let earlier = self.at(near);
                if earlier.offset != after.offset && !is_past(earlier.offset, changed) {
                    offset = earlier.offset;
                    changed = self.change_before(near);
                }
            } else if before.offset <= 0 && before.is_summer && !was_summer {
                let near = guess.saturating_add(TWO_HOURS);
                let later = self.at(near);
                if later.offset != after.offset && is_past(later.offset, self.change_before(near)) {
                    offset = later.offset;
                }
            }
        }
        let utc = local.saturating_sub(offset);
        let is_between =
            changed.is_some_and(|change| utc >= change + (before.offset - offset) && utc < change);
        if is_between { before.offset } else { offset }
    }

    /// The last change of the clocks at this moment or before it.
    fn change_before(&self, ms: i64) -> Option<i64> {
        let Zone::Named(zone) = self else {
            return None;
        };
        let looked = within(ms);
        let from = Timestamp::from_millisecond(looked.saturating_add(1)).ok()?;
        let change = zone.preceding(from).next()?.timestamp().as_millisecond();
        Some(change.saturating_add(ms.saturating_sub(looked)))
    }
}

/// The moment whose rules hold at `ms`: late ones are looked up whole cycles of the calendar earlier.
fn within(ms: i64) -> i64 {
    if ms <= LATEST {
        return ms.max(EARLIEST);
    }
    LATEST - CYCLE + (ms - LATEST).rem_euclid(CYCLE)
}

fn moment(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(within(ms)).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Minutes of `+hh`, `+hhmm` or `+hh:mm`.
pub(super) fn offset_minutes(text: &str) -> Option<i64> {
    let (sign, digits) = match text.as_bytes() {
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let number = |digits: &[u8]| {
        digits.iter().all(u8::is_ascii_digit).then(|| {
            digits
                .iter()
                .fold(0i64, |n, digit| n * 10 + i64::from(digit - b'0'))
        })
    };
    let (hours, minutes) = match digits {
        [a, b] => (number(&[*a, *b])?, 0),
        [a, b, c, d] | [a, b, b':', c, d] => (number(&[*a, *b])?, number(&[*c, *d])?),
        _ => return None,
    };
    Some(sign * (hours * 60 + minutes))
}
