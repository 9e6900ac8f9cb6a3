//! Whether documents and what is beside them agree.

use odm::bson::{Bson, DateTime, Document, doc};
use odm::{Filter, Model, Result};

use super::head::{Head, Owner};
use super::legacy::Others;
use super::list::{Outlier, PAGES, items_of};
use crate::identity::identity;
use crate::length;
use crate::numbered::sealed;

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
    /// The way back was begun, and not finished. [`Outlier::repair`] finishes it, or gives it up where the document has no
    /// room any more.
    Unsettled,
    /// There are elements beside a document that does not say so: it was stored whole, from an older reading.
    /// [`Outlier::repair`] makes it say so.
    Unsaid,
    /// There are elements left of an epoch that is over. [`Outlier::repair`] takes them out: the document has them.
    Leftover {
        /// The epoch.
        epoch: i64,
    },
    /// There are elements that no document says are its own: theirs is gone, or archived, or was stored whole from a reading
    /// before it had any beside it. Which of these it is nobody can tell, so [`Outlier::repair`] leaves them. Archived
    /// documents have theirs again when they are restored. Otherwise [`Outlier::adopt`] gives them to the document that has
    /// the `_id` now, and [`Outlier::forget_orphans`] takes them away.
    Orphaned,
    /// Two lists of the document go on in the same pages, which an older version of this crate made, and each has the
    /// elements of both. [`Outlier::settle`] parts the lists; what does not belong into one is for you to remove from it.
    Mixed,
    /// More elements are embedded than the threshold allows, and the document does not say that it goes on.
    TooLong {
        /// How many.
        embedded: usize,
    },
}

/// The document that has an `_id` now.
enum Seen {
    /// None.
    Gone,
    /// One that is softly deleted, or of another kind. What is beside it is its own affair.
    Hidden,
    /// One with this state, and with other lists.
    Here { head: Head, others: Others },
}

impl<M: Model, T> Outlier<M, T> {
    /// Holds what is beside documents against these. Reads all of it, and the documents it belongs to.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn verify(&self) -> Result<Vec<OutlierProblem>> {
        let mut problems: Vec<OutlierProblem> = Vec::new();
        for (problem, _) in self.found().await? {
            if problems.last() != Some(&problem) {
                problems.push(problem);
            }
        }
        self.find_too_long(&mut problems).await?;
        Ok(problems)
    }

    /// What is wrong with pages, and whose these are.
    pub(super) async fn found(&self) -> Result<Vec<(OutlierProblem, Owner)>> {
        self.stores_elements()?;
        let mut found = Vec::new();
        let mut pages = self.pages.find_all().sort_raw(doc! { "_id": 1 }).stream();
        // All of a document follow each other.
        let mut last = None;
        while let Some(page) = pages.try_next().await? {
            let Some(owner) = Owner::of(&page) else {
                continue;
            };
            let seen = match last.take() {
                Some((id, seen)) if id == owner.id => seen,
                _ => self.look(&owner.id).await?,
            };
            let kind = self.judge(&page, &owner, &seen);
            last = Some((owner.id.clone(), seen));
            if let Some(kind) = kind {
                let id = owner.id.clone();
                let problem = (OutlierProblem { id, kind }, owner);
                if found.last() != Some(&problem) {
                    found.push(problem);
                }
            }
        }
        Ok(found)
    }

    async fn look(&self, id: &Bson) -> Result<Seen> {
        let this = doc! { "_id": { "$eq": id } };
        let here = self.documents.find(|_| Filter::raw(this.clone())).limit(1);
        // Without the elements. The list stays: what is beside it would look like a state.
        let here = here.project_raw(doc! { &self.list: { "$slice": 0 } });
        match here.await?.pop() {
            Some(document) => Ok(Seen::Here {
                head: self.read(&document)?,
                others: Others::of(&document, &self.state),
            }),
            None if self.documents.raw().exists(this).await? => Ok(Seen::Hidden),
            None => Ok(Seen::Gone),
        }
    }

    fn judge(&self, page: &Document, owner: &Owner, seen: &Seen) -> Option<OutlierProblemKind> {
        // Those of the older form do not say it.
        let is_of_list = page
            .get_str("list")
            .map_or(owner.pages.is_none(), |list| list == self.list);
        let (head, others) = match seen {
            Seen::Gone => return is_of_list.then_some(OutlierProblemKind::Orphaned),
            Seen::Hidden => return None,
            Seen::Here { head, others } => (head, others),
        };
        let has_items = !items_of(page).is_empty();
        let is_ours = head.pages == owner.pages && identity(&head.id) == identity(&owner.id);
        let is_others = owner.pages.is_none() && others.go_on_in(owner.epoch);
        if is_ours && head.goes_on_in(owner) {
            return match is_others {
                true => Some(OutlierProblemKind::Mixed),
                false => {
                    let is_closed = sealed(page) >= Some(head.reopened);
                    is_closed.then_some(OutlierProblemKind::Unsettled)
                }
            };
        }
        if is_others || !(is_ours || is_of_list) {
            return None;
        }
        if self.is_over(owner, head) {
            let epoch = owner.epoch;
            return has_items.then_some(OutlierProblemKind::Leftover { epoch });
        }
        let has_something = has_items || page.contains_key("end");
        // A document that never had anything beside it may be another one than that which had these.
        if is_ours && (head.pages.is_some() || head.epoch > 0) {
            return (has_something && !head.is).then_some(OutlierProblemKind::Unsaid);
        }
        let is_orphan = owner.pages.is_some() || (has_items && !others.were_in(owner.epoch));
        is_orphan.then_some(OutlierProblemKind::Orphaned)
    }

    /// Whether an epoch is one that the document has left behind.
    pub(super) fn is_over(&self, owner: &Owner, head: &Head) -> bool {
        // Before it had a name for its pages, they were of the older form.
        let is_of_document = owner.pages == head.pages || owner.pages.is_none();
        is_of_document && identity(&head.id) == identity(&owner.id) && owner.epoch < head.epoch
    }

    async fn find_too_long(&self, problems: &mut Vec<OutlierProblem>) -> Result<()> {
        let long = doc! { "$nor": [{ "$jsonSchema": length::at_most(&self.list, self.threshold) }] };
        let projection = doc! { "_id": 1, &self.list: 1, &self.state: 1 };
        let long = self.documents.find(|_| Filter::raw(long));
        let mut long = long.project_raw(projection).stream();
        while let Some(document) = long.try_next().await? {
            let head = self.read(&document)?;
            // What came back from an outlier may be a few more.
            if !head.is && head.epoch == 0 {
                let embedded = head.items.len();
                problems.push(OutlierProblem {
                    id: head.id,
                    kind: OutlierProblemKind::TooLong { embedded },
                });
            }
        }
        Ok(())
    }

    /// Mends what [`verify`](Outlier::verify) finds without losing an element; gives what is left. While documents are
    /// inserted or deleted, look twice.
    ///
    /// # Errors
    /// Those of the database; run again, it goes on.
    pub async fn repair(&self) -> Result<Vec<OutlierProblem>> {
        let mut left: Vec<OutlierProblem> = Vec::new();
        for (problem, owner) in self.found().await? {
            match problem.kind {
                OutlierProblemKind::Unsettled => {
                    let head = self.state(&owner.id).await?;
                    let Some(head) = head.filter(|head| head.goes_on_in(&owner)) else {
                        continue;
                    };
                    match self.take_over(&head.owner()).await {
                        // It was deleted meanwhile.
                        Err(error) if error.is_not_found() => {}
                        taken => taken.map(drop)?,
                    }
                }
                OutlierProblemKind::Unsaid => self.say(&owner).await?,
                OutlierProblemKind::Leftover { .. } => self.empty(&owner).await?,
                _ if left.last() != Some(&problem) => left.push(problem),
                _ => {}
            }
        }
        self.find_too_long(&mut left).await?;
        Ok(left)
    }

    /// Makes a document say that its array goes on.
    async fn say(&self, owner: &Owner) -> Result<()> {
        let state = &self.state;
        let condition = doc! {
            "_id": { "$eq": &owner.id },
            format!("{state}.is"): { "$ne": true },
            format!("{state}.pages"): { "$eq": owner.pages },
        };
        let says = doc! { "$set": {
            format!("{state}.is"): true,
            format!("{state}.epoch"): owner.epoch,
        } };
        self.change(condition, says).await.map(drop)
    }

    /// Takes away the empty documents that ways back before this time have left; gives of how many of these. By then whoever
    /// added at that time must have ended. What documents have left that are gone, or softly deleted, stays.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn sweep(&self, before: DateTime) -> Result<u64> {
        let mut swept = 0;
        let mut ends = self
            .pages
            .find(doc! { "end": { "$exists": true }, "at": { "$lt": before } })
            .stream();
        while let Some(end) = ends.try_next().await? {
            let Some(owner) = Owner::of(&end) else {
                continue;
            };
            let Seen::Here { head, others } = self.look(&owner.id).await? else {
                continue;
            };
            let is_others = owner.pages.is_none() && others.go_on_in(owner.epoch);
            if self.is_over(&owner, &head) && !is_others {
                // Pages that were opened again have several ends.
                let mut later = PAGES.of(&owner.key());
                later.insert("at", doc! { "$gte": before });
                if head.reopened > 0 && self.pages.exists(later).await? {
                    continue;
                }
                // The end last, by which the others are found.
                let mut others = PAGES.of(&owner.key());
                others.insert("end", doc! { "$exists": false });
                self.pages.delete_many(others).await?;
                let key = doc! { "_id": end.get("_id") };
                swept += self.pages.delete_one(key).await?.deleted;
            }
        }
        Ok(swept)
    }
}
