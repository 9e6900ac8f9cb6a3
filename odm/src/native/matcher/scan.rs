//! Finding fields in raw bytes: names are compared in place, values are skipped by their length.

use super::super::document::doc::{decode, payload_length};
use super::super::document::{Doc, Elements, Kind, Value};
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
                    return Some(field.value());
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
    kind: u8,
    payload: &'a [u8],
}

impl<'a> RawField<'a> {
    /// Decodes the value. A value that cannot be decoded, which validated bytes do not hold, reads as null.
    pub(super) fn value(&self) -> Value<'a> {
        Kind::from_byte(self.kind)
            .and_then(|kind| decode(kind, self.payload))
            .unwrap_or(Value::Null)
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
        let (&kind, after) = self.0.split_first()?;
        let (name, rest) = after.split_at_checked(name_length(after)?)?;
        let rest = rest.get(1..)?;
        let (payload, next) = rest.split_at_checked(length(kind, rest)?)?;
        self.0 = next;
        Some(RawField { name, kind, payload })
    }
}

/// The values of a document or array, in order.
pub(super) enum Values<'a> {
    Raw(RawFields<'a>),
    Owned(Elements<'a>),
}

pub(super) fn values(doc: Doc<'_>) -> Values<'_> {
    match doc {
        Doc::Raw(bytes) => Values::Raw(RawFields::new(bytes)),
        Doc::Fields(_) | Doc::Items(_) => Values::Owned(doc.elements()),
    }
}

impl<'a> Iterator for Values<'a> {
    type Item = Value<'a>;

    #[inline]
    fn next(&mut self) -> Option<Value<'a>> {
        match self {
            Values::Raw(fields) => fields.next().map(|field| field.value()),
            Values::Owned(elements) => elements.next().map(|element| element.value()),
        }
    }
}

/// The position of the first zero byte, eight bytes at a time.
#[inline]
fn name_length(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let mut at = 0;
    while let Some(chunk) = bytes.get(at..at + 8).and_then(|chunk| chunk.try_into().ok()) {
        let word = u64::from_le_bytes(chunk);
        // The lowest high bit left marks the first zero byte.
        let zeros = word.wrapping_sub(ONES) & !word & HIGHS;
        if zeros != 0 {
            return Some(at + zeros.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let rest = bytes.get(at..)?;
    rest.iter().position(|byte| *byte == 0).map(|end| at + end)
}

/// The length of a payload; the frequent types are answered without decoding the type.
#[inline]
fn length(kind: u8, payload: &[u8]) -> Option<usize> {
    let prefix = || {
        let prefix: [u8; 4] = payload.get(..4)?.try_into().ok()?;
        usize::try_from(i32::from_le_bytes(prefix)).ok()
    };
    match kind {
        0x10 => Some(4),
        0x01 | 0x09 | 0x12 => Some(8),
        0x07 => Some(12),
        0x08 => Some(1),
        0x02 => prefix()?.checked_add(4),
        0x03 | 0x04 => prefix(),
        other => payload_length(Kind::from_byte(other)?, payload),
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
    // No condition at all is a shift by the whole width.
    let spare = (MOST_CONDITIONS - nodes.len()) as u32;
    let mut pending = u64::MAX.checked_shr(spare).unwrap_or(0);
    let mut fields = RawFields::new(bytes);
    while pending != 0
        && let Some(field) = fields.next()
    {
        for (bit, first, rest, predicate) in conditions() {
            if pending & bit != 0 && first.name.as_bytes() == field.name {
                if from_value(Some(field.value()), rest, predicate).is_none() {
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
