//! Many events, few writes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::lock::Mutex as AsyncMutex;
use odm::bson::DateTime;
use odm::bson::oid::ObjectId;
use odm::{Error, ErrorKind, Result};

use super::change::Change;
use super::counters::Counters;
use super::event::Event;
use crate::computed::Amount;
use crate::later::later;

/// How many times the number of events that make a flush due may be held when flushes fail.
const MOST_HELD: usize = 100;

/// Adds events up in memory and writes each document once for many of them.
///
/// What it [holds](Coalescer::held) when the process ends, or when it is dropped without
/// [`close`](Coalescer::close), is lost: the events since the last [`flush`](Coalescer::flush) that
/// succeeded, at the most those of [`every`](Coalescer::every) or [`after`](Coalescer::after), whichever comes first. What was
/// flushed is not, and is counted once: a flush whose reply was lost is sent again under the same id, which
/// the documents [remember](super::Shape::remember).
///
/// Share it between tasks by an `Arc`.
pub struct Coalescer<T = i64> {
    counters: Counters<T>,
    every: usize,
    after: Duration,
    held: Mutex<Held<T>>,
    /// One flush at a time.
    turn: AsyncMutex<()>,
}

/// What became of an event that was given to a [`Coalescer`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Coalesced {
    /// It is in memory.
    Held,
    /// It is written, and so is all that was held.
    Flushed,
    /// A flush was due and failed: it is in memory, with the others, and will be flushed again.
    Delayed(Error),
    /// It came too late, and is not counted.
    TooLate,
}

struct Held<T> {
    open: BTreeMap<(String, String), Change<T>>,
    /// How many events are in `open`.
    events: usize,
    since: Option<DateTime>,
    sealed: Vec<Batch<T>>,
    last_error: Option<Error>,
    is_closed: bool,
}

/// What is written as one, and keeps its id until it is known to be written.
#[derive(Clone)]
struct Batch<T> {
    id: String,
    changes: Vec<Change<T>>,
    events: usize,
}

impl<T: Amount> Counters<T> {
    /// A writer that adds events up: by 1,000, or for a second.
    pub fn coalescer(&self) -> Coalescer<T> {
        Coalescer {
            counters: self.clone(),
            every: 1_000,
            after: Duration::from_secs(1),
            held: Mutex::new(Held {
                open: BTreeMap::new(),
                events: 0,
                since: None,
                sealed: Vec::new(),
                last_error: None,
                is_closed: false,
            }),
            turn: AsyncMutex::new(()),
        }
    }
}

impl<T: Amount> Coalescer<T> {
    /// How many events make a flush due.
    pub fn every(mut self, events: usize) -> Coalescer<T> {
        self.every = events.max(1);
        self
    }

    /// How old the oldest event may become: the next [`record`](Coalescer::record) flushes then, or
    /// [`keep_flushing`](Coalescer::keep_flushing), if it runs.
    pub fn after(mut self, time: Duration) -> Coalescer<T> {
        self.after = time;
        self
    }

    /// Adds an event to what is held, and flushes when that is due. None or one round trip for each document that is
    /// flushed.
    ///
    /// # Errors
    /// `InvalidArgument` for an event with an id, which is written by [`Counters::record`], and after
    /// [`close`](Coalescer::close); those of the last flush, when more than 100 times the events that
    /// make a flush due are held because flushes fail. The event is not held then.
    pub async fn record(&self, event: Event<T>) -> Result<Coalesced> {
        if event.id.is_some() {
            return Err(refused("events with ids are not added up"));
        }
        let Some(changes) = self.counters.changes(&event)? else {
            return Ok(Coalesced::TooLate);
        };
        if !self.hold(changes)? {
            return Ok(Coalesced::Held);
        }
        Ok(match self.flush().await {
            Ok(()) => Coalesced::Flushed,
            Err(error) => Coalesced::Delayed(error),
        })
    }

    /// Holds the changes of an event; whether a flush is due.
    fn hold(&self, changes: Vec<Change<T>>) -> Result<bool> {
        let now = self.counters.db.now();
        let mut held = self.lock();
        if held.is_closed {
            return Err(refused("the writer is closed"));
        }
        if let Some(error) = &held.last_error
            && held.count() >= self.every.saturating_mul(MOST_HELD)
        {
            return Err(error.clone());
        }
        // Only what can be added whole is added.
        let mut merged = Vec::with_capacity(changes.len());
        for change in changes {
            let name = (change.place.collection.clone(), change.place.id.clone());
            let sum = match held.open.get(&name) {
                None => change,
                Some(own) => {
                    let mut own = own.clone();
                    own.merge(change)?;
                    own
                }
            };
            merged.push((name, sum));
        }
        held.open.extend(merged);
        held.events += 1;
        let since = *held.since.get_or_insert(now);
        Ok(held.events >= self.every || later(since, self.after) <= now)
    }

    /// Writes what is held. When it is ready without an error, all events that were recorded before are in the database.
    ///
    /// One round trip for each document; one transaction of as many where there are several layouts. Cancel safety: what
    /// was not written stays held.
    ///
    /// # Errors
    /// Those of the database; what was not written stays held, and the next flush begins with it.
    pub async fn flush(&self) -> Result<()> {
        let _turn = self.turn.lock().await;
        self.lock().seal();
        loop {
            let Some(batch) = self.lock().sealed.first().cloned() else {
                self.lock().last_error = None;
                return Ok(());
            };
            if let Err(error) = self.write(&batch).await {
                self.lock().last_error = Some(error.clone());
                return Err(error);
            }
            self.lock().sealed.remove(0);
        }
    }

    async fn write(&self, batch: &Batch<T>) -> Result<()> {
        let mut changes = batch.changes.clone();
        for change in &mut changes {
            change.seen = vec![batch.id.clone()];
        }
        if self.counters.shape.layouts.len() > 1 {
            return self.counters.apply_all(&changes).await.map(drop);
        }
        for change in &changes {
            self.counters.apply(change).await?;
        }
        Ok(())
    }

    /// Flushes again and again, for as long as it is polled; spawn it, or select it beside the program's work. What fails is
    /// tried again the next time.
    pub async fn keep_flushing(&self) {
        loop {
            match Instant::now().checked_add(self.after) {
                Some(next) => odm::sleep_until(next).await,
                None => std::future::pending().await,
            }
            self.flush().await.ok();
        }
    }

    /// Takes no more events, and flushes. If that fails, it can be called again.
    ///
    /// # Errors
    /// As [`flush`](Coalescer::flush).
    pub async fn close(&self) -> Result<()> {
        self.lock().is_closed = true;
        self.flush().await
    }

    /// How many events are held in memory.
    pub fn held(&self) -> usize {
        self.lock().count()
    }

    fn lock(&self) -> MutexGuard<'_, Held<T>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Held<T> {
    fn count(&self) -> usize {
        self.events + self.sealed.iter().map(|batch| batch.events).sum::<usize>()
    }

    fn seal(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let batch = Batch {
            id: ObjectId::new().to_hex(),
            changes: std::mem::take(&mut self.open).into_values().collect(),
            events: std::mem::take(&mut self.events),
        };
        self.since = None;
        self.sealed.push(batch);
    }
}

fn refused(text: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, text)
}

impl<T> fmt::Debug for Coalescer<T>
where
    Counters<T>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coalescer")
            .field("counters", &self.counters)
            .field("every", &self.every)
            .field("after", &self.after)
            .finish_non_exhaustive()
    }
}
