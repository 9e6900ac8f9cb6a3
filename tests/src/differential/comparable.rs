//! Answers without what may differ: moments, ids that the server makes, which of two equal values stands for both.

use bson::oid::ObjectId;
use bson::{Bson, DateTime, Document, Timestamp};

/// From here on a date is that of the moment: no generated one is as late.
const CLOCK: i64 = 1_750_000_000;

/// In place of ids that the server makes.
const STILL: ObjectId = ObjectId::from_bytes([0xEE; 12]);

/// The ids that are generated here repeat one byte; others are of the server's making.
fn is_of_the_server(id: &ObjectId) -> bool {
    let bytes = id.bytes();
    bytes.iter().any(|byte| *byte != bytes[0])
}

/// The document with one date, and one id, in place of those that the clock gave.
pub(super) fn without_clock(document: Document) -> Document {
    document
        .into_iter()
        .map(|(name, value)| (name, still(value)))
        .collect()
}

/// The value in the same way.
pub(super) fn still(value: Bson) -> Bson {
    let still = |value| match value {
        Bson::DateTime(date) if date.timestamp_millis() / 1000 > CLOCK => {
            Bson::DateTime(DateTime::from_millis(CLOCK * 1000))
        }
        Bson::Timestamp(stamp) if i64::from(stamp.time) > CLOCK && stamp.time < u32::MAX => {
            Bson::Timestamp(Timestamp {
                time: CLOCK as u32,
                increment: 0,
            })
        }
        Bson::ObjectId(id) if is_of_the_server(&id) => Bson::ObjectId(STILL),
        // The same in writing.
        Bson::String(text) if ObjectId::parse_str(&text).is_ok_and(|id| is_of_the_server(&id)) => {
            Bson::String(STILL.to_hex())
        }
        other => other,
    };
    mapped(value, &still)
}

/// What distinct values are made of, without null.
pub(super) fn leaves(values: Vec<Bson>) -> Vec<Bson> {
    values
        .into_iter()
        .flat_map(|value| match value {
            Bson::Array(items) => leaves(items),
            Bson::Null | Bson::Undefined => Vec::new(),
            other => vec![other],
        })
        .collect()
}

/// Distinct values as a set. Which of two equal values stands for both depends on the order of the documents, so that
/// numbers are compared by value alone, and strings without their case and accents, which a collation may ignore.
pub(super) fn values(values: Vec<Bson>) -> Vec<String> {
    let plain = |value| match value {
        Bson::Int32(n) => Bson::Double(f64::from(n)),
        Bson::Int64(n) => Bson::Double(n as f64),
        Bson::Decimal128(n) => Bson::Double(n.to_string().parse().unwrap_or(f64::NAN)),
        Bson::Symbol(text) | Bson::String(text) => {
            Bson::String(text.to_lowercase().replace(['.', ' '], "").replace('é', "e"))
        }
        other => other,
    };
    let mut shown: Vec<String> = values
        .into_iter()
        .map(still)
        .map(|value| format!("{:?}", mapped(value, &plain)).replace("-0.0", "0.0"))
        .collect();
    shown.sort();
    shown
}

/// The value with another in the place of each that is neither a document nor an array.
pub(super) fn mapped(value: Bson, leaf: &impl Fn(Bson) -> Bson) -> Bson {
    match value {
        Bson::Array(items) => Bson::Array(items.into_iter().map(|item| mapped(item, leaf)).collect()),
        Bson::Document(fields) => Bson::Document(
            fields
                .into_iter()
                .map(|(name, value)| (name, mapped(value, leaf)))
                .collect(),
        ),
        other => leaf(other),
    }
}
