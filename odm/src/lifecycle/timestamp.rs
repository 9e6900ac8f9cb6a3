//! Types that hold an instant.

use bson::{DateTime, RawBson};
use serde::Serialize;

use crate::codec;
use crate::error::Result;
use crate::model::SerializeWith;

/// A type that an instant can be put into: what `#[odm(created)]`, `#[odm(updated)]` and `#[odm(soft_delete)]` need.
///
/// Implement it for a type of your own that is stored as a date:
///
/// ```
/// # use serde::{Deserialize, Serialize};
/// #[derive(Debug, Serialize, Deserialize)]
/// struct When(odm::bson::DateTime);
///
/// impl odm::Timestamp for When {
///     fn at(instant: odm::bson::DateTime) -> When {
///         When(instant)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold the time of a write",
    label = "not a timestamp",
    note = "use `bson::DateTime` or an `Option` of it, or implement `odm::Timestamp` for a type that is stored as a date"
)]
pub trait Timestamp: Sized {
    /// This instant, to the millisecond.
    fn at(instant: DateTime) -> Self;
}

impl Timestamp for DateTime {
    fn at(instant: DateTime) -> DateTime {
        instant
    }
}

impl Timestamp for std::time::SystemTime {
    fn at(instant: DateTime) -> std::time::SystemTime {
        instant.to_system_time()
    }
}

impl<T: Timestamp> Timestamp for Option<T> {
    fn at(instant: DateTime) -> Option<T> {
        Some(T::at(instant))
    }
}

/// A type that says when a document was deleted, or that it was not: what `#[odm(soft_delete)]` needs.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot say that a document is not deleted",
    label = "must be an `Option` of a date",
    note = "declare the field as `Option<bson::DateTime>`"
)]
pub trait Deletion: Timestamp {}

impl<T: Timestamp> Deletion for Option<T> {}

/// A type that counts versions: what `#[odm(version)]` needs.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot count versions",
    label = "not a version",
    note = "use `i32`, `i64`, `u32` or `u64`"
)]
pub trait Version {}

impl Version for i32 {}
impl Version for i64 {}
impl Version for u32 {}
impl Version for u64 {}

/// The instant as a field of this type is stored.
///
/// # Errors
/// `Encode` when the type refuses it.
pub fn stamp<T: Timestamp + Serialize>(instant: DateTime) -> Result<RawBson> {
    codec::encode_value(&T::at(instant))
}

/// As [`stamp`], for the date of deletion.
///
/// # Errors
/// As [`stamp`].
pub fn deletion<T: Deletion + Serialize>(instant: DateTime) -> Result<RawBson> {
    stamp::<T>(instant)
}

/// As [`stamp`], for a field with its own codec.
///
/// # Errors
/// As [`stamp`].
pub fn stamp_with<T: Timestamp, W: SerializeWith<T>>(instant: DateTime) -> Result<RawBson> {
    crate::model::encode_with::<T, W>(&T::at(instant))
}
