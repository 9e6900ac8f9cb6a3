//! Ordered trees of bytes with snapshots and atomic commits: what the engine stands on.
//!
//! Two stores give the same: [`memory`] over a persistent ordered map, [`file`] over redb. A store knows
//! trees, keys and values as bytes; what they mean is decided above it. Readers see the last commit and
//! never wait; there is one writer at a time.

pub(crate) mod bytes;
mod counted;
pub(crate) mod file;
pub(crate) mod format;
mod gaps;
mod locks;
pub(crate) mod log;
pub(crate) mod memory;
mod paged;
pub(crate) mod pending;
pub(crate) mod recent;
mod shadow;
mod writes;

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use super::catalog::{Catalog, CollectionId};
use super::fault::Result;

pub(crate) use self::pending::Pending;

/// One ordered tree. Those of number 0 are the engine's own; the others are given out by the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TreeId(pub(crate) u32);

impl TreeId {
    /// The tree that holds the catalog.
    pub(crate) const CATALOG: TreeId = TreeId(0);

    /// The tree that holds the log of changes.
    pub(crate) const CHANGES: TreeId = TreeId(TreeId::RECORDS);

    const RECORDS: u32 = 1 << 31;

    /// A tree whose keys mostly grow at its end; stores keep it apart, where its pages fill up.
    pub(crate) const fn records(number: u32) -> TreeId {
        TreeId(number | TreeId::RECORDS)
    }

    /// Whether this is a tree of [`TreeId::records`].
    pub(crate) const fn is_records(self) -> bool {
        self.0 & TreeId::RECORDS != 0
    }

    /// The number, without the kind.
    pub(crate) const fn number(self) -> u32 {
        self.0 & !TreeId::RECORDS
    }
}

/// A range of keys, borrowed.
pub(crate) type Range<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// Every key of a tree.
pub(crate) const ALL: Range<'static> = (Bound::Unbounded, Bound::Unbounded);

/// Looking an entry up takes as long as so many take in a scan.
pub(crate) const LOOK_UP: u64 = 16;

/// What [`Read::scan`] calls for each key and value.
pub(crate) type Visitor<'a> = dyn FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>> + 'a;

/// Reading one consistent state: a committed one, or that of a writer with its own writes.
pub(crate) trait Read {
    /// The value stored under a key.
    fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Visits entries in key order, or in reverse, until the visitor breaks. No allocation per entry.
    fn scan(&self, tree: TreeId, range: Range<'_>, reverse: bool, visit: &mut Visitor<'_>) -> Result<()>;

    /// How many entries a tree has.
    fn entries(&self, tree: TreeId) -> Result<u64>;

    /// Which collections and indexes exist in this state.
    fn catalog(&self) -> &Catalog;
}

/// Writing on top of a state: a single operation's job, or a transaction.
///
/// A writer's own reads see its writes. Nothing is visible to others before the commit, and a job that
/// gives an error leaves nothing behind.
pub(crate) trait Write: Read {
    /// Stores a value under a key, in place of one that is there.
    fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()>;

    /// Removes a key; a missing one is no error.
    fn remove(&mut self, tree: TreeId, key: &[u8]) -> Result<()>;

    /// Reserves a key for this writer: to be called before the first write of a statement for every
    /// existing record to change (its record key) and every unique key to add or remove.
    ///
    /// # Errors
    /// In a transaction, a conflict when another running transaction holds the key or a commit later than
    /// the snapshot wrote it. In a single operation, a fault of class `Blocked` when a running transaction
    /// holds it: hand it up, the job runs again when that transaction has ended.
    fn claim(&mut self, tree: TreeId, key: &[u8]) -> Result<()>;

    /// Whether the tree is known to have no key that begins with this one. `false` says nothing.
    ///
    /// # Errors
    /// The store's.
    fn is_absent(&mut self, _tree: TreeId, _key: &[u8]) -> Result<bool> {
        Ok(false)
    }

    /// Notes the record that the key of a document's `_id` leads to. Nothing depends on it.
    fn note_place(&mut self, _tree: TreeId, _key: &[u8], _record: u64) {}

    /// Begins a part of the writes that may be taken back alone. One part at a time; a transaction has none, since what is
    /// in its way ends it.
    fn begin_part(&mut self) {}

    /// Ends the part; it is as if it had not been, unless it is kept.
    fn end_part(&mut self, _kept: bool) {}

    /// A record id that no other record of the collection has had since the engine was opened; ids grow.
    ///
    /// # Errors
    /// The collection is not in the catalog.
    fn next_record(&mut self, collection: CollectionId) -> Result<u64>;

    /// Whether the writes are a transaction's, which some collections do not take.
    fn in_transaction(&self) -> bool {
        false
    }

    /// Whether these writes have made the collection.
    fn has_made(&self, _collection: CollectionId) -> bool {
        false
    }

    /// The catalog for changing: copied on the first change, committed with the data.
    fn catalog_mut(&mut self) -> &mut Catalog;

    /// Begins the log of changes, unless it has begun.
    ///
    /// # Errors
    /// Unsupported when there is to be none, and inside a transaction.
    fn begin_log(&mut self) -> Result<()>;

    /// Whether changes are logged; if not, none need be described.
    fn is_logging(&self) -> bool;

    /// Adds a change to the log, to be committed with the writes. Nothing happens unless changes are logged.
    fn log(&mut self, change: Vec<u8>);

    /// How many changes these writes have logged so far.
    fn logged(&self) -> usize;

    /// Forgets the changes that were logged after so many: those of which a log does not tell.
    fn forget_logged(&mut self, count: usize);
}

/// A state of a store: a snapshot, or a write transaction with what was applied to it so far.
pub(crate) trait Trees {
    fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>>;

    fn scan(&self, tree: TreeId, range: Range<'_>, reverse: bool, visit: &mut Visitor<'_>) -> Result<()>;

    /// How many entries a tree has: known for trees of records, counted for others.
    fn entries(&self, tree: TreeId) -> Result<u64> {
        visited(|visit| self.scan(tree, ALL, false, visit))
    }
}

/// How many entries a scan visits.
fn visited(scan: impl FnOnce(&mut Visitor<'_>) -> Result<()>) -> Result<u64> {
    let mut count = 0;
    scan(&mut |_, _| {
        count += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(count)
}

/// A snapshot that can be kept and shared.
pub(crate) type Snapshot = Box<dyn Trees + Send + Sync>;

/// An open write transaction of a store.
pub(crate) trait Transaction: Trees {
    /// Applies writes; they are part of the state from now on. After an error the transaction must not be
    /// committed.
    fn apply(&mut self, pending: &mut Pending) -> Result<()>;
}

/// How a write transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    /// Forget everything.
    Abort,
    /// Commit, on disk when the call returns; and all that was committed before.
    Durable,
    /// Commit, on disk with the next durable commit. If only the process ends before that, it is not lost, unless it
    /// is too large for the log or comes after such a one.
    Logged,
    /// Commit, on disk with the next durable commit.
    Relaxed,
}

/// Why a write transaction was not committed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Nothing of it will ever be seen.
    Before(super::fault::Fault),
    /// It may or may not be on disk.
    InDoubt(super::fault::Fault),
}

/// Whether a store has work that need not be done by a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Never,
    /// When nobody writes any more.
    Later,
    Now,
}

/// A key-value store.
pub(crate) trait Store: Send + Sync {
    /// The last committed state.
    fn snapshot(&self) -> Result<Snapshot>;

    /// Runs `body` in the one write transaction; its result says how to end it. An error aborts.
    fn write(&self, body: &mut dyn FnMut(&mut dyn Transaction) -> Result<Finish>) -> Result<(), Failure>;

    /// Makes all that was committed durable in the store's main file alone. A log, if there is one, starts over.
    #[cfg_attr(not(test), allow(dead_code, reason = "for whoever works on the file itself"))]
    fn checkpoint(&self) -> Result<(), Failure>;

    /// Makes commits that were [`Finish::Logged`] before this call durable, while others write. `false` when only
    /// an empty commit that is durable can.
    fn sync(&self) -> Result<bool, Failure> {
        Ok(false)
    }

    /// Whether the next small durable commit can be expected to keep who makes it waiting no longer than its own work
    /// does: the disk has answered at once for a while, and nothing else is due with it.
    fn is_quick(&self) -> bool {
        false
    }

    /// Whether the next small commit that is [`Finish::Logged`] can be expected to need no fsync.
    fn is_roomy(&self) -> bool {
        true
    }

    /// Whether it is time for [`Store::flush`].
    fn due(&self) -> Due {
        Due::Never
    }

    /// Brings what was committed lately into the form that is read fastest, while others write. Changes nothing
    /// that can be seen, and makes nothing durable.
    ///
    /// # Errors
    /// What was committed can be read all the same.
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    /// Calls `body` with the state as it is on disk, after the store's own integrity check. The caller
    /// makes sure that nobody writes meanwhile.
    fn inspect(&self, body: &mut dyn FnMut(&dyn Trees) -> Result<()>) -> Result<()>;

    /// The last committed state, durable, in a new store without unused space that has taken this one's place;
    /// none where there is no space to give back. The caller makes sure that nobody writes meanwhile, and never
    /// writes to this store again. Its snapshots stay as they are; when it goes, it leaves its successor alone.
    ///
    /// # Errors
    /// Before: this store is as it was. In doubt: which of the two is found after a crash is not known.
    fn compacted(&self) -> Result<Option<Arc<dyn Store>>, Failure> {
        Ok(None)
    }

    /// What the store can say of itself.
    fn figures(&self) -> Result<Figures> {
        Ok(Figures::default())
    }

    /// What the bytes of the file are used for, if there is one. Reads most of it.
    fn space(&self) -> Result<Option<Space>> {
        Ok(None)
    }
}

/// What a store says of itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    /// None when there is no file.
    pub(crate) file: Option<FileFigures>,
    /// Bytes of a log beside the file.
    pub(crate) log_bytes: Option<u64>,
}

/// What a file holds, and what was asked of it since it was opened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FileFigures {
    /// Bytes of the file.
    pub(crate) bytes: u64,
    pub(crate) page_bytes: u64,
    pub(crate) pages: u64,
    /// Of the file and its log, as the next two.
    pub(crate) syncs: u64,
    /// Bytes.
    pub(crate) written: u64,
    /// Bytes.
    pub(crate) read: u64,
    /// The most bytes of cached pages.
    pub(crate) cache_bytes: u64,
}

/// What the bytes of a file are used for; the rest is free, or the store's own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Space {
    /// Keys and values.
    pub(crate) content: u64,
    /// What it takes to find them.
    pub(crate) overhead: u64,
    /// Room in pages that are in use.
    pub(crate) unfilled: u64,
}
