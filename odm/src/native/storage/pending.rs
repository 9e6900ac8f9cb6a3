//! Writes that are not yet in the store: an ordered overlay over a state.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::{Bound, ControlFlow};

use super::bytes::{Key, Stored};
use super::writes::{Write, Writes};
use super::{ALL, LOOK_UP, Range, TreeId, Trees, Visitor, visited};
use crate::native::fault::Result;

/// Puts, removals and cleared trees, in order of tree and key.
///
/// A cleared tree hides everything below the overlay; puts after the clearing are kept.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    cleared: BTreeSet<TreeId>,
    writes: Writes,
}

/// What takes writes back.
#[derive(Debug, Default)]
pub(crate) struct Undo {
    /// Whether there was something before them; all that there is is taken back otherwise.
    is_over_others: bool,
    /// What was there before each of them, in their order; where nothing was before them, as long as a part of them may
    /// be taken back alone.
    steps: Option<Vec<(Key, Option<Option<Stored>>)>>,
}

impl Undo {
    /// Begins a part of the writes, which [`Pending::undo_part`] takes back alone.
    pub(crate) fn begin_part(&mut self) -> usize {
        self.steps.get_or_insert_default().len()
    }

    /// Ends a part that stays.
    pub(crate) fn end_part(&mut self) {
        if !self.is_over_others {
            self.steps = None;
        }
    }
}

/// Room for a composite key without allocation.
const INLINE: usize = 128;

/// Tree and key as one byte string; a short one is not allocated.
pub(crate) enum Composite {
    Inline([u8; INLINE], usize),
    Allocated(Vec<u8>),
}

impl Composite {
    #[inline]
    pub(crate) fn new(tree: TreeId, key: &[u8]) -> Composite {
        let length = 4 + key.len();
        if length > INLINE {
            return Composite::Allocated(composite(tree, key));
        }
        let mut buffer = [0u8; INLINE];
        buffer[..4].copy_from_slice(&tree.0.to_be_bytes());
        buffer[4..length].copy_from_slice(key);
        Composite::Inline(buffer, length)
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Composite::Inline(buffer, length) => &buffer[..*length],
            Composite::Allocated(bytes) => bytes,
        }
    }
}

/// Calls `body` with tree and key as one byte string.
#[inline]
pub(crate) fn with_composite<T>(tree: TreeId, key: &[u8], body: impl FnOnce(&[u8]) -> T) -> T {
    body(Composite::new(tree, key).as_slice())
}

/// Tree and key as one byte string, to be kept.
#[inline]
fn owned(tree: TreeId, key: &[u8]) -> Key {
    Key::joined(&tree.0.to_be_bytes(), key)
}

/// Tree and key as one byte string.
pub(crate) fn composite(tree: TreeId, key: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 + key.len());
    bytes.extend_from_slice(&tree.0.to_be_bytes());
    bytes.extend_from_slice(key);
    bytes
}

/// The range of composite keys for a range of one tree's keys.
pub(crate) fn composite_range(tree: TreeId, range: Range<'_>) -> (Bound<Composite>, Bound<Composite>) {
    let of = |key: &[u8]| Composite::new(tree, key);
    let from = match range.0 {
        Bound::Unbounded => Bound::Included(of(&[])),
        bound => bound.map(of),
    };
    let to = match range.1 {
        Bound::Unbounded => match tree.0.checked_add(1) {
            Some(next) => Bound::Excluded(Composite::new(TreeId(next), &[])),
            None => Bound::Unbounded,
        },
        bound => bound.map(of),
    };
    (from, to)
}

/// The same range, borrowed.
pub(crate) fn as_range(bounds: &(Bound<Composite>, Bound<Composite>)) -> Range<'_> {
    (
        bounds.0.as_ref().map(Composite::as_slice),
        bounds.1.as_ref().map(Composite::as_slice),
    )
}

/// The tree and the key of a composite key.
pub(crate) fn split(composite: &[u8]) -> (TreeId, &[u8]) {
    match composite.split_first_chunk() {
        Some((tree, key)) => (TreeId(u32::from_be_bytes(*tree)), key),
        None => (TreeId::CATALOG, composite),
    }
}

/// Whether no key can lie in the range; an ordered map refuses such ranges.
pub(crate) fn is_empty_range<K: Ord + ?Sized>(range: (Bound<&K>, Bound<&K>)) -> bool {
    match range {
        (Bound::Included(from), Bound::Included(to)) => from > to,
        (Bound::Included(from) | Bound::Excluded(from), Bound::Excluded(to))
        | (Bound::Excluded(from), Bound::Included(to)) => from >= to,
        _ => false,
    }
}

impl Pending {
    /// Whether there is nothing to apply.
    pub(crate) fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.cleared.is_empty()
    }

    /// Whether there are no more writes than this.
    pub(crate) fn is_at_most(&self, count: usize) -> bool {
        self.writes.is_at_most(count)
    }

    /// About how many bytes the writes have; more than none when there is anything to apply.
    pub(crate) fn bytes(&self) -> usize {
        self.cleared.len() + self.writes.bytes()
    }

    /// Whether a key of the tree is written, or the tree cleared.
    pub(crate) fn touches(&self, tree: TreeId) -> bool {
        self.cleared.contains(&tree) || self.writes.has_tree(tree)
    }

    pub(crate) fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) {
        self.writes.put(owned(tree, key), Some(value.into()));
    }

    pub(crate) fn remove(&mut self, tree: TreeId, key: &[u8]) {
        self.writes.put(owned(tree, key), None);
    }

    /// What takes back the writes that come now.
    pub(crate) fn begin_undo(&self) -> Undo {
        let is_over_others = !self.is_empty();
        Undo {
            is_over_others,
            steps: is_over_others.then(Vec::new),
        }
    }

    /// Puts a value, or removes the key.
    pub(crate) fn put_undoable(&mut self, tree: TreeId, key: &[u8], value: Option<&[u8]>, undo: &mut Undo) {
        let key = owned(tree, key);
        let value = value.map(Stored::from);
        match &mut undo.steps {
            None => self.writes.put(key, value),
            Some(steps) => {
                let before = self.writes.replace(key.clone(), value);
                steps.push((key, before));
            }
        }
    }

    /// Keeps what is written of a key that is about to be written otherwise.
    pub(crate) fn keep_for_undo(&self, tree: TreeId, key: &[u8], undo: &mut Undo) {
        if let Some(steps) = &mut undo.steps {
            let key = owned(tree, key);
            let before = self.writes.get(&key).cloned();
            steps.push((key, before));
        }
    }

    /// Takes writes back. No tree was cleared since they began.
    pub(crate) fn undo(&mut self, undo: Undo) {
        match undo.is_over_others {
            false => self.reset(),
            true => self.take_back(undo.steps.unwrap_or_default().into_iter()),
        }
    }

    /// Takes back the part of the writes that began with this step.
    pub(crate) fn undo_part(&mut self, undo: &mut Undo, from: usize) {
        if let Some(steps) = &mut undo.steps {
            self.take_back(steps.drain(from.min(steps.len())..));
        }
        undo.end_part();
    }

    fn take_back(&mut self, steps: impl DoubleEndedIterator<Item = (Key, Option<Option<Stored>>)>) {
        for (key, before) in steps.rev() {
            match before {
                Some(value) => drop(self.writes.replace(key, value)),
                None => self.writes.forget(&key),
            }
        }
    }

    /// The keys that are put.
    pub(crate) fn puts(&self) -> impl Iterator<Item = (TreeId, &[u8])> {
        let put = self.writes.iter().filter(|(_, value)| value.is_some());
        put.map(|(key, _)| split(key))
    }

    pub(crate) fn clear(&mut self, tree: TreeId) {
        self.writes.forget_tree(tree);
        self.cleared.insert(tree);
    }

    /// Takes over later writes.
    pub(crate) fn absorb(&mut self, later: &mut Pending) {
        if self.is_empty() {
            std::mem::swap(self, later);
            return;
        }
        for tree in std::mem::take(&mut later.cleared) {
            self.clear(tree);
        }
        for (key, value) in later.writes.take() {
            self.writes.put(key, value);
        }
    }

    /// Whether a tree is cleared.
    pub(crate) fn clears(&self) -> bool {
        !self.cleared.is_empty()
    }

    /// Forgets everything.
    pub(crate) fn reset(&mut self) {
        self.cleared.clear();
        self.writes.clear();
    }

    /// The trees to clear before the writes.
    pub(crate) fn cleared(&self) -> impl Iterator<Item = TreeId> + '_ {
        self.cleared.iter().copied()
    }

    /// Composite keys in order, with their values; `None` removes.
    pub(crate) fn writes(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.writes.iter().map(shown)
    }

    /// Takes the writes out, in order of composite keys.
    pub(crate) fn take_writes(&mut self) -> impl Iterator<Item = Write> + use<> {
        self.writes.take()
    }

    /// The value of a key over `base`.
    pub(crate) fn get(
        &self,
        base: &(impl Trees + ?Sized),
        tree: TreeId,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        if !self.writes.is_empty()
            && let Some(value) = with_composite(tree, key, |composite| self.writes.get(composite))
        {
            return Ok(value.as_ref().map(|value| value.to_vec()));
        }
        if self.cleared.contains(&tree) {
            return Ok(None);
        }
        base.get(tree, key)
    }

    /// How many entries a tree of `base` has with these writes over it.
    pub(crate) fn entries(&self, base: &(impl Trees + ?Sized), tree: TreeId) -> Result<u64> {
        let scanned = || visited(|visit| self.scan(base, tree, ALL, false, visit));
        if self.cleared.contains(&tree) {
            return scanned();
        }
        let bounds = composite_range(tree, ALL);
        let written = self.writes.range(tree, as_range(&bounds)).map(shown);
        count_over(base, tree, written, scanned)
    }

    /// Visits the entries of `base` with these writes over them.
    pub(crate) fn scan(
        &self,
        base: &(impl Trees + ?Sized),
        tree: TreeId,
        range: Range<'_>,
        reverse: bool,
        visit: &mut Visitor<'_>,
    ) -> Result<()> {
        let cleared = self.cleared.contains(&tree);
        if self.writes.is_empty() && !cleared {
            return base.scan(tree, range, reverse, visit);
        }
        if is_empty_range(range) {
            return Ok(());
        }
        let bounds = composite_range(tree, range);
        let (from, to) = as_range(&bounds);
        let base = (!cleared).then_some(base);
        // Looking for one end of a range costs half of looking for both.
        let passed = Cell::new(0);
        if reverse {
            let written = self.writes.range(tree, (Bound::Unbounded, to)).rev();
            let written = written.map(shown).take_while(|(key, _)| is_behind(key, from));
            merge(base, (tree, range, reverse), written, &passed, visit)
        } else {
            let written = self.writes.range(tree, (from, Bound::Unbounded));
            let written = written.map(shown).take_while(|(key, _)| is_before(key, to));
            merge(base, (tree, range, reverse), written, &passed, visit)
        }
    }
}

/// A write of a map of them, borrowed.
pub(super) fn shown<'w>((key, value): (&'w Key, &'w Option<Stored>)) -> (&'w [u8], Option<&'w [u8]>) {
    (key, value.as_deref())
}

/// Whether a key is not beyond the end of a range.
pub(super) fn is_before(key: &[u8], to: Bound<&[u8]>) -> bool {
    match to {
        Bound::Included(to) => key <= to,
        Bound::Excluded(to) => key < to,
        Bound::Unbounded => true,
    }
}

/// Whether a key does not come before the start of a range.
pub(super) fn is_behind(key: &[u8], from: Bound<&[u8]>) -> bool {
    match from {
        Bound::Included(from) => key >= from,
        Bound::Excluded(from) => key > from,
        Bound::Unbounded => true,
    }
}

/// How many entries a tree has with writes over it: what is written is looked up where that is quicker than a scan.
pub(super) fn count_over<'w>(
    base: &(impl Trees + ?Sized),
    tree: TreeId,
    written: impl Iterator<Item = (&'w [u8], Option<&'w [u8]>)>,
    scanned: impl FnOnce() -> Result<u64>,
) -> Result<u64> {
    let mut written = written.peekable();
    let mut entries = base.entries(tree)?;
    let mut looks = entries / LOOK_UP;
    for (key, value) in written.by_ref() {
        let Some(left) = looks.checked_sub(1) else {
            return scanned();
        };
        looks = left;
        match (base.get(tree, &key[4..])?, value) {
            (None, Some(_)) => entries += 1,
            (Some(_), None) => entries -= 1,
            _ => {}
        }
    }
    Ok(entries)
}

/// Merges the base's entries, if there is a base, with written ones that come in the same direction under composite
/// keys. `passed` counts the removed entries that are passed over.
pub(super) fn merge<'w, B: Trees + ?Sized>(
    base: Option<&B>,
    (tree, range, reverse): (TreeId, Range<'_>, bool),
    written: impl Iterator<Item = (&'w [u8], Option<&'w [u8]>)>,
    passed: &Cell<usize>,
    visit: &mut Visitor<'_>,
) -> Result<()> {
    let mut written = written.map(|(key, value)| (&key[4..], value)).peekable();
    let mut broken = false;
    if let Some(base) = base {
        if written.peek().is_none() {
            return base.scan(tree, range, reverse, visit);
        }
        base.scan(tree, range, reverse, &mut |key, value| {
            while let Some((own, change)) =
                written.next_if(|(own, _)| if reverse { *own >= key } else { *own <= key })
            {
                match change {
                    None => passed.set(passed.get() + 1),
                    Some(value) => {
                        if visit(own, value)?.is_break() {
                            broken = true;
                            return Ok(ControlFlow::Break(()));
                        }
                    }
                }
                if own == key {
                    return Ok(ControlFlow::Continue(()));
                }
            }
            let flow = visit(key, value)?;
            broken = flow.is_break();
            Ok(flow)
        })?;
    }
    if broken {
        return Ok(());
    }
    for (own, change) in written {
        match change {
            None => passed.set(passed.get() + 1),
            Some(value) => {
                if visit(own, value)?.is_break() {
                    break;
                }
            }
        }
    }
    Ok(())
}
