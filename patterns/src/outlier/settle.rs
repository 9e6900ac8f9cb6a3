//! The way back.

use odm::bson::{Bson, doc};
use odm::{Filter, Model, Operand, Result, Update};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::list::{Outlier, PAGES, items_of};
use crate::keyed::integer;

impl<M: Model, T: Serialize + DeserializeOwned> Outlier<M, T> {
    /// Takes everything back into the document when no more than [`low`](Outlier::low) are left; whether it did. Two round
    /// trips when there is nothing to do, ten when there is.
    ///
    /// # Errors
    /// Those of the database: what was begun is finished by the next that comes by.
    pub async fn settle(&self, id: impl Operand<M::Key>) -> Result<bool> {
        let id = self.documents.encode_key(id)?;
        let Some(head) = self.head(&id).await?.filter(|head| head.is) else {
            return Ok(false);
        };
        if head.items.len() + self.beside(&id, head.epoch).await? > self.low {
            return Ok(false);
        }
        self.take_over(&id, head.epoch).await?;
        Ok(true)
    }

    /// Closes the pages of an epoch, takes their elements over, and empties them. Any number can be at it at once.
    pub(super) async fn take_over(&self, id: &Bson, epoch: i64) -> Result<()> {
        self.close(id, epoch).await?;
        let pages = self.pages_of(id, epoch).await?;
        let items: Vec<&Bson> = pages.iter().flat_map(items_of).collect();
        let condition = self.goes_on(id, epoch);
        let change = doc! {
            "$push": { &self.list: { "$each": items } },
            "$set": {
                format!("{}.is", self.state): false,
                format!("{}.epoch", self.state): epoch + 1,
            },
        };
        // Of all who come so far one matches: the epoch is over with it.
        self.documents
            .update_one(|_| Filter::raw(condition), |_| Update::raw(change))
            .await?;
        self.empty(id, epoch).await
    }

    /// Empties the pages of an epoch that is over. They stay, so that who is late finds each of them closed, and opens none
    /// that nobody would look at.
    pub(super) async fn empty(&self, id: &Bson, epoch: i64) -> Result<()> {
        let mut full = PAGES.of(&self.owner(id, epoch));
        full.insert("items.0", doc! { "$exists": true });
        let empty = doc! { "$set": { "items": [] } };
        self.pages.update_many(full, empty).await.map(drop)
    }

    /// Closes the pages: nothing is added to or removed from them any more, and none is opened behind them.
    async fn close(&self, id: &Bson, epoch: i64) -> Result<()> {
        let owner = self.owner(id, epoch);
        let pages = self.numbered();
        loop {
            let newest = pages.newest(&owner).await?;
            let number = match &newest {
                // The end, or a page that was closed here: nobody opens one behind a closed page but to be the end.
                Some(newest) if newest.is_sealed => {
                    let key = doc! { "_id": PAGES.key(&owner, newest.number), "end": true };
                    if self.pages.exists(key).await? {
                        return Ok(());
                    }
                    newest.number + 1
                }
                Some(_) => {
                    let open = PAGES.of(&owner);
                    self.pages
                        .update_many(open, doc! { "$set": { "sealed": true } })
                        .await?;
                    continue;
                }
                None => 0,
            };
            let end = doc! {
                "_id": PAGES.key(&owner, number),
                "items": [],
                "sealed": true,
                "end": true,
                "at": self.db.now(),
            };
            match self.pages.insert(end).await {
                Ok(_) => return Ok(()),
                // Somebody opened a page, or was as far.
                Err(error) if error.is_duplicate_key() && !self.db.in_transaction() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// How many elements are beside the document.
    pub(super) async fn beside(&self, id: &Bson, epoch: i64) -> Result<usize> {
        let sum = doc! { "$sum": { "$size": "$items" } };
        let pipeline = [
            doc! { "$match": PAGES.of(&self.owner(id, epoch)) },
            doc! { "$group": { "_id": Bson::Null, "count": sum } },
        ];
        let counted = self.pages.aggregate_raw(pipeline).await?;
        let count = counted.first().and_then(|counted| counted.get("count"));
        Ok(count
            .and_then(integer)
            .and_then(|count| usize::try_from(count).ok())
            .unwrap_or(0))
    }
}
