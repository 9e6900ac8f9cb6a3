//! An upload that has begun.

use odm::bson::oid::ObjectId;
use odm::bson::spec::BinarySubtype;
use odm::bson::{Binary, Bson, Document, doc, serialize_to_document};
use odm::{Error, ErrorKind};

use super::bucket::batch;
use super::checksum::Checksum;
use super::discard::Discard;
use super::stored::Chunk;
use super::{Bucket, GridFsError, StoredFile};

/// A file that is being stored. There is no such file before [`finish`](Uploading::finish); dropped without it, its
/// chunks are left for [`resume`](super::Upload::resume) or [`scrub`](Bucket::scrub).
///
/// An operation that failed, or was dropped before its end, may have stored a part: no further one is taken.
#[derive(Debug)]
#[must_use = "there is no file before `finish`"]
pub struct Uploading {
    bucket: Bucket,
    id: Bson,
    filename: String,
    chunk_size: usize,
    metadata: Option<Document>,
    checksum: Checksum,
    /// What is not stored yet: it begins with chunk `next`.
    buffer: Vec<u8>,
    next: i64,
    /// Chunks below may be there already, of an upload that stopped.
    seen: i64,
    /// Somebody else's chunk is where one of these would be.
    taken: bool,
    broken: bool,
}

impl Uploading {
    pub(super) fn new(
        bucket: Bucket,
        id: Bson,
        filename: String,
        chunk_size: u32,
        metadata: Option<Document>,
        checksum: Checksum,
    ) -> Uploading {
        Uploading {
            bucket,
            id,
            filename,
            chunk_size: chunk_size as usize,
            metadata,
            checksum,
            buffer: Vec::new(),
            next: 0,
            seen: 0,
            taken: false,
            broken: false,
        }
    }

    pub(super) fn bucket(&self) -> &Bucket {
        &self.bucket
    }

    /// The file's id.
    pub fn id(&self) -> &Bson {
        &self.id
    }

    /// How many bytes were taken so far: where in the source the next ones are.
    pub fn position(&self) -> u64 {
        self.next.unsigned_abs() * self.chunk_size as u64 + self.buffer.len() as u64
    }

    /// Takes more of the content. A round trip for each 4 MiB.
    ///
    /// # Errors
    /// [`Taken`](GridFsError::Taken) if somebody else stores a file by this id; the database's.
    pub async fn write(&mut self, mut bytes: &[u8]) -> Result<(), GridFsError> {
        self.check()?;
        let full = batch(self.chunk_size as u64) as usize * self.chunk_size;
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(full - self.buffer.len()));
            self.checksum.update(now);
            self.buffer.extend_from_slice(now);
            bytes = later;
            if self.buffer.len() == full {
                self.store(full).await?;
            }
        }
        Ok(())
    }

    /// Stores the whole chunks of what was taken so far, so that an upload that stops here goes on behind them. One
    /// round trip, none if there are none.
    ///
    /// # Errors
    /// As [`write`](Uploading::write).
    pub async fn flush(&mut self) -> Result<(), GridFsError> {
        self.check()?;
        self.store(self.buffer.len() / self.chunk_size * self.chunk_size)
            .await
    }

    /// Stores the rest and the file's document: now the file is there. Two round trips, and one to see that nobody
    /// deleted chunks of it meanwhile; three more where chunks of a longer upload that stopped are in the way.
    ///
    /// # Errors
    /// As [`write`](Uploading::write); [`Discarded`](GridFsError::Discarded) where chunks of it are there no longer, and
    /// then there is no file.
    pub async fn finish(mut self) -> Result<StoredFile, GridFsError> {
        self.check()?;
        let length = self.position();
        self.store(self.buffer.len()).await?;
        let file = StoredFile {
            id: self.id,
            length: i64::try_from(length).unwrap_or(i64::MAX),
            chunk_size: self.chunk_size as i32,
            upload_date: self.bucket.db().now(),
            filename: Some(self.filename),
            sha256: self.checksum.finish(),
            md5: None,
            metadata: self.metadata,
            content_type: None,
            aliases: None,
            discarding: None,
        };
        match self.seen > self.next {
            true => replace_surplus(&self.bucket, &file, self.next).await?,
            false => insert(&self.bucket, &file).await?,
        }
        if self.next > 0 {
            check_whole(&self.bucket, &file, self.next).await?;
        }
        Ok(file)
    }

    /// Deletes what was stored. Two round trips, and two for each hundred chunks.
    ///
    /// # Errors
    /// [`Taken`](GridFsError::Taken) if somebody else finished the file, or an operation said that somebody else is
    /// storing it; the database's.
    pub async fn abort(self) -> Result<(), GridFsError> {
        let discard = Discard::new(&self.bucket);
        if self.taken || !discard.hold(&self.id).await? {
            return Err(GridFsError::Taken { id: self.id });
        }
        discard.finish(&[self.id]).await?;
        Ok(())
    }

    fn check(&self) -> Result<(), GridFsError> {
        if !self.broken {
            return Ok(());
        }
        let error = Error::new(
            ErrorKind::InvalidArgument,
            "the upload failed before: resume it".to_owned(),
        );
        Err(error.with_id(self.id.clone()).into())
    }

    /// Stores the first bytes of the buffer: whole chunks, and a last one that need not be.
    async fn store(&mut self, count: usize) -> Result<(), GridFsError> {
        if count == 0 {
            return Ok(());
        }
        // Stays so if the future is dropped or fails.
        self.broken = true;
        let rest = self.buffer.split_off(count);
        let bytes = std::mem::replace(&mut self.buffer, rest);
        let mut fresh = Vec::with_capacity(count.div_ceil(self.chunk_size));
        for part in bytes.chunks(self.chunk_size) {
            let chunk = self.chunk(part)?;
            self.next += 1;
            if i64::from(chunk.n) < self.seen {
                self.overwrite(chunk).await?;
            } else {
                fresh.push(chunk);
            }
        }
        if !fresh.is_empty() {
            match self.bucket.chunks().insert_many(&fresh).await {
                Ok(_) => {}
                Err(error) if error.is_duplicate_key() => {
                    self.taken = true;
                    return Err(GridFsError::Taken { id: self.id.clone() });
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.broken = false;
        Ok(())
    }

    fn chunk(&self, part: &[u8]) -> Result<Chunk, GridFsError> {
        let n = i32::try_from(self.next).map_err(|_| GridFsError::Layout {
            id: self.id.clone(),
            length: i64::try_from(self.position()).unwrap_or(i64::MAX),
            chunk_size: self.chunk_size as i64,
        })?;
        Ok(Chunk {
            id: self.chunk_id(),
            files_id: self.id.clone(),
            n,
            data: Binary {
                subtype: BinarySubtype::Generic,
                bytes: part.to_vec(),
            },
        })
    }

    /// A new id that says when the chunk was written, by the database's clock.
    fn chunk_id(&self) -> ObjectId {
        let seconds = self.bucket.db().now().timestamp_millis() / 1000;
        let mut bytes = ObjectId::new().bytes();
        bytes[..4].copy_from_slice(&u32::try_from(seconds).unwrap_or(0).to_be_bytes());
        ObjectId::from_bytes(bytes)
    }

    /// Puts a chunk in the place of one that may be there from before.
    async fn overwrite(&self, chunk: Chunk) -> Result<(), GridFsError> {
        let (id, n, data, fresh) = (&self.id, chunk.n, &chunk.data, chunk.id);
        let chunks = self.bucket.chunks();
        chunks
            .upsert(
                |c| c.files_id.eq(id) & c.n.eq(n),
                |c| c.data.set(data) & c.id.set_on_insert(fresh),
            )
            .await?;
        Ok(())
    }

    /// Finds out what is stored of an upload that stopped.
    pub(super) async fn catch_up(&mut self) -> Result<(), GridFsError> {
        let id = self.id.clone();
        if self.bucket.files().exists(|f| f.id.eq(&id)).await? {
            return Err(GridFsError::Taken { id });
        }
        let chunks = self.bucket.chunks();
        let last = chunks
            .find(|c| c.files_id.eq(&id))
            .sort(|c| c.n.desc())
            .first()
            .await?;
        self.seen = last.map_or(0, |chunk| i64::from(chunk.n) + 1);
        let mut whole = chunks
            .find(|c| c.files_id.eq(&id))
            .sort(|c| c.n.asc())
            .batch_size(batch(self.chunk_size as u64))
            .stream();
        while let Some(chunk) = whole.try_next().await? {
            if i64::from(chunk.n) != self.next || chunk.data.bytes.len() != self.chunk_size {
                break;
            }
            self.checksum.update(&chunk.data.bytes);
            self.next += 1;
        }
        Ok(())
    }
}

/// Stores the document of a file.
async fn insert(bucket: &Bucket, file: &StoredFile) -> Result<(), GridFsError> {
    match bucket.files().insert(file).await {
        Ok(_) => Ok(()),
        Err(error) if error.is_duplicate_key() => {
            delete_strays(bucket, &file.id).await?;
            Err(GridFsError::Taken { id: file.id.clone() })
        }
        Err(error) => Err(error.into()),
    }
}

/// Deletes the chunks that have an empty file's id: it has none that could have been in the way of an upload's.
async fn delete_strays(bucket: &Bucket, id: &Bson) -> Result<(), GridFsError> {
    let chunks = bucket.chunks().raw();
    let strays = chunks
        .find(doc! { "files_id": { "$eq": id } })
        .project_raw(doc! { "_id": 1 })
        .await?;
    let strays: Vec<_> = strays.iter().filter_map(|chunk| chunk.get("_id")).collect();
    let files = bucket.files();
    // They were read before: an id that is free again has none of them.
    if files
        .exists(|f| f.id.eq(id) & f.length.eq(0) & f.discarding.missing())
        .await?
    {
        chunks.delete_many(doc! { "_id": { "$in": strays } }).await?;
    }
    Ok(())
}

/// Stores the document of a file when the chunks behind its last one are gone, which a longer upload left.
async fn replace_surplus(bucket: &Bucket, file: &StoredFile, count: i64) -> Result<(), GridFsError> {
    let discard = Discard::new(bucket);
    if !discard.hold_free(&file.id).await? {
        return Err(GridFsError::Taken { id: file.id.clone() });
    }
    discard.delete_behind(&file.id, count).await?;
    let document = serialize_to_document(file).map_err(|error| {
        Error::new(ErrorKind::Encode, "the file's document does not fit BSON").with_source(error)
    })?;
    let files = bucket.files().raw();
    match files
        .replace_one(discard.document_of(&file.id), &document)
        .await?
        .matched
    {
        0 => Err(GridFsError::Discarded { id: file.id.clone() }),
        _ => Ok(()),
    }
}

/// Takes back the document of a file that has not all of its chunks.
async fn check_whole(bucket: &Bucket, file: &StoredFile, count: i64) -> Result<(), GridFsError> {
    let chunks = bucket.chunks();
    let last = i32::try_from(count - 1).unwrap_or(i32::MAX);
    let there = chunks
        .count(|c| c.files_id.eq(&file.id) & c.n.gte(0) & c.n.lte(last))
        .await?;
    if there == count.unsigned_abs() {
        return Ok(());
    }
    let own = bucket.files();
    own.delete_many(|f| f.id.eq(&file.id) & f.upload_date.eq(file.upload_date) & f.length.eq(file.length))
        .await?;
    Err(GridFsError::Discarded { id: file.id.clone() })
}
