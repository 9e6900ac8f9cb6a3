//! The rules of `_id`: what it may hold, where it stands, and that it does not change.

use bson::oid::ObjectId;

use super::super::document::doc::framed;
use super::super::document::{Doc, Kind, Value};
use super::super::fault::{Fault, Result, code};
use super::path::Location;

/// The refusal of a change to `_id` or to something in it.
pub(super) fn changed_at(at: &Location<'_>) -> Fault {
    Fault::new(
        code::IMMUTABLE_FIELD,
        format!("Performing an update on the path '{at}' would modify the immutable field '_id'"),
    )
}

/// The refusal of a field that something in `_id` would get.
pub(super) fn grown(at: &Location<'_>, new: &Value<'_>) -> Fault {
    Fault::new(
        code::IMMUTABLE_FIELD,
        format!(
            "Updating the path '{at}' to {}: {new} would modify the immutable field '_id'",
            at.name()
        ),
    )
}

/// The refusal of an `_id` that an operator would make an array.
pub(super) fn is_array() -> Fault {
    Fault::new(
        code::NOT_SINGLE_VALUE_FIELD,
        "After applying the update to the document, the field '_id' was found to be an array or array descendant.",
    )
}

/// Checks what the document's `_id` holds, if it has one.
pub(super) fn check(doc: Doc<'_>) -> Result<()> {
    match doc.get("_id") {
        Some(id) => check_value(&id),
        None => Ok(()),
    }
}

/// Checks what an `_id` holds.
pub(super) fn check_value(id: &Value<'_>) -> Result<()> {
    if let Kind::Array | Kind::Regex | Kind::Undefined = id.kind() {
        return Err(Fault::new(
            code::INVALID_ID_FIELD,
            format!("The '_id' value cannot be of type {}", id.kind().alias()),
        ));
    }
    match id {
        Value::Document(doc) => check_names(*doc),
        _ => Ok(()),
    }
}

/// Refuses names that start with `$`, but for those of a database reference.
fn check_names(doc: Doc<'_>) -> Result<()> {
    let reference = is_reference(doc);
    for (index, element) in doc.elements().enumerate() {
        let name = element.name_str();
        let allowed = reference
            && match index {
                0 => name == "$ref",
                1 => name == "$id",
                2 => name == "$db" && element.kind() == Kind::String,
                _ => false,
            };
        if name.starts_with('$') && !allowed {
            return Err(Fault::new(
                code::DOLLAR_PREFIXED_FIELD_NAME,
                format!("_id fields may not contain '$'-prefixed fields: {name} is not valid for storage."),
            ));
        }
        match element.value() {
            _ if allowed => {}
            Value::Document(inner) => check_names(inner)?,
            Value::Array(items) => {
                for item in items.values() {
                    if let Value::Document(inner) = item {
                        check_names(inner)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether the document starts with `$ref`, a string, and `$id`.
fn is_reference(doc: Doc<'_>) -> bool {
    let mut elements = doc.elements();
    let first = elements
        .next()
        .is_some_and(|e| e.name() == b"$ref" && e.kind() == Kind::String);
    first && elements.next().is_some_and(|e| e.name() == b"$id")
}

/// The document's bytes with `_id` first, generated when there is none.
pub(super) fn lead(doc: Doc<'_>) -> Vec<u8> {
    match doc.get("_id") {
        Some(id) => with(id, doc),
        None => with(Value::ObjectId(ObjectId::new().bytes()), doc),
    }
}

/// The document's bytes with this `_id` first, in place of its own.
pub(super) fn with(id: Value<'_>, doc: Doc<'_>) -> Vec<u8> {
    let mut new = Vec::new();
    framed(&mut new, |out| {
        id.write_element(b"_id", out);
        for element in doc.elements().filter(|element| element.name() != b"_id") {
            element.value().write_element(element.name(), out);
        }
    });
    new
}
