//! What a copy did.

use super::plan::{Planned, Step};

/// What [`Db::copy_to`](crate::Db::copy_to) did, or has done so far.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CopyReport {
    /// The collections and views that were to be copied, by their names.
    pub collections: Vec<CopiedCollection>,
    /// Whether all was read as one commit of the source left it.
    pub is_snapshot: bool,
}

impl CopyReport {
    /// How many documents were written, in all collections.
    pub fn documents(&self) -> u64 {
        let collections = self.collections.iter();
        collections.map(|collection| collection.documents).sum()
    }

    /// What was done of the collection or view of this name.
    pub fn collection(&self, name: &str) -> Option<&CopiedCollection> {
        let mut collections = self.collections.iter();
        collections.find(|collection| collection.name == name)
    }
}

/// What [`Db::copy_to`](crate::Db::copy_to) did of one collection or view.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CopiedCollection {
    /// The name.
    pub name: String,
    /// `collection`, `view` or `timeseries`.
    pub kind: String,
    /// Whether it was created; else it was there.
    pub created: bool,
    /// How many documents were written.
    pub documents: u64,
    /// How many documents were there.
    pub documents_skipped: u64,
    /// How many indexes were built, beside that of `_id`.
    pub indexes: u64,
    /// How many indexes were there.
    pub indexes_skipped: u64,
    /// Whether the documents were read again and compared.
    pub verified: bool,
}

impl CopiedCollection {
    pub(super) fn of(planned: &Planned) -> CopiedCollection {
        CopiedCollection {
            name: planned.source.name.clone(),
            kind: planned.source.kind.clone(),
            created: matches!(planned.step, Step::Create | Step::Replace),
            ..CopiedCollection::default()
        }
    }

    /// How many documents the target is to have.
    pub(super) fn total(&self) -> u64 {
        self.documents + self.documents_skipped
    }
}
