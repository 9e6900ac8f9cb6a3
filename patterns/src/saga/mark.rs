//! Marks: what a document says of the effects that it got.

use odm::Embedded;
use odm::bson::DateTime;
use serde::{Deserialize, Serialize};

/// That the effect of one step of one saga was made in the document that holds this, or can no longer be made.
///
/// A model takes part by a field `Vec<Mark>`. There is one mark for a step, however often it is tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Mark {
    /// The effect's key: the saga's id, the step's name and the saga's [run](super::SagaRecord::run).
    pub key: String,
    /// What became of the effect.
    pub state: MarkState,
    /// When the mark was made.
    pub at: DateTime,
}

/// What became of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "lowercase")]
pub enum MarkState {
    /// It was made.
    Done,
    /// It was made, and undone.
    Undone,
    /// It was not made when it was to be undone. It will never be made: a worker that comes too late finds this.
    Void,
}
