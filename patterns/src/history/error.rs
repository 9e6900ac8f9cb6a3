//! Why a document's history could not be written or read.

use std::fmt;

use odm::{Error, ErrorKind};

/// Why an operation of a [`History`](super::History) was refused.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum HistoryError {
    /// The model has no field with `#[odm(version)]`.
    NoVersion,
    /// There is no such document.
    NotFound,
    /// This version is not in the history, and is not the current one.
    NoSuchVersion {
        /// The version.
        version: i64,
    },
    /// What is asked for was before the oldest version that is still kept.
    Forgotten,
    /// Others were first, every time.
    Conflict {
        /// How often it was tried.
        attempts: u32,
    },
    /// The history has another document under the `_id` and version of the current one: of one that was deleted
    /// before, or because the current one was changed without its version.
    Clash {
        /// The version.
        version: i64,
    },
    /// The document is there: there is nothing to restore.
    AlreadyThere,
    /// The database's error, or what the code says that changes the document.
    Database(Error),
}

impl HistoryError {
    /// What the error is about, without its fields.
    pub fn message(&self) -> &str {
        match self {
            HistoryError::NoVersion => "the model has no version",
            HistoryError::NotFound => "there is no such document",
            HistoryError::NoSuchVersion { .. } => "there is no such version",
            HistoryError::Forgotten => "the history does not reach so far back",
            HistoryError::Conflict { .. } => "the document is of another version",
            HistoryError::Clash { .. } => "the history has another document of this version",
            HistoryError::AlreadyThere => "the document is there",
            HistoryError::Database(error) => error.message(),
        }
    }
}

impl fmt::Display for HistoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HistoryError::Database(error) => error.fmt(f),
            HistoryError::NoSuchVersion { version } | HistoryError::Clash { version } => {
                write!(f, "{} (version: {version})", self.message())
            }
            HistoryError::Conflict { attempts } => write!(f, "{} (attempts: {attempts})", self.message()),
            other => f.write_str(other.message()),
        }
    }
}

impl std::error::Error for HistoryError {}

impl From<Error> for HistoryError {
    fn from(error: Error) -> HistoryError {
        HistoryError::Database(error)
    }
}

/// For bodies of [`Db::transaction`](odm::Db::transaction), with the refusal as the source.
impl From<HistoryError> for Error {
    fn from(error: HistoryError) -> Error {
        let kind = match &error {
            HistoryError::Database(inner) => return inner.clone(),
            HistoryError::NoVersion => ErrorKind::InvalidArgument,
            HistoryError::NotFound | HistoryError::NoSuchVersion { .. } | HistoryError::Forgotten => {
                ErrorKind::NotFound
            }
            HistoryError::Conflict { .. } => ErrorKind::Conflict,
            HistoryError::Clash { .. } | HistoryError::AlreadyThere => ErrorKind::Validation,
        };
        Error::new(kind, error.message().to_owned()).with_source(error)
    }
}
