//! Conditions that a value is still what was read.

use odm::bson::{Bson, Document, doc};

/// The condition that this very value stands at a dotted path: strings by their bytes, whatever the collation of the
/// collection makes of them. A schema tells them apart; it does not tell the order of fields, which `$eq` does.
pub(crate) fn still(path: &str, value: &Bson) -> Document {
    let schema = path.rsplit('.').fold(doc! { "enum": [value] }, |schema, name| {
        doc! { "properties": { name: schema } }
    });
    doc! { path: { "$eq": value }, "$jsonSchema": schema }
}
