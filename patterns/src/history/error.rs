//! Why a document's history could not be written or read.

use std::fmt;

use odm::bson::Bson;
use odm::{Error, ErrorKind};

/// Why an operation of a [`History`](super::History) was refused.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum HistoryError {
    /// The model has no field with `#[odm(version)]`.
    NoVersion {
        /// The model.
        model: &'static str,
    },
    /// There is no such document of the model.
    NotFound {
        /// The model.
        model: &'static str,
        /// The document's `_id`.
        id: Bson,
    },
    /// This version is not in the history, and is not the current one.
    NoSuchVersion {
        /// The model.
        model: &'static str,
        /// The document's `_id`.
        id: Bson,
        /// The version.
        version: i64,
    },
    /// What is asked for was before the oldest version that is still kept.
    Forgotten {
        /// The model.
        model: &'static str,
        /// The document's `_id`.
        id: Bson,
    },
    /// Others were first, every time.
    Conflict {
        /// The model.
        model: &'static str,
        /// The document's `_id`.
        id: Bson,
        /// How often it was tried.
        attempts: u32,
    },
    /// The history has another document under the `_id` and version of the current one: of one that was deleted
    /// before, perhaps of another kind, or because the current one was changed without its version.
    Clash {
        /// The model.
        model: &'static str,
        /// The document's `_id`.
        id: Bson,
        /// The version.
        version: i64,
    },
    /// The document is there: there is nothing to restore.
    AlreadyThere {
        /// The model.
        model: &'static str,
        /// The document's `_id`.
        id: Bson,
    },
    /// The database's error, or what the code says that changes the document.
    Database(Error),
}

impl HistoryError {
    /// What the error is about, without its fields.
    pub fn message(&self) -> &str {
        match self {
            HistoryError::NoVersion { .. } => "the model has no version",
            HistoryError::NotFound { .. } => "there is no such document",
            HistoryError::NoSuchVersion { .. } => "there is no such version",
            HistoryError::Forgotten { .. } => "the history does not reach so far back",
            HistoryError::Conflict { .. } => "the document is of another version",
            HistoryError::Clash { .. } => "the history has another document of this version",
            HistoryError::AlreadyThere { .. } => "the document is there",
            HistoryError::Database(error) => error.message(),
        }
    }

    /// The kind that it has as an error of `odm`.
    pub fn kind(&self) -> ErrorKind {
        match self {
            HistoryError::Database(error) => error.kind(),
            HistoryError::NoVersion { .. } => ErrorKind::InvalidArgument,
            HistoryError::NotFound { .. }
            | HistoryError::NoSuchVersion { .. }
            | HistoryError::Forgotten { .. } => ErrorKind::NotFound,
            HistoryError::Conflict { .. } => ErrorKind::Conflict,
            HistoryError::Clash { .. } | HistoryError::AlreadyThere { .. } => ErrorKind::Validation,
        }
    }

    /// The same in the words of `odm`, without the cause.
    fn told(&self) -> Error {
        let told = Error::new(self.kind(), self.message().to_owned());
        match self {
            HistoryError::Database(error) => error.clone(),
            HistoryError::NoVersion { model } => told.with_model(model),
            HistoryError::NotFound { model, id }
            | HistoryError::Forgotten { model, id }
            | HistoryError::AlreadyThere { model, id } => told.with_model(model).with_id(id.clone()),
            HistoryError::NoSuchVersion { model, id, version }
            | HistoryError::Clash { model, id, version } => {
                let told = told.with_model(model).with_id(id.clone());
                told.with_note("version", version)
            }
            HistoryError::Conflict { model, id, attempts } => {
                let told = told.with_model(model).with_id(id.clone());
                told.with_note("attempts", attempts)
            }
        }
    }
}

impl fmt::Display for HistoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.told().fmt(f)
    }
}

impl std::error::Error for HistoryError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            HistoryError::Database(error) => std::error::Error::source(error),
            _ => None,
        }
    }
}

impl From<Error> for HistoryError {
    fn from(error: Error) -> HistoryError {
        HistoryError::Database(error)
    }
}

/// For bodies of [`Db::transaction`](odm::Db::transaction), with the refusal as the source.
impl From<HistoryError> for Error {
    fn from(error: HistoryError) -> Error {
        match error {
            HistoryError::Database(inner) => inner,
            error => error.told().with_source(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_model_and_id() {
        let (model, id) = ("Policy", Bson::Int32(7));
        let clash = HistoryError::Clash {
            model,
            id,
            version: 3,
        };
        let told = Error::from(clash.clone());
        assert_eq!((told.model(), told.id()), (Some("Policy"), Some(&Bson::Int32(7))));
        assert_eq!(
            (told.note("version"), told.kind()),
            (Some("3"), ErrorKind::Validation)
        );
        assert_eq!(told.to_string(), clash.to_string());
    }
}
