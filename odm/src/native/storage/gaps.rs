//! Where a state is known to have no entries.
//!
//! A queue looks for its next job where it removed the last ones. Each look passes over what was removed and still lies
//! in the store below; what one found out the next need not find out again.

use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::bytes::Key;
use super::pending::composite;
use super::{Pending, TreeId};

/// The gaps of the newest state. Whoever holds another state is told of none.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    /// Whether there are any: most databases have none, and pay nothing.
    any: AtomicBool,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    version: u64,
    gaps: Vec<Gap>,
}

/// No entry is at `from` or behind it, up to `to`; composite keys.
#[derive(Debug)]
struct Gap {
    from: Key,
    to: Key,
}

/// So many are remembered.
const MOST: usize = 8;

impl Gaps {
    /// The next state is that of the version before with these writes; without them nothing is known of it. Nobody has
    /// it yet.
    pub(super) fn follow(&self, version: u64, writes: Option<&Pending>) {
        let mut known = self.lock();
        known.version = version;
        if known.gaps.is_empty() {
            return;
        }
        match writes {
            None => known.gaps.clear(),
            Some(writes) => {
                for (key, _) in writes.writes().filter(|(_, value)| value.is_some()) {
                    for gap in known.gaps.iter_mut().filter(|gap| gap.has(key)) {
                        gap.to = Key::from(key);
                    }
                }
                known.gaps.retain(|gap| gap.from < gap.to);
            }
        }
        self.any.store(!known.gaps.is_empty(), Ordering::Release);
    }

    /// Where the first entry at `from` or behind it can be, if there is a gap; a composite key.
    pub(super) fn end_at(&self, version: u64, tree: TreeId, from: Bound<&[u8]>) -> Option<Key> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let from = start_of(tree, from);
        let known = self.lock();
        let mut gaps = known.gaps.iter().filter(|_| known.version == version);
        gaps.find(|gap| gap.has(&from)).map(|gap| gap.to.clone())
    }

    /// Notes that there is nothing from the start of a range up to the composite key `to`.
    pub(super) fn note(&self, version: u64, tree: TreeId, from: Bound<&[u8]>, to: &[u8]) {
        let from = start_of(tree, from);
        let mut known = self.lock();
        if known.version != version || *from >= *to {
            return;
        }
        let gaps = &mut known.gaps;
        match gaps.iter_mut().find(|gap| gap.has(&from)) {
            Some(gap) if *gap.to < *to => gap.to = Key::from(to),
            Some(_) => {}
            None => {
                if gaps.len() == MOST {
                    gaps.remove(0);
                }
                gaps.push(Gap {
                    from: Key::from(&*from),
                    to: Key::from(to),
                });
            }
        }
        self.any.store(true, Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gap {
    fn has(&self, key: &[u8]) -> bool {
        *self.from <= *key && *key < *self.to
    }
}

/// The first composite key of a range.
fn start_of(tree: TreeId, from: Bound<&[u8]>) -> Vec<u8> {
    match from {
        Bound::Included(key) => composite(tree, key),
        Bound::Excluded(key) => behind(tree, key),
        Bound::Unbounded => composite(tree, &[]),
    }
}

/// The first composite key behind a range; none when there is none.
pub(super) fn end_of(tree: TreeId, to: Bound<&[u8]>) -> Option<Vec<u8>> {
    match to {
        Bound::Excluded(key) => Some(composite(tree, key)),
        Bound::Included(key) => Some(behind(tree, key)),
        Bound::Unbounded => Some(composite(TreeId(tree.0.checked_add(1)?), &[])),
    }
}

fn behind(tree: TreeId, key: &[u8]) -> Vec<u8> {
    let mut next = composite(tree, key);
    next.push(0);
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: TreeId = TreeId(7);

    fn at(key: &[u8]) -> Bound<&[u8]> {
        Bound::Included(key)
    }

    fn found(gaps: &Gaps, version: u64, from: &[u8]) -> Option<Vec<u8>> {
        let end = gaps.end_at(version, TREE, at(from))?;
        let (tree, key) = super::super::pending::split(&end);
        assert_eq!(tree, TREE);
        Some(key.to_vec())
    }

    fn puts(keys: &[&[u8]]) -> Pending {
        let mut writes = Pending::default();
        for key in keys {
            writes.put(TREE, key, b"value");
        }
        writes
    }

    #[test]
    fn a_gap_holds_until_something_is_put_into_it() {
        let gaps = Gaps::default();
        assert_eq!(found(&gaps, 0, b"a"), None);
        gaps.note(0, TREE, at(b"b"), &composite(TREE, b"k"));
        assert_eq!(found(&gaps, 0, b"a"), None);
        assert_eq!(found(&gaps, 0, b"b"), Some(b"k".to_vec()));
        assert_eq!(found(&gaps, 0, b"jj"), Some(b"k".to_vec()));
        assert_eq!(found(&gaps, 0, b"k"), None);
        gaps.note(0, TREE, at(b"c"), &composite(TREE, b"m"));
        assert_eq!(found(&gaps, 0, b"b"), Some(b"m".to_vec()));

        let mut removal = Pending::default();
        removal.remove(TREE, b"d");
        gaps.follow(1, Some(&removal));
        assert_eq!(found(&gaps, 1, b"b"), Some(b"m".to_vec()));
        gaps.follow(2, Some(&puts(&[b"a", b"h", b"g", b"m"])));
        assert_eq!(found(&gaps, 2, b"b"), Some(b"g".to_vec()));
        assert_eq!(found(&gaps, 2, b"h"), None);
        gaps.follow(3, Some(&puts(&[b"b"])));
        assert_eq!(found(&gaps, 3, b"b"), None);
    }

    #[test]
    fn another_state_has_none() {
        let gaps = Gaps::default();
        gaps.note(0, TREE, at(b"b"), &composite(TREE, b"k"));
        assert_eq!(found(&gaps, 1, b"b"), None);
        gaps.follow(1, Some(&Pending::default()));
        assert_eq!(found(&gaps, 0, b"b"), None);
        assert_eq!(found(&gaps, 1, b"b"), Some(b"k".to_vec()));
        gaps.note(0, TREE, at(b"b"), &composite(TREE, b"z"));
        assert_eq!(found(&gaps, 1, b"b"), Some(b"k".to_vec()));
        gaps.follow(2, None);
        assert_eq!(found(&gaps, 2, b"b"), None);
    }

    #[test]
    fn the_oldest_is_forgotten() {
        let gaps = Gaps::default();
        for at in 0..=MOST as u8 {
            gaps.note(0, TREE, Bound::Included(&[at]), &composite(TREE, &[at, 1]));
        }
        assert_eq!(found(&gaps, 0, &[0]), None);
        assert_eq!(found(&gaps, 0, &[1]), Some(vec![1, 1]));
        assert_eq!(
            (
                end_of(TREE, Bound::Unbounded),
                end_of(TreeId(u32::MAX), Bound::Unbounded)
            ),
            (Some(composite(TreeId(8), &[])), None)
        );
    }
}
