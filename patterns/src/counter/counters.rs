//! Counting.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use odm::bson::oid::ObjectId;
use odm::bson::{DateTime, doc};
use odm::{Collection, Db, Error, ErrorKind, Result};

use super::change::{Change, Place};
use super::event::Event;
use super::key::Key;
use super::layout::Layout;
use super::report::Cell;
use super::shape::Shape;
use crate::computed::Amount;
use crate::period::Unit;

/// How often a write is tried whose document somebody else inserts at the same time.
const TRIES: usize = 16;

/// Counters of a database. Cheap to clone. Made in a transaction (`counters.on(&tx)`), all that it does is part of it.
pub struct Counters<T = i64> {
    pub(super) db: Db,
    pub(super) name: Arc<str>,
    pub(super) shape: Arc<Shape<T>>,
    turn: Arc<AtomicUsize>,
}

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recorded {
    /// It was counted.
    Now,
    /// It had been counted before; nothing was changed.
    Before,
    /// It came too late; nothing was changed.
    TooLate,
}

impl<T: Amount> Counters<T> {
    /// The counters in the collection of this name, or in collections whose names begin with it. No round trip.
    ///
    /// # Errors
    /// `InvalidArgument` for a shape that cannot be: levels that do not nest, names that clash, too large documents.
    pub fn new(db: &Db, name: &str, shape: Shape<T>) -> Result<Counters<T>> {
        shape.check()?;
        // Programs that begin at the same time begin with different shards.
        let first = ObjectId::new().bytes()[8..]
            .iter()
            .fold(0, |sum, byte| sum * 31 + usize::from(*byte));
        Ok(Counters {
            db: db.clone(),
            name: name.into(),
            shape: Arc::new(shape),
            turn: Arc::new(AtomicUsize::new(first)),
        })
    }

    /// The same counters through another handle of the database, such as a transaction. They stay in their own database,
    /// whichever the transaction was begun on: see [`Db::through`].
    #[must_use]
    pub fn on(&self, db: &Db) -> Counters<T> {
        Counters {
            db: self.db.through(db),
            ..self.clone()
        }
    }

    /// Counts an event. One update, which changes the figures of all granularities; with [more
    /// layouts](Shape::also) one transaction.
    ///
    /// One round trip; two when an event is sent again, or is the first of its period while others count it too; with more
    /// layouts one for each, the commit, and one before each where the event has an id.
    ///
    /// An error of kind `Network` or `InDoubt` leaves open whether the event was counted. Send it again if it has an
    /// [id](Event::id): it is counted once. Otherwise it is in doubt for good.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown measure and for times beyond the calendar; `Encode` for what cannot be summed
    /// exactly.
    pub async fn record(&self, event: Event<T>) -> Result<Recorded> {
        let Some(changes) = self.changes(&event)? else {
            return Ok(Recorded::TooLate);
        };
        let is_new = match changes.as_slice() {
            [change] => self.apply(change).await?,
            changes => self.apply_all(changes).await?,
        };
        Ok(if is_new { Recorded::Now } else { Recorded::Before })
    }

    /// Makes a key's documents of the period that a time falls in, full of zeros, so that counting later changes no
    /// document's size. Documents that are there get the zeros that they lack, and keep their counts. One round trip for each document.
    ///
    /// # Errors
    /// As [`record`](Counters::record).
    pub async fn preallocate(&self, key: &Key, time: DateTime) -> Result<()> {
        for change in self.blank(key, time)? {
            self.apply(&change).await?;
        }
        Ok(())
    }

    /// As [`preallocate`](Counters::preallocate) for many keys at once: one round trip for all on the embedded engine, one
    /// for each collection on MongoDB. For a job that runs ahead of the next period.
    ///
    /// # Errors
    /// As [`record`](Counters::record).
    pub async fn preallocate_all<'a>(
        &self,
        keys: impl IntoIterator<Item = &'a Key>,
        time: DateTime,
    ) -> Result<()> {
        let mut blanks = Vec::new();
        for key in keys {
            blanks.extend(self.blank(key, time)?);
        }
        blanks.sort_by(|a, b| a.place.collection.cmp(&b.place.collection));
        for group in blanks.chunk_by(|a, b| a.place.collection == b.place.collection) {
            let collection = self.db.raw_collection(&group[0].place.collection);
            let mut batch = collection.bulk_write().unordered();
            for change in group {
                batch = batch.upsert(doc! { "_id": &change.place.id }, self.update(change)?);
            }
            match batch.await {
                // Somebody counts already: nothing is missing that has to be there.
                Err(error) if is_all_there(&error) => {}
                written => drop(written?),
            }
        }
        Ok(())
    }

    /// The time before which nothing is counted any more, where there is one.
    pub(super) fn closed_before(&self) -> Option<DateTime> {
        let after = self.shape.closed_after?;
        let after = i64::try_from(after.as_millis()).unwrap_or(i64::MAX);
        Some(self.db.now().saturating_add_millis(-after))
    }

    /// What an event adds to which documents; nothing when it is too late.
    pub(super) fn changes(&self, event: &Event<T>) -> Result<Option<Vec<Change<T>>>> {
        let now = self.db.now();
        let at = event.at.unwrap_or(now);
        if self.closed_before().is_some_and(|closed| at < closed) {
            return Ok(None);
        }
        let shard = match &event.id {
            Some(id) => self.shard_of(id),
            None => (self.turn.fetch_add(1, Ordering::Relaxed) as u64 % u64::from(self.shape.shards)) as u16,
        };
        let cell = Cell::of_event(&self.shape, event)?;
        let mut changes = Vec::with_capacity(self.shape.layouts.len());
        for layout in 0..self.shape.layouts.len() {
            let mut change = Change::of(self.place(layout, &event.key, at, shard)?);
            self.add(&mut change, at, &cell)?;
            change.seen.extend(event.id.clone());
            changes.push(change);
        }
        Ok(Some(changes))
    }

    /// Which of a document's shards remembers an id.
    pub(super) fn shard_of(&self, id: &str) -> u16 {
        (hash(id) % u64::from(self.shape.shards)) as u16
    }

    /// Adds figures to all granularities of a document.
    pub(super) fn add(&self, change: &mut Change<T>, at: DateTime, cell: &Cell<T>) -> Result<()> {
        let layout = &self.shape.layouts[change.place.layout];
        change.add(&self.shape, &layout.total, cell)?;
        for depth in 0..layout.levels.len() {
            change.add(&self.shape, &self.path(layout, depth, at)?, cell)?;
        }
        Ok(())
    }

    /// The documents of a key of the periods that a time falls in, with all that can be counted in them.
    fn blank(&self, key: &Key, time: DateTime) -> Result<Vec<Change<T>>> {
        let zero = Cell::zero(&self.shape);
        let mut blanks = Vec::new();
        for layout in 0..self.shape.layouts.len() {
            for shard in 0..self.shape.shards {
                let mut change = Change::of(self.place(layout, key, time, shard)?);
                let own = &self.shape.layouts[layout];
                change.add(&self.shape, &own.total, &zero)?;
                for slot in self.slots(own, time)? {
                    self.add(&mut change, slot, &zero)?;
                }
                blanks.push(change);
            }
        }
        Ok(blanks)
    }

    /// The beginnings of the shortest periods of the document that a time falls in; none where it has no levels, or no end.
    pub(super) fn slots(&self, layout: &Layout, time: DateTime) -> Result<Vec<DateTime>> {
        let (Some(span), Some(level)) = (layout.span, layout.levels.last()) else {
            return Ok(Vec::new());
        };
        let zone = &self.shape.zone;
        let end = zone.next(span, time)?;
        let mut slot = zone.start(span, time)?;
        let mut slots = Vec::new();
        while slot < end {
            slots.push(slot);
            slot = zone.next(level.unit, slot)?;
        }
        Ok(slots)
    }

    pub(super) fn place(&self, layout: usize, key: &Key, at: DateTime, shard: u16) -> Result<Place> {
        let own = &self.shape.layouts[layout];
        let zone = &self.shape.zone;
        let (label, from) = match own.span {
            None => (String::new(), None),
            Some(span) => (zone.label(span, at)?, Some(zone.start(span, at)?)),
        };
        let (name, text) = (own.name(), key.text()?);
        Ok(Place {
            layout,
            collection: self.collection_at(at)?,
            id: match shard {
                0 => format!("{name}:{label}:{text}"),
                shard => format!("{name}:{label}:{text}:{shard:03}"),
            },
            key: key.clone(),
            from,
            shard,
        })
    }

    /// Where a level's figures of a time stand in a document.
    pub(super) fn path(&self, layout: &Layout, depth: usize, at: DateTime) -> Result<String> {
        let mut path = layout.levels[depth].name.clone();
        let mut outer = layout.span;
        for level in &layout.levels[..=depth] {
            let slot = self.shape.zone.slot(outer, level.unit, at)?;
            path.push('.');
            path.push_str(&slot.to_string());
            outer = Some(level.unit);
        }
        Ok(path)
    }

    /// The name of the collection for what happens at a time.
    ///
    /// # Errors
    /// `InvalidArgument` for times beyond the calendar.
    pub fn collection_at(&self, at: DateTime) -> Result<String> {
        let Some(scope) = self.shape.scope else {
            return Ok(self.name.to_string());
        };
        let label = self.shape.zone.label(scope, at)?.replace('-', "_");
        Ok(format!("{}_{label}", self.name))
    }

    /// Applies the changes of one event in one transaction: all of them, or none where one of the documents remembers the
    /// event. Each forgets by itself, so that another one may no longer.
    pub(super) async fn apply_all(&self, changes: &[Change<T>]) -> Result<bool> {
        self.db
            .transaction(async |tx| {
                let inner = self.on(&tx);
                for change in changes {
                    if inner.remembers(change).await? {
                        return Ok(false);
                    }
                }
                for change in changes {
                    inner.write(change).await?;
                }
                Ok(true)
            })
            .await
    }

    /// Whether a change's document remembers its event.
    async fn remembers(&self, change: &Change<T>) -> Result<bool> {
        let Some(event) = change.seen.first() else {
            return Ok(false);
        };
        let collection = self.db.raw_collection(&change.place.collection);
        let seen = doc! { "_id": &change.place.id, "seen": event };
        collection.exists(&seen).await
    }

    /// Adds a change to its document; whether it had not been added before.
    pub(super) async fn apply(&self, change: &Change<T>) -> Result<bool> {
        // A duplicate key would end a transaction. What changes between this and the write is its conflict.
        if self.db.in_transaction() && self.remembers(change).await? {
            return Ok(false);
        }
        self.write(change).await
    }

    /// The same where a transaction has been asked whether it remembers the event.
    async fn write(&self, change: &Change<T>) -> Result<bool> {
        let collection = self.db.raw_collection(&change.place.collection);
        let mut filter = doc! { "_id": &change.place.id };
        if let Some(event) = change.seen.first() {
            filter.insert("seen", doc! { "$ne": event });
        }
        self.upsert(&collection, change, filter, self.update(change)?)
            .await
    }

    async fn upsert(
        &self,
        collection: &Collection<odm::bson::Document>,
        change: &Change<T>,
        filter: odm::bson::Document,
        update: odm::bson::Document,
    ) -> Result<bool> {
        for _ in 0..TRIES {
            match collection.upsert(&filter, &update).await {
                Ok(_) => return Ok(true),
                // Either the document was inserted meanwhile, or it does not match because it knows the event.
                Err(error) if error.is_duplicate_key() && !self.db.in_transaction() => {
                    if self.remembers(change).await? {
                        return Ok(false);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Err(Error::new(
            ErrorKind::Conflict,
            "the document of the counters kept being inserted",
        ))
    }

    fn update(&self, change: &Change<T>) -> Result<odm::bson::Document> {
        let name = self.shape.layouts[change.place.layout].name();
        change.update(name, self.shape.remember)
    }

    /// The name of the collection for a period of collections, and that period.
    pub(super) fn scope(&self) -> Option<Unit> {
        self.shape.scope
    }
}

/// Whether every write that failed did so because its document was there.
fn is_all_there(error: &Error) -> bool {
    let failed = error.write_errors();
    let is_met = error.write_concern_error().is_none();
    is_met && !failed.is_empty() && failed.iter().all(|failed| failed.error.is_duplicate_key())
}

/// FNV-1a: the same in all programs and versions, since an event's shard must be.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

impl<T> Clone for Counters<T> {
    fn clone(&self) -> Counters<T> {
        Counters {
            db: self.db.clone(),
            name: self.name.clone(),
            shape: self.shape.clone(),
            turn: self.turn.clone(),
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Counters<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counters")
            .field("db", &self.db)
            .field("name", &self.name)
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}
