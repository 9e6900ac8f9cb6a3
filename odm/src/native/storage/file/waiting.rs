//! What waits to be brought to redb: batches of committed writes, one over the other.

use std::cell::Cell;
use std::sync::Arc;

use super::snapshot::FileSnapshot;
use crate::native::fault::Result;
use crate::native::storage::recent::{Over, Recent, RecentLimits};
use crate::native::storage::{Pending, Range, TreeId, Trees, Visitor};

/// So many batches are looked into at most.
const MOST: usize = 8;

/// Writes that go to redb together.
#[derive(Debug)]
pub(super) enum Batch {
    /// Of many small commits.
    Gathered(Recent),
    /// Of one large commit, which clears no tree.
    Large(Pending),
}

impl Batch {
    /// About how much memory it takes.
    fn bytes(&self) -> usize {
        match self {
            Batch::Gathered(recent) => recent.bytes(),
            Batch::Large(pending) => pending.bytes(),
        }
    }
}

/// Batches, the oldest first. A copy costs nothing and stays as it is.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting(Option<Arc<Vec<Arc<Batch>>>>);

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(super) fn len(&self) -> usize {
        self.batches().len()
    }

    /// The oldest first.
    pub(super) fn batches(&self) -> &[Arc<Batch>] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }

    pub(super) fn has_large(&self) -> bool {
        let is_large = |batch: &Arc<Batch>| matches!(**batch, Batch::Large(_));
        self.batches().iter().any(is_large)
    }

    /// Whether a large one of so many bytes may wait too, and what is recent before it.
    pub(super) fn has_room(&self, bytes: usize, limits: &RecentLimits) -> bool {
        let waiting: usize = self.batches().iter().map(|batch| batch.bytes()).sum();
        self.len() + 2 <= MOST && waiting.saturating_add(bytes) <= limits.waiting
    }

    /// Adds the newest.
    pub(super) fn push(&mut self, batch: Batch) {
        Arc::make_mut(self.0.get_or_insert_default()).push(Arc::new(batch));
    }

    /// The same without the `count` oldest ones.
    pub(super) fn after(&self, count: usize) -> Waiting {
        match self.batches().get(count..) {
            None | Some([]) => Waiting::default(),
            Some(rest) => Waiting(Some(Arc::new(rest.to_vec()))),
        }
    }
}

/// A state of redb with batches over it, the newest last.
pub(super) struct Stack<'a> {
    pub(super) batches: &'a [Arc<Batch>],
    pub(super) base: &'a FileSnapshot,
    /// Counts the removed entries of gathered commits that a read passes over; large ones do not stay for long.
    pub(super) passed: &'a Cell<usize>,
}

impl Stack<'_> {
    /// The newest batch, and what is below it.
    fn split(&self) -> Option<(&Batch, Stack<'_>)> {
        let (newest, batches) = self.batches.split_last()?;
        Some((newest, Stack { batches, ..*self }))
    }
}

impl Trees for Stack<'_> {
    fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.split() {
            None => self.base.get(tree, key),
            Some((Batch::Gathered(recent), below)) => {
                let passed = self.passed;
                let base = &below;
                Over { recent, base, passed }.get(tree, key)
            }
            Some((Batch::Large(pending), below)) => pending.get(&below, tree, key),
        }
    }

    fn scan(&self, tree: TreeId, range: Range<'_>, reverse: bool, visit: &mut Visitor<'_>) -> Result<()> {
        match self.split() {
            None => self.base.scan(tree, range, reverse, visit),
            Some((Batch::Gathered(recent), below)) => {
                let passed = self.passed;
                let base = &below;
                let over = Over { recent, base, passed };
                over.scan(tree, range, reverse, visit)
            }
            Some((Batch::Large(pending), below)) => pending.scan(&below, tree, range, reverse, visit),
        }
    }

    fn entries(&self, tree: TreeId) -> Result<u64> {
        match self.split() {
            None => self.base.entries(tree),
            Some((Batch::Gathered(recent), below)) => {
                let passed = self.passed;
                let base = &below;
                Over { recent, base, passed }.entries(tree)
            }
            Some((Batch::Large(pending), below)) => pending.entries(&below, tree),
        }
    }
}
