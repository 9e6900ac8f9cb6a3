//! Conditions that a value is still what was read, and whether two are the same.

use odm::bson::{Bson, Document, RawDocumentBuf, doc};
use odm::{Error, ErrorKind, Model, Result};

use crate::exact;

/// A document up to this size fits twice into a condition.
const TWICE_BYTES: usize = 7_000_000;

/// The condition that this very value stands at a dotted path: strings by their bytes, whatever the collation of the
/// collection makes of them. A schema tells them apart; it does not tell the order of fields, which `$eq` does.
pub(crate) fn still(path: &str, value: &Bson) -> Document {
    let schema = exact::at(path, doc! { "enum": [value] });
    doc! { path: { "$eq": value }, "$jsonSchema": schema }
}

/// How a document is found again only if it still is what it was: as a whole, and of the same version where the model has
/// one.
///
/// Strings are told apart by their bytes, whatever the collection's collation makes of them: the statement has to have the
/// simple one. By that an index of `_id`, which has the collection's, finds no strings and documents. For these the
/// statement keeps the collection's, and a schema, which compares by bytes but not the order of fields, says the rest.
pub(crate) struct Unchanged {
    pub(crate) condition: Document,
    /// Whether the statement has to compare [by bytes](exact::by_bytes).
    pub(crate) is_by_bytes: bool,
}

impl Unchanged {
    /// # Errors
    /// `Encode` for a document that does not fit BSON.
    pub(crate) fn of<M: Model>(document: &Document) -> Result<Unchanged> {
        let id = document.get("_id").cloned().unwrap_or(Bson::Null);
        let mut condition = doc! { "_id": { "$eq": id } };
        if let Some(field) = M::version_field() {
            let version = document.get(field).cloned().unwrap_or(Bson::Null);
            condition.insert(field, doc! { "$eq": version });
        }
        condition.insert("$expr", doc! { "$eq": ["$$ROOT", { "$literal": document }] });
        let is_by_bytes = is_found_by_any(document) || encoded(document)?.as_bytes().len() > TWICE_BYTES;
        if !is_by_bytes {
            condition.insert("$jsonSchema", doc! { "enum": [document] });
        }
        Ok(Unchanged {
            condition,
            is_by_bytes,
        })
    }
}

/// Whether an index of another collation than the statement's finds a document by its `_id`.
fn is_found_by_any(document: &Document) -> bool {
    !matches!(
        document.get("_id"),
        Some(Bson::String(_) | Bson::Symbol(_) | Bson::Document(_))
    )
}

/// A document as bytes.
///
/// # Errors
/// `Encode` for one that does not fit BSON.
pub(crate) fn encoded(document: &Document) -> Result<RawDocumentBuf> {
    RawDocumentBuf::try_from(document)
        .map_err(|error| Error::new(ErrorKind::Encode, "the document does not fit bson").with_source(error))
}

/// Whether two values are the same to the bit. By `==` no number that is none (NaN) is itself, and documents are equal in
/// any order of their fields.
pub(crate) fn is_same(one: &Bson, other: &Bson) -> bool {
    is_same_document(&doc! { "": one }, &doc! { "": other })
}

/// As [`is_same`], of documents.
pub(crate) fn is_same_document(one: &Document, other: &Document) -> bool {
    match (RawDocumentBuf::try_from(one), RawDocumentBuf::try_from(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_same_to_the_bit() {
        let nan = Bson::Double(f64::NAN);
        assert!(is_same(&nan, &nan));
        assert!(is_same(&vec![nan.clone()].into(), &vec![nan.clone()].into()));
        assert!(is_same_document(
            &doc! { "a": { "b": &nan } },
            &doc! { "a": { "b": nan } }
        ));
        assert!(!is_same(&Bson::Int32(1), &Bson::Int64(1)));
        assert!(!is_same(&Bson::Double(0.0), &Bson::Double(-0.0)));
        assert!(!is_same_document(
            &doc! { "a": 1, "b": 2 },
            &doc! { "b": 2, "a": 1 }
        ));
    }
}
