//! The right to do what a key stands for.

use odm::bson::{Bson, doc};
use odm::{Db, Error, ErrorKind, Filter, Model, Result};
use serde::Serialize;

use super::keys::{Keys, encoded};
use super::record::{KeyId, KeyRecord};
use crate::later::later;

/// The right to do what a key stands for, for the time of a lease. Nobody else has it meanwhile.
#[derive(Clone, Debug)]
pub struct Permit {
    pub(super) keys: Keys,
    pub(super) id: KeyId,
    pub(super) permit: odm::bson::oid::ObjectId,
    pub(super) token: i64,
}

impl Permit {
    /// A number that grows with every permit of the key while it is kept: a fence for other systems.
    pub fn token(&self) -> i64 {
        self.token
    }

    /// The same permit through another handle of the database: the transaction in which the effect is made.
    #[must_use]
    pub fn on(&self, db: &Db) -> Permit {
        Permit {
            keys: self.keys.on(db),
            ..self.clone()
        }
    }

    /// Stores the result, which whoever comes with the key gets from now on. One round trip.
    ///
    /// # Errors
    /// `Conflict` when somebody else has a permit by now: in a transaction, give it back, so that the effect is rolled
    /// back. `Encode` for a result that does not fit BSON.
    pub async fn complete<T: Serialize, E: Serialize>(&self, result: &Result<T, E>) -> Result<()> {
        let result = encoded(result)?;
        let expires = later(self.keys.db.now(), self.keys.keep);
        let update = self.keys.collection.update_one(
            |_| self.mine(),
            |k| k.result.set(Bson::Document(result)) & k.expires.set(expires),
        );
        self.expect(update.await?.matched)
    }

    /// Begins the lease anew, for an effect that takes longer. One round trip.
    ///
    /// # Errors
    /// `Conflict` when somebody else has a permit by now: stop.
    pub async fn renew(&self) -> Result<()> {
        let (until, expires) = self.keys.times();
        let update = self
            .keys
            .collection
            .update_one(|_| self.mine(), |k| k.until.set(until) & k.expires.set(expires));
        self.expect(update.await?.matched)
    }

    /// Gives the permit back without a result: the next one to come with the key gets one at once. One round trip.
    ///
    /// # Errors
    /// `Conflict` when somebody else has a permit by now.
    pub async fn abandon(self) -> Result<()> {
        let now = self.keys.db.now();
        let update = self
            .keys
            .collection
            .update_one(|_| self.mine(), |k| k.until.set(now));
        self.expect(update.await?.matched)
    }

    fn mine(&self) -> Filter<KeyRecord> {
        let k = KeyRecord::fields();
        k.id.eq(&self.id) & k.permit.eq(self.permit) & k.result.is_none()
    }

    fn expect(&self, matched: u64) -> Result<()> {
        match matched {
            1 => Ok(()),
            _ => Err(
                Error::new(ErrorKind::Conflict, "the permit of the idempotency key is lost")
                    .with_id(doc! { "scope": &self.id.scope, "key": &self.id.key }),
            ),
        }
    }
}
