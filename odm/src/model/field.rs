//! Typed handles of fields.

use std::fmt;
use std::marker::PhantomData;

use bson::RawBson;

use super::KeyReader;
use super::field_type::Handle;
use super::path::Path;
use crate::error::Result;

/// How a field's values are encoded when serde is told to do it in its own way (`#[serde(with = ..)]`).
pub type Codec<T> = fn(&T) -> Result<RawBson>;

/// A field of type `T` in documents of the root `R`. Filters, updates and sorts are its methods.
pub struct Field<R, T> {
    path: Path,
    codec: Option<Codec<T>>,
    reader: Option<KeyReader<T>>,
    marker: PhantomData<fn() -> (R, T)>,
}

impl<R, T> Field<R, T> {
    /// The field at this path.
    pub fn new(path: Path) -> Field<R, T> {
        Field {
            path,
            codec: None,
            reader: None,
            marker: PhantomData,
        }
    }

    /// The field at this path, with its own way to encode.
    pub fn with_codec(path: Path, codec: Codec<T>) -> Field<R, T> {
        Field {
            path,
            codec: Some(codec),
            reader: None,
            marker: PhantomData,
        }
    }

    /// With its own way to decode.
    #[doc(hidden)]
    pub fn reading(mut self, reader: KeyReader<T>) -> Field<R, T> {
        self.reader = Some(reader);
        self
    }

    /// How its values are decoded, if not by their own `Deserialize`.
    pub(crate) fn reader(&self) -> Option<KeyReader<T>> {
        self.reader
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

impl<R, T> Handle for Field<R, T> {
    fn at(path: Path) -> Field<R, T> {
        Field::new(path)
    }
}

impl<R, T> Clone for Field<R, T> {
    fn clone(&self) -> Self {
        Field {
            path: self.path.clone(),
            codec: self.codec,
            reader: self.reader,
            marker: PhantomData,
        }
    }
}

impl<R, T> fmt::Debug for Field<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Field({})", self.path)
    }
}
