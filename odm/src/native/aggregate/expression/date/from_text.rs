//! Text as dates: ISO 8601 and the usual written forms, or a given format.

use super::super::super::super::document::{Owned, Value};
use super::super::super::super::fault::{Fault, Result};
use super::super::super::print;
use super::super::operator::Operator;
use super::super::parse::Parser;
use super::super::{Answer, Env, Node};
use super::calendar::{days_in, days_of, iso_week_start};
use super::text::{MONTHS, check_format};
use super::zone::{Zone, offset_minutes};

/// The code of a failed conversion, which `onError` catches.
const CONVERSION_FAILURE: i32 = 241;

/// The arguments: `dateString`, `format`, `timezone`, `onNull`, `onError`.
pub(super) fn parse_arguments(
    parser: &mut Parser<'_>,
    _: &'static Operator,
    value: &Value<'_>,
) -> Result<Vec<Node>> {
    let Value::Document(doc) = *value else {
        return Err(Fault::new(
            40540,
            format!(
                "$dateFromString only supports an object as an argument, found: {}",
                value.kind().alias()
            ),
        ));
    };
    let names = ["dateString", "format", "timezone", "onNull", "onError"];
    let arguments = parser.named(doc, &names, |other| {
        Fault::new(
            40541,
            format!("Unrecognized argument to $dateFromString: {other}"),
        )
    })?;
    if matches!(arguments[0], Node::Absent) {
        return Err(Fault::new(
            40542,
            "Missing 'dateString' parameter to $dateFromString",
        ));
    }
    Ok(arguments)
}

pub(super) fn from_text<'a>(_: &'static Operator, arguments: &'a [Node], env: Env<'a>) -> Result<Answer<'a>> {
    let [text, format, zone, on_null, on_error] = arguments else {
        return Ok(Answer::Missing);
    };
    let null = || Ok(Answer::Owned(Owned::Null));
    let text = text.evaluate(env)?;
    let format = format.evaluate(env)?;
    if !format.is_nullish() {
        match format.value() {
            Some(Value::String(format)) => check_format(format, "YmdHMSLuVGzZ%")?,
            _ => {
                return Err(Fault::new(
                    40684,
                    format!(
                        "$dateFromString requires that 'format' be a string, found: {} with value {}",
                        format.type_name(),
                        print::answer(&format)
                    ),
                ));
            }
        }
    }
    let zone_given = zone.evaluate(env)?;
    let zone = Zone::of(&zone_given)?;
    if text.is_nullish() {
        return if matches!(on_null, Node::Absent) {
            null()
        } else {
            on_null.evaluate(env)
        };
    }
    let Some(zone) = zone else {
        return null();
    };
    if !format.is_absent() && format.is_nullish() {
        return null();
    }
    let parsed = match text.value() {
        Some(Value::String(text)) => {
            let zone = (!zone_given.is_absent()).then_some(zone);
            match format.value() {
                Some(Value::String(format)) => by_format(text, format, zone),
                _ => parse(text, zone),
            }
        }
        _ => Err(failure(format!(
            "$dateFromString requires that 'dateString' be a string, found: {} with value {}",
            text.type_name(),
            print::answer(&text)
        ))),
    };
    match parsed {
        Ok(ms) => Ok(Answer::Owned(Owned::DateTime(ms))),
        Err(fault) if fault.code() == CONVERSION_FAILURE && !matches!(on_error, Node::Absent) => {
            on_error.evaluate(env)
        }
        Err(fault) => Err(fault),
    }
}

fn failure(message: String) -> Fault {
    Fault::new(CONVERSION_FAILURE, message)
}

/// What was read of a date so far.
#[derive(Default)]
struct Reading {
    date: Option<Date>,
    /// Milliseconds since midnight.
    time: Option<i64>,
    /// Minutes ahead of UTC, with the text that said so.
    offset: Option<(i64, String)>,
}

enum Date {
    Natural { year: i64, month: i64, day: i64 },
    Iso { year: i64, week: i64, day: i64 },
}

impl Reading {
    fn finish(self, text: &str, zone: Option<Zone>) -> Result<i64> {
        let days = match self.date {
            Some(Date::Natural { year, month, day }) => {
                if !(1..=12).contains(&month) || day < 1 || day > days_in(year, month) {
                    return Err(failure(format!(
                        "Error parsing date string '{text}'; {}: The parsed date was invalid '\0'",
                        text.len() + 1
                    )));
                }
                days_of(year, month, day)
            }
            Some(Date::Iso { year, week, day }) => iso_week_start(year, week) + day - 1,
            None => {
                return Err(failure(format!(
                    "an incomplete date/time string has been found, with elements missing: \"{text}\""
                )));
            }
        };
        let local = days * 86_400_000 + self.time.unwrap_or(0);
        match (&self.offset, zone) {
            (Some((_, given)), Some(_)) => Err(failure(format!(
                "you cannot pass in a date/time string with time zone information ('{given}') together with a timezone argument"
            ))),
            (Some((minutes, _)), None) => Ok(local - minutes * 60_000),
            (None, zone) => zone
                .unwrap_or(Zone::UTC)
                .moment_of_parts(local)
                .ok_or_else(|| failure("the date is out of range".to_owned())),
        }
    }
}

/// Reads a date in one of the usual forms; without a zone of its own it is in `zone`.
pub(super) fn parse(text: &str, zone: Option<Zone>) -> Result<i64> {
    let wrong = |at: usize| {
        let found = text
            .get(at..)
            .and_then(|rest| rest.chars().next())
            .unwrap_or('\0');
        failure(format!(
            "Error parsing date string '{text}'; {at}: Unexpected character '{found}'"
        ))
    };
    if text.is_empty() {
        return Err(failure(
            "Error parsing date string ''; 0: Empty string '\0'".to_owned(),
        ));
    }
    let mut reading = Reading::default();
    let mut scan = Scan { text, at: 0 };
    while !scan.rest().is_empty() {
        if scan.take_while(|c| c.is_ascii_whitespace() || c == ',' || c == '\0') > 0 {
            continue;
        }
        let start = scan.at;
        if reading.date.is_some() && reading.time.is_none() && (scan.literal("T") || scan.literal("t")) {
            continue;
        }
        if reading.date.is_none()
            && let Some(date) = scan.date()
        {
            reading.date = Some(date);
        } else if reading.time.is_none()
            && let Some(time) = scan.time()
        {
            reading.time = Some(time);
        } else if reading.offset.is_none()
            && let Some(minutes) = scan.offset()
        {
            reading.offset = Some((minutes, text[start..scan.at].to_owned()));
        } else if !scan.weekday() {
            return Err(wrong(start));
        }
    }
    reading.finish(text, zone)
}

/// A place in the text; a failed attempt leaves it where it was.
struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl Scan<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn take_while(&mut self, test: impl Fn(char) -> bool) -> usize {
        let length = self.rest().len() - self.rest().trim_start_matches(test).len();
        self.at += length;
        length
    }

    fn literal(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// A number of `least` to `most` digits.
    fn number(&mut self, least: usize, most: usize) -> Option<i64> {
        let digits = self
            .rest()
            .bytes()
            .take(most)
            .take_while(u8::is_ascii_digit)
            .count();
        if digits < least {
            return None;
        }
        let number = self.rest()[..digits].parse().ok()?;
        self.at += digits;
        Some(number)
    }

    fn attempt<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let start = self.at;
        let result = read(self);
        if result.is_none() {
            self.at = start;
        }
        result
    }

    fn ends_number(&self) -> bool {
        !self.rest().starts_with(|c: char| c.is_ascii_digit())
    }

    fn date(&mut self) -> Option<Date> {
        self.attempt(Scan::iso_week)
            .or_else(|| self.attempt(Scan::year_first))
            .or_else(|| self.attempt(Scan::compact))
            .or_else(|| self.attempt(Scan::slashes))
            .or_else(|| self.attempt(Scan::month_first))
            .or_else(|| self.attempt(Scan::day_first))
    }

    /// `2020-W10-3`.
    fn iso_week(&mut self) -> Option<Date> {
        let year = self.number(4, 4)?;
        self.literal("-");
        if !self.literal("W") {
            return None;
        }
        let week = self.number(2, 2)?;
        let day = if self.literal("-") {
            self.number(1, 1)?
        } else {
            self.number(1, 1).unwrap_or(1)
        };
        Some(Date::Iso { year, week, day })
    }

    /// `2020-01-02`, `2020/1/2`.
    fn year_first(&mut self) -> Option<Date> {
        let negative = self.literal("-");
        let year = self.number(4, 4)?;
        let separator = if self.literal("-") { "-" } else { "/" };
        if separator == "/" && !self.literal("/") {
            return None;
        }
        let month = self.number(1, 2)?;
        if !self.literal(separator) {
            return None;
        }
        let day = self.number(1, 2)?;
        (self.ends_number() && (1..=12).contains(&month) && (1..=31).contains(&day)).then_some(
            Date::Natural {
                year: if negative { -year } else { year },
                month,
                day,
            },
        )
    }

    /// `20200102`.
    fn compact(&mut self) -> Option<Date> {
        let year = self.number(4, 4)?;
        let month = self.number(2, 2)?;
        let day = self.number(2, 2)?;
        (self.ends_number() && (1..=12).contains(&month)).then_some(Date::Natural { year, month, day })
    }

    /// `1/2/2020`, month first.
    fn slashes(&mut self) -> Option<Date> {
        let month = self.number(1, 2)?;
        if !self.literal("/") {
            return None;
        }
        let day = self.number(1, 2)?;
        if !self.literal("/") {
            return None;
        }
        let year = self.number(4, 4)?;
        (1..=12)
            .contains(&month)
            .then_some(Date::Natural { year, month, day })
    }

    /// `Jan 2, 2020`.
    fn month_first(&mut self) -> Option<Date> {
        let month = self.month_name()?;
        self.take_while(|c| c == ' ' || c == '-' || c == '.');
        let day = self.number(1, 2)?;
        self.take_while(|c| c.is_ascii_alphabetic());
        self.take_while(|c| c == ' ' || c == ',' || c == '-');
        let year = self.number(4, 4)?;
        Some(Date::Natural { year, month, day })
    }

    /// `2 Jan 2020`.
    fn day_first(&mut self) -> Option<Date> {
        let day = self.number(1, 2)?;
        self.take_while(|c| c.is_ascii_lowercase());
        self.take_while(|c| c == ' ' || c == '-' || c == '.');
        let month = self.month_name()?;
        self.take_while(|c| c == ' ' || c == ',' || c == '-' || c == '.');
        let year = self.number(4, 4)?;
        Some(Date::Natural { year, month, day })
    }

    fn word(&mut self) -> Option<String> {
        let start = self.at;
        let length = self.take_while(|c| c.is_ascii_alphabetic());
        (length > 0).then(|| self.text[start..self.at].to_ascii_lowercase())
    }

    fn month_name(&mut self) -> Option<i64> {
        const FULL: [&str; 12] = [
            "january",
            "february",
            "march",
            "april",
            "may",
            "june",
            "july",
            "august",
            "september",
            "october",
            "november",
            "december",
        ];
        let word = self.word()?;
        let index = FULL
            .iter()
            .zip(MONTHS)
            .position(|(full, short)| word == *full || word.eq_ignore_ascii_case(short))
            .or_else(|| (word == "sept").then_some(8))?;
        Some(index as i64 + 1)
    }

    fn weekday(&mut self) -> bool {
        self.attempt(|scan| {
            let word = scan.word()?;
            super::arithmetic::weekday(&word).map(|_| ())
        })
        .is_some()
    }

    /// `03:04[:05[.678]]`, with `am` or `pm` after.
    fn time(&mut self) -> Option<i64> {
        self.attempt(|scan| {
            let mut hour = scan.number(1, 2)?;
            let (mut minute, mut second, mut ms) = (0, 0, 0);
            let mut parts = 1;
            if scan.literal(":") {
                minute = scan.number(2, 2)?;
                parts = 2;
                if scan.literal(":") {
                    second = scan.number(2, 2)?;
                    if scan.literal(".") || scan.literal(",") {
                        let start = scan.at;
                        scan.take_while(|c| c.is_ascii_digit());
                        let digits: String = scan.text[start..scan.at].chars().take(3).collect();
                        ms = format!("{digits:0<3}").parse().ok()?;
                    }
                }
            }
            let half = scan.attempt(|scan| {
                scan.take_while(|c| c == ' ');
                scan.word().filter(|word| word == "am" || word == "pm")
            });
            match half.as_deref() {
                Some("pm") if hour < 12 => hour += 12,
                Some("am") if hour == 12 => hour = 0,
                None if parts == 1 => return None,
                _ => {}
            }
            (hour < 24 && minute < 60 && second < 61)
                .then_some(((hour * 60 + minute) * 60 + second) * 1000 + ms)
        })
    }

    fn offset(&mut self) -> Option<i64> {
        self.attempt(|scan| {
            if scan.rest().starts_with(['+', '-']) {
                let length = 1 + scan.rest()[1..]
                    .bytes()
                    .take_while(|b| b.is_ascii_digit() || *b == b':')
                    .count();
                let minutes = offset_minutes(&scan.rest()[..length])?;
                scan.at += length;
                return Some(minutes);
            }
            let hours = match scan.word()?.as_str() {
                "z" | "utc" | "gmt" => 0,
                "edt" => -4,
                "est" | "cdt" => -5,
                "cst" | "mdt" => -6,
                "mst" | "pdt" => -7,
                "pst" => -8,
                "bst" | "cet" => 1,
                "cest" | "eet" => 2,
                "eest" | "msk" => 3,
                "jst" => 9,
                _ => return None,
            };
            if scan.literal("/") {
                return None;
            }
            Some(hours * 60)
        })
    }
}

impl Scan<'_> {
    /// An offset as a format takes it: also with a single digit, and behind `GMT`.
    fn offset_by_format(&mut self) -> Option<i64> {
        self.attempt(|scan| {
            scan.literal("GMT");
            let sign = match scan.rest().chars().next()? {
                '+' => 1,
                '-' => -1,
                _ => return None,
            };
            scan.at += 1;
            let hours = scan.number(1, 2)?;
            // What has minutes too is read below.
            match scan.rest().starts_with(|c: char| c == ':' || c.is_ascii_digit()) {
                true => None,
                false => Some(sign * hours * 60),
            }
        })
        .or_else(|| self.offset())
    }
}

/// Reads a date by a format.
fn by_format(text: &str, format: &str, zone: Option<Zone>) -> Result<i64> {
    let mut scan = Scan { text, at: 0 };
    let (mut year, mut month, mut day) = (None, None, None);
    let (mut iso_year, mut iso_week, mut iso_day) = (None, None, None);
    let (mut hour, mut minute, mut second, mut ms) = (None, None, None, None);
    let mut offset = None;
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        let start = scan.at;
        let wrong = |what: &str| {
            let found = text
                .get(start..)
                .and_then(|rest| rest.chars().next())
                .unwrap_or('\0');
            failure(format!(
                "Error parsing date string '{text}'; {start}: {what} '{found}'"
            ))
        };
        if letter != '%' {
            if !scan.literal(letter.encode_utf8(&mut [0; 4])) {
                return Err(wrong("Format literal not found"));
            }
            continue;
        }
        // In a date, and for hours, fewer digits than are asked for will do.
        let (slot, digits, what) = match letters.next() {
            Some('Y') => (&mut year, (1, 4), "A four digit year could not be found"),
            Some('m') => (&mut month, (1, 2), "A two digit month could not be found"),
            Some('d') => (&mut day, (1, 2), "A two digit day could not be found"),
            Some('H') => (&mut hour, (1, 2), "A two digit hour could not be found"),
            Some('M') => (&mut minute, (2, 2), "A two digit minute could not be found"),
            Some('S') => (&mut second, (2, 2), "A two digit second could not be found"),
            Some('L') => {
                let number = scan
                    .number(1, 3)
                    .ok_or_else(|| wrong("A three digit millisecond could not be found"))?;
                // It is a fraction of a second.
                ms = Some((scan.at - start..3).fold(number, |number, _| number * 10));
                continue;
            }
            Some('G') => (&mut iso_year, (1, 4), "A four digit year could not be found"),
            Some('V') => (&mut iso_week, (1, 2), "A two digit week could not be found"),
            Some('u') => (&mut iso_day, (1, 1), "A one digit day of week could not be found"),
            Some('z') => {
                scan.take_while(|c| c == ' ');
                let start = scan.at;
                let minutes = scan
                    .offset_by_format()
                    .ok_or_else(|| wrong("The timezone could not be found"))?;
                offset = Some((minutes, text[start..scan.at].to_owned()));
                continue;
            }
            Some('Z') => {
                let negative = scan.literal("-");
                if !negative {
                    scan.literal("+");
                }
                let minutes = scan
                    .number(1, 4)
                    .ok_or_else(|| wrong("The timezone offset could not be found"))?;
                let minutes = if negative { -minutes } else { minutes };
                offset = Some((minutes, text[start..scan.at].to_owned()));
                continue;
            }
            _ => {
                if !scan.literal("%") {
                    return Err(wrong("Format literal not found"));
                }
                continue;
            }
        };
        let number = scan.number(digits.0, digits.1).ok_or_else(|| wrong(what))?;
        *slot = Some(number);
    }
    if let Some(found) = scan.rest().chars().next() {
        return Err(failure(format!(
            "Error parsing date string '{text}'; {}: Trailing data '{found}'",
            scan.at
        )));
    }
    let wrong = |what: &str| {
        failure(format!(
            "Error parsing date string '{text}'; {}: {what} '\0'",
            text.len()
        ))
    };
    let has_iso = iso_year.or(iso_week).or(iso_day).is_some();
    if has_iso && year.or(month).or(day).is_some() {
        return Err(wrong("Mixing of ISO dates with natural dates is not allowed"));
    }
    if iso_week.is_some_and(|week| !(1..=53).contains(&week)) {
        return Err(wrong("ISO Week must be between 1 and 53"));
    }
    if iso_day.is_some_and(|day| !(1..=7).contains(&day)) {
        return Err(wrong("Day of week must be between 1 and 7"));
    }
    let date = match (year, month, day, iso_year) {
        (Some(year), Some(month), Some(day), _) => Some(Date::Natural { year, month, day }),
        (.., Some(year)) => Some(Date::Iso {
            year,
            week: iso_week.unwrap_or(1),
            day: iso_day.unwrap_or(1),
        }),
        _ => None,
    };
    let time = [
        (hour, 3_600_000, 24),
        (minute, 60_000, 60),
        (second, 1000, 60),
        (ms, 1, 1000),
    ];
    for (part, _, most) in time {
        if part.is_some_and(|part| part >= most) {
            return Err(wrong("The parsed time was invalid"));
        }
    }
    let reading = Reading {
        date,
        time: Some(time.iter().map(|(part, unit, _)| part.unwrap_or(0) * unit).sum()),
        offset,
    };
    reading.finish(text, zone)
}
