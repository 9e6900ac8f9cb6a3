//! Operations on collections.

use bson::RawDocumentBuf;

use super::Namespace;

/// What a collection is created with: the fields of MongoDB's `create` command but the name.
pub type CollectionOptions = RawDocumentBuf;

/// Creates a collection.
#[derive(Clone, Debug)]
pub struct CreateCollection {
    /// Where.
    pub namespace: Namespace,
    /// With what.
    pub options: CollectionOptions,
}

/// Changes a collection's options, or those of one of its indexes.
#[derive(Clone, Debug)]
pub struct ModifyCollection {
    /// Which.
    pub namespace: Namespace,
    /// The fields of MongoDB's `collMod` command but the name.
    pub changes: RawDocumentBuf,
}

/// Gives a collection another name.
#[derive(Clone, Debug)]
pub struct RenameCollection {
    /// Which.
    pub namespace: Namespace,
    /// Its new name; the database may be another.
    pub to: Namespace,
    /// Whether a collection that has the name is dropped for it.
    pub drop_target: bool,
}

/// Drops a collection.
#[derive(Clone, Debug)]
pub struct DropCollection {
    /// Which.
    pub namespace: Namespace,
}
