//! One collection: its names, trees, options and indexes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::filters::IndexFilters;
use super::rules::Rules;
use crate::native::document::Doc;
use crate::native::fault::Result;
use crate::native::index::IndexDefinition;
use crate::native::index::arrays::{Arrays, join};
use crate::native::storage::TreeId;

/// A collection for as long as it exists, whatever its name; never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct CollectionId(pub(crate) u32);

/// How full a capped collection is; of other collections nothing is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) documents: u64,
    pub(crate) bytes: u64,
}

/// A collection.
#[derive(Clone, Debug)]
pub(crate) struct Collection {
    pub(crate) id: CollectionId,
    pub(crate) database: Arc<str>,
    pub(crate) name: Arc<str>,
    /// Documents by record id (u64 BE), sealed.
    pub(crate) records: TreeId,
    /// The options that `listCollections` gives back, as BSON bytes.
    pub(crate) options: Arc<[u8]>,
    /// What the options mean.
    pub(crate) rules: Rules,
    /// Worked out when the store is opened, then kept by every write.
    pub(crate) used: Used,
    pub(crate) uuid: [u8; 16],
    /// `_id_` first, then in order of creation.
    pub(crate) indexes: Vec<IndexEntry>,
    /// Changes with everything a writer relies on: name, options, indexes. Not with multikey flags, which
    /// only grow.
    pub(super) version: u64,
    /// Shared by all versions of the collection.
    pub(crate) filters: Arc<IndexFilters>,
    /// How often the whole collection was read since it was opened.
    scans: Arc<AtomicU64>,
    /// Shared by all versions of the collection, so that concurrent writers never get the same id.
    pub(super) next_record: Arc<AtomicU64>,
}

/// An index of a collection.
#[derive(Clone, Debug)]
pub(crate) struct IndexEntry {
    pub(crate) definition: Arc<IndexDefinition>,
    /// Key, then record id (u64 BE); the value is the entry's check value.
    pub(crate) tree: TreeId,
    /// Per component: where on its path documents have had arrays. May be shorter than the components;
    /// what is not there has met none.
    pub(crate) multikey: Vec<Arrays>,
    /// Whether other rules than this program's made its sort keys.
    pub(crate) stale: bool,
}

impl IndexEntry {
    pub(super) fn new(definition: IndexDefinition, tree: TreeId) -> IndexEntry {
        IndexEntry {
            definition: Arc::new(definition),
            tree,
            multikey: Vec::new(),
            stale: false,
        }
    }

    /// Whether these are not all known.
    pub(crate) fn would_change(&self, arrays: &[Arrays]) -> bool {
        arrays.iter().enumerate().any(|(at, own)| {
            let known = self.multikey.get(at).copied().unwrap_or_default();
            known.with(*own) != known
        })
    }
}

impl Collection {
    pub(super) fn new(
        id: CollectionId,
        database: &str,
        name: &str,
        records: TreeId,
        options: &[u8],
        uuid: [u8; 16],
        indexes: Vec<IndexEntry>,
    ) -> Result<Collection> {
        Ok(Collection {
            id,
            database: database.into(),
            name: name.into(),
            records,
            options: options.into(),
            rules: Rules::parse(Doc::Raw(options))?,
            used: Used::default(),
            uuid,
            indexes,
            version: 1,
            filters: Arc::default(),
            scans: Arc::default(),
            next_record: Arc::new(AtomicU64::new(1)),
        })
    }

    /// Counts that a query reads the whole collection.
    pub(crate) fn note_scan(&self) {
        self.scans.fetch_add(1, Ordering::Relaxed);
    }

    /// How often queries have read the whole collection.
    pub(crate) fn scans(&self) -> u64 {
        self.scans.load(Ordering::Relaxed)
    }

    /// `database.name`.
    pub(crate) fn namespace(&self) -> String {
        format!("{}.{}", self.database, self.name)
    }

    /// The index of this name.
    pub(crate) fn index(&self, name: &str) -> Option<&IndexEntry> {
        self.indexes.iter().find(|index| index.definition.name == name)
    }

    /// The indexes in the order of their making. Their own order is the one in which they are read and written: one that
    /// has been changed comes last.
    pub(crate) fn indexes_as_made(&self) -> Vec<&IndexEntry> {
        let mut indexes: Vec<_> = self.indexes.iter().collect();
        indexes.sort_by_key(|index| index.tree.number());
        indexes
    }

    /// The records' tree and the indexes' trees.
    pub(crate) fn trees(&self) -> impl Iterator<Item = TreeId> + '_ {
        std::iter::once(self.records).chain(self.indexes.iter().map(|index| index.tree))
    }

    /// A record id that nobody else gets.
    pub(crate) fn next_record(&self) -> u64 {
        self.next_record.fetch_add(1, Ordering::Relaxed)
    }

    /// Makes sure that ids up to `record` are not given out again.
    pub(crate) fn seen_record(&self, record: u64) {
        self.next_record
            .fetch_max(record.saturating_add(1), Ordering::Relaxed);
    }

    pub(super) fn renamed(&self, database: &str, name: &str) -> Collection {
        let uuid = match *self.database == *database {
            true => self.uuid,
            false => bson::Uuid::new().bytes(),
        };
        Collection {
            database: database.into(),
            name: name.into(),
            uuid,
            version: self.version + 1,
            ..self.clone()
        }
    }

    pub(super) fn set_options(&mut self, options: &[u8], mut rules: Rules) {
        // Buckets stay open.
        let changed = rules.series.as_mut().and_then(Arc::get_mut);
        if let (Some(own), Some(changed)) = (&self.rules.series, changed) {
            changed.open = own.open.clone();
        }
        self.options = options.into();
        self.rules = rules;
        self.version += 1;
    }

    pub(super) fn note_used(&mut self, documents: i64, bytes: i64) {
        self.used.documents = self.used.documents.saturating_add_signed(documents);
        self.used.bytes = self.used.bytes.saturating_add_signed(bytes);
    }

    pub(super) fn add_index(&mut self, index: IndexEntry) {
        self.indexes.push(index);
        self.version += 1;
    }

    pub(super) fn replace_index(&mut self, tree: TreeId, definition: IndexDefinition) {
        if let Some(index) = self.indexes.iter_mut().find(|index| index.tree == tree) {
            index.definition = Arc::new(definition);
            index.stale = false;
            self.version += 1;
        }
    }

    /// Replaces a definition; from then on the index comes behind the others.
    pub(super) fn alter_index(&mut self, tree: TreeId, definition: IndexDefinition) {
        self.replace_index(tree, definition);
        // Stable, so that the others keep their order.
        self.indexes.sort_by_key(|index| index.tree == tree);
    }

    #[cfg(all(test, feature = "collation"))]
    pub(super) fn age_index(&mut self, tree: TreeId) {
        for index in self.indexes.iter_mut().filter(|index| index.tree == tree) {
            index.stale = true;
        }
    }

    pub(super) fn drop_index(&mut self, tree: TreeId) {
        self.indexes.retain(|index| index.tree != tree);
        self.version += 1;
    }

    pub(super) fn set_multikey(&mut self, tree: TreeId, arrays: &[Arrays]) {
        if let Some(index) = self.indexes.iter_mut().find(|index| index.tree == tree) {
            if index.multikey.len() < arrays.len() {
                index.multikey.resize(arrays.len(), Arrays::NONE);
            }
            join(&mut index.multikey, arrays);
        }
    }
}
