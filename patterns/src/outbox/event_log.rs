//! Events as documents of their own.

use std::fmt;
use std::time::Duration;

use odm::bson::{Bson, DateTime, doc};
use odm::{Collection, Db, Embedded, Error, ErrorKind, Filter, Model, Result};
use serde::{Deserialize, Serialize};

use super::delivery::Delivery;
use super::message::{Lease, Message};
use super::pauses::Pauses;

/// Which event of which source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Embedded)]
pub struct EventKey {
    /// The source.
    pub source: String,
    /// Which of its events, counted from 1.
    pub sequence: i64,
}

/// An event of an [`EventLog`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "outbox_events")]
pub struct StoredEvent {
    /// The source and the sequence.
    #[serde(rename = "_id")]
    pub id: EventKey,
    /// When it happened.
    pub at: DateTime,
    /// What happened.
    pub kind: String,
    /// The rest.
    pub data: Bson,
}

/// A source of events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(
    collection = "outbox_sources",
    index(keys(lease.until), partial = |s| s.pending.gt(0))
)]
pub struct SourceRecord {
    /// The source's name.
    #[serde(rename = "_id")]
    pub id: String,
    /// The sequence of its last event.
    pub last: i64,
    /// The sequence of the last event that was published.
    #[serde(default)]
    pub delivered: i64,
    /// How many wait.
    pub pending: i64,
    /// Which relay is at it.
    #[serde(default)]
    pub lease: Lease,
}

/// Events in two collections: `outbox_events`, and `outbox_sources` with the counters. Cheap to clone. Made in a
/// transaction (`EventLog::new(&tx)`), what it appends is part of it.
#[derive(Clone)]
pub struct EventLog {
    pub(super) db: Db,
    pub(super) sources: Collection<SourceRecord>,
    pub(super) events: Collection<StoredEvent>,
    pub(super) lease: Duration,
    pub(super) batch: u32,
    pub(super) pauses: Pauses,
}

/// What is wrong with a source.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EventProblem {
    /// The source.
    pub source: String,
    /// What is wrong.
    pub kind: EventProblemKind,
}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum EventProblemKind {
    /// An event that was not published is not there: its relay waits for it for ever.
    Gap {
        /// The missing sequence.
        missing: i64,
    },
    /// There is an event behind the last one that the counter knows.
    Beyond {
        /// Its sequence.
        sequence: i64,
    },
    /// The number of those that wait is not what the two counters say. [`EventLog::repair`] makes it so.
    WrongPending {
        /// What is stored.
        stored: i64,
        /// What it should be.
        counted: i64,
    },
}

impl EventLog {
    /// The log of a database. Run [`sync_indexes`](EventLog::sync_indexes) once.
    pub fn new(db: &Db) -> EventLog {
        EventLog {
            db: db.clone(),
            sources: db.collection(),
            events: db.collection(),
            lease: Duration::from_secs(60),
            batch: 100,
            pauses: Pauses::default(),
        }
    }

    /// How long a relay has a source to itself: longer than publishing a batch takes. 60 seconds unless said otherwise.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> EventLog {
        self.lease = lease;
        self
    }

    /// How many events of a source are published at a time, and are published again after a crash: 100 unless said
    /// otherwise.
    #[must_use]
    pub fn batch(mut self, events: u32) -> EventLog {
        self.batch = events.max(1);
        self
    }

    /// How long a source is left alone whose event could not be published, or is missing: after the first failure, and
    /// at the most. Each pause is twice as long as the one before it; from 1 second to 10 minutes unless said otherwise.
    #[must_use]
    pub fn pauses(mut self, first: Duration, longest: Duration) -> EventLog {
        self.pauses = Pauses::new(first, longest);
        self
    }

    /// Builds the index by which sources with events are found.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn sync_indexes(&self) -> Result<()> {
        self.sources.sync_indexes().await.map(drop)
    }

    /// Adds events of a source; gives the sequence of the last. In the caller's transaction, or, outside of one, in one
    /// of its own. Two transactions that add to the same source at once conflict: one of them is run again.
    ///
    /// Cost: 2 round trips; outside of a transaction the commit too.
    ///
    /// # Errors
    /// `InvalidArgument` without events; those of the transaction.
    pub async fn append(&self, source: &str, messages: impl IntoIterator<Item = Message>) -> Result<i64> {
        let messages: Vec<Message> = messages.into_iter().collect();
        if messages.is_empty() {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "there is no event to append",
            ));
        }
        let more = i64::try_from(messages.len()).unwrap_or(i64::MAX);
        let messages = &messages;
        self.db
            .transaction(async |tx| {
                let sources = tx.collection_named::<SourceRecord>(self.sources.name());
                let counted = sources
                    .find_one_and_update(
                        |s| s.id.eq(source),
                        |s| {
                            s.last.inc(more)
                                & s.pending.inc(more)
                                & s.delivered.set_on_insert(0)
                                & s.lease.set_on_insert(Lease::default())
                        },
                    )
                    .upsert()
                    .return_new()
                    .await?;
                let last = counted.map_or(more, |counted| counted.last);
                let events = messages
                    .iter()
                    .zip(last - more + 1..)
                    .map(|(message, sequence)| StoredEvent {
                        id: EventKey {
                            source: source.to_owned(),
                            sequence,
                        },
                        at: message.at,
                        kind: message.kind.clone(),
                        data: message.data.clone(),
                    });
                let all = tx.collection_named::<StoredEvent>(self.events.name());
                all.insert_many(events).await?;
                Ok(last)
            })
            .await
    }

    /// Events of a source behind a sequence, in order: for a consumer that found a gap, or begins.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn read(&self, source: &str, after: i64, limit: u32) -> Result<Vec<Delivery>> {
        let events = self
            .events
            .find(|_| range(source, after, i64::MAX))
            .sort_raw(doc! { "_id": 1 })
            .limit(limit.into());
        Ok(events
            .await?
            .into_iter()
            .map(StoredEvent::into_delivery)
            .collect())
    }

    /// Deletes the events of all sources that were published and happened before a time; gives how many.
    ///
    /// Cost: 1 round trip to list the sources, and 1 for each.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn prune(&self, before: DateTime) -> Result<u64> {
        let mut pruned = 0;
        let mut sources = self.sources.find_all().stream();
        while let Some(source) = sources.try_next().await? {
            let upper = doc! { "_id": { "$lte": key(&source.id, source.delivered) } };
            let old = self
                .events
                .delete_many(|e| range(&source.id, 0, i64::MAX) & Filter::raw(upper) & e.at.lt(before));
            pruned += old.await?.deleted;
        }
        Ok(pruned)
    }

    /// Looks through all sources for missing events and wrong counters. Reads all events that wait, twice where something
    /// seems wrong and the source was changed meanwhile.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn verify(&self) -> Result<Vec<EventProblem>> {
        let mut problems = Vec::new();
        let mut sources = self.sources.find_all().stream();
        while let Some(source) = sources.try_next().await? {
            let found = self.problems_of(&source).await?;
            if found.is_empty() {
                continue;
            }
            match self.sources.get(source.id.clone()).await? {
                Some(now) if now == source => problems.extend(found),
                // What was appended or published meanwhile looks wrong once; a number is of one moment.
                Some(now) => {
                    let still = self.problems_of(&now).await?.into_iter().filter(|problem| {
                        matches!(problem.kind, EventProblemKind::WrongPending { .. })
                            || found.contains(problem)
                    });
                    problems.extend(still);
                }
                None => {}
            }
        }
        Ok(problems)
    }

    async fn problems_of(&self, source: &SourceRecord) -> Result<Vec<EventProblem>> {
        let mut problems = Vec::new();
        let mut add = |kind| {
            problems.push(EventProblem {
                source: source.id.clone(),
                kind,
            });
        };
        let counted = source.last - source.delivered;
        if source.pending != counted {
            let stored = source.pending;
            add(EventProblemKind::WrongPending { stored, counted });
        }
        let mut next = source.delivered + 1;
        let waiting = self
            .events
            .find(|_| range(&source.id, source.delivered, i64::MAX));
        let mut waiting = waiting.sort_raw(doc! { "_id": 1 }).stream();
        while let Some(event) = waiting.try_next().await? {
            let sequence = event.id.sequence;
            for missing in next..sequence.min(source.last + 1) {
                add(EventProblemKind::Gap { missing });
            }
            if sequence > source.last {
                add(EventProblemKind::Beyond { sequence });
            }
            next = sequence + 1;
        }
        for missing in next..=source.last {
            add(EventProblemKind::Gap { missing });
        }
        Ok(problems)
    }

    /// Makes the numbers of waiting events what the counters say; gives what is left: events that are missing, or too
    /// many, have to be decided by somebody.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn repair(&self) -> Result<Vec<EventProblem>> {
        let mut left = Vec::new();
        for problem in self.verify().await? {
            if let EventProblemKind::WrongPending { .. } = problem.kind {
                let right = doc! { "$set": { "pending": { "$subtract": ["$last", "$delivered"] } } };
                self.sources
                    .update_one(|s| s.id.eq(&problem.source), |_| odm::Update::pipeline([right]))
                    .await?;
            } else {
                left.push(problem);
            }
        }
        Ok(left)
    }
}

impl StoredEvent {
    pub(super) fn into_delivery(self) -> Delivery {
        Delivery {
            source: self.id.source,
            document: None,
            sequence: self.id.sequence,
            attempt: 1,
            at: self.at,
            kind: self.kind,
            data: self.data,
        }
    }
}

/// The events of a source behind a sequence and up to another one: a range of the index on `_id`.
pub(super) fn range(source: &str, after: i64, last: i64) -> Filter<StoredEvent> {
    Filter::raw(doc! { "_id": { "$gt": key(source, after), "$lte": key(source, last) } })
}

fn key(source: &str, sequence: i64) -> odm::bson::Document {
    doc! { "source": source, "sequence": sequence }
}

impl fmt::Debug for EventLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventLog")
            .field("sources", &self.sources)
            .field("events", &self.events)
            .field("lease", &self.lease)
            .finish()
    }
}
