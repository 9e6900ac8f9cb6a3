//! Dates of the proleptic Gregorian calendar as days since 1970-01-01.

/// How many years make one whole round of the calendar, and its days.
const ROUND_YEARS: i64 = 400;
const ROUND_DAYS: i64 = 146_097;

/// The days between 0000-03-01, from which a leap day is the last day of a year, and 1970-01-01.
const EPOCH: i64 = 719_468;

/// Year, month and day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Date {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
}

/// The date of a day.
pub(super) fn date(days: i64) -> Date {
    let shifted = days + EPOCH;
    let (round, day) = (shifted.div_euclid(ROUND_DAYS), shifted.rem_euclid(ROUND_DAYS));
    // Whole years that end with the leap day, if they have one.
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    Date {
        year: round * ROUND_YEARS + year + i64::from(month < 3),
        month,
        day: day_of_year - (153 * from_march + 2) / 5 + 1,
    }
}

/// The day of a date; months beyond 12 are those of later years.
pub(super) fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = (year + (month - 1).div_euclid(12), (month - 1).rem_euclid(12) + 1);
    let year = year - i64::from(month < 3);
    let (round, of_round) = (year.div_euclid(ROUND_YEARS), year.rem_euclid(ROUND_YEARS));
    let from_march = (month + 9) % 12;
    let day_of_year = (153 * from_march + 2) / 5 + day - 1;
    round * ROUND_DAYS + of_round * 365 + of_round / 4 - of_round / 100 + day_of_year - EPOCH
}

/// The Monday of a day's week.
pub(super) fn monday(day: i64) -> i64 {
    // 1970-01-01 was a Thursday.
    day - (day + 3).rem_euclid(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_inverse() {
        for day in -800_000..800_000 {
            let Date {
                year,
                month,
                day: of_month,
            } = date(day);
            assert_eq!(days(year, month, of_month), day);
        }
        assert_eq!(
            date(0),
            Date {
                year: 1970,
                month: 1,
                day: 1
            }
        );
        assert_eq!(
            date(19_782),
            Date {
                year: 2024,
                month: 2,
                day: 29
            }
        );
        assert_eq!(days(2024, 13, 1), days(2025, 1, 1));
        assert_eq!(
            date(monday(0)),
            Date {
                year: 1969,
                month: 12,
                day: 29
            }
        );
    }
}
