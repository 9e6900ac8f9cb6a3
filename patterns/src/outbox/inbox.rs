//! What a consumer has seen.

use odm::bson::DateTime;
use odm::{Collection, Db, Embedded, Error, ErrorKind, Model, Result, Tx, Update};
use serde::{Deserialize, Serialize};

/// Which consumer has seen which source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Embedded)]
pub struct InboxKey {
    /// The consumer.
    pub consumer: String,
    /// The source.
    pub source: String,
}

/// How far a consumer is with a source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "inbox")]
pub struct InboxRecord {
    /// The consumer and the source.
    #[serde(rename = "_id")]
    pub id: InboxKey,
    /// The sequence of the last event that was handled.
    pub last: i64,
    /// When.
    #[odm(index)]
    pub at: DateTime,
}

/// What came of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Received<T> {
    /// It was handled just now.
    Now(T),
    /// It was handled before: tell the sender that all is well.
    Before,
    /// Others come first, which were lost or are still on their way: nothing was done.
    Gap {
        /// The sequence that comes next.
        expected: i64,
    },
}

/// The events that one consumer has handled, in the collection `inbox`. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Inbox {
    db: Db,
    consumer: String,
}

impl Inbox {
    /// The inbox of a consumer.
    pub fn new(db: &Db, consumer: impl Into<String>) -> Inbox {
        Inbox {
            db: db.clone(),
            consumer: consumer.into(),
        }
    }

    /// Handles an event once: the body's effect, through its transaction, and the sequence are stored together. Events
    /// of a source are handled in order, from 1 or where [`start_after`](Inbox::start_after) says. As the body of any
    /// transaction it may run several times.
    ///
    /// Cost: 2 round trips beside the body's: sequence and commit. Refused 3: it is looked why, and aborted; one more for
    /// the first event of a source.
    ///
    /// # Errors
    /// Those of the body, after which the event counts as not handled; `InvalidArgument` for a sequence below 1.
    pub async fn receive<T, F, Fut>(&self, source: &str, sequence: i64, mut body: F) -> Result<Received<T>>
    where
        F: FnMut(Tx) -> Fut,
        Fut: Future<Output = Result<T>>,
    {
        if sequence < 1 {
            return Err(Error::new(ErrorKind::InvalidArgument, "sequences begin at 1"));
        }
        let attempt = |tx: Tx| {
            // The future does nothing until it is awaited.
            let (effect, tx) = (body(tx.clone()), tx);
            async move {
                match self.advance(&tx, source, sequence).await? {
                    Received::Now(()) => Ok(Received::Now(effect.await?)),
                    Received::Before => Ok(Received::Before),
                    Received::Gap { expected } => Ok(Received::Gap { expected }),
                }
            }
        };
        self.db.transaction(attempt).await
    }

    /// The sequence of the last event of a source that was handled; 0 when none was.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn last(&self, source: &str) -> Result<i64> {
        self.last_in(&self.db, source).await
    }

    /// Takes the events of a source up to a sequence for handled: for a consumer that begins later. Never goes back.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn start_after(&self, source: &str, sequence: i64) -> Result<()> {
        if sequence < 1 {
            return Ok(());
        }
        let at = self.db.now();
        self.records(&self.db)
            .upsert(
                |i| i.id.eq(self.key(source)),
                |i| i.last.max(sequence) & i.at.set(at),
            )
            .await?;
        Ok(())
    }

    /// Builds the index by which [`prune`](Inbox::prune) finds old records. Nothing else needs it.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn sync_indexes(&self) -> Result<()> {
        self.records(&self.db).sync_indexes().await.map(drop)
    }

    /// Forgets a source that is over, such as a document that was deleted for good; whether anything was known of it. What
    /// is sent again of it is handled again. One round trip.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn forget(&self, source: &str) -> Result<bool> {
        let forgotten = self.records(&self.db).delete_one(|i| i.id.eq(self.key(source)));
        Ok(forgotten.await?.deleted == 1)
    }

    /// Forgets the sources of which this consumer has handled nothing since a time; gives how many. An inbox has a record for
    /// each source, and so for each document with an [`Outbox`](super::Outbox), until then. One round trip.
    ///
    /// Choose a time from before which **no source goes on and nothing is sent again**. What is sent again of a forgotten
    /// source is handled again; and one that goes on is a [`Gap`](Received::Gap) that expects 1, until
    /// [`start_after`](Inbox::start_after) says where it was.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn prune(&self, before: DateTime) -> Result<u64> {
        let old = self
            .records(&self.db)
            .delete_many(|i| i.id.consumer.eq(&self.consumer) & i.at.lt(before));
        Ok(old.await?.deleted)
    }

    async fn advance(&self, tx: &Db, source: &str, sequence: i64) -> Result<Received<()>> {
        let (records, key, at) = (self.records(tx), self.key(source), tx.now());
        if sequence == 1 {
            // No document yet, unless somebody started later.
            let insert = records.upsert(
                |i| i.id.eq(&key),
                |i| i.last.set_on_insert(1) & i.at.set_on_insert(at) & Update::none(),
            );
            if insert.await?.upserted_id.is_some() {
                return Ok(Received::Now(()));
            }
        }
        let update = records.update_one(
            |i| i.id.eq(&key) & i.last.eq(sequence - 1),
            |i| i.last.set(sequence) & i.at.set(at),
        );
        if update.await?.matched == 1 {
            return Ok(Received::Now(()));
        }
        let last = self.last_in(tx, source).await?;
        Ok(judged(last, sequence))
    }

    async fn last_in(&self, db: &Db, source: &str) -> Result<i64> {
        let record = self.records(db).get(self.key(source)).await?;
        Ok(record.map_or(0, |record| record.last))
    }

    fn records(&self, db: &Db) -> Collection<InboxRecord> {
        db.collection()
    }

    fn key(&self, source: &str) -> InboxKey {
        InboxKey {
            consumer: self.consumer.clone(),
            source: source.to_owned(),
        }
    }
}

/// What an event is to somebody who has seen those up to `last`.
pub(super) fn judged(last: i64, sequence: i64) -> Received<()> {
    match sequence {
        _ if sequence <= last => Received::Before,
        _ if sequence == last + 1 => Received::Now(()),
        _ => Received::Gap { expected: last + 1 },
    }
}
