//! Reading a state of the file, a snapshot or a transaction's.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError, RwLock};

use redb::{
    ReadOnlyTable, ReadTransaction, ReadableTable, ReadableTableMetadata as _, TableDefinition, TableError,
};

use super::fault::{explained, fault};
use super::{TREE_BYTES, TREES};
use crate::native::fault::Result;
use crate::native::storage::paged::Paged;
use crate::native::storage::pending::{as_range, composite_range, is_empty_range, with_composite};
use crate::native::storage::{ALL, Range, TreeId, Trees, Visitor, format, visited};

type ReadTable = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// A snapshot; tables of records are opened when first read.
pub(super) struct FileSnapshot {
    paged: Paged,
    shared: ReadTable,
    records: RwLock<BTreeMap<TreeId, Option<Arc<ReadTable>>>>,
    transaction: ReadTransaction,
}

impl std::fmt::Debug for FileSnapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileSnapshot").finish_non_exhaustive()
    }
}

impl FileSnapshot {
    pub(super) fn new(transaction: ReadTransaction, paged: &Paged) -> Result<FileSnapshot> {
        Ok(FileSnapshot {
            paged: paged.clone(),
            shared: transaction
                .open_table(TREES)
                .map_err(|error| fault(error.into()))?,
            records: RwLock::default(),
            transaction,
        })
    }

    /// The table of a tree of records; none when nothing was ever stored in it.
    fn records(&self, tree: TreeId) -> Result<Option<Arc<ReadTable>>> {
        if let Some(table) = self
            .records
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&tree)
        {
            return Ok(table.clone());
        }
        let table = match self
            .transaction
            .open_table(TableDefinition::new(&records_table(tree)))
        {
            Ok(table) => Some(Arc::new(table)),
            Err(TableError::TableDoesNotExist(_)) => None,
            Err(error) => return Err(fault(error.into())),
        };
        let mut records = self.records.write().unwrap_or_else(PoisonError::into_inner);
        Ok(records.entry(tree).or_insert(table).clone())
    }
}

impl Trees for FileSnapshot {
    fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let found = if tree.is_records() {
            self.records(tree).and_then(|table| match table {
                Some(table) => get(&*table, key),
                None => Ok(None),
            })
        } else {
            with_composite(tree, key, |composite| get(&self.shared, composite))
        };
        found.map_err(|fault| explained(fault, &self.paged))
    }

    fn scan(&self, tree: TreeId, range: Range<'_>, reverse: bool, visit: &mut Visitor<'_>) -> Result<()> {
        if is_empty_range(range) {
            return Ok(());
        }
        let scanned = if tree.is_records() {
            self.records(tree).and_then(|table| match table {
                Some(table) => scan(&*table, range, 0, reverse, visit),
                None => Ok(()),
            })
        } else {
            scan_shared(&self.shared, tree, range, reverse, visit)
        };
        scanned.map_err(|fault| explained(fault, &self.paged))
    }

    fn entries(&self, tree: TreeId) -> Result<u64> {
        let counted = if tree.is_records() {
            self.records(tree).and_then(|table| match table {
                Some(table) => table.len().map_err(|error| fault(error.into())),
                None => Ok(0),
            })
        } else {
            visited(|visit| scan_shared(&self.shared, tree, ALL, false, visit))
        };
        counted.map_err(|fault| explained(fault, &self.paged))
    }
}

pub(super) fn records_table(tree: TreeId) -> String {
    format!("records {}", tree.number())
}

pub(super) fn get(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    key: &[u8],
) -> Result<Option<Vec<u8>>> {
    match table.get(key) {
        Ok(value) => Ok(value.map(|value| value.value().to_vec())),
        Err(error) => Err(fault(error.into())),
    }
}

/// Visits a range; the first `prefix` bytes of each key are not shown.
pub(super) fn scan(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    range: Range<'_>,
    prefix: usize,
    reverse: bool,
    visit: &mut Visitor<'_>,
) -> Result<()> {
    let mut entries = table.range::<&[u8]>(range).map_err(|error| fault(error.into()))?;
    while let Some(entry) = if reverse {
        entries.next_back()
    } else {
        entries.next()
    } {
        let (key, value) = entry.map_err(|error| fault(error.into()))?;
        let Some(key) = key.value().get(prefix..) else {
            return Err(format::damaged("a stored key is too short".to_owned()));
        };
        if let ControlFlow::Break(()) = visit(key, value.value())? {
            break;
        }
    }
    Ok(())
}

pub(super) fn scan_shared(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    tree: TreeId,
    range: Range<'_>,
    reverse: bool,
    visit: &mut Visitor<'_>,
) -> Result<()> {
    let bounds = composite_range(tree, range);
    scan(table, as_range(&bounds), TREE_BYTES, reverse, visit)
}
