//! How a document is found again only if it still is what it was.

use odm::action::BulkWrite;
use odm::bson::{Bson, Document, RawDocumentBuf, doc};
use odm::{Collection, Error, ErrorKind, Model, Result};

use super::mark::FIELD;
use crate::exact;

/// The condition that a document is as it was read: as a whole, and of the same version where the model has one.
fn unchanged<M: Model>(document: &Document) -> Document {
    let id = document.get("_id").cloned().unwrap_or(Bson::Null);
    let mut condition = doc! { "_id": { "$eq": id } };
    if let Some(field) = M::version_field() {
        let version = document.get(field).cloned().unwrap_or(Bson::Null);
        condition.insert(field, doc! { "$eq": version });
    }
    condition.insert("$expr", doc! { "$eq": ["$$ROOT", { "$literal": document }] });
    condition
}

/// Whether an index of another collation than the statement's finds a document by its `_id`.
fn is_found_by_any(document: &Document) -> bool {
    !matches!(
        document.get("_id"),
        Some(Bson::String(_) | Bson::Symbol(_) | Bson::Document(_))
    )
}

/// A document up to this size fits twice into a condition.
const TWICE_BYTES: usize = 7_000_000;

/// Writes those documents that are as they were, each by what `add` adds to a batch with its condition; gives how many.
///
/// Strings are told apart by their bytes, whatever the collection's collation makes of them: the statements have the
/// simple one. By that an index of `_id`, which has the collection's, finds no strings and documents. For these the
/// statements keep the collection's, and a schema, which compares by bytes but not the order of fields, says the rest.
pub(super) async fn write_unchanged<M: Model>(
    collection: &Collection<Document>,
    documents: impl IntoIterator<Item = &Document>,
    add: impl Fn(BulkWrite<Document>, Document, usize) -> BulkWrite<Document>,
) -> Result<u64> {
    let mut by_bytes = collection.bulk_write().unordered();
    let mut by_schema = collection.bulk_write().unordered();
    for (index, document) in documents.into_iter().enumerate() {
        let mut condition = unchanged::<M>(document);
        if is_found_by_any(document) || encoded(document)?.as_bytes().len() > TWICE_BYTES {
            by_bytes = add(by_bytes, condition, index);
        } else {
            condition.insert("$jsonSchema", doc! { "enum": [document] });
            by_schema = add(by_schema, condition, index);
        }
    }
    let mut written = 0;
    for writes in [by_bytes.collation(exact::by_bytes()), by_schema] {
        if !writes.is_empty() {
            let done = writes.await?;
            written += done.matched + done.deleted;
        }
    }
    Ok(written)
}

/// Deletes those documents that are as they were; gives how many.
pub(super) async fn delete_unchanged<M: Model>(
    collection: &Collection<Document>,
    documents: &[Document],
) -> Result<u64> {
    write_unchanged::<M>(collection, documents, |all, unchanged, _| {
        all.delete_one(unchanged)
    })
    .await
}

/// The condition that an `_id` is one of those of these documents.
pub(super) fn ids(documents: &[Document]) -> Document {
    let ids: Vec<&Bson> = documents
        .iter()
        .filter_map(|document| document.get("_id"))
        .collect();
    doc! { "$in": ids }
}

/// Whether two documents are the same bytes, but for marks.
pub(super) fn is_same(one: &Document, other: &Document) -> Result<bool> {
    let without = |document: &Document| {
        let mut document = document.clone();
        document.remove(FIELD);
        encoded(&document)
    };
    Ok(without(one)?.as_bytes() == without(other)?.as_bytes())
}

fn encoded(document: &Document) -> Result<RawDocumentBuf> {
    RawDocumentBuf::try_from(document)
        .map_err(|error| Error::new(ErrorKind::Encode, "the document does not fit bson").with_source(error))
}
