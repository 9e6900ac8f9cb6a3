//! A job's state on the writer: what is committed, what earlier jobs of the batch wrote, its own writes.

use std::sync::Arc;

use super::absences::Absences;
use super::changes::Logged;
use super::claims::Claim;
use super::queue::Shared;
use crate::native::catalog::{Catalog, Collection, CollectionId};
use crate::native::fault::{Class, Fault, Result, code};
use crate::native::storage::format::LogHead;
use crate::native::storage::pending::Undo;
use crate::native::storage::{Pending, Range, Read, TreeId, Trees, Visitor, Write};

/// The writer as one job sees it.
pub(super) struct Writer<'a> {
    shared: &'a Shared,
    trees: &'a dyn Trees,
    /// The writes of the batch; this job's are among them.
    pending: &'a mut Pending,
    /// What takes this job's writes back.
    undo: Undo,
    absences: &'a mut Absences,
    catalog: Arc<Catalog>,
    changed: Option<Catalog>,
    /// The commit that the job will be part of.
    sequence: u64,
    notes: Vec<(Claim, Option<u64>)>,
    blocked_on: Option<Claim>,
    logged: Logged,
    /// Whether the job wrote anything, and whether it removed a key.
    wrote: bool,
    removed: bool,
    part: Option<Box<Part>>,
}

/// How far a job was when a part of it began.
struct Part {
    /// Of what takes writes back.
    step: usize,
    changed: Option<Catalog>,
    notes: usize,
    logged: usize,
    wrote: bool,
    removed: bool,
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        shared: &'a Shared,
        trees: &'a dyn Trees,
        (pending, absences): (&'a mut Pending, &'a mut Absences),
        catalog: Arc<Catalog>,
        sequence: u64,
    ) -> Writer<'a> {
        Writer {
            shared,
            trees,
            undo: pending.begin_undo(),
            pending,
            absences,
            catalog,
            changed: None,
            sequence,
            notes: Vec::new(),
            blocked_on: None,
            logged: Logged::default(),
            wrote: false,
            removed: false,
            part: None,
        }
    }

    /// The claim that a running transaction was found to hold.
    pub(super) fn blocked_on(&self) -> Option<Claim> {
        self.blocked_on
    }

    /// Makes the writes and the catalog of a transaction this job's own; its claims count as written. The job does not
    /// fail after it.
    pub(super) fn adopt(
        &mut self,
        mut pending: Pending,
        catalog: Option<Catalog>,
        claims: &[Claim],
        logged: Logged,
    ) {
        self.wrote |= !pending.is_empty();
        self.absences.note_all(&pending);
        self.pending.absorb(&mut pending);
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
        self.wrote = true;
        self.shared.changes.append(self.trees, self.pending, logged)
    }

    /// Ends a job that succeeded: adds the catalog's changes to its writes; gives the new catalog, and whether it wrote
    /// anything.
    pub(super) fn keep(mut self) -> (Arc<Catalog>, bool) {
        let catalog = match self.changed.take() {
            Some(mut changed) if !changed.same(&self.catalog) => {
                changed.store_changes(&self.catalog, self.pending);
                self.wrote = true;
                Arc::new(changed)
            }
            _ => self.catalog.clone(),
        };
        if !self.wrote {
            // Without a write there may be no commit of this sequence: transactions would conflict with it for ever.
            self.take_notes_back(0);
        }
        (catalog, self.wrote)
    }

    /// Ends a job that failed: forgets what it wrote.
    pub(super) fn forget(mut self) {
        self.pending.undo(std::mem::take(&mut self.undo));
        if self.removed || self.part.as_ref().is_some_and(|part| part.removed) {
            self.absences.forget();
        }
        self.take_notes_back(0);
    }

    /// Takes back the notes from this one on.
    fn take_notes_back(&mut self, from: usize) {
        if self.notes.len() > from {
            let mut claims = self.shared.claims();
            for (claim, before) in self.notes.drain(from..).rev() {
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

    fn entries(&self, tree: TreeId) -> Result<u64> {
        self.pending.entries(self.trees, tree)
    }

    fn catalog(&self) -> &Catalog {
        self.changed.as_ref().unwrap_or(&self.catalog)
    }
}

impl Write for Writer<'_> {
    fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        self.wrote = true;
        self.absences.note(tree, key);
        self.pending.put_undoable(tree, key, Some(value), &mut self.undo);
        Ok(())
    }

    fn is_absent(&mut self, tree: TreeId, key: &[u8]) -> Result<bool> {
        let (pending, trees) = (&*self.pending, self.trees);
        self.absences.has(tree, key, &mut |range, visit| {
            pending.scan(trees, tree, range, false, visit)
        })
    }

    fn note_place(&mut self, tree: TreeId, key: &[u8], record: u64) {
        self.shared.places.note(tree, key, record);
    }

    fn remove(&mut self, tree: TreeId, key: &[u8]) -> Result<()> {
        (self.wrote, self.removed) = (true, true);
        self.pending.put_undoable(tree, key, None, &mut self.undo);
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

    fn begin_part(&mut self) {
        self.part = Some(Box::new(Part {
            step: self.undo.begin_part(),
            changed: self.changed.clone(),
            notes: self.notes.len(),
            logged: self.logged.bodies.len(),
            wrote: self.wrote,
            removed: std::mem::take(&mut self.removed),
        }));
    }

    fn end_part(&mut self, kept: bool) {
        let Some(part) = self.part.take() else {
            return;
        };
        if kept {
            self.undo.end_part();
            self.removed |= part.removed;
            return;
        }
        self.pending.undo_part(&mut self.undo, part.step);
        if self.removed {
            self.absences.forget();
        }
        self.take_notes_back(part.notes);
        self.logged.bodies.truncate(part.logged);
        (self.changed, self.wrote, self.removed) = (part.changed, part.wrote, part.removed);
    }

    fn next_record(&mut self, collection: CollectionId) -> Result<u64> {
        next_record(self.catalog(), collection)
    }

    fn catalog_mut(&mut self) -> &mut Catalog {
        self.changed.get_or_insert_with(|| (*self.catalog).clone())
    }

    fn begin_log(&mut self) -> Result<()> {
        self.wrote = true;
        self.pending
            .keep_for_undo(TreeId::CHANGES, LogHead::KEY, &mut self.undo);
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

    fn logged(&self) -> usize {
        self.logged.bodies.len()
    }

    fn forget_logged(&mut self, count: usize) {
        self.logged.bodies.truncate(count);
    }
}

/// The collection's next record id.
pub(super) fn next_record(catalog: &Catalog, collection: CollectionId) -> Result<u64> {
    match catalog.by_id(collection) {
        Some(collection) => Ok(Collection::next_record(collection)),
        None => Err(Fault::new(code::NAMESPACE_NOT_FOUND, "ns does not exist")),
    }
}
