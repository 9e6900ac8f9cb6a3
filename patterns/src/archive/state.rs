//! Writing documents only if they still are what they were.

use odm::action::BulkWrite;
use odm::bson::{Bson, Document, doc};
use odm::{Collection, Model, Result};

use super::mark::FIELD;
use crate::exact;
use crate::still::{Unchanged, encoded};

/// Writes those documents that are as they were, each by what `add` adds to a batch with its condition; gives how many.
pub(super) async fn write_unchanged<M: Model>(
    collection: &Collection<Document>,
    documents: impl IntoIterator<Item = &Document>,
    add: impl Fn(BulkWrite<Document>, Document, usize) -> BulkWrite<Document>,
) -> Result<u64> {
    let mut by_bytes = collection.bulk_write().unordered();
    let mut by_schema = collection.bulk_write().unordered();
    for (index, document) in documents.into_iter().enumerate() {
        let unchanged = Unchanged::of::<M>(document)?;
        match unchanged.is_by_bytes {
            true => by_bytes = add(by_bytes, unchanged.condition, index),
            false => by_schema = add(by_schema, unchanged.condition, index),
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
