//! The way back.

use odm::bson::{Bson, Document, doc};
use odm::{Model, Operand, Result};

use super::head::Owner;
use super::legacy::Others;
use super::list::{Outlier, PAGES, items_of};
use crate::keyed::integer;
use crate::numbered::{FULL_BYTES, is_too_large, open, seal};

/// How large a document becomes by the way back, so that there is room for who adds meanwhile.
const BACK_BYTES: i64 = FULL_BYTES as i64 / 2;

/// The field of how large the document is.
const BYTES: &str = "_bytes";

impl<M: Model, T> Outlier<M, T> {
    /// Takes everything back into the document when no more than [`low`](Outlier::low) are left, and these make it no larger
    /// than half of what a document can be; whether it did. Two round trips when there is nothing to do, ten when there is.
    ///
    /// Where others make the document too large meanwhile, the way back is given up, and all stays where it is.
    ///
    /// # Errors
    /// `NotFound` when there is no such document, or it is softly deleted: what is beside it stays. Those of the database:
    /// what was begun is finished by the next that comes by.
    pub async fn settle(&self, id: impl Operand<M::Key>) -> Result<bool> {
        let id = self.documents.encode_key(id)?;
        let projection = doc! {
            "_id": 1, &self.list: 1, &self.state: 1, BYTES: { "$bsonSize": "$$ROOT" },
        };
        let seen = self.seen(&id, projection).await?;
        let (head, document) = seen.ok_or_else(|| self.not_found(&id))?;
        if !head.is {
            return Ok(false);
        }
        let owner = head.owner();
        let beside = self.beside(&owner).await?;
        let bytes = whole(&document, BYTES) + whole(&beside, "bytes");
        let elements = usize::try_from(whole(&beside, "count")).unwrap_or(usize::MAX);
        if head.items.len().saturating_add(elements) > self.low || bytes > BACK_BYTES {
            return Ok(false);
        }
        self.take_over(&owner).await
    }

    /// Closes the pages of an epoch, takes their elements over, and empties them; whether these are in the document. Any
    /// number can be at it at once. Where the document has no room for them, the pages are opened again, and stay.
    ///
    /// # Errors
    /// `NotFound` when the document is gone, or softly deleted: then the elements stay where they are.
    pub(super) async fn take_over(&self, owner: &Owner) -> Result<bool> {
        self.close(owner).await?;
        let pages = self.pages_of(owner).await?;
        let items: Vec<&Bson> = pages.iter().flat_map(items_of).collect();
        let sizes = items
            .iter()
            .map(|item| doc! { "": item }.to_vec().map_or(0, |item| item.len()));
        let bytes: usize = sizes.sum();
        let took = doc! {
            "$push": { &self.list: { "$each": items } },
            "$set": {
                format!("{}.is", self.state): false,
                format!("{}.epoch", self.state): owner.epoch + 1,
            },
        };
        let reopened = doc! { "$set": { format!("{}.reopened", self.state): owner.reopened + 1 } };
        loop {
            let has_room = self.has_room(owner, bytes).await?;
            let change = if has_room { &took } else { &reopened };
            // Of all who come so far one matches: the epoch is over with it, or the pages are open again.
            let changed = match self.change(self.goes_on(owner), change.clone()).await {
                Err(error) if is_too_large(&error) && has_room && !self.db.in_transaction() => {
                    let changed = self.change(self.goes_on(owner), reopened.clone()).await;
                    changed.map(|changed| (changed, false))
                }
                changed => changed.map(|changed| (changed, has_room)),
            };
            let changed = changed.map_err(|error| match is_too_large(&error) {
                true => self.of_document(error, &owner.id).with_path(self.list.clone()),
                false => error,
            });
            match changed? {
                (true, true) => break,
                (true, false) => return Ok(false),
                (false, _) => {}
            }
            match self.state(&owner.id).await? {
                None => return Err(self.not_found(&owner.id)),
                Some(now) if self.is_over(owner, &now) => break,
                // It was softly deleted, and is restored.
                Some(now) if now.goes_on_in(owner) && now.reopened == owner.reopened => {}
                // The pages were opened again, or somebody stored another reading of it.
                Some(_) => return Ok(false),
            }
        }
        self.empty(owner).await.map(|()| true)
    }

    /// Whether the document can have so much more, as far as that is known before it is tried. In a transaction it has to be:
    /// a refused update ends it.
    async fn has_room(&self, owner: &Owner, bytes: usize) -> Result<bool> {
        if bytes > FULL_BYTES || !self.db.in_transaction() {
            return Ok(bytes <= FULL_BYTES);
        }
        let projection = doc! { "_id": 1, &self.state: 1, BYTES: { "$bsonSize": "$$ROOT" } };
        let seen = self.seen(&owner.id, projection).await?;
        let (_, document) = seen.ok_or_else(|| self.not_found(&owner.id))?;
        let all = usize::try_from(whole(&document, BYTES)).unwrap_or(usize::MAX);
        Ok(all.saturating_add(bytes) <= FULL_BYTES)
    }

    /// Empties the pages of an epoch that is over. They stay, so that who is late finds each of them closed, and opens none
    /// that nobody would look at.
    pub(super) async fn empty(&self, owner: &Owner) -> Result<()> {
        if owner.pages.is_none() {
            // Another list of the document may go on in them too.
            let document = self
                .documents
                .raw()
                .find_one(doc! { "_id": { "$eq": &owner.id } });
            let others = document.await?.map(|document| Others::of(&document, &self.state));
            if others.is_some_and(|others| others.go_on_in(owner.epoch)) {
                return Ok(());
            }
        }
        let mut full = PAGES.of(&owner.key());
        full.insert("items.0", doc! { "$exists": true });
        let empty = doc! { "$set": { "items": [] } };
        self.pages.update_many(full, empty).await.map(drop)
    }

    /// Closes the pages: nothing is added to or removed from them any more, and none is opened behind them.
    async fn close(&self, owner: &Owner) -> Result<()> {
        let (reopened, seal) = (owner.reopened, seal(owner.reopened));
        let pages = self.numbered(owner);
        let owner = owner.key();
        loop {
            let newest = pages.newest(&owner).await?;
            let number = match &newest {
                // Others have opened and closed them again since.
                Some(newest) if newest.sealed > Some(reopened) => return Ok(()),
                // The end, or a page that was closed here: nobody opens one behind a closed page but to be the end.
                Some(newest) if newest.is_sealed => {
                    let key = doc! { "_id": PAGES.key(&owner, newest.number), "end": &seal };
                    if self.pages.exists(key).await? {
                        return Ok(());
                    }
                    newest.number + 1
                }
                Some(_) => {
                    let mut still_open = PAGES.of(&owner);
                    still_open.insert("sealed", open(reopened));
                    let change = doc! { "$set": { "sealed": &seal } };
                    self.pages.update_many(still_open, change).await?;
                    continue;
                }
                None => 0,
            };
            let end = doc! {
                "_id": PAGES.key(&owner, number),
                "list": &self.list,
                "items": [],
                "sealed": &seal,
                "end": &seal,
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

    /// How many elements are beside the document, and how large these are.
    async fn beside(&self, owner: &Owner) -> Result<Document> {
        let pipeline = [
            doc! { "$match": PAGES.of(&owner.key()) },
            doc! { "$group": {
                "_id": Bson::Null,
                "count": { "$sum": { "$size": "$items" } },
                "bytes": { "$sum": { "$bsonSize": "$$ROOT" } },
            } },
        ];
        let mut counted = self.pages.aggregate_raw(pipeline).await?;
        Ok(counted.pop().unwrap_or_default())
    }
}

fn whole(document: &Document, name: &str) -> i64 {
    document.get(name).and_then(integer).unwrap_or(0)
}
