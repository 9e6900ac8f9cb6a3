//! The store of `memory:`: persistent ordered maps, one per tree.

use std::ops::{Bound, ControlFlow};
use std::sync::{Mutex, PoisonError, RwLock};

use imbl::OrdMap;

use super::bytes::{Key, Stored};
use super::pending::is_empty_range;
use super::{Failure, Finish, Pending, Range, Snapshot, Store, Transaction, TreeId, Trees, Visitor};
use crate::native::fault::Result;

type Tree = OrdMap<Key, Stored>;

/// A state; cloning it is O(1), changing a clone copies the path to what changes.
#[derive(Clone, Debug, Default)]
struct State(OrdMap<TreeId, Tree>);

/// A store without a file.
#[derive(Debug, Default)]
pub(crate) struct MemoryStore {
    committed: RwLock<State>,
    writer: Mutex<()>,
}

impl Trees for State {
    fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self
            .0
            .get(&tree)
            .and_then(|tree| tree.get(key))
            .map(|value| value.to_vec()))
    }

    fn scan(&self, tree: TreeId, range: Range<'_>, reverse: bool, visit: &mut Visitor<'_>) -> Result<()> {
        let Some(tree) = self.0.get(&tree) else {
            return Ok(());
        };
        if is_empty_range(range) {
            return Ok(());
        }
        let mut entries = tree.range::<(Bound<&[u8]>, Bound<&[u8]>), [u8]>(range);
        while let Some((key, value)) = if reverse {
            entries.next_back()
        } else {
            entries.next()
        } {
            if let ControlFlow::Break(()) = visit(key, value)? {
                break;
            }
        }
        Ok(())
    }

    fn entries(&self, tree: TreeId) -> Result<u64> {
        Ok(self.0.get(&tree).map_or(0, |tree| tree.len() as u64))
    }
}

impl Transaction for State {
    fn apply(&mut self, pending: &mut Pending) -> Result<()> {
        for tree in pending.cleared() {
            self.0.remove(&tree);
        }
        let mut writes = pending.take_writes().peekable();
        while let Some((key, _)) = writes.peek() {
            let prefix: [u8; 4] = [key[0], key[1], key[2], key[3]];
            let tree = self.0.entry(TreeId(u32::from_be_bytes(prefix))).or_default();
            while let Some((key, value)) = writes.next_if(|(key, _)| key[..4] == prefix) {
                match value {
                    Some(value) => {
                        tree.insert(key[4..].into(), value);
                    }
                    None => {
                        tree.remove(&key[4..]);
                    }
                }
            }
        }
        pending.reset();
        Ok(())
    }
}

impl Store for MemoryStore {
    fn snapshot(&self) -> Result<Snapshot> {
        let state = self.committed.read().unwrap_or_else(PoisonError::into_inner);
        Ok(Box::new(state.clone()))
    }

    fn write(&self, body: &mut dyn FnMut(&mut dyn Transaction) -> Result<Finish>) -> Result<(), Failure> {
        let _writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self
            .committed
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        match body(&mut state).map_err(Failure::Before)? {
            Finish::Abort => {}
            Finish::Durable | Finish::Logged | Finish::Relaxed => {
                let old = std::mem::replace(
                    &mut *self.committed.write().unwrap_or_else(PoisonError::into_inner),
                    state,
                );
                // Freeing what only the old state held may take long: not under the lock.
                drop(old);
            }
        }
        Ok(())
    }

    fn checkpoint(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn inspect(&self, body: &mut dyn FnMut(&dyn Trees) -> Result<()>) -> Result<()> {
        let state = self
            .committed
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        body(&state)
    }
}
