//! What a run did, and what it tells meanwhile.

use std::time::Duration;

use odm::Error;
use odm::bson::DateTime;

use super::error::StepError;

/// What a run, or a revert, did.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct MigrationReport {
    /// The steps that were run, or reverted, in the order in which that was.
    pub steps: Vec<RanStep>,
    /// The steps that had been done before; of a revert those that stay done.
    pub skipped: Vec<String>,
    /// How long it took, without the time that it waited for somebody else.
    pub duration: Duration,
    /// How long it waited for somebody else.
    pub waited: Duration,
}

impl MigrationReport {
    /// The ids of the steps that were run, or reverted.
    pub fn ids(&self) -> Vec<&str> {
        self.steps.iter().map(|step| step.id.as_str()).collect()
    }
}

/// A step that was run, or reverted.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RanStep {
    /// The step's id.
    pub id: String,
    /// Which attempt it was, counted from 1.
    pub attempt: u32,
    /// How long it took.
    pub duration: Duration,
    /// How many documents a step in batches has looked at, in all attempts.
    pub examined: u64,
    /// How many of them it has changed, in all attempts.
    pub changed: u64,
}

/// What happens while migrations run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum MigrationEvent {
    /// Somebody else is at it: this process waits.
    Waiting {
        /// Who.
        owner: Option<String>,
        /// The step that they are at.
        at: Option<String>,
        /// When their lease ends, unless it is renewed.
        until: DateTime,
    },
    /// A step begins.
    Begun {
        /// The step's id.
        id: String,
        /// Which attempt it is, counted from 1.
        attempt: u32,
        /// Whether it is being undone.
        reverting: bool,
    },
    /// A batch is done.
    Progress {
        /// The step's id.
        id: String,
        /// How many documents it has looked at, in all attempts.
        examined: u64,
        /// How many of them it has changed.
        changed: u64,
    },
    /// A step is done.
    Done(RanStep),
    /// A step is undone.
    Reverted(RanStep),
    /// A step failed, or undoing it.
    Failed {
        /// The step's id.
        id: String,
        /// Why.
        error: StepError,
    },
    /// A sign of life failed. The next one may go well before the lease ends.
    HeartbeatFailed(Error),
    /// The lease could not be given back: others wait until it ends.
    NotReleased(Error),
}
