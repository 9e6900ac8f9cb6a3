//! A job's state on the writer: what is committed, what earlier jobs of the batch wrote, its own writes.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::changes::Logged;
use super::claims::Claim;
use super::queue::Shared;
use crate::native::catalog::{Catalog, Collection, CollectionId};
use crate::native::fault::{Class, Fault, Result, code};
use crate::native::storage::{ALL, Pending, Range, Read, TreeId, Trees, Visitor, Write};

/// The writer as one job sees it.
pub(super) struct Writer<'a> {
    shared: &'a Shared,
    trees: &'a dyn Trees,
    pending: &'a mut Pending,
    catalog: Arc<Catalog>,
    changed: Option<Catalog>,
    /// The commit that the job will be part of.
    sequence: u64,
    notes: Vec<(Claim, Option<u64>)>,
    blocked_on: Option<Claim>,
    logged: Logged,
    ends: Vec<End>,
}

/// A tree in which new keys are looked up.
struct End {
    tree: TreeId,
    /// No key of the tree is greater; none while only one was looked up.
    greatest: Option<Vec<u8>>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        shared: &'a Shared,
        trees: &'a dyn Trees,
        pending: &'a mut Pending,
        catalog: Arc<Catalog>,
        sequence: u64,
    ) -> Writer<'a> {
        Writer {
            shared,
            trees,
            pending,
            catalog,
            changed: None,
            sequence,
            notes: Vec::new(),
            blocked_on: None,
            logged: Logged::default(),
            ends: Vec::new(),
        }
    }

    /// The claim that a running transaction was found to hold.
    pub(super) fn blocked_on(&self) -> Option<Claim> {
        self.blocked_on
    }

    /// Makes the writes and the catalog of a transaction this job's own; its claims count as written.
    pub(super) fn adopt(
        &mut self,
        pending: Pending,
        catalog: Option<Catalog>,
        claims: &[Claim],
        logged: Logged,
    ) {
        *self.pending = pending;
        self.logged = logged;
        self.changed = catalog;
        let mut table = self.shared.claims();
        for claim in claims {
            self.notes.push((*claim, table.note(*claim, self.sequence)));
        }
    }

    /// Adds the log of the job's changes to its writes.
    pub(super) fn write_log(&mut self) -> Result<()> {
        if self.logged.bodies.is_empty() {
            return Ok(());
        }
        let logged = std::mem::take(&mut self.logged);
        self.shared.changes.append(self.trees, self.pending, &logged)
    }

    /// Ends a job that succeeded: adds the catalog's changes to its writes and gives the new catalog.
    pub(super) fn keep(mut self) -> Arc<Catalog> {
        let catalog = match self.changed.take() {
            Some(mut changed) if !changed.same(&self.catalog) => {
                changed.store_changes(&self.catalog, self.pending);
                Arc::new(changed)
            }
            _ => self.catalog.clone(),
        };
        if self.pending.is_empty() {
            // Without a write there may be no commit of this sequence: transactions would conflict with it for ever.
            self.take_notes_back();
        }
        catalog
    }

    /// Ends a job that failed: forgets what it wrote.
    pub(super) fn forget(mut self) {
        self.pending.reset();
        self.take_notes_back();
    }

    fn take_notes_back(&mut self) {
        if !self.notes.is_empty() {
            let mut claims = self.shared.claims();
            for (claim, before) in self.notes.drain(..).rev() {
                claims.restore(claim, before);
            }
        }
    }
}

impl Read for Writer<'_> {
    fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.pending.get(self.trees, tree, key)
    }

    fn scan(&self, tree: TreeId, range: Range<'_>, reverse: bool, visit: &mut Visitor<'_>) -> Result<()> {
        self.pending.scan(self.trees, tree, range, reverse, visit)
    }

    fn catalog(&self) -> &Catalog {
        self.changed.as_ref().unwrap_or(&self.catalog)
    }
}

impl Write for Writer<'_> {
    fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        for end in &mut self.ends {
            if let Some(greatest) = &mut end.greatest
                && end.tree == tree
                && greatest.as_slice() < key
            {
                greatest.clear();
                greatest.extend_from_slice(key);
            }
        }
        self.pending.put(tree, key, value);
        Ok(())
    }

    fn ends_before(&mut self, tree: TreeId, key: &[u8]) -> Result<bool> {
        let Some(at) = self.ends.iter().position(|end| end.tree == tree) else {
            // For a single key looking for the end costs as much as looking for the key.
            self.ends.push(End { tree, greatest: None });
            return Ok(false);
        };
        if self.ends[at].greatest.is_none() {
            let mut last = Vec::new();
            self.scan(tree, ALL, true, &mut |key, _| {
                last.extend_from_slice(key);
                Ok(ControlFlow::Break(()))
            })?;
            self.ends[at].greatest = Some(last);
        }
        let greatest = self.ends[at].greatest.as_deref();
        Ok(greatest.is_some_and(|greatest| greatest < key))
    }

    fn remove(&mut self, tree: TreeId, key: &[u8]) -> Result<()> {
        self.pending.remove(tree, key);
        Ok(())
    }

    fn claim(&mut self, tree: TreeId, key: &[u8]) -> Result<()> {
        let claim = Claim::new(tree, key);
        let mut claims = self.shared.claims();
        if claims.is_held(claim) {
            self.blocked_on = Some(claim);
            return Err(Fault::of(
                Class::Blocked,
                code::WRITE_CONFLICT,
                "a running transaction holds what is to be written",
            ));
        }
        self.notes.push((claim, claims.note(claim, self.sequence)));
        Ok(())
    }

    fn next_record(&mut self, collection: CollectionId) -> Result<u64> {
        next_record(self.catalog(), collection)
    }

    fn catalog_mut(&mut self) -> &mut Catalog {
        self.changed.get_or_insert_with(|| (*self.catalog).clone())
    }

    fn begin_log(&mut self) -> Result<()> {
        self.shared.changes.begin(self.pending)
    }

    fn is_logging(&self) -> bool {
        self.shared.changes.is_on()
    }

    fn log(&mut self, change: Vec<u8>) {
        if self.is_logging() {
            self.logged.bodies.push(change);
        }
    }
}

/// The collection's next record id.
pub(super) fn next_record(catalog: &Catalog, collection: CollectionId) -> Result<u64> {
    match catalog.by_id(collection) {
        Some(collection) => Ok(Collection::next_record(collection)),
        None => Err(Fault::new(code::NAMESPACE_NOT_FOUND, "ns does not exist")),
    }
}
