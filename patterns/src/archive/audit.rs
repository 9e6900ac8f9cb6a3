//! Whether a document is in one place.

use odm::bson::{Bson, Document, doc};
use odm::{Cursor, Model, Result};

use super::Archive;
use super::mark::{FIELD, Mark};
use super::state::{is_same, unchanged};
use super::transfer::{same_ids, with_id};

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
        let mut archived = self.archived.raw().find_all().stream();
        loop {
            let (both, is_last) = self.next_both(&mut archived).await?;
            for (archived, live) in both {
                problems.push(problem(&archived, &live)?);
            }
            if is_last {
                return Ok(problems);
            }
        }
    }

    /// Takes the copies of documents that are also out of the archive away from it, each in the state in which it was
    /// read; gives what was found. An interrupted move is then as if it had not begun. Takes off the marks that interrupted
    /// moves have left, for which it reads both sides: moves that are under way leave their documents where they are.
    ///
    /// # Errors
    /// Those of the database; run again, it goes on.
    pub async fn repair(&self) -> Result<Vec<ArchiveProblem>> {
        let mut repaired = Vec::new();
        let mut archived = self.archived.raw().find_all().stream();
        loop {
            let (both, is_last) = self.next_both(&mut archived).await?;
            for (archived, live) in both {
                self.take_away(&archived).await?;
                repaired.push(problem(&archived, &live)?);
            }
            if is_last {
                break;
            }
        }
        for side in [self.live.raw(), self.archived.raw()] {
            let (marked, off) = (
                doc! { FIELD: { "$exists": true } },
                doc! { "$unset": { FIELD: 1 } },
            );
            side.update_many(marked, off).await?;
        }
        Ok(repaired)
    }

    /// Takes away a copy whose original is there: both are marked first, so that nobody relies on the copy any more.
    async fn take_away(&self, archived: &Document) -> Result<()> {
        let mark = Mark::new();
        let copies = self.archived.raw();
        let claimed = mark.claim::<M>(&copies, std::slice::from_ref(archived)).await?;
        let Some(claimed) = claimed.first() else {
            return Ok(());
        };
        let id = doc! { "_id": { "$eq": archived.get("_id").unwrap_or(&Bson::Null) } };
        let live = self.live.raw();
        if live.update_one(id, mark.setting()).await?.matched == 1 {
            copies.delete_one(unchanged::<M>(claimed)).await?;
            mark.lift(&live, std::slice::from_ref(claimed)).await?;
        }
        mark.lift(&copies, std::slice::from_ref(claimed)).await
    }

    /// Of the next archived documents those that are also out of the archive, with what is there, and whether these were
    /// the last.
    async fn next_both(&self, archived: &mut Cursor<Document>) -> Result<(Vec<(Document, Document)>, bool)> {
        let mut batch = Vec::new();
        while batch.len() < BATCH {
            match archived.try_next().await? {
                Some(document) => batch.push(document),
                None => break,
            }
        }
        let is_last = batch.len() < BATCH;
        let live = match batch.is_empty() {
            true => Vec::new(),
            false => same_ids(&self.live.raw(), &batch).await?,
        };
        let both = live.into_iter().filter_map(|live| {
            let archived = with_id(&batch, &live)?.clone();
            Some((archived, live))
        });
        Ok((both.collect(), is_last))
    }
}

fn problem(archived: &Document, live: &Document) -> Result<ArchiveProblem> {
    Ok(ArchiveProblem {
        id: archived.get("_id").cloned().unwrap_or(Bson::Null),
        is_same: is_same(archived, live)?,
    })
}
