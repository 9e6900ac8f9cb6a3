//! Values that were made twice of one stored value.

use bson::{RawArray, RawBson, RawBsonRef};

use super::edit::is_same;

/// What may be in another order and mean the same.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Order {
    /// The fields of documents: those of a `HashMap` come in any.
    OfFields,
    /// The elements of arrays too: those of a `HashSet` do.
    OfElements,
}

/// Whether the values are one but for what may be in another order.
pub(super) fn is_alike(one: RawBsonRef<'_>, other: RawBsonRef<'_>, order: Order) -> bool {
    match (one, other) {
        (RawBsonRef::Document(one), RawBsonRef::Document(other)) => {
            one == other
                || one.iter().count() == other.iter().count()
                    && one.iter().flatten().all(|(name, value)| {
                        let there = other.get(name).ok().flatten();
                        there.is_some_and(|there| is_alike(value, there, order))
                    })
        }
        (RawBsonRef::Array(one), RawBsonRef::Array(other)) => {
            one == other
                || match order {
                    Order::OfFields => is_alike_in_order(one, other),
                    Order::OfElements => is_alike_in_any(one, other),
                }
        }
        (one, other) => is_same(Some(one), Some(other)),
    }
}

/// Whether one of the values is this one but for what may be in another order.
pub(super) fn has_alike(values: &[RawBson], value: RawBsonRef<'_>, order: Order) -> bool {
    let mut values = values.iter().map(RawBson::as_raw_bson_ref);
    values.any(|one| is_alike(one, value, order))
}

/// The values behind others that are these.
pub(super) fn behind<'v>(values: &'v [RawBson], first: &[RawBson]) -> Option<&'v [RawBson]> {
    let (begin, rest) = values.split_at_checked(first.len())?;
    let mut pairs = begin.iter().zip(first);
    pairs
        .all(|(one, other)| is_alike(one.as_raw_bson_ref(), other.as_raw_bson_ref(), Order::OfFields))
        .then_some(rest)
}

fn is_alike_in_order(one: &RawArray, other: &RawArray) -> bool {
    let (mut one, mut other) = (one.into_iter().flatten(), other.into_iter().flatten());
    loop {
        match (one.next(), other.next()) {
            (None, None) => return true,
            (Some(one), Some(other)) if is_alike(one, other, Order::OfFields) => {}
            _ => return false,
        }
    }
}

fn is_alike_in_any(one: &RawArray, other: &RawArray) -> bool {
    let mut others: Vec<RawBsonRef<'_>> = other.into_iter().flatten().collect();
    for value in one.into_iter().flatten() {
        let found = others
            .iter()
            .position(|other| is_alike(value, *other, Order::OfElements));
        match found {
            Some(place) => drop(others.swap_remove(place)),
            None => return false,
        }
    }
    others.is_empty()
}
