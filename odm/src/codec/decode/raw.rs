//! Values that stay as they are: `RawBson` and its kin.

use serde::de::value::BorrowedBytesDeserializer;
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::{Decoder, Result, Unfit};

// What `bson` calls them.
pub(super) const VALUE: &str = "$__private__bson_RawBson";
pub(in super::super) const DOCUMENT: &str = "$__private__bson_RawDocument";
pub(in super::super) const ARRAY: &str = "$__private__bson_RawArray";

/// Gives the value to the visitor of `bson`'s raw types.
pub(super) fn visit<'de, V: Visitor<'de>>(decoder: Decoder<'de>, visitor: V) -> Result<V::Value> {
    let bytes = BorrowedBytesDeserializer::new(decoder.value);
    match decoder.kind {
        super::DOCUMENT => visitor.visit_map(Marked::new(DOCUMENT, bytes)),
        super::ARRAY => visitor.visit_map(Marked::new(ARRAY, bytes)),
        super::OBJECT_ID => visitor.visit_map(Marked::new("$oid", bytes)),
        super::DECIMAL => visitor.visit_map(Marked::new("$numberDecimalBytes", bytes)),
        super::DATE => {
            let millis = i64::from_le_bytes(decoder.fixed()?);
            visitor.visit_map(Marked::new("$date", millis.into_deserializer()))
        }
        _ => decoder.deserialize_any(visitor),
    }
}

/// A map of one entry, whose key says what the value is.
struct Marked<D> {
    mark: Option<&'static str>,
    value: Option<D>,
}

impl<D> Marked<D> {
    fn new(mark: &'static str, value: D) -> Marked<D> {
        Marked {
            mark: Some(mark),
            value: Some(value),
        }
    }
}

impl<'de, D: Deserializer<'de, Error = Unfit>> MapAccess<'de> for Marked<D> {
    type Error = Unfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        self.mark
            .take()
            .map(|mark| seed.deserialize(Mark(mark)))
            .transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        seed.deserialize(self.value.take().ok_or(Unfit::Left)?)
    }
}

struct Mark(&'static str);

impl<'de> Deserializer<'de> for Mark {
    type Error = Unfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    forward_to_deserialize_any! {
        bool char str string bytes byte_buf unit unit_struct identifier seq tuple tuple_struct struct map option enum
        i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 ignored_any
    }
}
