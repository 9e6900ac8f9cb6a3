//! Whose turn it is to move a document: a mark in the document itself.

use odm::bson::oid::ObjectId;
use odm::bson::{Bson, Document, doc};
use odm::{Collection, Model, Result};

use super::state::{ids, write_unchanged};

/// The field of the mark.
pub(super) const FIELD: &str = "_moving";

/// A mark that nobody else sets.
#[derive(Clone, Debug)]
pub(super) struct Mark(Bson);

impl Mark {
    pub(super) fn new() -> Mark {
        Mark(Bson::ObjectId(ObjectId::new()))
    }

    /// Whether a document has it.
    pub(super) fn is_on(&self, document: &Document) -> bool {
        document.get(FIELD) == Some(&self.0)
    }

    /// Marks documents that are as they were read; gives those, with the mark. Whose marks they had no longer has them.
    pub(super) async fn claim<M: Model>(
        &self,
        collection: &Collection<Document>,
        documents: &[Document],
    ) -> Result<Vec<Document>> {
        let claimed = write_unchanged::<M>(collection, documents, |all, unchanged, _| {
            all.update_one(unchanged, self.setting())
        })
        .await?;
        let marked = documents.iter().map(|document| {
            let mut marked = document.clone();
            marked.insert(FIELD, &self.0);
            marked
        });
        match claimed == documents.len() as u64 {
            true => Ok(marked.collect()),
            false => self.of(collection, &marked.collect::<Vec<_>>()).await,
        }
    }

    /// Marks the documents with the `_id`s of these, in whatever state: who relies on one to be as it was is stopped. Gives
    /// those of these that are there.
    pub(super) async fn stop(
        &self,
        collection: &Collection<Document>,
        documents: &[Document],
    ) -> Result<Vec<Document>> {
        let there = doc! { "_id": ids(documents) };
        collection.update_many(there, self.setting()).await?;
        self.of(collection, documents).await
    }

    fn setting(&self) -> Document {
        doc! { "$set": { FIELD: &self.0 } }
    }

    /// Those of some marked documents that have the mark in the collection.
    pub(super) async fn of(
        &self,
        collection: &Collection<Document>,
        documents: &[Document],
    ) -> Result<Vec<Document>> {
        let found = collection
            .find(self.on(documents))
            .project_raw(doc! { "_id": 1 })
            .await?;
        let is_found = |document: &&Document| found.iter().any(|one| one.get("_id") == document.get("_id"));
        Ok(documents.iter().filter(is_found).cloned().collect())
    }

    /// Takes the mark off, where it still is.
    pub(super) async fn lift(&self, collection: &Collection<Document>, documents: &[Document]) -> Result<()> {
        let off = doc! { "$unset": { FIELD: 1 } };
        collection.update_many(self.on(documents), off).await.map(drop)
    }

    fn on(&self, documents: &[Document]) -> Document {
        doc! { "_id": ids(documents), FIELD: &self.0 }
    }
}
