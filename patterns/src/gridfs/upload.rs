//! Storing a file: what is to be said before.

use futures_util::io::{AsyncRead, AsyncReadExt as _};
use odm::bson::oid::ObjectId;
use odm::bson::{Bson, Document};
use odm::{Error, ErrorKind};

use super::checksum::Checksum;
use super::discard::is_possible;
use super::uploading::Uploading;
use super::{Bucket, GridFsError, StoredFile};

/// How much is asked of a source at once.
const PART: usize = 64 << 10;

/// A file that is to be stored. Ends with [`bytes`](Upload::bytes), [`from`](Upload::from), [`open`](Upload::open) or
/// [`resume`](Upload::resume).
#[derive(Clone, Debug)]
#[must_use = "nothing is stored before `bytes`, `from`, `open` or `resume`"]
pub struct Upload {
    bucket: Bucket,
    filename: String,
    id: Option<Bson>,
    chunk_size: u32,
    metadata: Option<Document>,
    checksum: bool,
}

impl Upload {
    pub(super) fn new(bucket: &Bucket, filename: String) -> Upload {
        Upload {
            filename,
            id: None,
            chunk_size: bucket.options().chunk_size,
            metadata: None,
            checksum: true,
            bucket: bucket.clone(),
        }
    }

    /// Its id; a new ObjectId unless said otherwise. Anything that an `_id` can be: no array, pattern or undefined, and
    /// nothing with names that begin with `$`, but for a DBRef.
    pub fn id(mut self, id: impl Into<Bson>) -> Upload {
        self.id = Some(id.into());
        self
    }

    /// How many bytes each of its chunks has, but the last.
    pub fn chunk_size(mut self, bytes: u32) -> Upload {
        self.chunk_size = bytes;
        self
    }

    /// What else there is to say of it.
    pub fn metadata(mut self, metadata: Document) -> Upload {
        self.metadata = Some(metadata);
        self
    }

    /// Stores no `sha256`: saves its computation.
    pub fn without_checksum(mut self) -> Upload {
        self.checksum = false;
        self
    }

    /// Stores these bytes.
    ///
    /// # Errors
    /// [`Taken`](GridFsError::Taken) for an id that is in use; the database's, which may leave chunks behind.
    pub async fn bytes(self, bytes: &[u8]) -> Result<StoredFile, GridFsError> {
        let mut uploading = self.open().await?;
        uploading.write(bytes).await?;
        uploading.finish().await
    }

    /// Stores what a source gives until it ends. (Sources of tokio: `tokio_util::compat`.)
    ///
    /// # Errors
    /// As [`bytes`](Upload::bytes); [`Io`](GridFsError::Io) when the source fails, with the chunks so far left behind,
    /// for an upload with an [id](Upload::id) to be [resumed](Upload::resume).
    ///
    /// ```
    /// # use odm::Db;
    /// # use odm_patterns::gridfs::Bucket;
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bucket = Bucket::new(&Db::open("memory:").await?);
    /// let source = futures_util::io::Cursor::new("any source");
    /// assert_eq!(bucket.upload("a").from(source).await?.length, 10);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn from(self, source: impl AsyncRead + Unpin) -> Result<StoredFile, GridFsError> {
        let mut uploading = self.open().await?;
        uploading.copy(source).await?;
        uploading.finish().await
    }

    /// Begins: parts are given one after another.
    ///
    /// # Errors
    /// `InvalidArgument` for an id or a size of chunks that cannot be; the database's when the indexes are made.
    pub async fn open(self) -> Result<Uploading, GridFsError> {
        let uploading = self.begin()?;
        uploading.bucket().prepare().await?;
        Ok(uploading)
    }

    /// Goes on with an upload that stopped, with the same [id](Upload::id): its whole chunks are read again, and
    /// [`position`](Uploading::position) says from where the source is wanted. Both must have the same bytes until there,
    /// and the same size of chunks: otherwise it begins at 0. Without any chunk it begins at 0 too.
    ///
    /// Two who go on with one upload at a time write the same, and one of them finishes.
    ///
    /// # Errors
    /// [`Taken`](GridFsError::Taken) if the file is finished; `InvalidArgument` without an id.
    ///
    /// ```
    /// # use odm::Db;
    /// # use odm_patterns::gridfs::{Bucket, BucketOptions};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let db = Db::open("memory:").await?;
    /// let bucket = Bucket::with(&db, BucketOptions::new().chunk_size(4));
    /// let source = b"a long text";
    /// let mut upload = bucket.upload("text").id(7).open().await?;
    /// upload.write(&source[..9]).await?;
    /// upload.flush().await?;
    /// drop(upload); // or the process ends
    ///
    /// let mut upload = bucket.upload("text").id(7).resume().await?;
    /// assert_eq!(upload.position(), 8);
    /// upload.write(&source[8..]).await?;
    /// upload.finish().await?;
    /// assert_eq!(bucket.download(7).bytes().await?, source);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn resume(self) -> Result<Uploading, GridFsError> {
        if self.id.is_none() {
            return Err(invalid("an upload is resumed by its id"));
        }
        let mut uploading = self.open().await?;
        uploading.catch_up().await?;
        Ok(uploading)
    }

    fn begin(self) -> Result<Uploading, GridFsError> {
        let id = self.id.unwrap_or_else(|| ObjectId::new().into());
        if !is_possible(&id) {
            return Err(invalid(
                "an id is no array, pattern or undefined, and has no names that begin with `$`",
            ));
        }
        let chunk_size = Bucket::possible(self.chunk_size)?;
        let checksum = if self.checksum {
            Checksum::sha256()
        } else {
            Checksum::None
        };
        Ok(Uploading::new(
            self.bucket,
            id,
            self.filename,
            chunk_size,
            self.metadata,
            checksum,
        ))
    }
}

fn invalid(message: &'static str) -> GridFsError {
    Error::new(ErrorKind::InvalidArgument, message)
        .with_path("_id")
        .into()
}

impl Uploading {
    /// Takes what a source gives until it ends; how many bytes that were.
    ///
    /// # Errors
    /// As [`write`](Uploading::write), and the source's.
    pub async fn copy(&mut self, mut source: impl AsyncRead + Unpin) -> Result<u64, GridFsError> {
        let mut part = vec![0; PART];
        let mut count = 0;
        loop {
            match source.read(&mut part).await {
                Ok(0) => return Ok(count),
                Ok(read) => {
                    self.write(&part[..read]).await?;
                    count += read as u64;
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
