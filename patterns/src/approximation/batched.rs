//! Sums that are written when they are worth it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use odm::bson::DateTime;
use odm::{Collection, Db, ErrorKind, Field, Model, Operand, Result};

use crate::later::later;

/// Amounts for a counter of a model's documents, summed up here. Cheap to clone; clones share the sums.
pub struct Batched<M: Model> {
    db: Db,
    documents: Collection<M>,
    field: Field<M, i64>,
    threshold: i64,
    age: Option<Duration>,
    in_doubt: InDoubt,
    pending: Arc<Mutex<HashMap<String, Pending<M::Key>>>>,
}

/// What becomes of an amount whose write failed although it may have happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum InDoubt {
    /// It is not written again: the counter is never too high.
    #[default]
    Drop,
    /// It is written again: the counter is never too low.
    Repeat,
}

#[derive(Debug)]
struct Pending<K> {
    id: K,
    amount: i64,
    since: DateTime,
}

impl<M: Model> Batched<M> {
    /// Sums for this field, each written when it reaches the threshold, up or down.
    pub fn new(db: &Db, field: impl FnOnce(M::Fields<M>) -> Field<M, i64>, threshold: i64) -> Batched<M> {
        Batched::named(db, M::DESCRIPTOR.collection, field, threshold)
    }

    /// The same in another collection of the model.
    pub fn named(
        db: &Db,
        collection: &str,
        field: impl FnOnce(M::Fields<M>) -> Field<M, i64>,
        threshold: i64,
    ) -> Batched<M> {
        Batched {
            db: db.clone(),
            documents: db.collection_named(collection),
            field: field(M::fields()),
            threshold: threshold.max(1),
            age: None,
            in_doubt: InDoubt::default(),
            pending: Arc::default(),
        }
    }

    /// How old a sum gets: an [`add`](Batched::add) to an older one writes it, and [`flush_old`](Batched::flush_old)
    /// writes all of them.
    #[must_use]
    pub fn max_age(mut self, age: Duration) -> Batched<M> {
        self.age = Some(age);
        self
    }

    /// What is done when it is not known whether a sum was written.
    #[must_use]
    pub fn when_in_doubt(mut self, what: InDoubt) -> Batched<M> {
        self.in_doubt = what;
        self
    }

    /// Adds to the sum of a document; whether it was written. No round trip, or one. Amounts for documents that are not
    /// there are lost.
    ///
    /// # Errors
    /// Those of an update.
    pub async fn add(&self, id: impl Operand<M::Key>, amount: i64) -> Result<bool> {
        let id = id.with_operand(Clone::clone);
        let key = self.documents.encode_key(&id)?.to_string();
        let due = {
            let mut pending = self.lock();
            let sum = pending.entry(key.clone()).or_insert_with(|| Pending {
                id,
                amount: 0,
                since: self.db.now(),
            });
            sum.amount = sum.amount.saturating_add(amount);
            let is_due = sum.amount.saturating_abs() >= self.threshold || self.is_old(sum.since);
            match is_due {
                true => pending.remove(&key),
                false => None,
            }
        };
        match due {
            Some(sum) => self.write(key, sum).await.map(|()| true),
            None => Ok(false),
        }
    }

    /// Writes all sums; how many. One round trip for each.
    ///
    /// # Errors
    /// The first error; the other sums are tried all the same.
    pub async fn flush(&self) -> Result<usize> {
        self.write_all(|_| true).await
    }

    /// Writes the sums that are older than [said](Batched::max_age).
    ///
    /// # Errors
    /// As [`flush`](Batched::flush).
    pub async fn flush_old(&self) -> Result<usize> {
        self.write_all(|since| self.is_old(since)).await
    }

    /// What was not written yet, of all documents together.
    pub fn pending(&self) -> i64 {
        let pending = self.lock();
        pending
            .values()
            .fold(0, |sum: i64, one| sum.saturating_add(one.amount))
    }

    async fn write_all(&self, is_due: impl Fn(DateTime) -> bool) -> Result<usize> {
        let due: Vec<(String, Pending<M::Key>)> = {
            let mut pending = self.lock();
            take_due(&mut pending, is_due)
        };
        let (mut written, mut failed) = (0, None);
        for (key, sum) in due {
            match self.write(key, sum).await {
                Ok(()) => written += 1,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(written),
        }
    }

    async fn write(&self, key: String, sum: Pending<M::Key>) -> Result<()> {
        let update = self
            .documents
            .update_one(|_| M::key_field().eq(&sum.id), |_| self.field.inc(sum.amount));
        let Err(error) = update.await else { return Ok(()) };
        let kind = error.kind();
        let is_in_doubt = matches!(kind, ErrorKind::Network | ErrorKind::InDoubt | ErrorKind::Timeout);
        if !is_in_doubt || self.in_doubt == InDoubt::Repeat {
            let mut pending = self.lock();
            let again = pending.entry(key).or_insert(Pending { amount: 0, ..sum });
            again.amount = again.amount.saturating_add(sum.amount);
        }
        Err(error)
    }

    fn is_old(&self, since: DateTime) -> bool {
        self.age.is_some_and(|age| later(since, age) <= self.db.now())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Pending<M::Key>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn take_due<K>(
    pending: &mut HashMap<String, Pending<K>>,
    is_due: impl Fn(DateTime) -> bool,
) -> Vec<(String, Pending<K>)> {
    let (due, rest) = pending.drain().partition(|(_, sum)| is_due(sum.since));
    *pending = rest;
    HashMap::into_iter(due).collect()
}

impl<M: Model> Clone for Batched<M> {
    fn clone(&self) -> Batched<M> {
        Batched {
            db: self.db.clone(),
            documents: self.documents.clone(),
            field: self.field.clone(),
            threshold: self.threshold,
            age: self.age,
            in_doubt: self.in_doubt,
            pending: self.pending.clone(),
        }
    }
}

impl<M: Model> fmt::Debug for Batched<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batched")
            .field("documents", &self.documents)
            .field("field", &self.field)
            .field("threshold", &self.threshold)
            .field("age", &self.age)
            .field("in_doubt", &self.in_doubt)
            .finish_non_exhaustive()
    }
}
