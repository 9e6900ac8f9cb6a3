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
}

impl Numbered {
    /// Puts the first of some elements where there is room, as many as there is room for, in one update that `push` makes
    /// for so many. Two round trips, more when others are faster.
    ///
    /// A document is opened only when the one before it has no room, and its number is in its `_id`: of two who open it,
    /// one puts its elements into the other's. Who is late may open one that was there and is no more: documents of an owner
    /// that is sealed must stay.
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
            let (number, room) = match &newest {
                Some(newest) if newest.length < self.size => (newest.number, self.size - newest.length),
                Some(newest) => (newest.number + 1, self.size),
                None => (0, self.size),
            };
            let opens = room == self.size && newest.is_none_or(|newest| newest.number != number);
            let count = room.min(elements);
            let mut condition = doc! { "_id": self.keyed.key(owner, number) };
            // Inside of a transaction nobody else can have opened it, and a duplicate key would end the transaction.
            if !(opens && self.db.in_transaction()) {
                condition.insert("sealed", doc! { "$ne": true });
                let last = format!("{}.{}", self.list, self.size - count);
                condition.insert(last, doc! { "$exists": false });
            }
            let update = self.documents.update_one(condition, push(count)?);
            let result = match opens {
                true => update.upsert().await,
                false => update.await,
            };
            match result {
                Ok(result) if result.matched == 1 || result.upserted_id.is_some() => {
                    return Ok(Filled::Put(count));
                }
                Ok(_) => {}
                Err(error) if opens && error.is_duplicate_key() => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) async fn newest(&self, owner: &Bson) -> Result<Option<Newest>> {
        let length = doc! { "$size": { "$ifNull": [format!("${}", self.list), []] } };
        let newest = self
            .documents
            .find(self.keyed.of(owner))
            .sort_raw(doc! { "_id": -1 })
            .limit(1);
        let newest = newest.project_raw(doc! { "sealed": 1, "length": length }).await?;
        Ok(newest.first().map(|document| Newest {
            number: self.keyed.number_of(document),
            length: document
                .get("length")
                .and_then(integer)
                .and_then(|length| usize::try_from(length).ok())
                .unwrap_or(0),
            is_sealed: document.get_bool("sealed").unwrap_or(false),
        }))
    }
}
