//! A write transaction as a writer sees it: kept apart while it is small, redb's own once it is not.

use std::cell::OnceCell;
use std::sync::MutexGuard;

use redb::WriteTransaction;

use super::FileStore;
use super::current::Layer;
use super::fault::explained;
use super::transaction::FileTransaction;
use crate::native::fault::{Class, Fault, Result, code};
use crate::native::storage::log::Changes;
use crate::native::storage::{Pending, Range, Transaction, TreeId, Trees, Visitor};

/// A write transaction of redb, of which there is one at a time.
pub(super) struct Direct<'s> {
    pub(super) write: WriteTransaction,
    /// Ends after it.
    pub(super) only: MutexGuard<'s, ()>,
}

impl<'s> Direct<'s> {
    pub(super) fn new(write: WriteTransaction, only: MutexGuard<'s, ()>) -> Direct<'s> {
        Direct { write, only }
    }
}

/// A write transaction.
pub(super) struct Staged<'t, 's> {
    store: &'s FileStore,
    layer: Layer,
    /// What was applied, unless redb has it.
    own: Pending,
    slot: &'t OnceCell<Direct<'s>>,
    /// From the first large write on.
    direct: Option<FileTransaction<'t>>,
    changes: &'t mut Changes,
}

impl<'t, 's> Staged<'t, 's> {
    /// A transaction over a state; what it needs of redb is put into `slot`.
    pub(super) fn new(
        store: &'s FileStore,
        layer: Layer,
        slot: &'t OnceCell<Direct<'s>>,
        changes: &'t mut Changes,
    ) -> Staged<'t, 's> {
        Staged {
            store,
            layer,
            own: Pending::default(),
            slot,
            direct: None,
            changes,
        }
    }

    /// From now on this is redb's transaction, with all that redb did not have.
    pub(super) fn go_direct(&mut self) -> Result<&mut FileTransaction<'t>> {
        if self.direct.is_none() {
            if self.slot.get().is_some() {
                return Err(Fault::of(Class::Io, code::INTERNAL, "the write failed before"));
            }
            let direct = self.store.begin_direct()?;
            let write = &self.slot.get_or_init(|| direct).write;
            let mut transaction = self.store.with_unflushed(write)?;
            transaction.apply(&mut self.own)?;
            self.direct = Some(transaction);
        }
        match &mut self.direct {
            Some(direct) => Ok(direct),
            None => Err(super::fault::closed()),
        }
    }

    /// Whether redb may get these writes later.
    fn may_be_kept(&self, pending: &Pending) -> bool {
        let bytes = self.own.bytes() + pending.bytes();
        if bytes <= self.store.limits.recent.largest {
            return true;
        }
        // A large commit is kept as it is: nothing is added to it.
        self.own.is_empty() && self.slot.get().is_none() && self.store.may_wait(bytes)
    }

    /// What is to be published, unless it went to redb.
    pub(super) fn into_own(self) -> Pending {
        self.own
    }
}

impl Trees for Staged<'_, '_> {
    fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        match &self.direct {
            Some(direct) => direct.get(tree, key),
            None => self.own.get(&self.layer, tree, key),
        }
    }

    fn scan(&self, tree: TreeId, range: Range<'_>, reverse: bool, visit: &mut Visitor<'_>) -> Result<()> {
        match &self.direct {
            Some(direct) => direct.scan(tree, range, reverse, visit),
            None => self.own.scan(&self.layer, tree, range, reverse, visit),
        }
    }

    fn entries(&self, tree: TreeId) -> Result<u64> {
        match &self.direct {
            Some(direct) => direct.entries(tree),
            None => self.own.entries(&self.layer, tree),
        }
    }
}

impl Transaction for Staged<'_, '_> {
    fn apply(&mut self, pending: &mut Pending) -> Result<()> {
        self.changes.add(pending);
        if self.direct.is_none() && !pending.clears() && self.may_be_kept(pending) {
            self.own.absorb(pending);
            return Ok(());
        }
        let applied = self.go_direct().and_then(|direct| direct.apply(pending));
        applied.map_err(|fault| explained(fault, &self.store.paged))
    }
}
