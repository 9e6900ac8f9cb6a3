//! The same database, watched, limited, hindered, or with a clock of its own.

use std::sync::Arc;

use bson::DateTime;

use super::{Db, Executor};
use crate::backend::Backend;
use crate::backend::wrap::{Faults, Faulty, Log, Logged, Scanning, Scans};

impl Db {
    /// Whether both are handles of one connection or engine.
    pub(crate) fn shares_connection(&self, other: &Db) -> bool {
        let (own, others) = (&self.executor.backend, &other.executor.backend);
        match (own.connection(), others.connection()) {
            (Some(own), Some(other)) => Arc::ptr_eq(&own, &other),
            _ => Arc::ptr_eq(own, others),
        }
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

    /// The same database and a list of the queries that read whole collections because no index bounds their search, for
    /// tests of a program's queries: run them, and the list is to be empty.
    ///
    /// Each query is explained before it is executed: one more round trip for each find, count, distinct, aggregation
    /// (its first `$match` and `$sort`), update and deletion. A query without a filter asks for the whole collection,
    /// and is no scan unless it is sorted in memory. What a `$lookup` reads elsewhere is not seen. Transactions are
    /// looked at, too.
    ///
    /// ```
    /// # use odm::bson::doc;
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize, odm::Model)]
    /// struct Book {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     #[odm(index)]
    ///     title: String,
    ///     year: i32,
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// let (db, scans) = odm::Db::open("memory:").await?.watch_scans();
    /// let books = db.collection::<Book>();
    /// books.create_indexes().await?;
    /// books.find(|b| b.title.eq("Emma")).await?;
    /// assert!(scans.entries().is_empty());
    ///
    /// books.update_many(|b| b.year.lt(1800), |b| b.year.set(1800)).await?;
    /// let scan = &scans.take()[0];
    /// assert_eq!((scan.operation, scan.namespace.collection.as_str()), ("update", "books"));
    /// assert_eq!(scan.suggestion, Some(doc! {"year": 1}));
    /// # Ok(())
    /// # }
    /// ```
    pub fn watch_scans(&self) -> (Db, Scans) {
        let scans = Scans::default();
        let backend = Scanning::new(self.executor.backend.clone(), scans.clone());
        (self.wrapped(Arc::new(backend)), scans)
    }

    /// The same database in which a query that would read a whole collection is an error of kind
    /// [`Unindexed`](crate::ErrorKind::Unindexed) and is not sent; as [`watch_scans`](Db::watch_scans).
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # use odm::{ErrorKind, bson::doc};
    /// # let db = odm::Db::open("memory:").await?;
    /// let books = db.refuse_scans().raw_collection("books");
    /// books.insert(doc! {"_id": 1, "title": "Emma"}).await?;
    /// assert_eq!(books.find(doc! {"_id": 1}).await?.len(), 1);
    /// assert_eq!(books.find(doc! {"title": "Emma"}).await.unwrap_err().kind(), ErrorKind::Unindexed);
    /// # Ok(())
    /// # }
    /// ```
    pub fn refuse_scans(&self) -> Db {
        let backend = Scanning::new(self.executor.backend.clone(), Scans::refused());
        self.wrapped(Arc::new(backend))
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
                tenancy: self.executor.tenancy.clone(),
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
}
