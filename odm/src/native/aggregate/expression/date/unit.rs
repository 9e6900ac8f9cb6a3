//! Units of time.

use std::fmt::{self, Display, Formatter};

use super::super::super::super::fault::{Fault, Result};
use super::calendar::{Local, days_in, days_of};
use super::zone::Zone;

/// A unit of time by what it is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Of so many months.
    Months(i64),
    /// Of so many milliseconds.
    Fixed(i64),
    Week,
}

/// Milliseconds.
pub(super) const DAY: i64 = 86_400_000;

const NAMES: [(&str, Unit); 9] = [
    ("year", Unit::Months(12)),
    ("quarter", Unit::Months(3)),
    ("month", Unit::Months(1)),
    ("week", Unit::Week),
    ("day", Unit::Fixed(DAY)),
    ("hour", Unit::Fixed(3_600_000)),
    ("minute", Unit::Fixed(60_000)),
    ("second", Unit::Fixed(1000)),
    ("millisecond", Unit::Fixed(1)),
];

impl Display for Unit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(_, unit)| unit == self);
        f.write_str(name.map_or("", |(name, _)| name))
    }
}

impl Unit {
    pub(crate) fn parse(name: &str) -> Option<Unit> {
        NAMES
            .iter()
            .find(|(other, _)| *other == name)
            .map(|(_, unit)| *unit)
    }

    /// Its length in milliseconds, if it has always the same.
    pub(crate) fn millis(self) -> Option<i64> {
        match self {
            Unit::Months(_) => None,
            Unit::Fixed(ms) => Some(ms),
            Unit::Week => Some(7 * DAY),
        }
    }

    /// The moment so many units later in UTC.
    pub(crate) fn later(self, start: i64, amount: i64) -> Result<i64> {
        self.after(start, amount, &Zone::UTC)
            .ok_or_else(|| Fault::new(5166406, "dateAdd overflowed"))
    }

    /// How many are too many to be added to any date.
    pub(super) fn limit(self) -> u64 {
        // As many days as there are between the first and the last date, in years of 365 days.
        const DAYS: u64 = 213_503_982_335;
        const YEARS: u64 = DAYS / 365 + 1;
        match self {
            Unit::Months(months) => YEARS * 12 / months.unsigned_abs(),
            Unit::Week => DAYS / 7,
            Unit::Fixed(1) => u64::MAX,
            Unit::Fixed(ms) => DAYS * (DAY / ms).unsigned_abs(),
        }
    }

    /// The moment so many units later; whole days and more go by the zone's clocks. `None` out of range.
    pub(super) fn after(self, start: i64, amount: i64, zone: &Zone) -> Option<i64> {
        // As on the server: before the epoch it adds to whole seconds what is left of them toward the epoch.
        let behind = match self {
            Unit::Fixed(1) => 0,
            _ if start % 1000 < 0 => -1000,
            _ => 0,
        };
        let later = match self {
            Unit::Fixed(DAY) => add_days(start, behind, amount, zone),
            Unit::Week => add_days(start, behind, amount.checked_mul(7)?, zone),
            Unit::Fixed(ms) => {
                let later = i128::from(start) + i128::from(behind) + i128::from(amount) * i128::from(ms);
                i64::try_from(later).ok()
            }
            Unit::Months(months) => {
                let months = amount
                    .checked_mul(months)
                    .filter(|months| months.unsigned_abs() < 1 << 40)?;
                add_months(start, behind, months, zone)
            }
        };
        // The second in which it is has to begin among all dates.
        later.filter(|later| matches!(self, Unit::Fixed(1)) || *later >= i64::MIN / 1000 * 1000)
    }
}

/// `behind` goes to the start as well: with it, it may be before all dates.
fn add_days(start: i64, behind: i64, days: i64, zone: &Zone) -> Option<i64> {
    let from = zone.at(start.saturating_add(behind));
    let clock = i128::from(start) + i128::from(behind) + i128::from(from.offset);
    zone.moment_of(clock + i128::from(days) * i128::from(DAY), from.is_summer)
}

/// Where the month is too short it is its last day: so many days before it as the moment itself, which may be in the day
/// after the start, would be behind it.
fn add_months(start: i64, behind: i64, months: i64, zone: &Zone) -> Option<i64> {
    let from = zone.at(start.saturating_add(behind));
    let (own, local) = (
        Local::at(start, from.offset),
        Local::at(start, from.offset + behind),
    );
    let later = |local: &Local| {
        let month = local.month + months - 1;
        (local.year + month.div_euclid(12), month.rem_euclid(12) + 1)
    };
    let (year, month) = later(&own);
    let surplus = (own.day - days_in(year, month)).max(0);
    let (year, month) = later(&local);
    let days = days_of(year, month, 1) + local.day - 1 - surplus;
    zone.moment_of(
        i128::from(days) * i128::from(DAY) + i128::from(local.ms),
        from.is_summer,
    )
}
