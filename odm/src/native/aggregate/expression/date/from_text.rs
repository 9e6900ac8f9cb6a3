//! Text as dates, in the usual forms or in a given format.

use super::super::super::super::document::{Owned, Value};
use super::super::super::super::fault::{Fault, Result};
use super::super::super::print;
use super::super::operator::Operator;
use super::super::parse::Parser;
use super::super::{Answer, Env, Node};
use super::text::check_format;
use super::written::{self, Moment};
use super::zone::Zone;
use super::{CONVERSION_FAILURE, DURATION_OVERFLOW, by_format};

/// The arguments, in the order in which constants among them are computed: `dateString`, `timezone`, `format`, `onNull`,
/// `onError`.
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
    let names = ["dateString", "timezone", "format", "onNull", "onError"];
    let unknown = |other: &str| {
        Fault::new(
            40541,
            format!("Unrecognized argument to $dateFromString: {other}"),
        )
    };
    let operator = ("$dateFromString", &names[..]);
    parser.named_late(doc, operator, &[0, 1, 2, 3, 4], unknown, &[(0, 40542)])
}

pub(super) fn from_text<'a>(_: &'static Operator, arguments: &'a [Node], env: Env<'a>) -> Result<Answer<'a>> {
    let [text, zone, format, on_null, on_error] = arguments else {
        return Ok(Answer::Missing);
    };
    let null = || Ok(Answer::Owned(Owned::Null));
    let text = text.evaluate(env)?;
    let format = format.evaluate(env)?;
    if !format.is_nullish() {
        match format.value() {
            Some(Value::String(format)) => check_format(format, "YmdHMSLuVGzZ%\0")?,
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
    let zone = Zone::of(&zone.evaluate(env)?)?;
    if text.is_nullish() {
        return on_null.evaluate_or_null(env);
    }
    let parsed = match (text.value(), zone, format.value()) {
        (Some(Value::String(_)), None, _) => return null(),
        (Some(Value::String(text)), Some(zone), Some(Value::String(format))) => {
            by_format::read(text, format).and_then(|read| moment(read, Some(zone)))
        }
        (Some(Value::String(_)), ..) if !format.is_absent() => return null(),
        (Some(Value::String(text)), Some(zone), _) => {
            written::read(text).and_then(|read| moment(read, Some(zone)))
        }
        _ => Err(Fault::new(
            CONVERSION_FAILURE,
            format!(
                "$dateFromString requires that 'dateString' be a string, found: {} with value {}",
                text.type_name(),
                print::answer(&text)
            ),
        )),
    };
    match parsed {
        Ok(ms) => Ok(Answer::Owned(Owned::DateTime(ms))),
        Err(fault) if fault.code() == CONVERSION_FAILURE && !matches!(on_error, Node::Absent) => {
            on_error.evaluate(env)
        }
        Err(fault) => Err(fault),
    }
}

/// The date of what was read, by the clocks of the place that it names, or of `zone`; not of both.
pub(super) fn moment(read: Moment, zone: Option<Zone>) -> Result<i64> {
    let zone = zone.filter(|zone| !zone.is_utc());
    let seconds = match (read.zone, &zone) {
        (Some(written), Some(_)) => return Err(two_zones(written.name.as_deref())),
        (Some(written), None) => read.seconds - i128::from(written.seconds),
        (None, None) => read.seconds,
        (None, Some(zone)) => {
            let local = i64::try_from(read.seconds * 1000).map_err(|_| too_far())?;
            let utc = zone.moment_of_parts(local).ok_or_else(too_far)?;
            i128::from(utc.div_euclid(1000))
        }
    };
    of_microseconds(seconds * 1_000_000 + i128::from(read.microseconds))
}

/// The date so many microseconds after 1970, which have to fit into 64 bits.
pub(super) fn of_microseconds(microseconds: i128) -> Result<i64> {
    i64::try_from(microseconds)
        .map(|microseconds| microseconds / 1000)
        .map_err(|_| too_far())
}

fn too_far() -> Fault {
    Fault::new(
        DURATION_OVERFLOW,
        "Overflow casting from a lower-precision duration to a higher-precision duration",
    )
}

fn two_zones(name: Option<&str>) -> Fault {
    let what = match name {
        Some(name) => format!("time zone information ('{name}')"),
        None => "GMT offset".to_owned(),
    };
    Fault::new(
        CONVERSION_FAILURE,
        format!("you cannot pass in a date/time string with {what} together with a timezone argument"),
    )
}
