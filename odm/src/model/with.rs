//! Encoding by a function of serde's form.

use std::marker::PhantomData;

use bson::RawBson;
use serde::{Serialize, Serializer};

use crate::codec::encode_value;
use crate::error::Result;

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

struct With<'a, T, W>(&'a T, PhantomData<W>);

impl<T, W: SerializeWith<T>> Serialize for With<'_, T, W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        W::serialize_with(self.0, serializer)
    }
}
