//! What a handler gets.

use std::fmt;

use odm::bson::oid::ObjectId;
use odm::bson::{DateTime, RawBson};
use odm::{Db, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::queue::message;
use crate::queue::signal::Signal;
use crate::queue::{Beat, Claimed, Lease, Queue};

/// A job in the hands of a handler.
#[non_exhaustive]
pub struct Task<J> {
    /// What is to be done.
    pub job: J,
    /// The right to do it.
    pub lease: Lease,
    /// When it was enqueued.
    pub created: DateTime,
    /// When it was due.
    pub due: DateTime,
    /// Its group.
    pub group: Option<String>,
    progress: Option<RawBson>,
    queue: Queue<J>,
    signal: Signal,
}

impl<J> Task<J> {
    pub(super) fn new(claimed: Claimed<J>, queue: &Queue<J>, signal: &Signal) -> Task<J> {
        Task {
            job: claimed.job,
            lease: claimed.lease,
            created: claimed.created,
            due: claimed.due,
            group: claimed.group,
            progress: claimed.progress,
            queue: queue.clone(),
            signal: signal.clone(),
        }
    }

    /// The job's id.
    pub fn id(&self) -> ObjectId {
        self.lease.id
    }

    /// Tells whether to stop, and why: the job was called off, the lease is lost, the worker is shutting down.
    pub fn signal(&self) -> &Signal {
        &self.signal
    }

    /// The queue that the job is from.
    pub fn queue(&self) -> &Queue<J> {
        &self.queue
    }

    /// Stores how far the job is. One round trip.
    ///
    /// # Errors
    /// As [`Queue::progress`].
    pub async fn set_progress<T: Serialize>(&self, progress: &T) -> Result<Beat> {
        self.queue.progress(&self.lease, progress).await
    }

    /// How far an earlier attempt said that the job is.
    ///
    /// # Errors
    /// `Decode` when it is no `T`.
    pub fn last_progress<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        self.progress.as_ref().map(message::decode).transpose()
    }

    /// Says inside of a transaction that the job is done, so that it is if and only if the transaction is committed: give
    /// `&tx`. What the handler gives back afterwards changes nothing any more.
    ///
    /// Say it **first**, before the work: from then on nobody takes the job, and the worker's [signs of
    /// life](super::Worker::heartbeat) wait for the transaction. A sign of life that comes between the transaction's
    /// beginning and this is a conflict, after which the transaction is run again; one that takes longer than the time
    /// between two of them, and says it last, comes to no end.
    ///
    /// # Errors
    /// As [`Queue::ack`]; the transaction should be given up then.
    pub async fn complete_on(&self, db: &Db) -> Result<()> {
        self.signal.completes();
        self.queue.on(db).ack(&self.lease).await
    }

    /// The same with a result.
    ///
    /// # Errors
    /// As [`Queue::ack_with`].
    pub async fn complete_with_on<R: Serialize>(&self, db: &Db, result: &R) -> Result<()> {
        self.signal.completes();
        self.queue.on(db).ack_with(&self.lease, result).await
    }
}

impl<J: fmt::Debug> fmt::Debug for Task<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("job", &self.job)
            .field("lease", &self.lease)
            .finish_non_exhaustive()
    }
}
