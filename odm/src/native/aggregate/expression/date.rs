//! Dates: their parts, arithmetic and text, in UTC or in another time zone.

mod arithmetic;
mod by_format;
mod calendar;
mod from_text;
mod parts;
mod text;
mod unit;
mod written;
mod zone;

use super::super::super::document::Value;
use super::super::super::fault::{Fault, Result};
use super::operator::{Arguments, Operator, asking, lazy, strict};
use super::{Answer, type_name};

pub(super) use self::parts::NAMES as PARTS;
pub(super) use self::text::coerced_date;
pub(crate) use self::text::{date_text, timestamp_text};
pub(crate) use self::unit::Unit;

/// The code of a text that is no date, which `onError` catches.
const CONVERSION_FAILURE: i32 = 241;

/// The code of a moment that is so far off that microseconds cannot count it.
pub(super) const DURATION_OVERFLOW: i32 = 159;

pub(super) static OPERATORS: &[Operator] = &[
    strict("$year", Arguments::Custom(parts::parse), |operator, arguments| {
        parts::part(operator, arguments, |local| local.year as i32)
    }),
    strict(
        "$month",
        Arguments::Custom(parts::parse),
        |operator, arguments| parts::part(operator, arguments, |local| local.month as i32),
    ),
    strict(
        "$dayOfMonth",
        Arguments::Custom(parts::parse),
        |operator, arguments| parts::part(operator, arguments, |local| local.day as i32),
    ),
    strict("$hour", Arguments::Custom(parts::parse), |operator, arguments| {
        parts::part(operator, arguments, |local| local.hour())
    }),
    strict(
        "$minute",
        Arguments::Custom(parts::parse),
        |operator, arguments| parts::part(operator, arguments, |local| local.minute()),
    ),
    strict(
        "$second",
        Arguments::Custom(parts::parse),
        |operator, arguments| parts::part(operator, arguments, |local| local.second()),
    ),
    strict(
        "$millisecond",
        Arguments::Custom(parts::parse),
        |operator, arguments| parts::part(operator, arguments, |local| local.millisecond()),
    ),
    strict(
        "$dayOfYear",
        Arguments::Custom(parts::parse),
        |operator, arguments| parts::part(operator, arguments, |local| local.day_of_year()),
    ),
    strict(
        "$dayOfWeek",
        Arguments::Custom(parts::parse),
        |operator, arguments| parts::part(operator, arguments, |local| local.day_of_week()),
    ),
    strict("$week", Arguments::Custom(parts::parse), |operator, arguments| {
        parts::part(operator, arguments, |local| local.week())
    }),
    strict(
        "$isoWeek",
        Arguments::Custom(parts::parse),
        |operator, arguments| parts::part(operator, arguments, |local| local.iso_week().1 as i32),
    ),
    strict(
        "$isoDayOfWeek",
        Arguments::Custom(parts::parse),
        |operator, arguments| parts::part(operator, arguments, |local| local.iso_day_of_week()),
    ),
    strict(
        "$isoWeekYear",
        Arguments::Custom(parts::parse),
        parts::iso_week_year,
    ),
    asking(
        "$dateToParts",
        Arguments::Custom(parts::parse_to_parts),
        parts::to_parts,
    ),
    asking(
        "$dateFromParts",
        Arguments::Custom(parts::parse_from_parts),
        parts::from_parts,
    ),
    lazy("$dateToString", Arguments::Custom(text::parse), text::to_text),
    lazy(
        "$dateFromString",
        Arguments::Custom(from_text::parse_arguments),
        from_text::from_text,
    ),
    strict(
        "$dateAdd",
        Arguments::Custom(arithmetic::parse_add),
        arithmetic::add,
    ),
    strict(
        "$dateSubtract",
        Arguments::Custom(arithmetic::parse_add),
        arithmetic::add,
    ),
    asking(
        "$dateDiff",
        Arguments::Custom(arithmetic::parse_diff),
        arithmetic::diff,
    ),
    asking(
        "$dateTrunc",
        Arguments::Custom(arithmetic::parse_trunc),
        arithmetic::trunc,
    ),
];

/// A date as text; years that do not have four digits are refused.
pub(super) fn to_text(ms: i64) -> Result<String> {
    text::formatted(ms, "%Y-%m-%dT%H:%M:%S.%LZ", &zone::Zone::UTC)
}

/// The date that a text says, in UTC unless it names an offset; code 241 if it says none.
pub(super) fn parse_text(text: &str) -> Result<i64> {
    from_text::moment(written::read(text)?, None)
}

/// Whether a text names a time zone.
///
/// # Errors
/// Code 40485 if it names none.
pub(super) fn check_zone(argument: &Answer<'_>) -> Result<()> {
    zone::Zone::of(argument).map(|_| ())
}

/// The value as a date, from a timestamp and an ObjectId too.
fn as_date(value: &Value<'_>) -> Option<i64> {
    match *value {
        Value::DateTime(ms) => Some(ms),
        Value::Timestamp { time, .. } => Some(i64::from(time) * 1000),
        Value::ObjectId(id) => Some(i64::from(i32::from_be_bytes([id[0], id[1], id[2], id[3]])) * 1000),
        _ => None,
    }
}

fn to_date(answer: &Answer<'_>) -> Result<i64> {
    answer.value().as_ref().and_then(as_date).ok_or_else(|| {
        Fault::new(
            16006,
            format!(
                "can't convert from BSON type {} to Date",
                type_name(answer.value())
            ),
        )
    })
}
