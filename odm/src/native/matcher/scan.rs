//! Finding fields in raw bytes: names are compared in place, values are skipped by their length.

use super::super::document::doc::{decode, payload_length};
use super::super::document::{Doc, Kind, Value};
use super::ast::Segment;

/// The first field with the segment's name, or the item it indexes when the document is an owned array.
#[inline]
pub(super) fn field<'a>(doc: Doc<'a>, segment: &Segment) -> Option<Value<'a>> {
    match doc {
        Doc::Raw(bytes) => {
            let mut fields = RawFields::new(bytes);
            let name = segment.name.as_bytes();
            while let Some(field) = fields.next() {
                if field.name == name {
                    return field.value();
                }
            }
            None
        }
        Doc::Items(_) => doc.at(segment.index?),
        Doc::Fields(_) => doc.get(&segment.name),
    }
}

/// A field of raw bytes, its value not decoded.
pub(super) struct RawField<'a> {
    pub(super) name: &'a [u8],
    kind: Kind,
    payload: &'a [u8],
}

impl<'a> RawField<'a> {
    /// Decodes the value. A value that cannot be decoded, which validated bytes do not hold, reads as null.
    pub(super) fn value(&self) -> Option<Value<'a>> {
        Some(decode(self.kind, self.payload).unwrap_or(Value::Null))
    }
}

/// The fields of a raw document, one after the other.
pub(super) struct RawFields<'a>(&'a [u8]);

impl<'a> RawFields<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> RawFields<'a> {
        RawFields(bytes.get(4..bytes.len().saturating_sub(1)).unwrap_or(&[]))
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<RawField<'a>> {
        let (&byte, after) = self.0.split_first()?;
        let kind = Kind::from_byte(byte)?;
        let end = after.iter().position(|b| *b == 0)?;
        let (name, rest) = (&after[..end], &after[end + 1..]);
        let length = payload_length(kind, rest)?;
        let (payload, next) = rest.split_at_checked(length)?;
        self.0 = next;
        Some(RawField { name, kind, payload })
    }
}
