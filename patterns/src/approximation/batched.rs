//! Sums that are written when they are worth it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use odm::bson::DateTime;
use odm::{Collection, Db, Error, ErrorKind, Field, Model, Operand, Result};

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

/// A sum that is being written.
struct Writing<'a, M: Model> {
    batched: &'a Batched<M>,
    key: String,
    sum: Pending<M::Key>,
    /// Whether it is to be written once more.
    again: bool,
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
    /// Cancel safety: the sum that is being written when the future is dropped is [in doubt](Batched::when_in_doubt).
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
    /// Cancel safety: what was not tried yet when the future is dropped stays here; the one sum that is being written is
    /// [in doubt](Batched::when_in_doubt).
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
        let due: Vec<String> = {
            let pending = self.lock();
            let due = pending.iter().filter(|(_, sum)| is_due(sum.since));
            due.map(|(key, _)| key.clone()).collect()
        };
        let (mut written, mut failed) = (0, None);
        for key in due {
            // One at a time: those that are left when this is dropped stay.
            let Some(sum) = self.lock().remove(&key) else {
                continue;
            };
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
        let repeats = self.in_doubt == InDoubt::Repeat;
        let mut writing = Writing {
            batched: self,
            key,
            sum,
            again: repeats,
        };
        let sum = &writing.sum;
        let update = self
            .documents
            .update_one(|_| M::key_field().eq(&sum.id), |_| self.field.inc(sum.amount));
        let written = update.await.map(drop);
        writing.again = match &written {
            Ok(()) => false,
            Err(error) => !may_have_happened(error) || repeats,
        };
        written
    }

    fn is_old(&self, since: DateTime) -> bool {
        self.age.is_some_and(|age| later(since, age) <= self.db.now())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Pending<M::Key>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Also where the future is dropped before the write has ended.
impl<M: Model> Drop for Writing<'_, M> {
    fn drop(&mut self) {
        if !self.again {
            return;
        }
        let mut pending = self.batched.lock();
        let again = pending
            .entry(std::mem::take(&mut self.key))
            .or_insert_with(|| Pending {
                id: self.sum.id.clone(),
                amount: 0,
                since: self.sum.since,
            });
        again.amount = again.amount.saturating_add(self.sum.amount);
    }
}

fn may_have_happened(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Network | ErrorKind::InDoubt | ErrorKind::Timeout
    )
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
