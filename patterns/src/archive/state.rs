//! How a document is found again only if it still is what it was.

use odm::bson::{Bson, Document, RawDocumentBuf, doc};
use odm::{Collection, Error, ErrorKind, Model, Result};

use super::mark::FIELD;

/// The condition that a document is as it was read: as a whole, and of the same version where the model has one.
pub(super) fn unchanged<M: Model>(document: &Document) -> Document {
    let id = document.get("_id").cloned().unwrap_or(Bson::Null);
    let mut condition = doc! { "_id": { "$eq": id } };
    if let Some(field) = M::version_field() {
        let version = document.get(field).cloned().unwrap_or(Bson::Null);
        condition.insert(field, doc! { "$eq": version });
    }
    condition.insert("$expr", doc! { "$eq": ["$$ROOT", { "$literal": document }] });
    condition
}

/// Deletes those documents that are as they were; gives how many.
pub(super) async fn delete_unchanged<M: Model>(
    collection: &Collection<Document>,
    documents: &[Document],
) -> Result<u64> {
    let deletions = collection.bulk_write().unordered();
    let deletions = documents.iter().fold(deletions, |all, document| {
        all.delete_one(unchanged::<M>(document))
    });
    match deletions.is_empty() {
        true => Ok(0),
        false => Ok(deletions.await?.deleted),
    }
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
    Ok(encoded(one)?.as_bytes() == encoded(other)?.as_bytes())
}

fn encoded(document: &Document) -> Result<RawDocumentBuf> {
    let mut document = document.clone();
    document.remove(FIELD);
    RawDocumentBuf::try_from(&document)
        .map_err(|error| Error::new(ErrorKind::Encode, "the document does not fit bson").with_source(error))
}
