//! The book's queue: three fields, one index, `findAndModify`.

use std::fmt;
use std::marker::PhantomData;

use odm::bson::{Bson, DateTime, Document, RawBson, doc};
use odm::{Collection, Cursor, Db, Error, ErrorKind, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::message;

/// The simplest queue: documents with `state`, `created` and a message, an index over the first two, and `findAndModify` in
/// the order of creation. For existing data of that shape, and for work that may be lost with the worker that took it.
///
/// | | |
/// |---|---|
/// | delivery | at most once: who takes an entry has it, whatever happens then |
/// | order | the order of `created` |
/// | cost | one round trip for each operation |
///
/// What it lacks of a [`Queue`](super::Queue) is all that needs to know who works on an entry: leases, retries, fencing.
///
/// ```
/// use odm::Db;
/// use odm_patterns::queue::PlainQueue;
///
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// let db = Db::open("memory:").await?;
/// let queue: PlainQueue<String> = PlainQueue::new(&db, "queue");
/// queue.prepare().await?;
/// queue.push(&"hello".to_owned()).await?;
/// assert_eq!(queue.take().await?.map(|entry| entry.message), Some("hello".to_owned()));
/// assert!(queue.take().await?.is_none());
/// # Ok(())
/// # }
/// ```
///
/// # Capped
///
/// [`prepare_capped`](PlainQueue::prepare_capped) makes the collection a capped one: the oldest entries make room for the newest,
/// so that nobody has to prune. All else is the same. What that cannot do: **entries that nobody took make room too**, without
/// a word ([`statistics`](PlainQueue::statistics) tells how full it is), so that it must be much larger than what can lie
/// in it; transactions cannot write to it (code 263); it cannot be sharded; entries that are deleted leave no room.
pub struct PlainQueue<J> {
    entries: Collection<Document>,
    db: Db,
    names: PlainNames,
    marker: PhantomData<fn() -> J>,
}

/// The fields of a plain queue's entries, and what its states are called: `state` with 1 for what is to be done and 0 for what
/// was taken, `created`, `message`, unless said otherwise.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlainNames {
    /// The field of the state.
    pub state: String,
    /// The field of the time.
    pub created: String,
    /// The field of the message.
    pub message: String,
    /// The state of an entry that is to be done.
    pub ready: Bson,
    /// The state of an entry that was taken.
    pub taken: Bson,
}

impl Default for PlainNames {
    fn default() -> PlainNames {
        PlainNames {
            state: "state".to_owned(),
            created: "created".to_owned(),
            message: "message".to_owned(),
            ready: Bson::Int32(1),
            taken: Bson::Int32(0),
        }
    }
}

impl PlainNames {
    /// Other names of fields.
    pub fn fields(state: &str, created: &str, message: &str) -> PlainNames {
        PlainNames {
            state: state.to_owned(),
            created: created.to_owned(),
            message: message.to_owned(),
            ..PlainNames::default()
        }
    }

    /// Other states, such as texts.
    pub fn states(self, ready: impl Into<Bson>, taken: impl Into<Bson>) -> PlainNames {
        PlainNames {
            ready: ready.into(),
            taken: taken.into(),
            ..self
        }
    }
}

/// An entry of a plain queue.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlainEntry<J> {
    /// The entry's id.
    pub id: Bson,
    /// When it was pushed.
    pub created: DateTime,
    /// What is to be done.
    pub message: J,
}

impl<J> PlainQueue<J> {
    /// The queue in the collection of this name. No round trip.
    pub fn new(db: &Db, name: &str) -> PlainQueue<J> {
        PlainQueue::with_names(db, name, PlainNames::default())
    }

    /// The same with other names. No round trip.
    pub fn with_names(db: &Db, name: &str, names: PlainNames) -> PlainQueue<J> {
        PlainQueue {
            entries: db.raw_collection(name),
            db: db.clone(),
            names,
            marker: PhantomData,
        }
    }

    /// The collection.
    pub fn collection(&self) -> &Collection<Document> {
        &self.entries
    }

    /// Builds the index. One round trip.
    ///
    /// # Errors
    /// As any operation.
    pub async fn prepare(&self) -> Result<()> {
        let (state, created) = (&self.names.state, &self.names.created);
        let mut keys = Document::new();
        keys.insert(state, 1);
        keys.insert(created, 1);
        let name = format!("{state}_1_{created}_1");
        let index = doc! { "key": keys, "name": name };
        self.entries.create_indexes().index_raw(index).await
    }

    /// Makes the collection a capped one of this many bytes, and builds the index. Two round trips.
    ///
    /// # Errors
    /// Code 48 when the collection is there and not capped like that.
    pub async fn prepare_capped(&self, bytes: u64) -> Result<()> {
        self.db
            .create_collection(self.entries.name())
            .capped(bytes)
            .await?;
        self.prepare().await
    }

    /// How many entries are to be done, and how many were taken. Two round trips.
    ///
    /// # Errors
    /// As any operation.
    pub async fn statistics(&self) -> Result<(u64, u64)> {
        let ready = self.entries.count(self.in_state(&self.names.ready)).await?;
        let taken = self.entries.count(self.in_state(&self.names.taken)).await?;
        Ok((ready, taken))
    }

    /// Deletes entries that were taken and are older than this; how many. One round trip.
    ///
    /// # Errors
    /// As any operation.
    pub async fn prune(&self, before: DateTime) -> Result<u64> {
        let mut old = self.in_state(&self.names.taken);
        old.insert(&self.names.created, doc! { "$lt": before });
        Ok(self.entries.delete_many(old).await?.deleted)
    }

    /// How an entry is found, in MongoDB's words.
    ///
    /// # Errors
    /// As any operation.
    pub async fn explain_take(&self) -> Result<Document> {
        let action = self
            .entries
            .find_one_and_update(self.in_state(&self.names.ready), self.taking());
        action.sort_raw(self.order()).explain().executed().await
    }

    fn in_state(&self, state: &Bson) -> Document {
        let mut filter = Document::new();
        filter.insert(&self.names.state, state.clone());
        filter
    }

    fn order(&self) -> Document {
        let mut order = Document::new();
        order.insert(&self.names.created, 1);
        order
    }

    fn taking(&self) -> Document {
        doc! { "$set": self.in_state(&self.names.taken) }
    }
}

impl<J: Serialize + DeserializeOwned> PlainQueue<J> {
    /// Adds an entry. One round trip.
    ///
    /// # Errors
    /// `Encode` for a message that does not fit BSON.
    pub async fn push(&self, message: &J) -> Result<Bson> {
        self.entries.insert(self.entry(message)?).await
    }

    /// Adds entries. One round trip.
    ///
    /// # Errors
    /// As [`push`](PlainQueue::push); the entries before the failure are there.
    pub async fn push_many<'a>(&self, messages: impl IntoIterator<Item = &'a J>) -> Result<Vec<Bson>>
    where
        J: 'a,
    {
        let entries: Result<Vec<Document>> =
            messages.into_iter().map(|message| self.entry(message)).collect();
        Ok(self.entries.insert_many(entries?).await?.ids)
    }

    /// Takes the oldest entry that is to be done, and marks it as taken. One round trip.
    ///
    /// # Errors
    /// `Decode` when its message is no `J`; it was taken all the same.
    pub async fn take(&self) -> Result<Option<PlainEntry<J>>> {
        let ready = self.in_state(&self.names.ready);
        let taken = self.entries.find_one_and_update(ready, self.taking());
        self.read(taken.sort_raw(self.order()).await?)
    }

    /// Takes the oldest entry that is to be done out of the collection. One round trip.
    ///
    /// # Errors
    /// As [`take`](PlainQueue::take).
    pub async fn take_out(&self) -> Result<Option<PlainEntry<J>>> {
        let ready = self.in_state(&self.names.ready);
        let taken = self.entries.find_one_and_delete(ready);
        self.read(taken.sort_raw(self.order()).await?)
    }

    /// The entries of a capped queue, those that are there and those to come, as documents: for those who look on.
    pub fn tail(&self) -> Cursor<Document> {
        self.entries.find_all().tail()
    }

    fn entry(&self, message: &J) -> Result<Document> {
        let message = Bson::try_from(message::encode(message)?).map_err(|error| {
            Error::new(ErrorKind::Encode, "the message does not fit bson").with_source(error)
        })?;
        let mut entry = self.in_state(&self.names.ready);
        entry.insert(&self.names.created, self.db.now());
        entry.insert(&self.names.message, message);
        Ok(entry)
    }

    fn read(&self, entry: Option<Document>) -> Result<Option<PlainEntry<J>>> {
        let Some(mut entry) = entry else { return Ok(None) };
        let id = entry.remove("_id").unwrap_or(Bson::Null);
        let malformed = |field: &str| {
            Error::new(ErrorKind::Decode, "the entry of the queue is malformed")
                .with_path(field)
                .with_id(id.clone())
        };
        let created = entry.get_datetime(&self.names.created);
        let created = *created.map_err(|_| malformed(&self.names.created))?;
        let stored = entry.remove(&self.names.message).unwrap_or(Bson::Null);
        let stored = RawBson::try_from(stored).map_err(|_| malformed(&self.names.message))?;
        let message = message::decode(&stored).map_err(|error| error.with_id(id.clone()))?;
        Ok(Some(PlainEntry { id, created, message }))
    }
}

impl<J> Clone for PlainQueue<J> {
    fn clone(&self) -> PlainQueue<J> {
        PlainQueue {
            entries: self.entries.clone(),
            db: self.db.clone(),
            names: self.names.clone(),
            marker: PhantomData,
        }
    }
}

impl<J> fmt::Debug for PlainQueue<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlainQueue")
            .field("name", &self.entries.name())
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}
