//! Where trees end: what is greater than all keys of a tree need not be looked up in it.

use std::ops::ControlFlow;

use crate::native::fault::Result;
use crate::native::storage::{ALL, Pending, Range, TreeId, Visitor};

/// The ends of the trees in which new keys were looked up. Every write goes by it: what is removed later, or was put and
/// is taken back, leaves an end too far behind, which is only looked for in vain. A removal that is taken back may leave
/// one too far in front: then all ends must be forgotten.
#[derive(Debug, Default)]
pub(super) struct Ends(Vec<End>);

#[derive(Debug)]
struct End {
    tree: TreeId,
    /// No key of the tree is greater; none while only one was looked up.
    greatest: Option<Vec<u8>>,
}

/// The ends of so many trees are known.
const MOST: usize = 64;

impl Ends {
    /// Forgets all: a removal, or a commit, did not happen.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }

    /// Notes that a key is put.
    pub(super) fn note(&mut self, tree: TreeId, key: &[u8]) {
        for end in &mut self.0 {
            if let Some(greatest) = &mut end.greatest
                && end.tree == tree
                && greatest.as_slice() < key
            {
                greatest.clear();
                greatest.extend_from_slice(key);
            }
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

    /// Whether the tree is known to have no key that is as great as this one. `scan` visits the tree from its end.
    pub(super) fn are_before(
        &mut self,
        tree: TreeId,
        key: &[u8],
        scan: &mut dyn FnMut(Range<'_>, &mut Visitor<'_>) -> Result<()>,
    ) -> Result<bool> {
        let Some(end) = self.0.iter_mut().find(|end| end.tree == tree) else {
            // For a single key looking for the end costs as much as looking for the key.
            if self.0.len() >= MOST {
                self.0.clear();
            }
            self.0.push(End { tree, greatest: None });
            return Ok(false);
        };
        if end.greatest.is_none() {
            let mut last = Vec::new();
            scan(ALL, &mut |key, _| {
                last.extend_from_slice(key);
                Ok(ControlFlow::Break(()))
            })?;
            end.greatest = Some(last);
        }
        Ok(end.greatest.as_deref().is_some_and(|greatest| greatest < key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_follows_what_is_put() {
        let tree = TreeId(7);
        let mut ends = Ends::default();
        let mut looked = 0;
        let mut before = |ends: &mut Ends, key: &[u8]| {
            let found = ends.are_before(tree, key, &mut |_, visit| {
                looked += 1;
                visit(b"m", b"").map(drop)
            });
            found.unwrap()
        };
        assert!(!before(&mut ends, b"n"));
        assert!(before(&mut ends, b"n") && !before(&mut ends, b"m") && !before(&mut ends, b"a"));
        ends.note(tree, b"p");
        ends.note(TreeId(8), b"z");
        assert!(!before(&mut ends, b"n") && before(&mut ends, b"q"));
        let mut pending = Pending::default();
        pending.put(tree, b"t", b"");
        pending.put(TreeId(9), b"x", b"");
        pending.remove(tree, b"y");
        ends.note_all(&pending);
        assert!(!before(&mut ends, b"s") && before(&mut ends, b"u"));
        assert_eq!(looked, 1);
    }
}
