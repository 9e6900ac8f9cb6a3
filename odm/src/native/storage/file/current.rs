//! The last committed state: what redb has, and over it what it does not have yet.

use std::cell::Cell;
use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::snapshot::FileSnapshot;
use super::waiting::{Batch, Stack, Waiting};
use crate::native::fault::Result;
use crate::native::storage::gaps::{Gaps, end_of};
use crate::native::storage::pending::{composite, is_empty_range, split};
use crate::native::storage::recent::{Over, Recent, RecentLimits};
use crate::native::storage::{Due, Pending, Range, TreeId, Trees, Visitor};

/// Whoever reads takes all parts of it at once, as a [`Layer`].
#[derive(Debug, Default)]
pub(super) struct Current(RwLock<Parts>);

#[derive(Debug, Default)]
struct Parts {
    /// Made when first asked for; none only while there is nothing over it.
    base: Option<Arc<FileSnapshot>>,
    /// On their way to redb.
    waiting: Waiting,
    recent: Recent,
    /// How many removed entries reads passed over.
    passed: Arc<AtomicUsize>,
    /// Another one for each state with other entries.
    version: u64,
    gaps: Arc<Gaps>,
}

/// A committed state.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    base: Arc<FileSnapshot>,
    waiting: Waiting,
    recent: Recent,
    passed: Arc<AtomicUsize>,
    version: u64,
    gaps: Arc<Gaps>,
}

/// So many removed entries before the first that is there are worth remembering.
const WORTHY: usize = 8;

/// Few enough writes to make readers wait for them.
const FEW: usize = 1_000;

impl Current {
    /// The state; `open` gives redb's when it is not open.
    pub(super) fn layer(&self, open: impl FnOnce() -> Result<FileSnapshot>) -> Result<Layer> {
        if let Some(layer) = self.0.read().unwrap_or_else(PoisonError::into_inner).layer() {
            return Ok(layer);
        }
        let mut parts = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let base = match &parts.base {
            Some(base) => base.clone(),
            None => {
                // There is nothing over it that could be older than what redb has by now.
                let base = Arc::new(open()?);
                parts.base = Some(base.clone());
                base
            }
        };
        Ok(parts.over(base))
    }

    /// Publishes a commit that redb does not have. Only the writer calls this, with a base there is.
    pub(super) fn publish(&self, writes: &mut Pending) {
        if writes.is_at_most(FEW) {
            let mut parts = self.0.write().unwrap_or_else(PoisonError::into_inner);
            parts.follow(Some(writes));
            parts.recent.absorb(writes);
            return;
        }
        let recent = self
            .0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .recent
            .clone();
        let mut next = recent;
        next.absorb(writes);
        let mut parts = self.0.write().unwrap_or_else(PoisonError::into_inner);
        parts.follow(None);
        let old = std::mem::replace(&mut parts.recent, next);
        drop(parts);
        drop(old);
    }

    /// Publishes a large commit that redb does not have and that clears no tree, to be brought there as it is. Only the
    /// writer calls this, with a base there is.
    pub(super) fn publish_large(&self, writes: Pending) {
        let mut parts = self.0.write().unwrap_or_else(PoisonError::into_inner);
        parts.follow(None);
        parts.set_aside();
        parts.waiting.push(Batch::Large(writes));
    }

    /// Whether a large commit of so many bytes may wait.
    pub(super) fn has_room(&self, bytes: usize, limits: &RecentLimits) -> bool {
        let parts = self.0.read().unwrap_or_else(PoisonError::into_inner);
        parts.waiting.has_room(bytes, limits)
    }

    /// What is to go to redb next: all that waits for that, and all that is recent.
    pub(super) fn set_aside(&self) -> Waiting {
        let mut parts = self.0.write().unwrap_or_else(PoisonError::into_inner);
        parts.set_aside();
        parts.waiting.clone()
    }

    /// All that redb does not have, the older first.
    pub(super) fn unflushed(&self) -> (Waiting, Recent) {
        let parts = self.0.read().unwrap_or_else(PoisonError::into_inner);
        (parts.waiting.clone(), parts.recent.clone())
    }

    /// redb has the `count` batches that waited longest; `base` is what it has.
    pub(super) fn arrived(&self, base: FileSnapshot, count: usize) {
        let gone = {
            let mut parts = self.0.write().unwrap_or_else(PoisonError::into_inner);
            parts.passed = Arc::default();
            let rest = parts.waiting.after(count);
            let arrived = std::mem::replace(&mut parts.waiting, rest);
            (parts.base.replace(Arc::new(base)), arrived)
        };
        // Ending a snapshot may take redb a while: not under the lock.
        drop(gone);
    }

    /// redb has everything; without a base its state is opened when it is asked for.
    pub(super) fn all_arrived(&self, base: Option<FileSnapshot>) {
        let gone = {
            let mut parts = self.0.write().unwrap_or_else(PoisonError::into_inner);
            parts.follow(None);
            let next = Parts {
                base: base.map(Arc::new),
                version: parts.version,
                gaps: parts.gaps.clone(),
                ..Parts::default()
            };
            std::mem::replace(&mut *parts, next)
        };
        drop(gone);
    }

    /// Gives the base up, which must not outlive redb's database.
    pub(super) fn close(&self) {
        self.all_arrived(None);
    }

    /// Whether it is time to bring to redb what is recent.
    pub(super) fn due(&self, limits: &RecentLimits) -> Due {
        let parts = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if parts.recent.is_empty() && parts.waiting.is_empty() {
            return Due::Never;
        }
        let passed = parts.passed.load(Ordering::Relaxed);
        let is_much = parts.recent.bytes() >= limits.flush || parts.waiting.has_large();
        match is_much || passed >= limits.passed {
            true => Due::Now,
            false => Due::Later,
        }
    }

    /// Whether there is more than the writer may leave to others.
    pub(super) fn is_full(&self, limits: &RecentLimits) -> bool {
        let parts = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let passed = parts.passed.load(Ordering::Relaxed);
        parts.recent.bytes() >= limits.most || passed >= limits.passed.saturating_mul(WAITED)
    }
}

/// How much longer than until it is time the writer lets others bring what is recent to redb.
const WAITED: usize = 16;

impl Parts {
    fn layer(&self) -> Option<Layer> {
        self.base.clone().map(|base| self.over(base))
    }

    fn over(&self, base: Arc<FileSnapshot>) -> Layer {
        Layer {
            base,
            waiting: self.waiting.clone(),
            recent: self.recent.clone(),
            passed: self.passed.clone(),
            version: self.version,
            gaps: self.gaps.clone(),
        }
    }

    /// Lets what is recent wait for its way to redb.
    fn set_aside(&mut self) {
        if !self.recent.is_empty() {
            self.waiting
                .push(Batch::Gathered(std::mem::take(&mut self.recent)));
        }
    }

    /// The state becomes another one, by these writes if they are given.
    fn follow(&mut self, writes: Option<&Pending>) {
        self.version += 1;
        self.gaps.follow(self.version, writes);
    }
}

impl Layer {
    /// Calls `body` with the state; counts the removed entries that it passes over.
    fn read<T>(&self, passed: &Cell<usize>, body: impl FnOnce(&dyn Trees) -> T) -> T {
        let over = |base: &dyn Trees| {
            body(&Over {
                recent: &self.recent,
                base,
                passed,
            })
        };
        match self.waiting.is_empty() {
            true => over(&*self.base),
            false => over(&Stack {
                batches: self.waiting.batches(),
                base: &self.base,
                passed,
            }),
        }
    }

    /// Visits what lies behind a gap, and remembers the gap that it finds.
    fn scan_ahead(&self, tree: TreeId, range: Range<'_>, visit: &mut Visitor<'_>) -> Result<()> {
        let start = self.gaps.end_at(self.version, tree, range.0);
        let ahead = match start.as_deref().map(split) {
            None => range,
            Some((other, _)) if other != tree => return Ok(()),
            Some((_, key)) => (Bound::Included(key), range.1),
        };
        if is_empty_range(ahead) {
            return Ok(());
        }
        let (passed, mut is_first) = (Cell::new(0), true);
        let worthy = |passed: usize| passed >= WORTHY || (passed > 0 && start.is_some());
        let scanned = self.read(&passed, |trees| {
            trees.scan(tree, ahead, false, &mut |key, value| {
                if is_first {
                    is_first = false;
                    if worthy(passed.get()) {
                        self.gaps.note(self.version, tree, range.0, &composite(tree, key));
                    }
                }
                visit(key, value)
            })
        });
        if scanned.is_ok()
            && is_first
            && worthy(passed.get())
            && let Some(end) = end_of(tree, range.1)
        {
            self.gaps.note(self.version, tree, range.0, &end);
        }
        self.note_passed(&passed);
        scanned
    }

    fn note_passed(&self, passed: &Cell<usize>) {
        if passed.get() > 0 {
            self.passed.fetch_add(passed.get(), Ordering::Relaxed);
        }
    }
}

impl Trees for Layer {
    fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.read(&Cell::default(), |trees| trees.get(tree, key))
    }

    fn scan(&self, tree: TreeId, range: Range<'_>, reverse: bool, visit: &mut Visitor<'_>) -> Result<()> {
        if self.waiting.is_empty() && self.recent.is_empty() {
            return self.base.scan(tree, range, reverse, visit);
        }
        if !reverse {
            return self.scan_ahead(tree, range, visit);
        }
        let passed = Cell::new(0);
        let scanned = self.read(&passed, |trees| trees.scan(tree, range, true, visit));
        self.note_passed(&passed);
        scanned
    }

    fn entries(&self, tree: TreeId) -> Result<u64> {
        self.read(&Cell::default(), |trees| trees.entries(tree))
    }
}
