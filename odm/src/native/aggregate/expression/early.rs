//! Operators as a `$group` has them that reads a collection: a server runs it by other means than the later stages.

mod checks;
mod codes;

use std::cmp::Ordering;
use std::ops::ControlFlow;

use super::super::super::collation::Collation;
use super::super::super::document::decimal::Decimal;
use super::super::super::document::{Owned, Value, number};
use super::super::super::fault::{Fault, Result};
use super::arithmetic::as_i32_exact;
use super::comparison::compare_answers;
use super::evaluate::answer_at;
use super::operator::{self, Arguments, Body, Operator, comparing, lazy, strict};
use super::{Answer, set, variable};

static OPERATORS: &[Operator] = &[
    strict("$abs", Arguments::Exactly(1), abs),
    strict("$add", Arguments::Any, add),
    strict("$atan2", Arguments::Exactly(2), null_or),
    strict("$concat", Arguments::Any, null_or),
    strict("$concatArrays", Arguments::Any, null_or),
    strict("$dateFromParts", Arguments::Any, from_parts),
    strict("$dayOfMonth", Arguments::Any, checked),
    strict("$dayOfWeek", Arguments::Any, checked),
    strict("$dayOfYear", Arguments::Any, checked),
    lazy("$filter", Arguments::Any, variable::filter_early),
    strict("$indexOfBytes", Arguments::Between(2, 4), checked),
    strict("$indexOfCP", Arguments::Between(2, 4), checked),
    strict("$mod", Arguments::Exactly(2), modulo),
    strict("$multiply", Arguments::Any, null_or),
    strict("$range", Arguments::Between(2, 3), checked),
    strict("$regexFind", Arguments::Any, checked),
    strict("$regexFindAll", Arguments::Any, checked),
    strict("$regexMatch", Arguments::Any, checked),
    strict("$toLower", Arguments::Exactly(1), text),
    strict("$toUpper", Arguments::Exactly(1), text),
    comparing("$setIntersection", Arguments::Any, null_or_set),
    comparing("$setUnion", Arguments::Any, null_or_set),
    comparing("$cmp", Arguments::Exactly(2), |_, arguments, collation| {
        Ok(Some(Owned::Int32(order(arguments, collation) as i32)))
    }),
    comparing("$gt", Arguments::Exactly(2), |_, arguments, collation| {
        Ok(Some(Owned::Bool(order(arguments, collation).is_gt())))
    }),
    comparing("$gte", Arguments::Exactly(2), |_, arguments, collation| {
        Ok(Some(Owned::Bool(order(arguments, collation).is_ge())))
    }),
    comparing("$lt", Arguments::Exactly(2), |_, arguments, collation| {
        Ok(Some(Owned::Bool(order(arguments, collation).is_lt())))
    }),
    comparing("$lte", Arguments::Exactly(2), |_, arguments, collation| {
        Ok(Some(Owned::Bool(order(arguments, collation).is_le())))
    }),
];

/// The operator as an early `$group` has it, if it is another there.
pub(super) fn of(operator: &'static Operator) -> Option<&'static Operator> {
    OPERATORS.iter().find(|early| early.name == operator.name)
}

/// The fault of a call with the code that an early `$group` gives it.
pub(super) fn coded(operator: &Operator, fault: Fault) -> Fault {
    codes::coded(operator.name, fault)
}

/// What one of the arguments decides, and else the result as the later stages have it.
fn checked(operator: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    match checks::decided(operator.name, arguments)? {
        ControlFlow::Break(decided) => Ok(decided),
        ControlFlow::Continue(()) => otherwise(operator, arguments),
    }
}

/// One null among the arguments makes all of them null, whatever they are.
fn null_or(operator: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    if arguments.iter().any(Answer::is_nullish) {
        return Ok(Some(Owned::Null));
    }
    let product = match operator.name {
        "$multiply" => in_turn(arguments, number::multiply, Decimal::multiply),
        _ => None,
    };
    match product {
        Some(product) => Ok(Some(product)),
        None => otherwise(operator, arguments),
    }
}

/// Two numbers are added as they are; one, or many, and dates as in the later stages, but for decimals.
fn add(operator: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    if arguments.iter().any(Answer::is_nullish) {
        return Ok(Some(Owned::Null));
    }
    let sum = match arguments {
        [_, _] if !arguments.iter().any(is_date) => in_turn(arguments, number::add, Decimal::add),
        _ => in_decimals(arguments),
    };
    match sum {
        Some(sum) => Ok(Some(sum)),
        None => checked(operator, arguments),
    }
}

fn is_date(answer: &Answer<'_>) -> bool {
    matches!(answer.value(), Some(Value::DateTime(_)))
}

/// The sum of numbers among which is a decimal, and at most one date: each counts as a decimal, a double with the fifteen
/// digits that it then has.
fn in_decimals(arguments: &[Answer<'_>]) -> Option<Owned> {
    let is_decimal = |answer: &Answer<'_>| matches!(answer.value(), Some(Value::Decimal128(_)));
    let dates = arguments.iter().filter(|answer| is_date(answer)).count();
    if dates > 1 || !arguments.iter().any(is_decimal) {
        return None;
    }
    let total = arguments.iter().try_fold(Decimal::ZERO, |so_far, answer| {
        Some(so_far.add(match answer.value()? {
            Value::DateTime(ms) => Decimal::from_i64(ms),
            number => number::as_decimal(&number)?,
        }))
    })?;
    Some(match dates {
        0 => Owned::Decimal128(total.to_bytes()),
        _ => Owned::DateTime(total.to_i64_rounded().unwrap_or(i64::MIN)),
    })
}

type Exactly = fn(&Value<'_>, &Value<'_>) -> Option<Owned>;

/// What comes of numbers one after the other: a decimal from where integers are too large for an int64. `None` where there
/// are others beside them.
fn in_turn(
    arguments: &[Answer<'_>],
    exactly: Exactly,
    widely: fn(Decimal, Decimal) -> Decimal,
) -> Option<Owned> {
    let mut values = arguments.iter().map(Answer::value);
    let first = values.next()?.filter(Value::is_number)?;
    values.try_fold(Owned::from(first), |so_far, value| {
        let (so_far, value) = (so_far.as_value(), value.filter(Value::is_number)?);
        exactly(&so_far, &value).or_else(|| {
            let (a, b) = (number::as_decimal(&so_far)?, number::as_decimal(&value)?);
            Some(Owned::Decimal128(widely(a, b).to_bytes()))
        })
    })
}

/// A double divisor that is an int32 in value counts as an int32 for decimals too.
fn modulo(operator: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    if let [left, right] = arguments
        && let (Some(decimal @ Value::Decimal128(_)), Some(divisor @ Value::Double(_))) =
            (left.value(), right.value())
        && let Some(whole) = as_i32_exact(&divisor).filter(|whole| *whole != 0)
    {
        let whole = Answer::Borrowed(Value::Int32(whole));
        return otherwise(operator, &[Answer::Borrowed(decimal), whole]);
    }
    otherwise(operator, arguments)
}

/// A zero keeps its sign, and what is no number gets the other one.
fn abs(operator: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    match arguments.first().and_then(Answer::value) {
        Some(Value::Double(x)) => Ok(Some(Owned::Double(if x >= 0.0 { x } else { -x }))),
        _ => otherwise(operator, arguments),
    }
}

/// A zone that there is not is found behind parts that are out of range.
fn from_parts(operator: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    if let ControlFlow::Break(decided) = checks::decided(operator.name, arguments)? {
        return Ok(decided);
    }
    let mut elsewhere = arguments.to_vec();
    if let Some(zone) = elsewhere.last_mut() {
        *zone = Answer::Absent;
    }
    otherwise(operator, &elsewhere)?;
    otherwise(operator, arguments)
}

/// Of a timestamp its two numbers, and of a date that has no text what is said about it.
fn text(operator: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let text = match arguments.first().and_then(Answer::value) {
        Some(Value::Timestamp { time, increment }) => format!("Timestamp({time}, {increment})"),
        Some(Value::Code(_)) => {
            return Err(Fault::new(
                16_007,
                "can't convert from BSON type javascript to String",
            ));
        }
        Some(Value::DateTime(_)) => match otherwise(operator, arguments) {
            Err(fault) => {
                let what = fault
                    .message()
                    .rsplit(" :: caused by :: ")
                    .next()
                    .unwrap_or_default();
                format!("Location{}: {what}", fault.code())
            }
            found => return found,
        },
        _ => return otherwise(operator, arguments),
    };
    Ok(Some(Owned::String(match operator.name {
        "$toLower" => text.to_ascii_lowercase(),
        _ => text.to_ascii_uppercase(),
    })))
}

/// The result as the later stages have it.
fn otherwise(operator: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    match operator::find(operator.name).map(|own| &own.body) {
        Some(Body::Strict(function)) => function(operator, arguments),
        Some(Body::Asking(function)) => function(operator, &|index| Ok(answer_at(arguments, index))),
        _ => Ok(None),
    }
}

fn null_or_set(
    operator: &'static Operator,
    arguments: &[Answer<'_>],
    collation: &Collation,
) -> Result<Option<Owned>> {
    if arguments.iter().any(Answer::is_nullish) {
        return Ok(Some(Owned::Null));
    }
    match operator.name {
        "$setUnion" => set::union(operator, arguments, collation),
        _ => set::intersection_of_first(operator, arguments, collation),
    }
}

/// What is missing is below all, `MinKey` too.
fn order(arguments: &[Answer<'_>], collation: &Collation) -> Ordering {
    match arguments {
        [a, b] => match (a.value(), b.value()) {
            (None, Some(Value::MinKey)) => Ordering::Less,
            (Some(Value::MinKey), None) => Ordering::Greater,
            (a, b) => compare_answers(a, b, collation),
        },
        _ => Ordering::Equal,
    }
}
