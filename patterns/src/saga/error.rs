//! Why a step fails, and why a saga cannot be worked on.

use std::borrow::Cow;
use std::fmt;

use odm::{Error, ErrorKind};

/// Why a step, or a compensation, did not happen.
///
/// A database error becomes one with `?`: those that may go away (network, timeout, conflict, in doubt) are tried again,
/// the others are final.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StepError {
    /// It may go well another time.
    Retry(Cow<'static, str>),
    /// It will never go well.
    Fatal(Cow<'static, str>),
    /// Somebody else works on the saga by now: stop, and change nothing more.
    LeaseLost,
}

impl StepError {
    /// It may go well another time.
    pub fn retry(message: impl Into<Cow<'static, str>>) -> StepError {
        StepError::Retry(message.into())
    }

    /// It will never go well: the saga turns around, or waits for somebody.
    pub fn fatal(message: impl Into<Cow<'static, str>>) -> StepError {
        StepError::Fatal(message.into())
    }
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepError::Retry(message) | StepError::Fatal(message) => f.write_str(message),
            StepError::LeaseLost => f.write_str("the lease of the saga is lost"),
        }
    }
}

impl std::error::Error for StepError {}

impl From<Error> for StepError {
    fn from(error: Error) -> StepError {
        let passes = matches!(
            error.kind(),
            ErrorKind::Network
                | ErrorKind::Timeout
                | ErrorKind::Conflict
                | ErrorKind::InDoubt
                | ErrorKind::Locked
                | ErrorKind::Io
        );
        match passes {
            true => StepError::Retry(error.to_string().into()),
            false => StepError::Fatal(error.to_string().into()),
        }
    }
}

/// Why a saga cannot be started, worked on, or acted upon.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SagaError {
    /// There is no saga with this id of this definition.
    NotFound,
    /// The id is taken by a saga of another definition.
    Taken,
    /// Somebody else works on the saga by now. What this worker did last may or may not have been kept; whoever has the
    /// lease goes on from what is stored.
    LeaseLost,
    /// The stored saga has other steps than the definition.
    OtherSteps {
        /// The steps that are stored.
        stored: Vec<String>,
    },
    /// The saga is over.
    Finished,
    /// The saga does not wait for anybody.
    NotStuck,
    /// The pivot has happened: there is no way back.
    PastPivot,
    /// The definition has no steps, or several of one name, or several pivots.
    BadDefinition(&'static str),
    /// The database's error.
    Database(Error),
}

impl fmt::Display for SagaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SagaError::NotFound => f.write_str("there is no such saga"),
            SagaError::Taken => f.write_str("the id is that of a saga of another definition"),
            SagaError::LeaseLost => f.write_str("the lease of the saga is lost"),
            SagaError::OtherSteps { stored } => {
                write!(
                    f,
                    "the stored saga has other steps (stored: {})",
                    stored.join(", ")
                )
            }
            SagaError::Finished => f.write_str("the saga is over"),
            SagaError::NotStuck => f.write_str("the saga does not wait for anybody"),
            SagaError::PastPivot => f.write_str("the pivot has happened: the saga can only go forward"),
            SagaError::BadDefinition(what) => f.write_str(what),
            SagaError::Database(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SagaError {}

impl From<Error> for SagaError {
    fn from(error: Error) -> SagaError {
        SagaError::Database(error)
    }
}

/// For bodies of [`Db::transaction`](odm::Db::transaction), with the refusal as the source.
impl From<SagaError> for Error {
    fn from(error: SagaError) -> Error {
        let kind = match &error {
            SagaError::Database(inner) => return inner.clone(),
            SagaError::NotFound => ErrorKind::NotFound,
            SagaError::LeaseLost => ErrorKind::Conflict,
            SagaError::BadDefinition(_) | SagaError::OtherSteps { .. } => ErrorKind::InvalidArgument,
            _ => ErrorKind::Validation,
        };
        Error::new(kind, error.to_string()).with_source(error)
    }
}
