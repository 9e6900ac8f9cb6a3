//! The seam: what a database must do for `odm`, and nothing more.
//!
//! A backend MUST give every [`Operation`] it accepts MongoDB's meaning, and MUST answer the others with an
//! error of kind [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) that names the operation and the
//! backend. It MUST NOT emulate silently. Because everything goes through one enum and one method, an
//! operation log, fault injection and tracing are wrappers (see [`wrap`]).

mod backup;
mod capabilities;
mod check;
mod compaction;
mod concern;
mod cursor;
#[cfg(test)]
pub(crate) mod fake;
mod footprint;
mod operation;
pub(crate) mod plan;
mod repair;
mod response;
mod session;
mod statistics;
mod store;
mod watch;
pub mod wrap;

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;

pub use self::backup::{BackupObserver, BackupProgress, BackupReport};
pub use self::capabilities::Capabilities;
pub use self::check::{CheckProblem, CheckReport};
pub use self::compaction::CompactReport;
pub use self::concern::{Concerns, ReadConcern, ReadPreference, WriteConcern};
pub use self::cursor::{Batch, BatchCursor};
pub use self::footprint::Footprint;
pub(crate) use self::operation::id_of;
pub use self::operation::{
    Aggregate, Backup, BulkWrite, Check, CollectionOptions, Compact, Count, CreateCollection, CreateIndexes,
    Delete, DeleteStatement, Distinct, DropCollection, DropDatabase, DropIndexes, Explain, Find,
    FindAndModify, Flush, IndexSpec, Insert, ListCollections, ListIndexes, MeasureStore, Modification,
    ModifyCollection, Namespace, Operation, ReadOptions, RenameCollection, Repair, RunCommand, Statistics,
    Tail, Update, UpdateStatement, WriteStatement,
};
pub use self::repair::{RepairAction, RepairFinding, RepairProblem, RepairReport};
pub use self::response::{Response, WriteResult, WriteSummary};
pub use self::session::Session;
pub use self::statistics::{CollectionStatistics, IndexStatistics};
pub use self::store::{
    ChangeLogStatistics, DatabaseStatistics, FileStatistics, SpaceStatistics, StoreStatistics,
};
pub use self::watch::{FullDocument, FullDocumentBeforeChange, Watch, WatchScope};

use crate::error::Result;

/// A database that executes operations.
///
/// # Contract
/// * `execute` MUST be callable from many tasks at once, and its future MUST be `Send` and MUST NOT block the
///   calling thread on disk or network.
/// * A write's future that is dropped before it is ready MAY or MAY NOT have taken effect, but never in part of
///   one document.
/// * Documents in a [`Response`] MUST be well-formed BSON no deeper than MongoDB allows.
/// * `begin` MUST return an executor whose operations see their own writes and nobody else's later ones.
pub trait Backend: Send + Sync + fmt::Debug {
    /// The URL scheme users know the backend by: `memory`, `native`, `mongodb`.
    fn name(&self) -> &'static str;

    /// What the backend can do.
    fn capabilities(&self) -> Capabilities;

    /// Executes one operation.
    fn execute(&self, operation: Operation) -> BoxFuture<'_, Result<Response>>;

    /// Executes one operation, and says what it did to find its documents, where the backend knows: for whoever tells
    /// slow operations. What a cursor does afterwards is said by [`BatchCursor::footprint`].
    fn measure(&self, operation: Operation) -> BoxFuture<'_, (Result<Response>, Option<Footprint>)> {
        let execute = self.execute(operation);
        Box::pin(async move { (execute.await, None) })
    }

    /// The same backend for operations that ask for this, beside what this one asks for; `None` where this one gives it
    /// already.
    ///
    /// # Errors
    /// `Unsupported` for what it cannot give, and unless a backend says otherwise.
    fn concerned(&self, concerns: Concerns) -> Result<Option<Arc<dyn Backend>>> {
        let _ = concerns;
        Err(session::unsupported(self.name(), "concerns of a handle"))
    }

    /// What operations ask for that name nothing themselves, as far as it is said.
    fn concerns(&self) -> Concerns {
        Concerns::default()
    }

    /// Starts a session whose operations see what came before them; `None` where those of the backend itself do.
    ///
    /// # Errors
    /// `Unsupported` unless a backend says otherwise.
    fn session(&self) -> BoxFuture<'_, Result<Option<Arc<dyn Session>>>> {
        let error = session::unsupported(self.name(), "causally consistent sessions");
        Box::pin(std::future::ready(Err(error)))
    }

    /// A backend that reads what is stored now, in all databases, whatever is written later: for as long as it is kept, if
    /// [`lasting_snapshots`](Capabilities::lasting_snapshots) says so. Whoever asks may read this database. `None` where
    /// there is no such thing, as in a backend around another one that does not pass it on.
    fn snapshot<'a>(&'a self, database: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Backend>>>> {
        let _ = database;
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Starts a transaction.
    fn begin(&self, options: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>>;

    /// What all handles of this connection or engine have in common, by address: this backend, the transactions, sessions
    /// and snapshots made of it, and those around it. `None` where they cannot be told from others.
    fn connection(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        None
    }

    /// What the backend is made of, for functions that know its kind, such as
    /// `odm::mongodb::client`. A backend around another one passes on what that gives, if it
    /// may be gone around.
    fn parts(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        None
    }
}

/// A running transaction: an executor whose operations take effect together.
///
/// Dropping it without `commit` aborts it.
pub trait Transaction: Backend {
    /// Makes the writes visible and durable. Calling it again after success is allowed and does nothing.
    fn commit(&self) -> BoxFuture<'_, Result<()>>;

    /// Forgets the writes. Never fails: a transaction that is gone is aborted.
    fn abort(&self) -> BoxFuture<'_, ()>;
}

/// How a transaction runs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TransactionOptions {
    /// Which data it reads; the URL's choice when absent.
    pub read_concern: Option<ReadConcern>,
    /// How safe its commit must be; the URL's choice when absent.
    pub write_concern: Option<WriteConcern>,
    /// Which member it reads from; the URL's choice when absent.
    pub read_preference: Option<ReadPreference>,
    /// How long a commit may take.
    pub max_commit_time: Option<Duration>,
    /// How long [`Db::transaction_with`](crate::Db::transaction_with) runs the transaction again and again
    /// after conflicts. 120 seconds unless said otherwise. Backends need not look at it.
    pub retry_for: Duration,
}

impl Default for TransactionOptions {
    fn default() -> TransactionOptions {
        TransactionOptions {
            read_concern: None,
            write_concern: None,
            read_preference: None,
            max_commit_time: None,
            retry_for: Duration::from_secs(120),
        }
    }
}

impl TransactionOptions {
    /// The defaults.
    pub fn new() -> TransactionOptions {
        TransactionOptions::default()
    }

    /// Which data it reads.
    pub fn read_concern(self, concern: ReadConcern) -> TransactionOptions {
        TransactionOptions {
            read_concern: Some(concern),
            ..self
        }
    }

    /// How safe its commit must be.
    pub fn write_concern(self, concern: WriteConcern) -> TransactionOptions {
        TransactionOptions {
            write_concern: Some(concern),
            ..self
        }
    }

    /// Which member it reads from. MongoDB refuses all reads unless it is the primary.
    pub fn read_preference(self, preference: ReadPreference) -> TransactionOptions {
        TransactionOptions {
            read_preference: Some(preference),
            ..self
        }
    }

    /// How long a commit may take: after that it fails with code 50 (kind `Timeout`). The embedded engine counts the
    /// time until its writer takes the commit up; one that was taken up is finished.
    pub fn max_commit_time(self, time: Duration) -> TransactionOptions {
        TransactionOptions {
            max_commit_time: Some(time),
            ..self
        }
    }

    /// How long the transaction is run again and again after conflicts; zero is never.
    pub fn retry_for(self, time: Duration) -> TransactionOptions {
        TransactionOptions {
            retry_for: time,
            ..self
        }
    }
}
