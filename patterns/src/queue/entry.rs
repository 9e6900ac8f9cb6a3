//! Looking at jobs.

use odm::Result;
use odm::bson::oid::ObjectId;
use odm::bson::{DateTime, RawBson};
use serde::de::DeserializeOwned;

use super::Queue;
use super::job::Job;
use super::message;
use super::stored::{AttemptError, State, Stored};

/// A job as it is stored.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry<J> {
    /// The job's id.
    pub id: ObjectId,
    /// Where it is in its life.
    pub state: State,
    /// What is to be done.
    pub job: J,
    /// Its kind.
    pub kind: String,
    /// When it was enqueued.
    pub created: DateTime,
    /// When it is or was due.
    pub due: DateTime,
    /// When it was done, died, or was called off.
    pub finished: Option<DateTime>,
    /// Its priority.
    pub priority: i8,
    /// Its group.
    pub group: Option<String>,
    /// Its unique key.
    pub unique: Option<String>,
    /// How often it was claimed, without those that do not count.
    pub attempts: u32,
    /// How often it may be claimed.
    pub max_attempts: u32,
    /// Who claimed it last, by which token, until when.
    pub lease: Option<(String, i64, DateTime)>,
    /// The latest errors, oldest first.
    pub errors: Vec<AttemptError>,
    progress: Option<RawBson>,
    result: Option<RawBson>,
}

impl<J> Entry<J> {
    /// What the job left as its result: [`ack_with`](Queue::ack_with).
    ///
    /// # Errors
    /// `Decode` when it is no `R`.
    pub fn result<R: DeserializeOwned>(&self) -> Result<Option<R>> {
        self.result.as_ref().map(message::decode).transpose()
    }

    /// What the job said last of how far it is: [`progress`](Queue::progress).
    ///
    /// # Errors
    /// `Decode` when it is no `T`.
    pub fn progress<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        self.progress.as_ref().map(message::decode).transpose()
    }
}

impl<J: Job> Entry<J> {
    fn read(job: Stored) -> Result<Entry<J>> {
        Ok(Entry {
            job: message::decode(&job.message).map_err(|error| error.with_id(job.id))?,
            id: job.id,
            state: job.state,
            kind: job.kind,
            created: job.created,
            due: job.due,
            finished: job.finished,
            priority: job.priority,
            group: job.group,
            unique: job.unique,
            attempts: job.attempts,
            max_attempts: job.max_attempts,
            lease: job.lease.map(|lease| (lease.owner, lease.token, lease.until)),
            errors: job.errors,
            progress: job.progress,
            result: job.result,
        })
    }
}

impl<J: Job> Queue<J> {
    /// The job of this id, if it is there. One round trip.
    ///
    /// # Errors
    /// `Decode` when it is no `J`.
    pub async fn get(&self, id: ObjectId) -> Result<Option<Entry<J>>> {
        self.jobs.get(id).await?.map(Entry::read).transpose()
    }

    /// The first so many jobs of a state: ready ones in the order of their claims, others by when they are due, end, or can
    /// be pruned. 0 is no limit. One round trip.
    ///
    /// # Errors
    /// `Decode` when one is no `J`.
    pub async fn list(&self, state: State, limit: u64) -> Result<Vec<Entry<J>>> {
        let jobs = self.jobs.find(|j| j.state.eq(state)).sort(|j| j.order.asc());
        jobs.limit(limit).await?.into_iter().map(Entry::read).collect()
    }
}
