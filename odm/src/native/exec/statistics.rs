//! How much collections and indexes hold, counted.

use std::ops::ControlFlow;

use super::super::catalog::Collection;
use super::super::fault::Result;
use super::super::storage::{ALL, Read};
use super::{Namespace, view};

/// The figures of a collection, or of a database's together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Statistics {
    pub(crate) collections: u64,
    pub(crate) views: u64,
    pub(crate) documents: u64,
    /// Bytes of documents.
    pub(crate) size: u64,
    /// Bytes of records with their keys and checksums.
    pub(crate) storage: u64,
    /// Bytes of each index's entries, by the index's name.
    pub(crate) indexes: Vec<(String, u64)>,
    /// The bounds of a capped collection: bytes, and documents if they are bounded.
    pub(crate) capped: Option<(u64, Option<u64>)>,
}

/// Counts one collection; nothing where there is none. Reads everything that it holds.
///
/// # Errors
/// Code 166 for a view.
pub(crate) fn of_collection(read: &dyn Read, ns: &Namespace) -> Result<Statistics> {
    view::refuse(read.catalog(), ns)?;
    let mut statistics = Statistics::default();
    if let Some(collection) = read.catalog().collection(&ns.database, &ns.collection) {
        statistics.add(read, collection)?;
        statistics.capped = collection.rules.capped.map(|capped| {
            let unbounded = capped.max >= i32::MAX as u64;
            (capped.size, (!unbounded).then_some(capped.max))
        });
    }
    Ok(statistics)
}

/// Counts a database; the indexes' names have their collection's before them.
pub(crate) fn of_database(read: &dyn Read, database: &str) -> Result<Statistics> {
    let mut statistics = Statistics::default();
    for collection in read.catalog().collections(database) {
        if collection.rules.view.is_some() {
            statistics.views += 1;
        } else {
            let before = statistics.indexes.len();
            statistics.add(read, collection)?;
            for (name, _) in &mut statistics.indexes[before..] {
                name.insert(0, '.');
                name.insert_str(0, &collection.name);
            }
        }
    }
    Ok(statistics)
}

impl Statistics {
    fn add(&mut self, read: &dyn Read, collection: &Collection) -> Result<()> {
        self.collections += 1;
        let overhead = super::super::storage::format::CHECKSUM_BYTES;
        read.scan(collection.records, ALL, false, &mut |key, stored| {
            self.documents += 1;
            self.size += stored.len().saturating_sub(overhead) as u64;
            self.storage += (key.len() + stored.len()) as u64;
            Ok(ControlFlow::Continue(()))
        })?;
        for index in &collection.indexes {
            let mut bytes = 0;
            read.scan(index.tree, ALL, false, &mut |key, stored| {
                bytes += (key.len() + stored.len()) as u64;
                Ok(ControlFlow::Continue(()))
            })?;
            self.indexes.push((index.definition.name.clone(), bytes));
        }
        Ok(())
    }
}
