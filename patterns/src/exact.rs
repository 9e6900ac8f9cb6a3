//! Strings told apart by their bytes, whatever the collation of their collection makes of them.

use odm::bson::{Bson, Document, bson, doc};

/// The comparison by bytes, in MongoDB's words.
pub(crate) fn by_bytes() -> Document {
    doc! { "locale": "simple" }
}

/// Whether a collation could take other values for this one.
pub(crate) fn holds_text(value: &Bson) -> bool {
    matches!(
        value,
        Bson::String(_) | Bson::Symbol(_) | Bson::Document(_) | Bson::Array(_)
    )
}

/// The condition, inside of an `$elemMatch`, that a field of an element is this very text.
pub(crate) fn element(field: &str, text: &str) -> Document {
    doc! { field: { "$eq": text }, "$jsonSchema": holding(field, text) }
}

/// The condition that in no element of the array at a dotted path a field is this very text.
pub(crate) fn no_element(path: &str, field: &str, text: &str) -> Document {
    let schema = doc! { "items": { "not": holding(field, text) } };
    doc! { "$jsonSchema": at(path, schema) }
}

/// The expression that a value, given by its path, is this very text.
pub(crate) fn is_text(value: &str, text: &str) -> Bson {
    let length = i32::try_from(text.len()).unwrap_or(i32::MAX);
    bson!({ "$and": [
        { "$eq": [{ "$type": value }, "string"] },
        { "$eq": [{ "$strLenBytes": { "$toString": value } }, length] },
        { "$eq": [{ "$indexOfBytes": [{ "$toString": value }, { "$literal": text }] }, 0] },
    ] })
}

/// The schema of documents in which the value at a dotted path has this schema, if there is one.
pub(crate) fn at(path: &str, schema: Document) -> Document {
    path.rsplit('.')
        .fold(schema, |schema, name| doc! { "properties": { name: schema } })
}

/// The schema of documents in which a field is this very text.
fn holding(field: &str, text: &str) -> Document {
    doc! { "required": [field], "properties": { field: { "enum": [text] } } }
}
