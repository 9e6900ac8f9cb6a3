//! Whether a document is in one place.

use odm::bson::{Bson, Document};
use odm::{Model, Result};

use super::Archive;
use super::state::{is_same, unchanged};
use super::transfer::{same_ids, with_id};

/// A document that is in the archive and out of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ArchiveProblem {
    /// The document's `_id`.
    pub id: Bson,
    /// Whether both are in the same state: a move was interrupted. Otherwise the document was changed, or made anew.
    pub is_same: bool,
}

impl<M: Model> Archive<M> {
    /// Lists the documents that are in both places. Reads the archive, and the keys of the other side in batches.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn verify(&self) -> Result<Vec<ArchiveProblem>> {
        let mut problems = Vec::new();
        self.examine(async |archived, live| {
            problems.push(ArchiveProblem {
                id: archived.get("_id").cloned().unwrap_or(Bson::Null),
                is_same: is_same(archived, live)?,
            });
            Ok(())
        })
        .await?;
        Ok(problems)
    }

    /// Takes the copies of documents that are also out of the archive away from it, each in the state in which it was
    /// read; gives what was found. An interrupted move is then as if it had not begun.
    ///
    /// # Errors
    /// Those of the database; run again, it goes on.
    pub async fn repair(&self) -> Result<Vec<ArchiveProblem>> {
        let mut repaired = Vec::new();
        let archive = self.archived.raw();
        self.examine(async |archived, live| {
            archive.delete_one(unchanged::<M>(archived)).await?;
            repaired.push(ArchiveProblem {
                id: archived.get("_id").cloned().unwrap_or(Bson::Null),
                is_same: is_same(archived, live)?,
            });
            Ok(())
        })
        .await?;
        Ok(repaired)
    }

    async fn examine(&self, mut found: impl AsyncFnMut(&Document, &Document) -> Result<()>) -> Result<()> {
        let mut archived = self.archived.raw().find_all().stream();
        let live = self.live.raw();
        let mut batch = Vec::new();
        loop {
            let next = archived.try_next().await?;
            let is_last = next.is_none();
            batch.extend(next);
            if batch.len() < 100 && !is_last {
                continue;
            }
            let both = same_ids(&live, &batch).await?;
            for live in &both {
                if let Some(archived) = with_id(&batch, live) {
                    found(archived, live).await?;
                }
            }
            batch.clear();
            if is_last {
                return Ok(());
            }
        }
    }
}
