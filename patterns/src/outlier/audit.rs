//! Whether documents and what is beside them agree.

use odm::bson::{Bson, DateTime, Document, doc};
use odm::{Model, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::list::{Outlier, PAGES, items_of};
use crate::keyed::integer;

/// What is wrong with a document's array.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OutlierProblem {
    /// The document's `_id`.
    pub id: Bson,
    /// What is wrong.
    pub kind: OutlierProblemKind,
}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum OutlierProblemKind {
    /// The way back was begun, and not finished. [`Outlier::repair`] finishes it.
    Unsettled,
    /// There are elements beside a document that does not say so: it was stored whole, from an older reading.
    /// [`Outlier::repair`] makes it say so.
    Unsaid,
    /// There are elements left of an epoch that is over. [`Outlier::repair`] takes them out: the document has them.
    Leftover {
        /// The epoch.
        epoch: i64,
    },
    /// There are elements beside a document that is not there. [`Outlier::repair`] takes them away.
    Orphaned,
    /// More elements are embedded than the threshold allows, and the document does not say that it goes on.
    TooLong {
        /// How many.
        embedded: usize,
    },
}

impl<M: Model, T: Serialize + DeserializeOwned> Outlier<M, T> {
    /// Holds what is beside documents against these. Reads all of it, and the documents it belongs to.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn verify(&self) -> Result<Vec<OutlierProblem>> {
        let mut problems = Vec::new();
        let mut pages = self.pages.find_all().sort_raw(doc! { "_id": 1 }).stream();
        // All of a document follow each other.
        let mut last = None;
        while let Some(page) = pages.try_next().await? {
            let Some((id, epoch)) = owner_of(&page) else {
                continue;
            };
            let is_end = page.get_bool("end").unwrap_or(false);
            let head = match last.take() {
                Some((of, head)) if of == id => head,
                _ => self.head(&id).await?,
            };
            let kind = match &head {
                None => Some(OutlierProblemKind::Orphaned),
                Some(head) if epoch < head.epoch => {
                    (!items_of(&page).is_empty()).then_some(OutlierProblemKind::Leftover { epoch })
                }
                Some(head) if !head.is => {
                    (!items_of(&page).is_empty() || is_end).then_some(OutlierProblemKind::Unsaid)
                }
                Some(_) => {
                    let is_closed = page.get_bool("sealed").unwrap_or(false);
                    is_closed.then_some(OutlierProblemKind::Unsettled)
                }
            };
            last = Some((id.clone(), head));
            let problem = kind.map(|kind| OutlierProblem { id, kind });
            problems.extend(problem.filter(|problem| problems.last() != Some(problem)));
        }
        let long = doc! { format!("{}.{}", self.list, self.threshold): { "$exists": true } };
        let mut long = self
            .documents
            .raw()
            .find(long)
            .project_raw(self.projection())
            .stream();
        while let Some(document) = long.try_next().await? {
            let head = self.read(&document);
            // What came back from an outlier may be a few more.
            if !head.is && head.epoch == 0 {
                let embedded = head.items.len();
                problems.push(OutlierProblem {
                    id: document.get("_id").cloned().unwrap_or(Bson::Null),
                    kind: OutlierProblemKind::TooLong { embedded },
                });
            }
        }
        Ok(problems)
    }

    /// Mends what [`verify`](Outlier::verify) finds; gives what is left. While documents are inserted or deleted, look
    /// twice.
    ///
    /// # Errors
    /// Those of the database; run again, it goes on.
    pub async fn repair(&self) -> Result<Vec<OutlierProblem>> {
        let mut left = Vec::new();
        for problem in self.verify().await? {
            let id = &problem.id;
            match problem.kind {
                OutlierProblemKind::Unsettled => {
                    if let Some(head) = self.head(id).await?.filter(|head| head.is) {
                        self.take_over(id, head.epoch).await?;
                    }
                }
                OutlierProblemKind::Unsaid => {
                    let says = doc! { "$set": { format!("{}.is", self.state): true } };
                    let documents = self.documents.raw();
                    documents.update_one(doc! { "_id": { "$eq": id } }, says).await?;
                }
                OutlierProblemKind::Leftover { epoch } => self.empty(id, epoch).await?,
                OutlierProblemKind::Orphaned => {
                    self.pages
                        .delete_many(doc! { "_id.of.id": { "$eq": id } })
                        .await?;
                }
                OutlierProblemKind::TooLong { .. } => left.push(problem),
            }
        }
        Ok(left)
    }

    /// Takes away the empty documents that ways back before this time have left; gives of how many of these. By then whoever
    /// added at that time must have ended.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn sweep(&self, before: DateTime) -> Result<u64> {
        let mut swept = 0;
        let mut ends = self
            .pages
            .find(doc! { "end": true, "at": { "$lt": before } })
            .stream();
        while let Some(end) = ends.try_next().await? {
            let Some((id, epoch)) = owner_of(&end) else {
                continue;
            };
            if self.head(&id).await?.is_none_or(|head| head.epoch > epoch) {
                // The end last, by which the others are found.
                let mut others = PAGES.of(&self.owner(&id, epoch));
                others.insert("end", doc! { "$ne": true });
                self.pages.delete_many(others).await?;
                let key = doc! { "_id": end.get("_id") };
                swept += self.pages.delete_one(key).await?.deleted;
            }
        }
        Ok(swept)
    }
}

fn owner_of(page: &Document) -> Option<(Bson, i64)> {
    let owner = PAGES.owner_of(page);
    let owner = owner.as_document()?;
    Some((owner.get("id")?.clone(), owner.get("epoch").and_then(integer)?))
}
