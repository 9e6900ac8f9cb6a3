//! What operators find in an early `$group` before they compute: the same faults as in later stages, but in another order.

use std::ops::ControlFlow;

use super::super::super::super::document::number::as_i64_exact;
use super::super::super::super::document::{Owned, Value};
use super::super::super::super::fault::{Fault, Result};
use super::super::Answer;
use super::super::arithmetic::as_i32_exact;
use super::super::date::{PARTS, check_zone};

/// What a call gives where one of its arguments decides it; otherwise it has to be computed.
type Decided = ControlFlow<Option<Owned>>;

const NULL: Decided = ControlFlow::Break(Some(Owned::Null));

/// What the arguments decide.
///
/// # Errors
/// MongoDB's, for the first of its checks that fails.
pub(super) fn decided(operator: &str, arguments: &[Answer<'_>]) -> Result<Decided> {
    match (operator, arguments) {
        ("$add", [_] | [_, _, _, ..]) => added(arguments),
        ("$dayOfMonth" | "$dayOfWeek" | "$dayOfYear", [_, zone]) => day(operator, zone),
        ("$dateFromParts", [parts @ .., zone]) => from_parts(parts, zone),
        ("$indexOfBytes" | "$indexOfCP", [text, wanted, bounds @ ..]) => {
            position(operator, text, wanted, bounds)
        }
        ("$range", [start, end, step @ ..]) => range(start, end, step.first()),
        ("$regexFind" | "$regexFindAll" | "$regexMatch", [text, pattern, options]) => {
            pattern_search(operator, text, pattern, options)
        }
        _ => Ok(ControlFlow::Continue(())),
    }
}

fn fault(operator: &str, code: i32, what: &str) -> Fault {
    Fault::new(code, format!("{operator}{what}"))
}

fn is_string(answer: &Answer<'_>) -> bool {
    matches!(answer.value(), Some(Value::String(_)))
}

/// A null makes a sum null, whatever stands before it.
fn added(arguments: &[Answer<'_>]) -> Result<Decided> {
    if arguments.iter().any(Answer::is_nullish) {
        return Ok(NULL);
    }
    let is_date = |answer: &Answer<'_>| matches!(answer.value(), Some(Value::DateTime(_)));
    let is_number = |answer: &Answer<'_>| answer.value().is_some_and(|value| value.is_number());
    if !arguments
        .iter()
        .all(|answer| is_number(answer) || is_date(answer))
    {
        return Err(Fault::new(
            4_974_203,
            "only numbers and dates are allowed in an $add expression",
        ));
    }
    if arguments.iter().filter(|answer| is_date(answer)).count() > 1 {
        return Err(Fault::new(
            4_848_404,
            "only one date allowed in an $add expression",
        ));
    }
    Ok(ControlFlow::Continue(()))
}

/// The zone comes before the date.
fn day(operator: &str, zone: &Answer<'_>) -> Result<Decided> {
    if zone.is_absent() {
        return Ok(ControlFlow::Continue(()));
    }
    if zone.is_nullish() {
        return Ok(NULL);
    }
    if !is_string(zone) {
        return Err(fault(operator, 4_998_200, " timezone must be a string"));
    }
    check_zone(zone).map(ControlFlow::Continue)
}

/// Types come first, then null, then what is out of range, and the name of the zone last.
fn from_parts(parts: &[Answer<'_>], zone: &Answer<'_>) -> Result<Decided> {
    let given = || parts.iter().filter(|part| !part.is_absent());
    let is_whole = |part: &Answer<'_>| part.value().is_some_and(|value| as_i64_exact(&value).is_some());
    let is_null = |part: &Answer<'_>| matches!(part.value(), None | Some(Value::Null));
    let mut named = parts.iter().zip(PARTS).filter(|(part, _)| !part.is_absent());
    if let Some((_, name)) = named.find(|(part, _)| !is_null(part) && !is_whole(part)) {
        return Err(Fault::new(
            4_848_979,
            format!("'{name}' must evaluate to an integer"),
        ));
    }
    if !zone.is_absent() && !is_string(zone) {
        return Err(Fault::new(4_848_980, "'timezone' must evaluate to a string"));
    }
    match given().any(is_null) {
        true => Ok(NULL),
        false => Ok(ControlFlow::Continue(())),
    }
}

/// The end is looked at before the start.
fn position(
    operator: &str,
    text: &Answer<'_>,
    wanted: &Answer<'_>,
    bounds: &[Answer<'_>],
) -> Result<Decided> {
    if text.is_nullish() {
        return Ok(NULL);
    }
    if !is_string(text) {
        return Ok(ControlFlow::Continue(()));
    }
    if wanted.is_nullish() {
        return Err(fault(operator, 5_075_301, " substring must resolve to a string"));
    }
    if !is_string(wanted) {
        return Err(fault(operator, 5_075_302, " substring must resolve to a string"));
    }
    let codes = [("start", 5_075_303, 5_075_304), ("end", 5_075_305, 5_075_306)];
    for (bound, (name, type_code, sign_code)) in bounds.iter().zip(codes).rev() {
        match bound.value().and_then(|value| as_i32_exact(&value)) {
            None => {
                let what = format!(" {name} index must resolve to a number");
                return Err(fault(operator, type_code, &what));
            }
            Some(bound) if bound < 0 => {
                let what = format!(" {name} index must be positive");
                return Err(fault(operator, sign_code, &what));
            }
            Some(_) => {}
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// What is missing makes a range null, but behind what is no number; numbers are looked at when all are.
fn range(start: &Answer<'_>, end: &Answer<'_>, step: Option<&Answer<'_>>) -> Result<Decided> {
    let bounds = || {
        [Some(start), Some(end), step]
            .into_iter()
            .zip([("start", 0), ("end", 1), ("step", 2)])
            .filter_map(|(bound, (name, at))| Some((bound?, name, at)))
    };
    for (bound, name, at) in bounds() {
        match bound.value() {
            None => return Ok(NULL),
            Some(value) if value.is_number() => {}
            Some(_) => {
                let what = format!(" only supports numeric types for {name}");
                return Err(fault("$range", 5_154_300 + at, &what));
            }
        }
    }
    for (bound, name, at) in bounds() {
        if bound.value().and_then(|value| as_i32_exact(&value)).is_none() {
            let what = format!(" {name} argument cannot be represented as a 32-bit integer");
            return Err(fault("$range", 5_154_303 + at, &what));
        }
    }
    match step.and_then(Answer::value).and_then(|step| as_i32_exact(&step)) {
        Some(0) => Err(fault("$range", 5_154_306, " requires a non-zero step value")),
        _ => Ok(ControlFlow::Continue(())),
    }
}

/// Without a text nothing else is looked at; options come before the pattern, and without a pattern nothing comes of it.
fn pattern_search(
    operator: &str,
    text: &Answer<'_>,
    pattern: &Answer<'_>,
    options: &Answer<'_>,
) -> Result<Decided> {
    let nothing = match operator {
        "$regexFind" => Owned::Null,
        "$regexFindAll" => Owned::Array(Vec::new()),
        _ => Owned::Bool(false),
    };
    if text.is_nullish() {
        return Ok(ControlFlow::Break(Some(nothing)));
    }
    if !is_string(text) {
        return Ok(ControlFlow::Continue(()));
    }
    let own = match pattern.value() {
        Some(Value::Regex { options, .. }) => options,
        _ => "",
    };
    match options.value() {
        None | Some(Value::Null) => {}
        Some(Value::String(given)) if given.contains('\0') => {
            return Err(fault(
                operator,
                5_126_604,
                ": regex flags must not have embedded null bytes",
            ));
        }
        Some(Value::String(_)) if !own.is_empty() => {
            return Err(fault(
                operator,
                5_126_605,
                ": regex options cannot be specified in both BSON RegEx and 'options' field",
            ));
        }
        Some(Value::String(_)) => {}
        Some(_) => {
            return Err(fault(
                operator,
                5_126_603,
                ": regex flags must have either string or null type",
            ));
        }
    }
    match pattern.value() {
        None => return Ok(ControlFlow::Break(None)),
        Some(Value::Null) => return Ok(ControlFlow::Break(Some(nothing))),
        Some(Value::String(pattern) | Value::Regex { pattern, .. }) => {
            if pattern.contains('\0') {
                return Err(fault(
                    operator,
                    5_126_602,
                    ": regex pattern must not have embedded null bytes",
                ));
            }
        }
        Some(_) => {
            return Err(fault(
                operator,
                5_126_601,
                ": regex pattern must have either string or BSON RegEx type",
            ));
        }
    }
    // Options that a document lacks are none that could be compiled.
    match options {
        Answer::Missing => Err(fault(
            operator,
            5_073_403,
            ": error occurred while executing the regular expression",
        )),
        _ => Ok(ControlFlow::Continue(())),
    }
}
