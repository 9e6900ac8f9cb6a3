//! What a transaction wants of the members of a replica set.

use std::time::Duration;

/// Which data a transaction reads. All three read one snapshot; they differ in what a failover can take back.
///
/// The embedded engine is one member and gives every transaction the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReadConcern {
    /// What the member has.
    Local,
    /// What a majority has, once the transaction committed with [`WriteConcern::majority`].
    Majority,
    /// What a majority has at one point in time, across shards too.
    Snapshot,
}

/// Which member of a replica set is asked. MongoDB allows only the primary to read in a transaction: with any other,
/// its reads are errors.
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

/// How safe a commit must be before it is acknowledged.
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

    /// Acknowledged by so many members. The embedded engine is one: more are unsupported there. None is an error: a
    /// transaction's commit is always acknowledged.
    pub fn members(count: u32) -> WriteConcern {
        WriteConcern {
            members: Some(count),
            ..WriteConcern::majority()
        }
    }

    /// Whether the commit must be on the disk. The embedded engine then makes this commit durable, whatever durability
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
