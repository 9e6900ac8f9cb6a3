//! Dates read by a format.

use super::super::super::super::fault::{Fault, Result};
use super::CONVERSION_FAILURE;
use super::calendar::{days_in, days_of, iso_week_start};
use super::written::{Moment, Offset, offset};

/// The parts of a date that were read so far.
#[derive(Default)]
struct Parts {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    iso_year: Option<i64>,
    iso_week: Option<i64>,
    iso_day: Option<i64>,
    hour: Option<i64>,
    minute: Option<i64>,
    second: Option<i64>,
    millisecond: Option<i64>,
    zone: Option<Offset>,
}

/// A place in the text.
struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// A number of `least` to `most` digits.
    fn number(&mut self, least: usize, most: usize) -> Option<i64> {
        let digits = self
            .rest()
            .iter()
            .take(most)
            .take_while(|byte| byte.is_ascii_digit());
        let (length, number) = digits.fold((0, 0), |(length, number), digit| {
            (length + 1, number * 10 + i64::from(digit - b'0'))
        });
        self.at += length;
        (length >= least).then_some(number)
    }

    fn number_behind_anything(&mut self, most: usize) -> Option<i64> {
        let skipped = self.rest().iter().take_while(|byte| !byte.is_ascii_digit());
        self.at += skipped.count();
        self.number(1, most)
    }

    /// A failure here.
    fn wrong(&self, problem: &str) -> Fault {
        let found = self
            .text
            .get(self.at..)
            .and_then(|rest| rest.chars().next())
            .unwrap_or('\0');
        Fault::new(
            CONVERSION_FAILURE,
            format!(
                "Error parsing date string '{}'; {}: {problem} '{found}'",
                self.text, self.at
            ),
        )
    }
}

/// A text as the server sees it, which ends at a null.
fn before_null(text: &str) -> &str {
    text.split('\0').next().unwrap_or_default()
}

/// Reads a date by a format, whose letters are known to be right.
pub(super) fn read(text: &str, format: &str) -> Result<Moment> {
    let text = before_null(text);
    let mut scan = Scan { text, at: 0 };
    let mut parts = Parts::default();
    let mut letters = before_null(format).bytes();
    while let Some(letter) = letters.next() {
        if scan.rest().is_empty() {
            return Err(scan.wrong("Not enough data available to satisfy format"));
        }
        let letter = match letter {
            b'%' => letters.next(),
            literal => {
                literally(&mut scan, literal)?;
                continue;
            }
        };
        match letter {
            None | Some(b'%') => literally(&mut scan, b'%')?,
            Some(letter) => parts.read(letter, &mut scan)?,
        }
    }
    if !scan.rest().is_empty() {
        return Err(scan.wrong("Trailing data"));
    }
    parts.moment(&scan)
}

fn literally(scan: &mut Scan<'_>, byte: u8) -> Result<()> {
    if scan.rest().first() != Some(&byte) {
        return Err(scan.wrong("Format literal not found"));
    }
    scan.at += 1;
    Ok(())
}

impl Parts {
    fn read(&mut self, letter: u8, scan: &mut Scan<'_>) -> Result<()> {
        // In a date, and for hours, fewer digits than are asked for will do.
        let (slot, least, most, problem) = match letter {
            b'Y' => (&mut self.year, 1, 4, "A four digit year could not be found"),
            b'm' => (&mut self.month, 1, 2, "A two digit month could not be found"),
            b'd' => (&mut self.day, 1, 2, "A two digit day could not be found"),
            b'H' => (&mut self.hour, 1, 2, "A two digit hour could not be found"),
            b'M' => (&mut self.minute, 2, 2, "A two digit minute could not be found"),
            b'S' => (&mut self.second, 2, 2, "A two digit second could not be found"),
            b'L' => return self.read_millisecond(scan),
            b'z' => {
                let (zone, length) = offset(scan.rest()).ok_or_else(|| {
                    scan.wrong("passing a time zone identifier as part of the string is not allowed")
                })?;
                self.zone = Some(zone);
                scan.at += length;
                return Ok(());
            }
            b'Z' => return self.read_minutes_of_zone(scan),
            _ => return self.read_of_week(letter, scan),
        };
        *slot = Some(scan.number(least, most).ok_or_else(|| scan.wrong(problem))?);
        Ok(())
    }

    fn read_of_week(&mut self, letter: u8, scan: &mut Scan<'_>) -> Result<()> {
        let (slot, digits, last, problem) = match letter {
            b'G' => (
                &mut self.iso_year,
                4,
                9999,
                "A four digit ISO year could not be found",
            ),
            b'V' => (&mut self.iso_week, 2, 53, "ISO Week must be between 1 and 53"),
            b'u' => (&mut self.iso_day, 1, 7, "Day of week must be between 1 and 7"),
            _ => return Err(scan.wrong("The format separator does not match")),
        };
        let first = i64::from(letter != b'G');
        let number = scan
            .number_behind_anything(digits)
            .filter(|number| (first..=last).contains(number))
            .ok_or_else(|| scan.wrong(problem))?;
        *slot = Some(number);
        Ok(())
    }

    /// It is a fraction of a second: one digit says hundreds.
    fn read_millisecond(&mut self, scan: &mut Scan<'_>) -> Result<()> {
        let start = scan.at;
        let number = scan
            .number(1, 3)
            .ok_or_else(|| scan.wrong("A three digit millisecond could not be found"))?;
        self.millisecond = Some((scan.at - start..3).fold(number, |number, _| number * 10));
        Ok(())
    }

    /// A sign and any digits, also none.
    fn read_minutes_of_zone(&mut self, scan: &mut Scan<'_>) -> Result<()> {
        let sign = match scan.rest().first() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return Err(scan.wrong("Invalid timezone offset in minutes")),
        };
        scan.at += 1;
        let digits = scan.rest().iter().take_while(|byte| byte.is_ascii_digit());
        let (length, minutes) = digits.fold((0, 0_i64), |(length, number), digit| {
            let number = number.saturating_mul(10).saturating_add(i64::from(digit - b'0'));
            (length + 1, number.min(i32::MAX.into()))
        });
        scan.at += length;
        self.zone = Some(Offset::from_seconds(sign * minutes * 60));
        Ok(())
    }

    fn moment(self, scan: &Scan<'_>) -> Result<Moment> {
        let has_week = self.iso_week.or(self.iso_day).is_some();
        let has_day = self.month.or(self.day).is_some();
        let mixes = match self.iso_year {
            Some(_) => self.year.is_some() || has_day,
            None => self.year.is_some() && has_week,
        };
        if mixes {
            return Err(scan.wrong("Mixing of ISO dates with natural dates is not allowed"));
        }
        if has_week && self.iso_year.is_none() {
            return Err(scan.wrong("The parsed date was invalid"));
        }
        let days = match (self.year, self.month, self.day, self.iso_year) {
            (Some(year), Some(month), Some(day), _) => {
                if !(1..=12).contains(&month) || !(1..=days_in(year, month)).contains(&day) {
                    return Err(scan.wrong("The parsed date was invalid"));
                }
                days_of(year, month, day)
            }
            (.., Some(year)) => {
                iso_week_start(year, self.iso_week.unwrap_or(1)) + self.iso_day.unwrap_or(1) - 1
            }
            _ => {
                return Err(Fault::new(
                    CONVERSION_FAILURE,
                    format!(
                        "an incomplete date/time string has been found, with elements missing: \"{}\"",
                        scan.text
                    ),
                ));
            }
        };
        let mut seconds = days * 86_400;
        for (part, unit, end) in [(self.hour, 3600, 24), (self.minute, 60, 60), (self.second, 1, 60)] {
            if part.is_some_and(|part| part >= end) {
                return Err(scan.wrong("The parsed time was invalid"));
            }
            seconds += part.unwrap_or(0) * unit;
        }
        Ok(Moment {
            seconds: seconds.into(),
            microseconds: self.millisecond.unwrap_or(0) * 1000,
            zone: self.zone,
        })
    }
}
