//! Lists that are longer than a document: spread over documents that are filled one after another.

use odm::bson::{Bson, Document, doc};
use odm::{Collection, Db, Error, ErrorKind, Result};

use crate::keyed::{Keyed, integer};
use crate::length;

/// Documents `{_id: {owner, number}, list: [..]}`, of which the newest of an owner is filled.
#[derive(Clone, Debug)]
pub(crate) struct Numbered {
    pub(crate) db: Db,
    pub(crate) documents: Collection<Document>,
    pub(crate) keyed: Keyed,
    pub(crate) list: &'static str,
    /// How many elements a document takes.
    pub(crate) size: usize,
    /// How often the owner's documents were opened again after they had been sealed: older seals are none any more.
    pub(crate) reopened: i64,
}

/// The condition on `sealed` that a document is open.
pub(crate) fn open(reopened: i64) -> Document {
    match reopened {
        0 => doc! { "$in": [false, Bson::Null] },
        reopened => doc! { "$not": { "$gte": reopened } },
    }
}

/// The condition on `sealed` that a document is not open.
pub(crate) fn closed(reopened: i64) -> Document {
    match reopened {
        0 => doc! { "$nin": [false, Bson::Null] },
        reopened => doc! { "$gte": reopened },
    }
}

/// What is stored in `sealed`.
pub(crate) fn seal(reopened: i64) -> Bson {
    match reopened {
        0 => Bson::Boolean(true),
        reopened => Bson::Int64(reopened),
    }
}

/// After how many openings a document was sealed; `None` where it never was.
pub(crate) fn sealed(document: &Document) -> Option<i64> {
    match document.get("sealed")? {
        Bson::Boolean(is_sealed) => is_sealed.then_some(0),
        reopened => integer(reopened),
    }
}

/// How large a document becomes by what is put into it: the database's limit is 16 MiB, and something is beside the list.
pub(crate) const FULL_BYTES: usize = 15 << 20;

/// How large a document can be at all.
pub(crate) const MAX_BYTES: usize = 16 << 20;

/// What an element takes beside itself: its type, its number, and what is kept of it.
const ELEMENT_BYTES: usize = 16;

/// What became of an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Filled {
    /// It was put into a document.
    Put,
    /// The owner's documents are closed.
    Sealed,
}

/// The newest document of an owner.
pub(crate) struct Newest {
    pub(crate) number: i64,
    pub(crate) length: usize,
    bytes: usize,
    /// After how many openings it was sealed last.
    pub(crate) sealed: Option<i64>,
    pub(crate) is_sealed: bool,
    /// Whether it has been full: what was taken out since then makes no room, because others may be behind it.
    pub(crate) is_full: bool,
}

/// Where the first of some elements go.
pub(crate) struct Place {
    pub(crate) number: i64,
    opens: bool,
    /// How many there is room for: none where the first is too large for what is left, and the document to be
    /// [closed](Numbered::fill_up).
    pub(crate) count: usize,
}

impl Numbered {
    /// Puts an element of so many bytes where there is room, by an update. Two round trips, more when others are faster.
    ///
    /// Who is late may open a document that was there and is no more: documents of an owner that is sealed must stay.
    pub(crate) async fn fill(&self, owner: &Bson, bytes: usize, push: &Document) -> Result<Filled> {
        loop {
            let newest = self.newest(owner).await?;
            if newest.as_ref().is_some_and(|newest| newest.is_sealed) {
                return Ok(Filled::Sealed);
            }
            let place = self.place(newest.as_ref(), [bytes]);
            if place.count == 0 {
                self.fill_up(owner, place.number).await?;
            } else if self.put(owner, &place, Document::new(), push.clone()).await? {
                return Ok(Filled::Put);
            }
        }
    }

    /// The same of an owner that most likely has no document yet: one round trip less where that is so.
    pub(crate) async fn fill_first(&self, owner: &Bson, bytes: usize, push: &Document) -> Result<Filled> {
        // Inside of a transaction the document is opened without looking whether it is there and closed.
        if !self.db.in_transaction() {
            let place = self.place(None, [bytes]);
            if self.put(owner, &place, Document::new(), push.clone()).await? {
                return Ok(Filled::Put);
            }
        }
        self.fill(owner, bytes, push).await
    }

    /// Where the first of some elements of these sizes go, by what the newest document is.
    pub(crate) fn place(&self, newest: Option<&Newest>, sizes: impl IntoIterator<Item = usize>) -> Place {
        let (number, opens, room, mut bytes) = match newest {
            Some(newest) if !newest.is_full && newest.length < self.size => {
                (newest.number, false, self.size - newest.length, newest.bytes)
            }
            Some(newest) => (newest.number + 1, true, self.size, 0),
            None => (0, true, self.size, 0),
        };
        // What is too large for any document beside others has one alone.
        let is_empty = newest.is_none_or(|newest| opens || newest.length == 0);
        let mut count = 0;
        for size in sizes.into_iter().take(room) {
            bytes += size + ELEMENT_BYTES;
            if bytes > FULL_BYTES && !(is_empty && count == 0) {
                break;
            }
            count += 1;
        }
        Place { number, opens, count }
    }

    /// Closes a document that is not sealed: from here on it has no room, whatever is taken out of it, and the next one is
    /// opened.
    pub(crate) async fn fill_up(&self, owner: &Bson, number: i64) -> Result<()> {
        let this = doc! { "_id": self.keyed.key(owner, number), "sealed": open(self.reopened) };
        self.documents
            .update_one(this, doc! { "$set": { "full": true } })
            .await
            .map(drop)
    }

    /// Puts elements in their place; whether there was still room, and the condition on the document true.
    ///
    /// A document is opened only when the one before it has no room, and its number is in its `_id`: of two who open it,
    /// one is told to look again.
    pub(crate) async fn put(
        &self,
        owner: &Bson,
        place: &Place,
        mut only_if: Document,
        push: Document,
    ) -> Result<bool> {
        let mut condition = doc! { "_id": self.keyed.key(owner, place.number) };
        // Inside of a transaction nobody else can have opened it, and a duplicate key would end the transaction.
        if !(place.opens && self.db.in_transaction()) {
            condition.insert("sealed", open(self.reopened));
            condition.insert("full", doc! { "$ne": true });
            let mut schemas = vec![length::at_most(self.list, self.size - place.count)];
            schemas.extend(only_if.get_document("$jsonSchema").ok().cloned());
            only_if.insert("$jsonSchema", doc! { "allOf": schemas });
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
            // In a transaction nobody else came first, and the error has ended it.
            Err(error) if is_too_large(&error) && !self.db.in_transaction() => {
                match self.newest(owner).await? {
                    Some(newest) if newest.number > place.number => Ok(false),
                    // Others have put in so much that these have no room any more.
                    Some(newest) if newest.number == place.number && newest.length > 0 => {
                        self.fill_up(owner, place.number).await.map(|()| false)
                    }
                    _ => Err(error),
                }
            }
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
        newest.first().map(|document| self.read(document)).transpose()
    }

    /// What of a document says whether there is room.
    pub(crate) fn projection(&self) -> Document {
        let length = doc! { "$size": { "$ifNull": [format!("${}", self.list), []] } };
        doc! { "sealed": 1, "full": 1, "length": length, "bytes": { "$bsonSize": "$$ROOT" } }
    }

    /// # Errors
    /// `Decode` when the document has no number: nothing could be put behind it.
    pub(crate) fn read(&self, document: &Document) -> Result<Newest> {
        let key = document.get_document("_id").ok();
        let Some(number) = key.and_then(|key| integer(key.get(self.keyed.number)?)) else {
            let error = Error::new(ErrorKind::Decode, "the document's `_id` has no number");
            let error = error.with_namespace(self.documents.namespace());
            return Err(error.with_id(document.get("_id").cloned().unwrap_or(Bson::Null)));
        };
        let whole = |name: &str| {
            let number = document.get(name).and_then(integer);
            number
                .and_then(|number| usize::try_from(number).ok())
                .unwrap_or(0)
        };
        Ok(Newest {
            number,
            length: whole("length"),
            bytes: whole("bytes"),
            sealed: sealed(document),
            is_sealed: sealed(document) >= Some(self.reopened),
            is_full: document.get_bool("full").unwrap_or(false),
        })
    }
}

/// Whether a write failed because its document would be larger than one can be.
pub(crate) fn is_too_large(error: &Error) -> bool {
    matches!(
        error.code(),
        Some(BSON_TOO_LARGE | UPDATE_TOO_LARGE | UPSERT_TOO_LARGE)
    )
}

// MongoDB's codes.
pub(crate) const BSON_TOO_LARGE: i32 = 10334;
const UPDATE_TOO_LARGE: i32 = 17419;
const UPSERT_TOO_LARGE: i32 = 17420;

/// That an element of so many bytes fits into a document of its own.
///
/// # Errors
/// `InvalidArgument` otherwise.
pub(crate) fn fits(bytes: usize) -> Result<()> {
    match bytes > MAX_BYTES {
        true => Err(too_large()),
        false => Ok(()),
    }
}

/// The error of an element that no document takes.
pub(crate) fn too_large() -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        "the element is larger than a document can be (16 MiB)",
    )
    .with_code(BSON_TOO_LARGE)
}
