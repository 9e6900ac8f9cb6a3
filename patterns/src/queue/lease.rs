//! What a worker holds.

use std::fmt;

use odm::bson::DateTime;
use odm::bson::oid::ObjectId;
use odm::{Error, ErrorKind};

use super::stored::{State, Stored};

/// The right to work on a job, until a time. Every write of a worker carries its token, and has no effect when the job has
/// another one by then.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Lease {
    /// The job.
    pub id: ObjectId,
    /// Grows with each claim of the job, and never goes back.
    pub token: i64,
    /// Who claimed it.
    pub owner: String,
    /// When it ends, by the database handle's clock, unless there is a heartbeat.
    pub until: DateTime,
    /// Which attempt this is, counted from 1.
    pub attempt: u32,
    /// How many attempts there may be.
    pub max_attempts: u32,
    /// The job's kind.
    pub kind: String,
    pub(super) place: i64,
    pub(super) priority: i8,
    pub(super) group: Option<(String, u32)>,
}

impl Lease {
    pub(super) fn of(job: &Stored) -> Lease {
        let lease = job.lease.as_ref();
        Lease {
            id: job.id,
            token: lease.map_or(0, |lease| lease.token),
            owner: lease.map_or_else(String::new, |lease| lease.owner.clone()),
            until: lease.map_or(job.created, |lease| lease.until),
            attempt: job.attempts,
            max_attempts: job.max_attempts,
            kind: job.kind.clone(),
            place: job.place,
            priority: job.priority,
            group: job.group.clone().zip(job.slot),
        }
    }
}

/// A job that was claimed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Claimed<J> {
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
    /// What its last attempt said of how far it is.
    pub progress: Option<odm::bson::RawBson>,
}

impl<J> Claimed<J> {
    /// The job's id.
    pub fn id(&self) -> ObjectId {
        self.lease.id
    }
}

impl<J> AsRef<Lease> for Claimed<J> {
    fn as_ref(&self) -> &Lease {
        &self.lease
    }
}

impl AsRef<Lease> for Lease {
    fn as_ref(&self) -> &Lease {
        self
    }
}

/// The job belongs to somebody else by now: stop working on it. The cause of an [`odm::Error`] of kind `Conflict`.
///
/// ```
/// # use std::time::Duration;
/// # use odm_patterns::queue::{LeaseLost, Options, Queue};
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// # let db = odm::Db::open("memory:").await?;
/// # let queue: Queue<String> = Queue::new(&db, "greetings");
/// # queue.prepare().await?;
/// # queue.enqueue("hello".to_owned()).await?;
/// # let claimed = queue.claim().await?.unwrap();
/// # queue.release(&claimed).await?;
/// if let Err(error) = queue.ack(&claimed).await {
///     let lost = LeaseLost::of(&error).expect("somebody else has it");
///     assert_eq!(lost.id, claimed.id());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaseLost {
    /// The job.
    pub id: ObjectId,
    /// The token that is no longer valid.
    pub token: i64,
    /// What the job is now; none when it is gone.
    pub state: Option<State>,
}

impl LeaseLost {
    /// The lost lease that an error is about, if it is about one.
    pub fn of(error: &Error) -> Option<&LeaseLost> {
        std::error::Error::source(error)?.downcast_ref()
    }

    pub(super) fn error(lease: &Lease, state: Option<State>) -> Error {
        let lost = LeaseLost {
            id: lease.id,
            token: lease.token,
            state,
        };
        Error::new(ErrorKind::Conflict, "the lease of the job is lost")
            .with_id(lease.id)
            .with_source(lost)
    }
}

impl fmt::Display for LeaseLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "token {} of job {} is no longer valid: ", self.token, self.id)?;
        match self.state {
            Some(state) => write!(f, "the job is {}", state.name()),
            None => f.write_str("the job is gone"),
        }
    }
}

impl std::error::Error for LeaseLost {}
