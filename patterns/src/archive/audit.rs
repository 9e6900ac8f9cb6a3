//! Whether a document is in one place.

use odm::bson::{Bson, Document, doc};
use odm::{Cursor, Model, Result};

use super::Archive;
use super::mark::{FIELD, Mark};
use super::state::{delete_unchanged, is_same};
use super::transfer::{same_ids, with_id};
use crate::own;

/// How many archived documents are looked up at a time.
const BATCH: usize = 100;

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
        let mut archived = own::find(&self.archived, Document::new()).stream();
        while let Some((_, found)) = self.next_doubled(&mut archived).await? {
            problems.extend(found);
        }
        Ok(problems)
    }

    /// Takes the copies of documents that are also out of the archive away from it, each in the state in which it was
    /// read; gives what was found. An interrupted move is then as if it had not begun. Takes off the marks that interrupted
    /// moves have left, for which it reads both sides: moves that are under way leave their documents where they are.
    ///
    /// # Errors
    /// Those of the database; run again, it goes on.
    pub async fn repair(&self) -> Result<Vec<ArchiveProblem>> {
        super::deletes_with(&self.archived, &self.live)?;
        let mut repaired = Vec::new();
        let mut archived = own::find(&self.archived, Document::new()).stream();
        while let Some((copies, found)) = self.next_doubled(&mut archived).await? {
            if !copies.is_empty() {
                self.take_away(&copies).await?;
            }
            repaired.extend(found);
        }
        for side in [self.live.raw(), self.archived.raw()] {
            let marked = own::of_kind::<M>(doc! { FIELD: { "$exists": true } });
            side.update_many(marked, doc! { "$unset": { FIELD: 1 } }).await?;
        }
        Ok(repaired)
    }

    /// Takes away copies whose originals are there: both are marked first, so that nobody relies on a copy any more.
    async fn take_away(&self, archived: &[Document]) -> Result<()> {
        let (mark, copies, live) = (Mark::new(), self.archived.raw(), self.live.raw());
        let claimed = mark.claim::<M>(&copies, archived).await?;
        let doubled = mark.stop(&live, &claimed).await?;
        delete_unchanged::<M>(&copies, &doubled).await?;
        mark.lift(&live, &doubled).await?;
        mark.lift(&copies, &claimed).await
    }

    /// Of the next archived documents those that are also out of the archive, and each as a problem.
    async fn next_doubled(
        &self,
        archived: &mut Cursor<Document>,
    ) -> Result<Option<(Vec<Document>, Vec<ArchiveProblem>)>> {
        let mut batch = Vec::new();
        while batch.len() < BATCH {
            match archived.try_next().await? {
                Some(document) => batch.push(document),
                None => break,
            }
        }
        if batch.is_empty() {
            return Ok(None);
        }
        let live = same_ids(&self.live.raw(), &batch).await?;
        let (mut doubled, mut problems) = (Vec::new(), Vec::new());
        for archived in batch {
            let live = with_id(&live, &archived).filter(|live| own::is_of_kind::<M>(live));
            if let Some(live) = live {
                problems.push(ArchiveProblem {
                    id: archived.get("_id").cloned().unwrap_or(Bson::Null),
                    is_same: is_same(&archived, live)?,
                });
                doubled.push(archived);
            }
        }
        Ok(Some((doubled, problems)))
    }
}
