//! Logs of a fixed size.

use std::fmt;
use std::time::Duration;

use odm::bson::doc;
use odm::{Collection, Db, Error, ErrorKind, Model, Result};

use super::tail::Tail;
use crate::keyed::integer;

/// The newest documents of a model, in a capped collection: the oldest make room, in the same write. Cheap to clone.
///
/// It keeps the order of insertion, and can be [followed](CappedLog::tail). What it cannot: hold on to anything, be written in
/// a transaction, be sharded, have a TTL index (it can, and nothing is deleted by it).
///
/// ```
/// use odm::{Db, Model};
/// use odm_patterns::lifecycle::CappedLog;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Model)]
/// struct Line {
///     #[serde(rename = "_id")]
///     id: i32,
///     text: String,
/// }
///
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// let log = CappedLog::<Line>::new(&Db::open("memory:").await?, 1 << 20).max_documents(100);
/// log.prepare().await?;
/// log.push(&Line { id: 1, text: "begun".into() }).await?;
///
/// let mut lines = log.tail();
/// assert_eq!(lines.next().await?.text, "begun");
/// log.push(&Line { id: 2, text: "ended".into() }).await?;
/// assert_eq!(lines.next().await?.text, "ended");
/// assert_eq!(log.newest(1).await?[0].id, 2);
/// # Ok(())
/// # }
/// ```
pub struct CappedLog<M> {
    db: Db,
    documents: Collection<M>,
    bytes: u64,
    max: Option<u64>,
}

impl<M: Model> CappedLog<M> {
    /// The model's collection, of this many bytes.
    pub fn new(db: &Db, bytes: u64) -> CappedLog<M> {
        CappedLog {
            db: db.clone(),
            documents: db.collection(),
            bytes,
            max: None,
        }
    }

    /// At the most so many documents as well.
    #[must_use]
    pub fn max_documents(mut self, documents: u64) -> CappedLog<M> {
        self.max = Some(documents);
        self
    }

    /// Another collection of the model.
    #[must_use]
    pub fn named(mut self, name: &str) -> CappedLog<M> {
        self.documents = self.db.collection_named(name);
        self
    }

    /// The collection.
    pub fn collection(&self) -> &Collection<M> {
        &self.documents
    }

    /// Creates the collection, or gives the one that is there this size: what is too much goes. Then builds the model's
    /// indexes. Three round trips, and one for each index that is missing.
    ///
    /// # Errors
    /// `Validation` when the collection is there and is not capped.
    pub async fn prepare(&self) -> Result<()> {
        let create = self.documents.create().capped(self.bytes);
        let create = match self.max {
            Some(max) => create.max_documents(max),
            None => create,
        };
        match create.await {
            Err(error) if error.code() == Some(48) => self.resize().await?,
            created => created?,
        }
        self.documents.sync_indexes().await.map(drop)
    }

    async fn resize(&self) -> Result<()> {
        let listed = self.db.list_collections().await?;
        let ours = listed.into_iter().find(|info| info.name == self.documents.name());
        let options = ours.map(|info| info.options).unwrap_or_default();
        if !options.get_bool("capped").unwrap_or(false) {
            let text = "the collection is there, and is not capped";
            return Err(Error::new(ErrorKind::Validation, text));
        }
        let number = |field: &str| {
            options
                .get(field)
                .and_then(integer)
                .and_then(|n| u64::try_from(n).ok())
        };
        let bytes = self.bytes.max(256).div_ceil(256).saturating_mul(256);
        let mut modify = None;
        if number("size") != Some(bytes) {
            modify = Some(self.documents.modify().capped(self.bytes));
        }
        if let Some(max) = self.max.filter(|max| number("max") != Some(*max)) {
            modify = Some(
                modify
                    .unwrap_or_else(|| self.documents.modify())
                    .max_documents(max),
            );
        }
        match modify {
            Some(modify) => modify.await.map(drop),
            None => Ok(()),
        }
    }

    /// Adds a document. One round trip.
    ///
    /// # Errors
    /// Those of an insert.
    pub async fn push(&self, document: &M) -> Result<M::Key> {
        self.documents.insert(document).await
    }

    /// The newest documents, the newest first. One round trip.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn newest(&self, documents: u64) -> Result<Vec<M>> {
        let backwards = self.documents.find_all().sort_raw(doc! { "$natural": -1 });
        backwards.limit(documents).await
    }

    /// Follows the log: the documents that are there, and those to come. Where the database ends such a stream because
    /// there is nothing yet (MongoDB does), it is asked again, a second later unless [said otherwise](Tail::pause).
    pub fn tail(&self) -> Tail<M> {
        Tail::new(self.documents.clone(), Duration::from_secs(1))
    }
}

impl<M> Clone for CappedLog<M> {
    fn clone(&self) -> CappedLog<M> {
        CappedLog {
            db: self.db.clone(),
            documents: self.documents.clone(),
            bytes: self.bytes,
            max: self.max,
        }
    }
}

impl<M> fmt::Debug for CappedLog<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CappedLog")
            .field("documents", &self.documents)
            .field("bytes", &self.bytes)
            .field("max", &self.max)
            .finish()
    }
}
