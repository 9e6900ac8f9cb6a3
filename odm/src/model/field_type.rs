//! What the fields of a model can be.

use super::path::Path;
use crate::lifecycle::Declared;

/// A type that a model's field can have, and the handle that stands for such a field.
///
/// For plain values the handle is [`Field`](super::Field); for embedded documents it is their fields struct,
/// which also derefs to [`Field`](super::Field), so that `b.address.city` and `b.address.eq(..)` both work.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a model",
    label = "not a field type",
    note = "derive `odm::Embedded` for it, or mark the field `#[odm(opaque)]` to use it as a plain value",
    note = "dates, durations, UUIDs and decimals of other crates: `#[serde(with = \"odm::as_bson\")]` stores them as their BSON types"
)]
pub trait FieldType: Sized {
    /// The handle of a field of this type.
    type Handle<R>: Handle;

    /// The handle of a field of type `Option<Self>`.
    type Optional<R>: Handle;

    /// The handle of the field at this path.
    fn handle<R>(path: Path) -> Self::Handle<R> {
        Handle::at(path)
    }

    /// What the type itself declares of its values.
    #[doc(hidden)]
    const DECLARED: &'static Declared = Declared::nothing();

    /// What is declared of values of this type.
    #[doc(hidden)]
    fn declared() -> &'static Declared {
        Self::DECLARED
    }

    /// The handle of the optional field at this path.
    fn optional<R>(path: Path) -> Self::Optional<R> {
        Handle::at(path)
    }
}

/// What stands for a field: made from where the field is.
pub trait Handle: Sized {
    /// The handle of the field at this path.
    fn at(path: Path) -> Self;
}

/// A variant without data has no fields.
impl Handle for () {
    fn at(_path: Path) {}
}
