//! Values as MongoDB's error messages print them.

use std::fmt;

use super::super::document::decimal::Decimal;
use super::super::document::{Doc, Value};

/// Longer strings are cut in messages.
const LONGEST_TEXT: usize = 160;

/// Prints a value: `1`, `"text"`, `{ a: 1 }`, `new Date(0)`, ...
#[derive(Clone, Copy)]
pub(crate) struct Shown<'a>(pub(crate) Value<'a>);

/// Prints an element: `name: value`.
#[derive(Clone, Copy)]
pub(crate) struct ShownElement<'a>(pub(crate) &'a str, pub(crate) Value<'a>);

impl fmt::Display for ShownElement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0, Shown(self.1))
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::MinKey => f.write_str("MinKey"),
            Value::MaxKey => f.write_str("MaxKey"),
            Value::Undefined => f.write_str("undefined"),
            Value::Null => f.write_str("null"),
            Value::Double(x) => f.write_str(&double(x)),
            Value::Int32(x) => write!(f, "{x}"),
            Value::Int64(x) => write!(f, "{x}"),
            Value::Decimal128(bytes) => write!(f, "{}", Decimal::from_bytes(bytes)),
            Value::String(text) | Value::Symbol(text) => match text.char_indices().nth(LONGEST_TEXT) {
                Some(_) => {
                    let end = text
                        .char_indices()
                        .nth(LONGEST_TEXT - 10)
                        .map_or(text.len(), |(at, _)| at);
                    write!(f, "\"{}...\"", &text[..end])
                }
                None => write!(f, "\"{text}\""),
            },
            Value::Document(doc) => document(doc, f),
            Value::Array(items) => {
                f.write_str("[")?;
                for (index, value) in items.values().enumerate() {
                    f.write_str(if index == 0 { " " } else { ", " })?;
                    write!(f, "{}", Shown(value))?;
                }
                f.write_str(if items.is_empty() { "]" } else { " ]" })
            }
            Value::Binary { subtype, bytes } => {
                write!(f, "BinData({subtype}, ")?;
                for byte in bytes {
                    write!(f, "{byte:02X}")?;
                }
                f.write_str(")")
            }
            Value::ObjectId(id) => write!(f, "ObjectId('{}')", Hex(&id)),
            Value::Bool(b) => write!(f, "{b}"),
            Value::DateTime(ms) => write!(f, "new Date({ms})"),
            Value::Timestamp { time, increment } => write!(f, "Timestamp({time}, {increment})"),
            Value::Regex { pattern, options } => write!(f, "/{pattern}/{options}"),
            Value::DbPointer { namespace, id } => write!(f, "DBRef('{namespace}',{})", Hex(&id)),
            Value::Code(code) => f.write_str(code),
            Value::CodeWithScope { code, scope } => {
                write!(f, "CodeWScope( {code}, ")?;
                document(scope, f)?;
                f.write_str(")")
            }
        }
    }
}

fn document(doc: Doc<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if doc.is_empty() {
        return f.write_str("{}");
    }
    f.write_str("{")?;
    for (index, element) in doc.elements().enumerate() {
        f.write_str(if index == 0 { " " } else { ", " })?;
        write!(f, "{}", ShownElement(element.name_str(), element.value()))?;
    }
    f.write_str(" }")
}

struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A double as the server prints it: C's `%.16g`, with ".0" when there is no point.
fn double(x: f64) -> String {
    if x.is_nan() {
        return "nan.0".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf" } else { "-inf" }.to_owned() + ".0";
    }
    let mut text = general(x, 16);
    if !text.contains('.') {
        text.push_str(".0");
    }
    text
}

/// C's `%.{digits}g`.
pub(crate) fn general(x: f64, digits: usize) -> String {
    if x == 0.0 {
        return if x.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let scientific = format!("{:.*e}", digits - 1, x);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs())
    } else {
        trimmed(&format!(
            "{x:.*}",
            usize::try_from(digits as i32 - 1 - exponent).unwrap_or(0)
        ))
    }
}
