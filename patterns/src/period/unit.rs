//! Kinds of periods.

/// A kind of period of the calendar. Weeks begin on Monday.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Unit {
    /// 60 seconds, counted from the beginning of the hour.
    Minute,
    /// 60 minutes, counted from the beginning of the day: a day has 23 or 25 where the clock is changed.
    Hour,
    /// A local day.
    Day,
    /// Seven days, the first a Monday.
    Week,
    /// A month.
    Month,
    /// A year.
    Year,
}

impl Unit {
    /// All of them, the shortest first.
    pub const ALL: [Unit; 6] = [
        Unit::Minute,
        Unit::Hour,
        Unit::Day,
        Unit::Week,
        Unit::Month,
        Unit::Year,
    ];

    /// Whether every period of this kind is made of whole periods of the other: months of days, but not of weeks.
    pub fn holds(self, inner: Unit) -> bool {
        inner < self && inner != Unit::Week
    }

    /// What periods of this kind are called.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Minute => "minute",
            Unit::Hour => "hour",
            Unit::Day => "day",
            Unit::Week => "week",
            Unit::Month => "month",
            Unit::Year => "year",
        }
    }

    /// The field that holds figures of several of them.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Unit::Minute => "minutes",
            Unit::Hour => "hours",
            Unit::Day => "days",
            Unit::Week => "weeks",
            Unit::Month => "months",
            Unit::Year => "years",
        }
    }

    /// Those of fixed length, in milliseconds.
    pub(super) fn millis(self) -> Option<i64> {
        match self {
            Unit::Minute => Some(60_000),
            Unit::Hour => Some(3_600_000),
            _ => None,
        }
    }
}
