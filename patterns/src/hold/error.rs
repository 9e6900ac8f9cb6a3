//! Why a copy could not be had, kept or given back.

use std::fmt;

use odm::bson::Bson;
use odm::{Error, ErrorKind};

/// Why an operation of a [`Shelf`](super::Shelf) was refused.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum HoldError {
    /// There are not so many copies.
    SoldOut {
        /// How many there are, with those of expired holds.
        available: i64,
    },
    /// There is no document with this `_id`.
    NoItem {
        /// The Rust name of the model.
        model: &'static str,
        /// The `_id` that was asked for.
        id: Bson,
    },
    /// So many copies do not fit the field that counts them.
    DoesNotFit {
        /// The `_id` of the document.
        id: Bson,
    },
    /// More copies were to be confirmed than the hold has.
    MoreThanHeld {
        /// How many it has.
        held: i64,
    },
    /// No hold of this id is known, or nobody of this name has a copy.
    UnknownHold,
    /// The hold's time is over.
    Expired,
    /// The hold was confirmed before.
    AlreadyConfirmed,
    /// The hold was released before.
    AlreadyReleased,
    /// The hold's id is taken by a hold of other copies, or of somebody else.
    OtherHold,
    /// The database's error.
    Database(Error),
}

impl HoldError {
    /// What the error is about, without its fields.
    pub fn message(&self) -> &str {
        match self {
            HoldError::SoldOut { .. } => "there are not enough copies",
            HoldError::NoItem { .. } => "there is no such item",
            HoldError::DoesNotFit { .. } => "so many copies do not fit the field that counts them",
            HoldError::MoreThanHeld { .. } => "the hold has not so many copies",
            HoldError::UnknownHold => "the hold is not known",
            HoldError::Expired => "the hold has expired",
            HoldError::AlreadyConfirmed => "the hold was confirmed before",
            HoldError::AlreadyReleased => "the hold was released before",
            HoldError::OtherHold => "the id is that of another hold",
            HoldError::Database(error) => error.message(),
        }
    }
}

impl HoldError {
    /// What the caller can do, in the words of `odm`.
    pub fn kind(&self) -> ErrorKind {
        match self {
            HoldError::NoItem { .. } | HoldError::UnknownHold => ErrorKind::NotFound,
            HoldError::Database(error) => error.kind(),
            _ => ErrorKind::Validation,
        }
    }

    /// The same in the words of `odm`, without the cause.
    fn told(&self) -> Error {
        let told = Error::new(self.kind(), self.message().to_owned());
        match self {
            HoldError::SoldOut { available } => told.with_note("available", available),
            HoldError::MoreThanHeld { held } => told.with_note("held", held),
            HoldError::NoItem { model, id } => told.with_model(model).with_id(id.clone()),
            HoldError::DoesNotFit { id } => told.with_id(id.clone()),
            HoldError::Database(error) => error.clone(),
            _ => told,
        }
    }
}

impl fmt::Display for HoldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.told().fmt(f)
    }
}

impl std::error::Error for HoldError {}

impl From<Error> for HoldError {
    fn from(error: Error) -> HoldError {
        HoldError::Database(error)
    }
}

/// For bodies of [`Db::transaction`](odm::Db::transaction): kind `NotFound` or `Validation`, with the refusal as the
/// source.
impl From<HoldError> for Error {
    fn from(error: HoldError) -> Error {
        match error {
            HoldError::Database(error) => error,
            own => own.told().with_source(own),
        }
    }
}
