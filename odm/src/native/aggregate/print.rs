//! Values as MongoDB's error messages print them, in its two ways.

use super::super::document::display::significant;
use super::super::document::{Doc, Value};
use super::expression::Answer;

pub(crate) use super::super::document::display::hex;

/// A document in the way of its BSON: `{ a: 1, b: "x" }`.
pub(crate) fn bson(doc: Doc<'_>) -> String {
    doc.to_string()
}

/// A value in the way of its BSON.
pub(crate) fn bson_value(value: &Value<'_>) -> String {
    value.to_string()
}

/// A value in the way of aggregation: `{a: 1, b: "x"}`.
pub(crate) fn value(value: &Value<'_>) -> String {
    let mut out = String::new();
    write(value, &mut out);
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

fn write(value: &Value<'_>, out: &mut String) {
    match *value {
        Value::Double(x) => out.push_str(&double(x)),
        // Not shortened, unlike the other way.
        Value::String(text) => {
            out.push('"');
            out.push_str(text);
            out.push('"');
        }
        Value::Symbol(text) => out.push_str(&format!("Symbol(\"{text}\")")),
        Value::Document(doc) => document(doc, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.values().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write(&item, out);
            }
            out.push(']');
        }
        Value::Binary { subtype, bytes } => {
            // The old subtype has its length once more in its content.
            let length = match subtype {
                2 => hex(&(bytes.len() as u32).to_le_bytes(), true),
                _ => String::new(),
            };
            out.push_str(&format!("BinData({subtype}, \"{length}{}\")", hex(bytes, true)));
        }
        Value::ObjectId(id) => out.push_str(&hex(&id, false)),
        Value::DateTime(ms) => out.push_str(&super::expression::date_text(ms)),
        Value::DbPointer { namespace, id } => {
            out.push_str(&format!("DBRef(\"{namespace}\", {})", hex(&id, false)));
        }
        Value::Code(code) => out.push_str(&format!("Code(\"{code}\")")),
        Value::CodeWithScope { code, scope } => {
            out.push_str(&format!("CodeWScope(\"{code}\", {})", bson(scope)));
        }
        other => out.push_str(&other.to_string()),
    }
}

fn document(doc: Doc<'_>, out: &mut String) {
    out.push('{');
    for (index, element) in doc.elements().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        out.push_str(element.name_str());
        out.push_str(": ");
        write(&element.value(), out);
    }
    out.push('}');
}
