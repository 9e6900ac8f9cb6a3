//! Walking over the fields of raw bytes: names are compared in place, values are skipped by their length.

use super::doc::{decode, payload_length};
use super::value::{Kind, Value};

/// A field of raw bytes, its value not decoded.
pub(crate) struct RawField<'a> {
    pub(crate) name: &'a [u8],
    kind: u8,
    payload: &'a [u8],
    element: &'a [u8],
}

impl<'a> RawField<'a> {
    /// Decodes the value. A value that cannot be decoded, which validated bytes do not hold, reads as null.
    pub(crate) fn value(&self) -> Value<'a> {
        value(self.kind, self.payload)
    }
}

fn value(kind: u8, payload: &[u8]) -> Value<'_> {
    Kind::from_byte(kind)
        .and_then(|kind| decode(kind, payload))
        .unwrap_or(Value::Null)
}

impl<'a> RawField<'a> {
    /// Names are short: most of them differ in their length or their first byte.
    #[inline]
    pub(crate) fn is_named(&self, name: &str) -> bool {
        let name = name.as_bytes();
        self.name.len() == name.len() && self.name.first() == name.first() && self.name == name
    }

    /// The byte of its type.
    #[inline]
    pub(crate) fn kind(&self) -> u8 {
        self.kind
    }

    /// The bytes of its value.
    #[inline]
    pub(crate) fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The bytes of its type, its name and its value.
    #[inline]
    pub(crate) fn element(&self) -> &'a [u8] {
        self.element
    }

    /// The bytes of a document or an array.
    #[inline]
    pub(crate) fn nested(&self) -> Option<&'a [u8]> {
        (self.kind == Kind::Document as u8 || self.kind == Kind::Array as u8).then_some(self.payload)
    }

    /// Whether the value is this text, as a string or symbol. Nothing is decoded.
    #[inline]
    pub(crate) fn is_text(&self, text: &str) -> bool {
        const AROUND: usize = 5;
        self.payload.len() == text.len() + AROUND
            && (self.kind == Kind::String as u8 || self.kind == Kind::Symbol as u8)
            && self.payload[4..].starts_with(text.as_bytes())
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
        let element = &self.0[..self.0.len() - next.len()];
        self.0 = next;
        Some(RawField {
            name,
            kind,
            payload,
            element,
        })
    }

    /// The value of the first field with this name.
    #[inline]
    pub(crate) fn find(self, name: &str) -> Option<Value<'a>> {
        self.find_placed(name).map(|(_, value)| value)
    }

    /// The same of a document that is looked at from its beginning, with the place where the field begins in its bytes.
    #[inline]
    pub(crate) fn find_placed(self, name: &str) -> Option<(usize, Value<'a>)> {
        // The fields before it are skipped in one loop, of which no field is made.
        let name = name.as_bytes();
        let mut rest = self.0;
        loop {
            let (&kind, after) = rest.split_first()?;
            let end = name_length(after)?;
            let payload = after.get(end + 1..)?;
            let (payload, next) = payload.split_at_checked(length(kind, payload)?)?;
            if end == name.len() && after.first() == name.first().or(Some(&0)) && after.starts_with(name) {
                // Before the fields there is the document's length.
                return Some((4 + self.0.len() - rest.len(), value(kind, payload)));
            }
            rest = next;
        }
    }
}

/// Whether documents and arrays are nested at most so deep, this one counted. Recursive, but no deeper than that.
pub(crate) fn is_within(bytes: &[u8], most: usize) -> bool {
    if most == 0 {
        return false;
    }
    let mut fields = RawFields::new(bytes);
    while let Some(field) = fields.next() {
        if let Some(inner) = field.nested()
            && !is_within(inner, most - 1)
        {
            return false;
        }
    }
    true
}

/// The place of the first item of an array from `start` on and before `end` that is this text, as a string or symbol.
pub(crate) fn position_of_text(array: &[u8], text: &str, start: usize, end: usize) -> Option<usize> {
    let mut items = RawFields::new(array);
    let mut at = 0;
    while at < end
        && let Some(item) = items.next()
    {
        if at >= start && item.is_text(text) {
            return Some(at);
        }
        at += 1;
    }
    None
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

#[cfg(test)]
mod tests {
    use bson::rawdoc;

    use super::*;

    #[test]
    fn texts_are_found_by_their_places() {
        let array = rawdoc! { "0": "a", "1": 1, "2": "ab", "3": { "a": "b" }, "4": "b", "5": "", "6": "ab" };
        let place = |text, start, end| position_of_text(array.as_bytes(), text, start, end);
        let all = usize::MAX;
        assert_eq!((place("a", 0, all), place("b", 0, all)), (Some(0), Some(4)));
        assert_eq!((place("", 0, all), place("abc", 0, all)), (Some(5), None));
        assert_eq!((place("ab", 0, all), place("ab", 3, all)), (Some(2), Some(6)));
        assert_eq!((place("ab", 0, 2), place("ab", 3, 6)), (None, None));
        assert_eq!((place("a", 1, all), place("a", 9, all)), (None, None));
    }

    #[test]
    fn nesting_is_counted_with_the_document_itself() {
        let flat = rawdoc! { "a": 1 };
        let nested = rawdoc! { "x": "y", "a": [1, { "b": {} }], "c": {} };
        let within = |most| {
            (
                is_within(flat.as_bytes(), most),
                is_within(nested.as_bytes(), most),
            )
        };
        assert_eq!((within(0), within(1)), ((false, false), (true, false)));
        assert_eq!((within(3), within(4)), ((true, false), (true, true)));
    }
}
