//! Walking over the fields of raw bytes: names are compared in place, values are skipped by their length.

use super::doc::{decode, payload_length};
use super::value::{Kind, Value};

/// A field of raw bytes, its value not decoded.
pub(crate) struct RawField<'a> {
    pub(crate) name: &'a [u8],
    kind: u8,
    payload: &'a [u8],
}

impl<'a> RawField<'a> {
    /// Decodes the value. A value that cannot be decoded, which validated bytes do not hold, reads as null.
    pub(crate) fn value(&self) -> Value<'a> {
        Kind::from_byte(self.kind)
            .and_then(|kind| decode(kind, self.payload))
            .unwrap_or(Value::Null)
    }
}

/// The fields of a raw document, one after the other.
pub(crate) struct RawFields<'a>(&'a [u8]);

impl<'a> RawFields<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> RawFields<'a> {
        RawFields(bytes.get(4..bytes.len().saturating_sub(1)).unwrap_or(&[]))
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Option<RawField<'a>> {
        let (&kind, after) = self.0.split_first()?;
        let (name, rest) = after.split_at_checked(name_length(after)?)?;
        let rest = rest.get(1..)?;
        let (payload, next) = rest.split_at_checked(length(kind, rest)?)?;
        self.0 = next;
        Some(RawField { name, kind, payload })
    }

    /// The value of the first field with this name.
    #[inline]
    pub(crate) fn find(mut self, name: &str) -> Option<Value<'a>> {
        while let Some(field) = self.next() {
            if is_same(field.name, name.as_bytes()) {
                return Some(field.value());
            }
        }
        None
    }
}

/// Names are short: most of them differ in their length or their first byte.
#[inline]
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.first() == other.first() && one == other
}

/// The position of the first zero byte, eight bytes at a time.
#[inline]
pub(super) fn name_length(bytes: &[u8]) -> Option<usize> {
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
pub(super) fn length(kind: u8, payload: &[u8]) -> Option<usize> {
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
