//! Why a file could not be stored or read.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use odm::bson::Bson;
use odm::{Error, ErrorKind};

/// Why an operation of a [`Bucket`](super::Bucket) failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum GridFsError {
    /// No file has this id.
    NoFile {
        /// The id.
        id: Bson,
    },
    /// No file has this name, or not so many revisions.
    NoRevision {
        /// The name.
        filename: String,
        /// Which was asked for.
        revision: i32,
    },
    /// A chunk of the file is not there: it is damaged, or was deleted while it was read.
    MissingChunk {
        /// The file's id.
        id: Bson,
        /// The chunk's number, from 0.
        n: i64,
    },
    /// A chunk has another size than it must have.
    WrongSize {
        /// The file's id.
        id: Bson,
        /// The chunk's number, from 0.
        n: i64,
        /// How many bytes it must have.
        expected: i64,
        /// How many it has.
        found: i64,
    },
    /// There are more chunks than the file's length says.
    ExtraChunk {
        /// The file's id.
        id: Bson,
        /// The number of the first.
        n: i64,
    },
    /// The content is not that of the stored checksum.
    Checksum {
        /// The file's id.
        id: Bson,
        /// The stored one.
        expected: String,
        /// The content's.
        found: String,
    },
    /// The length or the size of a chunk in the file's document cannot be.
    Layout {
        /// The file's id.
        id: Bson,
        /// The length.
        length: i64,
        /// The size of a chunk.
        chunk_size: i64,
    },
    /// The range is not within the file, or its end is before its start.
    Range {
        /// What was asked for.
        range: Range<u64>,
        /// The file's length.
        length: u64,
    },
    /// A file of this id is stored or being stored by somebody else.
    Taken {
        /// The id.
        id: Bson,
    },
    /// Chunks of the upload were deleted before it was finished: it was scrubbed or aborted by somebody else, or the file
    /// was deleted at once. There is no file.
    Discarded {
        /// The id.
        id: Bson,
    },
    /// Reading the source or writing to the destination failed.
    Io(Arc<std::io::Error>),
    /// The database's error.
    Database(Error),
}

impl GridFsError {
    /// What the error is about, without its fields.
    pub fn message(&self) -> &str {
        match self {
            GridFsError::NoFile { .. } => "there is no file with this id",
            GridFsError::NoRevision { .. } => "there is no such revision of a file with this name",
            GridFsError::MissingChunk { .. } => "a chunk of the file is missing",
            GridFsError::WrongSize { .. } => "a chunk of the file has the wrong size",
            GridFsError::ExtraChunk { .. } => "the file has more chunks than its length says",
            GridFsError::Checksum { .. } => "the content is not that of the stored checksum",
            GridFsError::Layout { .. } => "the file's length or chunk size cannot be",
            GridFsError::Range { .. } => "the range is not within the file",
            GridFsError::Taken { .. } => "the file's id is taken",
            GridFsError::Discarded { .. } => "chunks of the upload were deleted by somebody else",
            GridFsError::Io(_) => "the source or destination failed",
            GridFsError::Database(error) => error.message(),
        }
    }

    /// Whether the file, or the revision of the name, is not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, GridFsError::NoFile { .. } | GridFsError::NoRevision { .. })
    }

    /// Whether what is stored is not a whole file.
    pub fn is_damaged(&self) -> bool {
        matches!(
            self,
            GridFsError::MissingChunk { .. }
                | GridFsError::WrongSize { .. }
                | GridFsError::ExtraChunk { .. }
                | GridFsError::Checksum { .. }
                | GridFsError::Layout { .. }
        )
    }
}

impl GridFsError {
    /// What the caller can do, in the words of `odm`.
    pub fn kind(&self) -> ErrorKind {
        match self {
            GridFsError::NoFile { .. } | GridFsError::NoRevision { .. } => ErrorKind::NotFound,
            GridFsError::Taken { .. } => ErrorKind::DuplicateKey,
            GridFsError::Discarded { .. } => ErrorKind::Conflict,
            GridFsError::Range { .. } => ErrorKind::InvalidArgument,
            GridFsError::Io(_) => ErrorKind::Io,
            GridFsError::MissingChunk { .. }
            | GridFsError::WrongSize { .. }
            | GridFsError::ExtraChunk { .. }
            | GridFsError::Checksum { .. }
            | GridFsError::Layout { .. } => ErrorKind::Corrupt,
            GridFsError::Database(error) => error.kind(),
        }
    }

    /// The same in the words of `odm`, without the cause.
    fn told(&self) -> Error {
        let told = Error::new(self.kind(), self.message().to_owned());
        match self {
            GridFsError::NoFile { id } | GridFsError::Taken { id } | GridFsError::Discarded { id } => {
                told.with_id(id.clone())
            }
            GridFsError::NoRevision { filename, revision } => told
                .with_note("filename", filename)
                .with_note("revision", revision),
            GridFsError::MissingChunk { id, n } | GridFsError::ExtraChunk { id, n } => {
                told.with_id(id.clone()).with_note("chunk", n)
            }
            GridFsError::WrongSize {
                id,
                n,
                expected,
                found,
            } => told
                .with_id(id.clone())
                .with_note("chunk", n)
                .with_note("expected", expected)
                .with_note("found", found),
            GridFsError::Checksum { id, expected, found } => told
                .with_id(id.clone())
                .with_note("expected", expected)
                .with_note("found", found),
            GridFsError::Layout {
                id,
                length,
                chunk_size,
            } => told
                .with_id(id.clone())
                .with_note("length", length)
                .with_note("chunk size", chunk_size),
            GridFsError::Range { range, length } => told
                .with_note("range", format_args!("{}..{}", range.start, range.end))
                .with_note("length", length),
            GridFsError::Io(error) => told.with_note("cause", error),
            GridFsError::Database(error) => error.clone(),
        }
    }
}

impl fmt::Display for GridFsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.told().fmt(f)
    }
}

impl std::error::Error for GridFsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            GridFsError::Io(error) => Some(&**error),
            GridFsError::Database(error) => std::error::Error::source(error),
            _ => None,
        }
    }
}

impl From<Error> for GridFsError {
    fn from(error: Error) -> GridFsError {
        GridFsError::Database(error)
    }
}

impl From<std::io::Error> for GridFsError {
    fn from(error: std::io::Error) -> GridFsError {
        GridFsError::Io(Arc::new(error))
    }
}

/// For bodies of [`Db::transaction`](odm::Db::transaction): kind `NotFound`, `Corrupt`, `DuplicateKey`, `Conflict`,
/// `InvalidArgument` or `Io`, with the reason as the source.
impl From<GridFsError> for Error {
    fn from(error: GridFsError) -> Error {
        match error {
            GridFsError::Database(error) => error,
            own => own.told().with_source(own),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_wrong_is_kept_in_the_words_of_odm() {
        let range = GridFsError::Range {
            range: 3..9,
            length: 4,
        };
        let revision = GridFsError::NoRevision {
            filename: "a.txt".into(),
            revision: -1,
        };
        let missing = GridFsError::MissingChunk { id: 7.into(), n: 2 };
        for (own, text) in [
            (range, "the range is not within the file (range: 3..9, length: 4)"),
            (
                revision,
                "there is no such revision of a file with this name (filename: a.txt, revision: -1)",
            ),
            (missing, "a chunk of the file is missing (_id: 7, chunk: 2)"),
        ] {
            assert_eq!(own.to_string(), text);
            let (kind, told) = (own.kind(), Error::from(own));
            assert_eq!((told.to_string().as_str(), told.kind()), (text, kind));
        }
        let told = Error::from(GridFsError::NoFile { id: 7.into() });
        assert_eq!((told.id(), told.is_not_found()), (Some(&7.into()), true));
    }
}
