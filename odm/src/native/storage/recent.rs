//! What was committed since the last batch went to the database file: a persistent ordered map over its state.
//!
//! A copy costs nothing and stays as it is; the writer changes the map in place as far as no copy shares it.

use std::cell::Cell;
use std::ops::Bound;

use imbl::OrdMap;

use super::bytes::{Key, Stored};
use super::pending::{
    as_range, composite_range, count_over, is_before, is_behind, is_empty_range, merge, shown, with_composite,
};
use super::{ALL, Pending, Range, TreeId, Trees, Visitor, visited};
use crate::native::fault::Result;

/// How much is kept before it goes to the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecentLimits {
    /// At so many bytes it is time.
    pub(crate) flush: usize,
    /// At so many the writer does it itself.
    pub(crate) most: usize,
    /// Larger commits are kept beside it, each as it is, and are on their way to the file at once.
    pub(crate) largest: usize,
    /// As long as there are no more bytes of those: others the writer brings there itself.
    pub(crate) waiting: usize,
    /// It is time too when reads have passed over so many removed entries: those of a queue gather where the next
    /// one is looked for.
    pub(crate) passed: usize,
}

impl Default for RecentLimits {
    fn default() -> RecentLimits {
        RecentLimits {
            flush: 4 * 1024 * 1024,
            most: 16 * 1024 * 1024,
            largest: 256 * 1024,
            waiting: 64 * 1024 * 1024,
            passed: 1_000,
        }
    }
}

/// About what an entry takes besides its key and its value.
const ENTRY_BYTES: usize = 96;

/// Writes under composite keys; none is a removal.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent {
    writes: OrdMap<Key, Option<Stored>>,
    bytes: usize,
}

/// A state with recent writes over it.
pub(super) struct Over<'a, B: ?Sized> {
    pub(super) recent: &'a Recent,
    pub(super) base: &'a B,
    /// Counts the removed entries that a read passes over.
    pub(super) passed: &'a Cell<usize>,
}

impl Recent {
    pub(super) fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// About how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes over later writes, which clear no tree.
    pub(super) fn absorb(&mut self, later: &mut Pending) {
        debug_assert!(!later.clears());
        let size = |value: &Option<Stored>| value.as_ref().map_or(0, |value| value.len());
        for (key, value) in later.take_writes() {
            let key_bytes = ENTRY_BYTES + key.len();
            self.bytes += key_bytes + size(&value);
            if let Some(old) = self.writes.insert(key, value) {
                self.bytes -= key_bytes + size(&old);
            }
        }
    }

    /// In order of their composite keys.
    pub(super) fn writes(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.writes.iter().map(shown)
    }
}

impl<B: Trees + ?Sized> Trees for Over<'_, B> {
    fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        if !self.recent.is_empty()
            && let Some(value) = with_composite(tree, key, |composite| self.recent.writes.get(composite))
        {
            return Ok(value.as_ref().map(|value| value.to_vec()));
        }
        self.base.get(tree, key)
    }

    fn entries(&self, tree: TreeId) -> Result<u64> {
        let bounds = composite_range(tree, ALL);
        let written = self.recent.writes.range::<Range<'_>, [u8]>(as_range(&bounds));
        count_over(self.base, tree, written.map(shown), || {
            visited(|visit| self.scan(tree, ALL, false, visit))
        })
    }

    fn scan(&self, tree: TreeId, range: Range<'_>, reverse: bool, visit: &mut Visitor<'_>) -> Result<()> {
        if self.recent.is_empty() {
            return self.base.scan(tree, range, reverse, visit);
        }
        if is_empty_range(range) {
            return Ok(());
        }
        let bounds = composite_range(tree, range);
        let (from, to) = as_range(&bounds);
        let writes = &self.recent.writes;
        // Looking for one end of a range costs half of looking for both.
        if reverse {
            let written = writes.range::<Range<'_>, [u8]>((Bound::Unbounded, to));
            let written = written
                .rev()
                .map(shown)
                .take_while(|(key, _)| is_behind(key, from));
            merge(
                Some(self.base),
                (tree, range, reverse),
                written,
                self.passed,
                visit,
            )
        } else {
            let written = writes.range::<Range<'_>, [u8]>((from, Bound::Unbounded));
            let written = written.map(shown).take_while(|(key, _)| is_before(key, to));
            merge(
                Some(self.base),
                (tree, range, reverse),
                written,
                self.passed,
                visit,
            )
        }
    }
}
