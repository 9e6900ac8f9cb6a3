//! Reading a file.

use std::ops::{Bound, Range, RangeBounds};

use futures_util::io::{AsyncWrite, AsyncWriteExt as _};
use futures_util::stream::{Stream, try_unfold};
use odm::Cursor;
use odm::bson::Bson;

use super::bucket::batch;
use super::checksum::Checksum;
use super::layout::Layout;
use super::stored::Chunk;
use super::{Bucket, GridFsError, StoredFile};

#[derive(Clone, Debug)]
pub(super) enum Which {
    Id(Bson),
    /// The name and the revision.
    Name(String, i32),
}

/// A file that is to be read. Ends with [`bytes`](Download::bytes), [`to`](Download::to), [`open`](Download::open) or
/// [`file`](Download::file).
#[derive(Clone, Debug)]
#[must_use = "nothing is read before `bytes`, `to`, `open` or `file`"]
pub struct Download {
    bucket: Bucket,
    which: Which,
    range: (Bound<u64>, Bound<u64>),
    checked: bool,
}

impl Download {
    pub(super) fn new(bucket: &Bucket, which: Which) -> Download {
        Download {
            bucket: bucket.clone(),
            which,
            range: (Bound::Unbounded, Bound::Unbounded),
            checked: true,
        }
    }

    /// Which of the files of one name: 0 is the oldest, 1 the next, -1 the newest, -2 the one before. Of a download by id
    /// there is but one.
    pub fn revision(mut self, revision: i32) -> Download {
        if let Which::Name(_, which) = &mut self.which {
            *which = revision;
        }
        self
    }

    /// Only these bytes, from 0: `..100`, `100..`, `10..=20`. Only the chunks that hold them are read.
    pub fn range(mut self, range: impl RangeBounds<u64>) -> Download {
        self.range = (range.start_bound().cloned(), range.end_bound().cloned());
        self
    }

    /// Does not compare the content with the stored checksum. Ranges never are.
    pub fn unchecked(mut self) -> Download {
        self.checked = false;
        self
    }

    /// What is known of the file, without its content. One round trip.
    ///
    /// # Errors
    /// [`NoFile`](GridFsError::NoFile), [`NoRevision`](GridFsError::NoRevision).
    pub async fn file(&self) -> Result<StoredFile, GridFsError> {
        let files = self.bucket.files();
        match &self.which {
            Which::Id(id) => {
                let found = files.find_one(|f| f.id.eq(id) & f.discarding.missing()).await?;
                found.ok_or_else(|| GridFsError::NoFile { id: id.clone() })
            }
            Which::Name(filename, revision) => {
                let found = files.find(|f| f.filename.eq(filename));
                let (found, skip) = match u64::try_from(*revision) {
                    Ok(skip) => (found.sort(|f| f.upload_date.asc() & f.id.asc()), skip),
                    Err(_) => (
                        found.sort(|f| f.upload_date.desc() & f.id.desc()),
                        u64::from(revision.unsigned_abs()) - 1,
                    ),
                };
                let found = found.skip(skip).first().await?;
                found.ok_or_else(|| GridFsError::NoRevision {
                    filename: filename.clone(),
                    revision: *revision,
                })
            }
        }
    }

    /// All of it, or of the range.
    ///
    /// # Errors
    /// Those of [`file`](Download::file) and [`Downloading::next`]; [`Range`](GridFsError::Range).
    pub async fn bytes(self) -> Result<Vec<u8>, GridFsError> {
        let mut reading = self.open().await?;
        let mut bytes = Vec::new();
        while let Some(part) = reading.next().await? {
            bytes.extend_from_slice(&part);
        }
        Ok(bytes)
    }

    /// Writes it to a destination, which is flushed at the end. (Destinations of tokio: `tokio_util::compat`.)
    ///
    /// # Errors
    /// As [`bytes`](Download::bytes), and the destination's. What was written before stays so.
    ///
    /// ```
    /// # use odm::Db;
    /// # use odm_patterns::gridfs::Bucket;
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bucket = Bucket::new(&Db::open("memory:").await?);
    /// let file = bucket.upload("a").bytes(b"content").await?;
    /// let mut destination = Vec::new();
    /// bucket.download(file.id).to(&mut destination).await?;
    /// assert_eq!(destination, b"content");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn to(self, mut destination: impl AsyncWrite + Unpin) -> Result<StoredFile, GridFsError> {
        let mut reading = self.open().await?;
        while let Some(part) = reading.next().await? {
            destination.write_all(&part).await?;
        }
        destination.flush().await?;
        Ok(reading.file)
    }

    /// Begins: parts are asked for one after another.
    ///
    /// # Errors
    /// Those of [`file`](Download::file); [`Range`](GridFsError::Range); [`Layout`](GridFsError::Layout).
    pub async fn open(self) -> Result<Downloading, GridFsError> {
        let file = self.file().await?;
        let layout = Layout::of(&file)?;
        let range = within(&self.range, layout.length())?;
        let whole = range == (0..layout.length());
        let numbers = layout.chunks(&range);
        let chunks = (!numbers.is_empty()).then(|| {
            let first = i32::try_from(numbers.start).unwrap_or(i32::MAX);
            let to_the_end = numbers.end == layout.count();
            // One more, to see that there is none.
            let count = numbers.end - numbers.start + u64::from(to_the_end);
            let chunks = self.bucket.chunks();
            chunks
                .find(|c| c.files_id.eq(&file.id) & c.n.gte(first))
                .sort(|c| c.n.asc())
                .limit(count)
                .batch_size(batch(layout.chunk_size()))
                .stream()
        });
        let checksum = if whole && self.checked {
            Checksum::of(&file)
        } else {
            Checksum::None
        };
        Ok(Downloading {
            file,
            layout,
            range,
            numbers,
            chunks,
            ready: None,
            checksum,
        })
    }
}

fn within(range: &(Bound<u64>, Bound<u64>), length: u64) -> Result<Range<u64>, GridFsError> {
    let start = match range.0 {
        Bound::Included(at) => at,
        Bound::Excluded(at) => at.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.1 {
        Bound::Included(at) => at.saturating_add(1),
        Bound::Excluded(at) => at,
        Bound::Unbounded => length,
    };
    if start <= end && end <= length {
        return Ok(start..end);
    }
    Err(GridFsError::Range {
        range: start..end,
        length,
    })
}

/// A file that is being read.
#[derive(Debug)]
pub struct Downloading {
    file: StoredFile,
    layout: Layout,
    /// What was asked for, and is not given yet.
    range: Range<u64>,
    /// The chunks that hold it.
    numbers: Range<u64>,
    chunks: Option<Cursor<Chunk>>,
    /// One that is read: the last, until it is seen that none comes behind it.
    ready: Option<Chunk>,
    checksum: Checksum,
}

impl Downloading {
    /// What is known of the file.
    pub fn file(&self) -> &StoredFile {
        &self.file
    }

    /// The next part, at most one chunk; `None` at the end, and ever after. A round trip for each 4 MiB.
    ///
    /// Cancel safety: no part is lost when the future is dropped; the next call gives it.
    ///
    /// # Errors
    /// Where the file is damaged: [`MissingChunk`](GridFsError::MissingChunk), [`WrongSize`](GridFsError::WrongSize),
    /// [`ExtraChunk`](GridFsError::ExtraChunk), and at the end [`Checksum`](GridFsError::Checksum). After an error there
    /// is nothing more.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, GridFsError> {
        let part = self.part().await;
        if part.is_err() {
            (self.chunks, self.ready, self.checksum) = (None, None, Checksum::None);
        }
        part
    }

    /// All that is read stays in its place over an `.await`.
    async fn part(&mut self) -> Result<Option<Vec<u8>>, GridFsError> {
        let Some(chunks) = self.chunks.as_mut() else {
            return std::mem::replace(&mut self.checksum, Checksum::None)
                .check(&self.file)
                .map(|()| None);
        };
        let n = self.numbers.start;
        if self.ready.is_none() {
            self.ready = Some(expected(chunks, &self.file.id, self.layout, n).await?);
        }
        if n + 1 == self.layout.count()
            && let Some(extra) = chunks.try_next().await?
        {
            return Err(GridFsError::ExtraChunk {
                id: self.file.id.clone(),
                n: extra.n.into(),
            });
        }
        let mut bytes = self.ready.take().map_or_else(Vec::new, |chunk| chunk.data.bytes);
        self.checksum.update(&bytes);
        self.numbers.start += 1;
        if self.numbers.is_empty() {
            self.chunks = None;
        }
        let first = n * self.layout.chunk_size();
        let last = (self.range.end - first).min(bytes.len() as u64) as usize;
        bytes.truncate(last);
        bytes.drain(..(self.range.start - first) as usize);
        self.range.start += bytes.len() as u64;
        Ok(Some(bytes))
    }

    /// The parts as a stream.
    pub fn into_stream(self) -> impl Stream<Item = Result<Vec<u8>, GridFsError>> + Send {
        try_unfold(self, async |mut reading| {
            let part = reading.next().await?;
            Ok(part.map(|part| (part, reading)))
        })
    }
}

/// The next chunk, which must have this number, and the size that belongs to it.
async fn expected(
    chunks: &mut Cursor<Chunk>,
    id: &Bson,
    layout: Layout,
    number: u64,
) -> Result<Chunk, GridFsError> {
    let (id, n) = (id.clone(), number as i64);
    let chunk = match chunks.try_next().await? {
        Some(chunk) if i64::from(chunk.n) == n => chunk,
        Some(chunk) if i64::from(chunk.n) < n => {
            let n = chunk.n.into();
            return Err(GridFsError::ExtraChunk { id, n });
        }
        _ => return Err(GridFsError::MissingChunk { id, n }),
    };
    let (found, expected) = (chunk.data.bytes.len() as i64, layout.size_of(number) as i64);
    if found == expected {
        return Ok(chunk);
    }
    Err(GridFsError::WrongSize {
        id,
        n,
        expected,
        found,
    })
}
