//! MongoDB's order of values: one comparator for matching, sorting, grouping and updating.

use std::cmp::Ordering;

use super::value::Value;

/// Compares two values of any types as MongoDB sorts them.
pub(crate) fn compare(a: &Value<'_>, b: &Value<'_>) -> Ordering {
    let _ = (a, b);
    Ordering::Equal
}

/// The rank of the value's type in the order of types: equal ranks are compared by value.
pub(crate) fn type_rank(value: &Value<'_>) -> u8 {
    let _ = value;
    0
}

/// Whether MongoDB takes the two for the same value (1 and 1.0 are).
pub(crate) fn equal(a: &Value<'_>, b: &Value<'_>) -> bool {
    compare(a, b) == Ordering::Equal
}
