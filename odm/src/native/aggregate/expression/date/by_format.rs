//! Dates read by a format.

use std::ops::RangeInclusive;

use super::super::super::super::fault::Result;
use super::calendar::{days_in, days_of, iso_week_start};
use super::written::{self, Moment, Offset, offset};

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

/// A place in the text, and what was wrong up to it: as on the server, all of that is told.
struct Scan<'a> {
    text: &'a str,
    at: usize,
    problems: String,
}

impl<'a> Scan<'a> {
    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn is_at_digit(&self) -> bool {
        self.rest().first().is_some_and(u8::is_ascii_digit)
    }

    /// The next number of up to so many digits, and how many it has, behind whatever comes before it.
    fn number(&mut self, most: usize) -> Option<(i64, usize)> {
        let skipped = self.rest().iter().take_while(|byte| !byte.is_ascii_digit());
        self.at += skipped.count();
        let digits = self
            .rest()
            .iter()
            .take(most)
            .take_while(|byte| byte.is_ascii_digit());
        let (number, length) = digits.fold((0, 0), |(number, length), digit| {
            (number * 10 + i64::from(digit - b'0'), length + 1)
        });
        self.at += length;
        (length > 0).then_some((number, length))
    }

    fn literally(&mut self, byte: u8) {
        if self.rest().first() != Some(&byte) {
            self.note(self.at, "Format literal not found");
        }
        self.at += 1;
    }

    /// Adds what is wrong.
    fn note(&mut self, at: usize, problem: &str) {
        written::note(&mut self.problems, self.text, at, problem);
    }
}

/// A text as the server sees it, which ends at a null.
fn before_null(text: &str) -> &str {
    text.split('\0').next().unwrap_or_default()
}

/// Reads a date by a format, whose letters are known to be right.
pub(super) fn read(text: &str, format: &str) -> Result<Moment> {
    let mut scan = Scan {
        text: before_null(text),
        at: 0,
        problems: String::new(),
    };
    let mut parts = Parts::default();
    let mut letters = before_null(format).bytes();
    while !scan.rest().is_empty() {
        match letters.next() {
            None => break,
            Some(b'%') => match letters.next() {
                // A null stands behind it.
                None => break,
                Some(b'%') => scan.literally(b'%'),
                Some(letter) => parts.read(letter, &mut scan),
            },
            Some(literal) => scan.literally(literal),
        }
    }
    if !scan.rest().is_empty() {
        scan.note(scan.at, "Trailing data");
    }
    if letters.next().is_some() {
        scan.note(scan.at, "Not enough data available to satisfy format");
    }
    for problem in parts.impossible() {
        scan.note(scan.at, problem);
    }
    match scan.problems.is_empty() {
        true => parts.moment(text),
        false => Err(written::all_wrong(text, &scan.problems)),
    }
}

const MIXED: &str = "Mixing of ISO dates with natural dates is not allowed";

/// How a number of a date is written, and what is said where it is not.
struct Form {
    least: usize,
    most: usize,
    range: RangeInclusive<i64>,
    missing: &'static str,
    outside: &'static str,
}

impl Form {
    const fn of(least: usize, most: usize, missing: &'static str) -> Form {
        Form {
            least,
            most,
            range: 0..=9999,
            missing,
            outside: "",
        }
    }
}

impl Parts {
    fn read(&mut self, letter: u8, scan: &mut Scan<'_>) {
        match letter {
            b'z' => self.read_zone(scan),
            b'Z' => self.read_minutes_of_zone(scan),
            _ => self.read_number(letter, scan),
        }
    }

    fn read_number(&mut self, letter: u8, scan: &mut Scan<'_>) {
        // In a date, and for hours, fewer digits than are asked for will do.
        let (slot, form) = match letter {
            b'Y' => (
                &mut self.year,
                Form::of(1, 4, "A four digit year could not be found"),
            ),
            b'm' => (
                &mut self.month,
                Form::of(1, 2, "A two digit month could not be found"),
            ),
            b'd' => (
                &mut self.day,
                Form::of(1, 2, "A two digit day could not be found"),
            ),
            b'H' => (
                &mut self.hour,
                Form::of(1, 2, "A two digit hour could not be found"),
            ),
            b'M' => (
                &mut self.minute,
                Form::of(2, 2, "A two digit minute could not be found"),
            ),
            b'S' => (
                &mut self.second,
                Form::of(2, 2, "A two digit second could not be found"),
            ),
            b'L' => (
                &mut self.millisecond,
                Form::of(1, 3, "A three digit millisecond could not be found"),
            ),
            b'V' => (
                &mut self.iso_week,
                Form {
                    range: 1..=53,
                    outside: "ISO Week must be between 1 and 53",
                    ..Form::of(1, 2, "A two digit ISO week could not be found")
                },
            ),
            b'u' => (
                &mut self.iso_day,
                Form {
                    range: 1..=7,
                    outside: "Day of week must be between 1 and 7",
                    ..Form::of(1, 1, "A single digit day of week could not be found")
                },
            ),
            _ => (
                &mut self.iso_year,
                Form::of(1, 4, "A four digit ISO year could not be found"),
            ),
        };
        let begin = scan.at;
        if !b"GVu".contains(&letter) && !scan.is_at_digit() {
            scan.note(begin, "Unexpected data found.");
        }
        let read = scan.number(form.most).filter(|(_, length)| *length >= form.least);
        match read {
            None => scan.note(begin, form.missing),
            Some((number, _)) if !form.range.contains(&number) => scan.note(begin, form.outside),
            Some(_) => {}
        }
        *slot = read.map(|(number, length)| match letter {
            // It is a fraction of a second: one digit says hundreds.
            b'L' => (length..3).fold(number, |number, _| number * 10),
            _ => number,
        });
    }

    fn read_zone(&mut self, scan: &mut Scan<'_>) {
        let (zone, length) = offset(scan.rest());
        if zone.is_none() {
            scan.note(
                scan.at,
                "passing a time zone identifier as part of the string is not allowed",
            );
        }
        self.zone = zone;
        scan.at += length;
    }

    /// A sign and any digits, also none.
    fn read_minutes_of_zone(&mut self, scan: &mut Scan<'_>) {
        let sign = match scan.rest().first() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return scan.note(scan.at, "Invalid timezone offset in minutes"),
        };
        scan.at += 1;
        let digits = scan.rest().iter().take_while(|byte| byte.is_ascii_digit());
        let (length, minutes) = digits.fold((0, 0_i64), |(length, number), digit| {
            let number = number.saturating_mul(10).saturating_add(i64::from(digit - b'0'));
            (length + 1, number.min(i32::MAX.into()))
        });
        scan.at += length;
        self.zone = Some(Offset::from_seconds(sign * minutes * 60));
    }

    /// What is no date or no time of what was read.
    fn impossible(&self) -> impl Iterator<Item = &'static str> {
        let has_week = self.iso_week.or(self.iso_day).is_some();
        let has_day = self.month.or(self.day).is_some();
        let is_mixed_in = self.iso_year.is_some() && (self.year.is_some() || has_day);
        let mixes_in = self.year.is_some() && (self.iso_year.is_some() || has_week);
        let lacks_year = has_week && self.iso_year.is_none();
        let is_late = |part: Option<i64>, end| part.is_some_and(|part| part >= end);
        let no_time = is_late(self.hour, 24) || is_late(self.minute, 60) || is_late(self.second, 60);
        let no_day = match (self.year, self.month, self.day) {
            (Some(year), Some(month), Some(day)) => {
                !(1..=12).contains(&month) || !(1..=days_in(year, month)).contains(&day)
            }
            _ => false,
        };
        [
            (is_mixed_in, MIXED),
            (mixes_in, MIXED),
            (lacks_year, "The parsed date was invalid"),
            (no_time, "The parsed time was invalid"),
            (no_day, "The parsed date was invalid"),
        ]
        .into_iter()
        .filter_map(|(is_so, problem)| is_so.then_some(problem))
    }

    fn moment(self, text: &str) -> Result<Moment> {
        let days = match (self.year, self.month, self.day, self.iso_year) {
            (Some(year), Some(month), Some(day), _) => days_of(year, month, day),
            (.., Some(year)) => {
                iso_week_start(year, self.iso_week.unwrap_or(1)) + self.iso_day.unwrap_or(1) - 1
            }
            _ => return Err(written::incomplete(text)),
        };
        let seconds = days * 86_400
            + self.hour.unwrap_or(0) * 3600
            + self.minute.unwrap_or(0) * 60
            + self.second.unwrap_or(0);
        Ok(Moment {
            seconds: seconds.into(),
            microseconds: self.millisecond.unwrap_or(0) * 1000,
            zone: self.zone,
        })
    }
}
