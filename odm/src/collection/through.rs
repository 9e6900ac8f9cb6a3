//! A collection among transactions.

use super::{Collection, Record};
use crate::db::Db;
use crate::model::Model;

impl<D: Record> Collection<D> {
    /// Whether this is a part of a transaction; as [`Db::in_transaction`].
    pub fn in_transaction(&self) -> bool {
        self.target.db().in_transaction()
    }

    /// Whether what is done in both takes effect together; as [`Db::shares_transaction`].
    pub fn shares_transaction<E: Record>(&self, other: &Collection<E>) -> bool {
        self.target.db().shares_transaction(&other.target.db())
    }
}

impl<M: Model> Collection<M> {
    /// The same collection through another handle of the same server or engine, such as a transaction, whichever of its
    /// databases that is: see [`Db::through`]. No round trip.
    pub fn through(&self, handle: &Db) -> Collection<M> {
        self.target.db().through(handle).collection_named(self.name())
    }
}
