//! Operators as a `$group` has them that reads a collection: a server runs it by other means than the later stages.

use std::cmp::Ordering;

use super::super::super::collation::Collation;
use super::super::super::document::decimal::Decimal;
use super::super::super::document::{Owned, Value, number};
use super::super::super::fault::Result;
use super::Answer;
use super::arithmetic::as_i32_exact;
use super::comparison::compare_answers;
use super::operator::{self, Arguments, Body, Operator, comparing, strict};

static OPERATORS: &[Operator] = &[
    strict("$add", Arguments::Any, null_or),
    strict("$atan2", Arguments::Exactly(2), null_or),
    strict("$concat", Arguments::Any, null_or),
    strict("$concatArrays", Arguments::Any, null_or),
    strict("$mod", Arguments::Exactly(2), modulo),
    strict("$multiply", Arguments::Any, null_or),
    strict("$range", Arguments::Between(2, 3), range),
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

/// One null among the arguments makes all of them null, whatever they are.
fn null_or(operator: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    if arguments.iter().any(Answer::is_nullish) {
        return Ok(Some(Owned::Null));
    }
    let result = match operator.name {
        "$add" if is_summed_in_turn(arguments) => in_turn(arguments, number::add, Decimal::add),
        "$multiply" => in_turn(arguments, number::multiply, Decimal::multiply),
        _ => None,
    };
    match result {
        Some(result) => Ok(Some(result)),
        None => otherwise(operator, arguments),
    }
}

type Exactly = fn(&Value<'_>, &Value<'_>) -> Option<Owned>;

/// Whether each number is added to the sum of those before it: of two integers, and of decimals and doubles, which then
/// count with the fifteen digits that they have as decimals. Others are added with all their digits.
fn is_summed_in_turn(arguments: &[Answer<'_>]) -> bool {
    let is = |wanted: fn(&Value<'_>) -> bool| {
        move |answer: &Answer<'_>| answer.value().as_ref().is_some_and(wanted)
    };
    let is_integer = is(|value| matches!(value, Value::Int32(_) | Value::Int64(_)));
    let has_decimal = || {
        arguments
            .iter()
            .any(is(|value| matches!(value, Value::Decimal128(_))))
    };
    let has_double = || {
        arguments
            .iter()
            .any(is(|value| matches!(value, Value::Double(_))))
    };
    (arguments.len() == 2 && arguments.iter().all(is_integer)) || (has_decimal() && has_double())
}

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

/// Null where a bound is missing, which for the later stages is a fault.
fn range(operator: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let is_number = |answer: &Answer<'_>| answer.value().is_some_and(|value| value.is_number());
    let behind_numbers = arguments.iter().find(|answer| !is_number(answer));
    match behind_numbers.is_some_and(|answer| answer.value().is_none()) {
        true => Ok(Some(Owned::Null)),
        false => otherwise(operator, arguments),
    }
}

/// The result as the later stages have it.
fn otherwise(operator: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    match operator::find(operator.name).map(|own| &own.body) {
        Some(Body::Strict(function)) => function(operator, arguments),
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
    match operator::find(operator.name).map(|own| &own.body) {
        Some(Body::Comparing(function)) => function(operator, arguments, collation),
        _ => Ok(None),
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
