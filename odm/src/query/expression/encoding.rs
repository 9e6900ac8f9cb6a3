//! How the values of an expression are stored.

use std::fmt;

use bson::RawBson;
use serde::Serialize;

use super::constant;
use crate::codec::encode_value;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Codec;
use crate::query::encode::own_codec;

/// How the values of an expression are stored: constants beside it are stored in the same way.
pub enum Encoding<T> {
    /// As the type says: computed values, and what is believed to be of the type.
    Computed,
    /// As the type says: a field's.
    Plain,
    /// As the type says, the constant being of [`literal`](super::literal).
    Literal,
    /// By a field's own serde codec.
    Own(Codec<T>),
    /// By the own serde codec of a field where it may be missing.
    OwnOptional(Codec<Option<T>>),
    /// Inside of what a serde codec stores.
    Inside,
}

impl<T> Encoding<T> {
    /// That of a field.
    pub(crate) fn of(codec: Option<Codec<T>>) -> Encoding<T> {
        codec.map_or(Encoding::Plain, Encoding::Own)
    }

    pub(crate) fn constant(&self, value: T) -> Result<RawBson>
    where
        T: Serialize,
    {
        match self {
            Encoding::Computed | Encoding::Plain | Encoding::Literal => encode_value(&value),
            Encoding::Own(codec) => codec(&value),
            Encoding::OwnOptional(codec) => codec(&Some(value)),
            Encoding::Inside => Err(own_codec()),
        }
        .map(constant)
    }

    /// Whether a codec that is not the type's stores the values.
    pub(super) fn is_own(&self) -> bool {
        matches!(
            self,
            Encoding::Own(_) | Encoding::OwnOptional(_) | Encoding::Inside
        )
    }

    /// Whether values stored like this can be where values stored like that are.
    pub(super) fn fits<U>(&self, place: &Encoding<U>) -> Result<()> {
        match (self, place.is_own()) {
            (Encoding::Literal, true) => Err(literal_of_encoded()),
            _ => Ok(()),
        }
    }

    /// Whether values stored like this can be compared with values stored like that.
    pub(super) fn agrees<U>(&self, other: &Encoding<U>) -> Result<()> {
        self.fits(other)?;
        other.fits(self)?;
        match (self, other) {
            (Encoding::Plain, other) if other.is_own() => Err(stored_differently()),
            (own, Encoding::Plain) if own.is_own() => Err(stored_differently()),
            _ => Ok(()),
        }
    }
}

impl<T> Encoding<Option<T>> {
    /// That of the values that are there.
    pub(super) fn of_some(&self) -> Encoding<T> {
        match self {
            Encoding::Computed => Encoding::Computed,
            Encoding::Plain => Encoding::Plain,
            Encoding::Literal => Encoding::Literal,
            Encoding::Own(codec) => Encoding::OwnOptional(*codec),
            Encoding::OwnOptional(_) | Encoding::Inside => Encoding::Inside,
        }
    }
}

fn literal_of_encoded() -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        "`literal` stores the value as its type says, but the field has its own serde codec (`as_bson`, `with`); give the \
         value itself, or `field.constant(value)`",
    )
}

fn stored_differently() -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        "one of the fields has its own serde codec (`as_bson`, `with`), the other has not; where both store the same, say \
         so by `value().of_type()`",
    )
}

impl<T> fmt::Debug for Encoding<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Encoding::Computed => "Computed",
            Encoding::Plain => "Plain",
            Encoding::Literal => "Literal",
            Encoding::Own(_) => "Own",
            Encoding::OwnOptional(_) => "OwnOptional",
            Encoding::Inside => "Inside",
        })
    }
}

impl<T> Clone for Encoding<T> {
    fn clone(&self) -> Encoding<T> {
        *self
    }
}

impl<T> Copy for Encoding<T> {}
