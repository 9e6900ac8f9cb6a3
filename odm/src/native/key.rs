//! Order-preserving keys: the only place that knows how a value becomes index bytes.
//!
//! A key is the concatenation of its components and [`END`]. A component is the rank of its type and a body.
//! A descending component has all its bytes complemented. Keys compare component by component.
//!
//! | type | body |
//! |---|---|
//! | MinKey, undefined, null, MaxKey | nothing |
//! | number | see [`encode_number`] |
//! | string, symbol | UTF-8, `00` as `00 FF`, end `00` |
//! | document | per element: rank, name, `00`, component; end `00` |
//! | array | components; end `00` |
//! | binary | length (4 bytes), subtype, bytes |
//! | ObjectId | 12 bytes |
//! | bool | none: the rank is 110 for false, 111 for true |
//! | date | 8 bytes, sign bit flipped |
//! | timestamp | time and increment, 4 bytes each |
//! | regex | pattern, `00`, options, `00` |
//! | DBPointer | length of the namespace (4 bytes), namespace, 12 bytes |
//! | code | as a string |
//! | code with scope | as a string, then as a document |
//!
//! Under a collation the body of a string is the collation's sort key of it, `00` as `00 FF`, end `00`.
//!
//! All integers are big-endian. After a component comes another or [`END`], so a byte between 4 and 245. A
//! component that begins with another one goes on with `FF` (ascending) or `00` (descending): `"\0"` does
//! with `""`. So the keys that hold exactly some components lie between these followed by [`BEFORE`] and
//! these followed by [`AFTER`].

pub(crate) mod describe;
mod length;
pub(crate) mod types;

pub(crate) use self::length::length;

use super::collation::Collation;
use super::document::compare::{binary_length, kind_rank, rank};
use super::document::decimal::{DIGITS, Decimal, MIN_EXPONENT, digits, magnitude_toward_zero, power};
use super::document::{Doc, Value};

/// The last byte of every key: without it `"a"` and `"a\0"` would not sort among descending keys.
pub(crate) const END: u8 = 0x04;

/// A byte that sorts before whatever may follow a component.
pub(crate) const BEFORE: u8 = 0x01;

/// A byte that sorts after whatever may follow a component.
pub(crate) const AFTER: u8 = 0xFE;

/// The first byte of a NaN; it sorts below all other numbers.
const NAN: u8 = rank::NUMBER;
const NEGATIVE: u8 = rank::NUMBER + 1;
const POSITIVE: u8 = rank::NUMBER + 2;

/// Appends the component of one value; the order of components as bytes is the order of
/// [`compare`](super::document::compare()).
pub(crate) fn encode(value: &Value<'_>, descending: bool, out: &mut Vec<u8>) {
    encode_by(value, descending, Collation::simple(), out);
}

/// The same in the order of a collation.
pub(crate) fn encode_by(value: &Value<'_>, descending: bool, collation: &Collation, out: &mut Vec<u8>) {
    let start = out.len();
    encode_ascending(value, collation, out);
    if descending {
        complement(&mut out[start..]);
    }
}

/// Complements bytes: their order is reversed.
pub(crate) fn complement(bytes: &mut [u8]) {
    for byte in bytes {
        *byte = !*byte;
    }
}

/// The first bytes that components of this rank may have: numbers have three, bools two.
pub(crate) fn rank_bytes(rank: u8) -> std::ops::RangeInclusive<u8> {
    match rank {
        rank::NUMBER => NAN..=POSITIVE,
        rank::BOOL => rank::BOOL..=rank::BOOL + 1,
        other => other..=other,
    }
}

fn encode_ascending(value: &Value<'_>, collation: &Collation, out: &mut Vec<u8>) {
    match *value {
        Value::Double(x) => return encode_double(x, out),
        Value::Int32(x) => return encode_integer(x.into(), out),
        Value::Int64(x) => return encode_integer(x, out),
        Value::Decimal128(bytes) => return encode_decimal(Decimal::from_bytes(bytes), out),
        Value::Bool(x) => return out.push(rank::BOOL + u8::from(x)),
        _ => out.push(kind_rank(value.kind())),
    }
    match *value {
        Value::String(text) | Value::Symbol(text) => encode_collated(text, collation, out),
        Value::Code(text) => encode_text(text, out),
        Value::Document(doc) => encode_document(doc, collation, out),
        Value::Array(doc) => {
            for item in doc.values() {
                encode_ascending(&item, collation, out);
            }
            out.push(0);
        }
        Value::Binary { subtype, bytes } => {
            out.extend_from_slice(&binary_length(subtype, bytes).to_be_bytes());
            out.push(subtype);
            out.extend_from_slice(bytes);
        }
        Value::ObjectId(id) => out.extend_from_slice(&id),
        Value::DateTime(millis) => out.extend_from_slice(&(millis ^ i64::MIN).to_be_bytes()),
        Value::Timestamp { time, increment } => {
            out.extend_from_slice(&time.to_be_bytes());
            out.extend_from_slice(&increment.to_be_bytes());
        }
        Value::Regex { pattern, options } => {
            out.extend_from_slice(pattern.as_bytes());
            out.push(0);
            out.extend_from_slice(options.as_bytes());
            out.push(0);
        }
        Value::DbPointer { namespace, id } => {
            out.extend_from_slice(&(namespace.len() as u32).to_be_bytes());
            out.extend_from_slice(namespace.as_bytes());
            out.extend_from_slice(&id);
        }
        Value::CodeWithScope { code, scope } => {
            encode_text(code, out);
            encode_document(scope, Collation::simple(), out);
        }
        _ => {}
    }
}

fn encode_document(doc: Doc<'_>, collation: &Collation, out: &mut Vec<u8>) {
    for element in doc.elements() {
        out.push(kind_rank(element.kind()));
        out.extend_from_slice(element.name());
        out.push(0);
        encode_ascending(&element.value(), collation, out);
    }
    out.push(0);
}

fn encode_text(text: &str, out: &mut Vec<u8>) {
    encode_text_start(text, out);
    out.push(0);
}

fn encode_collated(text: &str, collation: &Collation, out: &mut Vec<u8>) {
    if collation.is_simple() {
        return encode_text(text, out);
    }
    let mut sort_key = Vec::with_capacity(2 * text.len() + 4);
    collation.write_text(text, &mut sort_key);
    encode_bytes(&sort_key, out);
    out.push(0);
}

/// Appends the body that all strings starting with `text` begin with.
pub(crate) fn encode_text_start(text: &str, out: &mut Vec<u8>) {
    encode_bytes(text.as_bytes(), out);
}

fn encode_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    let mut parts = bytes.split(|byte| *byte == 0);
    if let Some(first) = parts.next() {
        out.extend_from_slice(first);
    }
    for part in parts {
        out.extend_from_slice(&[0x00, 0xFF]);
        out.extend_from_slice(part);
    }
}

/// The text of which zeros are written as `00 FF`.
fn unescape(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body.iter().peekable();
    while let Some(byte) = rest.next() {
        out.push(*byte);
        if *byte == 0 {
            rest.next_if_eq(&&0xFF);
        }
    }
    out
}

fn encode_double(x: f64, out: &mut Vec<u8>) {
    if x.is_nan() {
        out.push(NAN);
    } else {
        encode_number(x < 0.0, x.abs(), None, out);
    }
}

fn encode_integer(x: i64, out: &mut Vec<u8>) {
    let magnitude = x.unsigned_abs();
    let surplus = 64u32.saturating_sub(magnitude.leading_zeros()).saturating_sub(53);
    let truncated = magnitude >> surplus << surplus;
    let tail = (truncated != magnitude).then_some((magnitude.into(), 0));
    encode_number(x < 0, truncated as f64, tail, out);
}

fn encode_decimal(decimal: Decimal, out: &mut Vec<u8>) {
    match decimal {
        Decimal::Nan { .. } => out.push(NAN),
        Decimal::Infinity { negative } => encode_number(negative, f64::INFINITY, None, out),
        Decimal::Finite {
            negative,
            coefficient,
            exponent,
        } => {
            let (double, exact) = magnitude_toward_zero(coefficient, exponent);
            let tail = (!exact).then_some((coefficient, exponent));
            encode_number(negative && coefficient != 0, double, tail, out);
        }
    }
}

/// A number is its sign byte, its magnitude rounded toward zero to a double (8 bytes), and a tail: `00` when
/// the double is exact, else `01`, the decimal exponent (2 bytes, biased) and the coefficient padded to 34
/// digits (15 bytes) of the exact magnitude. Negative numbers have all but the sign byte complemented.
fn encode_number(negative: bool, double: f64, tail: Option<(u128, i32)>, out: &mut Vec<u8>) {
    out.push(if negative { NEGATIVE } else { POSITIVE });
    let start = out.len();
    out.extend_from_slice(&double.to_bits().to_be_bytes());
    match tail {
        None => out.push(0),
        Some((coefficient, exponent)) => {
            let pad = DIGITS - digits(coefficient).min(DIGITS);
            let coefficient = coefficient * power(pad).unwrap_or(1);
            let biased = exponent - pad as i32 - MIN_EXPONENT + DIGITS as i32;
            out.push(1);
            out.extend_from_slice(&(biased as u16).to_be_bytes());
            out.extend_from_slice(&coefficient.to_be_bytes()[1..]);
        }
    }
    if negative {
        complement(&mut out[start..]);
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::super::document::sample::Sample;
    use super::super::document::{Owned, compare};
    use super::*;

    fn key(value: &Owned, descending: bool) -> Vec<u8> {
        let mut out = Vec::new();
        encode(&value.as_value(), descending, &mut out);
        out.push(END);
        out
    }

    fn check(values: &[Owned]) {
        let keys: Vec<_> = values
            .iter()
            .map(|value| (key(value, false), key(value, true)))
            .collect();
        for (a, (up_a, down_a)) in values.iter().zip(&keys) {
            assert!(
                (10..=245).contains(&up_a[0]) && (10..=245).contains(&down_a[0]),
                "{a:?}"
            );
            for (b, (up_b, down_b)) in values.iter().zip(&keys) {
                let order = compare(&a.as_value(), &b.as_value());
                assert_eq!(up_a.cmp(up_b), order, "{a:?} {b:?} {up_a:x?} {up_b:x?}");
                assert_eq!(down_b.cmp(down_a), order, "descending {a:?} {b:?}");
                for (a_key, b_key) in [(up_a, up_b), (down_a, down_b)] {
                    let (mut from, mut to) = (a_key.clone(), a_key.clone());
                    from[a_key.len() - 1] = BEFORE;
                    to[a_key.len() - 1] = AFTER;
                    assert_eq!(
                        from < *b_key && *b_key < to,
                        order == Ordering::Equal,
                        "{a:?} {b:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn keys_of_numbers_sort_like_numbers() {
        for seed in 0..8 {
            let mut sample = Sample::new(seed);
            check(&(0..400).map(|_| sample.number()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn keys_of_all_types_sort_like_values() {
        for seed in 0..12 {
            let mut sample = Sample::new(seed);
            check(&(0..350).map(|_| sample.value(3)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn keys_of_strings_sort_like_strings() {
        let mut sample = Sample::new(3);
        check(&(0..500).map(|_| Owned::String(sample.text())).collect::<Vec<_>>());
    }

    /// The bytes are a file format: a change needs a new format version.
    #[test]
    fn keys_keep_their_bytes() {
        for (value, hex) in [
            (Owned::MinKey, "0a"),
            (Owned::Null, "14"),
            (Owned::Double(f64::NAN), "1e"),
            (Owned::Int32(1), "203ff000000000000000"),
            (Owned::Int64(-1), "1fc00fffffffffffffff"),
            (
                Owned::Int64(9_007_199_254_740_993),
                "20434000000000000001183001bc16d674ec800de0b6b3a7640000",
            ),
            (Owned::String("a\0b".into()), "3c6100ff6200"),
            (
                Owned::Document(vec![("a".into(), Owned::Bool(true))]),
                "466e61006f00",
            ),
            (Owned::Array(vec![Owned::Null, Owned::MaxKey]), "5014f000"),
            (
                Owned::Binary {
                    subtype: 4,
                    bytes: vec![7, 8],
                },
                "5a00000002040708",
            ),
            (Owned::Bool(false), "6e"),
            (Owned::DateTime(0), "788000000000000000"),
            (
                Owned::Timestamp {
                    time: 1,
                    increment: 2,
                },
                "820000000100000002",
            ),
            (Owned::MaxKey, "f0"),
        ] {
            let mut out = Vec::new();
            encode(&value.as_value(), false, &mut out);
            let got: String = out.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(got, hex, "{value:?}");
        }
    }
}
