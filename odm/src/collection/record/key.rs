//! Whether an `_id` is stored as the model stores it: a document that is read by another one would not be found again, and
//! be stored a second time.

use std::any::TypeId;

use bson::oid::ObjectId;
use bson::spec::ElementType;
use bson::{RawBsonRef, RawDocument};

use super::Record;
use crate::codec;
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::with_id;
use crate::model::{Id, Model};

const OTHER_FIELDS: &str = "the stored `_id` has other fields than the model's, or has them in another order, and nothing \
                            would be found by it";

/// Checks that the model's `_id` is the one that is stored.
///
/// # Errors
/// `Decode` when it is another one.
pub(super) fn check<M: Model>(value: &M, stored: &RawDocument) -> Result<()> {
    let Some(kind) = kind(stored) else {
        return Ok(());
    };
    // Types that are read from the type alone that they are stored as, or from numbers; the others, newtypes among them, are
    // encoded once more.
    let is = |one: TypeId| M::KEY_CODEC.is_none() && TypeId::of::<M::Key>() == one;
    let is_same = match kind {
        ElementType::ObjectId => is(TypeId::of::<Id<M>>()) || is(TypeId::of::<ObjectId>()),
        ElementType::String => is(TypeId::of::<String>()),
        ElementType::Int32 | ElementType::Int64 => {
            is(TypeId::of::<i64>())
                || is(TypeId::of::<i32>())
                || is(TypeId::of::<u64>())
                || is(TypeId::of::<u32>())
        }
        _ => false,
    };
    match is_same {
        true => Ok(()),
        false => compare(value, stored),
    }
}

/// The type of the `_id`, which nearly always comes first.
fn kind(document: &RawDocument) -> Option<ElementType> {
    match document.as_bytes() {
        [_, _, _, _, kind, b'_', b'i', b'd', 0, ..] => ElementType::from(*kind),
        _ => document.get("_id").ok().flatten().map(|id| id.element_type()),
    }
}

#[inline(never)]
fn compare<M: Model>(value: &M, document: &RawDocument) -> Result<()> {
    let Ok(Some(stored)) = document.get("_id") else {
        return Ok(());
    };
    let key = value.key();
    let Ok(encoded) = M::encode_key(key).unwrap_or_else(|| codec::encode_value(key)) else {
        return Ok(());
    };
    let encoded = encoded.as_raw_bson_ref();
    if is_same(stored, encoded) {
        return Ok(());
    }
    let name = |value: RawBsonRef<'_>| codec::kind_name(value.element_type() as u8);
    let error = match (stored, encoded) {
        (RawBsonRef::Document(_), RawBsonRef::Document(_)) => Error::new(ErrorKind::Decode, OTHER_FIELDS),
        (stored, encoded) if name(stored) == name(encoded) => {
            let text = format!("the model has another `_id` than the stored one: {encoded:?}");
            Error::new(ErrorKind::Decode, text)
        }
        (stored, encoded) => {
            let text = format!(
                "invalid type: {}, expected {}, as which the model stores its `_id`",
                name(stored),
                name(encoded)
            );
            Error::new(ErrorKind::Decode, text)
        }
    };
    Err(with_id(error.with_path("_id"), document))
}

/// Whether one is found by the other: numbers by their value, documents field by field in order.
fn is_same(one: RawBsonRef<'_>, other: RawBsonRef<'_>) -> bool {
    match (one, other) {
        (RawBsonRef::Document(one), RawBsonRef::Document(other)) => {
            let mut others = other.iter();
            let is_same = one.iter().all(|element| match (element, others.next()) {
                (Ok((name, value)), Some(Ok((other_name, other)))) => {
                    name == other_name && is_same(value, other)
                }
                _ => false,
            });
            is_same && others.next().is_none()
        }
        (RawBsonRef::Array(one), RawBsonRef::Array(other)) => {
            let mut others = other.into_iter();
            let is_same = one.into_iter().all(|element| match (element, others.next()) {
                (Ok(value), Some(Ok(other))) => is_same(value, other),
                _ => false,
            });
            is_same && others.next().is_none()
        }
        (RawBsonRef::Double(one), RawBsonRef::Double(other)) => {
            one == other || one.is_nan() && other.is_nan()
        }
        (RawBsonRef::Symbol(one), RawBsonRef::String(other)) => one == other,
        // A decimal is read from decimals alone, and may have other digits than the stored one.
        (RawBsonRef::Decimal128(_), RawBsonRef::Decimal128(_)) => true,
        (one, other) if one == other => true,
        (one, other) => match (integer(one), integer(other)) {
            (Some(one), Some(other)) => one == other,
            _ => false,
        },
    }
}

/// The whole number that a value is.
fn integer(value: RawBsonRef<'_>) -> Option<i128> {
    match value {
        RawBsonRef::Int32(number) => Some(number.into()),
        RawBsonRef::Int64(number) => Some(number.into()),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the number is whole, and in the range"
        )]
        RawBsonRef::Double(number) if number.fract() == 0.0 && number.abs() < 2_f64.powi(100) => {
            Some(number as i128)
        }
        _ => None,
    }
}
