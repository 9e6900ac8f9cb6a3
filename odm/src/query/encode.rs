//! Paths and operands of a field, as they go into filters and updates.

use bson::raw::CString;
use bson::{RawBson, RawDocumentBuf};
use serde::Serialize;

use super::operand::Operand;
use crate::codec::encode_value;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{ArrayCondition, ArrayType, Field, Path, Segment};

impl<R, T> Field<R, T> {
    /// The path for filters and sorts, where positions of updates have no meaning.
    pub(super) fn query_path(&self) -> Result<CString> {
        if self.path().is_plain() {
            return path_text(self.path().render(|_| String::new()));
        }
        for segment in self.path().segments() {
            match segment {
                Segment::Where(condition) => {
                    condition.document("f0")?;
                    return Err(positional(self.path()));
                }
                Segment::Matched | Segment::All | Segment::Filtered(_) => {
                    return Err(positional(self.path()));
                }
                Segment::Name(_) | Segment::Key(_) | Segment::Index(_) => {}
            }
        }
        path_text(self.path().to_string())
    }

    /// Whether the path leads somewhere: not past an array with its own codec, not by a key that cannot be in one.
    pub(super) fn reachable(&self) -> Result<()> {
        if self.path().is_plain() {
            return Ok(());
        }
        for segment in self.path().segments() {
            if let Segment::Where(condition) = segment {
                condition.document("f0")?;
            }
        }
        Ok(())
    }

    /// The operand as this field's values are stored.
    pub(super) fn operand(&self, operand: impl Operand<T>) -> Result<RawBson>
    where
        T: Serialize,
    {
        operand.with(|value| self.encode(value))
    }

    pub(super) fn encode(&self, value: &T) -> Result<RawBson>
    where
        T: Serialize,
    {
        match self.codec() {
            Some(codec) => codec(value),
            None => encode_value(value),
        }
        .map_err(|error| located(error, self.path()))
    }

    /// The operands as this field's values are stored.
    pub(super) fn operands<I>(&self, operands: I) -> Result<Vec<RawBson>>
    where
        T: Serialize,
        I: IntoIterator<Item: Operand<T>>,
    {
        operands
            .into_iter()
            .map(|operand| self.operand(operand))
            .collect()
    }

    /// The operand as an element of this array is stored.
    ///
    /// An array with its own codec is asked to encode an array of this one element.
    pub(super) fn element(&self, operand: impl Operand<T::Item>) -> Result<RawBson>
    where
        T: ArrayType<Item: Serialize>,
    {
        let element = match self.codec() {
            None => operand.with(encode_value),
            Some(codec) => operand
                .into_owned()
                .and_then(T::one)
                .ok_or_else(own_codec)
                .and_then(|array| codec(&array))
                .and_then(
                    |array| match array.as_array().and_then(|array| array.into_iter().next()) {
                        Some(Ok(element)) => Ok(element.into()),
                        _ => Err(own_codec()),
                    },
                ),
        };
        element.map_err(|error| located(error, self.path()))
    }

    /// The operands as elements of this array are stored.
    pub(super) fn elements<I>(&self, operands: I) -> Result<Vec<RawBson>>
    where
        T: ArrayType<Item: Serialize>,
        I: IntoIterator<Item: Operand<T::Item>>,
    {
        operands
            .into_iter()
            .map(|operand| self.element(operand))
            .collect()
    }

    /// The path of elements of this array.
    ///
    /// Elements of an array with its own codec would be encoded by another one than stored them, so that path
    /// carries an error along.
    pub(super) fn element_path(&self, segment: Option<Segment>) -> Path {
        let path = match self.codec() {
            None => self.path().clone(),
            Some(_) => self.path().then(Segment::Where(std::sync::Arc::new(OwnCodec))),
        };
        match segment {
            Some(segment) => path.then(segment),
            None => path,
        }
    }
}

impl<R, T> Field<R, T> {
    /// Puts this field's path into an error.
    pub(super) fn located<V>(&self, result: Result<V>) -> Result<V> {
        result.map_err(|error| located(error, self.path()))
    }
}

/// Stands in the path of what cannot be reached because an array above has its own codec.
#[derive(Debug)]
struct OwnCodec;

impl ArrayCondition for OwnCodec {
    fn document(&self, _: &str) -> Result<RawDocumentBuf> {
        Err(own_codec())
    }
}

pub(super) fn own_codec() -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "the elements of an array with its own serde codec cannot be reached; use a raw filter, update or stage",
    )
}

fn positional(path: &Path) -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        "`matched`, `each` and `filtered` are for updates; in filters reach elements by `any` or `at`",
    )
    .with_path(path.to_string())
}

pub(super) fn path_text(text: String) -> Result<CString> {
    CString::try_from(text).map_err(|error| {
        Error::new(ErrorKind::InvalidArgument, "a field name holds a nul").with_source(error)
    })
}

/// Puts the field's path before the path inside its value.
fn located(error: Error, path: &Path) -> Error {
    let path = match error.path() {
        Some(inner) if !path.is_root() => format!("{path}.{inner}"),
        Some(inner) => inner.to_owned(),
        None => path.to_string(),
    };
    error.with_path(path)
}
