//! Years, months, days and hours, in UTC.

use std::ops::RangeInclusive;

use odm::bson::DateTime;
use odm::{Error, ErrorKind, Result};

/// How long a collection is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Period {
    /// `logs_2026`.
    Year,
    /// `logs_2026_11`.
    Month,
    /// `logs_2026_11_21`.
    Day,
    /// `logs_2026_11_21_07`.
    Hour,
}

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

/// The years 0 to 9999, in milliseconds: those that are written with four digits.
const WRITTEN: RangeInclusive<i64> = -62_167_219_200_000..=253_402_300_799_999;

impl Period {
    /// The numbers that name the period of a time: year, month, day, hour, as many as it has.
    fn parts(self, time: DateTime) -> Result<Vec<u32>> {
        if !WRITTEN.contains(&time.timestamp_millis()) {
            return Err(outside());
        }
        let text = time.try_to_rfc3339_string().map_err(|_| outside())?;
        let number = |from: usize, to: usize| text.get(from..to).and_then(|part| part.parse().ok());
        let parts = [number(0, 4), number(5, 7), number(8, 10), number(11, 13)];
        let parts: Option<Vec<u32>> = parts.into_iter().take(self.length()).collect();
        parts.ok_or_else(outside)
    }

    fn length(self) -> usize {
        match self {
            Period::Year => 1,
            Period::Month => 2,
            Period::Day => 3,
            Period::Hour => 4,
        }
    }

    /// What is behind the name of a collection: `2026_11`.
    pub(super) fn suffix(self, time: DateTime) -> Result<String> {
        let parts = self.parts(time)?;
        let text = parts.iter().enumerate().map(|(index, part)| match index {
            0 => format!("{part:04}"),
            _ => format!("_{part:02}"),
        });
        Ok(text.collect())
    }

    /// The beginning of the period that has this suffix; `None` when it is no such suffix.
    pub(super) fn of_suffix(self, suffix: &str) -> Option<DateTime> {
        let parts: Vec<&str> = suffix.split('_').collect();
        let fits = |(index, part): (usize, &&str)| {
            part.len() == if index == 0 { 4 } else { 2 } && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        if parts.len() != self.length() || !parts.iter().enumerate().all(fits) {
            return None;
        }
        let parts: Option<Vec<u32>> = parts.iter().map(|part| part.parse().ok()).collect();
        start(&parts?).ok()
    }

    /// When the period of a time begins: of one that has no name, the first or the last that has one.
    pub(super) fn start(self, time: DateTime) -> Result<DateTime> {
        let named = time.timestamp_millis().clamp(*WRITTEN.start(), *WRITTEN.end());
        start(&self.parts(DateTime::from_millis(named))?)
    }

    /// When the period begins that is so many after that of a time, or before it.
    pub(super) fn shifted(self, time: DateTime, by: i64) -> Result<DateTime> {
        let parts = self.parts(time)?;
        let (year, month) = (
            i64::from(parts.first().copied().unwrap_or(0)),
            i64::from(parts.get(1).copied().unwrap_or(1)),
        );
        let months = match self {
            Period::Year => year.saturating_add(by).saturating_mul(12),
            Period::Month => (year * 12 + month - 1).saturating_add(by),
            Period::Day | Period::Hour => {
                let length = if self == Period::Day { DAY } else { HOUR };
                let start = start(&parts)?.timestamp_millis();
                return Ok(DateTime::from_millis(
                    start.saturating_add(length.saturating_mul(by)),
                ));
            }
        };
        let part = |number: i64| u32::try_from(number).map_err(|_| outside());
        start(&[part(months.div_euclid(12))?, part(months.rem_euclid(12) + 1)?])
    }
}

fn start(parts: &[u32]) -> Result<DateTime> {
    let part = |index: usize, otherwise: u32| {
        let part = parts.get(index).copied().unwrap_or(otherwise);
        u8::try_from(part).map_err(|_| outside())
    };
    let year = i32::try_from(parts.first().copied().unwrap_or(0)).map_err(|_| outside())?;
    DateTime::builder()
        .year(year)
        .month(part(1, 1)?)
        .day(part(2, 1)?)
        .hour(part(3, 0)?)
        .build()
        .map_err(|_| outside())
}

fn outside() -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        "the time is outside of the years 0 to 9999",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> DateTime {
        DateTime::parse_rfc3339_str(text).unwrap()
    }

    #[test]
    fn periods_are_named_and_found_again() {
        let at = time("2026-11-21T07:59:59.999Z");
        for (period, suffix, next) in [
            (Period::Year, "2026", "2027"),
            (Period::Month, "2026_11", "2026_12"),
            (Period::Day, "2026_11_21", "2026_11_22"),
            (Period::Hour, "2026_11_21_07", "2026_11_21_08"),
        ] {
            assert_eq!(period.suffix(at).unwrap(), suffix);
            let start = period.start(at).unwrap();
            assert_eq!(period.of_suffix(suffix), Some(start));
            assert!(start <= at);
            let following = period.shifted(at, 1).unwrap();
            assert!(following > at);
            assert_eq!(period.suffix(following).unwrap(), next);
            assert_eq!(period.shifted(following, -1).unwrap(), start);
        }
        assert_eq!(
            Period::Month
                .suffix(Period::Month.shifted(at, 14).unwrap())
                .unwrap(),
            "2028_01"
        );
        assert_eq!(
            Period::Month
                .suffix(Period::Month.shifted(at, -11).unwrap())
                .unwrap(),
            "2025_12"
        );
        assert_eq!(
            Period::Day
                .suffix(Period::Day.shifted(time("2024-02-28T12:00:00Z"), 1).unwrap())
                .unwrap(),
            "2024_02_29"
        );
    }

    #[test]
    fn other_names_are_no_periods() {
        for suffix in [
            "",
            "2026_1",
            "2026_13",
            "2026_11_21",
            "26_11",
            "2026_1x",
            "+026_11",
            "2026_11_",
        ] {
            assert_eq!(Period::Month.of_suffix(suffix), None, "{suffix}");
        }
        assert!(Period::Day.suffix(DateTime::MAX).is_err());
        for (time, first) in [(DateTime::MIN, "0000_01_01"), (DateTime::MAX, "9999_12_31")] {
            assert_eq!(
                Some(Period::Day.start(time).unwrap()),
                Period::Day.of_suffix(first)
            );
        }
        assert!(
            Period::Year
                .shifted(time("2026-11-21T07:59:59Z"), i64::MAX)
                .is_err()
        );
    }
}
