//! Measuring, checking, mending and copying what is stored.

use std::path::Path;

use super::Db;
use crate::action::{Backup, Repair};
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
