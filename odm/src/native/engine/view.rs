//! A committed state for reading.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use crate::native::catalog::Catalog;
use crate::native::fault::Result;
use crate::native::storage::format::damaged;
use crate::native::storage::{Range, Read, Snapshot, Store, TreeId, Trees, Visitor};

/// One committed state: data and catalog of the same commit.
pub(crate) struct View {
    // Before the store: a snapshot must not outlive it.
    snapshot: Snapshot,
    catalog: Arc<Catalog>,
    /// The commit; the data may be of a later one that did not change the catalog.
    pub(super) sequence: u64,
    pub(super) since: Instant,
    _store: Arc<dyn Store>,
}

impl View {
    pub(super) fn new(store: &Arc<dyn Store>, catalog: Arc<Catalog>, sequence: u64) -> Result<View> {
        let snapshot = shielded(|| store.snapshot())?;
        Ok(View {
            snapshot,
            catalog,
            sequence,
            since: Instant::now(),
            _store: store.clone(),
        })
    }
}

impl Trees for View {
    fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        shielded(|| self.snapshot.get(tree, key))
    }

    fn scan(&self, tree: TreeId, range: Range<'_>, reverse: bool, visit: &mut Visitor<'_>) -> Result<()> {
        shielded(|| self.snapshot.scan(tree, range, reverse, visit))
    }

    fn entries(&self, tree: TreeId) -> Result<u64> {
        shielded(|| self.snapshot.entries(tree))
    }
}

impl Read for View {
    fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Trees::get(self, tree, key)
    }

    fn scan(&self, tree: TreeId, range: Range<'_>, reverse: bool, visit: &mut Visitor<'_>) -> Result<()> {
        Trees::scan(self, tree, range, reverse, visit)
    }

    fn entries(&self, tree: TreeId) -> Result<u64> {
        Trees::entries(self, tree)
    }

    fn catalog(&self) -> &Catalog {
        &self.catalog
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View")
            .field("sequence", &self.sequence)
            .finish_non_exhaustive()
    }
}

/// Runs `body`; a panic in it, which a damaged file can cause in the store, becomes a fault.
pub(super) fn shielded<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(body))
        .unwrap_or_else(|panic| Err(damaged(format!("the store failed: {}", panic_text(&*panic)))))
}

/// What a panic said.
pub(super) fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("panicked")
}
