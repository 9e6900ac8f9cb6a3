//! Filters that nothing matches, whatever is stored: a server knows them by their form.

use super::super::document::{Doc, Value};

/// Whether the filter says by its form alone that nothing matches it.
pub(crate) fn is_never(filter: Doc<'_>) -> bool {
    filter
        .elements()
        .any(|element| match (element.name_str(), element.value()) {
            ("$alwaysFalse", _) => true,
            ("$and", Value::Array(branches)) => documents(branches).any(is_never),
            ("$or", Value::Array(branches)) => !branches.is_empty() && documents(branches).all(is_never),
            ("$jsonSchema", Value::Document(schema)) => refuses_documents(schema),
            (name, Value::Document(condition)) if !name.starts_with('$') => {
                matches!(condition.get("$all"), Some(Value::Array(all)) if all.is_empty())
            }
            _ => false,
        })
}

/// Whether a schema admits no document, whatever its fields are.
fn refuses_documents(schema: Doc<'_>) -> bool {
    schema
        .elements()
        .any(|element| match (element.name_str(), element.value()) {
            ("type" | "bsonType", Value::String(kind)) => kind != "object",
            ("type" | "bsonType", Value::Array(kinds)) => {
                !kinds.values().any(|kind| matches!(kind, Value::String("object")))
            }
            ("enum", Value::Array(values)) => {
                !values.values().any(|value| matches!(value, Value::Document(_)))
            }
            ("allOf", Value::Array(parts)) => documents(parts).any(refuses_documents),
            ("anyOf", Value::Array(parts)) => !parts.is_empty() && documents(parts).all(refuses_documents),
            // Of several it does not know what they are together.
            ("oneOf", Value::Array(parts)) => parts.count() == 1 && documents(parts).all(refuses_documents),
            _ => false,
        })
}

/// The documents among the items.
pub(crate) fn documents(items: Doc<'_>) -> impl Iterator<Item = Doc<'_>> {
    items.values().filter_map(|item| item.as_document())
}
