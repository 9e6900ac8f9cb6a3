//! Why a document was not changed.

use std::convert::Infallible;
use std::fmt;

use odm::bson::Bson;
use odm::{Error, ErrorKind};

const MISSING: &str = "there is no such document";
const UNVERSIONED: &str = "the model has no version";
pub(super) const CHANGED: &str = "the document is of another version";

/// Why a document was not changed; `E` is what the code that changes it says.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum VersionError<E = Infallible> {
    /// The model has no field with `#[odm(version)]`.
    NoVersion {
        /// The Rust name of the model.
        model: &'static str,
    },
    /// There is no such document.
    NotFound {
        /// The Rust name of the model.
        model: &'static str,
        /// The `_id` that was asked for.
        id: Bson,
    },
    /// Others were first, every time.
    Conflict {
        /// The Rust name of the model.
        model: &'static str,
        /// The document's `_id`.
        id: Bson,
        /// How often it was tried.
        attempts: u32,
        /// The last refusal, with the document as it is stored: see [`Error::current`].
        source: Error,
    },
    /// The code refused.
    Refused(E),
    /// The database's error.
    Database(Error),
}

impl<E: fmt::Display> fmt::Display for VersionError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VersionError::NoVersion { model } => write!(f, "{UNVERSIONED} (model: {model})"),
            VersionError::NotFound { model, id } => write!(f, "{MISSING} (model: {model}, _id: {id})"),
            VersionError::Conflict { attempts, source, .. } => conflict(*attempts, source).fmt(f),
            VersionError::Refused(error) => error.fmt(f),
            VersionError::Database(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for VersionError<E> {}

/// What says of which model and document, and what is stored, is the refusal.
fn conflict(attempts: u32, refused: &Error) -> Error {
    refused.clone().with_note("attempts", attempts)
}

impl<E> From<Error> for VersionError<E> {
    fn from(error: Error) -> VersionError<E> {
        VersionError::Database(error)
    }
}

/// For bodies of [`Db::transaction`](odm::Db::transaction), with the refusal as the source.
impl<E: fmt::Debug + fmt::Display + Send + Sync + 'static> From<VersionError<E>> for Error {
    fn from(error: VersionError<E>) -> Error {
        let plain = match &error {
            VersionError::Database(inner) => return inner.clone(),
            VersionError::NoVersion { model } => {
                Error::new(ErrorKind::InvalidArgument, UNVERSIONED).with_model(model)
            }
            VersionError::NotFound { model, id } => Error::new(ErrorKind::NotFound, MISSING)
                .with_model(model)
                .with_id(id.clone()),
            VersionError::Conflict { attempts, source, .. } => {
                return conflict(*attempts, source).with_source(error);
            }
            VersionError::Refused(_) => Error::new(ErrorKind::Validation, error.to_string()),
        };
        plain.with_source(error)
    }
}
