//! What is stored of a step.

use std::fmt;
use std::time::Duration;

use odm::bson::{Bson, DateTime};
use odm::{Embedded, Model};
use serde::{Deserialize, Serialize};

/// What is recorded of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "migrations")]
#[non_exhaustive]
pub struct StepRecord {
    /// The step's id.
    #[serde(rename = "_id")]
    pub id: String,
    /// Its place in the list of the program that ran it, counted from 0.
    pub order: i64,
    /// How it runs.
    pub kind: StepKind,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How far it is.
    pub state: StepState,
    /// Whether somebody took it for done, or for reverted, without running it.
    #[serde(default)]
    pub by_hand: bool,
    /// How often it was begun since it was last done or reverted; 0 where only the intent is known.
    pub attempts: i64,
    /// Whether an attempt before the last, since it was last done or reverted, was no transaction: a part of it may have
    /// happened.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// The token of the lease under which this was written: a writer with a lower one changes nothing.
    pub token: i64,
    /// Who ran it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// When the last attempt began.
    pub started: DateTime,
    /// When it ended; none while it runs, and after a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<DateTime>,
    /// How long the last attempt took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub millis: Option<i64>,
    /// The version of the program that ran it, where it says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Why it failed last, up to 10,000 bytes of it; none once it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Where the next attempt goes on: of a step in batches a page token, of a resumable one what it saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Bson>,
    /// The `_id` of the last document of the last batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<Bson>,
    /// How many documents a step in batches has looked at, in all attempts.
    #[serde(default)]
    pub examined: i64,
    /// How many of them it has changed.
    #[serde(default)]
    pub changed: i64,
    /// The step's fingerprint, where it says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

impl StepRecord {
    /// Whether a part of the step may have happened by an attempt that was no transaction.
    pub(super) fn is_partial(&self) -> bool {
        let is_open = matches!(self.state, StepState::Running | StepState::Failed);
        self.partial || (is_open && self.attempts > 0 && self.kind != StepKind::Transactional)
    }

    /// How long the last attempt took.
    pub fn duration(&self) -> Option<Duration> {
        self.millis
            .map(|millis| Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
    }
}

/// How far a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepState {
    /// It runs, or its process died.
    Running,
    /// It is done.
    Done,
    /// It failed. A part of it may have happened.
    Failed,
    /// It is being undone, or that failed, or its process died.
    Reverting,
    /// It was undone.
    Reverted,
}

/// How a step runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepKind {
    /// By itself: at least once.
    Plain,
    /// In a transaction with its record: exactly once.
    Transactional,
    /// Over the documents of a model, batch by batch.
    Batched,
    /// By itself, from the position that it saved.
    Resumable,
}

impl fmt::Display for StepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            StepKind::Plain => "plain",
            StepKind::Transactional => "transactional",
            StepKind::Batched => "batched",
            StepKind::Resumable => "resumable",
        })
    }
}
