//! Values as MongoDB's error messages print them, in its two ways.

use super::super::document::decimal::Decimal;
use super::super::document::{Doc, Value};
use super::expression::Answer;

/// A document in the way of its BSON: `{ a: 1, b: "x" }`.
pub(crate) fn bson(doc: Doc<'_>) -> String {
    let mut out = String::new();
    document(doc, Style::Bson, &mut out);
    out
}

/// A value in the way of its BSON.
pub(crate) fn bson_value(value: &Value<'_>) -> String {
    let mut out = String::new();
    write(value, Style::Bson, &mut out);
    out
}

/// A value in the way of aggregation: `{a: 1, b: "x"}`.
pub(crate) fn value(value: &Value<'_>) -> String {
    let mut out = String::new();
    write(value, Style::Plain, &mut out);
    out
}

/// What an expression gave, "MISSING" for nothing.
pub(crate) fn answer(answer: &Answer<'_>) -> String {
    answer
        .value()
        .map_or_else(|| "MISSING".to_owned(), |found| value(&found))
}

/// A double with six significant digits, as C++ streams print it.
pub(crate) fn double(x: f64) -> String {
    significant(x, 6)
}

/// A double as C's `%.{digits}g` prints it.
pub(crate) fn significant(x: f64, digits: usize) -> String {
    if x.is_nan() {
        return "nan".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    if x == 0.0 {
        return if x.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let scientific = format!("{:.*e}", digits.saturating_sub(1), x);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let power: i32 = exponent.parse().unwrap_or(0);
    if power < -4 || power >= digits as i32 {
        let sign = if power < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trim_zeros(mantissa), power.abs())
    } else {
        let places = (digits as i32 - 1 - power).max(0) as usize;
        trim_zeros(&format!("{x:.places$}")).to_owned()
    }
}

fn trim_zeros(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Bson,
    Plain,
}

fn write(value: &Value<'_>, style: Style, out: &mut String) {
    let plain = style == Style::Plain;
    match *value {
        Value::MinKey => out.push_str("MinKey"),
        Value::MaxKey => out.push_str("MaxKey"),
        Value::Undefined => out.push_str("undefined"),
        Value::Null => out.push_str("null"),
        Value::Double(x) if plain => out.push_str(&double(x)),
        Value::Double(x) => {
            let text = significant(x, 16);
            out.push_str(&text);
            if !text.contains('.') {
                out.push_str(".0");
            }
        }
        Value::Int32(x) => out.push_str(&x.to_string()),
        Value::Int64(x) => out.push_str(&x.to_string()),
        Value::Decimal128(bytes) => out.push_str(&Decimal::from_bytes(bytes).to_string()),
        Value::String(text) | Value::Symbol(text) => {
            out.push('"');
            out.push_str(text);
            out.push('"');
        }
        Value::Document(doc) => document(doc, style, out),
        Value::Array(items) if items.is_empty() => out.push_str("[]"),
        Value::Array(items) => {
            out.push_str(if plain { "[" } else { "[ " });
            for (index, item) in items.values().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write(&item, style, out);
            }
            out.push_str(if plain { "]" } else { " ]" });
        }
        Value::Binary { subtype, bytes } => {
            let quote = if plain { "\"" } else { "" };
            out.push_str(&format!("BinData({subtype}, {quote}{}{quote})", hex(bytes, true)));
        }
        Value::ObjectId(id) if plain => out.push_str(&hex(&id, false)),
        Value::ObjectId(id) => out.push_str(&format!("ObjectId('{}')", hex(&id, false))),
        Value::Bool(b) => out.push_str(if b { "true" } else { "false" }),
        Value::DateTime(ms) if plain => out.push_str(&super::expression::date_text(ms)),
        Value::DateTime(ms) => out.push_str(&format!("new Date({ms})")),
        Value::Timestamp { time, increment } => out.push_str(&format!("Timestamp({time}, {increment})")),
        Value::Regex { pattern, options } => out.push_str(&format!("/{pattern}/{options}")),
        Value::DbPointer { namespace, id } => {
            out.push_str(&format!("DBRef(\"{namespace}\", {})", hex(&id, false)));
        }
        Value::Code(code) if plain => out.push_str(&format!("Code(\"{code}\")")),
        Value::Code(code) => out.push_str(code),
        Value::CodeWithScope { code, scope } if plain => {
            out.push_str(&format!("CodeWScope(\"{code}\", {})", bson(scope)));
        }
        Value::CodeWithScope { code, scope } => {
            out.push_str(&format!("CodeWScope( {code}, {})", bson(scope)));
        }
    }
}

fn document(doc: Doc<'_>, style: Style, out: &mut String) {
    let plain = style == Style::Plain;
    if doc.is_empty() {
        out.push_str("{}");
        return;
    }
    out.push_str(if plain { "{" } else { "{ " });
    for (index, element) in doc.elements().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        out.push_str(element.name_str());
        out.push_str(": ");
        write(&element.value(), style, out);
    }
    out.push_str(if plain { "}" } else { " }" });
}

/// Hexadecimal digits, two for each byte.
pub(crate) fn hex(bytes: &[u8], upper: bool) -> String {
    bytes
        .iter()
        .map(|byte| {
            if upper {
                format!("{byte:02X}")
            } else {
                format!("{byte:02x}")
            }
        })
        .collect()
}
