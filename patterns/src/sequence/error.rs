//! Why a number was refused.

use std::fmt;

use odm::{Error, ErrorKind};

/// Why an operation of a [`Ledger`](super::Ledger) was refused.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LedgerError {
    /// So many numbers are open that no more are given, until some are used, void or settled.
    TooManyOpen {
        /// How many may be.
        most: usize,
    },
    /// The number is void: it must not be used.
    Void {
        /// Why.
        reason: String,
    },
    /// The number was used, or never given.
    NotOpen,
    /// The number was never given.
    NeverGiven,
    /// The database's error.
    Database(Error),
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LedgerError::TooManyOpen { most } => write!(f, "too many numbers are open (most: {most})"),
            LedgerError::Void { reason } => write!(f, "the number is void (reason: {reason})"),
            LedgerError::NotOpen => f.write_str("the number is not open"),
            LedgerError::NeverGiven => f.write_str("the number was never given"),
            LedgerError::Database(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LedgerError {}

impl From<Error> for LedgerError {
    fn from(error: Error) -> LedgerError {
        LedgerError::Database(error)
    }
}

/// For bodies of [`Db::transaction`](odm::Db::transaction): kind `Validation`, with the refusal as the source.
impl From<LedgerError> for Error {
    fn from(error: LedgerError) -> Error {
        match error {
            LedgerError::Database(inner) => inner,
            refusal => Error::new(ErrorKind::Validation, refusal.to_string()).with_source(refusal),
        }
    }
}
