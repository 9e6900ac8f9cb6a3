//! The database handle.

mod executor;
mod listing;
mod models;
mod opener;
mod options;
mod url;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use bson::{DateTime, Document, RawDocumentBuf};

pub(crate) use self::executor::{Answer, Executor};
pub use self::listing::CollectionInfo;
pub use self::models::ModelDrift;
pub use self::options::{ChangeLog, Durability, OpenOptions};
pub(crate) use self::url::check_database_name;
use crate::action::{Backup, CreateCollection, LoadStored, Repair, VerifyRelations, Watch};
use crate::backend::wrap::{Faults, Faulty, Log, Logged};
use crate::backend::{
    self, Backend, Capabilities, CheckReport, CollectionStatistics, CompactReport, DatabaseStatistics,
    Operation, StoreStatistics, TransactionOptions, WatchScope,
};
use crate::change::Change;
use crate::codec;
use crate::collection::{Collection, Target};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::relation::Relation;
use crate::transaction::{self, Guard, Tx};

/// A database: one of the embedded engine's, or one on a MongoDB server. Cheap to clone; clones share all.
///
/// # Example: open, write, read
/// ```
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// use odm::bson::doc;
///
/// let db = odm::Db::open("memory:").await?;
/// assert_eq!((db.backend_name(), db.name()), ("memory", "main"));
/// let books = db.raw_collection("books");
/// books.insert(doc! {"_id": 1, "title": "Emma"}).await?;
/// assert_eq!(books.find(doc! {"title": "Emma"}).await?, [doc! {"_id": 1, "title": "Emma"}]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Db {
    executor: Executor,
    name: Arc<str>,
}

impl Db {
    /// Opens the database at this URL:
    ///
    /// | URL | where |
    /// |---|---|
    /// | `memory:` | the embedded engine in memory; every opening is a new, empty one |
    /// | `native:path/to/dir` | the embedded engine in a directory |
    /// | `mongodb://host/database`, `mongodb+srv://..` | MongoDB through its driver, which reads the options |
    ///
    /// The embedded engine's database is `main` unless the URL says `?database=name`; it also takes
    /// `durability=immediate` (or `none`, or milliseconds such as `100ms`) and `create=false`. In the path,
    /// `%` begins an escape of two hexadecimal digits.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// use odm::{Db, ErrorKind};
    ///
    /// let db = Db::open("memory:?database=library").await?;
    /// assert_eq!(db.name(), "library");
    /// let error = Db::open("postgres://localhost/library").await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` for a URL that cannot be read or names no database, `Unsupported` when this build
    /// leaves the backend out, `Locked` when the directory is open already, here or in another process,
    /// `NotFound` when it is missing and must not be created, `Network` or
    /// `Unauthorized` as the server has it. No error shows credentials.
    pub async fn open(url: &str) -> Result<Db> {
        OpenOptions::new().open(url).await
    }

    /// Options to open a database with.
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// A database of any backend, such as a wrapped one.
    pub fn from_backend(backend: Arc<dyn Backend>, name: impl Into<Arc<str>>) -> Db {
        Db {
            executor: Executor {
                backend,
                guard: None,
                clock: None,
            },
            name: name.into(),
        }
    }

    /// The database's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Another database of the same server or engine; inside a transaction, of the same transaction.
    ///
    /// # Errors
    /// `InvalidArgument` when MongoDB does not allow the name.
    pub fn database(&self, name: &str) -> Result<Db> {
        check_database_name(name)?;
        Ok(Db {
            executor: self.executor.clone(),
            name: name.into(),
        })
    }

    /// The collection of a model. No round trip.
    ///
    /// The first time that a model is used, its declaration is compared with what serde does; a difference
    /// comes out of every action on the collection as an error of kind `Schema`.
    pub fn collection<M: Model>(&self) -> Collection<M> {
        self.collection_named(M::DESCRIPTOR.collection)
    }

    /// A collection of another name with the documents of a model: `logs_2026_11`. No round trip.
    pub fn collection_named<M: Model>(&self, name: &str) -> Collection<M> {
        Collection::of_model(self, name)
    }

    /// Loads what fields of documents in memory refer to; as [`Collection::load`] of the model's own collection.
    pub fn load<M: Model, L: Relation<M>>(
        &self,
        documents: &[M],
        relation: impl FnOnce(M::Fields<M>) -> L,
    ) -> LoadStored<M, L> {
        self.collection::<M>().load(documents, relation)
    }

    /// Looks for references that are not as they were declared, in the documents of this model and of all models that
    /// can be reached from it by references, in either direction (against it, where they are named by
    /// `#[odm(referred_by(..))]`); as [`Collection::verify_relations`] of each model's own collection.
    pub fn verify_relations<M: Model>(&self) -> VerifyRelations {
        VerifyRelations::new(M::DESCRIPTOR, self.collection::<M>().target(), true)
    }

    /// A collection of untyped documents. No round trip.
    pub fn raw_collection(&self, name: &str) -> Collection<Document> {
        Collection::untyped(self, name)
    }

    /// The backend: `memory`, `native` or `mongodb`.
    pub fn backend_name(&self) -> &'static str {
        self.executor.backend.name()
    }

    /// What the backend can do.
    pub fn capabilities(&self) -> Capabilities {
        self.executor.backend.capabilities()
    }

    /// Whether this is a part of a transaction: a [`Tx`], or made of one.
    pub fn in_transaction(&self) -> bool {
        self.executor.guard.is_some()
    }

    /// The backend, for operations that have no method here.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.executor.backend
    }

    /// Watches what changes in all collections of this database, from now on. See [`ChangeStream`].
    ///
    /// ```
    /// # async fn example() -> odm::Result<()> {
    /// use odm::{ChangeEvent, Db, bson::doc};
    ///
    /// let db = Db::open("memory:").await?;
    /// let mut changes = db.watch().await?;
    /// db.raw_collection("books").insert(doc! {"_id": 1}).await?;
    /// let change = changes.try_next().await?.expect("the stream goes on");
    /// assert_eq!(change.collection.as_deref(), Some("books"));
    /// assert!(matches!(change.event, ChangeEvent::Insert { .. }));
    /// # Ok(())
    /// # }
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(example()).unwrap();
    /// ```
    ///
    /// [`ChangeStream`]: crate::ChangeStream
    ///
    /// # Errors
    /// `Unsupported` where there are no change streams, `HistoryLost` when it cannot begin where it should.
    pub fn watch(&self) -> Watch<Change> {
        let scope = WatchScope::Database(self.name.to_string());
        Watch::new(&Target::untyped(self, ""), scope)
    }

    /// Watches what changes in all databases of the server or engine, from now on; as [`watch`](Db::watch).
    ///
    /// # Errors
    /// As [`watch`](Db::watch).
    pub fn watch_everything(&self) -> Watch<Change> {
        Watch::new(&Target::untyped(self, ""), WatchScope::Everything)
    }

    /// Runs a command in MongoDB's vocabulary on this database. One round trip.
    ///
    /// # Errors
    /// The command's failure, with MongoDB's code.
    pub async fn run_command(&self, command: Document) -> Result<Document> {
        let command = codec::encode_untyped(&command)?;
        let operation = Operation::RunCommand(backend::RunCommand {
            database: self.name.to_string(),
            command,
        });
        let reply = self.execute(operation).await?.document()?;
        match reply {
            Some(reply) => codec::decode_untyped(&reply),
            None => Ok(Document::new()),
        }
    }

    /// The collections of the database, with their options. One round trip.
    ///
    /// # Errors
    /// As any operation.
    pub async fn list_collections(&self) -> Result<Vec<CollectionInfo>> {
        let filter = RawDocumentBuf::new();
        let operation = Operation::ListCollections(backend::ListCollections {
            database: self.name.to_string(),
            filter,
        });
        let documents = self.execute(operation).await?.documents()?;
        documents
            .iter()
            .map(|document| CollectionInfo::read(document))
            .collect()
    }

    /// Creates a collection with options. Collections without options need not be created: the first write
    /// does it.
    pub fn create_collection(&self, name: &str) -> CreateCollection {
        CreateCollection::new(Target::untyped(self, name))
    }

    /// Drops a collection with its indexes; no error when there is none. One round trip.
    ///
    /// # Errors
    /// As any operation.
    pub async fn drop_collection(&self, name: &str) -> Result<()> {
        self.raw_collection(name).drop().await
    }

    /// How much the collections of the database hold together. One round trip. The embedded engine counts all
    /// documents and index entries, so that the time grows with them.
    ///
    /// # Errors
    /// As any operation.
    pub async fn stats(&self) -> Result<CollectionStatistics> {
        let operation = Operation::Statistics(backend::Statistics {
            database: self.name.to_string(),
            collection: None,
        });
        self.execute(operation).await?.statistics()
    }

    /// Drops the database with all its collections; no error when there is none. One round trip.
    ///
    /// # Errors
    /// As any operation.
    pub async fn drop(&self) -> Result<()> {
        let operation = Operation::DropDatabase(backend::DropDatabase {
            database: self.name.to_string(),
        });
        self.execute(operation).await?.done()
    }

    /// The figures of this database, and of the embedded engine's store that holds it. Two round trips. The embedded
    /// engine reads most of the file for them; [`store_statistics`](Db::store_statistics) does not.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # use odm::bson::doc;
    /// let db = odm::Db::open("memory:").await?;
    /// db.raw_collection("books").insert(doc! {"_id": 1}).await?;
    /// let figures = db.statistics().await?;
    /// assert_eq!(figures.database.documents, 1);
    /// // On MongoDB there is none.
    /// let store = figures.store.expect("the embedded engine's");
    /// assert_eq!((store.commits, store.transactions, store.file), (1, 0, None));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As any operation.
    pub async fn statistics(&self) -> Result<DatabaseStatistics> {
        let mut figures = DatabaseStatistics {
            database: self.stats().await?,
            ..DatabaseStatistics::default()
        };
        if self.capabilities().maintenance {
            figures.store = Some(self.measure_store(true).await?);
        }
        Ok(figures)
    }

    /// The figures of the embedded engine's store: cheap enough to be asked for every few seconds.
    ///
    /// # Errors
    /// `Unsupported` on MongoDB, whose command `serverStatus` has such figures, and inside a transaction.
    pub async fn store_statistics(&self) -> Result<StoreStatistics> {
        self.measure_store(false).await
    }

    async fn measure_store(&self, space: bool) -> Result<StoreStatistics> {
        self.execute(backend::MeasureStore { space }.into())
            .await?
            .store()
    }

    /// Cross-checks the documents, checksums and indexes of this database, the catalog, the log of changes, and the
    /// store itself.
    ///
    /// Reads everything: the time grows with the data. Writers wait meanwhile, readers do not.
    ///
    /// # Errors
    /// `Unsupported` on backends other than the embedded engine; MongoDB has its command `validate`.
    pub async fn check(&self) -> Result<CheckReport> {
        let database = Some(self.name.to_string());
        self.execute(Operation::Check(backend::Check { database }))
            .await?
            .check()
    }

    /// Makes what follows from the documents of this database what they say: index entries, flags of indexes that
    /// hold several keys of one document, counts of capped collections. Documents are never written to.
    ///
    /// The report has what was wrong, where, and what was done. Damaged documents are listed and left, with their
    /// index entries; so are documents that clash in a unique index. Each index is one commit: whatever ends the
    /// process, it is as before or right.
    ///
    /// Cost: reads the documents once for each index, and holds its keys in memory; writers wait for one index at a
    /// time, readers do not. Cancel safety: when the future is dropped, the indexes that were done stay repaired.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # use odm::bson::doc;
    /// let db = odm::Db::open("memory:").await?;
    /// db.raw_collection("books").insert(doc! {"_id": 1}).await?;
    /// let report = db.repair().await?;
    /// assert!(report.is_clean() && report.documents == 1);
    /// // What would be done to one collection.
    /// assert!(db.repair().collection("books").dry_run().await?.is_clean());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails with `Unsupported` on MongoDB, whose command `validate` has `repair`, and inside a transaction.
    pub fn repair(&self) -> Repair {
        Repair::new(self)
    }

    /// Copies all databases of the embedded engine, as one commit left them, to a directory, while readers and
    /// writers go on. The directory then is a database like any other: restoring it is opening `native:` with it,
    /// and `memory:` can be kept in this way.
    ///
    /// The directory must be missing or empty. It gets the mode 0700, its file 0600. The copy is made beside it, in
    /// a directory of the name `.NAME.partial`, brought to the disk, and renamed at the end: there is never a half
    /// of it. What a crash leaves beside it is removed by the next backup to the same directory.
    ///
    /// The log of changes goes along under a new identity. A resume token that was got from the original is refused
    /// by the backup with code 280, since what was changed after the copy is not in it; a stream can begin
    /// [at a time](crate::action::Watch::start_at) within the log instead.
    ///
    /// Cost: reads and writes everything once, on a thread of its own. Until it is done the space of what others
    /// remove or change cannot be used again. Cancel safety: dropping the future ends it, without a trace.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # use odm::bson::doc;
    /// let db = odm::Db::open("memory:").await?;
    /// db.raw_collection("books").insert(doc! {"_id": 1, "title": "Emma"}).await?;
    /// let directory = std::env::temp_dir().join(format!("odm-backup-{}", std::process::id()));
    /// let report = db.backup(&directory).await?;
    /// assert_eq!(report.documents, 1);
    ///
    /// let restored = odm::Db::open(&format!("native:{}", directory.display())).await?;
    /// assert_eq!(restored.raw_collection("books").count(doc! {}).await?, 1);
    /// # drop(restored);
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails with `InvalidArgument` when the directory is not empty, `Locked` while another backup is made to it,
    /// `Corrupt` when a document is damaged (see [`damaged_too`](Backup::damaged_too)), `Io`, and `Unsupported` on
    /// MongoDB, which has `mongodump` and snapshots, and inside a transaction.
    pub fn backup(&self, directory: impl AsRef<Path>) -> Backup {
        Backup::new(self, directory.as_ref().to_owned())
    }

    /// Gives the space of what was removed from the embedded engine's file back to the file system.
    ///
    /// The file is written anew without unused space, and renamed over the old one: whatever ends the process, one
    /// of the two is there, whole, and they hold the same. Relaxed commits are durable afterwards.
    ///
    /// Cost: reads and writes everything once; as much free space as the new file takes. Writers wait meanwhile,
    /// readers and running transactions do not. Cursors and transactions that were open keep the old file's space
    /// until they end. Cancel safety: when the future is dropped, it goes on in the background.
    ///
    /// # Errors
    /// `Unsupported` in memory, where there is no file, inside a transaction, and on MongoDB, whose command
    /// `compact` does this for one collection; `Corrupt` and `Io`, after which all is as before; `InDoubt` when the
    /// directory could not be synced at the end: either file may be found after a power loss, and nothing is
    /// written until the database is opened again.
    pub async fn compact(&self) -> Result<CompactReport> {
        self.execute(backend::Compact.into()).await?.compact()
    }

    /// Runs `body` in a transaction and commits it. After a conflict, both again, for up to 120 seconds, with
    /// growing pauses: so `body` may run several times, and only its last run's writes are kept.
    ///
    /// Write `body` as `async |tx| ..`, without `move`: it borrows what it needs from around it. The future is
    /// `Send` if what it holds is.
    ///
    /// When `body` gives an error, the transaction is aborted and the error is given. Inside a transaction
    /// (when this is a [`Tx`]), `body` becomes a part of that transaction, which alone commits and retries; if
    /// such a part fails, the whole can only be aborted.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # use odm::bson::doc;
    /// # let db = odm::Db::open("memory:").await?;
    /// # let books = db.raw_collection("books");
    /// # books.insert_many([doc! {"_id": 1, "available": 1}, doc! {"_id": 2, "available": 0}]).await?;
    /// db.transaction(async |tx| {
    ///     let books = tx.raw_collection("books");
    ///     books.update_one(doc! {"_id": 1}, doc! {"$inc": {"available": -1}}).await?;
    ///     books.update_one(doc! {"_id": 2}, doc! {"$inc": {"available": 1}}).await?;
    ///     Ok(())
    /// })
    /// .await?;
    /// assert_eq!(books.find(doc! {"available": 1}).await?, [doc! {"_id": 2, "available": 1}]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Cancel safety: dropping the future aborts the transaction, unless its commit was under way. Two round
    /// trips at the most beyond those of `body`.
    ///
    /// # Errors
    /// Those of `body` and of the commit; `Unsupported` when the backend has no transactions.
    pub async fn transaction<T, F, Fut>(&self, body: F) -> Result<T>
    where
        F: FnMut(Tx) -> Fut,
        Fut: Future<Output = Result<T>>,
    {
        transaction::run(self, TransactionOptions::default(), body).await
    }

    /// As [`transaction`](Db::transaction), with options and any type of error.
    ///
    /// # Errors
    /// As [`transaction`](Db::transaction).
    pub async fn transaction_with<T, E, F, Fut>(&self, options: TransactionOptions, body: F) -> Result<T, E>
    where
        F: FnMut(Tx) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        E: From<Error>,
    {
        transaction::run(self, options, body).await
    }

    /// Starts a transaction to be committed by hand. Prefer [`transaction`](Db::transaction), which retries.
    ///
    /// # Errors
    /// `Unsupported` when the backend has no transactions, `InvalidArgument` inside a transaction.
    pub async fn begin(&self) -> Result<Tx> {
        self.begin_with(TransactionOptions::default()).await
    }

    /// As [`begin`](Db::begin), with options.
    ///
    /// # Errors
    /// As [`begin`](Db::begin).
    pub async fn begin_with(&self, options: TransactionOptions) -> Result<Tx> {
        if self.executor.guard.is_some() {
            let text = "a transaction cannot be started inside a transaction";
            let error = Error::new(crate::error::ErrorKind::InvalidArgument, text);
            return Err(self.explain(error, "startTransaction"));
        }
        let begun = self.executor.backend.begin(options).await;
        let transaction = begun.map_err(|error| self.explain(error, "startTransaction"))?;
        let guard = Arc::new(Guard::new(transaction.clone(), self.clone()));
        let executor = Executor {
            backend: transaction,
            guard: Some(guard.clone()),
            clock: self.executor.clock.clone(),
        };
        Ok(Tx::new(
            Db {
                executor,
                name: self.name.clone(),
            },
            guard,
        ))
    }

    /// The same database with a log of every round trip, for tests that count them.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # use odm::bson::doc;
    /// # let db = odm::Db::open("memory:").await?;
    /// let (db, log) = db.logged();
    /// db.raw_collection("books").find(doc! {}).await?;
    /// assert_eq!(log.count("find"), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn logged(&self) -> (Db, Log) {
        let log = Log::default();
        let backend = Arc::new(Logged::new(self.executor.backend.clone(), log.clone()));
        (self.wrapped(backend), log)
    }

    /// The same database with a budget of round trips: operations beyond it fail with an error of kind
    /// [`Budget`](crate::ErrorKind::Budget) that names those before, and are not sent. For tests of how often code asks,
    /// and for scopes that must stay cheap.
    ///
    /// Each operation is one, and so is each batch of a cursor after its first; whether the backend needed one more to
    /// learn that there is no further batch is not seen here. The commit of a transaction is one. The budget is shared
    /// by clones and by what is made of this database, transactions included, and is its own: calling it again begins
    /// anew, inside of the first budget.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # use odm::{ErrorKind, bson::doc};
    /// # let db = odm::Db::open("memory:").await?;
    /// let cheap = db.budget(2);
    /// let books = cheap.raw_collection("books");
    /// books.insert(doc! {"_id": 1}).await?;
    /// books.find(doc! {}).await?;
    /// let error = books.find(doc! {}).await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Budget);
    /// assert!(error.message().ends_with("after insert main.books, find main.books"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn budget(&self, round_trips: usize) -> Db {
        let log = Log::with_budget(round_trips);
        self.wrapped(Arc::new(Logged::new(self.executor.backend.clone(), log)))
    }

    /// The same database with failures on demand, for tests of what happens then.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # use odm::{backend::wrap::Fault, bson::doc};
    /// # let db = odm::Db::open("memory:").await?;
    /// let (db, faults) = db.faulty();
    /// faults.add(Fault::nth_write(2).crash());
    /// let books = db.raw_collection("books");
    /// assert!(books.insert(doc! {"_id": 1}).await.is_ok());
    /// assert!(books.insert(doc! {"_id": 2}).await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn faulty(&self) -> (Db, Faults) {
        let faults = Faults::default();
        let backend = Arc::new(Faulty::new(self.executor.backend.clone(), faults.clone()));
        (self.wrapped(backend), faults)
    }

    fn wrapped(&self, backend: Arc<dyn Backend>) -> Db {
        Db {
            executor: Executor {
                backend,
                guard: self.executor.guard.clone(),
                clock: self.executor.clock.clone(),
            },
            name: self.name.clone(),
        }
    }

    /// The same database with another clock, which the dates of creation and change, and of soft deletion, are taken
    /// from.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// use odm::{Db, bson::DateTime};
    ///
    /// let db = Db::open("memory:").await?.with_clock(|| DateTime::from_millis(0));
    /// assert_eq!(db.now(), DateTime::from_millis(0));
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_clock(&self, clock: impl Fn() -> DateTime + Send + Sync + 'static) -> Db {
        let mut executor = self.executor.clone();
        executor.clock = Some(Arc::new(clock));
        Db {
            executor,
            name: self.name.clone(),
        }
    }

    /// What time it is: by the system, unless [`with_clock`](Db::with_clock) says otherwise.
    pub fn now(&self) -> DateTime {
        self.executor.now()
    }

    /// Runs an action once what was written so far is there for good: when the transaction is committed; at once,
    /// before this is ready, outside of one. When a transaction is run again, what its earlier runs asked for is
    /// forgotten. Actions run in their order, after the commit and before the transaction's own future is ready.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # let db = odm::Db::open("memory:").await?;
    /// db.transaction(async |tx| {
    ///     tx.raw_collection("orders").insert(odm::bson::doc! {"_id": 1}).await?;
    ///     tx.after_commit(async || println!("ordered")).await;
    ///     Ok(())
    /// })
    /// .await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Not run when the process ends before.
    pub async fn after_commit<F>(&self, action: impl FnOnce() -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        match &self.executor.guard {
            Some(guard) => guard.after_commit(Box::pin(action())),
            None => action().await,
        }
    }

    /// Runs an action if the transaction is rolled back in the end: it is aborted, fails, or cannot be committed.
    /// Never outside of a transaction, where nothing is rolled back, and not when a transaction is only dropped.
    pub fn after_rollback<F>(&self, action: impl FnOnce() -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if let Some(guard) = &self.executor.guard {
            guard.after_rollback(Box::pin(action()));
        }
    }

    pub(crate) fn of(executor: Executor, name: &str) -> Db {
        Db {
            executor,
            name: name.into(),
        }
    }

    /// The database outside of the transaction.
    pub(crate) fn outer(&self) -> Db {
        match &self.executor.guard {
            Some(guard) => {
                let mut outer = guard.outer().clone();
                outer.name = self.name.clone();
                outer
            }
            None => self.clone(),
        }
    }

    pub(crate) fn executor(&self) -> &Executor {
        &self.executor
    }

    pub(crate) fn guard(&self) -> Option<&Arc<Guard>> {
        self.executor.guard.as_ref()
    }

    pub(crate) async fn execute(&self, operation: Operation) -> Result<Answer> {
        let name = operation.name();
        self.executor
            .execute(operation)
            .await
            .map_err(|error| self.explain(error, name))
    }

    fn explain(&self, error: Error, operation: &'static str) -> Error {
        error.within(self.backend_name(), operation, None, || {
            Some(self.name.to_string())
        })
    }
}

impl fmt::Debug for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Db")
            .field("backend", &self.backend_name())
            .field("name", &self.name)
            .finish()
    }
}
