//! Comparison: over all types, by the order of sorting.

use std::cmp::Ordering;

use super::super::super::collation::Collation;
use super::super::super::document::{Owned, Value};
use super::Answer;
use super::operator::{Arguments, Operator, comparing, of_two};
use super::scalar::{self, Scalar};

/// A comparison that says whether an order holds, of answers and of scalars.
macro_rules! holding {
    ($name:literal, $holds:ident) => {
        of_two(
            comparing($name, Arguments::Exactly(2), |_, arguments, collation| {
                Ok(Some(Owned::Bool(order(arguments, collation).$holds())))
            }),
            |a, b| scalar::order(a, b).map(|order| Scalar::bool(order.$holds())),
        )
    };
}

pub(super) static OPERATORS: &[Operator] = &[
    of_two(
        comparing("$cmp", Arguments::Exactly(2), |_, arguments, collation| {
            Ok(Some(Owned::Int32(order(arguments, collation) as i32)))
        }),
        |a, b| scalar::order(a, b).map(|order| Scalar::int32(order as i32)),
    ),
    holding!("$eq", is_eq),
    holding!("$ne", is_ne),
    holding!("$gt", is_gt),
    holding!("$gte", is_ge),
    holding!("$lt", is_lt),
    holding!("$lte", is_le),
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
