//! The proleptic Gregorian calendar.

const DAY: i64 = 86_400_000;

/// A moment as a clock at some offset shows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Local {
    /// Days since 1970-01-01.
    pub(super) days: i64,
    pub(super) year: i64,
    /// 1 to 12.
    pub(super) month: i64,
    /// 1 to 31.
    pub(super) day: i64,
    /// Milliseconds since midnight.
    pub(super) ms: i64,
}

impl Local {
    /// From milliseconds since the epoch on that clock.
    pub(super) fn of(ms: i64) -> Local {
        Local::at(ms, 0)
    }

    /// From milliseconds since the epoch in UTC, on a clock so far ahead of it.
    pub(super) fn at(ms: i64, offset: i64) -> Local {
        // Taken apart first: the sum may be beyond any date.
        let of_day = ms.rem_euclid(DAY) + offset;
        let days = ms.div_euclid(DAY) + of_day.div_euclid(DAY);
        let (year, month, day) = civil(days);
        Local {
            days,
            year,
            month: month.into(),
            day: day.into(),
            ms: of_day.rem_euclid(DAY),
        }
    }

    pub(super) fn hour(&self) -> i32 {
        (self.ms / 3_600_000) as i32
    }

    pub(super) fn minute(&self) -> i32 {
        (self.ms / 60_000 % 60) as i32
    }

    pub(super) fn second(&self) -> i32 {
        (self.ms / 1000 % 60) as i32
    }

    pub(super) fn millisecond(&self) -> i32 {
        (self.ms % 1000) as i32
    }

    /// From 1.
    pub(super) fn day_of_year(&self) -> i32 {
        (self.days - days_of(self.year, 1, 1) + 1) as i32
    }

    /// From 1, a Sunday.
    pub(super) fn day_of_week(&self) -> i32 {
        ((self.days + 4).rem_euclid(7) + 1) as i32
    }

    /// From 1, a Monday.
    pub(super) fn iso_day_of_week(&self) -> i32 {
        ((self.days + 3).rem_euclid(7) + 1) as i32
    }

    /// The week of the year: 0 before the first Sunday.
    pub(super) fn week(&self) -> i32 {
        (self.day_of_year() + 7 - self.day_of_week()) / 7
    }

    /// The year and the week of ISO 8601.
    pub(super) fn iso_week(&self) -> (i64, i64) {
        // The Thursday of the same week decides the year.
        let thursday = self.days - i64::from(self.iso_day_of_week()) + 4;
        let (year, ..) = civil(thursday);
        (year, (thursday - days_of(year, 1, 1)) / 7 + 1)
    }
}

/// Year, month and day of a count of days since 1970-01-01.
pub(super) fn civil(days: i64) -> (i64, u32, u32) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month as u32, day as u32)
}

/// Days since 1970-01-01; a month or day out of range counts on from there.
pub(super) fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = year + (month - 1).div_euclid(12);
    let month = (month - 1).rem_euclid(12) + 1;
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let from_march = (month + 9) % 12;
    let of_year = (153 * from_march + 2) / 5;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468 + day - 1
}

/// The number of days of a month.
pub(super) fn days_in(year: i64, month: i64) -> i64 {
    days_of(year, month + 1, 1) - days_of(year, month, 1)
}

/// Days since 1970-01-01 of the first day of an ISO week.
pub(super) fn iso_week_start(year: i64, week: i64) -> i64 {
    let january_4 = days_of(year, 1, 4);
    let monday = january_4 - (january_4 + 3).rem_euclid(7);
    monday + (week - 1) * 7
}
