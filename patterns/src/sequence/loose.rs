//! Numbers that may have gaps.

use odm::{Db, Result};

use super::definition::{Number, Sequence};

/// A sequence whose numbers are given to whoever asks: unique, in the order of asking, and with a gap wherever one was asked
/// for and not used. See the [table](super).
#[derive(Clone, Debug)]
pub struct Loose {
    pub(super) sequence: Sequence,
}

impl Loose {
    /// The next number. One round trip.
    ///
    /// When it fails with an error that leaves open whether it happened (`Network`, `InDoubt`), a number may be gone.
    ///
    /// # Errors
    /// `InvalidArgument` when the sequence is of another kind.
    pub async fn next(&self) -> Result<Number> {
        self.sequence.take(&self.sequence.db, "loose", 1).await
    }

    /// The next numbers, one after another: the first of so many. One round trip.
    ///
    /// # Errors
    /// As [`next`](Loose::next); `InvalidArgument` for none.
    pub async fn next_many(&self, count: u32) -> Result<Number> {
        self.sequence
            .take(&self.sequence.db, "loose", i64::from(count))
            .await
    }

    /// The number that was given last, in the present period. One round trip.
    ///
    /// # Errors
    /// As any operation.
    pub async fn last(&self) -> Result<Option<Number>> {
        self.sequence.last(&self.sequence.db).await
    }

    /// The same sequence through another handle of the database. In a transaction its numbers come back when that is rolled
    /// back, and others wait for it. It stays in its own database, whichever the transaction was begun on: see
    /// [`Db::through`].
    #[must_use]
    pub fn on(&self, db: &Db) -> Loose {
        let mut on = self.clone();
        on.sequence.db = on.sequence.db.through(db);
        on
    }
}
