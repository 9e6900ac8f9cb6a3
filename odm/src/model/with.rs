//! Encoding by a function of serde's form.

use std::marker::PhantomData;

use bson::RawBson;
use serde::{Serialize, Serializer};

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
    #[derive(Serialize)]
    struct Lone<V> {
        v: V,
    }
    let document = bson::serialize_to_raw_document_buf(&Lone {
        v: With::<T, W>(value, PhantomData),
    });
    let error = |error| crate::Error::new(crate::ErrorKind::Encode, "x").with_source(error);
    Ok(document.map_err(error)?.get("v").unwrap().unwrap().into())
}

struct With<'a, T, W>(&'a T, PhantomData<W>);

impl<T, W: SerializeWith<T>> Serialize for With<'_, T, W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        W::serialize_with(self.0, serializer)
    }
}
