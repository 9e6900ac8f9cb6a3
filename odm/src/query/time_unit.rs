//! Units of time.

/// A unit of time in expressions of dates and in windows over them.
///
/// Years, quarters, months and weeks are those of the calendar; a day may have 23 or 25 hours where a zone is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// From the first of January on.
    Year,
    /// Three months, from the first of January on.
    Quarter,
    /// From its first day on.
    Month,
    /// Seven days, from Sunday on unless another first day is said.
    Week,
    /// From midnight on.
    Day,
    /// 60 minutes.
    Hour,
    /// 60 seconds.
    Minute,
    /// 1,000 milliseconds.
    Second,
    /// What dates are counted in.
    Millisecond,
}

impl TimeUnit {
    /// MongoDB's name of the unit.
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
