//! One value, as a BSON type or as a text.

use bson::RawBson;
use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, ErrorKind};
use crate::expr::DateTerm;

/// A type that is one value of BSON.
pub(super) trait Leaf: Sized {
    /// The BSON type.
    type Stored: Serialize + DeserializeOwned;

    /// What is wrong with a value that cannot be stored.
    fn store(&self) -> Result<Self::Stored, String>;

    /// What is wrong with a stored value that cannot be held.
    fn load(stored: Self::Stored) -> Result<Self, String>;

    /// The value for people; `None` where the stored form is that already.
    fn text(&self) -> Option<String>;

    /// Reads the text; `None` where there is none.
    fn parse(text: &str) -> Option<Result<Self, String>>;
}

pub(super) fn serialize<T: Leaf, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable()
        && let Some(text) = value.text()
    {
        return serializer.serialize_str(&text);
    }
    value.store().map_err(S::Error::custom)?.serialize(serializer)
}

pub(super) fn deserialize<'de, T: Leaf, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    if !deserializer.is_human_readable() {
        return T::load(T::Stored::deserialize(deserializer)?).map_err(D::Error::custom);
    }
    match Readable::<T::Stored>::deserialize(deserializer)? {
        Readable::Stored(stored) => T::load(stored),
        Readable::Text(text) => match T::parse(&text) {
            Some(value) => value,
            None => Err("a text stands where a number should".to_owned()),
        },
    }
    .map_err(D::Error::custom)
}

/// A date as a constant of an expression.
#[allow(dead_code, reason = "each feature has its own leaves")]
pub(super) fn term<T: Leaf<Stored = bson::DateTime>>(date: &T) -> crate::Result<RawBson> {
    match date.store() {
        Ok(stored) => DateTerm::<()>::date(stored),
        Err(message) => Err(Error::new(ErrorKind::Encode, message)),
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Readable<T> {
    Text(String),
    Stored(T),
}

/// Makes leaves stored by `as_bson`.
macro_rules! leaves {
    ($($type:ty)*) => {$(
        impl $crate::AsBson for $type {
            fn serialize_as_bson<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::interchange::leaf::serialize(self, serializer)
            }

            fn deserialize_as_bson<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::interchange::leaf::deserialize(deserializer)
            }
        }
    )*};
}

/// Makes leaves that are stored as dates, of the functions to and from a [`bson::DateTime`] and a text.
#[allow(unused_macros, reason = "each feature has its own leaves")]
macro_rules! dates {
    ($($type:ty: $store:expr, $load:expr, $text:expr, $parse:expr;)*) => {$(
        impl $crate::interchange::leaf::Leaf for $type {
            type Stored = bson::DateTime;

            fn store(&self) -> Result<bson::DateTime, String> {
                ($store)(self)
            }

            fn load(stored: bson::DateTime) -> Result<Self, String> {
                ($load)(stored)
            }

            fn text(&self) -> Option<String> {
                ($text)(self)
            }

            fn parse(text: &str) -> Option<Result<Self, String>> {
                Some(($parse)(text))
            }
        }

        $crate::interchange::leaf::leaves!($type);
        impl $crate::Ordered for $type {}
        impl $crate::Date for $type {}

        impl<R> $crate::expr::DateTerm<R> for $type {
            fn date(self) -> $crate::Result<bson::RawBson> {
                $crate::interchange::leaf::term(&self)
            }
        }
    )*};
}

/// Makes leaves that are stored as a count of milliseconds, of the functions to and from one.
macro_rules! durations {
    ($($type:ty: $store:expr, $load:expr;)*) => {$(
        impl $crate::interchange::leaf::Leaf for $type {
            type Stored = i64;

            fn store(&self) -> Result<i64, String> {
                let milliseconds: Option<i64> = ($store)(self);
                milliseconds.ok_or_else(|| "the duration does not fit 64 bits of milliseconds".to_owned())
            }

            fn load(stored: i64) -> Result<Self, String> {
                ($load)(stored).ok_or_else(|| "the type cannot hold the stored milliseconds".to_owned())
            }

            fn text(&self) -> Option<String> {
                None
            }

            fn parse(_text: &str) -> Option<Result<Self, String>> {
                None
            }
        }

        $crate::interchange::leaf::leaves!($type);
    )*};
}

#[allow(unused_imports, reason = "each feature has its own leaves")]
pub(super) use {dates, durations, leaves};
