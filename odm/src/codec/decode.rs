//! Decoding without a detour: values go from the bytes to the type's visitor.
//!
//! `bson`'s own decoder hands dates and identifiers over as text of extended JSON, which costs more than all other
//! fields of a document together. This one knows the types that models are made of, and gives the rest up:
//! whoever calls it asks `bson` then, which also words the errors.

mod raw;

use std::any::type_name;
use std::iter;
use std::str::FromStr;

use bson::{Bson, RawDocument};
use serde::de::value::{BorrowedStrDeserializer, MapDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, IntoDeserializer as _,
    MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

pub(super) use self::raw::{ARRAY as RAW_ARRAY, DOCUMENT as RAW_DOCUMENT};
use super::shape::{self, MAX_DEPTH};
use super::unfit::{self, Unfit};

/// The visitor of everything that `bson` decodes by way of its `Bson`. It takes shorter forms than others.
const BSON_VISITOR: &str = "bson::de::serde::BsonVisitor";
/// The visitor of an ObjectId, which takes text and bytes too.
const OBJECT_ID_VISITOR: &str = "bson::de::serde::ObjectIdVisitor";
/// What the visitors end with that serde derives for structs: they take the fields in their order too, without names.
/// Some compilers name lifetimes.
const DERIVED_VISITORS: [&str; 2] = ["::__Visitor<'_>", "::__Visitor"];
/// What is in the names of such visitors for types with parameters, and what is before the first `<` there: whoever wraps
/// one may number what it gets in order.
const DERIVED_VISITOR_OF: &str = "::__Visitor<";
const DERIVED: &str = "::_::<";
/// Serde's visitor of an enum that is tagged inside, which takes arrays by position too.
const TAGGED_VISITOR: &str = "::TaggedContentVisitor<";
/// The fields by which the visitor of `Bson` takes a document for another value.
const SHOWN: [&str; 18] = [
    "$oid",
    "$symbol",
    "$numberInt",
    "$numberLong",
    "$numberDouble",
    "$numberDecimal",
    "$numberDecimalBytes",
    "$binary",
    "$uuid",
    "$code",
    "$scope",
    "$timestamp",
    "$regularExpression",
    "$dbPointer",
    "$date",
    "$maxKey",
    "$minKey",
    "$undefined",
];
/// Where the visitors are that follow the path.
const TRACE: &str = "serde_path_to_error::";
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
        Ok(Elements {
            rest: elements,
            depth: self.depth + 1,
            value: None,
            is_for_bson: false,
        })
    }

    /// Whether a document has exactly these fields in this order.
    #[inline]
    fn is_in_order(&self, fields: &[&str]) -> Result<bool> {
        let mut elements = self.elements()?;
        for field in fields {
            if elements.named(field)?.is_none() {
                return Ok(false);
            }
        }
        Ok(elements.rest.is_empty())
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

fn is_bson<V>() -> bool {
    type_name::<V>() == BSON_VISITOR
}

/// Whether serde derived the visitor.
fn is_derived<V>() -> bool {
    let name = type_name::<V>();
    DERIVED_VISITORS.iter().any(|end| name.ends_with(end))
        || (name
            .split_inclusive('<')
            .next()
            .is_some_and(|start| start.ends_with(DERIVED))
            && name.ends_with('>')
            && name.contains(DERIVED_VISITOR_OF))
}

/// Whether the visitor makes a `Bson`, be it in what follows the path.
fn makes_bson<V>() -> bool {
    let name = type_name::<V>();
    name == BSON_VISITOR || (name.starts_with(TRACE) && name.contains(BSON_VISITOR))
}

/// Whether the visitor makes an ObjectId, be it in what follows the path.
fn makes_object_id<V>() -> bool {
    let name = type_name::<V>();
    name == OBJECT_ID_VISITOR || (name.starts_with(TRACE) && name.contains(OBJECT_ID_VISITOR))
}

/// Whether the visitor is one of `bson`, be it in what follows the path.
fn is_of_bson<V>() -> bool {
    type_name::<V>().starts_with("bson::") || makes_bson::<V>()
}

impl<'de> Deserializer<'de> for Decoder<'de> {
    type Error = Unfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.kind {
            DOUBLE => visitor.visit_f64(f64::from_le_bytes(self.fixed()?)),
            STRING => visitor.visit_borrowed_str(self.text()?),
            DOCUMENT => {
                let mut elements = self.elements()?;
                elements.is_for_bson = makes_bson::<V>();
                visitor.visit_map(elements)
            }
            ARRAY if type_name::<V>().contains(TAGGED_VISITOR) => {
                Err(unfit::other_kind(self.kind, "a document"))
            }
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
        if self.kind == DOCUMENT && is_derived::<V>() && self.is_in_order(fields)? {
            let elements = self.elements()?;
            return visitor.visit_seq(InOrder { elements, fields });
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

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.kind {
            INT => visitor.visit_i32(i32::from_le_bytes(self.fixed()?)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.kind {
            LONG => visitor.visit_i64(i64::from_le_bytes(self.fixed()?)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.kind {
            DOUBLE => visitor.visit_f64(f64::from_le_bytes(self.fixed()?)),
            _ => self.deserialize_any(visitor),
        }
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

/// The elements of a document or array that are left.
struct Elements<'de> {
    rest: &'de [u8],
    depth: usize,
    /// The value of the name that was given last.
    value: Option<Decoder<'de>>,
    /// Whether they go to the visitor of `Bson`.
    is_for_bson: bool,
}

impl<'de> Elements<'de> {
    #[inline]
    fn next(&mut self) -> Result<Option<(&'de [u8], Decoder<'de>)>> {
        let Some((&kind, named)) = self.rest.split_first() else {
            return Ok(None);
        };
        let end = shape::name_end(named).ok_or(Unfit::Left)?;
        let (name, value) = named.split_at_checked(end).ok_or(Unfit::Left)?;
        let value = value.get(1..).ok_or(Unfit::Left)?;
        let size = shape::value_size(kind, value).ok_or(Unfit::Left)?;
        let (value, rest) = value.split_at_checked(size).ok_or(Unfit::Left)?;
        self.rest = rest;
        let depth = self.depth;
        Ok(Some((name, Decoder { kind, value, depth })))
    }

    /// The next value if it has this name.
    #[inline]
    fn named(&mut self, name: &str) -> Result<Option<Decoder<'de>>> {
        let Some((&kind, named)) = self.rest.split_first() else {
            return Ok(None);
        };
        let Some([0, value @ ..]) = named.strip_prefix(name.as_bytes()) else {
            return Ok(None);
        };
        let size = shape::value_size(kind, value).ok_or(Unfit::Left)?;
        let (value, rest) = value.split_at_checked(size).ok_or(Unfit::Left)?;
        self.rest = rest;
        let depth = self.depth;
        Ok(Some(Decoder { kind, value, depth }))
    }

    /// The next name; its value is put by.
    #[inline]
    fn name(&mut self) -> Result<Option<Name<'de>>> {
        let Some((name, value)) = self.next()? else {
            return Ok(None);
        };
        if self.is_for_bson
            && name.starts_with(b"$")
            && let Some(shown) = SHOWN.iter().find(|shown| shown.as_bytes() == name)
        {
            return Err(unfit::shows_another(shown));
        }
        self.value = Some(value);
        Ok(Some(Name(name)))
    }

    #[inline]
    fn value(&mut self) -> Result<Decoder<'de>> {
        self.value.take().ok_or(Unfit::Left)
    }
}

/// The elements of a document that has the fields of a struct in their order.
struct InOrder<'de> {
    elements: Elements<'de>,
    fields: &'static [&'static str],
}

impl<'de> SeqAccess<'de> for InOrder<'de> {
    type Error = Unfit;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let Some((field, rest)) = self.fields.split_first() else {
            return Ok(None);
        };
        self.fields = rest;
        let value = self.elements.named(field)?.ok_or(Unfit::Left)?;
        seed.deserialize(value).map(Some)
    }
}

/// The name of a field, which may be a map's key: of any type that is written as text.
struct Name<'de>(&'de [u8]);

impl<'de> Name<'de> {
    fn text(&self) -> Result<BorrowedStrDeserializer<'de, Unfit>> {
        let text = str::from_utf8(self.0).map_err(|_| Unfit::Left)?;
        Ok(BorrowedStrDeserializer::new(text))
    }

    /// What is written just like this.
    fn parsed<T: FromStr + ToString>(&self, expected: &dyn Expected) -> Result<T> {
        unfit::other_name();
        let text = str::from_utf8(self.0).map_err(|_| Unfit::Left)?;
        let parsed = text.parse().ok().filter(|parsed: &T| parsed.to_string() == text);
        parsed.ok_or_else(|| Unfit::invalid_value(Unexpected::Str(text), expected))
    }
}

macro_rules! parsed {
    ($($method:ident($type:ty) $visit:ident;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            let value: $type = self.parsed(&visitor)?;
            visitor.$visit(value)
        }
    )*};
}

impl<'de> Deserializer<'de> for Name<'de> {
    type Error = Unfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.text()?.deserialize_any(visitor)
    }

    /// It is compared with the names of a type: whether it is text shows there.
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        // What follows the path keeps no bytes.
        match type_name::<V>().starts_with(TRACE) {
            true => self.deserialize_any(visitor),
            false => visitor.visit_borrowed_bytes(self.0),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.text()?.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        match name.starts_with(PRIVATE) {
            true => self.deserialize_any(visitor),
            false => visitor.visit_newtype_struct(self),
        }
    }

    parsed! {
        deserialize_bool(bool) visit_bool;
        deserialize_i8(i8) visit_i8;
        deserialize_i16(i16) visit_i16;
        deserialize_i32(i32) visit_i32;
        deserialize_i64(i64) visit_i64;
        deserialize_i128(i128) visit_i128;
        deserialize_u8(u8) visit_u8;
        deserialize_u16(u16) visit_u16;
        deserialize_u32(u32) visit_u32;
        deserialize_u64(u64) visit_u64;
        deserialize_u128(u128) visit_u128;
    }

    fn is_human_readable(&self) -> bool {
        true
    }

    forward_to_deserialize_any! {
        char str bytes byte_buf unit unit_struct string seq tuple tuple_struct struct map f32 f64 ignored_any
    }
}

impl<'de> MapAccess<'de> for Elements<'de> {
    type Error = Unfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        match self.name()? {
            Some(name) => seed.deserialize(name).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        seed.deserialize(self.value()?)
    }
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Unfit;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        match self.next()? {
            Some((_, value)) => seed.deserialize(value).map(Some),
            None => Ok(None),
        }
    }
}

impl<'de> EnumAccess<'de> for Elements<'de> {
    type Error = Unfit;
    type Variant = Decoder<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(mut self, seed: V) -> Result<(V::Value, Decoder<'de>)> {
        let name = self.name()?.ok_or(Unfit::Left)?;
        let variant = seed.deserialize(name)?;
        Ok((variant, self.value()?))
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
