//! The handle, adding, removing and reading.

use std::fmt;
use std::marker::PhantomData;

use odm::bson::{Bson, Document, doc};
use odm::{Collection, Db, Error, Field, Filter, Model, Operand, Path, Result, Update};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::head::{Head, Owner, counted};
use crate::identity::identity;
use crate::keyed::Keyed;
use crate::length;
use crate::numbered::{FULL_BYTES, Filled, Numbered, closed, fits, is_too_large, open, sealed, too_large};
use crate::value;

pub(super) const PAGES: Keyed = Keyed {
    owner: "of",
    number: "number",
};

/// An array `Vec<T>` of a model's documents that goes on elsewhere where it is long. Cheap to clone. Made in a transaction
/// (`Outlier::new(&tx, ..)`), what it writes is part of it.
pub struct Outlier<M, T> {
    pub(super) db: Db,
    pub(super) documents: Collection<M>,
    pub(super) pages: Collection<Document>,
    /// Whether the list has a serde codec of its own, which would not be that of the elements beside.
    is_encoded: bool,
    pub(super) list: String,
    pub(super) state: String,
    pub(super) threshold: usize,
    pub(super) low: usize,
    page: usize,
    marker: PhantomData<fn() -> T>,
}

impl<M: Model, T> Outlier<M, T> {
    /// The array of this field, in documents that say in another, an [`Overflow`](super::Overflow), whether it goes on:
    /// `|b| b.overflow.path().clone()`. Each list of a model has an `Overflow` of its own.
    pub fn new(
        db: &Db,
        list: impl FnOnce(M::Fields<M>) -> Field<M, Vec<T>>,
        state: impl FnOnce(M::Fields<M>) -> Path,
    ) -> Outlier<M, T> {
        Outlier::named(db, M::DESCRIPTOR.collection, list, state)
    }

    /// The same in another collection of the model. What is not embedded is in the one of the same name with `_overflow`
    /// behind it.
    pub fn named(
        db: &Db,
        collection: &str,
        list: impl FnOnce(M::Fields<M>) -> Field<M, Vec<T>>,
        state: impl FnOnce(M::Fields<M>) -> Path,
    ) -> Outlier<M, T> {
        let list = list(M::fields());
        Outlier {
            db: db.clone(),
            documents: db.collection_named(collection),
            pages: db.raw_collection(&format!("{collection}_overflow")),
            is_encoded: list.codec().is_some(),
            list: list.path().to_string(),
            state: state(M::fields()).to_string(),
            threshold: 200,
            low: 100,
            page: 500,
            marker: PhantomData,
        }
    }

    /// How many elements are embedded: 200 unless said otherwise. Fewer where these are so large that the document has no
    /// room for one more.
    #[must_use]
    pub fn threshold(mut self, elements: usize) -> Outlier<M, T> {
        self.threshold = elements.max(1);
        self.low = self.low.min(self.threshold);
        self
    }

    /// How many must be left for the way back: 100 unless said otherwise, at the most the threshold.
    #[must_use]
    pub fn low(mut self, elements: usize) -> Outlier<M, T> {
        self.low = elements.min(self.threshold);
        self
    }

    /// How many elements each document beside takes: 500 unless said otherwise, and no more than there is room for.
    #[must_use]
    pub fn page(mut self, elements: usize) -> Outlier<M, T> {
        self.page = elements.max(1);
        self
    }

    /// The collection of what is not embedded.
    pub fn overflow(&self) -> &Collection<Document> {
        &self.pages
    }

    pub(super) fn numbered(&self, owner: &Owner) -> Numbered {
        Numbered {
            db: self.db.clone(),
            documents: self.pages.clone(),
            keyed: PAGES,
            list: "items",
            size: self.page,
            reopened: owner.reopened,
        }
    }

    /// Says of a document whose array does not go on that it does, which whoever reads from here on sees; gives where, or
    /// `None` when somebody has written the document meanwhile.
    ///
    /// Pages that documents of this `_id` have left which are gone are those of others: the document gets a name for its
    /// own, once for all its epochs.
    async fn switch(&self, head: &Head) -> Result<Option<Owner>> {
        let state = &self.state;
        let pages = head.pages.unwrap_or_default();
        let condition = doc! {
            "_id": { "$eq": &head.id },
            format!("{state}.is"): { "$ne": true },
            format!("{state}.pages"): { "$eq": head.pages },
            format!("{state}.epoch"): counted(head.epoch),
        };
        let goes_on = doc! { "$set": {
            format!("{state}.is"): true,
            format!("{state}.pages"): pages,
            format!("{state}.list"): &self.list,
        } };
        let switched = self.change(condition, goes_on).await?;
        Ok(switched.then(|| Owner {
            pages: Some(pages),
            ..head.owner()
        }))
    }

    /// Whether elements are stored as their type says.
    pub(super) fn stores_elements(&self) -> Result<()> {
        match self.is_encoded {
            true => Err(value::own_codec::<M>(&self.list)),
            false => Ok(()),
        }
    }

    pub(super) async fn change(&self, condition: Document, change: Document) -> Result<bool> {
        let update = self
            .documents
            .update_one(|_| Filter::raw(condition), |_| Update::raw(change));
        Ok(update.await?.matched == 1)
    }

    /// Adds an element that is encoded already.
    pub(super) async fn add_stored(&self, id: &Bson, item: &Bson, bytes: usize) -> Result<()> {
        let embed = doc! { "$push": { &self.list: { "$each": [item] } } };
        let mut has_room = doc! {
            "_id": { "$eq": id },
            format!("{}.is", self.state): { "$ne": true },
            "$jsonSchema": length::at_most(&self.list, self.threshold - 1),
        };
        if self.db.in_transaction() {
            // It would end with a document that is too large.
            let room = FULL_BYTES.saturating_sub(bytes);
            let room = i64::try_from(room).unwrap_or(i64::MAX);
            has_room.insert("$expr", doc! { "$lte": [{ "$bsonSize": "$$ROOT" }, room] });
        }
        let push = doc! {
            "$push": { "items": { "$each": [item] } },
            "$setOnInsert": { "list": &self.list },
        };
        loop {
            match self.change(has_room.clone(), embed.clone()).await {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) if is_too_large(&error) && !self.db.in_transaction() => {}
                Err(error) => return Err(error),
            }
            let head = self.state(id).await?.ok_or_else(|| self.not_found(id))?;
            let (owner, filled) = if head.is {
                let owner = head.owner();
                let filled = self.numbered(&owner).fill(&owner.key(), bytes, &push).await?;
                (owner, filled)
            } else {
                let Some(owner) = self.switch(&head).await? else {
                    continue;
                };
                let filled = self
                    .numbered(&owner)
                    .fill_first(&owner.key(), bytes, &push)
                    .await?;
                (owner, filled)
            };
            match filled {
                Filled::Put => return Ok(()),
                // Somebody began the way back: it is finished or given up, and then there is room.
                Filled::Sealed => self.take_over(&owner).await.map(drop)?,
            }
        }
    }
}

impl<M: Model, T: Serialize + DeserializeOwned> Outlier<M, T> {
    /// Adds an element at the end.
    ///
    /// # Errors
    /// `NotFound` when there is no such document, or it is softly deleted; `InvalidArgument` for an element that no document
    /// takes (16 MiB); those of an update. `Unsupported`, as all others, where the list has a serde codec of its own
    /// (`as_bson`, `with`).
    pub async fn add(&self, id: impl Operand<M::Key>, item: &T) -> Result<()> {
        self.stores_elements()?;
        let (id, item) = (self.documents.encode_key(id)?, value::encode(item)?);
        let bytes = value::size(&item);
        let of_list = |error: Error| self.of_document(error, &id).with_path(self.list.clone());
        fits(bytes).map_err(of_list)?;
        let added = self.add_stored(&id, &value::tree(item)?, bytes).await;
        added.map_err(|error| match is_too_large(&error) {
            true => of_list(too_large()).with_source(error),
            false => error,
        })
    }

    /// Removes all elements like this one; whether there was one. Two round trips, of an outlier four.
    ///
    /// # Errors
    /// `NotFound` when there is no such document, or it is softly deleted; those of an update.
    pub async fn remove(&self, id: impl Operand<M::Key>, item: &T) -> Result<bool> {
        let (id, item) = (self.documents.encode_key(id)?, value::encode(item)?);
        // Where a statement does not take it twice, it is said once.
        let is_large = value::size(&item) > FULL_BYTES / 2;
        let item = value::tree(item)?;
        let mut removed = false;
        loop {
            // Before the document is written: what comes back after this leaves the epoch closed, which is seen below.
            let head = match is_large {
                true => self.head(&id).await?,
                false => self.state(&id).await?,
            };
            let head = head.ok_or_else(|| self.not_found(&id))?;
            let mut this = doc! { "_id": { "$eq": &id } };
            if !is_large {
                this.insert(&self.list, doc! { "$eq": &item });
            }
            if !is_large || head.items.iter().any(|one| identity(one) == identity(&item)) {
                let pull = Update::raw(doc! { "$pullAll": { &self.list: [&item] } });
                let pulled = self.documents.update_one(|_| Filter::raw(this), |_| pull);
                removed |= pulled.await?.modified > 0;
            }
            if !head.is {
                return Ok(removed);
            }
            let owner = head.owner();
            let key = owner.key();
            let mut pages = PAGES.of(&key);
            pages.insert("sealed", open(owner.reopened));
            if !is_large {
                pages.insert("items", doc! { "$eq": &item });
            }
            let pull = doc! { "$pullAll": { "items": [&item] } };
            removed |= self.pages.update_many(pages, pull).await?.modified > 0;
            let mut closed_ones = PAGES.of(&key);
            closed_ones.insert("sealed", closed(owner.reopened));
            if !self.pages.exists(closed_ones).await? {
                return Ok(removed);
            }
            self.take_over(&owner).await?;
        }
    }

    /// All elements, the embedded ones first.
    ///
    /// # Errors
    /// `NotFound` when there is no such document, or it is softly deleted; `Decode`.
    pub async fn items(&self, id: impl Operand<M::Key>) -> Result<Vec<T>> {
        let id = self.documents.encode_key(id)?;
        loop {
            let head = self.head(&id).await?.ok_or_else(|| self.not_found(&id))?;
            let owner = head.owner();
            let mut items = head.items;
            if head.is {
                let pages = self.pages_of(&owner).await?;
                let is_going_back = pages.iter().any(|page| sealed(page) >= Some(owner.reopened));
                // Pages are taken away after the document has taken their elements over: then it is of the next epoch.
                if is_going_back
                    && !self
                        .state(&id)
                        .await?
                        .is_some_and(|now| now.epoch == owner.epoch && now.pages == owner.pages)
                {
                    continue;
                }
                items.extend(pages.iter().flat_map(items_of).cloned());
            }
            return items.into_iter().map(value::from_bson).collect();
        }
    }
}

impl<M: Model, T> Outlier<M, T> {
    pub(super) async fn pages_of(&self, owner: &Owner) -> Result<Vec<Document>> {
        let pages = self.pages.find(PAGES.of(&owner.key()));
        pages.sort_raw(doc! { "_id": 1 }).await
    }
}

pub(super) fn items_of(page: &Document) -> &[Bson] {
    page.get_array("items").map_or(&[], Vec::as_slice)
}

impl<M, T> Clone for Outlier<M, T> {
    fn clone(&self) -> Outlier<M, T> {
        Outlier {
            db: self.db.clone(),
            documents: self.documents.clone(),
            pages: self.pages.clone(),
            is_encoded: self.is_encoded,
            list: self.list.clone(),
            state: self.state.clone(),
            threshold: self.threshold,
            low: self.low,
            page: self.page,
            marker: PhantomData,
        }
    }
}

impl<M, T> fmt::Debug for Outlier<M, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outlier")
            .field("documents", &self.documents)
            .field("pages", &self.pages)
            .field("list", &self.list)
            .field("threshold", &self.threshold)
            .field("low", &self.low)
            .field("page", &self.page)
            .finish_non_exhaustive()
    }
}
