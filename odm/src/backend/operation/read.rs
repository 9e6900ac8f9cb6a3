//! Operations that read documents.

use bson::RawDocumentBuf;

use super::{Namespace, ReadOptions};

/// Finds documents.
#[derive(Clone, Debug)]
pub struct Find {
    /// Where.
    pub namespace: Namespace,
    /// Which.
    pub filter: RawDocumentBuf,
    /// In which order.
    pub sort: Option<RawDocumentBuf>,
    /// Which fields.
    pub projection: Option<RawDocumentBuf>,
    /// How many to pass over.
    pub skip: u64,
    /// How many at the most; 0 is no limit.
    pub limit: u64,
    /// How many documents a batch carries; the backend's choice when absent.
    pub batch_size: Option<u32>,
    /// Whether the cursor goes on at the end of the collection, which must be capped.
    pub tail: Option<Tail>,
    /// Hint, comment, time limit, collation, variables.
    pub options: ReadOptions,
}

impl Find {
    /// Finds all that match, whole, in whatever order.
    ///
    /// ```
    /// use odm::backend::{Find, Namespace};
    /// use odm::bson::rawdoc;
    ///
    /// let books = Namespace { database: "library".into(), collection: "books".into() };
    /// let first = Find { limit: 1, ..Find::new(books, rawdoc! { "available": { "$gt": 0 } }) };
    /// assert!(first.sort.is_none());
    /// ```
    pub fn new(namespace: Namespace, filter: RawDocumentBuf) -> Find {
        Find {
            namespace,
            filter,
            sort: None,
            projection: None,
            skip: 0,
            limit: 0,
            batch_size: None,
            tail: None,
            options: ReadOptions::default(),
        }
    }
}

/// What a tailable cursor does at the end of its collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tail {
    /// It gives an empty batch at once.
    Poll,
    /// It waits for the next document.
    Await,
}

/// Runs a pipeline.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// Where.
    pub namespace: Namespace,
    /// The stages.
    pub pipeline: Vec<RawDocumentBuf>,
    /// How many documents a batch carries.
    pub batch_size: Option<u32>,
    /// Whether the server may use temporary files.
    pub allow_disk_use: bool,
    /// Hint, comment, time limit, collation, variables.
    pub options: ReadOptions,
}

impl Aggregate {
    /// Whether the results are written into a collection: by `$out` or `$merge`, which are the last stage.
    pub(crate) fn is_write(&self) -> bool {
        let last = self.pipeline.last().and_then(|stage| stage.iter().next());
        matches!(last, Some(Ok((name, _))) if name == "$out" || name == "$merge")
    }
}

/// Counts documents exactly.
#[derive(Clone, Debug)]
pub struct Count {
    /// Where.
    pub namespace: Namespace,
    /// Which.
    pub filter: RawDocumentBuf,
    /// How many to pass over.
    pub skip: u64,
    /// At how many to stop; 0 is no limit.
    pub limit: u64,
    /// Whether the collection's stored size may be given; the filter is then empty.
    pub estimated: bool,
    /// Hint, comment, time limit, collation, variables.
    pub options: ReadOptions,
}

/// The distinct values of a path.
#[derive(Clone, Debug)]
pub struct Distinct {
    /// Where.
    pub namespace: Namespace,
    /// The dotted path.
    pub key: String,
    /// Among which documents.
    pub filter: RawDocumentBuf,
    /// Hint, comment, time limit, collation, variables.
    pub options: ReadOptions,
}
