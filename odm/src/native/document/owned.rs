//! An owned BSON value: what updates change and expressions produce.

use super::doc::Doc;
use super::value::Value;

/// The fields of an owned document, in order; duplicate names are possible, as in BSON.
pub(crate) type Fields = Vec<(String, Owned)>;

/// An owned BSON value.
#[derive(Clone, Debug)]
pub(crate) enum Owned {
    MinKey,
    Undefined,
    Null,
    Double(f64),
    Int32(i32),
    Int64(i64),
    Decimal128([u8; 16]),
    String(String),
    Symbol(String),
    Document(Fields),
    Array(Vec<Owned>),
    /// A document kept as its bytes, until somebody needs to change it.
    RawDocument(Vec<u8>),
    /// An array kept as its bytes.
    RawArray(Vec<u8>),
    Binary {
        subtype: u8,
        bytes: Vec<u8>,
    },
    ObjectId([u8; 12]),
    Bool(bool),
    DateTime(i64),
    Timestamp {
        time: u32,
        increment: u32,
    },
    /// The pattern and its options. What is rare takes no room in others.
    Regex(Box<[String; 2]>),
    DbPointer {
        namespace: Box<str>,
        id: [u8; 12],
    },
    Code(String),
    /// The code and its scope.
    CodeWithScope(Box<(String, Fields)>),
    MaxKey,
}

// Arrays of numbers and computed documents are made of them.
const _: () = assert!(size_of::<Owned>() <= 32);

impl Owned {
    /// A regular expression.
    pub(crate) fn regex(pattern: &str, options: &str) -> Owned {
        Owned::Regex(Box::new([pattern.to_owned(), options.to_owned()]))
    }

    /// Borrows the value.
    pub(crate) fn as_value(&self) -> Value<'_> {
        match self {
            Owned::MinKey => Value::MinKey,
            Owned::Undefined => Value::Undefined,
            Owned::Null => Value::Null,
            Owned::Double(x) => Value::Double(*x),
            Owned::Int32(x) => Value::Int32(*x),
            Owned::Int64(x) => Value::Int64(*x),
            Owned::Decimal128(bytes) => Value::Decimal128(*bytes),
            Owned::String(text) => Value::String(text),
            Owned::Symbol(text) => Value::Symbol(text),
            Owned::Document(fields) => Value::Document(Doc::Fields(fields)),
            Owned::Array(items) => Value::Array(Doc::Items(items)),
            Owned::RawDocument(bytes) => Value::Document(Doc::Raw(bytes)),
            Owned::RawArray(bytes) => Value::Array(Doc::Raw(bytes)),
            Owned::Binary { subtype, bytes } => Value::Binary {
                subtype: *subtype,
                bytes,
            },
            Owned::ObjectId(id) => Value::ObjectId(*id),
            Owned::Bool(b) => Value::Bool(*b),
            Owned::DateTime(ms) => Value::DateTime(*ms),
            Owned::Timestamp { time, increment } => Value::Timestamp {
                time: *time,
                increment: *increment,
            },
            Owned::Regex(both) => {
                let [pattern, options] = &**both;
                Value::Regex { pattern, options }
            }
            Owned::DbPointer { namespace, id } => Value::DbPointer { namespace, id: *id },
            Owned::Code(code) => Value::Code(code),
            Owned::CodeWithScope(both) => Value::CodeWithScope {
                code: &both.0,
                scope: Doc::Fields(&both.1),
            },
            Owned::MaxKey => Value::MaxKey,
        }
    }

    /// Makes documents and arrays kept as bytes into trees, one level deep, so that they can be changed.
    pub(crate) fn open(&mut self) {
        match self {
            Owned::RawDocument(bytes) => *self = Owned::Document(fields_of(Doc::Raw(bytes))),
            Owned::RawArray(bytes) => *self = Owned::Array(items_of(Doc::Raw(bytes))),
            _ => {}
        }
    }

    /// Makes all that is kept as bytes into trees, however deep it is.
    pub(crate) fn open_all(&mut self) {
        self.open();
        match self {
            Owned::Document(fields) => fields.iter_mut().for_each(|(_, value)| value.open_all()),
            Owned::Array(items) => items.iter_mut().for_each(Owned::open_all),
            _ => {}
        }
    }
}

/// The fields of a document; nested documents and arrays stay bytes.
pub(crate) fn fields_of(doc: Doc<'_>) -> Fields {
    doc.elements()
        .map(|element| (element.name_str().to_owned(), element.value().into()))
        .collect()
}

/// A field of a document.
pub(crate) fn field(name: &str, value: Owned) -> (String, Owned) {
    (name.to_owned(), value)
}

/// A document of one field.
pub(crate) fn one(name: &str, value: Owned) -> Owned {
    Owned::Document(vec![field(name, value)])
}

/// The items of an array; nested documents and arrays stay bytes.
pub(crate) fn items_of(doc: Doc<'_>) -> Vec<Owned> {
    doc.values().map(Owned::from).collect()
}

impl From<Value<'_>> for Owned {
    fn from(value: Value<'_>) -> Owned {
        match value {
            Value::MinKey => Owned::MinKey,
            Value::Undefined => Owned::Undefined,
            Value::Null => Owned::Null,
            Value::Double(x) => Owned::Double(x),
            Value::Int32(x) => Owned::Int32(x),
            Value::Int64(x) => Owned::Int64(x),
            Value::Decimal128(bytes) => Owned::Decimal128(bytes),
            Value::String(text) => Owned::String(text.to_owned()),
            Value::Symbol(text) => Owned::Symbol(text.to_owned()),
            Value::Document(Doc::Raw(bytes)) => Owned::RawDocument(bytes.to_vec()),
            Value::Document(Doc::Fields(fields)) => Owned::Document(fields.to_vec()),
            Value::Document(doc @ Doc::Items(_)) => Owned::RawDocument(doc.to_bytes()),
            Value::Array(Doc::Raw(bytes)) => Owned::RawArray(bytes.to_vec()),
            Value::Array(Doc::Items(items)) => Owned::Array(items.to_vec()),
            Value::Array(Doc::Fields(fields)) => {
                Owned::Array(fields.iter().map(|(_, value)| value.clone()).collect())
            }
            Value::Binary { subtype, bytes } => Owned::Binary {
                subtype,
                bytes: bytes.to_vec(),
            },
            Value::ObjectId(id) => Owned::ObjectId(id),
            Value::Bool(b) => Owned::Bool(b),
            Value::DateTime(ms) => Owned::DateTime(ms),
            Value::Timestamp { time, increment } => Owned::Timestamp { time, increment },
            Value::Regex { pattern, options } => Owned::regex(pattern, options),
            Value::DbPointer { namespace, id } => Owned::DbPointer {
                namespace: namespace.into(),
                id,
            },
            Value::Code(code) => Owned::Code(code.to_owned()),
            Value::CodeWithScope { code, scope } => {
                Owned::CodeWithScope(Box::new((code.to_owned(), fields_of(scope))))
            }
            Value::MaxKey => Owned::MaxKey,
        }
    }
}
