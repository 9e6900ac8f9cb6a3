//! Operations on indexes.

use bson::{RawBson, RawDocumentBuf};

use super::Namespace;

/// An index: `{key: .., name: .., unique: .., ...}`, as `createIndexes` takes it and `listIndexes` gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexSpec(pub RawDocumentBuf);

/// Builds indexes, creating the collection where it is missing.
#[derive(Clone, Debug)]
pub struct CreateIndexes {
    /// Where.
    pub namespace: Namespace,
    /// Which.
    pub indexes: Vec<IndexSpec>,
}

/// Drops indexes.
#[derive(Clone, Debug)]
pub struct DropIndexes {
    /// Where.
    pub namespace: Namespace,
    /// A name, a key pattern, an array of names, or `"*"` for all but that of `_id`.
    pub index: RawBson,
}

/// Lists the indexes of a collection.
#[derive(Clone, Debug)]
pub struct ListIndexes {
    /// Where.
    pub namespace: Namespace,
}
