//! Where documents are, by the keys of their `_id`: what databases call an adaptive hash index.
//!
//! A place is a guess. Whoever goes there compares the `_id` of what is found in the state that is being read, and asks the
//! index when it is another one: places that are out of date, of two keys with one hash, or lost, cost time and nothing
//! else. So nothing has to be taken back, and nobody waits.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::storage::TreeId;

/// The places of an engine's documents.
#[derive(Debug)]
pub(crate) struct Places {
    /// Tables, each larger than the one before; the last one that there is counts.
    tables: [OnceLock<Box<[AtomicU64]>>; TABLES],
    /// Which one that is.
    current: AtomicUsize,
    /// The largest that there may be.
    last: usize,
    /// How many slots of the current one are in use.
    used: AtomicUsize,
    growing: Mutex<()>,
}

const TABLES: usize = 7;

/// The slots of a table.
const fn slots_of(table: usize) -> usize {
    1 << (10 + 2 * table)
}

/// A slot has a record's id and above it a part of the key's hash; zero is an empty one.
const RECORD_BITS: u32 = 36;

/// In so many slots a key is looked for. Of tables that are half full a hundredth of the keys finds no place in them.
const BUCKET: usize = 8;

/// Of so many bytes of cache one may go to places.
const PART: usize = 64;

impl Places {
    /// With so many bytes of cache beside them.
    pub(crate) fn beside(cache_bytes: usize) -> Places {
        let fits = |table: &usize| slots_of(*table) * size_of::<AtomicU64>() <= cache_bytes / PART;
        Places {
            tables: [const { OnceLock::new() }; TABLES],
            current: AtomicUsize::new(0),
            last: (0..TABLES).take_while(fits).last().unwrap_or(0),
            used: AtomicUsize::new(0),
            growing: Mutex::default(),
        }
    }

    /// The record that the key led to in the index's tree when it was last asked or put.
    pub(crate) fn of(&self, tree: TreeId, key: &[u8]) -> Option<u64> {
        let table = self.tables[self.current.load(Ordering::Acquire)].get()?;
        let hash = hash(tree, key);
        bucket(table, hash).iter().find_map(|slot| {
            let slot = slot.load(Ordering::Relaxed);
            (slot != 0 && hash_of(slot) == hash).then_some(slot & RECORDS)
        })
    }

    /// Notes the record that the key leads to.
    pub(crate) fn note(&self, tree: TreeId, key: &[u8], record: u64) {
        if record == 0 || record > RECORDS {
            return;
        }
        let current = self.current.load(Ordering::Acquire);
        let table = self.tables[current].get_or_init(|| empty(current));
        if put(table, hash(tree, key), record) {
            let used = self.used.fetch_add(1, Ordering::Relaxed);
            if used >= table.len() / 2 && current < self.last {
                self.grow(current);
            }
        }
    }

    /// Goes on with a larger table, unless somebody else does.
    fn grow(&self, current: usize) {
        let Ok(_growing) = self.growing.try_lock() else {
            return;
        };
        let (Some(old), true) = (
            self.tables[current].get(),
            self.current.load(Ordering::Relaxed) == current,
        ) else {
            return;
        };
        let mut used = 0;
        let table = self.tables[current + 1].get_or_init(|| empty(current + 1));
        for slot in old {
            let slot = slot.load(Ordering::Relaxed);
            if slot != 0 && put(table, hash_of(slot), slot & RECORDS) {
                used += 1;
            }
        }
        self.used.store(used, Ordering::Relaxed);
        self.current.store(current + 1, Ordering::Release);
    }
}

const RECORDS: u64 = (1 << RECORD_BITS) - 1;

fn empty(table: usize) -> Box<[AtomicU64]> {
    (0..slots_of(table)).map(|_| AtomicU64::new(0)).collect()
}

/// As much of a key's hash as a slot has.
fn hash(tree: TreeId, key: &[u8]) -> u64 {
    xxh3_64_with_seed(key, u64::from(tree.0)) >> RECORD_BITS
}

fn hash_of(slot: u64) -> u64 {
    slot >> RECORD_BITS
}

/// The slots that a key may be in: they are next to each other.
fn bucket(table: &[AtomicU64], hash: u64) -> &[AtomicU64] {
    let at = hash as usize & (table.len() - 1) & !(BUCKET - 1);
    table.get(at..at + BUCKET).unwrap_or_default()
}

/// Puts a record into the slot that has the hash, or an empty one, or in place of another; whether it was empty.
fn put(table: &[AtomicU64], hash: u64, record: u64) -> bool {
    let slot = hash << RECORD_BITS | record;
    let bucket = bucket(table, hash);
    let is = |wanted: fn(u64, u64) -> bool| {
        let mut slots = bucket.iter();
        slots.find(|slot| wanted(slot.load(Ordering::Relaxed), hash))
    };
    let own = is(|slot, hash| slot != 0 && hash_of(slot) == hash);
    let (place, was_empty) = match (own, is(|slot, _| slot == 0)) {
        (Some(own), _) => (Some(own), false),
        (None, Some(empty)) => (Some(empty), true),
        (None, None) => (bucket.get(hash as usize & (BUCKET - 1)), false),
    };
    if let Some(place) = place {
        place.store(slot, Ordering::Relaxed);
    }
    was_empty
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: TreeId = TreeId(5);

    fn key(number: u64) -> [u8; 8] {
        number.to_be_bytes()
    }

    #[test]
    fn places_are_remembered_while_their_tables_grow() {
        let places = Places::beside(512 << 20);
        assert_eq!(places.of(TREE, &key(1)), None);
        for number in 1..=100_000 {
            places.note(TREE, &key(number), number);
        }
        let found = |number: &u64| places.of(TREE, &key(*number)) == Some(*number);
        assert!((1..=100_000).filter(found).count() > 98_000);
        assert_eq!(places.current.load(Ordering::Relaxed), 4);
        // Of other keys, and of other trees, next to nothing is said.
        let told = |number: &u64| places.of(TREE, &key(*number)).is_some();
        assert!((200_000..300_000).filter(told).count() < 500);
        let other = |number: &u64| places.of(TreeId(6), &key(*number)).is_some();
        assert!((1..=100_000).filter(other).count() < 500);
    }

    #[test]
    fn the_last_place_of_a_key_counts() {
        let places = Places::beside(512 << 20);
        for record in [7, 9, RECORDS] {
            places.note(TREE, b"key", record);
            assert_eq!(places.of(TREE, b"key"), Some(record));
        }
        for record in [0, RECORDS + 1, u64::MAX] {
            places.note(TREE, b"key", record);
            assert_eq!(places.of(TREE, b"key"), Some(RECORDS));
        }
        assert_eq!(places.used.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn they_take_no_more_than_their_part() {
        for (cache, slots) in [
            (0, 1 << 10),
            (1 << 20, 1 << 10),
            (64 << 20, 1 << 16),
            (2 << 30, 1 << 22),
        ] {
            assert_eq!(slots_of(Places::beside(cache).last), slots, "{cache}");
        }
        let places = Places::beside(0);
        for number in 1..=10_000 {
            places.note(TREE, &key(number), number);
        }
        assert_eq!(places.current.load(Ordering::Relaxed), 0);
        // What was noted last is there.
        assert_eq!(places.of(TREE, &key(10_000)), Some(10_000));
    }

    #[test]
    fn many_may_note_at_once() {
        let places = Places::beside(512 << 20);
        std::thread::scope(|scope| {
            for first in 0..4 {
                let places = &places;
                scope.spawn(move || {
                    for number in 1..=20_000 {
                        let number = number * 4 + first;
                        places.note(TREE, &key(number), number);
                        // Another one's key may have the same hash; what is noted while tables grow may be lost.
                        assert!(
                            places
                                .of(TREE, &key(number))
                                .is_none_or(|record| record <= 80_003)
                        );
                    }
                });
            }
        });
        for number in 4..=80_003 {
            places.note(TREE, &key(number), number);
        }
        let found = |number: &u64| places.of(TREE, &key(*number)) == Some(*number);
        assert!((4..=80_003).filter(found).count() > 75_000);
    }
}
