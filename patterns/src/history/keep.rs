//! How long versions are kept, and whether they agree.

use odm::bson::{Bson, DateTime, Document, doc};
use odm::{Model, Operand, Result};

use super::keeper::{History, document};
use super::version_info::RECORDS;
use crate::keyed::integer;
use crate::still::is_same;

/// What is wrong with the history of a document.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HistoryProblem {
    /// The document's `_id`.
    pub id: Bson,
    /// What is wrong.
    pub kind: HistoryProblemKind,
}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum HistoryProblemKind {
    /// Versions are missing between others: somebody wrote without the history.
    Gap {
        /// The first that is missing.
        from: i64,
        /// The last that is missing.
        to: i64,
    },
    /// The history has versions beyond the current document's: it was set back by other means, or another document of
    /// the same `_id` has taken its place.
    Ahead {
        /// The newest version in the history.
        version: i64,
    },
    /// The current version was copied, and has been changed since without counting the version.
    /// [`History::repair`] takes the copy away; the next change makes a new one.
    Changed {
        /// The version.
        version: i64,
    },
    /// What is kept as this version is another one, or another document.
    Misplaced {
        /// The version.
        version: i64,
    },
}

impl<M: Model> History<M> {
    /// Forgets what was replaced or deleted before a time; gives how many versions. One round trip; asked again, it goes
    /// on where it was interrupted.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn forget_before(&self, time: DateTime) -> Result<u64> {
        let old = self.of_kind(doc! { "until": { "$lt": time } });
        Ok(self.records.delete_many(old).await?.deleted)
    }

    /// Forgets all but so many of the newest replaced versions of each document; gives how many entries were forgotten.
    /// What stays of a softly deleted document is no version: it is not counted, and goes when all that came before it does.
    /// Reads the keys of the whole history; asked again, it goes on where it was interrupted.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn keep_last(&self, versions: usize) -> Result<u64> {
        let keys = self.records.find(self.of_kind(Document::new()));
        let keys = keys.sort_raw(doc! { "_id": -1 });
        let mut keys = keys.project_raw(doc! { "_id": 1, "gone": 1 }).stream();
        let (mut owner, mut seen, mut forgotten) = (Bson::Null, 0_usize, 0);
        let mut old = Vec::new();
        while let Some(record) = keys.try_next().await? {
            let next = RECORDS.owner_of(&record);
            if !is_same(&next, &owner) {
                (owner, seen) = (next, 0);
            }
            if seen >= versions {
                old.extend(record.get("_id").cloned());
            }
            seen += usize::from(!record.contains_key("gone"));
            if old.len() >= 1_000 {
                forgotten += self.forget_keys(&mut old).await?;
            }
        }
        Ok(forgotten + self.forget_keys(&mut old).await?)
    }

    /// Forgets all about a document that was before; gives how many versions. Two round trips.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn forget(&self, id: impl Operand<M::Key>) -> Result<u64> {
        let id = self.documents.encode_key(id)?;
        let current = self.current(&id).await?;
        let id = current.map_or(id, |current| current.id);
        let all = self.of_kind(RECORDS.of(&id));
        Ok(self.records.delete_many(all).await?.deleted)
    }

    async fn forget_keys(&self, keys: &mut Vec<Bson>) -> Result<u64> {
        if keys.is_empty() {
            return Ok(0);
        }
        let these = doc! { "_id": { "$in": std::mem::take(keys) } };
        Ok(self.records.delete_many(these).await?.deleted)
    }

    /// Looks through the whole history for versions that are missing, too new or not what they should be. Reads all of
    /// it, and the documents that it is of. What was before the first version that a document has there is not known: it
    /// may have been forgotten, or written without the history.
    /// Run it while nobody writes, or look twice at what it finds.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn verify(&self) -> Result<Vec<HistoryProblem>> {
        let mut problems = Vec::new();
        let records = self.records.find(self.of_kind(Document::new()));
        let mut records = records.sort_raw(doc! { "_id": 1 }).stream();
        let mut run: Vec<Document> = Vec::new();
        loop {
            let record = records.try_next().await?;
            let ends = match (&record, run.first()) {
                (Some(record), Some(first)) => !is_same(&RECORDS.owner_of(record), &RECORDS.owner_of(first)),
                (record, _) => record.is_none(),
            };
            if ends && !run.is_empty() {
                self.examine(&run, &mut problems).await?;
                run.clear();
            }
            match record {
                Some(record) => run.push(reduced::<M>(record)),
                None => return Ok(problems),
            }
        }
    }

    /// Takes away copies of current versions that were changed since; gives what is left, which has to be decided by
    /// somebody. Reads what [`verify`](History::verify) reads.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn repair(&self) -> Result<Vec<HistoryProblem>> {
        let mut left = Vec::new();
        for problem in self.verify().await? {
            match problem.kind {
                HistoryProblemKind::Changed { version } => {
                    let key = doc! { "_id": RECORDS.key(&problem.id, version) };
                    self.records.delete_one(key).await?;
                }
                _ => left.push(problem),
            }
        }
        Ok(left)
    }

    /// Examines the entries of one document, the oldest first.
    async fn examine(&self, run: &[Document], problems: &mut Vec<HistoryProblem>) -> Result<()> {
        let Some((first, last)) = run.first().zip(run.last()) else {
            return Ok(());
        };
        let id = RECORDS.owner_of(first);
        let mut add = |kind| problems.push(HistoryProblem { id: id.clone(), kind });
        let mut next = RECORDS.number_of(first);
        for record in run {
            let version = RECORDS.number_of(record);
            if version > next {
                let (from, to) = (next, version - 1);
                add(HistoryProblemKind::Gap { from, to });
            }
            next = version + 1;
            if record.get_bool("misplaced").unwrap_or(false) {
                add(HistoryProblemKind::Misplaced { version });
            }
        }
        let newest = next - 1;
        let Some(current) = self.current(&RECORDS.owner_of(first)).await? else {
            return Ok(());
        };
        if newest > current.version {
            add(HistoryProblemKind::Ahead { version: newest });
        } else if newest == current.version {
            let whole = self.records.find_one(doc! { "_id": last.get("_id") }).await?;
            let copied = whole
                .as_ref()
                .and_then(|whole| whole.get_document("document").ok());
            let now = document(&current.stored)?;
            if copied.is_some_and(|copied| !self.is_same_version(copied, &now)) {
                add(HistoryProblemKind::Changed { version: newest });
            }
        } else if next < current.version {
            let (from, to) = (next, current.version - 1);
            add(HistoryProblemKind::Gap { from, to });
        }
        Ok(())
    }
}

/// An entry without its document, which is held against the key here. A run of entries is as long as a document has
/// versions, so that they are not all kept whole.
fn reduced<M: Model>(mut record: Document) -> Document {
    let version = RECORDS.number_of(&record);
    let document = record.remove("document");
    let is_right = document
        .as_ref()
        .and_then(Bson::as_document)
        .is_some_and(|document| {
            let stored = M::version_field().and_then(|field| document.get(field));
            let id = document.get("_id").unwrap_or(&Bson::Null);
            is_same(id, &RECORDS.owner_of(&record)) && stored.and_then(integer).unwrap_or(0) == version
        });
    record.insert("misplaced", !is_right);
    record
}
