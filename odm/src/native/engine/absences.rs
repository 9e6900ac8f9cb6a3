//! Where trees have no keys: what was looked for between two neighbours need not be looked for there again.
//!
//! Ids that grow come one behind the other, each writer's own: between the last of them and the next key of the tree
//! there is nothing.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

use crate::native::fault::Result;
use crate::native::storage::bytes::Key;
use crate::native::storage::{Pending, Range, TreeId, Visitor};

/// The gaps of the trees in which new keys were looked up. Every write goes by it: what is removed later, or was put and
/// is taken back, leaves a gap too small, which is only looked for in vain. A removal that is taken back may leave
/// one too large: then all must be forgotten.
#[derive(Debug, Default)]
pub(super) struct Absences(Vec<Tree>);

#[derive(Debug)]
struct Tree {
    id: TreeId,
    /// Gaps that do not overlap, by their first possible keys: up to a key that is not in them, or without end.
    gaps: BTreeMap<Key, Option<Key>>,
    /// How many more keys were in none of them than in one, which is worth several.
    misses: usize,
}

/// The gaps of so many trees are known.
const MOST_TREES: usize = 64;

/// So many gaps of each.
const MOST_GAPS: usize = 256;

/// After so many misses the keys are taken for random ones: of those only some are worth a gap.
const RANDOM: usize = 512;
const SOME: usize = 16;

/// A key that is in a gap saves more than one that is not costs.
const WORTH: usize = 4;

impl Absences {
    /// Forgets all: a removal, or a commit, did not happen.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }

    /// Notes that a key is put.
    pub(super) fn note(&mut self, tree: TreeId, key: &[u8]) {
        if let Some(tree) = self.0.iter_mut().find(|known| known.id == tree) {
            tree.put(key);
        }
    }

    /// Notes that all of these are put.
    pub(super) fn note_all(&mut self, pending: &Pending) {
        if self.0.is_empty() {
            return;
        }
        for (tree, key) in pending.puts() {
            self.note(tree, key);
        }
    }

    /// Whether no key of the tree begins with this one; `false` says nothing. `scan` visits the tree.
    pub(super) fn has(
        &mut self,
        tree: TreeId,
        key: &[u8],
        scan: &mut dyn FnMut(Range<'_>, &mut Visitor<'_>) -> Result<()>,
    ) -> Result<bool> {
        let at = match self.0.iter().position(|known| known.id == tree) {
            Some(at) => at,
            None => {
                if self.0.len() >= MOST_TREES {
                    self.0.clear();
                }
                self.0.push(Tree {
                    id: tree,
                    gaps: BTreeMap::new(),
                    misses: 0,
                });
                self.0.len() - 1
            }
        };
        let tree = &mut self.0[at];
        if tree.lacks(key) {
            tree.misses = tree.misses.saturating_sub(WORTH);
            return Ok(true);
        }
        tree.misses = match tree.misses < 2 * RANDOM {
            true => tree.misses + 1,
            false => RANDOM,
        };
        if tree.misses > RANDOM && !tree.misses.is_multiple_of(SOME) {
            return Ok(false);
        }
        let mut next = None;
        scan((Bound::Included(key), Bound::Unbounded), &mut |found, _| {
            next = Some(Key::from(found));
            Ok(ControlFlow::Break(()))
        })?;
        if next.as_ref().is_some_and(|next| next.starts_with(key)) {
            return Ok(false);
        }
        tree.add(key, next);
        Ok(true)
    }
}

impl Tree {
    /// Whether no key that begins with this one can be in the tree.
    fn lacks(&self, key: &[u8]) -> bool {
        match self.before(key) {
            None => false,
            Some((_, None)) => true,
            Some((_, Some(end))) => key < &**end && !end.starts_with(key),
        }
    }

    /// The gap that the key falls into begins behind it: the next one is likely to be greater.
    fn put(&mut self, key: &[u8]) {
        let Some((start, end)) = self.before(key) else {
            return;
        };
        if end.as_ref().is_some_and(|end| &**end <= key) {
            return;
        }
        let start = start.clone();
        let end = self.gaps.remove(&start).flatten();
        let behind = Key::joined(key, &[0]);
        if end.as_ref().is_none_or(|end| behind < *end) {
            self.gaps.insert(behind, end);
        }
    }

    /// The last gap that does not begin behind the key.
    fn before(&self, key: &[u8]) -> Option<(&Key, &Option<Key>)> {
        let mut before = self
            .gaps
            .range::<[u8], _>((Bound::Unbounded, Bound::Included(key)));
        before.next_back()
    }

    /// There is nothing from `start` up to `end`.
    fn add(&mut self, start: &[u8], end: Option<Key>) {
        if self.gaps.len() >= MOST_GAPS {
            self.gaps.clear();
        }
        let start = Key::from(start);
        // Those in it are parts of it.
        while let Some((inner, _)) = self.gaps.range(start.clone()..).next()
            && end.as_ref().is_none_or(|end| inner < end)
        {
            let inner = inner.clone();
            self.gaps.remove(&inner);
        }
        self.gaps.insert(start, end);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const TREE: TreeId = TreeId(7);

    /// Asks, over a tree that has these keys.
    fn ask(absences: &mut Absences, keys: &BTreeSet<Vec<u8>>, key: &[u8], looked: &mut usize) -> bool {
        let found = absences.has(TREE, key, &mut |(from, _), visit| {
            *looked += 1;
            let from = from.map(<[u8]>::to_vec);
            match keys.range((from, Bound::Unbounded)).next() {
                Some(key) => visit(key, b"").map(drop),
                None => Ok(()),
            }
        });
        found.unwrap()
    }

    #[test]
    fn sequences_between_others_are_looked_up_once_each() {
        let (mut absences, mut keys, mut looked) = (Absences::default(), BTreeSet::new(), 0);
        for number in 0..100 {
            for sequence in [b'd', b'b', b'x', b'a'] {
                let key = vec![sequence, number];
                assert!(ask(&mut absences, &keys, &key, &mut looked));
                let stored = [&key[..], &[1; 8]].concat();
                absences.note(TREE, &stored);
                keys.insert(stored);
                assert!(!ask(&mut absences, &keys, &key, &mut 0));
            }
        }
        assert_eq!(looked, 4);
    }

    #[test]
    fn nothing_is_said_of_what_is_there() {
        let mut random = 1_u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % below
        };
        let (mut absences, mut keys, mut looked) = (Absences::default(), BTreeSet::<Vec<u8>>::new(), 0);
        let mut absent = 0;
        for round in 0..20_000 {
            let length = 1 + next(3) as usize;
            let key: Vec<u8> = (0..length).map(|_| next(12) as u8).collect();
            if ask(&mut absences, &keys, &key, &mut looked) {
                absent += 1;
                assert!(
                    !keys.iter().any(|stored| stored.starts_with(&key)),
                    "{round}: {key:?}"
                );
            }
            match next(3) {
                0 => drop(keys.remove(&key)),
                _ => {
                    absences.note(TREE, &key);
                    keys.insert(key);
                }
            }
            if keys.len() > 200 {
                keys.clear();
            }
        }
        assert!(absent > 2_000 && looked < 20_000, "{absent} {looked}");
    }

    #[test]
    fn of_random_keys_only_some_are_remembered() {
        let (mut absences, mut keys, mut looked) = (Absences::default(), BTreeSet::new(), 0);
        for number in 0..10_000_u64 {
            let key = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes().to_vec();
            ask(&mut absences, &keys, &key, &mut looked);
            absences.note(TREE, &key);
            keys.insert(key);
            assert!(absences.0[0].gaps.len() <= MOST_GAPS);
        }
        assert!(looked < 2_000, "{looked}");
    }
}
