//! Encoding by a function of serde's form.

use std::marker::PhantomData;

use bson::serde_helpers::HumanReadable;
use bson::{Bson, RawBson};
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};

use crate::codec::encode_value;
use crate::error::{Error, ErrorKind, Result};

/// Serializes values of `T` in another way than their own: what `#[serde(with = ..)]` names.
pub trait SerializeWith<T> {
    /// Serializes the value.
    ///
    /// # Errors
    /// As the function that serde is told to call.
    fn serialize_with<S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error>;
}

/// Encodes a value as `W` serializes it. A [`Codec`](super::Codec).
///
/// # Errors
/// `Encode` when what `W` writes does not fit BSON.
pub fn encode_with<T, W: SerializeWith<T>>(value: &T) -> Result<RawBson> {
    encode_value(&With::<T, W>(value, PhantomData))
}

/// A value as `W` serializes it for people. A [`KeyShow`](super::KeyShow).
///
/// # Errors
/// `Encode` when `W` refuses the value.
pub fn show_with<T, W: SerializeWith<T>>(value: &T) -> Result<Bson> {
    let readable = HumanReadable(With::<T, W>(value, PhantomData));
    bson::serialize_to_bson(&readable).map_err(|error| {
        Error::new(ErrorKind::Encode, "the value cannot be written as text").with_source(error)
    })
}

/// Reads what is written for people. A [`KeyParse`](super::KeyParse).
///
/// # Errors
/// `Decode` when it is not that.
pub fn parse_shown<T: DeserializeOwned>(shown: Bson) -> Result<T> {
    let read = bson::deserialize_from_bson::<HumanReadable<T>>(shown);
    read.map(|read| read.0)
        .map_err(|error| Error::new(ErrorKind::Decode, "the value cannot be read").with_source(error))
}

struct With<'a, T, W>(&'a T, PhantomData<W>);

impl<T, W: SerializeWith<T>> Serialize for With<'_, T, W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        W::serialize_with(self.0, serializer)
    }
}
