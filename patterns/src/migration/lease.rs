//! Who migrates: one at a time, by a lease whose token never goes back.

use std::fmt;
use std::time::Duration;

use odm::bson::DateTime;
use odm::bson::oid::ObjectId;
use odm::{Collection, Db, Filter, Model, Result, Update};
use serde::{Deserialize, Serialize};

use crate::later::later;

/// The `_id` of the one document.
const LEASE: &str = "lease";

/// Who migrates: the one document of the collection `migrations.lease`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "migrations.lease")]
#[non_exhaustive]
pub struct MigrationLease {
    /// Always `lease`.
    #[serde(rename = "_id")]
    pub id: String,
    /// Who has it, while somebody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// How often it was taken. Every record is written under it.
    pub token: i64,
    /// Which taking of it this is, while somebody has it: where this document was deleted, two may have the same token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<ObjectId>,
    /// When it ends unless it is renewed.
    pub until: DateTime,
    /// When it was taken.
    pub since: DateTime,
    /// The step that the owner has begun, or had when its process died.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
}

/// The lease belongs to somebody else by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeaseGone;

impl fmt::Display for LeaseGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the lease of the migrations is lost")
    }
}

impl std::error::Error for LeaseGone {}

/// Whose the lease is, as its document says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hold {
    pub(super) token: i64,
    holder: Option<ObjectId>,
}

impl Hold {
    pub(super) fn of(lease: &MigrationLease) -> Hold {
        Hold {
            token: lease.token,
            holder: lease.holder,
        }
    }

    /// The condition of a write that only this one may make.
    fn own(self, l: &MigrationLeaseFields) -> Filter<MigrationLease> {
        l.id.eq(LEASE) & l.token.eq(self.token) & l.holder.eq(self.holder)
    }
}

/// What came of asking for the lease.
pub(super) enum Asked {
    /// It is ours.
    Ours(MigrationLease),
    /// Somebody else has it.
    Theirs(MigrationLease),
}

/// The lease of a collection of records.
#[derive(Clone, Debug)]
pub(super) struct Leases {
    db: Db,
    collection: Collection<MigrationLease>,
    length: Duration,
}

impl Leases {
    pub(super) fn new(db: &Db, records: &str, length: Duration) -> Leases {
        Leases {
            db: db.clone(),
            collection: db.collection_named(&format!("{records}.lease")),
            length,
        }
    }

    pub(super) fn now(&self) -> DateTime {
        self.db.now()
    }

    /// When a lease ends that begins now.
    fn end(&self) -> DateTime {
        later(self.db.now(), self.length)
    }

    pub(super) async fn get(&self) -> Result<Option<MigrationLease>> {
        self.collection.get(LEASE).await
    }

    /// Takes the lease, if it can be had. One round trip; two when somebody has it.
    pub(super) async fn ask(&self, owner: &str) -> Result<Asked> {
        let (now, until) = (self.db.now(), self.end());
        loop {
            let taken = self
                .collection
                .find_one_and_update(
                    |l| l.id.eq(LEASE) & l.until.lte(now),
                    |l| {
                        l.token.inc(1)
                            & l.holder.set(Some(ObjectId::new()))
                            & l.owner.set(Some(owner.to_owned()))
                            & l.until.set(until)
                            & l.since.set(now)
                    },
                )
                .upsert()
                .return_new();
            match taken.await {
                Ok(Some(lease)) => return Ok(Asked::Ours(lease)),
                // Nothing comes back only where nothing was written.
                Ok(None) => {}
                // It is there, and has not ended.
                Err(error) if error.is_duplicate_key() => {
                    if let Some(lease) = self.get().await? {
                        return Ok(Asked::Theirs(lease));
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes the lease last anew; when it ends then, or nothing when it belongs to somebody else.
    pub(super) async fn renew(&self, hold: Hold) -> Result<Option<DateTime>> {
        let until = self.end();
        let renewed = self
            .collection
            .update_one(|l| hold.own(&l), |l| l.until.set(until));
        Ok((renewed.await?.matched == 1).then_some(until))
    }

    /// The same, and says which step is begun: whoever takes the lease after a crash keeps this one's late writes from it.
    pub(super) async fn announce(&self, hold: Hold, step: &str) -> Result<Option<DateTime>> {
        let until = self.end();
        let announced = self.collection.update_one(
            |l| hold.own(&l),
            |l| l.until.set(until) & l.step.set(Some(step.to_owned())),
        );
        Ok((announced.await?.matched == 1).then_some(until))
    }

    /// Gives the lease another token; whether it was still this one's.
    pub(super) async fn rise(&self, hold: Hold, to: i64) -> Result<bool> {
        let risen = self.collection.update_one(|l| hold.own(&l), |l| l.token.set(to));
        Ok(risen.await?.matched == 1)
    }

    /// Gives the lease back, with or without the step that it names; whether it was still this one's.
    pub(super) async fn give_back(&self, hold: Hold, keeps_step: bool) -> Result<bool> {
        let now = self.db.now();
        let given = self.collection.update_one(
            |l| hold.own(&l),
            |l| {
                let step = match keeps_step {
                    true => Update::none(),
                    false => l.step.unset(),
                };
                l.until.set(now) & l.owner.unset() & l.holder.unset() & step
            },
        );
        Ok(given.await?.matched == 1)
    }

    /// Ends the lease, whoever has it, and makes its token an old one. The step that they are at stays known.
    pub(super) async fn end_now(&self) -> Result<bool> {
        let now = self.db.now();
        let ended = self.collection.update_one(
            |l| l.id.eq(LEASE) & l.until.gt(now),
            |l| l.until.set(now) & l.token.inc(1),
        );
        Ok(ended.await?.matched == 1)
    }
}
