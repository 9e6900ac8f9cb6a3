//! How much collections and databases hold.

/// The figures of a collection, or of all of a database together.
///
/// What the backends count the same: documents and their bytes. How much room these take depends on how each
/// stores them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CollectionStatistics {
    /// How many collections were counted; views are not.
    pub collections: u64,
    /// How many views there are.
    pub views: u64,
    /// How many documents.
    pub documents: u64,
    /// Bytes of BSON of all documents.
    pub size: u64,
    /// Bytes that the documents take in the store: on MongoDB compressed pages, on the embedded engine records
    /// with their keys and checksums.
    pub storage_size: u64,
    /// Each index; of a database as a whole, which MongoDB does not tell one by one, only their sum.
    pub indexes: Vec<IndexStatistics>,
    /// Bytes of all indexes.
    pub index_size: u64,
    /// The most bytes of documents, if the collection is capped.
    pub capped_size: Option<u64>,
    /// The most documents, if the collection is capped and they are bounded.
    pub capped_max: Option<u64>,
}

/// The figures of one index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexStatistics {
    /// Its name.
    pub name: String,
    /// Bytes of its entries.
    pub size: u64,
}

impl CollectionStatistics {
    /// Bytes per document; 0 without documents.
    pub fn average_size(&self) -> u64 {
        self.size.checked_div(self.documents).unwrap_or(0)
    }
}

impl IndexStatistics {
    /// The figures of the index of this name.
    pub fn new(name: String, size: u64) -> IndexStatistics {
        IndexStatistics { name, size }
    }
}
