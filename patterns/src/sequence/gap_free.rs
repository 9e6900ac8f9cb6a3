//! Numbers without gaps, in transactions.

use odm::{Db, Error, ErrorKind, Result};

use super::definition::{Number, Sequence};

/// A sequence whose numbers are taken in the transactions that use them: unique, without a gap, in the order of the commits.
/// When a transaction is rolled back, or its program dies, so is its number. See the [table](super).
///
/// Transactions that take a number of the same sequence follow one another: of two at once one is run again. Take the number
/// last.
#[derive(Clone, Debug)]
pub struct GapFree {
    pub(super) sequence: Sequence,
}

impl GapFree {
    /// The next number, for what the same transaction writes, in whichever database of the sequence's server that is. One
    /// round trip.
    ///
    /// # Errors
    /// `InvalidArgument` outside of a transaction, in one of another connection or engine, and when the sequence is of another
    /// kind; `Conflict` when another transaction was first, after which [`Db::transaction`] runs this one again.
    pub async fn next(&self, tx: &Db) -> Result<Number> {
        self.next_many(tx, 1).await
    }

    /// The next numbers, one after another: the first of so many. One round trip.
    ///
    /// # Errors
    /// As [`next`](GapFree::next); `InvalidArgument` for none.
    pub async fn next_many(&self, tx: &Db, count: u32) -> Result<Number> {
        if !tx.in_transaction() {
            let text = "numbers without gaps are taken in the transaction that uses them";
            return Err(Error::new(ErrorKind::InvalidArgument, text));
        }
        let db = self.sequence.db.through(tx);
        self.sequence.take(&db, "gap_free", i64::from(count)).await
    }

    /// The number that was given last, in the present period. One round trip.
    ///
    /// # Errors
    /// As any operation.
    pub async fn last(&self) -> Result<Option<Number>> {
        self.sequence.last(&self.sequence.db).await
    }
}
