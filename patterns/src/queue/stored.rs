//! Jobs as they are stored.

use odm::bson::oid::ObjectId;
use odm::bson::{DateTime, RawBson};
use odm::{Embedded, Model};
use serde::{Deserialize, Serialize};

/// Where a job is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum State {
    /// Behind others of its group.
    Waiting,
    /// Due later.
    Scheduled,
    /// Failed, to be tried again later.
    Failed,
    /// To be claimed.
    Ready,
    /// Claimed: somebody has a lease.
    Running,
    /// Acknowledged.
    Done,
    /// Given up: out of attempts, or failed for good.
    Dead,
    /// Called off.
    Canceled,
}

impl State {
    /// Those of jobs that are not finished and do not run.
    pub const QUEUED: [State; 4] = [State::Waiting, State::Scheduled, State::Failed, State::Ready];

    /// Those of jobs that are not finished.
    pub const UNFINISHED: [State; 5] = [
        State::Waiting,
        State::Scheduled,
        State::Failed,
        State::Ready,
        State::Running,
    ];

    /// All.
    pub const ALL: [State; 8] = [
        State::Waiting,
        State::Scheduled,
        State::Failed,
        State::Ready,
        State::Running,
        State::Done,
        State::Dead,
        State::Canceled,
    ];

    /// Whether nothing happens to the job any more by itself.
    pub fn is_finished(self) -> bool {
        matches!(self, State::Done | State::Dead | State::Canceled)
    }

    /// As it is stored.
    pub(super) fn name(self) -> &'static str {
        match self {
            State::Waiting => "waiting",
            State::Scheduled => "scheduled",
            State::Failed => "failed",
            State::Ready => "ready",
            State::Running => "running",
            State::Done => "done",
            State::Dead => "dead",
            State::Canceled => "canceled",
        }
    }
}

/// The index for jobs that are known: by their state a database would look through all that are in it.
pub(super) const BY_ID: &str = "_id_";

/// A job in the collection.
#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "jobs")]
#[odm(index(keys(state, order), name = "order"))]
#[odm(index(keys(unique), name = "unique", unique, sparse))]
#[odm(index(keys(group, slot), name = "slots", unique, partial = |j| j.slot.exists()))]
#[odm(index(keys(group, number), name = "waiting", partial = |j| j.state.eq(State::Waiting)))]
pub(super) struct Stored {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub state: State,
    pub created: DateTime,
    pub kind: String,
    pub message: RawBson,
    /// What jobs of one state are sorted by: see `order.rs`.
    pub order: i64,
    /// The order that it has when it is ready.
    pub place: i64,
    pub priority: i8,
    pub due: DateTime,
    pub attempts: u32,
    pub max_attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<StoredLease>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unique: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Its number in its group: numbers grow in the order of enqueueing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<i64>,
    /// Which of the group's places for unfinished jobs at the head it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<u32>,
    /// Somebody wants it called off while it runs.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cancel: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<RawBson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<RawBson>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<AttemptError>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<DateTime>,
}

/// Who has a job, or had it last. The token never goes back.
#[derive(Clone, Debug, Serialize, Deserialize, Embedded)]
pub(super) struct StoredLease {
    pub owner: String,
    pub token: i64,
    pub until: DateTime,
    /// The claim that it was made by.
    pub claim: ObjectId,
}

/// How an attempt failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[non_exhaustive]
pub struct AttemptError {
    /// Which attempt, counted from 1.
    pub attempt: u32,
    /// When.
    pub at: DateTime,
    /// Whose attempt it was.
    pub owner: String,
    /// What was wrong; the first 1,000 characters.
    pub error: String,
}

impl AttemptError {
    const LONGEST: usize = 1_000;

    pub(super) fn new(attempt: u32, at: DateTime, owner: &str, error: &str) -> AttemptError {
        let end = error
            .char_indices()
            .nth(AttemptError::LONGEST)
            .map_or(error.len(), |(end, _)| end);
        AttemptError {
            attempt,
            at,
            owner: owner.to_owned(),
            error: error.get(..end).unwrap_or(error).to_owned(),
        }
    }
}

/// What the stager has to know of a job.
#[derive(Clone, Debug, Serialize, Deserialize, Embedded)]
pub(super) struct Due {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub state: State,
    pub order: i64,
    pub place: i64,
    pub attempts: u32,
    pub max_attempts: u32,
    #[serde(default)]
    pub lease: Option<StoredLease>,
    #[serde(default)]
    pub group: Option<String>,
    #[serde(default)]
    pub slot: Option<u32>,
    #[serde(default)]
    pub cancel: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_stored_by_their_names() {
        for state in State::ALL {
            let stored = odm::bson::serialize_to_bson(&state).unwrap();
            assert_eq!(stored.as_str(), Some(state.name()));
        }
    }

    #[test]
    fn long_errors_are_cut_between_characters() {
        let error = AttemptError::new(1, DateTime::from_millis(0), "w", &"é".repeat(1_001));
        assert_eq!(error.error.chars().count(), 1_000);
    }
}
