//! Why a transfer was not made.

use std::fmt;

use odm::{Error, ErrorKind, Model};

use super::stored::Account;
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

impl TransferError {
    /// What the caller can do, in the words of `odm`.
    pub fn kind(&self) -> ErrorKind {
        match self {
            TransferError::NoAccount { .. } => ErrorKind::NotFound,
            TransferError::Database(error) => error.kind(),
            _ => ErrorKind::Validation,
        }
    }

    /// The same in the words of `odm`, without the cause.
    fn told(&self) -> Error {
        let told = Error::new(self.kind(), self.message().to_owned());
        match self {
            TransferError::NoAccount { account } => told
                .with_model(Account::DESCRIPTOR.name)
                .with_id(account.as_str()),
            TransferError::Insufficient { account, balance } => told
                .with_model(Account::DESCRIPTOR.name)
                .with_id(account.as_str())
                .with_note("balance", balance),
            TransferError::SameAccount { key, account } => told
                .with_note("key", format_args!("{key:?}"))
                .with_note("account", format_args!("{account:?}")),
            TransferError::NotPositive { key } | TransferError::Taken { key } => {
                told.with_note("key", format_args!("{key:?}"))
            }
            TransferError::Money(error) => error.told(),
            TransferError::Database(error) => error.clone(),
        }
    }
}

impl fmt::Display for TransferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.told().fmt(f)
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
        match error {
            TransferError::Database(error) => error,
            own => own.told().with_source(own),
        }
    }
}
