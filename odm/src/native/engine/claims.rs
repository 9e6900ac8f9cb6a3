//! Which keys running transactions hold, and which keys were written since their snapshots began.
//!
//! Keys are kept as 64-bit hashes of tree and key: two keys with the same hash would be taken for one, which
//! costs a needless retry and nothing else.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::job::Job;
use crate::native::storage::TreeId;

/// A key as claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Claim(u64);

impl Claim {
    pub(super) fn new(tree: TreeId, key: &[u8]) -> Claim {
        Claim(xxh3_64_with_seed(key, u64::from(tree.0)))
    }
}

/// Claims are hashes already.
#[derive(Default)]
pub(super) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64(bytes);
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

type ClaimMap<V> = HashMap<Claim, V, BuildHasherDefault<Identity>>;

/// A running transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TransactionId(u64);

/// All claims of an engine.
#[derive(Default)]
pub(super) struct Claims {
    last: u64,
    held: ClaimMap<TransactionId>,
    /// The commit that last wrote a key: for every commit later than the oldest running snapshot, and for
    /// the batch that is being written now.
    recent: ClaimMap<u64>,
    prune_above: usize,
    /// How many running transactions have this snapshot.
    snapshots: BTreeMap<u64, usize>,
    /// Single operations that wait for a transaction.
    waiting: HashMap<TransactionId, Vec<Box<dyn Job>>>,
}

impl Claims {
    /// Registers a transaction on the snapshot of this commit.
    pub(super) fn begin(&mut self, sequence: u64) -> TransactionId {
        self.last += 1;
        *self.snapshots.entry(sequence).or_default() += 1;
        TransactionId(self.last)
    }

    /// Claims a key for a transaction: `false` when somebody else was first. `true` also when it held the
    /// key before; `held` gets it once.
    pub(super) fn claim(
        &mut self,
        transaction: TransactionId,
        sequence: u64,
        claim: Claim,
        held: &mut Vec<Claim>,
    ) -> bool {
        match self.held.get(&claim) {
            Some(owner) => *owner == transaction,
            None if self.recent.get(&claim).is_some_and(|commit| *commit > sequence) => false,
            None => {
                self.held.insert(claim, transaction);
                held.push(claim);
                true
            }
        }
    }

    /// How many transactions are running.
    pub(super) fn running(&self) -> usize {
        self.snapshots.values().sum()
    }

    /// Whether a running transaction holds the key.
    pub(super) fn is_held(&self, claim: Claim) -> bool {
        !self.held.is_empty() && self.held.contains_key(&claim)
    }

    /// Notes that the commit in progress writes the key; gives what was noted before.
    pub(super) fn note(&mut self, claim: Claim, sequence: u64) -> Option<u64> {
        self.recent.insert(claim, sequence)
    }

    /// Takes a note back.
    pub(super) fn restore(&mut self, claim: Claim, before: Option<u64>) {
        match before {
            Some(sequence) => self.recent.insert(claim, sequence),
            None => self.recent.remove(&claim),
        };
    }

    /// Lets a job wait for the transaction that holds the key; gives it back when there is none any more.
    pub(super) fn wait(&mut self, claim: Claim, job: Box<dyn Job>) -> Option<Box<dyn Job>> {
        match self.held.get(&claim) {
            None => Some(job),
            Some(owner) => {
                self.waiting.entry(*owner).or_default().push(job);
                None
            }
        }
    }

    /// Forgets a transaction; gives the jobs that waited for it.
    pub(super) fn end(
        &mut self,
        transaction: TransactionId,
        sequence: u64,
        held: &[Claim],
    ) -> Vec<Box<dyn Job>> {
        for claim in held {
            self.held.remove(claim);
        }
        if let Some(count) = self.snapshots.get_mut(&sequence) {
            *count -= 1;
            if *count == 0 {
                self.snapshots.remove(&sequence);
            }
        }
        self.waiting.remove(&transaction).unwrap_or_default()
    }

    /// Forgets commits that no running transaction can conflict with, when `committed` is the last one and
    /// none is in progress.
    pub(super) fn prune(&mut self, committed: u64) {
        if self.recent.is_empty() {
            return;
        }
        match self.snapshots.keys().next() {
            Some(&oldest) if oldest < committed => {
                // Key by key it only pays when much can have become stale.
                if self.recent.len() > self.prune_above.max(PRUNE_ABOVE) {
                    self.recent.retain(|_, commit| *commit > oldest);
                    self.prune_above = self.recent.len() * 2;
                }
            }
            // Clearing costs by capacity: what a bulk write left is given back.
            _ if self.recent.capacity() > PRUNE_ABOVE => self.recent = ClaimMap::default(),
            _ => self.recent.clear(),
        }
    }
}

const PRUNE_ABOVE: usize = 4_000;

impl std::fmt::Debug for Claims {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Claims")
            .field("held", &self.held.len())
            .field("recent", &self.recent.len())
            .finish_non_exhaustive()
    }
}
