//! Why a step fails, and why migrations cannot run.

use std::fmt;
use std::sync::Arc;

use odm::bson::DateTime;
use odm::{Error, ErrorKind};

use super::lease::LeaseGone;

/// Why a step did not go well. Any error becomes one with `?`.
///
/// ```
/// use odm_patterns::migration::StepError;
///
/// fn parse(text: &str) -> Result<i32, StepError> {
///     let number: i32 = text.parse()?;
///     match number {
///         0 => Err(StepError::new("zero is no price")),
///         number => Ok(number),
///     }
/// }
/// assert_eq!(parse("x").unwrap_err().to_string(), "invalid digit found in string");
/// ```
#[derive(Clone)]
pub struct StepError(Arc<dyn std::error::Error + Send + Sync>);

impl StepError {
    /// An error in one's own words.
    pub fn new(message: impl Into<String>) -> StepError {
        StepError(Arc::from(Box::<dyn std::error::Error + Send + Sync>::from(
            message.into(),
        )))
    }

    /// What went wrong.
    pub fn cause(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        &*self.0
    }

    /// The database's error, if it is one.
    pub fn database(&self) -> Option<&Error> {
        self.0.downcast_ref()
    }

    /// Whether the step found that somebody else has the lease by now.
    pub(super) fn is_lease_lost(&self) -> bool {
        self.0.is::<LeaseGone>()
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for StepError {
    fn from(error: E) -> StepError {
        StepError(Arc::new(error))
    }
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl fmt::Debug for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why migrations cannot run, or did not come to their end: what, at which step, in which collection of records.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MigrationError {
    /// What is wrong.
    pub kind: MigrationErrorKind,
    /// The step that it is about, where it is about one.
    pub step: Option<String>,
    /// The name of the collection with the records.
    pub collection: String,
}

/// What is wrong.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum MigrationErrorKind {
    /// The step's id cannot be one: why.
    BadId(&'static str),
    /// Two steps have this id, or ids that differ in case alone.
    DuplicateId,
    /// The step's id should come before the one that it is behind: see
    /// [`any_order`](super::Migrations::any_order).
    NotInOrder {
        /// The id of the step before it.
        behind: String,
    },
    /// The step's options do not go together: why.
    BadStep(&'static str),
    /// The program has no such step.
    NoSuchStep,
    /// The step is a transaction, and this database has none.
    NoTransactions,
    /// These steps are recorded, and the program does not have them: see
    /// [`allow_unknown`](super::Migrations::allow_unknown).
    Unknown(Vec<String>),
    /// These steps are not done, and steps behind them are: see
    /// [`allow_out_of_order`](super::Migrations::allow_out_of_order).
    OutOfOrder(Vec<String>),
    /// These steps are done, and have another fingerprint since: see
    /// [`allow_changed`](super::Migrations::allow_changed).
    Changed(Vec<String>),
    /// The step is being undone, or that was broken off: [`revert`](super::Migrations::revert) it first.
    HalfReverted,
    /// The step has begun, so that it cannot be taken for one that was done before there were records.
    Begun,
    /// The step cannot be undone.
    NoDown,
    /// These steps are not done.
    Pending(Vec<String>),
    /// Somebody else has the lease, and did not end in time.
    Busy {
        /// Who.
        owner: Option<String>,
        /// The step that they were at.
        at: Option<String>,
        /// When the lease ends, unless it is renewed.
        until: DateTime,
    },
    /// Somebody else has the lease by now, and goes on from what is recorded. This process recorded nothing more.
    LeaseLost {
        /// The token that is no longer valid.
        token: i64,
    },
    /// The step failed. Nothing behind it was run.
    StepFailed {
        /// Which attempt it was, counted from 1.
        attempt: u32,
        /// Why.
        error: StepError,
    },
    /// Undoing the step failed.
    RevertFailed {
        /// Why.
        error: StepError,
    },
    /// The database handle is a part of a transaction: give one that is not.
    InTransaction,
    /// The database's error, outside of the steps themselves.
    Database(Error),
}

impl MigrationError {
    /// What the error is about, without its fields.
    pub fn message(&self) -> &str {
        match &self.kind {
            MigrationErrorKind::BadId(why) | MigrationErrorKind::BadStep(why) => why,
            MigrationErrorKind::DuplicateId => "two steps have the same id",
            MigrationErrorKind::NotInOrder { .. } => "the ids of the steps are not in order",
            MigrationErrorKind::NoSuchStep => "there is no such step",
            MigrationErrorKind::NoTransactions => {
                "the step is a transaction, and the database has no transactions"
            }
            MigrationErrorKind::Unknown(_) => "steps are recorded that the program does not have",
            MigrationErrorKind::OutOfOrder(_) => "steps are pending before others that are done",
            MigrationErrorKind::Changed(_) => "steps that are done have changed since",
            MigrationErrorKind::HalfReverted => "the step is being reverted, or that was broken off",
            MigrationErrorKind::Begun => "the step has begun",
            MigrationErrorKind::NoDown => "the step cannot be reverted",
            MigrationErrorKind::Pending(_) => "steps are pending",
            MigrationErrorKind::Busy { .. } => "somebody else is migrating",
            MigrationErrorKind::LeaseLost { .. } => "the lease of the migrations is lost",
            MigrationErrorKind::StepFailed { .. } => "the step failed",
            MigrationErrorKind::RevertFailed { .. } => "reverting the step failed",
            MigrationErrorKind::InTransaction => "migrations cannot run inside of a transaction",
            MigrationErrorKind::Database(error) => error.message(),
        }
    }

    /// Whether somebody else has the lease by now.
    pub fn is_lease_lost(&self) -> bool {
        matches!(self.kind, MigrationErrorKind::LeaseLost { .. })
    }

    fn details(&self) -> Vec<(&'static str, String)> {
        let list = |ids: &[String]| ids.join(", ");
        match &self.kind {
            MigrationErrorKind::Unknown(ids)
            | MigrationErrorKind::OutOfOrder(ids)
            | MigrationErrorKind::Changed(ids)
            | MigrationErrorKind::Pending(ids) => vec![("steps", list(ids))],
            MigrationErrorKind::NotInOrder { behind } => vec![("behind", behind.clone())],
            MigrationErrorKind::Busy { owner, at, until } => {
                let mut details = Vec::new();
                details.extend(owner.clone().map(|owner| ("owner", owner)));
                details.extend(at.clone().map(|at| ("at", at)));
                details.push(("until", until.to_string()));
                details
            }
            MigrationErrorKind::LeaseLost { token } => vec![("token", token.to_string())],
            MigrationErrorKind::StepFailed { attempt, .. } => vec![("attempt", attempt.to_string())],
            _ => Vec::new(),
        }
    }
}

impl fmt::Display for MigrationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            MigrationErrorKind::Database(error) => write!(f, "{error} (")?,
            MigrationErrorKind::StepFailed { error, .. } | MigrationErrorKind::RevertFailed { error } => {
                write!(f, "{}: {error} (", self.message())?;
            }
            _ => write!(f, "{} (", self.message())?,
        }
        if let Some(step) = &self.step {
            write!(f, "step: {step:?}, ")?;
        }
        write!(f, "collection: {}", self.collection)?;
        for (name, value) in self.details() {
            write!(f, ", {name}: {value}")?;
        }
        f.write_str(")")
    }
}

impl std::error::Error for MigrationError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            MigrationErrorKind::Database(error) => Some(error),
            MigrationErrorKind::StepFailed { error, .. } | MigrationErrorKind::RevertFailed { error } => {
                Some(error.cause())
            }
            _ => None,
        }
    }
}

/// For functions that give the errors of the database, with this one as the source.
impl From<MigrationError> for Error {
    fn from(error: MigrationError) -> Error {
        let kind = match &error.kind {
            MigrationErrorKind::Database(inner) => inner.kind(),
            MigrationErrorKind::StepFailed { error, .. } | MigrationErrorKind::RevertFailed { error } => {
                error.database().map_or(ErrorKind::Validation, Error::kind)
            }
            MigrationErrorKind::NoSuchStep => ErrorKind::NotFound,
            MigrationErrorKind::NoTransactions => ErrorKind::Unsupported,
            MigrationErrorKind::Busy { .. } => ErrorKind::Locked,
            MigrationErrorKind::LeaseLost { .. } => ErrorKind::Conflict,
            MigrationErrorKind::Unknown(_)
            | MigrationErrorKind::OutOfOrder(_)
            | MigrationErrorKind::Changed(_)
            | MigrationErrorKind::HalfReverted
            | MigrationErrorKind::Pending(_) => ErrorKind::Schema,
            _ => ErrorKind::InvalidArgument,
        };
        let plain = Error::new(kind, error.message().to_owned()).with_namespace(error.collection.clone());
        let plain = match &error.step {
            Some(step) => plain.with_id(step.clone()),
            None => plain,
        };
        plain.with_source(error)
    }
}
