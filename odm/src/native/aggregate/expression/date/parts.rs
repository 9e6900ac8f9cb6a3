//! Parts of dates, and dates of parts.

use super::super::super::super::document::number::as_i64_exact;
use super::super::super::super::document::{Owned, Value};
use super::super::super::super::fault::{Fault, Result};
use super::super::super::print;
use super::super::operator::Operator;
use super::super::parse::Parser;
use super::super::{Answer, Node, type_name};
use super::calendar::{Local, days_of, iso_week_start};
use super::zone::Zone;
use super::{DURATION_OVERFLOW, to_date};

/// The arguments of a part: the date, alone or by name, and a time zone.
pub(super) fn parse(
    parser: &mut Parser<'_>,
    operator: &'static Operator,
    value: &Value<'_>,
) -> Result<Vec<Node>> {
    let name = operator.name;
    match *value {
        Value::Array(items) => {
            let count = items.count();
            if count != 1 {
                return Err(Fault::new(
                    40536,
                    format!("{name} accepts exactly one argument if given an array, but was given {count}"),
                ));
            }
            let mut arguments = parser.list(value)?;
            arguments.push(Node::Absent);
            Ok(arguments)
        }
        Value::Document(doc)
            if doc
                .elements()
                .next()
                .is_none_or(|first| first.name().first() != Some(&b'$')) =>
        {
            let arguments = parser.named(doc, &["date", "timezone"], |other| {
                Fault::new(40535, format!("unrecognized option to {name}: \"{other}\""))
            })?;
            if matches!(arguments[0], Node::Absent) {
                return Err(Fault::new(
                    40539,
                    format!(
                        "missing 'date' argument to {name}, provided: {name}: {}",
                        print::bson(doc)
                    ),
                ));
            }
            Ok(arguments)
        }
        _ => Ok(vec![parser.operand(value)?, Node::Absent]),
    }
}

fn local(operator: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Local>> {
    let [date, zone] = arguments else {
        return Ok(None);
    };
    if date.is_nullish() {
        return Ok(None);
    }
    let ms = to_date(date)?;
    let zone = if zone.is_absent() {
        Zone::UTC
    } else {
        match zone.value() {
            None | Some(Value::Null | Value::Undefined) => return Ok(None),
            Some(Value::String(name)) => Zone::parse(name)?,
            Some(other) => {
                return Err(Fault::new(
                    40533,
                    format!(
                        "{} requires a string for the timezone argument, but was given a {} ({})",
                        operator.name,
                        zone.type_name(),
                        print::value(&other)
                    ),
                ));
            }
        }
    };
    Ok(Some(zone.local(ms)))
}

pub(super) fn part(
    operator: &'static Operator,
    arguments: &[Answer<'_>],
    pick: fn(&Local) -> i32,
) -> Result<Option<Owned>> {
    let local = local(operator, arguments)?;
    Ok(Some(
        local.map_or(Owned::Null, |local| Owned::Int32(pick(&local))),
    ))
}

pub(super) fn iso_week_year(operator: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let local = local(operator, arguments)?;
    Ok(Some(
        local.map_or(Owned::Null, |local| Owned::Int64(local.iso_week().0)),
    ))
}

/// The arguments: `date`, `timezone`, `iso8601`.
pub(super) fn parse_to_parts(
    parser: &mut Parser<'_>,
    _: &'static Operator,
    value: &Value<'_>,
) -> Result<Vec<Node>> {
    let Value::Document(doc) = *value else {
        return Err(Fault::new(
            40524,
            "$dateToParts only supports an object as its argument",
        ));
    };
    let names = ["date", "timezone", "iso8601"];
    let unknown = |other: &str| Fault::new(40520, format!("Unrecognized argument to $dateToParts: {other}"));
    parser.named_late(doc, ("$dateToParts", &names), &[0, 1, 2], unknown, &[(0, 40522)])
}

pub(super) fn to_parts<'a>(
    _: &'static Operator,
    argument: &dyn Fn(usize) -> Result<Answer<'a>>,
) -> Result<Option<Owned>> {
    let date = argument(0)?;
    let Some(zone) = Zone::of(&argument(1)?)? else {
        return Ok(Some(Owned::Null));
    };
    let iso = argument(2)?;
    let iso = match (iso.is_absent(), iso.value()) {
        (true, _) => false,
        (_, None | Some(Value::Null | Value::Undefined)) => return Ok(Some(Owned::Null)),
        (_, Some(Value::Bool(iso))) => iso,
        (_, other) => {
            return Err(Fault::new(
                40521,
                format!("iso8601 must evaluate to a bool, found {}", type_name(other)),
            ));
        }
    };
    if date.is_nullish() {
        return Ok(Some(Owned::Null));
    }
    let local = zone.local(to_date(&date)?);
    let (week_year, week) = local.iso_week();
    let head = if iso {
        [
            ("isoWeekYear", week_year as i32),
            ("isoWeek", week as i32),
            ("isoDayOfWeek", local.iso_day_of_week()),
        ]
    } else {
        [
            ("year", local.year as i32),
            ("month", local.month as i32),
            ("day", local.day as i32),
        ]
    };
    let tail = [
        ("hour", local.hour()),
        ("minute", local.minute()),
        ("second", local.second()),
        ("millisecond", local.millisecond()),
    ];
    Ok(Some(Owned::Document(
        head.into_iter()
            .chain(tail)
            .map(|(name, part)| (name.to_owned(), Owned::Int32(part)))
            .collect(),
    )))
}

/// The arguments of `$dateFromParts`.
pub(in super::super) const NAMES: [&str; 11] = [
    "year",
    "month",
    "day",
    "isoWeekYear",
    "isoWeek",
    "isoDayOfWeek",
    "hour",
    "minute",
    "second",
    "millisecond",
    "timezone",
];

/// Where the year of dates by weeks is in [`NAMES`].
const ISO_WEEK_YEAR: usize = 3;

/// Where the time zone is in [`NAMES`].
const TIMEZONE: usize = 10;

/// The arguments, in the order of [`NAMES`].
pub(super) fn parse_from_parts(
    parser: &mut Parser<'_>,
    _: &'static Operator,
    value: &Value<'_>,
) -> Result<Vec<Node>> {
    let Value::Document(doc) = *value else {
        return Err(Fault::new(
            40519,
            "$dateFromParts only supports an object as its argument",
        ));
    };
    // What is given is looked at before it is read.
    let unknown =
        |other: &str| Fault::new(40518, format!("Unrecognized argument to $dateFromParts: {other}"));
    let mut names = doc.elements().map(|element| element.name_str());
    if let Some(other) = names.find(|name| !NAMES.contains(name)) {
        return Err(unknown(other));
    }
    let given = |index: usize| doc.get(NAMES[index]).is_some();
    if !given(0) && !given(3) {
        return Err(Fault::new(
            40516,
            "$dateFromParts requires either 'year' or 'isoWeekYear' to be present",
        ));
    }
    if given(0) && (3..6).any(given) {
        return Err(Fault::new(
            40489,
            "$dateFromParts does not allow mixing natural dates with ISO dates",
        ));
    }
    if given(3) && (0..3).any(given) {
        return Err(Fault::new(
            40525,
            "$dateFromParts does not allow mixing ISO dates with natural dates",
        ));
    }
    let reads: Vec<usize> = (0..NAMES.len()).collect();
    parser.named_late(doc, ("$dateFromParts", &NAMES), &reads, unknown, &[])
}

pub(super) fn from_parts<'a>(
    _: &'static Operator,
    argument: &dyn Fn(usize) -> Result<Answer<'a>>,
) -> Result<Option<Owned>> {
    // The time comes first, whose errors hide those of the date.
    let mut numbers = [0i64; 10];
    let mut read = |index: usize| -> Result<bool> {
        let default = i64::from(index < 6);
        let bounded = !matches!(index, 0 | 3 | 8 | 9);
        match number(NAMES[index], &argument(index)?, default, bounded)? {
            Some(number) => {
                numbers[index] = number;
                Ok(true)
            }
            None => Ok(false),
        }
    };
    for index in 6..10 {
        if !read(index)? {
            return Ok(Some(Owned::Null));
        }
    }
    let Some(zone) = Zone::of(&argument(TIMEZONE)?)? else {
        return Ok(Some(Owned::Null));
    };
    let iso = !argument(ISO_WEEK_YEAR)?.is_absent();
    for index in if iso { 3..6 } else { 0..3 } {
        if !read(index)? {
            return Ok(Some(Owned::Null));
        }
    }
    let (year, code, name) = if iso {
        (numbers[3], 31095, "isoWeekYear")
    } else {
        (numbers[0], 40523, "year")
    };
    if !(1..=9999).contains(&year) {
        return Err(Fault::new(
            code,
            format!("'{name}' must evaluate to an integer in the range 1 to 9999, found {year}"),
        ));
    }
    let days = if iso {
        iso_week_start(year, numbers[4]) + numbers[5] - 1
    } else {
        days_of(year, numbers[1], 1) + numbers[2] - 1
    };
    let seconds = i128::from(days) * 86_400
        + i128::from(numbers[6]) * 3600
        + i128::from(numbers[7]) * 60
        + i128::from(numbers[8]);
    let ms = numbers[9];
    // The milliseconds are counted as microseconds on the way.
    ms.checked_mul(1000)
        .and_then(|_| i64::try_from(seconds * 1000 + i128::from(ms)).ok())
        .and_then(|ms| zone.moment_of_parts(ms))
        .map(|ms| Some(Owned::DateTime(ms)))
        .ok_or_else(|| {
            Fault::new(
                DURATION_OVERFLOW,
                "Overflow casting from a lower-precision duration to a higher-precision duration",
            )
        })
}

fn number(name: &str, argument: &Answer<'_>, default: i64, bounded: bool) -> Result<Option<i64>> {
    if argument.is_absent() {
        return Ok(Some(default));
    }
    if argument.is_nullish() {
        return Ok(None);
    }
    let number = argument
        .value()
        .filter(Value::is_number)
        .and_then(|value| as_i64_exact(&value))
        .ok_or_else(|| {
            Fault::new(
                40515,
                format!(
                    "'{name}' must evaluate to an integer, found {} with value {}",
                    argument.type_name(),
                    print::answer(argument)
                ),
            )
        })?;
    if bounded && !(-32_768..=32_767).contains(&number) {
        return Err(Fault::new(
            31034,
            format!(
                "'{name}' must evaluate to a value in the range [-32768, 32767]; value {number} is not in range"
            ),
        ));
    }
    Ok(Some(number))
}
