//! Comparing files with their chunks.

use std::collections::HashMap;
use std::future::IntoFuture;
use std::pin::Pin;

use odm::bson::{Bson, DateTime, Document, RawBson, deserialize_from_document, doc, rawdoc};
use odm::{Error, ErrorKind};

use super::layout::Layout;
use super::{Bucket, GridFsError, StoredFile};
use crate::keyed;

/// How many files are compared at once.
const FILES: usize = 500;

/// Compares all files of a bucket with their chunks: `.await` gives the problems, none if all is well. Changes nothing.
/// Two round trips for each 500 files, one more for each that is damaged, and one to find chunks without a file; only
/// sizes go over the wire.
///
/// ```
/// # use odm::{Db, bson::doc};
/// use odm_patterns::gridfs::{Bucket, FileProblemKind};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let db = Db::open("memory:").await?;
/// let bucket = Bucket::new(&db);
/// let file = bucket.upload("a").bytes(b"content").await?;
/// assert!(bucket.verify().contents().await?.is_empty());
///
/// db.raw_collection("fs.chunks").delete_many(doc! {}).await?;
/// let problems = bucket.verify().await?;
/// assert_eq!((&problems[0].id, &problems[0].kind), (&file.id, &FileProblemKind::MissingChunk { n: 0 }));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is compared before `.await`"]
pub struct Verify {
    bucket: Bucket,
    contents: bool,
}

/// Something that is wrong with a file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FileProblem {
    /// The file's id.
    pub id: Bson,
    /// What.
    pub kind: FileProblemKind,
}

/// What can be wrong with a file. Nothing of it can be mended from what is stored: a damaged file is deleted or uploaded
/// anew, chunks without a file are [scrubbed](Bucket::scrub) or an upload [goes on](super::Upload::resume) with them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FileProblemKind {
    /// The length or the size of a chunk in its document cannot be.
    Layout {
        /// The length.
        length: i64,
        /// The size of a chunk.
        chunk_size: i64,
    },
    /// The file's document is not one of a file.
    Unreadable {
        /// What is wrong with it.
        why: String,
    },
    /// A chunk is not there.
    MissingChunk {
        /// Its number, from 0.
        n: i64,
    },
    /// There is a chunk that the file's length has no place for.
    ExtraChunk {
        /// Its number.
        n: i64,
    },
    /// A chunk has another size than it must have.
    WrongSize {
        /// Its number, from 0.
        n: i64,
        /// How many bytes it must have.
        expected: i64,
        /// How many it has.
        found: i64,
    },
    /// The content is not that of the stored checksum.
    Checksum {
        /// The stored one.
        expected: String,
        /// The content's.
        found: String,
    },
    /// There are chunks and no file: of an upload that goes on, or one that stopped; or they are being deleted, or that
    /// stopped.
    Orphan {
        /// How many.
        chunks: u64,
        /// When the last of them was written, or began to be deleted.
        newest: DateTime,
    },
}

/// What a [scrub](Bucket::scrub) deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scrub {
    /// How many uploads that stopped.
    pub uploads: u64,
    /// How many chunks they had.
    pub chunks: u64,
}

impl Verify {
    pub(super) fn new(bucket: &Bucket) -> Verify {
        Verify {
            bucket: bucket.clone(),
            contents: false,
        }
    }

    /// Reads all contents too, and compares them with the checksums.
    pub fn contents(mut self) -> Verify {
        self.contents = true;
        self
    }

    async fn run(self) -> Result<Vec<FileProblem>, GridFsError> {
        let mut problems = Vec::new();
        let mut files = self.bucket.files().raw().find(doc! {}).stream();
        loop {
            let mut some = Vec::with_capacity(FILES);
            while some.len() < FILES {
                match files.try_next().await? {
                    Some(file) => some.extend(read(file, &mut problems)),
                    None => break,
                }
            }
            if some.is_empty() {
                break;
            }
            self.compare(&some, &mut problems).await?;
        }
        for orphan in orphans(&self.bucket).await? {
            problems.push(FileProblem {
                id: orphan.files_id,
                kind: FileProblemKind::Orphan {
                    chunks: orphan.chunks,
                    newest: orphan.newest,
                },
            });
        }
        Ok(problems)
    }

    async fn compare(
        &self,
        files: &[StoredFile],
        problems: &mut Vec<FileProblem>,
    ) -> Result<(), GridFsError> {
        let ids: Vec<Bson> = files.iter().map(|file| file.id.clone()).collect();
        let sums = self.bucket.chunks().aggregate_raw([
            doc! { "$match": { "files_id": { "$in": ids } } },
            doc! { "$project": { "files_id": 1, "n": 1, "size": { "$binarySize": "$data" } } },
            doc! { "$group": {
                "_id": "$files_id",
                "count": { "$sum": 1 },
                "last": { "$max": "$n" },
                "largest": { "$max": "$size" },
                "bytes": { "$sum": { "$toLong": "$size" } },
                "weight": { "$sum": { "$multiply": [{ "$toLong": "$n" }, "$size"] } },
            } },
        ]);
        let sums: HashMap<Vec<u8>, Document> = sums
            .await?
            .into_iter()
            .map(|sums| Ok((key(sums.get("_id").unwrap_or(&Bson::Null))?, sums)))
            .collect::<Result<_, GridFsError>>()?;
        for file in files {
            if file.discarding.is_some() {
                let chunks = sums.get(&key(&file.id)?).map_or(0, |sums| integer(sums, "count"));
                problems.push(FileProblem {
                    id: file.id.clone(),
                    kind: FileProblemKind::Orphan {
                        chunks: chunks.unsigned_abs(),
                        newest: file.upload_date,
                    },
                });
                continue;
            }
            let layout = match Layout::of(file) {
                Ok(layout) => layout,
                Err(error) => {
                    problems.extend(problem(&error));
                    continue;
                }
            };
            if !agrees(layout, sums.get(&key(&file.id)?)) {
                self.look_closer(file, layout, problems).await?;
            } else if self.contents {
                match self.read(file).await {
                    Ok(()) => {}
                    Err(error) => match problem(&error) {
                        Some(problem) => problems.push(problem),
                        // Deleted meanwhile.
                        None if error.is_not_found() => {}
                        None => return Err(error),
                    },
                }
            }
        }
        Ok(())
    }

    /// What exactly is wrong with a file's chunks.
    async fn look_closer(
        &self,
        file: &StoredFile,
        layout: Layout,
        problems: &mut Vec<FileProblem>,
    ) -> Result<(), GridFsError> {
        let mut sizes = self
            .bucket
            .chunks()
            .aggregate_raw([
                doc! { "$match": { "files_id": { "$eq": &file.id } } },
                doc! { "$sort": { "files_id": 1, "n": 1 } },
                doc! { "$project": { "n": 1, "size": { "$binarySize": "$data" } } },
            ])
            .stream();
        let mut say = |kind| {
            problems.push(FileProblem {
                id: file.id.clone(),
                kind,
            })
        };
        let mut next = 0;
        while let Some(chunk) = sizes.try_next().await? {
            let (n, found) = (integer(&chunk, "n"), integer(&chunk, "size"));
            let Some(number) = u64::try_from(n)
                .ok()
                .filter(|n| *n >= next && *n < layout.count())
            else {
                // A chunk without bytes of a file without bytes: old drivers wrote it, and all pass it over.
                if !(layout.length() == 0 && found == 0 && n == 0) {
                    say(FileProblemKind::ExtraChunk { n });
                }
                continue;
            };
            for n in next..number {
                say(FileProblemKind::MissingChunk { n: n as i64 });
            }
            next = number + 1;
            let expected = layout.size_of(number) as i64;
            if found != expected {
                say(FileProblemKind::WrongSize { n, expected, found });
            }
        }
        for n in next..layout.count() {
            say(FileProblemKind::MissingChunk { n: n as i64 });
        }
        Ok(())
    }

    async fn read(&self, file: &StoredFile) -> Result<(), GridFsError> {
        let mut reading = self.bucket.download(file.id.clone()).open().await?;
        while reading.next().await?.is_some() {}
        Ok(())
    }
}

impl IntoFuture for Verify {
    type Output = Result<Vec<FileProblem>, GridFsError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// The file that a document is of; one that is of none is a problem.
fn read(document: Document, problems: &mut Vec<FileProblem>) -> Option<StoredFile> {
    let id = document.get("_id").cloned().unwrap_or(Bson::Null);
    match deserialize_from_document(document) {
        Ok(file) => Some(file),
        Err(error) => {
            let why = error.to_string();
            problems.push(FileProblem {
                id,
                kind: FileProblemKind::Unreadable { why },
            });
            None
        }
    }
}

/// Chunks that belong to no file.
pub(super) struct Orphan {
    pub files_id: Bson,
    pub chunks: u64,
    pub newest: DateTime,
}

pub(super) async fn orphans(bucket: &Bucket) -> Result<Vec<Orphan>, GridFsError> {
    let files = bucket.files();
    let found = bucket.chunks().aggregate_raw([
        doc! { "$group": { "_id": "$files_id", "chunks": { "$sum": 1 }, "newest": { "$max": "$_id" } } },
        doc! { "$lookup": { "from": files.name(), "localField": "_id", "foreignField": "_id", "as": "file" } },
        doc! { "$match": { "file": [] } },
    ]);
    let found = found.naming(&files).allow_disk_use().await?;
    let orphans = found.into_iter().map(|mut orphan| Orphan {
        chunks: integer(&orphan, "chunks").unsigned_abs(),
        newest: match orphan.get("newest") {
            Some(Bson::ObjectId(id)) => id.timestamp(),
            // Chunks of others may have any id: their age is not known.
            _ => DateTime::from_millis(0),
        },
        files_id: orphan.remove("_id").unwrap_or(Bson::Null),
    });
    Ok(orphans.collect())
}

fn agrees(layout: Layout, sums: Option<&Document>) -> bool {
    let Some(sums) = sums else {
        return layout.count() == 0;
    };
    let is = |name: &str, expected: u64| integer(sums, name) == expected as i64;
    if layout.count() == 0 {
        return is("bytes", 0) && is("count", 1) && is("last", 0);
    }
    is("count", layout.count())
        && is("last", layout.count() - 1)
        && is("bytes", layout.length())
        && is("largest", layout.size_of(0))
        && i128::from(integer(sums, "weight")) == layout.weight() as i128
}

fn integer(document: &Document, name: &str) -> i64 {
    document.get(name).and_then(keyed::integer).unwrap_or(-1)
}

/// A value as bytes, to be looked up by.
fn key(id: &Bson) -> Result<Vec<u8>, GridFsError> {
    let raw = RawBson::try_from(id.clone())
        .map_err(|error| Error::new(ErrorKind::Encode, "the id does not fit BSON").with_source(error))?;
    Ok(rawdoc! { "": raw }.into_bytes())
}

/// The same as a problem, if it is one of the file.
fn problem(error: &GridFsError) -> Option<FileProblem> {
    let (id, kind) = match error {
        GridFsError::MissingChunk { id, n } => (id, FileProblemKind::MissingChunk { n: *n }),
        GridFsError::ExtraChunk { id, n } => (id, FileProblemKind::ExtraChunk { n: *n }),
        GridFsError::WrongSize {
            id,
            n,
            expected,
            found,
        } => (
            id,
            FileProblemKind::WrongSize {
                n: *n,
                expected: *expected,
                found: *found,
            },
        ),
        GridFsError::Checksum { id, expected, found } => (
            id,
            FileProblemKind::Checksum {
                expected: expected.clone(),
                found: found.clone(),
            },
        ),
        GridFsError::Layout {
            id,
            length,
            chunk_size,
        } => (
            id,
            FileProblemKind::Layout {
                length: *length,
                chunk_size: *chunk_size,
            },
        ),
        _ => return None,
    };
    Some(FileProblem { id: id.clone(), kind })
}
