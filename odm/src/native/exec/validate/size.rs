//! What of an explanation is left out where it is large.

use super::super::super::document::{Doc, Fields, Owned, Value};
use super::reason::{field, text};

/// Explanations are no larger than three quarters of the largest document.
const MOST_BYTES: usize = 12 << 20;

/// A reply is around them.
const MOST_LEVELS: usize = 190;

/// What repeats the document.
const VALUES: [&str; 3] = ["consideredValue", "consideredValues", "consideredValuesTruncated"];

/// The rules that show the value in any case, as the server has it. Another one, `additionalProperties`, shows itself.
const FRANK: [&str; 3] = ["minItems", "maxItems", "uniqueItems"];

/// All about the refusal of a document: with the details, with less of them, or without.
pub(super) fn fitting(id: Owned, details: Fields) -> Vec<u8> {
    let id = field("failingDocumentId", id);
    let mut info = vec![id, field("details", Owned::Document(details))];
    let whole = Doc::Fields(&info).to_bytes();
    if is_deeper(Doc::Raw(&whole), MOST_LEVELS) {
        let info = [
            field("reason", text("generated error was too deeply nested")),
            field("truncated", Owned::Bool(true)),
        ];
        return Doc::Fields(&info).to_bytes();
    }
    if whole.len() <= MOST_BYTES {
        return whole;
    }
    if let Some((_, details)) = info.last_mut() {
        shorten(details);
    }
    info.insert(1, field("truncated", Owned::Bool(true)));
    let shorter = Doc::Fields(&info).to_bytes();
    if shorter.len() <= MOST_BYTES {
        return shorter;
    }
    info.truncate(1);
    info.push(field("note", text("detailed error was too large")));
    Doc::Fields(&info).to_bytes()
}

/// All about the refusal of a document that cannot be explained.
pub(super) fn without(id: Owned, failure: Fields) -> Vec<u8> {
    let info = vec![
        field("failingDocumentId", id),
        field("note", text("failed to generate document validation error")),
        field("details", Owned::Document(failure)),
    ];
    Doc::Fields(&info).to_bytes()
}

/// Whether a document has more levels than that; it is one itself.
fn is_deeper(doc: Doc<'_>, levels: usize) -> bool {
    levels == 0
        || doc.values().any(|value| match value {
            Value::Document(inner) | Value::Array(inner) => is_deeper(inner, levels - 1),
            _ => false,
        })
}

fn shorten(details: &mut Owned) {
    match details {
        Owned::Document(fields) => {
            let operator = fields.first().map(|(_, value)| value.clone());
            let operator = match &operator {
                Some(Owned::String(name)) => name.as_str(),
                _ => "",
            };
            fields.retain(|(name, _)| match name.as_str() {
                "specifiedAs" => operator == "additionalProperties",
                name => FRANK.contains(&operator) || !VALUES.contains(&name),
            });
            fields.iter_mut().for_each(|(_, value)| shorten(value));
        }
        Owned::Array(items) => items.iter_mut().for_each(shorten),
        _ => {}
    }
}
