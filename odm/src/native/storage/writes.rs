//! Writes by their composite keys, in order, and made to be filled fast: most are only ever added and then taken away.
//!
//! Each tree has its own. What comes in the order of its keys is a list; so is what does not, as long as nobody looks
//! at it between two writes. Where somebody does, an ordered map takes the list's place.

use std::collections::{BTreeMap, btree_map};
use std::ops::Bound;
use std::slice;
use std::sync::OnceLock;

use super::bytes::{Key, Stored};
use super::pending::{is_before, is_behind, split};
use super::{Range, TreeId};

/// A composite key and its value; none is a removal.
pub(super) type Write = (Key, Option<Stored>);

/// The last write of each key.
#[derive(Debug, Default)]
pub(super) struct Writes {
    /// In order of their ids; none is empty.
    trees: Vec<Tree>,
    bytes: usize,
    /// Empty lists with room.
    spare: Vec<Vec<Write>>,
}

/// So many empty lists are kept, of no more room than this.
const MOST_SPARE: usize = 4;
const MOST_ROOM: usize = 16 * 1024;

#[derive(Debug)]
struct Tree {
    id: TreeId,
    entries: Entries,
}

#[derive(Debug)]
enum Entries {
    /// Their keys ascend.
    Ascending(Vec<Write>),
    /// As they came; a later one of the same key counts.
    Arrived {
        writes: Vec<Write>,
        /// The places of those that count in order of their keys, once somebody looked.
        order: OnceLock<Vec<u32>>,
    },
    Mapped(BTreeMap<Key, Option<Stored>>),
}

/// How many bytes a write has.
fn size((key, value): (&Key, &Option<Stored>)) -> usize {
    key.len() + value.as_ref().map_or(0, |value| value.len())
}

impl Writes {
    pub(super) fn is_empty(&self) -> bool {
        self.trees.is_empty()
    }

    /// Whether there are no more than this; keys that were written twice may count twice.
    pub(super) fn is_at_most(&self, count: usize) -> bool {
        self.trees.iter().map(|tree| tree.entries.len()).sum::<usize>() <= count
    }

    /// About how many bytes they have: more than none, unless they are none.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn put(&mut self, key: Key, value: Option<Stored>) {
        let key_bytes = key.len();
        self.bytes += size((&key, &value));
        if let Some(before) = self.tree_mut(&key).put(key, value) {
            self.give_back(key_bytes, &before);
        }
    }

    /// The same; gives what was written of the key before.
    pub(super) fn replace(&mut self, key: Key, value: Option<Stored>) -> Option<Option<Stored>> {
        let key_bytes = key.len();
        self.bytes += size((&key, &value));
        let before = self.tree_mut(&key).replace(key, value)?;
        self.give_back(key_bytes, &before);
        Some(before)
    }

    /// Counts a write no longer.
    fn give_back(&mut self, key_bytes: usize, value: &Option<Stored>) {
        let bytes = key_bytes + value.as_ref().map_or(0, |value| value.len());
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Forgets what is written of a key.
    pub(super) fn forget(&mut self, key: &Key) {
        let (id, _) = split(key);
        let Ok(at) = self.place(id) else { return };
        if let Some(value) = self.trees[at].entries.forget(key) {
            self.give_back(key.len(), &value);
        }
        if self.trees[at].entries.len() == 0 {
            self.trees.remove(at);
        }
    }

    /// Forgets what is written of a tree.
    pub(super) fn forget_tree(&mut self, id: TreeId) {
        if let Ok(at) = self.place(id) {
            let gone: usize = self.trees.remove(at).entries.iter().map(size).sum();
            self.bytes = self.bytes.saturating_sub(gone);
        }
    }

    /// Forgets all, and keeps some of the memory for the next ones.
    pub(super) fn clear(&mut self) {
        self.bytes = 0;
        for tree in self.trees.drain(..) {
            if self.spare.len() < MOST_SPARE {
                self.spare.extend(tree.entries.into_spare());
            }
        }
    }

    /// What is written of a key.
    pub(super) fn get(&self, key: &[u8]) -> Option<&Option<Stored>> {
        let (id, _) = split(key);
        self.tree(id)?.get(key)
    }

    pub(super) fn has_tree(&self, id: TreeId) -> bool {
        self.place(id).is_ok()
    }

    /// Those of a tree whose keys lie between two bounds; of an ordered map the first must not be behind the second.
    pub(super) fn range(&self, id: TreeId, range: Range<'_>) -> Walk<'_> {
        self.tree(id)
            .map_or(Walk::List([].iter()), |tree| tree.range(range))
    }

    /// All of them, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Key, &Option<Stored>)> {
        self.trees.iter().flat_map(|tree| tree.entries.iter())
    }

    /// Takes all of them out, in order.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Write> + use<> {
        self.bytes = 0;
        std::mem::take(&mut self.trees)
            .into_iter()
            .flat_map(|tree| tree.entries.into_list())
    }

    fn place(&self, id: TreeId) -> Result<usize, usize> {
        self.trees.binary_search_by_key(&id, |tree| tree.id)
    }

    fn tree(&self, id: TreeId) -> Option<&Entries> {
        self.place(id).ok().map(|at| &self.trees[at].entries)
    }

    /// The tree of a key that is about to be written.
    fn tree_mut(&mut self, key: &[u8]) -> &mut Entries {
        let (id, _) = split(key);
        let at = self.place(id).unwrap_or_else(|at| {
            let entries = Entries::Ascending(self.spare.pop().unwrap_or_default());
            self.trees.insert(at, Tree { id, entries });
            at
        });
        &mut self.trees[at].entries
    }
}

impl Entries {
    fn len(&self) -> usize {
        match self {
            Entries::Ascending(writes) | Entries::Arrived { writes, .. } => writes.len(),
            Entries::Mapped(map) => map.len(),
        }
    }

    /// Gives what was written of the key before, where that is known.
    fn put(&mut self, key: Key, value: Option<Stored>) -> Option<Option<Stored>> {
        match self {
            Entries::Ascending(writes) => {
                let ascends = writes.last().is_none_or(|(last, _)| *last < key);
                writes.push((key, value));
                if !ascends {
                    let writes = std::mem::take(writes);
                    let order = OnceLock::new();
                    *self = Entries::Arrived { writes, order };
                }
                None
            }
            Entries::Arrived { writes, order } if order.get().is_none() => {
                writes.push((key, value));
                None
            }
            _ => self.mapped().insert(key, value),
        }
    }

    fn replace(&mut self, key: Key, value: Option<Stored>) -> Option<Option<Stored>> {
        match self {
            Entries::Ascending(writes) if writes.last().is_none_or(|(last, _)| *last < key) => {
                writes.push((key, value));
                None
            }
            _ => self.mapped().insert(key, value),
        }
    }

    fn forget(&mut self, key: &Key) -> Option<Option<Stored>> {
        match self {
            Entries::Ascending(writes) if writes.last().is_some_and(|(last, _)| last == key) => {
                writes.pop().map(|(_, value)| value)
            }
            _ => self.mapped().remove(key),
        }
    }

    /// The map that they are from now on.
    fn mapped(&mut self) -> &mut BTreeMap<Key, Option<Stored>> {
        if let Entries::Ascending(writes) | Entries::Arrived { writes, .. } = self {
            // Of the same key the last one stays.
            *self = Entries::Mapped(std::mem::take(writes).into_iter().collect());
        }
        match self {
            Entries::Mapped(map) => map,
            _ => unreachable!("it has just become one"),
        }
    }

    fn get(&self, key: &[u8]) -> Option<&Option<Stored>> {
        match self {
            Entries::Ascending(writes) => {
                let found = writes.binary_search_by(|(own, _)| (**own).cmp(key)).ok()?;
                Some(&writes[found].1)
            }
            Entries::Arrived { writes, order } => {
                let order = order.get_or_init(|| in_order(writes));
                let own = |at: &u32| &writes[*at as usize];
                let found = order.binary_search_by(|at| (*own(at).0).cmp(key)).ok()?;
                Some(&own(&order[found]).1)
            }
            Entries::Mapped(map) => map.get(key),
        }
    }

    fn range(&self, range: Range<'_>) -> Walk<'_> {
        match self {
            Entries::Ascending(writes) => Walk::List(between(writes, range, |(key, _), is| is(key)).iter()),
            Entries::Arrived { writes, order } => {
                let order = order.get_or_init(|| in_order(writes));
                let own = between(order, range, |at, is| is(&writes[*at as usize].0));
                Walk::Ordered(writes, own.iter())
            }
            Entries::Mapped(map) => Walk::Map(map.range::<[u8], _>(range)),
        }
    }

    /// The list without its writes, if it is one worth keeping.
    fn into_spare(self) -> Option<Vec<Write>> {
        match self {
            Entries::Ascending(mut writes) | Entries::Arrived { mut writes, .. } => {
                writes.clear();
                (writes.capacity() <= MOST_ROOM).then_some(writes)
            }
            Entries::Mapped(_) => None,
        }
    }

    fn iter(&self) -> Walk<'_> {
        self.range((Bound::Unbounded, Bound::Unbounded))
    }

    fn into_list(self) -> Vec<Write> {
        match self {
            Entries::Ascending(writes) => writes,
            Entries::Arrived { mut writes, .. } => {
                // Of the same key the last one is to stay, and the first of equal ones does.
                writes.reverse();
                writes.sort_by(|(one, _), (other, _)| one.cmp(other));
                writes.dedup_by(|(later, _), (kept, _)| later == kept);
                writes
            }
            Entries::Mapped(map) => map.into_iter().collect(),
        }
    }
}

/// The places of the writes that count, in order of their keys.
fn in_order(writes: &[Write]) -> Vec<u32> {
    // Most keys differ in the bytes behind their tree's, and comparing numbers costs less.
    let start = |key: &Key| {
        let (_, key) = split(key);
        let mut start = [0; 8];
        let length = key.len().min(start.len());
        start[..length].copy_from_slice(&key[..length]);
        u64::from_be_bytes(start)
    };
    let mut places: Vec<(u64, u32)> = writes.iter().map(|(key, _)| start(key)).zip(0..).collect();
    let key = |place: u32| &writes[place as usize].0;
    places.sort_unstable_by(|(start, one), (other_start, other)| {
        start
            .cmp(other_start)
            .then_with(|| key(*one).cmp(key(*other)))
            .then_with(|| other.cmp(one))
    });
    places.dedup_by(|(start, later), (kept_start, kept)| start == kept_start && key(*later) == key(*kept));
    places.into_iter().map(|(_, place)| place).collect()
}

/// What of a sorted list lies between two bounds.
fn between<'l, T>(
    list: &'l [T],
    range: Range<'_>,
    order: impl Fn(&T, &dyn Fn(&[u8]) -> bool) -> bool,
) -> &'l [T] {
    let start = list.partition_point(|one| order(one, &|key| !is_behind(key, range.0)));
    let list = &list[start..];
    match range.1 {
        Bound::Unbounded => list,
        to => &list[..list.partition_point(|one| order(one, &|key| is_before(key, to)))],
    }
}

/// Writes of a tree in order of their keys, from both ends.
#[derive(Debug)]
pub(super) enum Walk<'w> {
    List(slice::Iter<'w, Write>),
    Ordered(&'w [Write], slice::Iter<'w, u32>),
    Map(btree_map::Range<'w, Key, Option<Stored>>),
}

impl<'w> Iterator for Walk<'w> {
    type Item = (&'w Key, &'w Option<Stored>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Walk::List(list) => list.next().map(|(key, value)| (key, value)),
            Walk::Ordered(writes, order) => order.next().map(|at| {
                let (key, value) = &writes[*at as usize];
                (key, value)
            }),
            Walk::Map(map) => map.next(),
        }
    }
}

impl DoubleEndedIterator for Walk<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        match self {
            Walk::List(list) => list.next_back().map(|(key, value)| (key, value)),
            Walk::Ordered(writes, order) => order.next_back().map(|at| {
                let (key, value) = &writes[*at as usize];
                (key, value)
            }),
            Walk::Map(map) => map.next_back(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever order keys come in, and whoever looks at them meanwhile.
    #[test]
    fn writes_are_what_an_ordered_map_is() {
        let mut seed = 5_u64;
        let mut below = |limit: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % limit
        };
        for round in 0..400 {
            let (mut writes, mut model) = (Writes::default(), BTreeMap::<Key, Option<Stored>>::new());
            let (reads, sorted, long) = (below(3), below(2) == 0, below(4) == 0);
            for step in 0..below(60) {
                let tree = [1_u32, 9, 1 << 31][below(3) as usize];
                let number = if sorted { step } else { below(40) };
                let tail = vec![7; if long { 50 } else { number as usize % 3 }];
                let key = [&number.to_be_bytes()[5..], &tail].concat();
                let key = Key::joined(&tree.to_be_bytes(), &key);
                let value = (below(4) > 0).then(|| Stored::from(&[step as u8; 30][..below(31) as usize]));
                match below(8) {
                    0 => {
                        writes.forget(&key);
                        model.remove(&key);
                    }
                    1 => {
                        let before = writes.replace(key.clone(), value.clone());
                        assert_eq!(before, model.insert(key, value), "{round}");
                    }
                    2 if step % 9 == 0 => {
                        writes.forget_tree(TreeId(tree));
                        model.retain(|key, _| key[..4] != tree.to_be_bytes());
                    }
                    _ => {
                        writes.put(key.clone(), value.clone());
                        model.insert(key, value);
                    }
                }
                assert_eq!(writes.is_empty(), model.is_empty());
                if below(10) < reads {
                    let (one, other) = (Key::joined(&tree.to_be_bytes(), &[0, below(30) as u8]), below(40));
                    let other = Key::joined(&tree.to_be_bytes(), &[0, 0, other as u8]);
                    let (from, to) = (one.clone().min(other.clone()), one.max(other));
                    let range = (Bound::Included(&*from), Bound::Excluded(&*to));
                    let expected: Vec<_> = model.range::<[u8], _>(range).collect();
                    let found: Vec<_> = writes.range(TreeId(tree), range).collect();
                    assert_eq!(found, expected, "{round}");
                    let found: Vec<_> = writes.range(TreeId(tree), range).rev().collect();
                    assert!(found.iter().eq(expected.iter().rev()), "{round}");
                    assert_eq!(writes.get(&from), model.get(&from));
                    assert_eq!(writes.get(&to), model.get(&to));
                    let has = model.keys().any(|key| key[..4] == tree.to_be_bytes());
                    assert_eq!(writes.has_tree(TreeId(tree)), has);
                }
            }
            assert!(writes.iter().eq(model.iter()), "{round}");
            let bytes: usize = model.iter().map(size).sum();
            assert!(writes.bytes() >= bytes && (writes.bytes() == 0) == model.is_empty());
            assert!(writes.is_at_most(60) && (model.is_empty() || !writes.is_at_most(model.len() - 1)));
            assert!(writes.take().eq(model), "{round}");
            assert!(writes.is_empty() && writes.bytes() == 0);
        }
    }
}
