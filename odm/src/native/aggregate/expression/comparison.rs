//! Comparison: over all types, by the order of sorting.

use std::cmp::Ordering;

use super::super::super::document::{Owned, Value, compare};
use super::super::super::fault::Result;
use super::Answer;
use super::operator::{Arguments, Operator, strict};

pub(super) static OPERATORS: &[Operator] = &[
    strict("$cmp", Arguments::Exactly(2), |_, arguments| {
        Ok(Some(Owned::Int32(order(arguments) as i32)))
    }),
    strict("$eq", Arguments::Exactly(2), |_, arguments| {
        test(arguments, Ordering::is_eq)
    }),
    strict("$ne", Arguments::Exactly(2), |_, arguments| {
        test(arguments, Ordering::is_ne)
    }),
    strict("$gt", Arguments::Exactly(2), |_, arguments| {
        test(arguments, Ordering::is_gt)
    }),
    strict("$gte", Arguments::Exactly(2), |_, arguments| {
        test(arguments, Ordering::is_ge)
    }),
    strict("$lt", Arguments::Exactly(2), |_, arguments| {
        test(arguments, Ordering::is_lt)
    }),
    strict("$lte", Arguments::Exactly(2), |_, arguments| {
        test(arguments, Ordering::is_le)
    }),
];

fn order(arguments: &[Answer<'_>]) -> Ordering {
    match arguments {
        [a, b] => compare_answers(a.value(), b.value()),
        _ => Ordering::Equal,
    }
}

fn test(arguments: &[Answer<'_>], holds: fn(Ordering) -> bool) -> Result<Option<Owned>> {
    Ok(Some(Owned::Bool(holds(order(arguments)))))
}

/// The order of two values, a missing one (like undefined) below null.
pub(crate) fn compare_answers(a: Option<Value<'_>>, b: Option<Value<'_>>) -> Ordering {
    let a = a.unwrap_or(Value::Undefined);
    let b = b.unwrap_or(Value::Undefined);
    match (below_null(&a), below_null(&b)) {
        (true, true) => Ordering::Equal,
        (true, false) if !matches!(b, Value::MinKey) => Ordering::Less,
        (false, true) if !matches!(a, Value::MinKey) => Ordering::Greater,
        _ => compare(&a, &b),
    }
}

fn below_null(value: &Value<'_>) -> bool {
    matches!(value, Value::Undefined)
}
