//! What is stored of a saga.

use odm::bson::oid::ObjectId;
use odm::bson::{Bson, DateTime};
use odm::{Embedded, Model, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A stored saga.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(
    collection = "sagas",
    index(keys(name, status, due)),
    index(keys(finished), sparse)
)]
pub struct SagaRecord {
    /// The saga's id, chosen by whoever started it.
    #[serde(rename = "_id")]
    pub id: String,
    /// Which of the sagas that had the id it is: one that is started after an earlier one was pruned is another. Sagas
    /// that were started before there was this have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<ObjectId>,
    /// The definition's name.
    pub name: String,
    /// What is going on.
    pub status: SagaStatus,
    /// When it can be claimed: the end of the lease, or of the pause before another try.
    pub due: DateTime,
    /// Who works on it.
    pub lease: Lease,
    /// The step that is done or undone, counted from 0.
    pub step: i32,
    /// Which try of it this is, counted from 1 by every claim.
    pub attempt: i32,
    /// The steps, in their order.
    pub steps: Vec<StepRecord>,
    /// The state that the steps hand on, as serde writes it.
    pub state: Bson,
    /// The [fingerprint](crate::idempotency::fingerprint) of the state that it was started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The last error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What happened, oldest first, of bounded length.
    pub history: Vec<Event>,
    /// When it was started.
    pub created: DateTime,
    /// When it came to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<DateTime>,
}

impl SagaRecord {
    /// The state that the steps hand on.
    ///
    /// # Errors
    /// `Decode` when it is none of this type.
    pub fn state<S: DeserializeOwned>(&self) -> Result<S> {
        odm::bson::deserialize_from_bson(self.state.clone()).map_err(|error| {
            odm::Error::new(odm::ErrorKind::Decode, "the saga's state does not fit its type")
                .with_id(self.id.clone())
                .with_path("state")
                .with_source(error)
        })
    }
}

/// What is going on with a saga.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "snake_case")]
pub enum SagaStatus {
    /// Steps are being done.
    Running,
    /// Steps are being undone.
    Compensating,
    /// A step cannot be done, and the saga cannot turn around: somebody has to act.
    Stuck,
    /// A step cannot be undone: somebody has to act.
    StuckCompensating,
    /// All steps were done or skipped.
    Completed,
    /// All that was done is undone or skipped.
    Compensated,
    /// Somebody gave the compensation up.
    Abandoned,
}

impl SagaStatus {
    /// Whether a worker can do something.
    pub fn is_active(self) -> bool {
        matches!(self, SagaStatus::Running | SagaStatus::Compensating)
    }

    /// Whether it waits for somebody to act.
    pub fn is_stuck(self) -> bool {
        matches!(self, SagaStatus::Stuck | SagaStatus::StuckCompensating)
    }

    /// Whether it is over.
    pub fn is_finished(self) -> bool {
        !self.is_active() && !self.is_stuck()
    }
}

/// Who works on a saga. The token counts the claims and never goes back; every write of a worker carries it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Lease {
    /// The worker's name, while there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// How many claims, and acts of operators, there were.
    pub token: i64,
}

/// What is known of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct StepRecord {
    /// The step's name.
    pub name: String,
    /// What is known of it.
    pub state: StepState,
}

/// How far a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// Nothing of it has happened.
    Pending,
    /// It may have happened.
    Begun,
    /// It has happened.
    Done,
    /// It was undone, whether it had happened or not.
    Compensated,
    /// Somebody took it for done, or for undone.
    Skipped,
}

/// Something that happened to a saga.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Event {
    /// When.
    pub at: DateTime,
    /// What.
    pub kind: EventKind,
    /// The step that it happened to.
    pub step: i32,
    /// The token of the lease.
    pub token: i64,
    /// The error, or who acted and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What can happen to a saga.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// It was started.
    Started,
    /// A worker took it.
    Claimed,
    /// A step was done.
    Done,
    /// A try failed.
    Failed,
    /// It turned around.
    TurnedAround,
    /// A step was undone.
    Compensated,
    /// It waits for somebody.
    Stuck,
    /// Somebody let it be tried again.
    Retried,
    /// Somebody skipped a step.
    Skipped,
    /// Somebody turned it around, or gave it up.
    Aborted,
}
