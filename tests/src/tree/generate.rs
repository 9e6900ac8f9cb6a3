//! Random tree operations, most of which make sense.

use super::{Forest, OnDelete, Operation, Place};
use crate::random::Random;

/// Above this many nodes deletions are more frequent than insertions, so that the whole forest can be compared after
/// each step.
const CROWD: usize = 48;

/// Operations without end, chosen by a seed. It keeps a forest of its own to know which keys there are.
#[derive(Clone, Debug)]
pub struct Operations {
    random: Random,
    forest: Forest<i64>,
    next: i64,
}

impl Operations {
    /// The operations of this seed, on keys from 1.
    pub fn new(seed: u64) -> Operations {
        Operations {
            random: Random::new(seed),
            forest: Forest::default(),
            next: 1,
        }
    }

    fn fresh(&mut self) -> i64 {
        // A copy takes as many keys as the subtree has nodes.
        self.next += 10_000;
        self.next
    }

    fn some(&mut self) -> i64 {
        if self.forest.is_empty() || self.random.one_in(60) {
            return -1;
        }
        let at = self.random.below(self.forest.len());
        *self.forest.keys().nth(at).unwrap_or(&-1)
    }

    fn place(&mut self) -> Place<i64> {
        if self.forest.is_empty() || self.random.one_in(12) {
            return match self.random.below(3) {
                0 => Place::FirstRoot,
                1 => Place::LastRoot,
                _ => Place::RootAt(self.random.below(5)),
            };
        }
        let target = self.some();
        match self.random.below(7) {
            0 => Place::FirstChild(target),
            1 => Place::LastChild(target),
            2 => Place::ChildAt(target, self.random.below(5)),
            3 => Place::FirstSibling(target),
            4 => Place::LastSibling(target),
            5 => Place::Left(target),
            _ => Place::Right(target),
        }
    }

    fn rule(&mut self) -> OnDelete {
        *self.random.pick(&[
            OnDelete::Cascade,
            OnDelete::Adopt,
            OnDelete::Roots,
            OnDelete::Refuse,
        ])
    }

    fn generate(&mut self) -> Operation<i64> {
        let crowded = self.forest.len() > CROWD;
        match self.random.below(100) {
            0..=7 if crowded => Operation::Delete(self.some(), OnDelete::Cascade),
            0..=29 if !crowded => {
                let key = if self.random.one_in(40) {
                    self.some()
                } else {
                    self.fresh()
                };
                Operation::Insert(key, self.place())
            }
            0..=34 => Operation::Delete(self.some(), self.rule()),
            35..=44 => {
                let new = if self.random.one_in(10) {
                    self.some()
                } else {
                    self.fresh()
                };
                Operation::Rename(self.some(), new)
            }
            45..=49 if !crowded => {
                let first = self.fresh();
                Operation::Copy(self.some(), self.place(), first)
            }
            50..=57 => {
                let parent = (!self.random.one_in(4)).then(|| self.some());
                Operation::Reorder(parent, self.random.bits())
            }
            _ => Operation::Move(self.some(), self.place()),
        }
    }
}

impl Iterator for Operations {
    type Item = Operation<i64>;

    fn next(&mut self) -> Option<Operation<i64>> {
        let operation = self.generate();
        operation.apply(&mut self.forest).ok();
        Some(operation)
    }
}

#[test]
fn operations_reach_every_kind_and_most_succeed() {
    let mut forest = Forest::default();
    let mut refused = 0;
    let mut largest = 0;
    for operation in Operations::new(1).take(5_000) {
        refused += usize::from(operation.apply(&mut forest).is_err());
        largest = largest.max(forest.len());
    }
    assert!((250..2_000).contains(&refused), "{refused}");
    assert!((CROWD..4 * CROWD).contains(&largest), "{largest}");
}

#[test]
fn keys_are_shuffled_by_the_seed_alone() {
    use super::{Key as _, shuffled};

    let keys: Vec<i64> = (0..20).collect();
    let mut backwards = keys.clone();
    backwards.reverse();
    assert_eq!(shuffled(&keys, 5), shuffled(&backwards, 5));
    assert_ne!(shuffled(&keys, 5), shuffled(&keys, 6));
    assert!(keys.iter().all(|key| shuffled(&keys, 5).contains(key)));
    assert_eq!("a".to_owned().successor(), "a+");
}
