//! Lists that are longer than a document: spread over documents that are filled one after another.

use odm::bson::{Bson, Document, doc};
use odm::{Collection, Db, Result};

use crate::keyed::{Keyed, integer};

/// Documents `{_id: {owner, number}, list: [..]}`, of which the newest of an owner is filled.
#[derive(Clone, Debug)]
pub(crate) struct Numbered {
    pub(crate) db: Db,
    pub(crate) documents: Collection<Document>,
    pub(crate) keyed: Keyed,
    pub(crate) list: &'static str,
    /// How many elements a document takes.
    pub(crate) size: usize,
}

/// What became of elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Filled {
    /// So many of the first were put into a document.
    Put(usize),
    /// The owner's documents are closed.
    Sealed,
}

/// The newest document of an owner.
pub(crate) struct Newest {
    pub(crate) number: i64,
    pub(crate) length: usize,
    pub(crate) is_sealed: bool,
    /// Whether it has been full: what was taken out since then makes no room, because others may be behind it.
    pub(crate) is_full: bool,
}

/// Where the first of some elements go.
pub(crate) struct Place {
    number: i64,
    opens: bool,
    /// How many there is room for.
    pub(crate) count: usize,
}

impl Numbered {
    /// Puts the first of some elements where there is room, as many as there is room for, in one update that `push` makes
    /// for so many. Two round trips, more when others are faster.
    ///
    /// Who is late may open a document that was there and is no more: documents of an owner that is sealed must stay.
    pub(crate) async fn fill(
        &self,
        owner: &Bson,
        elements: usize,
        push: impl Fn(usize) -> Result<Document>,
    ) -> Result<Filled> {
        loop {
            let newest = self.newest(owner).await?;
            if newest.as_ref().is_some_and(|newest| newest.is_sealed) {
                return Ok(Filled::Sealed);
            }
            let place = self.place(newest.as_ref(), elements);
            let update = push(place.count)?;
            if self.put(owner, &place, Document::new(), update).await? {
                return Ok(Filled::Put(place.count));
            }
        }
    }

    /// Where the first of some elements go, by what the newest document is.
    pub(crate) fn place(&self, newest: Option<&Newest>, elements: usize) -> Place {
        let (number, opens, room) = match newest {
            Some(newest) if !newest.is_full && newest.length < self.size => {
                (newest.number, false, self.size - newest.length)
            }
            Some(newest) => (newest.number + 1, true, self.size),
            None => (0, true, self.size),
        };
        Place {
            number,
            opens,
            count: room.min(elements),
        }
    }

    /// Puts elements in their place; whether there was still room, and the condition on the document true.
    ///
    /// A document is opened only when the one before it has no room, and its number is in its `_id`: of two who open it,
    /// one is told to look again.
    pub(crate) async fn put(
        &self,
        owner: &Bson,
        place: &Place,
        only_if: Document,
        push: Document,
    ) -> Result<bool> {
        let mut condition = doc! { "_id": self.keyed.key(owner, place.number) };
        // Inside of a transaction nobody else can have opened it, and a duplicate key would end the transaction.
        if !(place.opens && self.db.in_transaction()) {
            condition.insert("sealed", doc! { "$ne": true });
            condition.insert("full", doc! { "$ne": true });
            let last = format!("{}.{}", self.list, self.size - place.count);
            condition.insert(last, doc! { "$exists": false });
            condition.extend(only_if);
        }
        let update = self.documents.update_one(condition, push);
        let result = match place.opens {
            true => update.upsert().await,
            false => update.await,
        };
        match result {
            Ok(result) => Ok(result.matched == 1 || result.upserted_id.is_some()),
            Err(error) if place.opens && error.is_duplicate_key() => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn newest(&self, owner: &Bson) -> Result<Option<Newest>> {
        let newest = self
            .documents
            .find(self.keyed.of(owner))
            .sort_raw(doc! { "_id": -1 })
            .limit(1);
        let newest = newest.project_raw(self.projection()).await?;
        Ok(newest.first().map(|document| self.read(document)))
    }

    /// What of a document says whether there is room.
    pub(crate) fn projection(&self) -> Document {
        let length = doc! { "$size": { "$ifNull": [format!("${}", self.list), []] } };
        doc! { "sealed": 1, "full": 1, "length": length }
    }

    pub(crate) fn read(&self, document: &Document) -> Newest {
        Newest {
            number: self.keyed.number_of(document),
            length: document
                .get("length")
                .and_then(integer)
                .and_then(|length| usize::try_from(length).ok())
                .unwrap_or(0),
            is_sealed: document.get_bool("sealed").unwrap_or(false),
            is_full: document.get_bool("full").unwrap_or(false),
        }
    }
}
