//! What can go wrong with a search.

use std::borrow::Cow;
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

impl SearchError {
    /// What the error is about, without its fields.
    pub fn message(&self) -> Cow<'static, str> {
        match self {
            SearchError::OnlyExcluded => "the query says only what is not wanted".into(),
            SearchError::TooManyTerms { .. } => "there are too many different terms".into(),
            SearchError::QueryTooLong { .. } => "the query is too long".into(),
            SearchError::TooDeep { .. } => "the query is nested too deeply".into(),
            SearchError::Synonym { .. } => "a synonym is one word".into(),
            SearchError::InvalidOption { reason, .. } => format!("an option is wrong: {reason}").into(),
            SearchError::Database(error) => error.message().to_owned().into(),
        }
    }

    /// The same in the words of `odm`, without the cause.
    fn told(&self) -> Error {
        let told = Error::new(self.kind(), self.message());
        match self {
            SearchError::OnlyExcluded => told,
            SearchError::TooManyTerms { terms, limit } => {
                told.with_note("terms", terms).with_note("limit", limit)
            }
            SearchError::QueryTooLong { bytes, limit } => {
                told.with_note("bytes", bytes).with_note("limit", limit)
            }
            SearchError::TooDeep { limit } => told.with_note("limit", limit),
            SearchError::Synonym { text } => told.with_note("text", text),
            SearchError::InvalidOption { option, .. } => told.with_note("option", option),
            SearchError::Database(error) => error.clone(),
        }
    }
}

impl fmt::Display for SearchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.told().fmt(f)
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
            own => own.told().with_source(own),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_wrong_is_kept_in_the_words_of_odm() {
        let long = SearchError::QueryTooLong { bytes: 9, limit: 8 };
        let told = Error::from(long.clone());
        assert_eq!(told.to_string(), "the query is too long (bytes: 9, limit: 8)");
        assert_eq!((told.to_string(), told.kind()), (long.to_string(), long.kind()));
        assert_eq!(told.note("limit"), Some("8"));
        assert!(matches!(
            SearchError::behind(&told),
            Some(SearchError::QueryTooLong { .. })
        ));
    }
}
