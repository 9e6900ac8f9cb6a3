//! What an index key does not say of its values: of which type a number is, and whether a `null` was there.
//!
//! It is kept beside the key, so that the values can be read back without the document. For each component, in order, a
//! byte, and behind some of them more:
//!
//! | byte | the value | behind it |
//! |---|---|---|
//! | 0 | is what the key says | nothing |
//! | 1, 2, 3 | an int32, an int64, a double | nothing |
//! | 4 | is missing, which the key calls `null` | nothing |
//! | 5 | an int64 that no double is equal to | 8 bytes |
//! | 6 | a double that is `-0.0` or NaN | 8 bytes |
//! | 7 | a decimal | 16 bytes |
//!
//! All numbers are little-endian. Documents, arrays and symbols are not kept: a key that has one among its values keeps
//! nothing at all.

use std::ops::Deref;

use super::super::document::Value;
use super::super::document::compare::rank;
use super::{NEGATIVE, POSITIVE, complement, length, unescape};

const SAID: u8 = 0;
const INT32: u8 = 1;
const INT64: u8 = 2;
const DOUBLE: u8 = 3;
const MISSING: u8 = 4;
const LONG_INT64: u8 = 5;
const ODD_DOUBLE: u8 = 6;
const DECIMAL: u8 = 7;

/// What a key does not say of its values. Empty: nothing is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Types {
    bytes: [u8; Types::MOST],
    length: u8,
}

impl Types {
    /// How many bytes are kept of one key at most.
    pub(crate) const MOST: usize = 39;

    /// Nothing is known.
    pub(crate) const UNKNOWN: Types = Types {
        bytes: [0; Types::MOST],
        length: 0,
    };

    /// Adds the next value of the key; `false` when it cannot be told, or there is no room for it.
    pub(crate) fn push(&mut self, value: Option<&Value<'_>>) -> bool {
        match value {
            None => self.append(MISSING, &[]),
            Some(value) => match *value {
                Value::Int32(_) => self.append(INT32, &[]),
                Value::Int64(x) if is_double(x) => self.append(INT64, &[]),
                Value::Int64(x) => self.append(LONG_INT64, &x.to_le_bytes()),
                Value::Double(x) if x.is_nan() || (x == 0.0 && x.is_sign_negative()) => {
                    self.append(ODD_DOUBLE, &x.to_le_bytes())
                }
                Value::Double(_) => self.append(DOUBLE, &[]),
                Value::Decimal128(bytes) => self.append(DECIMAL, &bytes),
                Value::Symbol(_) | Value::Document(_) | Value::Array(_) | Value::CodeWithScope { .. } => {
                    false
                }
                _ => self.append(SAID, &[]),
            },
        }
    }

    fn append(&mut self, kind: u8, payload: &[u8]) -> bool {
        let start = usize::from(self.length);
        let end = start + 1 + payload.len();
        let Some(room) = self.bytes.get_mut(start..end) else {
            return false;
        };
        room[0] = kind;
        room[1..].copy_from_slice(payload);
        self.length = end as u8;
        true
    }
}

impl Default for Types {
    fn default() -> Types {
        Types::UNKNOWN
    }
}

impl Deref for Types {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// Whether a double is equal to it.
fn is_double(x: i64) -> bool {
    let magnitude = x.unsigned_abs();
    magnitude == 0 || magnitude >> magnitude.trailing_zeros() < 1 << 53
}

/// The values of a key, one after another.
#[derive(Debug)]
pub(crate) struct Values<'a> {
    key: &'a [u8],
    types: &'a [u8],
    /// An ascending component, where the stored one is not.
    ascending: Vec<u8>,
    /// A text whose zeros are escaped in the key.
    text: String,
}

/// A value of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kept<'a> {
    Missing,
    Value(Value<'a>),
    /// The key and its types do not tell.
    Unknown,
}

impl<'a> Values<'a> {
    pub(crate) fn new(key: &'a [u8], types: &'a [u8]) -> Values<'a> {
        Values {
            key,
            types,
            ascending: Vec::new(),
            text: String::new(),
        }
    }

    /// The next value.
    pub(crate) fn next(&mut self, descending: bool) -> Kept<'_> {
        self.read(descending).unwrap_or(Kept::Unknown)
    }

    fn read(&mut self, descending: bool) -> Option<Kept<'_>> {
        let (component, rest) = self.key.split_at_checked(length(self.key, descending)?)?;
        self.key = rest;
        let (kind, types) = self.types.split_first()?;
        self.types = types;
        let component = match descending {
            false => component,
            true => {
                self.ascending.clear();
                self.ascending.extend_from_slice(component);
                complement(&mut self.ascending);
                &self.ascending
            }
        };
        let value = match *kind {
            SAID => said(component, &mut self.text)?,
            INT32 => Value::Int32(whole(component)?.try_into().ok()?),
            INT64 => Value::Int64(whole(component)?.try_into().ok()?),
            DOUBLE => Value::Double(double(component)?),
            MISSING => return (component == [rank::NULL]).then_some(Kept::Missing),
            LONG_INT64 => Value::Int64(i64::from_le_bytes(take(&mut self.types)?)),
            ODD_DOUBLE => Value::Double(f64::from_le_bytes(take(&mut self.types)?)),
            DECIMAL => Value::Decimal128(take(&mut self.types)?),
            _ => return None,
        };
        Some(Kept::Value(value))
    }
}

fn take<const N: usize>(types: &mut &[u8]) -> Option<[u8; N]> {
    let (payload, rest) = types.split_first_chunk()?;
    *types = rest;
    Some(*payload)
}

/// The number that is a double.
fn double(component: &[u8]) -> Option<f64> {
    let (&first, body) = component.split_first()?;
    let bits = u64::from_be_bytes(*body.first_chunk()?);
    match first {
        POSITIVE => Some(f64::from_bits(bits)),
        NEGATIVE => Some(-f64::from_bits(!bits)),
        _ => None,
    }
}

fn whole(component: &[u8]) -> Option<i128> {
    double(component).map(|number| number as i128)
}

/// The value of which the key says all.
fn said<'c>(component: &'c [u8], unescaped: &'c mut String) -> Option<Value<'c>> {
    let (&first, body) = component.split_first()?;
    let text = |bytes| std::str::from_utf8(bytes).ok();
    let value = match first {
        rank::MIN_KEY => Value::MinKey,
        rank::UNDEFINED => Value::Undefined,
        rank::NULL => Value::Null,
        rank::MAX_KEY => Value::MaxKey,
        rank::STRING => Value::String(escaped(body, unescaped)?),
        rank::CODE => Value::Code(escaped(body, unescaped)?),
        rank::BINARY => {
            let (subtype, bytes) = body.get(4..)?.split_first()?;
            Value::Binary {
                subtype: *subtype,
                bytes,
            }
        }
        rank::OBJECT_ID => Value::ObjectId(body.try_into().ok()?),
        rank::BOOL => Value::Bool(false),
        first if first == rank::BOOL + 1 => Value::Bool(true),
        rank::DATE_TIME => Value::DateTime(i64::from_be_bytes(body.try_into().ok()?) ^ i64::MIN),
        rank::TIMESTAMP => Value::Timestamp {
            time: u32::from_be_bytes(*body.first_chunk()?),
            increment: u32::from_be_bytes(*body.last_chunk()?),
        },
        rank::REGEX => {
            let mut parts = body.split(|byte| *byte == 0);
            Value::Regex {
                pattern: text(parts.next()?)?,
                options: text(parts.next()?)?,
            }
        }
        rank::DB_POINTER => {
            let (namespace, id) = body.get(4..)?.split_last_chunk()?;
            Value::DbPointer {
                namespace: text(namespace)?,
                id: *id,
            }
        }
        _ => return None,
    };
    Some(value)
}

/// A text with `00` as `00 FF`, and `00` at its end.
fn escaped<'c>(body: &'c [u8], unescaped: &'c mut String) -> Option<&'c str> {
    let body = body.strip_suffix(&[0])?;
    // FF is in no text.
    if let Ok(plain) = std::str::from_utf8(body) {
        return Some(plain);
    }
    *unescaped = String::from_utf8(unescape(body)).ok()?;
    Some(unescaped)
}

#[cfg(test)]
mod tests {
    use super::super::super::document::sample::Sample;
    use super::super::super::document::{Doc, Owned};
    use super::super::{END, encode};
    use super::*;

    fn bytes(value: Option<&Value<'_>>) -> Vec<u8> {
        let mut out = Vec::new();
        if let Some(value) = value {
            value.write_element(b"", &mut out);
        }
        out
    }

    /// Whether the values are read back, byte for byte.
    fn is_kept(values: &[Option<Owned>], descending: impl Fn(usize) -> bool) -> bool {
        let (mut key, mut types) = (Vec::new(), Types::UNKNOWN);
        let mut is_told = true;
        for (at, value) in values.iter().enumerate() {
            let value = value.as_ref().map(Owned::as_value);
            encode(&value.unwrap_or(Value::Null), descending(at), &mut key);
            is_told = is_told && types.push(value.as_ref());
        }
        key.push(END);
        let mut read = Values::new(&key, &types);
        for (at, value) in values.iter().enumerate() {
            let value = value.as_ref().map(Owned::as_value);
            match read.next(descending(at)) {
                Kept::Missing => assert!(value.is_none()),
                Kept::Value(kept) => assert_eq!(bytes(Some(&kept)), bytes(value.as_ref()), "{value:?}"),
                Kept::Unknown => {
                    assert!(!is_told);
                    return false;
                }
            }
        }
        true
    }

    #[test]
    fn values_are_read_back_from_their_keys() {
        for seed in 0..20 {
            let mut sample = Sample::new(seed);
            for _ in 0..300 {
                let values: Vec<Option<Owned>> = (0..3).map(|_| Some(sample.value(0))).collect();
                let is_there = |value: &Option<Owned>| {
                    value.as_ref().is_some_and(|value| {
                        !matches!(
                            value.as_value(),
                            Value::Symbol(_)
                                | Value::CodeWithScope { .. }
                                | Value::Document(_)
                                | Value::Array(_)
                                | Value::Decimal128(_)
                        )
                    })
                };
                let kept = is_kept(&values, |at| at == 1);
                assert!(kept || !values.iter().all(is_there), "{values:?}");
                is_kept(&(0..2).map(|_| Some(sample.number())).collect::<Vec<_>>(), |at| {
                    at == 0
                });
            }
        }
    }

    /// The bytes are a file format: a change needs a new format version.
    #[test]
    fn types_keep_their_bytes() {
        let mut types = Types::UNKNOWN;
        let values = [
            None,
            Some(Value::String("a")),
            Some(Value::Int32(1)),
            Some(Value::Int64(1)),
            Some(Value::Double(1.0)),
            Some(Value::Int64((1 << 53) + 1)),
            Some(Value::Double(-0.0)),
        ];
        for value in &values {
            assert!(types.push(value.as_ref()));
        }
        let expected = [
            &[4, 0, 1, 2, 3, 5][..],
            &[1, 0, 0, 0, 0, 0, 32, 0],
            &[6, 0, 0, 0, 0, 0, 0, 0, 128],
        ];
        assert_eq!(*types, *expected.concat());
        let mut decimal = Types::UNKNOWN;
        assert!(decimal.push(Some(&Value::Decimal128([9; 16]))));
        assert_eq!(*decimal, *[&[7][..], &[9; 16]].concat());
    }

    #[test]
    fn numbers_at_the_edges_are_read_back() {
        let numbers = [
            Owned::Int32(i32::MIN),
            Owned::Int32(i32::MAX),
            Owned::Int32(0),
            Owned::Int64(0),
            Owned::Int64(i64::MIN),
            Owned::Int64(i64::MAX),
            Owned::Int64((1 << 53) + 1),
            Owned::Int64(1 << 53),
            Owned::Int64(-(1 << 53) - 1),
            Owned::Double(0.0),
            Owned::Double(-0.0),
            Owned::Double(f64::NAN),
            Owned::Double(-f64::NAN),
            Owned::Double(f64::INFINITY),
            Owned::Double(f64::NEG_INFINITY),
            Owned::Double(f64::MIN_POSITIVE),
            Owned::Double(-1.5),
        ];
        for number in &numbers {
            for descending in [false, true] {
                assert!(
                    is_kept(&[Some(number.clone()), None], |_| descending),
                    "{number:?}"
                );
            }
        }
    }

    #[test]
    fn what_cannot_be_told_is_unknown() {
        let empty = Doc::empty();
        for value in [Value::Document(empty), Value::Array(empty), Value::Symbol("a")] {
            assert!(!is_kept(&[Some(Owned::Int32(1)), Some(value.into())], |_| false));
        }
        let decimal = Some(Owned::Decimal128([1; 16]));
        assert!(is_kept(&[decimal.clone(), decimal.clone()], |_| true));
        // There is room for two.
        assert!(!is_kept(&[decimal.clone(), decimal.clone(), decimal], |_| true));
        // A key of an older file, and one that is cut off.
        let mut key = Vec::new();
        encode(&Value::Int32(7), false, &mut key);
        assert!(matches!(Values::new(&key, &[]).next(false), Kept::Unknown));
        for length in 0..key.len() {
            assert!(matches!(
                Values::new(&key[..length], &[INT32]).next(false),
                Kept::Unknown
            ));
        }
        // Types that are not those of the values.
        for kind in [SAID, MISSING, LONG_INT64, ODD_DOUBLE, DECIMAL, 200] {
            assert!(matches!(Values::new(&key, &[kind]).next(false), Kept::Unknown));
        }
    }
}
