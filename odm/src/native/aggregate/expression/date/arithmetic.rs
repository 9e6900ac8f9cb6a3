//! `$dateAdd`, `$dateSubtract`, `$dateDiff`, `$dateTrunc`.

use super::super::super::super::document::number::as_i64_exact;
use super::super::super::super::document::{Owned, Value};
use super::super::super::super::fault::{Fault, Result, code};
use super::super::super::print;
use super::super::operator::Operator;
use super::super::parse::Parser;
use super::super::{Answer, Node};
use super::as_date;
use super::calendar::{Local, days_of};
use super::unit::{DAY, Unit};
use super::zone::Zone;

/// The day of the week by its name or the first three letters: 0 is Sunday.
pub(super) fn weekday(name: &str) -> Option<i64> {
    const NAMES: [&str; 7] = [
        "sunday",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
    ];
    let name = name.to_ascii_lowercase();
    NAMES
        .iter()
        .position(|full| *full == name || full[..3] == name)
        .map(|index| index as i64)
}

fn null() -> Result<Option<Owned>> {
    Ok(Some(Owned::Null))
}

/// The arguments: `startDate`, `unit`, `amount`, `timezone`.
pub(super) fn parse_add(
    parser: &mut Parser<'_>,
    operator: &'static Operator,
    value: &Value<'_>,
) -> Result<Vec<Node>> {
    let name = operator.name;
    let Value::Document(doc) = *value else {
        return Err(Fault::new(
            5166400,
            format!("{name} expects an object as its argument"),
        ));
    };
    let arguments = parser.named(doc, &["startDate", "unit", "amount", "timezone"], |other| {
        Fault::new(
            5166401,
            format!(
                "Unrecognized argument to {name}: {other}. Expected arguments are startDate, unit, amount, and optionally timezone."
            ),
        )
    })?;
    if arguments[..3].iter().any(|node| matches!(node, Node::Absent)) {
        return Err(Fault::new(
            5166402,
            format!("{name} requires startDate, unit, and amount to be present"),
        ));
    }
    Ok(arguments)
}

pub(super) fn add(operator: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let [start, unit, amount, zone] = arguments else {
        return Ok(None);
    };
    let name = operator.name;
    if start.is_nullish() || unit.is_nullish() || amount.is_nullish() {
        return null();
    }
    let Some(zone) = Zone::of(zone)? else {
        return null();
    };
    let start = start.value().as_ref().and_then(as_date).ok_or_else(|| {
        Fault::new(
            5166403,
            format!("{name} requires startDate to be convertible to a date"),
        )
    })?;
    let Some(Value::String(unit_name)) = unit.value() else {
        return Err(Fault::new(
            5166404,
            format!("{name} expects string defining the time unit"),
        ));
    };
    let unit = Unit::parse(unit_name).ok_or_else(|| {
        Fault::new(
            code::FAILED_TO_PARSE,
            format!("unknown time unit value: {unit_name}"),
        )
    })?;
    let given = amount
        .value()
        .filter(Value::is_number)
        .and_then(|value| as_i64_exact(&value))
        .ok_or_else(|| Fault::new(5166405, format!("{name} expects integer amount of time units")))?;
    let amount = if name == "$dateSubtract" {
        given.checked_neg().ok_or_else(|| {
            Fault::new(
                6045000,
                format!("invalid $dateSubtract 'amount' parameter value: {given} {unit_name}"),
            )
        })?
    } else {
        given
    };
    if amount.unsigned_abs() >= unit.limit() {
        return Err(too_many(amount));
    }
    unit.after(start, amount, &zone)
        .map(|date| Some(Owned::DateTime(date)))
        .ok_or_else(|| match unit {
            Unit::Fixed(1) => Fault::new(159, format!("Overflow while adding {amount}ms to {start}ms")),
            _ => Fault::new(5166406, "dateAdd overflowed"),
        })
}

fn too_many(amount: i64) -> Fault {
    Fault::new(
        5976500,
        format!("invalid dateAdd 'amount' parameter value: {amount}"),
    )
}

/// Reads `unit`, which is not null.
fn read_unit(name: &str, argument: &Answer<'_>) -> Result<Unit> {
    match argument.value() {
        Some(Value::String(unit)) => Unit::parse(unit).ok_or_else(|| {
            Fault::new(
                5439014,
                format!("{name} parameter 'unit' value cannot be recognized as a time unit: {unit}"),
            )
        }),
        _ => Err(Fault::new(
            5439013,
            format!(
                "{name} requires 'unit' to be a string, but got {}",
                argument.type_name()
            ),
        )),
    }
}

/// Whether the week is counted and its first day is given as null.
fn lacks_week(unit: &Answer<'_>, week: &Answer<'_>) -> bool {
    matches!(unit.value(), Some(Value::String("week"))) && !week.is_absent() && week.is_nullish()
}

/// Reads `startOfWeek`, Sunday by default, if weeks are counted.
fn read_week(name: &str, unit: Unit, argument: &Answer<'_>) -> Result<i64> {
    if argument.is_absent() || unit != Unit::Week {
        return Ok(0);
    }
    match argument.value() {
        Some(Value::String(day)) => weekday(day).ok_or_else(|| {
            Fault::new(
                5439016,
                format!(
                    "{name} parameter 'startOfWeek' value cannot be recognized as a day of a week: {day}"
                ),
            )
        }),
        _ => Err(Fault::new(
            5439015,
            format!(
                "{name} requires 'startOfWeek' to be a string, but got {}",
                argument.type_name()
            ),
        )),
    }
}

fn read_zone(name: &str, argument: &Answer<'_>) -> Result<Option<Zone>> {
    Zone::of(argument).map_err(|fault| {
        fault.prefixed(&format!(
            "{name} parameter 'timezone' value parsing failed :: caused by :: "
        ))
    })
}

fn read_date(name: &str, which: &str, code: i32, argument: &Answer<'_>) -> Result<i64> {
    argument.value().as_ref().and_then(as_date).ok_or_else(|| {
        Fault::new(
            code,
            format!(
                "{name} requires '{which}' to be a date, but got {}",
                argument.type_name()
            ),
        )
    })
}

/// The arguments: `startDate`, `endDate`, `unit`, `timezone`, `startOfWeek`.
pub(super) fn parse_diff(
    parser: &mut Parser<'_>,
    _: &'static Operator,
    value: &Value<'_>,
) -> Result<Vec<Node>> {
    let Value::Document(doc) = *value else {
        return Err(Fault::new(
            5166301,
            "$dateDiff only supports an object as its argument",
        ));
    };
    let names = ["startDate", "endDate", "unit", "timezone", "startOfWeek"];
    let arguments = parser.named(doc, &names, |other| {
        Fault::new(5166302, format!("Unrecognized argument to $dateDiff: {other}"))
    })?;
    for (index, code) in [5166303, 5166304, 5166305].into_iter().enumerate() {
        if matches!(arguments[index], Node::Absent) {
            return Err(Fault::new(
                code,
                format!("Missing '{}' parameter to $dateDiff", names[index]),
            ));
        }
    }
    Ok(arguments)
}

pub(super) fn diff(operator: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let [start, end, unit, zone, week] = arguments else {
        return Ok(None);
    };
    let name = operator.name;
    if start.is_nullish() || end.is_nullish() || unit.is_nullish() || lacks_week(unit, week) {
        return null();
    }
    let Some(zone) = read_zone(name, zone)? else {
        return null();
    };
    let start = read_date(name, "startDate", 5166307, start)?;
    let end = read_date(name, "endDate", 5166307, end)?;
    let unit = read_unit(name, unit)?;
    let week = read_week(name, unit, week)?;
    if unit == Unit::Fixed(1) {
        return match end.checked_sub(start) {
            Some(ms) => Ok(Some(Owned::Int64(ms))),
            None => Err(Fault::new(5166308, "dateDiff overflowed")),
        };
    }
    let (from_shift, to_shift) = (zone.at(start).offset, zone.at(end).offset);
    // How many whole parts of so many milliseconds the two clocks show; their sums may be beyond any date.
    let parts = |ms: i64, shift: i64, length: i64| {
        (i128::from(ms) + i128::from(shift)).div_euclid(length.into()) as i64
    };
    let apart = |length| parts(end, to_shift, length) - parts(start, from_shift, length);
    let count = match unit {
        Unit::Fixed(DAY) => apart(DAY),
        // Clocks that were changed in between do not make the time longer.
        Unit::Fixed(ms) => apart(ms) + (from_shift - to_shift) / ms,
        Unit::Week => {
            // 1970-01-01 was a Thursday, four days after a Sunday.
            let number = |ms: i64, shift: i64| (parts(ms, shift, DAY) + 4 - week).div_euclid(7);
            number(end, to_shift) - number(start, from_shift)
        }
        Unit::Months(months) => {
            let number = |ms: i64, shift: i64| {
                let local = Local::at(ms, shift);
                (local.year * 12 + local.month - 1).div_euclid(months)
            };
            number(end, to_shift) - number(start, from_shift)
        }
    };
    Ok(Some(Owned::Int64(count)))
}

/// The arguments: `date`, `unit`, `binSize`, `timezone`, `startOfWeek`.
pub(super) fn parse_trunc(
    parser: &mut Parser<'_>,
    _: &'static Operator,
    value: &Value<'_>,
) -> Result<Vec<Node>> {
    let Value::Document(doc) = *value else {
        return Err(Fault::new(
            5439007,
            "$dateTrunc only supports an object as its argument",
        ));
    };
    let names = ["date", "unit", "binSize", "timezone", "startOfWeek"];
    let arguments = parser.named(doc, &names, |other| {
        Fault::new(
            5439008,
            format!(
                "Unrecognized argument to $dateTrunc: {other}. Expected arguments are date, unit, and optionally, binSize, timezone, startOfWeek"
            ),
        )
    })?;
    for (index, code) in [5439009, 5439010].into_iter().enumerate() {
        if matches!(arguments[index], Node::Absent) {
            return Err(Fault::new(
                code,
                format!("Missing '{}' parameter to $dateTrunc", names[index]),
            ));
        }
    }
    Ok(arguments)
}

pub(super) fn trunc(operator: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let [date, unit, size, zone, week] = arguments else {
        return Ok(None);
    };
    let name = operator.name;
    let lacks_size = !size.is_absent() && size.is_nullish();
    if date.is_nullish() || unit.is_nullish() || lacks_size || lacks_week(unit, week) {
        return null();
    }
    let Some(zone) = read_zone(name, zone)? else {
        return null();
    };
    let date = read_date(name, "date", 5439012, date)?;
    let unit = read_unit(name, unit)?;
    let size = if size.is_absent() { 1 } else { bin_size(size)? };
    let week = read_week(name, unit, week)?;
    if size > MOST_BINS && unit.millis().is_none_or(|ms| ms >= DAY) {
        return Err(Fault::new(
            5439006,
            format!("dateTrunc unsupported binSize value: {size}"),
        ));
    }
    let overflow = || match unit {
        Unit::Fixed(ms) if ms < DAY => Fault::new(5439000, "dateTrunc overflowed"),
        _ => Fault::new(5166406, "dateAdd overflowed"),
    };
    let shift = zone.at(date).offset;
    // Bins are counted from the start of 2000 as the zone's clocks show it.
    let reference = days_of(2000, 1, 1);
    let was_summer = zone.at(reference * DAY).is_summer;
    let start = match unit {
        Unit::Fixed(DAY) => bin_start(date, shift, reference * DAY, DAY, size),
        Unit::Week => {
            // The first such day of 2000.
            let first = reference + (week - (reference + 4)).rem_euclid(7);
            bin_start(date, shift, first * DAY, 7 * DAY, size)
        }
        Unit::Fixed(ms) => {
            if ms.checked_mul(size).is_none() {
                return Err(Fault::new(5439002, "dateTrunc overflowed"));
            }
            return zone
                .moment_of((reference * DAY).into(), was_summer)
                .and_then(|origin| bin_start(date, 0, origin, ms, size))
                .and_then(|start| i64::try_from(start).ok())
                .map(|start| Some(Owned::DateTime(start)))
                .ok_or_else(overflow);
        }
        Unit::Months(months) => {
            let bin = months.checked_mul(size).ok_or_else(overflow)?;
            let at = Local::at(date, shift);
            let since = (at.year - 2000) * 12 + at.month - 1;
            let month = since.div_euclid(bin).checked_mul(bin).ok_or_else(overflow)?;
            if (month / months).unsigned_abs() >= unit.limit() {
                return Err(too_many(month / months));
            }
            Some(i128::from(days_of(2000, month + 1, 1)) * i128::from(DAY))
        }
    };
    start
        .and_then(|start| zone.moment_of(start, was_summer))
        .map(|start| Some(Owned::DateTime(start)))
        .ok_or_else(overflow)
}

/// The start of the bin of `size` units, counted from `origin`, that holds `date` on a clock so far ahead: as that clock
/// shows it, which may be beyond any date.
fn bin_start(date: i64, shift: i64, origin: i64, unit: i64, size: i64) -> Option<i128> {
    let bin = i128::from(unit.checked_mul(size)?);
    let [date, shift, origin] = [date, shift, origin].map(i128::from);
    Some((date + shift - origin).div_euclid(bin) * bin + origin)
}

/// The largest bin of days and longer units.
const MOST_BINS: i64 = 100_000_000_000;

fn bin_size(argument: &Answer<'_>) -> Result<i64> {
    let size = argument
        .value()
        .filter(Value::is_number)
        .and_then(|value| as_i64_exact(&value))
        .ok_or_else(|| {
            Fault::new(
                5439017,
                format!(
                    "$dateTrunc requires 'binSize' to be a 64-bit integer, but got value '{}' of type {}",
                    print::answer(argument),
                    argument.type_name()
                ),
            )
        })?;
    if size <= 0 {
        return Err(Fault::new(
            5439018,
            format!("$dateTrunc requires 'binSize' to be greater than 0, but got value {size}"),
        ));
    }
    Ok(size)
}
