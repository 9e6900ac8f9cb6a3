//! Encoding without a detour: values go from the type to the bytes.
//!
//! `bson`'s own serializer looks each value's type up on the way. This one knows the types that models are made of,
//! and gives the rest up: whoever calls it asks `bson` then, which also words the errors.

#[cfg(test)]
mod tests;

use std::fmt;
use std::io::Write as _;

use bson::{RawBson, RawBsonRef, RawDocument};
use serde::Serialize;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::decode::{self, UUID, UUID_SUBTYPE};
use super::scalar::Wrapped;
use super::shape::{self, MAX_DEPTH};
use super::unfit::{self, Unfit};
use super::{Lone, nesting};

const DOUBLE: u8 = 0x01;
const STRING: u8 = 0x02;
const DOCUMENT: u8 = 0x03;
const ARRAY: u8 = 0x04;
const BINARY: u8 = 0x05;
const OBJECT_ID: u8 = 0x07;
const BOOL: u8 = 0x08;
const DATE: u8 = 0x09;
const NULL: u8 = 0x0A;
const INT: u8 = 0x10;
const LONG: u8 = 0x12;
const DECIMAL: u8 = 0x13;

/// Adds the value's document to the bytes.
///
/// # Errors
/// When it is no document, cannot be encoded, or holds what is left to `bson`: what was added is of no use then.
pub(super) fn encode<T: Serialize + ?Sized>(value: &T, bytes: &mut Vec<u8>) -> Result<()> {
    value.serialize(Encoder::of(bytes))
}

/// A map's key as the name of its field.
///
/// # Errors
/// When it is no text, and nothing that is written as text.
pub(super) fn encode_name<T: Serialize + ?Sized>(key: &T) -> Result<String> {
    let mut bytes = Vec::new();
    key.serialize(Encoder {
        bytes: &mut bytes,
        place: Place::Name,
        blob: Blob::Binary(0),
        depth: 0,
    })?;
    bytes.pop();
    String::from_utf8(bytes).map_err(|_| Unfit::Left)
}

/// The path of a field whose document has another of the same name.
pub(super) fn repeated(document: &RawDocument) -> Option<String> {
    let bytes = document.as_bytes();
    if let Some(name) = repeated_name(bytes.get(4..)?) {
        return Some(String::from_utf8_lossy(name).into_owned());
    }
    document.iter().flatten().find_map(|(name, value)| {
        let inner = match value {
            RawBsonRef::Document(inner) => repeated(inner),
            RawBsonRef::Array(items) => RawDocument::from_bytes(items.as_bytes()).ok().and_then(repeated),
            _ => None,
        };
        inner.map(|inner| format!("{name}.{inner}"))
    })
}

/// A name that comes twice among these elements.
fn repeated_name(mut elements: &[u8]) -> Option<&[u8]> {
    let mut names: Vec<&[u8]> = Vec::new();
    while let Some((&kind, named)) = elements.split_first().filter(|(kind, _)| **kind != 0) {
        let (name, value) = named.split_at_checked(shape::name_end(named)?)?;
        let value = value.get(1..)?;
        elements = value.get(shape::value_size(kind, value)?..)?;
        names.push(name);
    }
    names.sort_unstable();
    names
        .windows(2)
        .find(|pair| pair[0] == pair[1])
        .map(|pair| pair[0])
}

/// What takes one value.
pub(super) struct Encoder<'b> {
    bytes: &'b mut Vec<u8>,
    place: Place,
    blob: Blob,
    /// How many documents and arrays are open.
    depth: u8,
}

#[derive(Clone, Copy)]
enum Place {
    /// All there is.
    Document,
    /// In an element, whose type goes here.
    Element(usize),
    /// The name of an element: text, and what is written as text.
    Name,
}

/// What bytes are.
#[derive(Clone, Copy)]
enum Blob {
    Binary(u8),
    Document,
    Array,
}

type Result<T> = std::result::Result<T, Unfit>;

/// A length as it is stored.
fn length(bytes: usize) -> Result<[u8; 4]> {
    i32::try_from(bytes)
        .map(i32::to_le_bytes)
        .map_err(|_| Unfit::Left)
}

/// Adds a name and its end.
#[inline]
fn add_name(bytes: &mut Vec<u8>, name: &str) -> Result<()> {
    if name.as_bytes().contains(&0) {
        return Err(Unfit::Left);
    }
    bytes.extend_from_slice(name.as_bytes());
    bytes.push(0);
    Ok(())
}

/// A large value is not moved again for the few bytes behind it.
const LARGE: usize = 64 * 1024;
const ROOM: usize = 4 * 1024;

/// Adds text or bytes of any length.
#[inline]
fn add_long(bytes: &mut Vec<u8>, value: &[u8]) {
    if value.len() > LARGE {
        bytes.reserve(value.len() + ROOM);
    }
    bytes.extend_from_slice(value);
}

impl<'b> Encoder<'b> {
    /// What adds a document.
    pub(super) fn of(bytes: &'b mut Vec<u8>) -> Encoder<'b> {
        Encoder {
            bytes,
            place: Place::Document,
            blob: Blob::Binary(0),
            depth: 0,
        }
    }

    /// What takes the value of an element whose type goes here.
    #[inline]
    fn at(bytes: &'b mut Vec<u8>, place: usize, depth: u8) -> Encoder<'b> {
        Encoder {
            bytes,
            place: Place::Element(place),
            blob: Blob::Binary(0),
            depth,
        }
    }

    /// Begins a value of this type.
    #[inline]
    fn begin(&mut self, kind: u8) -> Result<()> {
        match self.place {
            Place::Element(at) => {
                self.bytes[at] = kind;
                Ok(())
            }
            Place::Document if kind == DOCUMENT => Ok(()),
            Place::Document | Place::Name => Err(Unfit::Left),
        }
    }

    /// Adds an integer, which is a name by its digits.
    #[inline]
    fn integer<const N: usize>(self, kind: u8, bytes: [u8; N], value: impl fmt::Display) -> Result<()> {
        match self.place {
            Place::Name => self.shown(value),
            _ => self.add(kind, &bytes),
        }
    }

    /// Adds a name that is no text.
    #[cold]
    fn shown(self, value: impl fmt::Display) -> Result<()> {
        match self.place {
            Place::Name => {
                unfit::other_name();
                add_name(self.bytes, &value.to_string())
            }
            _ => Err(unfit::too_large()),
        }
    }

    #[inline]
    fn add(mut self, kind: u8, value: &[u8]) -> Result<()> {
        self.begin(kind)?;
        self.bytes.extend_from_slice(value);
        Ok(())
    }

    #[inline]
    fn elements(mut self, kind: u8) -> Result<Elements<'b>> {
        self.begin(kind)?;
        if usize::from(self.depth) >= MAX_DEPTH {
            return Err(Unfit::Left);
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        Ok(Elements {
            bytes: self.bytes,
            start,
            count: 0,
            value: 0,
            outer: None,
            is_open: false,
            depth: self.depth + 1,
        })
    }

    /// A document of one element, that of a variant, which is a document or an array.
    fn variant(self, variant: &str, kind: u8) -> Result<Elements<'b>> {
        let mut outer = self.elements(DOCUMENT)?;
        outer.name(variant)?;
        let inner = Encoder::at(outer.bytes, outer.value, outer.depth).elements(kind)?;
        Ok(Elements {
            outer: Some(outer.start),
            ..inner
        })
    }
}

impl<'b> Serializer for Encoder<'b> {
    type Ok = ();
    type Error = Unfit;
    type SerializeSeq = Elements<'b>;
    type SerializeTuple = Elements<'b>;
    type SerializeTupleStruct = Elements<'b>;
    type SerializeTupleVariant = Elements<'b>;
    type SerializeMap = Elements<'b>;
    type SerializeStruct = Fields<'b>;
    type SerializeStructVariant = Elements<'b>;

    #[inline]
    fn serialize_bool(self, value: bool) -> Result<()> {
        self.integer(BOOL, [value.into()], value)
    }

    #[inline]
    fn serialize_i8(self, value: i8) -> Result<()> {
        self.serialize_i32(value.into())
    }

    #[inline]
    fn serialize_i16(self, value: i16) -> Result<()> {
        self.serialize_i32(value.into())
    }

    #[inline]
    fn serialize_i32(self, value: i32) -> Result<()> {
        self.integer(INT, value.to_le_bytes(), value)
    }

    #[inline]
    fn serialize_i64(self, value: i64) -> Result<()> {
        self.integer(LONG, value.to_le_bytes(), value)
    }

    #[inline]
    fn serialize_u8(self, value: u8) -> Result<()> {
        self.serialize_i32(value.into())
    }

    #[inline]
    fn serialize_u16(self, value: u16) -> Result<()> {
        self.serialize_i32(value.into())
    }

    #[inline]
    fn serialize_u32(self, value: u32) -> Result<()> {
        self.serialize_i64(value.into())
    }

    #[inline]
    fn serialize_u64(self, value: u64) -> Result<()> {
        match i64::try_from(value) {
            Ok(value) => self.serialize_i64(value),
            Err(_) => self.shown(value),
        }
    }

    fn serialize_i128(self, value: i128) -> Result<()> {
        self.shown(value)
    }

    fn serialize_u128(self, value: u128) -> Result<()> {
        self.shown(value)
    }

    #[inline]
    fn serialize_f32(self, value: f32) -> Result<()> {
        self.serialize_f64(value.into())
    }

    #[inline]
    fn serialize_f64(self, value: f64) -> Result<()> {
        self.add(DOUBLE, &value.to_le_bytes())
    }

    fn serialize_char(self, value: char) -> Result<()> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(mut self, value: &str) -> Result<()> {
        if matches!(self.place, Place::Name) {
            return add_name(self.bytes, value);
        }
        self.begin(STRING)?;
        self.bytes.extend_from_slice(&length(value.len() + 1)?);
        add_long(self.bytes, value.as_bytes());
        self.bytes.push(0);
        Ok(())
    }

    fn serialize_bytes(mut self, value: &[u8]) -> Result<()> {
        match self.blob {
            Blob::Document => self.add(DOCUMENT, value),
            Blob::Array => self.add(ARRAY, value),
            Blob::Binary(subtype) => {
                self.begin(BINARY)?;
                self.bytes.extend_from_slice(&length(value.len())?);
                self.bytes.push(subtype);
                add_long(self.bytes, value);
                Ok(())
            }
        }
    }

    #[inline]
    fn serialize_none(self) -> Result<()> {
        self.add(NULL, &[])
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<()> {
        self.serialize_none()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<()> {
        self.serialize_none()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<()> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        mut self,
        name: &'static str,
        value: &T,
    ) -> Result<()> {
        self.blob = match name {
            UUID => Blob::Binary(UUID_SUBTYPE),
            decode::RAW_DOCUMENT => Blob::Document,
            decode::RAW_ARRAY => Blob::Array,
            _ if name.starts_with('$') => return Err(Unfit::Rare),
            _ => self.blob,
        };
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<()> {
        let mut document = self.elements(DOCUMENT)?;
        document.element(variant, value)?;
        document.finish()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Elements<'b>> {
        self.elements(ARRAY)
    }

    fn serialize_tuple(self, _: usize) -> Result<Elements<'b>> {
        self.elements(ARRAY)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Elements<'b>> {
        self.elements(ARRAY)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Elements<'b>> {
        self.variant(variant, ARRAY)
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Elements<'b>> {
        Ok(Elements {
            is_open: length.is_none(),
            ..self.elements(DOCUMENT)?
        })
    }

    #[inline]
    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Fields<'b>> {
        if !name.starts_with('$') {
            return self.elements(DOCUMENT).map(Fields::Document);
        }
        match Wrapped::of(name) {
            Some(wrapped) => Ok(Fields::Scalar(self, wrapped)),
            None => Err(Unfit::Rare),
        }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Elements<'b>> {
        self.variant(variant, DOCUMENT)
    }

    /// A name is text, so what has a form for humans has that one there.
    #[inline]
    fn is_human_readable(&self) -> bool {
        matches!(self.place, Place::Name)
    }
}

/// The elements of a document or an array.
pub(super) struct Elements<'b> {
    bytes: &'b mut Vec<u8>,
    start: usize,
    /// How many items an array has.
    count: usize,
    /// Where the type of the next value goes.
    value: usize,
    /// Where the document begins in which it is the only element.
    outer: Option<usize>,
    /// Whether several may have added to it, not knowing of each other: what is flattened is.
    is_open: bool,
    /// How many documents and arrays are open, this one counted.
    depth: u8,
}

impl Elements<'_> {
    #[inline]
    fn name(&mut self, name: &str) -> Result<()> {
        self.value = self.bytes.len();
        self.bytes.push(0);
        add_name(self.bytes, name)
    }

    #[inline]
    fn add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let start = self.bytes.len();
        match value.serialize(Encoder::at(self.bytes, self.value, self.depth)) {
            Err(Unfit::Rare) => self.add_by_bson(start, value),
            done => done,
        }
    }

    /// Adds a value of a kind that is rare, in `bson`'s own way.
    #[cold]
    fn add_by_bson<T: Serialize + ?Sized>(&mut self, start: usize, value: &T) -> Result<()> {
        // What follows recurses as deep as the value goes.
        nesting::check_inside(self.depth.into(), value).map_err(|_| Unfit::Left)?;
        let lone = bson::serialize_to_vec(&Lone { v: value }).map_err(|_| Unfit::Left)?;
        let [_, _, _, _, kind, _, _, value @ .., 0] = lone.as_slice() else {
            return Err(Unfit::Left);
        };
        self.bytes.truncate(start);
        self.bytes[self.value] = *kind;
        self.bytes.extend_from_slice(value);
        Ok(())
    }

    #[inline]
    fn element<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<()> {
        self.name(name)?;
        self.add(value)
    }

    #[inline]
    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.value = self.bytes.len();
        self.bytes.push(0);
        match u8::try_from(self.count) {
            Ok(digit @ 0..10) => self.bytes.push(b'0' + digit),
            _ => write!(self.bytes, "{}", self.count).map_err(|_| Unfit::Left)?,
        }
        self.bytes.push(0);
        self.count += 1;
        self.add(value)
    }

    #[inline]
    fn finish(self) -> Result<()> {
        for start in [Some(self.start), self.outer].into_iter().flatten() {
            self.bytes.push(0);
            let length = length(self.bytes.len() - start)?;
            self.bytes[start..start + 4].copy_from_slice(&length);
        }
        Ok(())
    }
}

macro_rules! items {
    ($($of:ident :: $item:ident),+) => {$(
        impl $of for Elements<'_> {
            type Ok = ();
            type Error = Unfit;

            #[inline]
            fn $item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
                self.item(value)
            }

            #[inline]
            fn end(self) -> Result<()> {
                self.finish()
            }
        }
    )+};
}

items!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

impl SerializeMap for Elements<'_> {
    type Ok = ();
    type Error = Unfit;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        self.value = self.bytes.len();
        self.bytes.push(0);
        key.serialize(Encoder {
            bytes: self.bytes,
            place: Place::Name,
            blob: Blob::Binary(0),
            depth: self.depth,
        })
        .map_err(|_| unfit::no_name())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.add(value)
    }

    fn end(self) -> Result<()> {
        match self.is_open && repeated_name(&self.bytes[self.start + 4..]).is_some() {
            true => Err(unfit::repeated()),
            false => self.finish(),
        }
    }
}

impl SerializeStructVariant for Elements<'_> {
    type Ok = ();
    type Error = Unfit;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<()> {
        self.element(key, value)
    }

    fn end(self) -> Result<()> {
        self.finish()
    }
}

/// The fields of a struct.
pub(super) enum Fields<'b> {
    Document(Elements<'b>),
    /// Of one by which `bson` means a value.
    Scalar(Encoder<'b>, Wrapped),
}

impl SerializeStruct for Fields<'_> {
    type Ok = ();
    type Error = Unfit;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<()> {
        match self {
            Fields::Document(elements) => elements.element(key, value),
            Fields::Scalar(_, wrapped) => wrapped.serialize_field(key, value),
        }
    }

    #[inline]
    fn end(self) -> Result<()> {
        match self {
            Fields::Document(elements) => elements.finish(),
            Fields::Scalar(encoder, wrapped) => match wrapped.end() {
                Ok(RawBson::ObjectId(id)) => match encoder.place {
                    Place::Name => encoder.shown(id),
                    _ => encoder.add(OBJECT_ID, &id.bytes()),
                },
                Ok(RawBson::DateTime(date)) => encoder.add(DATE, &date.timestamp_millis().to_le_bytes()),
                Ok(RawBson::Decimal128(decimal)) => encoder.add(DECIMAL, &decimal.bytes()),
                _ => Err(Unfit::Left),
            },
        }
    }
}
