//! Decoding without a detour: values go from the bytes to the type's visitor.
//!
//! `bson`'s own decoder hands dates and identifiers over as text of extended JSON, which costs more than all other
//! fields of a document together. This one knows the types that models are made of, and gives the rest up:
//! whoever calls it asks `bson` then, which also words the errors.

mod elements;
mod name;
mod raw;
mod visitors;

use std::iter;

use bson::{Bson, RawDocument};
use serde::de::value::MapDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer as _, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use self::elements::{Elements, InOrder};
pub(super) use self::raw::{ARRAY as RAW_ARRAY, DOCUMENT as RAW_DOCUMENT};
use self::visitors::{is_bson, is_derived, is_of_bson, makes_bson, makes_object_id};
use super::shape::{self, MAX_DEPTH};
use super::unfit::{self, Unfit};

/// What `bson` calls the types that its decoder treats apart.
const PRIVATE: &str = "$__";
pub(super) const UUID: &str = "$__bson_private_uuid";

pub(super) const UUID_SUBTYPE: u8 = 4;
const DOUBLE: u8 = 0x01;
const BOOL: u8 = 0x08;
const INT: u8 = 0x10;
const LONG: u8 = 0x12;
const DOCUMENT: u8 = 0x03;
const ARRAY: u8 = 0x04;
const DATE: u8 = 0x09;
const DECIMAL: u8 = 0x13;
const STRING: u8 = 0x02;
const NULL: u8 = 0x0A;
const OBJECT_ID: u8 = 0x07;
const BINARY: u8 = 0x05;

/// Decodes a document.
///
/// # Errors
/// When the bytes are damaged, do not fit the type, or hold what is left to `bson`.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> std::result::Result<T, Unfit> {
    T::deserialize(Decoder::of(bytes))
}

/// One value: its type, and exactly its bytes.
pub(super) struct Decoder<'de> {
    kind: u8,
    value: &'de [u8],
    /// How many documents and arrays it is in.
    depth: usize,
}

type Result<T> = std::result::Result<T, Unfit>;

impl<'de> Decoder<'de> {
    /// What gives a document.
    #[inline]
    pub(super) fn of(bytes: &'de [u8]) -> Decoder<'de> {
        Decoder {
            kind: DOCUMENT,
            value: bytes,
            depth: 0,
        }
    }

    /// Whether a value of this kind is shown as a document of extended JSON.
    fn is_shown_as_document(&self) -> bool {
        match self.kind {
            DOUBLE | STRING | DOCUMENT | ARRAY | BOOL | NULL | INT | LONG => false,
            BINARY => !matches!(self.value, [_, _, _, _, 0, ..]),
            _ => true,
        }
    }

    /// The value as `bson` has it.
    fn bson(&self) -> Result<Bson> {
        let mut bytes = vec![0; 4];
        bytes.extend([self.kind, b'v', 0]);
        bytes.extend(self.value);
        bytes.push(0);
        let length = i32::try_from(bytes.len()).map_err(|_| Unfit::Left)?;
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        let document = RawDocument::from_bytes(&bytes).map_err(|_| Unfit::Left)?;
        let value = document.get("v").ok().flatten().ok_or(Unfit::Left)?;
        Bson::try_from(value).map_err(|_| Unfit::Left)
    }

    #[inline]
    fn fixed<const N: usize>(&self) -> Result<[u8; N]> {
        self.value.try_into().map_err(|_| Unfit::Left)
    }

    #[inline]
    fn text(&self) -> Result<&'de str> {
        match self.value {
            [_, _, _, _, text @ .., 0] => str::from_utf8(text).map_err(|_| Unfit::Left),
            _ => Err(Unfit::Left),
        }
    }

    /// The fields of a document, or the items of an array.
    #[inline]
    fn elements(&self) -> Result<Elements<'de>> {
        let [a, b, c, d, elements @ .., 0] = self.value else {
            return Err(Unfit::Left);
        };
        let length = usize::try_from(i32::from_le_bytes([*a, *b, *c, *d]));
        if length != Ok(self.value.len()) || self.depth >= MAX_DEPTH {
            return Err(Unfit::Left);
        }
        Ok(Elements::of(elements, self.depth + 1))
    }

    fn array<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.kind {
            ARRAY => visitor.visit_seq(self.elements()?),
            _ => self.deserialize_any(visitor),
        }
    }

    fn date<V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value> {
        let millis = i64::from_le_bytes(self.fixed()?);
        if is_bson::<V>() {
            return visitor.visit_map(MapDeserializer::new(iter::once(("$date", millis))));
        }
        let long = MapDeserializer::new(iter::once(("$numberLong", millis.to_string())));
        visitor.visit_map(MapDeserializer::new(iter::once(("$date", long))))
    }

    /// A value of a kind that is rare, for `bson`'s own visitor.
    fn by_bson<V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value> {
        let value = bson::Deserializer::new(self.bson()?);
        value.deserialize_any(visitor).map_err(|_| Unfit::Left)
    }

    fn object_id<V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value> {
        if is_bson::<V>() {
            return visitor.visit_map(MapDeserializer::new(iter::once(("$oid", self.value))));
        }
        let hex = bson::oid::ObjectId::from_bytes(self.fixed()?).to_hex();
        visitor.visit_map(MapDeserializer::new(iter::once(("$oid", hex))))
    }
}

/// Numbers as most are stored: no other kind is looked at first.
macro_rules! numbers {
    ($($method:ident($type:ty, $kind:ident) $visit:ident;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            match self.kind {
                $kind => visitor.$visit(<$type>::from_le_bytes(self.fixed()?)),
                _ => self.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Decoder<'de> {
    type Error = Unfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.kind {
            DOUBLE => visitor.visit_f64(f64::from_le_bytes(self.fixed()?)),
            STRING => visitor.visit_borrowed_str(self.text()?),
            DOCUMENT => visitor.visit_map(self.elements()?.for_bson(makes_bson::<V>())),
            ARRAY if visitors::is_tagged::<V>() => Err(unfit::other_kind(self.kind, "a document")),
            ARRAY => visitor.visit_seq(self.elements()?),
            BINARY => match self.value {
                // Of other subtypes the text in base64 is expected.
                [_, _, _, _, 0, bytes @ ..] => visitor.visit_borrowed_bytes(bytes),
                _ if makes_bson::<V>() => self.by_bson(visitor),
                _ => Err(Unfit::Left),
            },
            OBJECT_ID => self.object_id(visitor),
            BOOL => match self.value {
                [0] => visitor.visit_bool(false),
                [1] => visitor.visit_bool(true),
                _ => Err(Unfit::Left),
            },
            DATE => self.date(visitor),
            NULL => visitor.visit_unit(),
            INT => visitor.visit_i32(i32::from_le_bytes(self.fixed()?)),
            LONG => visitor.visit_i64(i64::from_le_bytes(self.fixed()?)),
            DECIMAL => visitor.visit_map(MapDeserializer::new(iter::once((
                "$numberDecimalBytes",
                self.value,
            )))),
            _ if makes_bson::<V>() => self.by_bson(visitor),
            _ => Err(Unfit::Left),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        if (self.is_shown_as_document() || self.kind == ARRAY)
            && !name.starts_with('$')
            && !fields.iter().any(|field| field.starts_with('$'))
            && !is_of_bson::<V>()
        {
            return Err(unfit::other_kind(self.kind, "a document"));
        }
        if self.kind == DOCUMENT
            && is_derived::<V>()
            && let Some(mut fields) = InOrder::of(&self, fields)?
        {
            let value = visitor.visit_seq(&mut fields)?;
            // A field and its alias are two names, of which the visitor takes one.
            return if fields.is_over() {
                Ok(value)
            } else {
                Err(Unfit::Left)
            };
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match (self.kind, self.value) {
            (BOOL, [0]) => visitor.visit_bool(false),
            (BOOL, [1]) => visitor.visit_bool(true),
            _ => self.deserialize_any(visitor),
        }
    }

    numbers! {
        deserialize_i32(i32, INT) visit_i32;
        deserialize_i64(i64, LONG) visit_i64;
        deserialize_f64(f64, DOUBLE) visit_f64;
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.kind {
            STRING => visitor.visit_borrowed_str(self.text()?),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.array(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        self.array(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value> {
        self.array(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.is_shown_as_document() && !is_of_bson::<V>() {
            return Err(unfit::other_kind(self.kind, "a document"));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.kind {
            NULL => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.kind {
            OBJECT_ID => visitor.visit_borrowed_bytes(self.value),
            kind if makes_object_id::<V>() => Err(unfit::other_kind(kind, "objectId")),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        match (name, self.kind, self.value) {
            (UUID, BINARY, [_, _, _, _, UUID_SUBTYPE, bytes @ ..]) if is_bson::<V>() => {
                visitor.visit_borrowed_bytes(bytes)
            }
            (raw::VALUE, ..) | (raw::DOCUMENT, DOCUMENT, _) | (raw::ARRAY, ARRAY, _) => {
                raw::visit(self, visitor)
            }
            _ if name.starts_with(PRIVATE) => Err(Unfit::Left),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.kind {
            STRING => visitor.visit_enum(self.text()?.into_deserializer()),
            DOCUMENT => visitor.visit_enum(self.elements()?),
            _ => Err(Unfit::Left),
        }
    }

    /// Nothing looks at it, so nothing of it is read.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    forward_to_deserialize_any! {
        char byte_buf unit unit_struct identifier
        i8 i16 u8 u16 u32 u64 f32
    }
}

impl<'de> VariantAccess<'de> for Decoder<'de> {
    type Error = Unfit;

    fn unit_variant(self) -> Result<()> {
        Err(Unfit::Left)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        self.array(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value> {
        if self.is_shown_as_document() || self.kind == ARRAY {
            return Err(unfit::other_kind(self.kind, "a document"));
        }
        self.deserialize_any(visitor)
    }
}

#[cfg(test)]
mod tests;
