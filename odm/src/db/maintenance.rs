//! Measuring, checking, mending and copying what is stored.

use std::path::Path;

use super::Db;
use crate::action::{Backup, CopyDatabase, Repair};
use crate::backend::{
    self, CheckReport, CollectionStatistics, CompactReport, DatabaseStatistics, Operation, StoreStatistics,
};
use crate::error::Result;

impl Db {
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

    /// Copies this database to another one, on whatever backend: from `native:` to MongoDB when a program goes into
    /// production, from MongoDB to `memory:` for tests.
    ///
    /// Collections are copied with all their options, indexes and documents, and so are views. Documents go as their bytes
    /// are, in the order in which they are stored, past the validators of the target; an expiry begins when all is copied.
    /// Databases keep to themselves what begins with `system.`; the measurements of time series are copied as
    /// such. The database may have another name, and the target other collections.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # use odm::{Db, bson::doc};
    /// let db = Db::open("memory:").await?;
    /// let books = db.raw_collection("books");
    /// books.insert_many([doc! {"_id": 2, "title": "Emma"}, doc! {"_id": 1, "title": "Persuasion"}]).await?;
    /// books.create_indexes().index_raw(doc! {"key": {"title": 1}, "name": "title_1", "unique": true}).await?;
    ///
    /// let other = Db::open("memory:").await?;
    /// let report = db.copy_to(&other).verify().await?;
    /// let copied = report.collection("books").expect("it is copied");
    /// assert_eq!((copied.documents, copied.indexes, copied.verified), (2, 1, true));
    /// assert_eq!(other.raw_collection("books").find_all().await?, books.find_all().await?);
    ///
    /// // What is there is not copied again.
    /// assert_eq!(db.copy_to(&other).resume().await?.documents(), 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// **What the target has.** A collection with documents is an error that names it, unless
    /// [`resume`](CopyDatabase::resume) or [`drop_target`](CopyDatabase::drop_target) says otherwise. One without
    /// documents is taken, if its options are the same, and keeps the indexes that it has. All of this is looked at, and
    /// the target is asked whether it can have all collections, indexes and views, before anything is written: each is made
    /// for a moment, empty, as `odm.copying`. One copy to a database runs at a time.
    ///
    /// **Writes meanwhile.** The embedded engine is read as one commit left it. MongoDB is not: each collection is read from
    /// its begin to its end while others write, so that a document may be copied as it was before or after a
    /// change, and unique indexes may find two of one key. Stop the writers, or copy from a restored snapshot. Nobody else may write
    /// to the target; what is found of it is an error of kind `Conflict`.
    ///
    /// **After an error or a crash** [`resume`](CopyDatabase::resume) goes on: what is stored is the beginning
    /// of each collection. At the end all is durable: the embedded engine's log is flushed; on MongoDB as the write concern
    /// says.
    ///
    /// Cost: memory for two batches of documents. On the source one round trip, one for each collection's indexes and one
    /// for each batch. On the target one, up to three for each collection as a trial, up to four to create it, count it
    /// and index it, one for each batch. Indexes are built when the documents are there. A document with an empty
    /// timestamp in one of its fields, which an insert would set, is a write of its own. With the embedded engine as
    /// source, the space of what others remove or change cannot be used again until it is done. Cancel safety: dropping the
    /// future leaves what was copied so far.
    ///
    /// Fails with `InvalidArgument` when both are the same database or a collection of the target has documents, `Schema`
    /// for one that has other options or an index of the same name with others, `Conflict` as above, `NotFound` for a
    /// name to copy that is not there, `Unsupported` for a target that is read only and inside a transaction; for what the
    /// target cannot have, as creating it there. All name the collection. On MongoDB, past a validator only those may write who have the
    /// privilege `bypassDocumentValidation`.
    pub fn copy_to(&self, target: &Db) -> CopyDatabase {
        CopyDatabase::new(self, target)
    }

    /// Makes all acknowledged writes durable that are not: those of the embedded engine with
    /// [`Durability::Interval`](crate::Durability::Interval) and [`Durability::None`](crate::Durability::None). It covers
    /// all databases of the engine, and the writes of all clones. One that finds nothing to do costs nothing; writers wait
    /// otherwise, readers do not. On MongoDB there is nothing to do: an acknowledged write is as durable as its write
    /// concern says.
    ///
    /// Cancel safety: when the future is dropped, it goes on in the background.
    ///
    /// # Errors
    /// `Io` and `InDoubt` when the disk does not take them, or failed before: what was not durable may be lost then, and
    /// the engine refuses further writes until it is opened again. `Unsupported` inside a transaction.
    pub async fn flush(&self) -> Result<()> {
        self.execute(backend::Flush.into()).await?.done()
    }

    /// Makes all acknowledged writes durable, as [`flush`](Db::flush), and gives this handle up. The embedded engine's
    /// files are closed when the last clone, collection and cursor is gone, the client of MongoDB likewise.
    ///
    /// A handle that is dropped does the same, but has nobody to tell that the disk is full. With
    /// [`Durability::Immediate`](crate::Durability::Immediate) there is nothing to tell.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// use odm::{Db, Durability, bson::doc};
    ///
    /// # let directory = std::env::temp_dir().join(format!("odm-close-{}", std::process::id()));
    /// # let url = format!("native:{}", directory.display());
    /// let db = Db::options().durability(Durability::None).open(&url).await?;
    /// db.raw_collection("books").insert(doc! {"_id": 1}).await?;
    /// db.close().await?;
    ///
    /// let db = Db::open(&url).await?;
    /// assert_eq!(db.raw_collection("books").count(doc! {}).await?, 1);
    /// # drop(db);
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`flush`](Db::flush).
    pub async fn close(self) -> Result<()> {
        self.flush().await
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
}
