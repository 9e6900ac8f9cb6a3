//! A document or array, borrowed: raw bytes or a slice of an owned tree, behind one reader.

use super::items::Numerals;
use super::owned::Owned;
use super::raw::{self, RawFields};
use super::value::{Kind, Value};

/// A borrowed document or array. Copying it copies a slice.
///
/// `Raw` bytes have passed [`super::validate`]: reading them never fails. Were they to be malformed all
/// the same, iteration stops early; nothing panics.
#[derive(Clone, Copy)]
pub(crate) enum Doc<'a> {
    /// Complete BSON bytes: length, elements, terminator.
    Raw(&'a [u8]),
    /// Fields of an owned document.
    Fields(&'a [(String, Owned)]),
    /// Items of an owned array.
    Items(&'a [Owned]),
}

/// One element; the value is decoded on demand.
#[derive(Clone, Copy)]
pub(crate) enum Element<'a> {
    Raw {
        kind: Kind,
        name: &'a [u8],
        payload: &'a [u8],
    },
    Field {
        name: &'a str,
        value: &'a Owned,
    },
    Item {
        value: &'a Owned,
    },
}

/// The bytes of a document without elements.
pub(crate) const EMPTY: [u8; 5] = [5, 0, 0, 0, 0];

impl<'a> Doc<'a> {
    /// The empty document.
    pub(crate) const fn empty() -> Doc<'static> {
        Doc::Raw(&EMPTY)
    }

    /// The elements in stored order, duplicate names included.
    pub(crate) fn elements(self) -> Elements<'a> {
        match self {
            Doc::Raw(bytes) => Elements::Raw(bytes.get(4..bytes.len().saturating_sub(1)).unwrap_or(&[])),
            Doc::Fields(fields) => Elements::Fields(fields.iter()),
            Doc::Items(items) => Elements::Items(items.iter()),
        }
    }

    /// The elements of raw bytes, each with the place where it begins in them; none of a tree.
    pub(crate) fn placed(self) -> impl Iterator<Item = (usize, Element<'a>)> {
        let length = match self {
            Doc::Raw(bytes) => bytes.len(),
            Doc::Fields(_) | Doc::Items(_) => 0,
        };
        let mut elements = self.elements();
        std::iter::from_fn(move || {
            let Elements::Raw(rest) = &elements else {
                return None;
            };
            // The terminator is no part of the rest.
            let at = length.checked_sub(rest.len() + 1)?;
            Some((at, elements.next()?))
        })
    }

    /// The element of raw bytes that begins at a place that [`placed`](Doc::placed) gave.
    pub(crate) fn placed_at(self, at: usize) -> Option<Element<'a>> {
        match self {
            Doc::Raw(bytes) => Elements::Raw(bytes.get(at..bytes.len().checked_sub(1)?)?).next(),
            Doc::Fields(_) | Doc::Items(_) => None,
        }
    }

    /// The values in stored order.
    pub(crate) fn values(self) -> impl Iterator<Item = Value<'a>> {
        self.elements().map(|element| element.value())
    }

    /// The first element with this name.
    pub(crate) fn get(self, name: &str) -> Option<Value<'a>> {
        match self {
            Doc::Items(items) => name
                .parse::<usize>()
                .ok()
                .and_then(|i| items.get(i))
                .map(Owned::as_value),
            Doc::Fields(fields) => fields
                .iter()
                .find(|(n, _)| n == name)
                .map(|(_, value)| value.as_value()),
            Doc::Raw(bytes) => RawFields::new(bytes).find(name),
        }
    }

    /// The value at this position.
    pub(crate) fn at(self, index: usize) -> Option<Value<'a>> {
        match self {
            Doc::Items(items) => items.get(index).map(Owned::as_value),
            Doc::Fields(fields) => fields.get(index).map(|(_, value)| value.as_value()),
            Doc::Raw(_) => self.elements().nth(index).map(|element| element.value()),
        }
    }

    /// Whether there is no element.
    pub(crate) fn is_empty(self) -> bool {
        match self {
            Doc::Raw(bytes) => bytes.len() <= 5,
            Doc::Fields(fields) => fields.is_empty(),
            Doc::Items(items) => items.is_empty(),
        }
    }

    /// How many elements there are; a scan for raw bytes.
    pub(crate) fn count(self) -> usize {
        match self {
            Doc::Raw(_) => self.elements().count(),
            Doc::Fields(fields) => fields.len(),
            Doc::Items(items) => items.len(),
        }
    }

    /// Appends the document's BSON bytes.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        match self {
            Doc::Raw(bytes) => out.extend_from_slice(bytes),
            Doc::Fields(fields) => framed(out, |out| {
                for (name, value) in fields {
                    value.as_value().write_element(name.as_bytes(), out);
                }
            }),
            Doc::Items(_) => self.write_as_array(out),
        }
    }

    /// Appends the BSON bytes of an array, with "0", "1", ... as names.
    pub(crate) fn write_as_array(self, out: &mut Vec<u8>) {
        match self {
            Doc::Raw(bytes) => out.extend_from_slice(bytes),
            Doc::Fields(_) | Doc::Items(_) => framed(out, |out| {
                let mut numerals = Numerals::default();
                for value in self.values() {
                    value.write_element(numerals.name(), out);
                    numerals.advance();
                }
            }),
        }
    }

    /// The document's BSON bytes.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }
}

impl std::fmt::Debug for Doc<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map()
            .entries(
                self.elements()
                    .map(|e| (String::from_utf8_lossy(e.name()).into_owned(), e.value())),
            )
            .finish()
    }
}

/// Writes a length-prefixed, zero-terminated frame around what `body` appends.
pub(crate) fn framed<T>(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let result = body(out);
    out.push(0);
    let length = (out.len() - start) as i32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    result
}

/// Writes an element that is a document or an array of what `body` appends.
pub(crate) fn framed_element<T>(
    kind: Kind,
    name: &[u8],
    out: &mut Vec<u8>,
    body: impl FnOnce(&mut Vec<u8>) -> T,
) -> T {
    out.push(kind as u8);
    out.extend_from_slice(name);
    out.push(0);
    framed(out, body)
}

/// The decimal digits of `number`, in `buffer`.
pub(crate) fn decimal(mut number: usize, buffer: &mut [u8; 20]) -> &[u8] {
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &buffer[at..];
        }
    }
}

impl<'a> Element<'a> {
    /// The element's name, as bytes (UTF-8). Empty for an item of an owned array.
    pub(crate) fn name(&self) -> &'a [u8] {
        match self {
            Element::Raw { name, .. } => name,
            Element::Field { name, .. } => name.as_bytes(),
            Element::Item { .. } => &[],
        }
    }

    /// The element's name.
    pub(crate) fn name_str(&self) -> &'a str {
        match self {
            Element::Raw { name, .. } => std::str::from_utf8(name).unwrap_or_default(),
            Element::Field { name, .. } => name,
            Element::Item { .. } => "",
        }
    }

    /// The type, without decoding the value.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Element::Raw { kind, .. } => *kind,
            Element::Field { value, .. } | Element::Item { value } => value.as_value().kind(),
        }
    }

    /// Appends the element under another name; the value is not decoded.
    pub(crate) fn write(&self, name: &[u8], out: &mut Vec<u8>) {
        match self {
            Element::Raw { kind, payload, .. } => {
                out.push(*kind as u8);
                out.extend_from_slice(name);
                out.push(0);
                out.extend_from_slice(payload);
            }
            Element::Field { value, .. } | Element::Item { value } => {
                value.as_value().write_element(name, out);
            }
        }
    }

    /// The value.
    pub(crate) fn value(&self) -> Value<'a> {
        match self {
            Element::Raw { kind, payload, .. } => decode(*kind, payload).unwrap_or(Value::Null),
            Element::Field { value, .. } | Element::Item { value } => value.as_value(),
        }
    }
}

/// Iterator over a document's elements.
#[derive(Clone)]
pub(crate) enum Elements<'a> {
    Raw(&'a [u8]),
    Fields(std::slice::Iter<'a, (String, Owned)>),
    Items(std::slice::Iter<'a, Owned>),
}

impl<'a> Iterator for Elements<'a> {
    type Item = Element<'a>;

    #[inline]
    fn next(&mut self) -> Option<Element<'a>> {
        match self {
            Elements::Raw(rest) => {
                let (&byte, after) = rest.split_first()?;
                let kind = Kind::from_byte(byte)?;
                let (name, payload) = after.split_at_checked(raw::name_length(after)?)?;
                let payload = payload.get(1..)?;
                let (payload, next) = payload.split_at_checked(raw::length(byte, payload)?)?;
                *rest = next;
                Some(Element::Raw { kind, name, payload })
            }
            Elements::Fields(fields) => fields.next().map(|(name, value)| Element::Field { name, value }),
            Elements::Items(items) => items.next().map(|value| Element::Item { value }),
        }
    }
}

fn length_prefix(bytes: &[u8]) -> Option<usize> {
    let prefix: [u8; 4] = bytes.get(..4)?.try_into().ok()?;
    usize::try_from(i32::from_le_bytes(prefix)).ok()
}

/// How many bytes a payload of this type takes at the start of `bytes`.
#[inline]
pub(crate) fn payload_length(kind: Kind, bytes: &[u8]) -> Option<usize> {
    Some(match kind {
        Kind::Double | Kind::DateTime | Kind::Timestamp | Kind::Int64 => 8,
        Kind::Int32 => 4,
        Kind::Bool => 1,
        Kind::Null | Kind::Undefined | Kind::MinKey | Kind::MaxKey => 0,
        Kind::ObjectId => 12,
        Kind::Decimal128 => 16,
        Kind::String | Kind::Code | Kind::Symbol => 4usize.checked_add(length_prefix(bytes)?)?,
        Kind::Document | Kind::Array | Kind::CodeWithScope => length_prefix(bytes)?,
        Kind::Binary => 5usize.checked_add(length_prefix(bytes)?)?,
        Kind::DbPointer => 16usize.checked_add(length_prefix(bytes)?)?,
        Kind::Regex => {
            let pattern = bytes.iter().position(|b| *b == 0)?;
            let options = bytes[pattern + 1..].iter().position(|b| *b == 0)?;
            pattern + options + 2
        }
    })
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// The text of a length-prefixed string payload.
fn string(payload: &[u8]) -> Option<&str> {
    text(payload.get(4..payload.len().checked_sub(1)?)?)
}

/// Decodes a payload whose length [`payload_length`] gave.
pub(crate) fn decode(kind: Kind, payload: &[u8]) -> Option<Value<'_>> {
    Some(match kind {
        Kind::Double => Value::Double(f64::from_le_bytes(payload.try_into().ok()?)),
        Kind::String => Value::String(string(payload)?),
        Kind::Document => Value::Document(Doc::Raw(payload)),
        Kind::Array => Value::Array(Doc::Raw(payload)),
        Kind::Binary => {
            let subtype = *payload.get(4)?;
            let bytes = if subtype == 2 {
                payload.get(9..)?
            } else {
                payload.get(5..)?
            };
            Value::Binary { subtype, bytes }
        }
        Kind::Undefined => Value::Undefined,
        Kind::ObjectId => Value::ObjectId(payload.try_into().ok()?),
        Kind::Bool => Value::Bool(*payload.first()? != 0),
        Kind::DateTime => Value::DateTime(i64::from_le_bytes(payload.try_into().ok()?)),
        Kind::Null => Value::Null,
        Kind::Regex => {
            let end = payload.iter().position(|b| *b == 0)?;
            Value::Regex {
                pattern: text(&payload[..end])?,
                options: text(payload.get(end + 1..payload.len().checked_sub(1)?)?)?,
            }
        }
        Kind::DbPointer => {
            let split = payload.len().checked_sub(12)?;
            Value::DbPointer {
                namespace: string(&payload[..split])?,
                id: payload[split..].try_into().ok()?,
            }
        }
        Kind::Code => Value::Code(string(payload)?),
        Kind::Symbol => Value::Symbol(string(payload)?),
        Kind::CodeWithScope => {
            let code = payload.get(4..)?;
            let length = 4 + length_prefix(code)?;
            Value::CodeWithScope {
                code: string(code.get(..length)?)?,
                scope: Doc::Raw(code.get(length..)?),
            }
        }
        Kind::Int32 => Value::Int32(i32::from_le_bytes(payload.try_into().ok()?)),
        Kind::Timestamp => Value::Timestamp {
            increment: u32::from_le_bytes(payload.get(..4)?.try_into().ok()?),
            time: u32::from_le_bytes(payload.get(4..8)?.try_into().ok()?),
        },
        Kind::Int64 => Value::Int64(i64::from_le_bytes(payload.try_into().ok()?)),
        Kind::Decimal128 => Value::Decimal128(payload.try_into().ok()?),
        Kind::MinKey => Value::MinKey,
        Kind::MaxKey => Value::MaxKey,
    })
}
