//! What becomes of elements whose document is gone.

use odm::bson::{Bson, doc};
use odm::{Filter, Model, Operand, Result};

use super::audit::OutlierProblemKind;
use super::list::{Outlier, PAGES, items_of};

impl<M: Model, T> Outlier<M, T> {
    /// Takes away all that is beside a document of this list; gives how many documents that were. For documents that go for
    /// ever: called before they are deleted, or, by their stored `_id`, after that. Of a document that stays the array ends
    /// where the embedded elements do. Three round trips.
    ///
    /// Pages that an older version of this crate made go with it, whichever list of the document they are of.
    ///
    /// # Errors
    /// `NotFound` when the document of this `_id` is of another kind; those of the database.
    pub async fn forget(&self, id: impl Operand<M::Key>) -> Result<u64> {
        let id = self.documents.encode_key(id)?;
        let this = doc! { "_id": { "$eq": &id } };
        let found = self
            .documents
            .find(|_| Filter::raw(this.clone()))
            .with_deleted()
            .unscoped();
        let found = found.limit(1).project_raw(doc! { "_id": 1, &self.state: 1 });
        let mut of_list = vec![doc! { "list": { "$in": [&self.list, Bson::Null] } }];
        let mut ids = vec![id.clone()];
        match found.await?.first() {
            Some(document) => {
                let head = self.read(document)?;
                of_list.extend(head.pages.map(|pages| doc! { "_id.of.pages": pages }));
                if head.id != id {
                    ids.push(head.id);
                }
            }
            None if self.documents.raw().exists(this).await? => return Err(self.not_found(&id)),
            None => {}
        }
        let mut forgotten = 0;
        for id in ids {
            let (first, last) = (doc! { "id": &id }, doc! { "id": &id, "epoch": Bson::MaxKey });
            let all = doc! {
                "_id": { "$gte": { PAGES.owner: first }, "$lte": { PAGES.owner: last } },
                "$or": &of_list,
            };
            forgotten += self.pages.delete_many(all).await?.deleted;
        }
        Ok(forgotten)
    }

    /// Takes away all that [`verify`](Outlier::verify) calls [`Orphaned`](OutlierProblemKind::Orphaned); gives how many
    /// documents that were. Not while documents are archived that are to come back: their elements would go too.
    ///
    /// # Errors
    /// Those of the database; run again, it goes on.
    pub async fn forget_orphans(&self) -> Result<u64> {
        let mut forgotten = 0;
        for (problem, owner) in self.found().await? {
            if problem.kind == OutlierProblemKind::Orphaned {
                let pages = PAGES.of(&owner.key());
                forgotten += self.pages.delete_many(pages).await?.deleted;
            }
        }
        Ok(forgotten)
    }

    /// Gives the document that has an `_id` now what [`verify`](Outlier::verify) calls
    /// [`Orphaned`](OutlierProblemKind::Orphaned) of it, as if it were added; gives how many elements. A crash doubles one
    /// element at the most; made of `&tx`, none. Reads all that is beside documents.
    ///
    /// # Errors
    /// `NotFound` when there is no such document, or it is softly deleted; those of the database; run again, it goes on.
    pub async fn adopt(&self, id: impl Operand<M::Key>) -> Result<usize> {
        let id = self.documents.encode_key(id)?;
        let head = self.state(&id).await?.ok_or_else(|| self.not_found(&id))?;
        let mut adopted = 0;
        for (problem, owner) in self.found().await? {
            if problem.kind != OutlierProblemKind::Orphaned {
                continue;
            }
            // An older version of this crate spelled it as its caller did: whose it is, the collection says.
            let now = self.state(&owner.id).await?;
            if now.is_none_or(|now| now.id != head.id) {
                continue;
            }
            for page in self.pages_of(&owner).await? {
                let key = doc! { "_id": page.get("_id") };
                for item in items_of(&page) {
                    let bytes = doc! { "": item }.to_vec().map_or(0, |item| item.len());
                    self.add_stored(&head.id, item, bytes).await?;
                    let first = doc! { "$pop": { "items": -1 } };
                    self.pages.update_one(key.clone(), first).await?;
                    adopted += 1;
                }
                self.pages.delete_one(key).await?;
            }
        }
        Ok(adopted)
    }
}
