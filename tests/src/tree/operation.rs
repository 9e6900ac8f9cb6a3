//! What can be asked of a forest, as data.

use std::fmt::Debug;

use super::{Forest, OnDelete, Place, Refusal};
use crate::random::Random;

/// Something that is asked of a forest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation<K> {
    Insert(K, Place<K>),
    Move(K, Place<K>),
    Delete(K, OnDelete),
    Rename(K, K),
    /// The copies get the third key and its successors, in pre-order.
    Copy(K, Place<K>, K),
    /// The children, or the roots, in an order that depends on the seed alone.
    Reorder(Option<K>, u64),
}

/// Keys that operations can be generated over.
pub trait Key: Clone + Ord + Debug {
    /// Something that differs between keys.
    fn hash(&self) -> u64;
    /// A key that no other operation has.
    fn successor(&self) -> Self;
}

impl<K: Key> Operation<K> {
    /// Asks it of the reference.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn apply(&self, forest: &mut Forest<K>) -> Result<(), Refusal> {
        match self {
            Operation::Insert(key, place) => forest.insert(key.clone(), place),
            Operation::Move(key, place) => forest.shift(key, place),
            Operation::Delete(key, rule) => forest.delete(key, *rule).map(drop),
            Operation::Rename(key, new) => forest.rename(key, new.clone()),
            Operation::Copy(key, place, first) => {
                let mut next = first.clone();
                let name = |_: &K| {
                    let name = next.clone();
                    next = name.successor();
                    name
                };
                forest.copy(key, place, name).map(drop)
            }
            Operation::Reorder(parent, seed) => {
                let order = match parent {
                    Some(key) => shuffled(forest.children(key), *seed),
                    None => shuffled(forest.roots(), *seed),
                };
                forest.reorder(parent.as_ref(), order)
            }
        }
    }
}

impl Key for i64 {
    fn hash(&self) -> u64 {
        *self as u64
    }

    fn successor(&self) -> i64 {
        self + 1
    }
}

impl Key for String {
    fn hash(&self) -> u64 {
        self.bytes()
            .fold(7, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)))
    }

    fn successor(&self) -> String {
        format!("{self}+")
    }
}

/// The keys in an order that depends on the seed alone.
pub fn shuffled<K: Key>(keys: &[K], seed: u64) -> Vec<K> {
    let mut keys = keys.to_vec();
    keys.sort_by_key(|key| (Random::new(key.hash() ^ seed).bits(), key.clone()));
    keys
}
