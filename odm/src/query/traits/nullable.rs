//! Values that can be absent.

use crate::model::Newtype;

/// A type with a value that is stored as null or left out: `Option`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` always has a value",
    label = "is never null",
    note = "make the field an `Option`, or ask `exists()` and `missing()`"
)]
pub trait Nullable {}

impl<T> Nullable for Option<T> {}
impl Nullable for bson::Bson {}
impl Nullable for bson::RawBson {}
#[diagnostic::do_not_recommend]
impl<T: Newtype<Inner: Nullable>> Nullable for T {}
