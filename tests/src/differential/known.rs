//! What is not promised, and what the server is known to do otherwise. The guide's page `supported.md` names the
//! latter with the reasons.

use bson::oid::ObjectId;
use bson::{Bson, DateTime, Document, Timestamp};

use super::machine::Answer;

/// Whether this difference is one that the server is known for, for reasons of its own.
pub(super) fn is_known(command: &Document, own: &Answer, their: &Answer) -> bool {
    let text = command.to_string();
    let refused = |answer: &Answer, code: i32| *answer == Answer::Refused(Some(code));
    let empty = Vec::new();
    let stages: Vec<&Document> = match command.get_array("pipeline") {
        Ok(stages) => stages,
        Err(_) => &empty,
    }
    .iter()
    .filter_map(Bson::as_document)
    .collect();
    // A `$match` that it moves or joins with another is parsed again from a text that it cannot read: code 2.
    let unreadable = text.contains("$elemMatch") && text.contains("$all") && refused(their, 2);
    // A `$match` that it moves forward keeps from the stages before it the rows on which they fail; of several
    // conditions of one filter, the order decides whether one that fails is asked.
    let later = stages.iter().skip(1).any(|stage| stage.contains_key("$match"));
    let spared = (later || text.contains("$expr")) && own.is_refused() != their.is_refused();
    // A group by MinKey or MaxKey comes out as `{"": MinKey}` when another stage stands beside it.
    let wrapped = match their {
        Answer::Documents(batches) => batches.iter().flatten().any(|row| {
            row.as_bytes()
                .windows(6)
                .any(|at| at == [7, 0, 0, 0, 0xFF, 0] || at == [7, 0, 0, 0, 0x7F, 0])
        }),
        _ => false,
    };
    unreadable || spared || wrapped
}

/// From here on a date is that of the moment: no generated one is as late.
const CLOCK: i64 = 1_750_000_000;

/// The document with one date, and one id, in place of those that the clock gave.
pub(super) fn without_clock(document: Document) -> Document {
    document
        .into_iter()
        .map(|(name, value)| (name, still(value)))
        .collect()
}

/// The value in the same way.
pub(super) fn still(value: Bson) -> Bson {
    match value {
        Bson::DateTime(date) if date.timestamp_millis() / 1000 > CLOCK => {
            Bson::DateTime(DateTime::from_millis(CLOCK * 1000))
        }
        Bson::Timestamp(stamp) if i64::from(stamp.time) > CLOCK && stamp.time < u32::MAX => {
            Bson::Timestamp(Timestamp {
                time: CLOCK as u32,
                increment: 0,
            })
        }
        // The ids that are generated here repeat one byte; others are of the server's making.
        Bson::ObjectId(id) if id.bytes().iter().any(|byte| *byte != id.bytes()[0]) => {
            Bson::ObjectId(ObjectId::from_bytes([0xEE; 12]))
        }
        Bson::Document(document) => Bson::Document(without_clock(document)),
        Bson::Array(items) => Bson::Array(items.into_iter().map(still).collect()),
        other => other,
    }
}

/// Distinct values as a set. Which of two equal values stands for both depends on the order of the documents, so that
/// numbers are compared by value alone, and strings without their case and accents, which a collation may ignore.
pub(super) fn values(values: Vec<Bson>) -> Vec<String> {
    fn plain(value: Bson) -> Bson {
        match value {
            Bson::Int32(n) => Bson::Double(f64::from(n)),
            Bson::Int64(n) => Bson::Double(n as f64),
            Bson::Decimal128(n) => Bson::Double(n.to_string().parse().unwrap_or(f64::NAN)),
            Bson::Symbol(text) | Bson::String(text) => {
                Bson::String(text.to_lowercase().replace(['.', ' '], "").replace('é', "e"))
            }
            Bson::Array(items) => Bson::Array(items.into_iter().map(plain).collect()),
            Bson::Document(fields) => Bson::Document(
                fields
                    .into_iter()
                    .map(|(name, value)| (name, plain(value)))
                    .collect(),
            ),
            other => other,
        }
    }
    let mut shown: Vec<String> = values
        .into_iter()
        .map(still)
        .map(|value| format!("{:?}", plain(value)).replace("-0.0", "0.0"))
        .collect();
    shown.sort();
    shown
}
