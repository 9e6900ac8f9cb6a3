//! Finding fields in raw bytes: names are compared in place, values are skipped by their length.

use super::super::document::doc::{decode, payload_length};
use super::super::document::{Doc, Kind, Value};
use super::ast::{Node, Segment};
use super::evaluate::from_value;

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

/// The most conditions that [`conjunction`] keeps track of.
const MOST_CONDITIONS: usize = 64;

/// Answers an `And` of field conditions in one walk over the document; `None` when it has other members.
///
/// Each field is tried against the conditions on its name when the walk meets it, the first of duplicate
/// names only; conditions whose field never came are tried on a missing value.
pub(super) fn conjunction(nodes: &[Node], bytes: &[u8]) -> Option<bool> {
    if nodes.len() > MOST_CONDITIONS || !nodes.iter().all(|node| matches!(node, Node::Field { .. })) {
        return None;
    }
    let conditions = || {
        nodes.iter().enumerate().filter_map(|(at, node)| match node {
            Node::Field { path, predicate } => {
                let (first, rest) = path.segments().split_first()?;
                Some((1u64 << at, first, rest, predicate))
            }
            _ => None,
        })
    };
    let mut pending = u64::MAX >> (MOST_CONDITIONS - nodes.len());
    let mut fields = RawFields::new(bytes);
    while pending != 0
        && let Some(field) = fields.next()
    {
        for (bit, first, rest, predicate) in conditions() {
            if pending & bit != 0 && first.name.as_bytes() == field.name {
                if from_value(field.value(), rest, predicate).is_none() {
                    return Some(false);
                }
                pending &= !bit;
            }
        }
    }
    for (bit, _, rest, predicate) in conditions() {
        if pending & bit != 0 && from_value(None, rest, predicate).is_none() {
            return Some(false);
        }
    }
    Some(true)
}
