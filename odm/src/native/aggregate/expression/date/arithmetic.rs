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
                format!("invalid $dateSubtract 'amount' parameter value: {given}"),
            )
        })?
    } else {
        given
    };
    if amount.unsigned_abs() >= unit.limit() {
        return Err(too_many(amount, unit));
    }
    unit.after(start, amount, &zone)
        .map(|date| Some(Owned::DateTime(date)))
        .ok_or_else(|| match unit {
            // The server prints the sum as it wraps around.
            Unit::Fixed(1) => Fault::new(
                159,
                format!(
                    "Overflow while adding {amount}ms to {}ms",
                    start.wrapping_add(amount)
                ),
            ),
            _ => Fault::new(5166406, "dateAdd overflowed"),
        })
}

fn too_many(amount: i64, unit: Unit) -> Fault {
    Fault::new(
        5976500,
        format!("invalid dateAdd 'amount' parameter value: {amount} {unit}"),
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

/// The first day of the week, which is asked for only where weeks are counted; `None` if it is given as null.
fn first_day<'a>(
    unit: &Answer<'_>,
    argument: impl FnOnce() -> Result<Answer<'a>>,
) -> Result<Option<Answer<'a>>> {
    let day = match unit.value() {
        Some(Value::String("week")) => argument()?,
        _ => Answer::Absent,
    };
    Ok(Some(day).filter(|day| day.is_absent() || !day.is_nullish()))
}

/// Reads the first day of the week, Sunday by default.
fn read_week(name: &str, argument: &Answer<'_>) -> Result<i64> {
    match argument.value() {
        _ if argument.is_absent() => Ok(0),
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

fn read_zone(name: &str, argument: Result<Answer<'_>>) -> Result<Option<Zone>> {
    argument.and_then(|zone| Zone::of(&zone)).map_err(|fault| {
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
    let unknown = |other: &str| Fault::new(5166302, format!("Unrecognized argument to $dateDiff: {other}"));
    let needed = [(0, 5166303), (1, 5166304), (2, 5166305)];
    parser.named_late(doc, ("$dateDiff", &names), &[4, 3, 2, 1, 0], unknown, &needed)
}

pub(super) fn diff<'a>(
    operator: &'static Operator,
    argument: &dyn Fn(usize) -> Result<Answer<'a>>,
) -> Result<Option<Owned>> {
    let name = operator.name;
    let given = |index| argument(index).map(|value| Some(value).filter(|value| !value.is_nullish()));
    let Some(start) = given(0)? else { return null() };
    let Some(end) = given(1)? else { return null() };
    let Some(unit) = given(2)? else { return null() };
    let Some(week) = first_day(&unit, || argument(4))? else {
        return null();
    };
    let Some(zone) = read_zone(name, argument(3))? else {
        return null();
    };
    let start = read_date(name, "startDate", 5166307, &start)?;
    let end = read_date(name, "endDate", 5166307, &end)?;
    let unit = read_unit(name, &unit)?;
    let week = read_week(name, &week)?;
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
    let unknown = |other: &str| {
        Fault::new(
            5439008,
            format!(
                "Unrecognized argument to $dateTrunc: {other}. Expected arguments are date, unit, and optionally, binSize, timezone, startOfWeek"
            ),
        )
    };
    let needed = [(0, 5439009), (1, 5439010)];
    parser.named_late(doc, ("$dateTrunc", &names), &[4, 3, 2, 1, 0], unknown, &needed)
}

pub(super) fn trunc<'a>(
    operator: &'static Operator,
    argument: &dyn Fn(usize) -> Result<Answer<'a>>,
) -> Result<Option<Owned>> {
    let name = operator.name;
    let date = argument(0)?;
    if date.is_nullish() {
        return null();
    }
    let unit = argument(1)?;
    if unit.is_nullish() {
        return null();
    }
    let size = argument(2)?;
    if !size.is_absent() && size.is_nullish() {
        return null();
    }
    let Some(week) = first_day(&unit, || argument(4))? else {
        return null();
    };
    let Some(zone) = read_zone(name, argument(3))? else {
        return null();
    };
    let date = read_date(name, "date", 5439012, &date)?;
    let unit = read_unit(name, &unit)?;
    let size = if size.is_absent() { 1 } else { bin_size(&size)? };
    let week = read_week(name, &week)?;
    if size > MOST_BINS && unit.millis().is_none_or(|ms| ms >= DAY) {
        return Err(Fault::new(5439006, "dateTrunc unsupported binSize value"));
    }
    let overflow = || Fault::new(5166406, "dateAdd overflowed");
    let shift = zone.at(date).offset;
    // Bins are counted from the start of 2000 as the zone's clocks show it.
    let reference = days_of(2000, 1, 1);
    let was_summer = zone.at(reference * DAY).is_summer;
    let start = match unit {
        Unit::Fixed(DAY) => bin_start(date, shift, reference * DAY, unit, size)?,
        Unit::Week => {
            // The first such day of 2000.
            let first = reference + (week - (reference + 4)).rem_euclid(7);
            bin_start(date, shift, first * DAY, unit, size)?
        }
        Unit::Fixed(ms) => {
            let overflow = |code| Fault::new(code, "dateTrunc overflowed");
            let bin = ms.checked_mul(size).ok_or_else(|| overflow(5439002))?;
            let origin = zone
                .moment_of((reference * DAY).into(), was_summer)
                .ok_or_else(|| overflow(5439000))?;
            let past = date.checked_sub(origin).ok_or_else(|| overflow(5439000))?;
            return date
                .checked_sub(past.rem_euclid(bin))
                .map(|start| Some(Owned::DateTime(start)))
                .ok_or_else(|| overflow(5439001));
        }
        Unit::Months(months) => {
            let bin = months.checked_mul(size).ok_or_else(overflow)?;
            let at = Local::at(date, shift);
            let since = (at.year - 2000) * 12 + at.month - 1;
            let month = since.div_euclid(bin).checked_mul(bin).ok_or_else(overflow)?;
            if (month / months).unsigned_abs() >= unit.limit() {
                return Err(too_many(month / months, unit));
            }
            i128::from(days_of(2000, month + 1, 1)) * i128::from(DAY)
        }
    };
    zone.moment_of(start, was_summer)
        .map(|start| Some(Owned::DateTime(start)))
        .ok_or_else(overflow)
}

/// The start of the bin of `size` days or weeks, counted from `origin`, that holds `date` on a clock so far ahead: as that
/// clock shows it, which may be beyond any date.
fn bin_start(date: i64, shift: i64, origin: i64, unit: Unit, size: i64) -> Result<i128> {
    let length = i128::from(unit.millis().unwrap_or(DAY));
    let [date, shift, origin, size] = [date, shift, origin, size].map(i128::from);
    let count = (date + shift - origin).div_euclid(length * size) * size;
    match i64::try_from(count) {
        Ok(count) if count.unsigned_abs() >= unit.limit() => Err(too_many(count, unit)),
        _ => Ok(count * length + origin),
    }
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
