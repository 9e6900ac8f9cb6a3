//! What transactions and handles want of the members of a replica set.

use std::time::Duration;

/// Which data is read. In a transaction all reads are of one snapshot, and the levels that are allowed there differ in what
/// a failover can take back.
///
/// The embedded engine is one member and gives the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReadConcern {
    /// What the member has.
    Local,
    /// What a majority has, which no failover takes back; in a transaction, once it committed with
    /// [`WriteConcern::majority`].
    Majority,
    /// What a majority has at one point in time, across shards too. MongoDB has it for finds, aggregations and distinct
    /// values alone.
    Snapshot,
    /// What the member has, and on shards also documents that are none of theirs any more. Not in transactions.
    Available,
    /// All that a majority had acknowledged when the read began: the primary asks the others first. Of single documents,
    /// and not in transactions.
    Linearizable,
}

/// Which member of a replica set is asked. MongoDB allows only the primary to read in a transaction: with any other,
/// its reads are errors. The embedded engine is one member, which is asked whatever is preferred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReadPreference {
    /// The one that is written to.
    #[default]
    Primary,
    /// The primary, or a secondary while there is none.
    PrimaryPreferred,
    /// A secondary.
    Secondary,
    /// A secondary, or the primary when there is none.
    SecondaryPreferred,
    /// The one with the shortest way.
    Nearest,
}

/// How safe a write, or a transaction's commit, must be before it is acknowledged.
///
/// ```
/// # async fn example(db: &odm::Db) -> odm::Result<()> {
/// use std::time::Duration;
/// use odm::backend::{TransactionOptions, WriteConcern};
///
/// let safe = WriteConcern::majority().journal(true).timeout(Duration::from_secs(5));
/// let options = TransactionOptions::new().write_concern(safe);
/// db.transaction_with(options, async |_tx| odm::Result::Ok(())).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct WriteConcern {
    members: Option<u32>,
    journal: Option<bool>,
    timeout: Option<Duration>,
}

impl WriteConcern {
    /// Acknowledged by a majority of the members.
    pub fn majority() -> WriteConcern {
        WriteConcern {
            members: None,
            journal: None,
            timeout: None,
        }
    }

    /// Acknowledged by so many members. The embedded engine is one: more are unsupported there. None is an error: writes
    /// and commits are always acknowledged.
    pub fn members(count: u32) -> WriteConcern {
        WriteConcern {
            members: Some(count),
            ..WriteConcern::majority()
        }
    }

    /// Whether it must be on the disk. The embedded engine then makes this write or commit durable, whatever durability
    /// it was opened with; in memory that is unsupported.
    pub fn journal(self, journal: bool) -> WriteConcern {
        WriteConcern {
            journal: Some(journal),
            ..self
        }
    }

    /// How long to wait for the other members.
    pub fn timeout(self, timeout: Duration) -> WriteConcern {
        WriteConcern {
            timeout: Some(timeout),
            ..self
        }
    }

    /// How many members must acknowledge; a majority when absent.
    pub fn member_count(&self) -> Option<u32> {
        self.members
    }

    /// Whether the commit must be on the disk, if that was said.
    pub fn wants_journal(&self) -> Option<bool> {
        self.journal
    }

    /// How long to wait for the other members, if that is limited.
    pub fn wait(&self) -> Option<Duration> {
        self.timeout
    }
}

/// What the operations of a handle ask for, beside what the URL says: see
/// [`Db::with_read_preference`](crate::Db::with_read_preference) and its neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Concerns {
    /// Which data is read; the URL's choice when absent.
    pub read_concern: Option<ReadConcern>,
    /// How safe writes must be; the URL's choice when absent.
    pub write_concern: Option<WriteConcern>,
    /// Which member is read from; the URL's choice when absent.
    pub read_preference: Option<ReadPreference>,
}

impl Concerns {
    /// These, and of the others what these do not say.
    #[must_use]
    pub fn or(self, others: Concerns) -> Concerns {
        Concerns {
            read_concern: self.read_concern.or(others.read_concern),
            write_concern: self.write_concern.or(others.write_concern),
            read_preference: self.read_preference.or(others.read_preference),
        }
    }
}
