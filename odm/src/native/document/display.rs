//! Values as mongod prints them in its messages.

use std::fmt;

use super::decimal::Decimal;
use super::doc::Doc;
use super::value::Value;

/// The longest string printed in full, in bytes; of longer ones the first [`SHORTENED`] are.
const LONGEST: usize = 159;
const SHORTENED: usize = 150;
/// The same for binary data.
const LONGEST_BINARY: usize = 80;
const SHORTENED_BINARY: usize = 70;

impl fmt::Display for Doc<'_> {
    /// `{ a: 1, b: [ 2.0, "x" ] }`; an owned array prints as an array.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doc::Items(_) => write_array(*self, f),
            _ => write_document(*self, f),
        }
    }
}

fn write_document(doc: Doc<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if doc.is_empty() {
        return f.write_str("{}");
    }
    let mut separator = "{ ";
    for element in doc.elements() {
        write!(f, "{separator}{}: {}", element.name_str(), element.value())?;
        separator = ", ";
    }
    f.write_str(" }")
}

fn write_array(doc: Doc<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if doc.is_empty() {
        return f.write_str("[]");
    }
    let mut separator = "[ ";
    for value in doc.values() {
        write!(f, "{separator}{value}")?;
        separator = ", ";
    }
    f.write_str(" ]")
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Value::MinKey => f.write_str("MinKey"),
            Value::MaxKey => f.write_str("MaxKey"),
            Value::Undefined => f.write_str("undefined"),
            Value::Null => f.write_str("null"),
            Value::Double(x) => f.write_str(&double(x)),
            Value::Int32(x) => write!(f, "{x}"),
            Value::Int64(x) => write!(f, "{x}"),
            Value::Decimal128(bytes) => write!(f, "{}", Decimal::from_bytes(bytes)),
            Value::String(text) | Value::Symbol(text) => {
                if text.len() > LONGEST {
                    let mut end = SHORTENED;
                    while !text.is_char_boundary(end) {
                        end -= 1;
                    }
                    write!(f, "\"{}...\"", &text[..end])
                } else {
                    write!(f, "\"{text}\"")
                }
            }
            Value::Document(doc) => write_document(doc, f),
            Value::Array(doc) => write_array(doc, f),
            Value::Binary {
                subtype: 4,
                bytes: &[a, b, c, d, e, g, h, i, j, ref rest @ ..],
            } if rest.len() == 7 => {
                f.write_str("UUID(\"")?;
                write_hex(&[a, b, c, d], f)?;
                for group in [&[e, g], &[h, i], &[j, rest[0]]] {
                    f.write_str("-")?;
                    write_hex(group, f)?;
                }
                f.write_str("-")?;
                write_hex(&rest[1..], f)?;
                f.write_str("\")")
            }
            Value::Binary { subtype, bytes } => {
                write!(f, "BinData({subtype}, ")?;
                if bytes.len() > LONGEST_BINARY {
                    write!(f, "{}...)", hex(&bytes[..SHORTENED_BINARY], true))
                } else {
                    write!(f, "{})", hex(bytes, true))
                }
            }
            Value::ObjectId(id) => {
                f.write_str("ObjectId('")?;
                write_hex(&id, f)?;
                f.write_str("')")
            }
            Value::Bool(x) => write!(f, "{x}"),
            Value::DateTime(millis) => write!(f, "new Date({millis})"),
            Value::Timestamp { time, increment } => write!(f, "Timestamp({time}, {increment})"),
            Value::Regex { pattern, options } => write!(f, "/{pattern}/{options}"),
            Value::DbPointer { namespace, id } => {
                write!(f, "DBRef('{namespace}',")?;
                write_hex(&id, f)?;
                f.write_str(")")
            }
            Value::Code(code) => f.write_str(code),
            Value::CodeWithScope { code, scope } => write!(f, "CodeWScope( {code}, {scope})"),
        }
    }
}

fn write_hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(&hex(bytes, false))
}

/// C's `%.16g`, and `.0` when there is no point.
fn double(x: f64) -> String {
    let mut text = significant(x, 16);
    if !text.contains('.') {
        text.push_str(".0");
    }
    text
}

/// A double as C's `%.{digits}g` prints it.
pub(crate) fn significant(x: f64, digits: i32) -> String {
    if x.is_nan() {
        return "nan".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let places = (digits - 1).unsigned_abs() as usize;
    let scientific = format!("{x:.places$e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..digits).contains(&exponent) {
        let places = (digits - 1 - exponent).unsigned_abs() as usize;
        trim_zeros(&format!("{x:.places$}")).to_owned()
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trim_zeros(mantissa), exponent.abs())
    }
}

/// Hexadecimal digits, two for each byte.
pub(crate) fn hex(bytes: &[u8], upper: bool) -> String {
    let digits: &[u8; 16] = if upper {
        b"0123456789ABCDEF"
    } else {
        b"0123456789abcdef"
    };
    bytes
        .iter()
        .flat_map(|byte| [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]])
        .map(char::from)
        .collect()
}

fn trim_zeros(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::owned::Owned;
    use super::*;

    #[test]
    fn values_print_like_on_mongod() {
        for (value, text) in [
            (Owned::Double(1.0), "1.0"),
            (Owned::Double(1e22), "1e+22.0"),
            (Owned::Double(1e-7), "1e-07.0"),
            (Owned::Double(0.1), "0.1"),
            (Owned::Double(123_456_789.125), "123456789.125"),
            (Owned::Double(1e15), "1000000000000000.0"),
            (Owned::Double(1e16), "1e+16.0"),
            (Owned::Double(123_456_789_012_345_680.0), "1.234567890123457e+17"),
            (Owned::Double(f64::NAN), "nan.0"),
            (Owned::Double(f64::NEG_INFINITY), "-inf.0"),
            (Owned::Double(-0.0), "-0.0"),
            (Owned::Double(5e-324), "4.940656458412465e-324"),
            (Owned::Double(1.0 / 3.0), "0.3333333333333333"),
            (Owned::String("q\"uo".into()), "\"q\"uo\""),
            (
                Owned::Document(vec![(
                    "a".into(),
                    Owned::Array(vec![Owned::Int32(1), Owned::Document(vec![])]),
                )]),
                "{ a: [ 1, {} ] }",
            ),
            (Owned::Array(vec![]), "[]"),
            (
                Owned::Binary {
                    subtype: 0,
                    bytes: b"\xdebc".to_vec(),
                },
                "BinData(0, DE6263)",
            ),
            (
                Owned::Binary {
                    subtype: 4,
                    bytes: (0..16).collect(),
                },
                "UUID(\"00010203-0405-0607-0809-0a0b0c0d0e0f\")",
            ),
            (Owned::ObjectId([1; 12]), "ObjectId('010101010101010101010101')"),
            (Owned::DateTime(-5), "new Date(-5)"),
            (
                Owned::Timestamp {
                    time: 1,
                    increment: 2,
                },
                "Timestamp(1, 2)",
            ),
            (Owned::regex("a/b", "im"), "/a/b/im"),
            (
                Owned::CodeWithScope(Box::new(("f()".into(), vec![("a".into(), Owned::Int32(1))]))),
                "CodeWScope( f(), { a: 1 })",
            ),
        ] {
            assert_eq!(value.as_value().to_string(), text);
        }
        let long = "x".repeat(160);
        let printed = Value::String(&long).to_string();
        assert_eq!(printed, format!("\"{}...\"", "x".repeat(150)));
    }
}
