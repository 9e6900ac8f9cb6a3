//! Typed handles of fields.

use std::fmt;
use std::marker::PhantomData;

use bson::RawBson;

use super::path::Path;
use crate::error::Result;

/// How a field's values are encoded when serde is told to do it in its own way (`#[serde(with = ..)]`).
pub type Codec<T> = fn(&T) -> Result<RawBson>;

/// A field of type `T` in documents of the root `R`. Filters, updates and sorts are its methods.
pub struct Field<R, T> {
    path: Path,
    codec: Option<Codec<T>>,
    marker: PhantomData<fn() -> (R, T)>,
}

impl<R, T> Field<R, T> {
    /// The field at this path.
    pub fn new(path: Path) -> Field<R, T> {
        Field {
            path,
            codec: None,
            marker: PhantomData,
        }
    }

    /// The field at this path, with its own way to encode.
    pub fn with_codec(path: Path, codec: Codec<T>) -> Field<R, T> {
        Field {
            path,
            codec: Some(codec),
            marker: PhantomData,
        }
    }

    /// Where the field is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How its values are encoded, if not by their own `Serialize`.
    pub fn codec(&self) -> Option<Codec<T>> {
        self.codec
    }
}

impl<R, T> Clone for Field<R, T> {
    fn clone(&self) -> Self {
        Field {
            path: self.path.clone(),
            codec: self.codec,
            marker: PhantomData,
        }
    }
}

impl<R, T> fmt::Debug for Field<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Field({})", self.path)
    }
}

/// A type that a model's field can have, and the handle that stands for such a field.
///
/// For plain values the handle is [`Field`]; for embedded documents it is their fields struct, which also
/// derefs to [`Field`], so that `b.address.city` and `b.address.eq(..)` both work.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a model",
    label = "not a field type",
    note = "derive `odm::Embedded` for it, or mark the field `#[odm(opaque)]` to use it as a plain value"
)]
pub trait FieldType: Sized {
    /// The handle of a field of this type.
    type Handle<R>;

    /// The handle of a field of type `Option<Self>`.
    type Optional<R>;

    /// The handle of the field at this path.
    fn handle<R>(path: Path) -> Self::Handle<R>;

    /// The handle of the optional field at this path.
    fn optional<R>(path: Path) -> Self::Optional<R>;
}
