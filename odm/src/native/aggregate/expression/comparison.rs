//! Comparison: over all types, by the order of sorting.

use std::cmp::Ordering;

use super::super::super::collation::Collation;
use super::super::super::document::{Owned, Value};
use super::super::super::fault::Result;
use super::Answer;
use super::operator::{Arguments, Operator, comparing, of_two};
use super::scalar::{self, Scalar};

pub(super) static OPERATORS: &[Operator] = &[
    of_two(
        comparing("$cmp", Arguments::Exactly(2), |_, arguments, collation| {
            Ok(Some(Owned::Int32(order(arguments, collation) as i32)))
        }),
        |a, b| scalar::order(a, b).map(|order| Scalar::int32(order as i32)),
    ),
    of_two(
        comparing("$eq", Arguments::Exactly(2), |_, arguments, collation| {
            test(arguments, collation, Ordering::is_eq)
        }),
        |a, b| scalar::order(a, b).map(|order| Scalar::bool(order.is_eq())),
    ),
    of_two(
        comparing("$ne", Arguments::Exactly(2), |_, arguments, collation| {
            test(arguments, collation, Ordering::is_ne)
        }),
        |a, b| scalar::order(a, b).map(|order| Scalar::bool(order.is_ne())),
    ),
    of_two(
        comparing("$gt", Arguments::Exactly(2), |_, arguments, collation| {
            test(arguments, collation, Ordering::is_gt)
        }),
        |a, b| scalar::order(a, b).map(|order| Scalar::bool(order.is_gt())),
    ),
    of_two(
        comparing("$gte", Arguments::Exactly(2), |_, arguments, collation| {
            test(arguments, collation, Ordering::is_ge)
        }),
        |a, b| scalar::order(a, b).map(|order| Scalar::bool(order.is_ge())),
    ),
    of_two(
        comparing("$lt", Arguments::Exactly(2), |_, arguments, collation| {
            test(arguments, collation, Ordering::is_lt)
        }),
        |a, b| scalar::order(a, b).map(|order| Scalar::bool(order.is_lt())),
    ),
    of_two(
        comparing("$lte", Arguments::Exactly(2), |_, arguments, collation| {
            test(arguments, collation, Ordering::is_le)
        }),
        |a, b| scalar::order(a, b).map(|order| Scalar::bool(order.is_le())),
    ),
];

/// Whether it compares its two arguments with each other.
pub(super) fn is_comparison(operator: &Operator) -> bool {
    OPERATORS.iter().any(|own| own.name == operator.name)
}

fn order(arguments: &[Answer<'_>], collation: &Collation) -> Ordering {
    match arguments {
        [a, b] => compare_answers(a.value(), b.value(), collation),
        _ => Ordering::Equal,
    }
}

fn test(
    arguments: &[Answer<'_>],
    collation: &Collation,
    holds: fn(Ordering) -> bool,
) -> Result<Option<Owned>> {
    Ok(Some(Owned::Bool(holds(order(arguments, collation)))))
}

/// The order of two values, a missing one (like undefined) below null. A symbol goes by its bytes, and a string by the
/// collation where it comes first: so does the server.
pub(super) fn compare_answers(a: Option<Value<'_>>, b: Option<Value<'_>>, collation: &Collation) -> Ordering {
    let a = a.unwrap_or(Value::Undefined);
    let b = b.unwrap_or(Value::Undefined);
    if let (Value::Symbol(a), Value::String(b) | Value::Symbol(b)) = (a, b) {
        return a.cmp(b);
    }
    match (below_null(&a), below_null(&b)) {
        (true, true) => Ordering::Equal,
        (true, false) if !matches!(b, Value::MinKey) => Ordering::Less,
        (false, true) if !matches!(a, Value::MinKey) => Ordering::Greater,
        _ => collation.compare(&a, &b),
    }
}

fn below_null(value: &Value<'_>) -> bool {
    matches!(value, Value::Undefined)
}
