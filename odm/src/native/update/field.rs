//! Elements of raw bytes by their offsets, so that untouched bytes can be copied in one piece.

use super::super::document::doc::{decode, payload_length};
use super::super::document::{Kind, Value};

/// Where an element lies in a document's bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    kind: Kind,
    /// Offset of the type byte.
    pub(super) start: usize,
    payload: usize,
    pub(super) end: usize,
}

impl Spot {
    pub(super) fn value<'a>(&self, bytes: &'a [u8]) -> Value<'a> {
        bytes
            .get(self.payload..self.end)
            .and_then(|payload| decode(self.kind, payload))
            .unwrap_or(Value::Null)
    }
}

/// Offset of a document's first element.
pub(super) const FIRST: usize = 4;

/// The element at this offset, with its name; `None` at the document's end.
#[inline]
pub(super) fn at(bytes: &[u8], start: usize) -> Option<(&[u8], Spot)> {
    let kind = Kind::from_byte(*bytes.get(start)?)?;
    let rest = bytes.get(start + 1..)?;
    let length = rest.iter().position(|b| *b == 0)?;
    let payload = start + length + 2;
    let end = payload.checked_add(payload_length(kind, bytes.get(payload..)?)?)?;
    (end < bytes.len()).then_some((
        &rest[..length],
        Spot {
            kind,
            start,
            payload,
            end,
        },
    ))
}
