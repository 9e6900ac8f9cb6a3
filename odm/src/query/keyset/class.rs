//! The classes of values that MongoDB orders one after another, whatever the values.

use bson::{Binary, RawBson, RawBsonRef, RawDocumentBuf, Timestamp, oid::ObjectId, spec::BinarySubtype};

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

/// Every class but arrays with its types as `$type` names them.
///
/// `$type: "array"` finds what is an array, and not what has one as an element, which is ordered as one.
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
    /// The classes that have a [`least`](Class::least) value.
    pub(super) const COMPARED: [Class; 8] = [
        Class::Number,
        Class::Text,
        Class::Document,
        Class::Binary,
        Class::ObjectId,
        Class::Boolean,
        Class::Date,
        Class::Timestamp,
    ];

    pub(super) fn of(value: RawBsonRef<'_>) -> Class {
        match value {
            RawBsonRef::MinKey => Class::MinKey,
            RawBsonRef::Undefined => Class::Undefined,
            RawBsonRef::Null => Class::Null,
            RawBsonRef::Double(_)
            | RawBsonRef::Int32(_)
            | RawBsonRef::Int64(_)
            | RawBsonRef::Decimal128(_) => Class::Number,
            RawBsonRef::String(_) | RawBsonRef::Symbol(_) => Class::Text,
            RawBsonRef::Document(_) => Class::Document,
            RawBsonRef::Array(_) => Class::Array,
            RawBsonRef::Binary(_) => Class::Binary,
            RawBsonRef::ObjectId(_) => Class::ObjectId,
            RawBsonRef::Boolean(_) => Class::Boolean,
            RawBsonRef::DateTime(_) => Class::Date,
            RawBsonRef::Timestamp(_) => Class::Timestamp,
            RawBsonRef::RegularExpression(_) => Class::Pattern,
            RawBsonRef::DbPointer(_) => Class::Pointer,
            RawBsonRef::JavaScriptCode(_) => Class::Code,
            RawBsonRef::JavaScriptCodeWithScope(_) => Class::ScopedCode,
            RawBsonRef::MaxKey => Class::MaxKey,
        }
    }

    /// The least value of the class that a comparison finds, for classes that fields of one type have.
    pub(super) fn least(self) -> Option<RawBson> {
        Some(match self {
            Class::Number => RawBson::Double(f64::NEG_INFINITY),
            Class::Text => RawBson::String(String::new()),
            Class::Document => RawBson::Document(RawDocumentBuf::new()),
            Class::Binary => RawBson::Binary(Binary {
                subtype: BinarySubtype::Generic,
                bytes: Vec::new(),
            }),
            Class::ObjectId => RawBson::ObjectId(ObjectId::from_bytes([0; 12])),
            Class::Boolean => RawBson::Boolean(false),
            Class::Date => RawBson::DateTime(bson::DateTime::MIN),
            Class::Timestamp => RawBson::Timestamp(Timestamp {
                time: 0,
                increment: 0,
            }),
            _ => return None,
        })
    }

    /// Whether all values of the class are equal.
    pub(super) fn is_single(self) -> bool {
        matches!(
            self,
            Class::MinKey | Class::Undefined | Class::Null | Class::MaxKey
        )
    }

    /// The names of the types below, or above, without null, which has none that takes missing fields in, and arrays.
    pub(super) fn others(self, below: bool) -> Vec<&'static str> {
        let others = NAMES.iter().filter(|(class, _)| match below {
            true => *class < self,
            false => *class > self,
        });
        others.flat_map(|(_, names)| names.iter().copied()).collect()
    }

    /// Whether this other class is below, or above.
    pub(super) fn has(self, other: Class, below: bool) -> bool {
        self != other && (other < self) == below
    }
}
