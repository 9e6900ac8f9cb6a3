//! Files in the database, as all MongoDB drivers store them (GridFS): any size, read by range, checked.
//!
//! # The problem
//! A document holds at most 16 MiB, and a file that is one value is read whole for its last line. So a file is cut into
//! chunks, one document each, with one document that says what the file is. Every driver does it the same way; what
//! they leave to the program is done here: an upload goes on where it stopped, damage and left-overs are found, contents
//! carry a checksum.
//!
//! # The stored shape
//! That of the [GridFS specification](https://github.com/mongodb/specifications/blob/master/source/gridfs/gridfs-spec.md),
//! version 1.0, so that files are exchanged with every driver:
//!
//! ```text
//! fs.files   { _id: ObjectId(..), length: 600000, chunkSize: 261120, uploadDate: ISODate(..), filename: "a.pdf",
//!              sha256: "9f86d0..", metadata: {..} }
//! fs.chunks  { _id: ObjectId(..), files_id: ObjectId(..), n: 0, data: BinData(0, ..) }
//! ```
//!
//! `sha256` is ours (64 hexadecimal digits of the content) and can be [left out](Upload::without_checksum); other
//! drivers pass it over. An `md5` of old files is checked on reading, and never written. Indexes, as specified:
//! `{filename: 1, uploadDate: 1}`, and `{files_id: 1, n: 1}`, unique; they are made before the first upload of a handle.
//!
//! # Guarantees
//!
//! | operation | round trips | what concurrency and a crash can do |
//! |---|---|---|
//! | [`upload`](Bucket::upload) | one for each 4 MiB, 2 more | the file is there whole or not at all: its document is written last, and taken back if chunks are gone by then. A crash leaves chunks: [resume](Upload::resume), or [scrub](Bucket::scrub) |
//! | [`download`](Bucket::download), [`download_by_name`](Bucket::download_by_name) | 1, and one for each 4 MiB of what is read; 1 MiB in the embedded engine | missing, doubled and wrong chunks, and a wrong checksum, are errors. A file deleted meanwhile is a missing chunk |
//! | [`rename`](Bucket::rename), [`rename_by_name`](Bucket::rename_by_name) | 1 | one update, of one document or of all revisions |
//! | [`delete`](Bucket::delete), [`abort`](Uploading::abort) | 2, and 2 for each hundred chunks | the file first, then its chunks. A crash in between leaves chunks and a [document](StoredFile::discarding) that keeps others from their id, until a scrub or the next `delete` |
//! | [`scrub`](Bucket::scrub) | 2, and for each upload 3 and 2 for each hundred chunks | as `delete` |
//! | [`verify`](Bucket::verify) | 2 for each 500 files; contents only [if asked](Verify::contents) | |
//!
//! * **Two uploads of one id** are not both stored: the second meets the first's chunks and is
//!   [`Taken`](GridFsError::Taken). Two of one name are two revisions.
//! * **Who deletes and who finishes** one id at once do not harm each other, however late either is: there is the whole file,
//!   or the upload is told that its chunks are [gone](GridFsError::Discarded).
//! * **Memory** does not grow with the file: 4 MiB, or one chunk if that is more, each way.
//! * **In a transaction** (`Bucket::new(&tx)`) everything belongs to it, with the limits of transactions: for small files,
//!   in a bucket whose indexes are there.
//! * **Sharded**: shard the chunks by `{files_id: 1, n: 1}` or `{files_id: 1}`, so that a file's are together and a
//!   range asks few shards; the files by `_id`, if at all.
//!
//! # Example
//! ```
//! use odm::Db;
//! use odm::bson::doc;
//! use odm_patterns::gridfs::Bucket;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let db = Db::open("memory:").await?;
//! let bucket = Bucket::new(&db);
//!
//! let file = bucket.upload("emma.txt").metadata(doc! { "lang": "en" }).bytes(b"handsome, clever, and rich").await?;
//! assert_eq!(bucket.download(file.id.clone()).bytes().await?, b"handsome, clever, and rich");
//! assert_eq!(bucket.download(file.id.clone()).range(10..16).bytes().await?, b"clever");
//!
//! // In parts, with bounded memory. The same name again is a new revision.
//! let mut upload = bucket.upload("emma.txt").open().await?;
//! upload.write(b"It was ").await?;
//! upload.write(b"done.").await?;
//! upload.finish().await?;
//! assert_eq!(bucket.download_by_name("emma.txt").bytes().await?, b"It was done.");
//! assert_eq!(bucket.download_by_name("emma.txt").revision(0).bytes().await?.len(), 26);
//! # Ok(())
//! # }
//! ```

mod bucket;
mod checksum;
mod discard;
mod download;
mod error;
mod layout;
mod stored;
mod upload;
mod uploading;
mod verify;

pub use self::bucket::{Bucket, BucketOptions};
pub use self::download::{Download, Downloading};
pub use self::error::GridFsError;
pub use self::stored::StoredFile;
pub use self::upload::Upload;
pub use self::uploading::Uploading;
pub use self::verify::{FileProblem, FileProblemKind, Scrub, Verify};
