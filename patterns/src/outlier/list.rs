//! The handle, adding, removing and reading.

use std::fmt;
use std::marker::PhantomData;

use odm::bson::{Bson, Document, doc};
use odm::{Collection, Db, Error, ErrorKind, Field, Filter, Model, Operand, Path, Result, Update};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::dotted::value_at;
use crate::keyed::{Keyed, integer};
use crate::numbered::{Filled, Numbered};
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

/// A document's array, and whether it goes on.
pub(super) struct Head {
    pub(super) items: Vec<Bson>,
    pub(super) is: bool,
    pub(super) epoch: i64,
}

impl<M: Model, T> Outlier<M, T> {
    /// The array of this field, in documents that say in another, an [`Overflow`](super::Overflow), whether it goes on:
    /// `|b| b.overflow.path().clone()`.
    pub fn new(
        db: &Db,
        list: impl FnOnce(M::Fields<M>) -> Field<M, Vec<T>>,
        state: impl FnOnce(M::Fields<M>) -> Path,
    ) -> Outlier<M, T> {
        let name = M::DESCRIPTOR.collection;
        let list = list(M::fields());
        Outlier {
            db: db.clone(),
            documents: db.collection(),
            pages: db.raw_collection(&format!("{name}_overflow")),
            is_encoded: list.codec().is_some(),
            list: list.path().to_string(),
            state: state(M::fields()).to_string(),
            threshold: 200,
            low: 100,
            page: 500,
            marker: PhantomData,
        }
    }

    /// How many elements are embedded: 200 unless said otherwise.
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

    /// How many elements each document beside takes: 500 unless said otherwise.
    #[must_use]
    pub fn page(mut self, elements: usize) -> Outlier<M, T> {
        self.page = elements.max(1);
        self
    }

    /// The collection of what is not embedded.
    pub fn overflow(&self) -> &Collection<Document> {
        &self.pages
    }

    pub(super) fn owner(&self, id: &Bson, epoch: i64) -> Bson {
        Bson::Document(doc! { "id": id, "epoch": epoch })
    }

    pub(super) fn numbered(&self) -> Numbered {
        Numbered {
            db: self.db.clone(),
            documents: self.pages.clone(),
            keyed: PAGES,
            list: "items",
            size: self.page,
        }
    }

    /// The document's array and state; `None` when there is no such document.
    pub(super) async fn head(&self, id: &Bson) -> Result<Option<Head>> {
        self.stores_elements()?;
        let found = self.documents.raw().find(doc! { "_id": { "$eq": id } });
        let found = found.limit(1).project_raw(self.projection()).await?;
        Ok(found.first().map(|document| self.read(document)))
    }

    pub(super) fn projection(&self) -> Document {
        let mut projection = doc! { "_id": 1 };
        projection.insert(&self.list, 1);
        projection.insert(&self.state, 1);
        projection
    }

    pub(super) fn read(&self, document: &Document) -> Head {
        let state = value_at(document, &self.state).and_then(Bson::as_document);
        let items = value_at(document, &self.list).and_then(Bson::as_array);
        Head {
            items: items.cloned().unwrap_or_default(),
            is: state.is_some_and(|state| state.get_bool("is").unwrap_or(false)),
            epoch: state
                .and_then(|state| state.get("epoch"))
                .and_then(integer)
                .unwrap_or(0),
        }
    }

    /// The condition on the document that its array goes on, in this epoch.
    pub(super) fn goes_on(&self, id: &Bson, epoch: i64) -> Document {
        let known = match epoch {
            0 => doc! { "$in": [0, Bson::Null] },
            epoch => doc! { "$eq": epoch },
        };
        doc! {
            "_id": { "$eq": id },
            format!("{}.is", self.state): true,
            format!("{}.epoch", self.state): known,
        }
    }

    /// Says that the document's array goes on, which whoever reads from here on sees; gives the epoch, or `None` when
    /// there is no such document.
    async fn switch(&self, id: &Bson) -> Result<Option<i64>> {
        let (this, state) = (doc! { "_id": { "$eq": id } }, &self.state);
        let goes_on = doc! { "$set": { format!("{state}.is"): true } };
        let switched = self
            .documents
            .find_one_and_update(|_| Filter::raw(this), |_| Update::raw(goes_on))
            .return_new()
            .project_raw(doc! { "_id": 1, state: 1 });
        Ok(switched.await?.map(|document| self.read(&document).epoch))
    }

    /// Whether elements are stored as their type says.
    fn stores_elements(&self) -> Result<()> {
        match self.is_encoded {
            true => Err(value::own_codec::<M>(&self.list)),
            false => Ok(()),
        }
    }

    async fn change(&self, condition: Document, change: Document) -> Result<bool> {
        let update = self
            .documents
            .update_one(|_| Filter::raw(condition), |_| Update::raw(change));
        Ok(update.await?.matched == 1)
    }
}

impl<M: Model, T: Serialize + DeserializeOwned> Outlier<M, T> {
    /// Adds an element at the end.
    ///
    /// # Errors
    /// `NotFound` when there is no such document; those of an update. `Unsupported`, as all others, where the list has a
    /// serde codec of its own (`as_bson`, `with`).
    pub async fn add(&self, id: impl Operand<M::Key>, item: &T) -> Result<()> {
        self.stores_elements()?;
        let (id, item) = (self.documents.encode_key(id)?, value::to_bson(item)?);
        let embed = doc! { "$push": { &self.list: { "$each": [&item] } } };
        let has_room = doc! {
            "_id": { "$eq": &id },
            format!("{}.is", self.state): { "$ne": true },
            format!("{}.{}", self.list, self.threshold - 1): { "$exists": false },
        };
        loop {
            if self.change(has_room.clone(), embed.clone()).await? {
                return Ok(());
            }
            let epoch = self.switch(&id).await?.ok_or_else(|| not_found(&id))?;
            let push = |_| Ok(doc! { "$push": { "items": { "$each": [&item] } } });
            match self.numbered().fill(&self.owner(&id, epoch), 1, push).await? {
                Filled::Put(_) => return Ok(()),
                // Somebody began the way back: it is finished, and then there is room.
                Filled::Sealed => self.take_over(&id, epoch).await?,
            }
        }
    }

    /// Removes all elements like this one; whether there was one. Two round trips, of an outlier four.
    ///
    /// # Errors
    /// `NotFound` when there is no such document; those of an update.
    pub async fn remove(&self, id: impl Operand<M::Key>, item: &T) -> Result<bool> {
        let (id, item) = (self.documents.encode_key(id)?, value::to_bson(item)?);
        let mut removed = false;
        loop {
            // Before the document is written: what comes back after this leaves the epoch closed, which is seen below.
            let head = self.head(&id).await?.ok_or_else(|| not_found(&id))?;
            let this = Filter::raw(doc! { "_id": { "$eq": &id }, &self.list: { "$eq": &item } });
            let pull = Update::raw(doc! { "$pullAll": { &self.list: [&item] } });
            removed |= self.documents.update_one(|_| this, |_| pull).await?.modified > 0;
            if !head.is {
                return Ok(removed);
            }
            let owner = self.owner(&id, head.epoch);
            let mut pages = PAGES.of(&owner);
            pages.insert("sealed", doc! { "$ne": true });
            pages.insert("items", doc! { "$eq": &item });
            let pull = doc! { "$pullAll": { "items": [&item] } };
            removed |= self.pages.update_many(pages, pull).await?.modified > 0;
            let mut closed = PAGES.of(&owner);
            closed.insert("sealed", true);
            if !self.pages.exists(closed).await? {
                return Ok(removed);
            }
            self.take_over(&id, head.epoch).await?;
        }
    }

    /// All elements, the embedded ones first.
    ///
    /// # Errors
    /// `NotFound` when there is no such document; `Decode`.
    pub async fn items(&self, id: impl Operand<M::Key>) -> Result<Vec<T>> {
        let id = self.documents.encode_key(id)?;
        loop {
            let head = self.head(&id).await?.ok_or_else(|| not_found(&id))?;
            let mut items = head.items;
            if head.is {
                let pages = self.pages_of(&id, head.epoch).await?;
                let is_going_back = pages.iter().any(|page| page.get_bool("sealed").unwrap_or(false));
                // Pages are taken away after the document has taken their elements over: then it is of the next epoch.
                if is_going_back && self.head(&id).await?.is_none_or(|now| now.epoch != head.epoch) {
                    continue;
                }
                items.extend(pages.iter().flat_map(items_of).cloned());
            }
            return items.into_iter().map(value::from_bson).collect();
        }
    }

    pub(super) async fn pages_of(&self, id: &Bson, epoch: i64) -> Result<Vec<Document>> {
        let pages = self.pages.find(PAGES.of(&self.owner(id, epoch)));
        pages.sort_raw(doc! { "_id": 1 }).await
    }
}

pub(super) fn items_of(page: &Document) -> &[Bson] {
    page.get_array("items").map_or(&[], Vec::as_slice)
}

fn not_found(id: &Bson) -> Error {
    Error::new(ErrorKind::NotFound, "there is no such document").with_id(id.clone())
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
