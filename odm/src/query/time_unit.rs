//! Units of time.

use std::fmt;

/// A unit of time, as expressions and stages on dates take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// A year of the calendar.
    Year,
    /// Three months.
    Quarter,
    /// A month of the calendar.
    Month,
    /// Seven days.
    Week,
    /// A day.
    Day,
    /// An hour.
    Hour,
    /// A minute.
    Minute,
    /// A second.
    Second,
    /// A millisecond: what dates are stored in.
    Millisecond,
}

impl TimeUnit {
    /// The unit's name in MongoDB: `"year"`, `"millisecond"`.
    ///
    /// ```
    /// assert_eq!(odm::expr::TimeUnit::Quarter.as_str(), "quarter");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            TimeUnit::Year => "year",
            TimeUnit::Quarter => "quarter",
            TimeUnit::Month => "month",
            TimeUnit::Week => "week",
            TimeUnit::Day => "day",
            TimeUnit::Hour => "hour",
            TimeUnit::Minute => "minute",
            TimeUnit::Second => "second",
            TimeUnit::Millisecond => "millisecond",
        }
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
