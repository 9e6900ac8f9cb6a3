//! The key of a value in a hashed index, as MongoDB computes it.

use md5::{Digest, Md5};

use super::super::super::document::decimal::{Decimal, Rounding};
use super::super::super::document::number::as_i64_exact;
use super::super::super::document::{Doc, Owned, Value};
use super::super::super::fault::Result;
use super::Answer;
use super::Node;
use super::operator::{Arguments, Operator, strict};
use super::parse::Parser;

pub(super) static OPERATORS: &[Operator] = &[Operator {
    // The server computes nothing of it before the run, whatever its argument is.
    fold: Some(|_, _| Ok(None)),
    ..strict(
        "$toHashedIndexKey",
        Arguments::Custom(parse_one),
        |_, arguments| {
            let value = arguments.first().and_then(Answer::value).unwrap_or(Value::Null);
            Ok(Some(Owned::Int64(hashed_key(&value))))
        },
    )
}];

/// The only argument; an array is one.
fn parse_one(parser: &mut Parser<'_>, _: &'static Operator, value: &Value<'_>) -> Result<Vec<Node>> {
    Ok(vec![parser.operand(value)?])
}

/// The first eight bytes of the MD5 of the value and of a seed of zero.
fn hashed_key(value: &Value<'_>) -> i64 {
    let mut hasher = Md5::new();
    hasher.update(0_i32.to_le_bytes());
    hash(value, None, &mut hasher);
    let digest = hasher.finalize();
    digest
        .iter()
        .take(8)
        .rev()
        .fold(0_u64, |key, byte| key << 8 | u64::from(*byte)) as i64
}

/// Takes in the class of the value, its name in a document, and what it holds.
fn hash(value: &Value<'_>, name: Option<&[u8]>, hasher: &mut Md5) {
    hasher.update(class(value).to_le_bytes());
    if let Some(name) = name {
        hasher.update(name);
        hasher.update([0]);
    }
    match *value {
        Value::Document(doc) => hash_fields(doc, hasher),
        Value::Array(items) => {
            for (index, item) in items.values().enumerate() {
                hash(&item, Some(index.to_string().as_bytes()), hasher);
            }
            hash_end(hasher);
        }
        Value::CodeWithScope { code, scope } => {
            hasher.update(code.as_bytes());
            hasher.update([0]);
            hash_fields(scope, hasher);
        }
        number if number.is_number() => hasher.update(whole(&number).to_le_bytes()),
        ref other => {
            let mut bytes = Vec::new();
            other.write_payload(&mut bytes);
            hasher.update(bytes);
        }
    }
}

fn hash_fields(doc: Doc<'_>, hasher: &mut Md5) {
    for element in doc.elements() {
        hash(&element.value(), Some(element.name()), hasher);
    }
    hash_end(hasher);
}

/// The end of a document is an element of class zero.
fn hash_end(hasher: &mut Md5) {
    hasher.update(0_i32.to_le_bytes());
}

/// The class of types that compare with each other.
fn class(value: &Value<'_>) -> i32 {
    match value {
        Value::MinKey => -1,
        Value::Undefined => 0,
        Value::Null => 5,
        Value::Double(_) | Value::Int32(_) | Value::Int64(_) | Value::Decimal128(_) => 10,
        Value::String(_) | Value::Symbol(_) => 15,
        Value::Document(_) => 20,
        Value::Array(_) => 25,
        Value::Binary { .. } => 30,
        Value::ObjectId(_) => 35,
        Value::Bool(_) => 40,
        Value::DateTime(_) => 45,
        Value::Timestamp { .. } => 47,
        Value::Regex { .. } => 50,
        Value::DbPointer { .. } => 55,
        Value::Code(_) => 60,
        Value::CodeWithScope { .. } => 65,
        Value::MaxKey => 127,
    }
}

/// A number as the int64 that it is hashed as: doubles truncated, decimals rounded to even, the nearest there is for
/// those beyond, and zero for what is none.
fn whole(value: &Value<'_>) -> i64 {
    match *value {
        // The server's conversion wraps for the first that is too large, and for no other.
        Value::Double(x) if x == -(i64::MIN as f64) => i64::MIN,
        Value::Double(x) => x as i64,
        Value::Decimal128(bytes) => {
            let x = Decimal::from_bytes(bytes);
            let rounded = match x {
                Decimal::Finite { exponent, .. } if exponent < 0 => x.quantize(0, Rounding::HalfEven),
                _ => x,
            };
            match rounded.to_i64_exact() {
                Some(whole) => whole,
                None if x.is_nan() => 0,
                None if x.is_negative() => i64::MIN,
                None => i64::MAX,
            }
        }
        _ => as_i64_exact(value).unwrap_or(0),
    }
}
