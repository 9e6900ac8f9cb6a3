//! Dates as text.

use super::super::super::super::document::{Owned, Value};
use super::super::super::super::fault::{Fault, Result};
use super::super::super::print;
use super::super::operator::Operator;
use super::super::parse::Parser;
use super::super::{Answer, Env, Node};
use super::calendar::Local;
use super::to_date;
use super::zone::Zone;

/// A date as messages print it: only years of four digits.
pub(crate) fn date_text(ms: i64) -> String {
    formatted(ms, UTC_FORMAT, &Zone::UTC).unwrap_or_else(|_| "illegal date".to_owned())
}

const UTC_FORMAT: &str = "%Y-%m-%dT%H:%M:%S.%LZ";

/// A date as the string operators take it: only years of four digits.
pub(in super::super) fn coerced_date(ms: i64) -> Result<String> {
    formatted(ms, UTC_FORMAT, &Zone::Utc)
        .map_err(|fault| fault.prefixed("failed while coercing date to string :: caused by :: "))
}

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// A timestamp as string operators print it: `Jan  1 00:00:01:2`.
pub(crate) fn timestamp_text(time: u32, increment: u32) -> String {
    let local = Local::of(i64::from(time) * 1000);
    let month = MONTHS.get(local.month as usize - 1).copied().unwrap_or_default();
    format!(
        "{month} {:>2} {:02}:{:02}:{:02}:{increment}",
        local.day,
        local.hour(),
        local.minute(),
        local.second()
    )
}

/// The arguments, in the order in which constants among them are computed: `date`, `timezone`, `onNull`, `format`.
pub(super) fn parse(parser: &mut Parser<'_>, _: &'static Operator, value: &Value<'_>) -> Result<Vec<Node>> {
    let Value::Document(doc) = *value else {
        return Err(Fault::new(
            18629,
            "$dateToString only supports an object as its argument",
        ));
    };
    let names = ["date", "timezone", "onNull", "format"];
    let unknown = |other: &str| Fault::new(18534, format!("Unrecognized argument to $dateToString: {other}"));
    parser.named_late(
        doc,
        ("$dateToString", &names),
        &[0, 3, 1, 2],
        unknown,
        &[(0, 18628)],
    )
}

pub(super) fn to_text<'a>(_: &'static Operator, arguments: &'a [Node], env: Env<'a>) -> Result<Answer<'a>> {
    let [date, zone, on_null, format] = arguments else {
        return Ok(Answer::Missing);
    };
    let null = || Ok(Answer::Owned(Owned::Null));
    let date = date.evaluate(env)?;
    let format = format.evaluate(env)?;
    if !format.is_nullish() {
        match format.value() {
            Some(Value::String(format)) => check_format(format, "YmdHMSLjwUuVGzZ%")?,
            _ => {
                return Err(Fault::new(
                    18533,
                    format!(
                        "$dateToString requires that 'format' be a string, found: {} with value {}",
                        format.type_name(),
                        print::answer(&format)
                    ),
                ));
            }
        }
    }
    let zone = Zone::of(&zone.evaluate(env)?)?;
    if date.is_nullish() {
        return on_null.evaluate_or_null(env);
    }
    let Some(zone) = zone else {
        return null();
    };
    let format = match (format.is_absent(), format.value()) {
        (true, _) => UTC_FORMAT,
        (_, Some(Value::String(format))) => format,
        _ => return null(),
    };
    formatted(to_date(&date)?, format, &zone).map(|text| Answer::Owned(Owned::String(text)))
}

/// Refuses a format with a letter that it may not have.
pub(super) fn check_format(format: &str, letters: &str) -> Result<()> {
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            continue;
        }
        match chars.next() {
            None => return Err(Fault::new(18535, "Unmatched '%' at end of format string")),
            Some(letter) if letters.contains(letter) => {}
            Some(letter) => {
                return Err(Fault::new(
                    18536,
                    format!("Invalid format character '%{letter}' in format string"),
                ));
            }
        }
    }
    Ok(())
}

pub(super) fn formatted(ms: i64, format: &str, zone: &Zone) -> Result<String> {
    let offset = zone.at(ms).offset;
    let local = Local::at(ms, offset);
    let minutes = offset / 60_000;
    let year = |year: i64| {
        if (0..=9999).contains(&year) {
            Ok(format!("{year:04}"))
        } else {
            Err(Fault::new(
                18537,
                format!(
                    "Could not convert date to string: date component was outside the supported range of 0-9999: {year}"
                ),
            ))
        }
    };
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('Y') => out.push_str(&year(local.year)?),
            Some('G') => out.push_str(&year(local.iso_week().0)?),
            Some('m') => out.push_str(&format!("{:02}", local.month)),
            Some('d') => out.push_str(&format!("{:02}", local.day)),
            Some('H') => out.push_str(&format!("{:02}", local.hour())),
            Some('M') => out.push_str(&format!("{:02}", local.minute())),
            Some('S') => out.push_str(&format!("{:02}", local.second())),
            Some('L') => out.push_str(&format!("{:03}", local.millisecond())),
            Some('j') => out.push_str(&format!("{:03}", local.day_of_year())),
            Some('w') => out.push_str(&local.day_of_week().to_string()),
            Some('U') => out.push_str(&format!("{:02}", local.week())),
            Some('u') => out.push_str(&local.iso_day_of_week().to_string()),
            Some('V') => out.push_str(&format!("{:02}", local.iso_week().1)),
            Some('z') => {
                let sign = if minutes < 0 { '-' } else { '+' };
                let minutes = minutes.abs();
                out.push_str(&format!("{sign}{:02}{:02}", minutes / 60, minutes % 60));
            }
            Some('Z') => out.push_str(&minutes.to_string()),
            Some(other) => out.push(other),
            None => {}
        }
    }
    Ok(out)
}
