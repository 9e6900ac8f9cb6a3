//! A bucket: the files of one name.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use odm::bson::{Bson, DateTime};
use odm::{Collection, Db, Error, ErrorKind};

use super::discard::{Discard, is_possible};
use super::download::Which;
use super::stored::Chunk;
use super::verify::orphans;
use super::{Download, GridFsError, Scrub, StoredFile, Upload, Verify};

/// How many bytes go over the wire at once, unless one chunk has more.
const BATCH: u64 = 4 << 20;
/// What a chunk may have: a document's limit, with room for the other fields.
const MAX_CHUNK: u32 = (16 << 20) - (16 << 10);

/// What the collections of a bucket are called, and how large its chunks are.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BucketOptions {
    /// The collections are `name.files` and `name.chunks`. `fs` unless said otherwise.
    pub name: String,
    /// How many bytes each chunk of a new file has: 261,120 unless said otherwise, at most 16,760,832.
    pub chunk_size: u32,
}

impl Default for BucketOptions {
    fn default() -> BucketOptions {
        BucketOptions {
            name: "fs".to_owned(),
            chunk_size: 255 * 1024,
        }
    }
}

impl BucketOptions {
    /// Those of the specification.
    pub fn new() -> BucketOptions {
        BucketOptions::default()
    }

    /// Names the bucket.
    pub fn name(mut self, name: impl Into<String>) -> BucketOptions {
        self.name = name.into();
        self
    }

    /// Says how many bytes each chunk of a new file has.
    pub fn chunk_size(mut self, bytes: u32) -> BucketOptions {
        self.chunk_size = bytes;
        self
    }
}

/// Files in two collections. Cheap to clone. See the [module](self::super) for what is promised.
#[derive(Clone, Debug)]
pub struct Bucket {
    db: Db,
    options: Arc<BucketOptions>,
    indexed: Arc<AtomicBool>,
}

impl Bucket {
    /// The bucket `fs`.
    pub fn new(db: &Db) -> Bucket {
        Bucket::with(db, BucketOptions::default())
    }

    /// Another bucket.
    ///
    /// ```
    /// # use odm::Db;
    /// use odm_patterns::gridfs::{Bucket, BucketOptions};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let db = Db::open("memory:").await?;
    /// let covers = Bucket::with(&db, BucketOptions::new().name("covers").chunk_size(1 << 20));
    /// let file = covers.upload("emma.png").bytes(b"\x89PNG").await?;
    /// assert_eq!(file.chunk_size, 1 << 20);
    /// assert_eq!(covers.files().name(), "covers.files");
    /// # Ok(())
    /// # }
    /// ```
    pub fn with(db: &Db, options: BucketOptions) -> Bucket {
        Bucket {
            db: db.clone(),
            options: Arc::new(options),
            indexed: Arc::default(),
        }
    }

    /// The same bucket through another handle of its database: a transaction's, a test's. It stays in its own database,
    /// whichever the handle is of: see [`Db::through`].
    pub fn on(&self, db: &Db) -> Bucket {
        Bucket {
            db: self.db.through(db),
            indexed: Arc::default(),
            ..self.clone()
        }
    }

    /// The documents of the files: to be found, counted, sorted by whatever they say. One with
    /// [`discarding`](StoredFile::discarding) is none: it is being deleted.
    ///
    /// ```
    /// # use odm::{Db, bson::doc};
    /// # use odm_patterns::gridfs::Bucket;
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bucket = Bucket::new(&Db::open("memory:").await?);
    /// bucket.upload("a").metadata(doc! { "by": "ann" }).bytes(b"1").await?;
    /// bucket.upload("b").bytes(b"123").await?;
    /// let large = bucket.files().find(|f| f.length.gt(2)).await?;
    /// assert_eq!(large[0].filename.as_deref(), Some("b"));
    /// assert_eq!(bucket.files().raw().count(doc! { "metadata.by": "ann" }).await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn files(&self) -> Collection<StoredFile> {
        self.db.collection_named(&format!("{}.files", self.options.name))
    }

    pub(super) fn chunks(&self) -> Collection<Chunk> {
        self.db.collection_named(&format!("{}.chunks", self.options.name))
    }

    pub(super) fn db(&self) -> &Db {
        &self.db
    }

    pub(super) fn options(&self) -> &BucketOptions {
        &self.options
    }

    /// Begins to store a file. Nothing is written yet.
    pub fn upload(&self, filename: impl Into<String>) -> Upload {
        Upload::new(self, filename.into())
    }

    /// Begins to read the file with this id. Nothing is read yet.
    pub fn download(&self, id: impl Into<Bson>) -> Download {
        Download::new(self, Which::Id(id.into()))
    }

    /// Begins to read the newest file of this name, or [another revision](Download::revision). Nothing is read yet.
    pub fn download_by_name(&self, filename: impl Into<String>) -> Download {
        Download::new(self, Which::Name(filename.into(), -1))
    }

    /// The files of a name, oldest first. One round trip.
    ///
    /// # Errors
    /// The database's.
    pub async fn revisions(&self, filename: &str) -> Result<Vec<StoredFile>, GridFsError> {
        let files = self.files();
        let found = files
            .find(|f| f.filename.eq(filename))
            .sort(|f| f.upload_date.asc() & f.id.asc());
        Ok(found.await?)
    }

    /// Gives a file another name. One round trip.
    ///
    /// # Errors
    /// [`NoFile`](GridFsError::NoFile).
    pub async fn rename(&self, id: impl Into<Bson>, filename: impl Into<String>) -> Result<(), GridFsError> {
        let (id, filename) = (id.into(), filename.into());
        let files = self.files();
        let updated = files.update_one(
            |f| f.id.eq(&id) & f.discarding.missing(),
            |f| f.filename.set(filename),
        );
        match updated.await?.matched {
            0 => Err(GridFsError::NoFile { id }),
            _ => Ok(()),
        }
    }

    /// Gives all files of a name another one, and says how many. One round trip.
    ///
    /// # Errors
    /// [`NoRevision`](GridFsError::NoRevision) if there is none.
    pub async fn rename_by_name(
        &self,
        filename: impl Into<String>,
        to: impl Into<String>,
    ) -> Result<u64, GridFsError> {
        let (filename, to) = (filename.into(), to.into());
        let files = self.files();
        let updated = files.update_many(|f| f.filename.eq(&filename), |f| f.filename.set(to));
        match updated.await?.matched {
            0 => Err(GridFsError::NoRevision {
                filename,
                revision: 0,
            }),
            count => Ok(count),
        }
    }

    /// Deletes a file and its chunks, and chunks without a file. Two round trips, and two for each hundred chunks. Who
    /// reads the file meanwhile meets a missing chunk.
    ///
    /// # Errors
    /// [`NoFile`](GridFsError::NoFile).
    pub async fn delete(&self, id: impl Into<Bson>) -> Result<(), GridFsError> {
        let held = [id.into()];
        let discard = Discard::new(self);
        if !is_possible(&held[0]) {
            let [id] = held;
            discard.delete_impossible(&id).await?;
            return Err(GridFsError::NoFile { id });
        }
        if self.delete_all(&held).await? == 1 {
            return Ok(());
        }
        if discard.hold(&held[0]).await? {
            discard.finish(&held).await?;
        }
        let [id] = held;
        Err(GridFsError::NoFile { id })
    }

    /// Deletes all files of a name, and says how many. Three round trips, and two for each hundred chunks.
    ///
    /// # Errors
    /// [`NoRevision`](GridFsError::NoRevision) if there is none.
    pub async fn delete_by_name(&self, filename: impl Into<String>) -> Result<u64, GridFsError> {
        let filename = filename.into();
        let revisions = self.revisions(&filename).await?;
        let ids: Vec<Bson> = revisions.into_iter().map(|file| file.id).collect();
        if ids.is_empty() {
            return Err(GridFsError::NoRevision {
                filename,
                revision: 0,
            });
        }
        self.delete_all(&ids).await
    }

    /// Deletes the older files of a name, all but the newest `keep`, and says how many. Three round trips, and two for
    /// each hundred chunks; one if there is nothing to delete.
    ///
    /// # Errors
    /// The database's.
    ///
    /// ```
    /// # use odm::Db;
    /// # use odm_patterns::gridfs::Bucket;
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bucket = Bucket::new(&Db::open("memory:").await?);
    /// for text in ["one", "two", "three"] {
    ///     bucket.upload("notes").bytes(text.as_bytes()).await?;
    /// }
    /// assert_eq!(bucket.prune_revisions("notes", 1).await?, 2);
    /// assert_eq!(bucket.download_by_name("notes").bytes().await?, b"three");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn prune_revisions(&self, filename: &str, keep: usize) -> Result<u64, GridFsError> {
        let revisions = self.revisions(filename).await?;
        let old = revisions.len().saturating_sub(keep);
        let ids: Vec<Bson> = revisions.into_iter().take(old).map(|file| file.id).collect();
        if ids.is_empty() {
            return Ok(0);
        }
        self.delete_all(&ids).await
    }

    /// Deletes files and their chunks; how many files there were.
    async fn delete_all(&self, ids: &[Bson]) -> Result<u64, GridFsError> {
        let discard = Discard::new(self);
        let held = discard.hold_files(ids).await?;
        if !held.is_empty() {
            discard.finish(&held).await?;
        }
        Ok(held.len() as u64)
    }

    /// Drops both collections. Two round trips.
    ///
    /// # Errors
    /// The database's; the second may be left after the first.
    pub async fn drop(&self) -> Result<(), GridFsError> {
        self.files().drop().await?;
        self.chunks().drop().await?;
        self.indexed.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Compares all files with their chunks. Changes nothing.
    pub fn verify(&self) -> Verify {
        Verify::new(self)
    }

    /// Deletes chunks that belong to no file, of uploads that stopped: those whose last chunk was written so long ago by
    /// [`Db::now`]. Choose more than the longest time in which an upload writes nothing and still goes on: such a one says
    /// [`Discarded`](GridFsError::Discarded) at its end. Goes on with what was begun to be deleted so long ago. Two round
    /// trips to find them; three for each such upload, and two for each hundred of its chunks.
    ///
    /// # Errors
    /// The database's; what was deleted before stays so.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use odm::{Db, bson::DateTime};
    /// # use odm_patterns::gridfs::{Bucket, BucketOptions};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let db = Db::open("memory:").await?;
    /// let bucket = Bucket::with(&db, BucketOptions::new().chunk_size(4));
    /// let mut upload = bucket.upload("half").open().await?;
    /// upload.write(b"stored, but not finished").await?;
    /// upload.flush().await?;
    /// drop(upload);
    ///
    /// let tomorrow = DateTime::from_millis(db.now().timestamp_millis() + 86_400_000);
    /// let later = bucket.on(&db.with_clock(move || tomorrow));
    /// assert_eq!(bucket.scrub(Duration::from_secs(3600)).await?.uploads, 0);
    /// assert_eq!(later.scrub(Duration::from_secs(3600)).await?.uploads, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn scrub(&self, older_than: std::time::Duration) -> Result<Scrub, GridFsError> {
        let discard = Discard::new(self);
        let mut scrub = Scrub::default();
        let age = i64::try_from(older_than.as_millis()).unwrap_or(i64::MAX);
        let before = self.db.now().timestamp_millis().saturating_sub(age);
        let mut delete = async |held: &[Bson]| {
            scrub.chunks += discard.finish(held).await?;
            scrub.uploads += held.len() as u64;
            Ok::<(), Error>(())
        };
        let left = discard.take_over(DateTime::from_millis(before)).await?;
        if !left.is_empty() {
            delete(&left).await?;
        }
        let mut impossible = Scrub::default();
        for orphan in orphans(self).await? {
            let held = [orphan.files_id];
            if orphan.newest.timestamp_millis() > before {
                continue;
            }
            if !is_possible(&held[0]) {
                impossible.chunks += discard.delete_impossible(&held[0]).await?;
                impossible.uploads += 1;
                continue;
            }
            if !discard.hold(&held[0]).await? {
                continue;
            }
            // It may go on by now.
            match discard.is_younger(&held[0], before).await? {
                true => discard.release(&held).await?,
                false => delete(&held).await?,
            }
        }
        scrub.chunks += impossible.chunks;
        scrub.uploads += impossible.uploads;
        Ok(scrub)
    }

    /// Makes the bucket's indexes. Uploads do so themselves where the bucket is empty. Two round trips.
    ///
    /// # Errors
    /// The database's, if there are other indexes by these names, or a doubled chunk.
    pub async fn create_indexes(&self) -> Result<(), GridFsError> {
        self.files().create_indexes().await?;
        self.chunks().create_indexes().await?;
        // A transaction may be rolled back.
        if !self.db.in_transaction() {
            self.indexed.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// As the specification has it: before the first upload, and only where there is no file yet.
    pub(super) async fn prepare(&self) -> Result<(), GridFsError> {
        if self.indexed.load(Ordering::Relaxed) || self.db.in_transaction() {
            return Ok(());
        }
        if self.files().exists(|f| f.id.exists()).await? {
            self.indexed.store(true, Ordering::Relaxed);
            return Ok(());
        }
        self.create_indexes().await
    }

    /// A size of chunks that can be stored.
    pub(super) fn possible(chunk_size: u32) -> Result<u32, GridFsError> {
        if (1..=MAX_CHUNK).contains(&chunk_size) {
            return Ok(chunk_size);
        }
        let error = Error::new(
            ErrorKind::InvalidArgument,
            "chunks have 1 to 16,760,832 bytes".to_owned(),
        );
        Err(error.with_path("chunkSize").into())
    }
}

/// How many chunks go over the wire at once.
pub(super) fn batch(chunk_size: u64) -> u32 {
    u32::try_from((BATCH / chunk_size.max(1)).clamp(1, 10_000)).unwrap_or(1)
}
