//! What a worker waits for.

use odm::bson::Document;
use odm::bson::oid::ObjectId;
use odm::{ChangeStream, Error, Result};

use crate::queue::Tended;
use crate::queue::claim::Looked;

/// What a worker waits for.
pub(super) enum Event<J> {
    /// The end was asked for.
    Stop,
    /// The time that handlers have after that is over.
    TimeIsUp,
    Looked(Result<Looked<J>>),
    /// Time to look again.
    Poll,
    /// Somebody in this process did something that may have made a job ready.
    Rung,
    /// The change stream saw that something became ready; none when it ended.
    Changed(Option<ChangeStream<Document>>),
    /// What tending did, and what went wrong with schedules before it.
    Tended(Result<Tended>, Vec<Error>),
    /// Time to tend to the queue again.
    Tend,
    /// The work on a job under the lease of this token.
    Ended((ObjectId, i64), End),
}

/// How the work on a job ended.
pub(super) enum End {
    Done,
    Failed,
    Lost,
    /// It could not be said what became of it.
    Error(Error),
}
