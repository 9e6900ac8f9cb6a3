//! Writing to the file.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use redb::{ReadableTableMetadata as _, Table, TableDefinition, WriteTransaction};

use super::fault::{explained, fault};
use super::snapshot::{get, records_table, scan, scan_shared};
use super::sorted::{self, Change};
use super::waiting::{Batch, Waiting};
use super::{TREE_BYTES, TREES};
use crate::native::fault::Result;
use crate::native::storage::paged::Paged;
use crate::native::storage::pending::{as_range, composite_range, is_empty_range, split, with_composite};
use crate::native::storage::{ALL, Pending, Range, Transaction, TreeId, Trees, Visitor, visited};

type TreesTable<'t> = Table<'t, &'static [u8], &'static [u8]>;

/// A write transaction; tables of records are opened when first touched.
pub(super) struct FileTransaction<'t> {
    paged: &'t Paged,
    shared: TreesTable<'t>,
    records: RefCell<BTreeMap<TreeId, Rc<TreesTable<'t>>>>,
    transaction: &'t WriteTransaction,
}

impl<'t> FileTransaction<'t> {
    pub(super) fn new(transaction: &'t WriteTransaction, paged: &'t Paged) -> Result<FileTransaction<'t>> {
        Ok(FileTransaction {
            paged,
            shared: transaction
                .open_table(TREES)
                .map_err(|error| fault(error.into()))?,
            records: RefCell::default(),
            transaction,
        })
    }

    /// The table of a tree of records; made when there is none.
    fn records(&self, tree: TreeId) -> Result<Rc<TreesTable<'t>>> {
        if let Some(table) = self.records.borrow().get(&tree) {
            return Ok(table.clone());
        }
        let table = self
            .transaction
            .open_table(TableDefinition::new(&records_table(tree)));
        let table = Rc::new(table.map_err(|error| fault(error.into()))?);
        self.records.borrow_mut().insert(tree, table.clone());
        Ok(table)
    }

    fn clear(&mut self, tree: TreeId) -> Result<()> {
        if tree.is_records() {
            // A table can be deleted only while it is not open.
            self.records.get_mut().remove(&tree);
            let name = records_table(tree);
            let table = TableDefinition::<&[u8], &[u8]>::new(&name);
            return match self.transaction.delete_table(table) {
                Ok(_) => Ok(()),
                Err(error) => Err(fault(error.into())),
            };
        }
        let bounds = composite_range(tree, ALL);
        self.shared
            .retain_in::<&[u8], _>(as_range(&bounds), |_, _| false)
            .map_err(|error| fault(error.into()))
    }

    /// Applies what waited, the oldest first.
    pub(super) fn apply_waiting(&mut self, waiting: &Waiting) -> Result<()> {
        waiting.batches().iter().try_for_each(|batch| match &**batch {
            Batch::Gathered(recent) => self.apply_writes(recent.writes()),
            Batch::Large(pending) => self.apply_writes(pending.writes()),
        })
    }

    /// Applies writes in order of their composite keys; `None` removes.
    pub(super) fn apply_writes<'w>(
        &mut self,
        writes: impl Iterator<Item = (&'w [u8], Option<&'w [u8]>)>,
    ) -> Result<()> {
        let mut changes: Vec<Change<'w>> = Vec::new();
        let mut writes = writes.peekable();
        while let Some((composite, _)) = writes.peek() {
            let (tree, _) = split(composite);
            if tree.is_records() {
                // Opened here, so that it can be borrowed for writing below.
                self.records(tree)?;
            }
            let own = self.records.get_mut().get_mut(&tree).and_then(Rc::get_mut);
            changes.clear();
            // The trees that share a table are next to each other.
            let (table, prefix) = match own {
                Some(table) => (table, TREE_BYTES),
                None => (&mut self.shared, 0),
            };
            while let Some((composite, value)) = writes.next_if(|(composite, _)| {
                let (next, _) = split(composite);
                next == tree || !(next.is_records() || tree.is_records())
            }) {
                changes.push((&composite[prefix..], value));
            }
            sorted::apply(table, &changes)?;
        }
        Ok(())
    }
}

impl Trees for FileTransaction<'_> {
    fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let found = if tree.is_records() {
            self.records(tree).and_then(|table| get(&*table, key))
        } else {
            with_composite(tree, key, |composite| get(&self.shared, composite))
        };
        found.map_err(|fault| explained(fault, self.paged))
    }

    fn scan(&self, tree: TreeId, range: Range<'_>, reverse: bool, visit: &mut Visitor<'_>) -> Result<()> {
        if is_empty_range(range) {
            return Ok(());
        }
        let scanned = if tree.is_records() {
            self.records(tree)
                .and_then(|table| scan(&*table, range, 0, reverse, visit))
        } else {
            scan_shared(&self.shared, tree, range, reverse, visit)
        };
        scanned.map_err(|fault| explained(fault, self.paged))
    }

    fn entries(&self, tree: TreeId) -> Result<u64> {
        let counted = if tree.is_records() {
            self.records(tree)
                .and_then(|table| table.len().map_err(|error| fault(error.into())))
        } else {
            visited(|visit| scan_shared(&self.shared, tree, ALL, false, visit))
        };
        counted.map_err(|fault| explained(fault, self.paged))
    }
}

impl Transaction for FileTransaction<'_> {
    fn apply(&mut self, pending: &mut Pending) -> Result<()> {
        for tree in pending.cleared() {
            self.clear(tree)?;
        }
        self.apply_writes(pending.writes())?;
        pending.reset();
        Ok(())
    }
}
