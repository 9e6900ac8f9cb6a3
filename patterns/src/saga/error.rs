//! Why a step fails, and why a saga cannot be worked on.

use std::borrow::Cow;
use std::error::Error as _;
use std::fmt;

use odm::bson::Bson;
use odm::{Error, ErrorKind};

/// What MongoDB says of a transaction that was aborted before.
const NO_SUCH_TRANSACTION: i32 = 251;

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
    /// What a step changed is not there any more, so that it cannot be undone. As final as `Fatal`: the saga waits for
    /// somebody.
    Gone {
        /// The name of the collection.
        collection: String,
        /// The document's `_id`.
        id: Box<Bson>,
    },
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
            StepError::Gone { collection, id } => write!(
                f,
                "the document that is to be undone is gone (collection: {collection}, _id: {id})"
            ),
            StepError::LeaseLost => f.write_str("the lease of the saga is lost"),
        }
    }
}

impl std::error::Error for StepError {}

impl From<Error> for StepError {
    fn from(error: Error) -> StepError {
        let chain: Vec<&Error> = std::iter::successors(Some(&error), cause).collect();
        let texts: Vec<String> = chain.iter().map(|error| error.to_string()).collect();
        // What ended a transaction decides, and not that it is over.
        let decisive = chain
            .iter()
            .find(|error| error.code() != Some(NO_SUCH_TRANSACTION));
        match decisive.is_some_and(|error| !passes(error)) {
            true => StepError::Fatal(texts.join(": ").into()),
            false => StepError::Retry(texts.join(": ").into()),
        }
    }
}

fn cause<'a>(error: &&'a Error) -> Option<&'a Error> {
    (*error).source()?.downcast_ref()
}

/// Whether an error may go away.
fn passes(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Network
            | ErrorKind::Timeout
            | ErrorKind::Conflict
            | ErrorKind::InDoubt
            | ErrorKind::Locked
            | ErrorKind::Io
    )
}

/// Why a saga cannot be started, worked on, or acted upon.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SagaError {
    /// There is no saga with this id of this definition.
    NotFound {
        /// The saga's id.
        id: String,
    },
    /// The id is taken by a saga of another definition.
    Taken {
        /// The saga's id.
        id: String,
    },
    /// The id is that of a saga that was started with another state: a mistake of whoever starts it.
    OtherState {
        /// The saga's id.
        id: String,
    },
    /// Somebody else works on the saga by now. What this worker did last may or may not have been kept; whoever has the
    /// lease goes on from what is stored.
    LeaseLost {
        /// The saga's id.
        id: String,
    },
    /// The stored saga has other steps than the definition.
    OtherSteps {
        /// The saga's id.
        id: String,
        /// The steps that are stored.
        stored: Vec<String>,
    },
    /// The saga is over.
    Finished {
        /// The saga's id.
        id: String,
    },
    /// The saga does not wait for anybody.
    NotStuck {
        /// The saga's id.
        id: String,
    },
    /// The pivot has happened, or a worker is at it: there is no way back.
    PastPivot {
        /// The saga's id.
        id: String,
    },
    /// The definition has no steps, or several of one name, or several pivots.
    BadDefinition(&'static str),
    /// The database's error.
    Database(Error),
}

impl SagaError {
    /// What the error is about, without its fields.
    pub fn message(&self) -> &str {
        match self {
            SagaError::NotFound { .. } => "there is no such saga",
            SagaError::Taken { .. } => "the id is that of a saga of another definition",
            SagaError::OtherState { .. } => "the id is that of a saga that was started with another state",
            SagaError::LeaseLost { .. } => "the lease of the saga is lost",
            SagaError::OtherSteps { .. } => "the stored saga has other steps",
            SagaError::Finished { .. } => "the saga is over",
            SagaError::NotStuck { .. } => "the saga does not wait for anybody",
            SagaError::PastPivot { .. } => {
                "the pivot has happened, or may have: the saga can only go forward"
            }
            SagaError::BadDefinition(what) => what,
            SagaError::Database(error) => error.message(),
        }
    }

    /// The saga's id, where the error is about one.
    fn id(&self) -> Option<&str> {
        match self {
            SagaError::NotFound { id }
            | SagaError::Taken { id }
            | SagaError::OtherState { id }
            | SagaError::LeaseLost { id }
            | SagaError::OtherSteps { id, .. }
            | SagaError::Finished { id }
            | SagaError::NotStuck { id }
            | SagaError::PastPivot { id } => Some(id),
            SagaError::BadDefinition(_) | SagaError::Database(_) => None,
        }
    }
}

impl fmt::Display for SagaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.id()) {
            (SagaError::Database(error), _) => error.fmt(f),
            (SagaError::OtherSteps { id, stored }, _) => {
                let (message, stored) = (self.message(), stored.join(", "));
                write!(f, "{message} (saga: {id:?}, stored: {stored})")
            }
            (_, Some(id)) => write!(f, "{} (saga: {id:?})", self.message()),
            (_, None) => f.write_str(self.message()),
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
            SagaError::NotFound { .. } => ErrorKind::NotFound,
            SagaError::LeaseLost { .. } => ErrorKind::Conflict,
            SagaError::BadDefinition(_) | SagaError::OtherSteps { .. } => ErrorKind::InvalidArgument,
            _ => ErrorKind::Validation,
        };
        let plain = Error::new(kind, error.message().to_owned()).with_model("SagaRecord");
        let plain = match error.id() {
            Some(id) => plain.with_id(id.to_owned()),
            None => plain,
        };
        plain.with_source(error)
    }
}
