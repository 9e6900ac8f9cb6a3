//! Units of local time.

use jiff::ToSpan;
use jiff::civil::{Date, DateTime, Weekday};

use super::error::TimeError;

/// A unit of local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unit {
    /// An hour; shorter where the clocks change within it.
    Hour,
    /// A day: 23 or 25 hours where the clocks change.
    Day,
    /// A week from Monday, as in ISO 8601.
    Week,
    /// A week from Sunday.
    SundayWeek,
    /// A month.
    Month,
    /// A quarter of a year.
    Quarter,
    /// A year.
    Year,
}

impl Unit {
    /// The first day of the unit that a day is in. An hour is in its day.
    pub(super) fn first_day(self, day: Date) -> Result<Date, TimeError> {
        let back = |days: i8| {
            day.checked_sub(i64::from(days).days())
                .map_err(|_| TimeError::OutOfRange)
        };
        Ok(match self {
            Unit::Hour | Unit::Day => day,
            Unit::Week => back(day.weekday().since(Weekday::Monday))?,
            Unit::SundayWeek => back(day.weekday().since(Weekday::Sunday))?,
            Unit::Month => day.first_of_month(),
            Unit::Quarter => {
                let first = day.first_of_month();
                first
                    .checked_sub(i64::from((first.month() - 1) % 3).months())
                    .map_err(|_| TimeError::OutOfRange)?
            }
            Unit::Year => day.first_of_year(),
        })
    }

    /// The first day of the next one.
    pub(super) fn next_day(self, first: Date) -> Result<Date, TimeError> {
        let span = match self {
            Unit::Hour | Unit::Day => 1.day(),
            Unit::Week | Unit::SundayWeek => 1.week(),
            Unit::Month => 1.month(),
            Unit::Quarter => 3.months(),
            Unit::Year => 1.year(),
        };
        first.checked_add(span).map_err(|_| TimeError::OutOfRange)
    }

    /// The beginning of a unit as a key: sorts as the times do, but for hours that come twice.
    pub(super) fn key(self, start: DateTime) -> String {
        let day = start.date();
        match self {
            Unit::Hour => start.strftime("%Y-%m-%dT%H").to_string(),
            Unit::Day | Unit::SundayWeek => day.to_string(),
            Unit::Week => {
                let week = day.iso_week_date();
                format!("{:04}-W{:02}", week.year(), week.week())
            }
            Unit::Month => day.strftime("%Y-%m").to_string(),
            Unit::Quarter => format!("{:04}-Q{}", day.year(), (day.month() - 1) / 3 + 1),
            Unit::Year => format!("{:04}", day.year()),
        }
    }

    /// MongoDB's name for it, and the day that weeks begin with.
    pub(super) fn in_pipelines(self) -> (&'static str, Option<&'static str>) {
        match self {
            Unit::Hour => ("hour", None),
            Unit::Day => ("day", None),
            Unit::Week => ("week", Some("monday")),
            Unit::SundayWeek => ("week", Some("sunday")),
            Unit::Month => ("month", None),
            Unit::Quarter => ("quarter", None),
            Unit::Year => ("year", None),
        }
    }
}
