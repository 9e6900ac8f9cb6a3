//! Transactions: an executor that is a [`Db`], and the loop that runs one again after a conflict.

mod backoff;
mod guard;
mod retry;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

pub use self::backoff::Backoff;
pub(crate) use self::guard::Guard;
pub(crate) use self::retry::run;
use crate::db::Db;
use crate::error::Result;

/// A running transaction. It derefs to [`Db`]: whatever takes a `&Db` runs inside it by being given `&tx`.
///
/// Collections taken from it belong to it; those taken from the outer `Db` do not. Once it is over, they
/// answer with an error of kind [`Locked`](crate::ErrorKind::Locked). Clones are the same transaction; dropping
/// all that belongs to it without [`commit`](Tx::commit) aborts it.
///
/// MongoDB gives a transaction snapshot isolation: it reads what was committed when it began and its own
/// writes. Two transactions that read the same documents and write different ones can both commit.
#[derive(Clone)]
pub struct Tx {
    db: Db,
    guard: Arc<Guard>,
}

impl Tx {
    pub(crate) fn new(db: Db, guard: Arc<Guard>) -> Tx {
        Tx { db, guard }
    }

    /// Makes the writes visible and durable, all together.
    ///
    /// Calling it again after success does nothing. After an error of kind `InDoubt`, or one with the label
    /// `UnknownTransactionCommitResult`, it can be called again: [`Db::transaction`] does so by itself for that label. A
    /// write concern that is not met is in doubt too: the writes are committed, and a failover may take them back.
    ///
    /// Cancel safety: when the future is dropped before it is ready, the writes may or may not have been
    /// committed, but never a part of them. One round trip; none when the transaction did nothing, if the
    /// backend sees that.
    ///
    /// # Errors
    /// `Conflict` when another transaction was first, `Locked` when the transaction was aborted, `InDoubt`
    /// when it is not known whether it was committed, or for good.
    pub async fn commit(&self) -> Result<()> {
        let result = self.guard.commit().await;
        if result.is_err() {
            self.guard.ended().await;
        }
        result
    }

    /// Forgets the writes. Does nothing when the transaction is over or being committed. One round trip.
    pub async fn abort(&self) {
        self.guard.abort().await;
        self.guard.ended().await;
    }

    /// Whether the transaction was neither committed nor aborted yet.
    pub fn is_running(&self) -> bool {
        self.guard.check_running().is_ok()
    }

    pub(crate) fn guard(&self) -> &Arc<Guard> {
        &self.guard
    }
}

impl Deref for Tx {
    type Target = Db;

    fn deref(&self) -> &Db {
        &self.db
    }
}

impl fmt::Debug for Tx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tx")
            .field("db", &self.db)
            .field("running", &self.is_running())
            .finish()
    }
}

#[cfg(test)]
mod tests;
