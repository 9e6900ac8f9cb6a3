//! What can go wrong with a search.

use std::fmt;

use odm::{Error, ErrorKind};

/// `Result` with [`SearchError`].
pub type Result<T, E = SearchError> = std::result::Result<T, E>;

/// Why nothing was searched.
///
/// It becomes an [`odm::Error`] by `?`, with the kind that fits and itself as the source.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SearchError {
    /// The query says only what is not wanted: that would be nearly all.
    OnlyExcluded,
    /// A document or query has more different terms than it may.
    TooManyTerms {
        /// How many.
        terms: usize,
        /// How many it may have.
        limit: usize,
    },
    /// A text is longer than it may be.
    QueryTooLong {
        /// How long, in bytes.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// A query is nested deeper than it may be.
    TooDeep {
        /// How deep it may be.
        limit: usize,
    },
    /// A synonym is more than one word, or none.
    Synonym {
        /// The synonym.
        text: String,
    },
    /// What a model or a search says of itself is wrong.
    InvalidOption {
        /// Which.
        option: &'static str,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The database failed.
    Database(Error),
}

impl SearchError {
    /// The search's own error behind one of `odm`, if there is one.
    pub fn behind(error: &Error) -> Option<&SearchError> {
        let mut source = std::error::Error::source(error);
        while let Some(error) = source {
            if let Some(found) = error.downcast_ref::<SearchError>() {
                return Some(found);
            }
            source = error.source();
        }
        None
    }

    /// What the caller can do, in the words of `odm`.
    pub fn kind(&self) -> ErrorKind {
        match self {
            SearchError::OnlyExcluded
            | SearchError::QueryTooLong { .. }
            | SearchError::TooDeep { .. }
            | SearchError::Synonym { .. } => ErrorKind::InvalidArgument,
            SearchError::TooManyTerms { .. } => ErrorKind::Validation,
            SearchError::InvalidOption { .. } => ErrorKind::Schema,
            SearchError::Database(error) => error.kind(),
        }
    }
}

impl fmt::Display for SearchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SearchError::OnlyExcluded => f.write_str("the query says only what is not wanted"),
            SearchError::TooManyTerms { terms, limit } => {
                write!(
                    f,
                    "there are too many different terms (terms: {terms}, limit: {limit})"
                )
            }
            SearchError::QueryTooLong { bytes, limit } => {
                write!(f, "the query is too long (bytes: {bytes}, limit: {limit})")
            }
            SearchError::TooDeep { limit } => write!(f, "the query is nested too deeply (limit: {limit})"),
            SearchError::Synonym { text } => write!(f, "a synonym is one word (text: {text})"),
            SearchError::InvalidOption { option, reason } => {
                write!(f, "an option is wrong: {reason} (option: {option})")
            }
            SearchError::Database(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SearchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SearchError::Database(error) => std::error::Error::source(error),
            _ => None,
        }
    }
}

impl From<Error> for SearchError {
    fn from(error: Error) -> SearchError {
        match SearchError::behind(&error) {
            Some(own) => own.clone(),
            None => SearchError::Database(error),
        }
    }
}

impl From<SearchError> for Error {
    fn from(error: SearchError) -> Error {
        match error {
            SearchError::Database(error) => error,
            own => Error::new(own.kind(), "the search was refused").with_source(own),
        }
    }
}
