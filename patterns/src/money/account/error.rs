//! Why a transfer was not made.

use std::fmt;

use odm::{Error, ErrorKind};

use crate::money::{Money, MoneyError};

/// Why an operation of [`Accounts`](super::Accounts) was refused. Nothing was changed then.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TransferError {
    /// There is no account of this name.
    NoAccount {
        /// The name.
        account: String,
    },
    /// The account would have less than it may.
    Insufficient {
        /// What is in it.
        balance: Money,
    },
    /// Both accounts are the same.
    SameAccount,
    /// The amount is not above 0.
    NotPositive,
    /// The key is that of another transfer, or the name that of another account.
    Taken,
    /// The currency is another than the account's, or the account would have more than 64 bits hold.
    Money(MoneyError),
    /// The database's error. A transfer may have been made all the same: send it again with its key.
    Database(Error),
}

impl TransferError {
    /// What the error is about, without its fields.
    pub fn message(&self) -> &str {
        match self {
            TransferError::NoAccount { .. } => "there is no such account",
            TransferError::Insufficient { .. } => "there is not enough in the account",
            TransferError::SameAccount => "the accounts are the same",
            TransferError::NotPositive => "the amount is not positive",
            TransferError::Taken => "the key is taken by something else",
            TransferError::Money(error) => error.message(),
            TransferError::Database(error) => error.message(),
        }
    }
}

impl fmt::Display for TransferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TransferError::NoAccount { account } => write!(f, "{} (account: {account:?})", self.message()),
            TransferError::Insufficient { balance } => write!(f, "{} (balance: {balance})", self.message()),
            TransferError::Money(error) => error.fmt(f),
            TransferError::Database(error) => error.fmt(f),
            other => f.write_str(other.message()),
        }
    }
}

impl std::error::Error for TransferError {}

impl From<Error> for TransferError {
    fn from(error: Error) -> TransferError {
        TransferError::Database(error)
    }
}

impl From<MoneyError> for TransferError {
    fn from(error: MoneyError) -> TransferError {
        TransferError::Money(error)
    }
}

/// For bodies of [`Db::transaction`](odm::Db::transaction), with the refusal as the source.
impl From<TransferError> for Error {
    fn from(error: TransferError) -> Error {
        let kind = match &error {
            TransferError::Database(inner) => return inner.clone(),
            TransferError::NoAccount { .. } => ErrorKind::NotFound,
            _ => ErrorKind::Validation,
        };
        Error::new(kind, error.message().to_owned()).with_source(error)
    }
}
