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
        /// The account.
        account: String,
        /// What is in it.
        balance: Money,
    },
    /// Both accounts are the same.
    SameAccount {
        /// The key of the transfer.
        key: String,
        /// The account.
        account: String,
    },
    /// The amount is not above 0.
    NotPositive {
        /// The key of the transfer.
        key: String,
    },
    /// The key is that of another transfer, or the name that of another account.
    Taken {
        /// The key, or the name.
        key: String,
    },
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
            TransferError::SameAccount { .. } => "the accounts are the same",
            TransferError::NotPositive { .. } => "the amount is not positive",
            TransferError::Taken { .. } => "the key is taken by something else",
            TransferError::Money(error) => error.message(),
            TransferError::Database(error) => error.message(),
        }
    }
}

impl fmt::Display for TransferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TransferError::NoAccount { account } => write!(f, "{} (account: {account:?})", self.message()),
            TransferError::Insufficient { account, balance } => {
                write!(f, "{} (account: {account:?}, balance: {balance})", self.message())
            }
            TransferError::SameAccount { key, account } => {
                write!(f, "{} (key: {key:?}, account: {account:?})", self.message())
            }
            TransferError::NotPositive { key } | TransferError::Taken { key } => {
                write!(f, "{} (key: {key:?})", self.message())
            }
            TransferError::Money(error) => error.fmt(f),
            TransferError::Database(error) => error.fmt(f),
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
        let plain = Error::new(kind, error.message().to_owned());
        let plain = match &error {
            TransferError::NoAccount { account } | TransferError::Insufficient { account, .. } => {
                plain.with_model("Account").with_id(account.clone())
            }
            TransferError::SameAccount { key, .. }
            | TransferError::NotPositive { key }
            | TransferError::Taken { key } => plain.with_id(key.clone()),
            TransferError::Money(_) | TransferError::Database(_) => plain,
        };
        plain.with_source(error)
    }
}
