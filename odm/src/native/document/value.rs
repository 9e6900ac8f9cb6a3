//! One BSON value, borrowed.

use super::doc::Doc;

/// A BSON value borrowed from validated bytes or from an [`super::Owned`] tree. Cheap to copy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    MinKey,
    Undefined,
    Null,
    Double(f64),
    Int32(i32),
    Int64(i64),
    /// The sixteen bytes of an IEEE 754-2008 decimal128 (BID encoding), little-endian.
    Decimal128([u8; 16]),
    String(&'a str),
    Symbol(&'a str),
    Document(Doc<'a>),
    /// The elements' names are meaningless ("0", "1", ... by convention).
    Array(Doc<'a>),
    Binary {
        subtype: u8,
        bytes: &'a [u8],
    },
    ObjectId([u8; 12]),
    Bool(bool),
    /// Milliseconds since the Unix epoch.
    DateTime(i64),
    Timestamp {
        time: u32,
        increment: u32,
    },
    Regex {
        pattern: &'a str,
        options: &'a str,
    },
    DbPointer {
        namespace: &'a str,
        id: [u8; 12],
    },
    Code(&'a str),
    CodeWithScope {
        code: &'a str,
        scope: Doc<'a>,
    },
    MaxKey,
}

/// The BSON type of a value, by its wire byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Kind {
    Double = 0x01,
    String = 0x02,
    Document = 0x03,
    Array = 0x04,
    Binary = 0x05,
    Undefined = 0x06,
    ObjectId = 0x07,
    Bool = 0x08,
    DateTime = 0x09,
    Null = 0x0A,
    Regex = 0x0B,
    DbPointer = 0x0C,
    Code = 0x0D,
    Symbol = 0x0E,
    CodeWithScope = 0x0F,
    Int32 = 0x10,
    Timestamp = 0x11,
    Int64 = 0x12,
    Decimal128 = 0x13,
    MinKey = 0xFF,
    MaxKey = 0x7F,
}

impl Kind {
    /// Every type.
    pub(crate) const ALL: [Kind; 21] = [
        Kind::Double,
        Kind::String,
        Kind::Document,
        Kind::Array,
        Kind::Binary,
        Kind::Undefined,
        Kind::ObjectId,
        Kind::Bool,
        Kind::DateTime,
        Kind::Null,
        Kind::Regex,
        Kind::DbPointer,
        Kind::Code,
        Kind::Symbol,
        Kind::CodeWithScope,
        Kind::Int32,
        Kind::Timestamp,
        Kind::Int64,
        Kind::Decimal128,
        Kind::MinKey,
        Kind::MaxKey,
    ];

    /// The type with this wire byte.
    #[inline]
    pub(crate) fn from_byte(byte: u8) -> Option<Kind> {
        /// By their bytes.
        static KINDS: [Option<Kind>; 256] = {
            let mut kinds = [None; 256];
            let mut at = 0;
            while at < Kind::ALL.len() {
                kinds[Kind::ALL[at] as usize] = Some(Kind::ALL[at]);
                at += 1;
            }
            kinds
        };
        KINDS[usize::from(byte)]
    }

    /// The alias that `$type` takes and error messages print ("int", "objectId", ...).
    pub(crate) fn alias(self) -> &'static str {
        match self {
            Kind::Double => "double",
            Kind::String => "string",
            Kind::Document => "object",
            Kind::Array => "array",
            Kind::Binary => "binData",
            Kind::Undefined => "undefined",
            Kind::ObjectId => "objectId",
            Kind::Bool => "bool",
            Kind::DateTime => "date",
            Kind::Null => "null",
            Kind::Regex => "regex",
            Kind::DbPointer => "dbPointer",
            Kind::Code => "javascript",
            Kind::Symbol => "symbol",
            Kind::CodeWithScope => "javascriptWithScope",
            Kind::Int32 => "int",
            Kind::Timestamp => "timestamp",
            Kind::Int64 => "long",
            Kind::Decimal128 => "decimal",
            Kind::MinKey => "minKey",
            Kind::MaxKey => "maxKey",
        }
    }
}

impl<'a> Value<'a> {
    /// The value's BSON type.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Value::MinKey => Kind::MinKey,
            Value::Undefined => Kind::Undefined,
            Value::Null => Kind::Null,
            Value::Double(_) => Kind::Double,
            Value::Int32(_) => Kind::Int32,
            Value::Int64(_) => Kind::Int64,
            Value::Decimal128(_) => Kind::Decimal128,
            Value::String(_) => Kind::String,
            Value::Symbol(_) => Kind::Symbol,
            Value::Document(_) => Kind::Document,
            Value::Array(_) => Kind::Array,
            Value::Binary { .. } => Kind::Binary,
            Value::ObjectId(_) => Kind::ObjectId,
            Value::Bool(_) => Kind::Bool,
            Value::DateTime(_) => Kind::DateTime,
            Value::Timestamp { .. } => Kind::Timestamp,
            Value::Regex { .. } => Kind::Regex,
            Value::DbPointer { .. } => Kind::DbPointer,
            Value::Code(_) => Kind::Code,
            Value::CodeWithScope { .. } => Kind::CodeWithScope,
            Value::MaxKey => Kind::MaxKey,
        }
    }

    /// Whether the value is of one of the four numeric types.
    pub(crate) fn is_number(&self) -> bool {
        matches!(
            self,
            Value::Double(_) | Value::Int32(_) | Value::Int64(_) | Value::Decimal128(_)
        )
    }

    /// The embedded document, if it is one.
    pub(crate) fn as_document(&self) -> Option<Doc<'a>> {
        match self {
            Value::Document(doc) => Some(*doc),
            _ => None,
        }
    }

    /// The array, if it is one.
    pub(crate) fn as_array(&self) -> Option<Doc<'a>> {
        match self {
            Value::Array(doc) => Some(*doc),
            _ => None,
        }
    }

    /// The string, if it is one.
    pub(crate) fn as_str(&self) -> Option<&'a str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Appends the value's BSON payload (without type byte and name).
    pub(crate) fn write_payload(&self, out: &mut Vec<u8>) {
        match *self {
            Value::MinKey | Value::MaxKey | Value::Undefined | Value::Null => {}
            Value::Double(x) => out.extend_from_slice(&x.to_le_bytes()),
            Value::Int32(x) => out.extend_from_slice(&x.to_le_bytes()),
            Value::Int64(x) | Value::DateTime(x) => out.extend_from_slice(&x.to_le_bytes()),
            Value::Decimal128(bytes) => out.extend_from_slice(&bytes),
            Value::String(text) | Value::Symbol(text) | Value::Code(text) => write_string(text, out),
            Value::Document(doc) => doc.write(out),
            Value::Array(doc) => doc.write_as_array(out),
            Value::Binary { subtype, bytes } => {
                // Subtype 2 carries a second, inner length.
                if subtype == 2 {
                    out.extend_from_slice(&(bytes.len() as i32 + 4).to_le_bytes());
                    out.push(subtype);
                }
                out.extend_from_slice(&(bytes.len() as i32).to_le_bytes());
                if subtype != 2 {
                    out.push(subtype);
                }
                out.extend_from_slice(bytes);
            }
            Value::ObjectId(id) => out.extend_from_slice(&id),
            Value::Bool(b) => out.push(u8::from(b)),
            Value::Timestamp { time, increment } => {
                out.extend_from_slice(&increment.to_le_bytes());
                out.extend_from_slice(&time.to_le_bytes());
            }
            Value::Regex { pattern, options } => {
                out.extend_from_slice(pattern.as_bytes());
                out.push(0);
                out.extend_from_slice(options.as_bytes());
                out.push(0);
            }
            Value::DbPointer { namespace, id } => {
                write_string(namespace, out);
                out.extend_from_slice(&id);
            }
            Value::CodeWithScope { code, scope } => {
                let start = out.len();
                out.extend_from_slice(&[0; 4]);
                write_string(code, out);
                scope.write(out);
                let length = (out.len() - start) as i32;
                out[start..start + 4].copy_from_slice(&length.to_le_bytes());
            }
        }
    }

    /// Appends the value as a BSON element with this name.
    pub(crate) fn write_element(&self, name: &[u8], out: &mut Vec<u8>) {
        out.push(self.kind() as u8);
        out.extend_from_slice(name);
        out.push(0);
        self.write_payload(out);
    }
}

fn write_string(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(&(text.len() as i32 + 1).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}
