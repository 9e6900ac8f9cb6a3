//! The classes of values that MongoDB orders one after another, whatever the values.

use bson::RawBson;

/// The place of a value's type in MongoDB's order of types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    MinKey,
    Undefined,
    Null,
    Number,
    Text,
    Document,
    Array,
    Binary,
    ObjectId,
    Boolean,
    Date,
    Timestamp,
    Pattern,
    Pointer,
    Code,
    ScopedCode,
    MaxKey,
}

/// Every class but arrays, which are refused, with its types as `$type` names them.
///
/// `$type: "array"` would cost the bounds of the index: an array has the keys of its elements.
const NAMES: [(Class, &[&str]); 16] = [
    (Class::MinKey, &["minKey"]),
    (Class::Undefined, &["undefined"]),
    (Class::Null, &[]),
    (Class::Number, &["number"]),
    (Class::Text, &["string", "symbol"]),
    (Class::Document, &["object"]),
    (Class::Binary, &["binData"]),
    (Class::ObjectId, &["objectId"]),
    (Class::Boolean, &["bool"]),
    (Class::Date, &["date"]),
    (Class::Timestamp, &["timestamp"]),
    (Class::Pattern, &["regex"]),
    (Class::Pointer, &["dbPointer"]),
    (Class::Code, &["javascript"]),
    (Class::ScopedCode, &["javascriptWithScope"]),
    (Class::MaxKey, &["maxKey"]),
];

impl Class {
    pub(super) fn of(value: &RawBson) -> Class {
        match value {
            RawBson::MinKey => Class::MinKey,
            RawBson::Undefined => Class::Undefined,
            RawBson::Null => Class::Null,
            RawBson::Double(_) | RawBson::Int32(_) | RawBson::Int64(_) | RawBson::Decimal128(_) => {
                Class::Number
            }
            RawBson::String(_) | RawBson::Symbol(_) => Class::Text,
            RawBson::Document(_) => Class::Document,
            RawBson::Array(_) => Class::Array,
            RawBson::Binary(_) => Class::Binary,
            RawBson::ObjectId(_) => Class::ObjectId,
            RawBson::Boolean(_) => Class::Boolean,
            RawBson::DateTime(_) => Class::Date,
            RawBson::Timestamp(_) => Class::Timestamp,
            RawBson::RegularExpression(_) => Class::Pattern,
            RawBson::DbPointer(_) => Class::Pointer,
            RawBson::JavaScriptCode(_) => Class::Code,
            RawBson::JavaScriptCodeWithScope(_) => Class::ScopedCode,
            RawBson::MaxKey => Class::MaxKey,
        }
    }

    /// Whether all values of the class are equal.
    pub(super) fn is_single(self) -> bool {
        matches!(
            self,
            Class::MinKey | Class::Undefined | Class::Null | Class::MaxKey
        )
    }

    /// The names of the types below, or above. Null, which has none that takes missing fields in, is left out.
    pub(super) fn others(self, below: bool) -> Vec<&'static str> {
        let others = NAMES.iter().filter(|(class, _)| match below {
            true => *class < self,
            false => *class > self,
        });
        others.flat_map(|(_, names)| names.iter().copied()).collect()
    }
}
