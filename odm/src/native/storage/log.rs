//! The log in front of redb's commits: a durable commit is one write and one fsync here.
//!
//! redb's durable commit writes every page that changed. Here the changes themselves are written, one after the
//! other, into a file that has its length already; redb gets them too, but writes them only at a checkpoint. Opening
//! the database gives redb what is in the log and not in its file. [`format::log`](super::format::log) has the bytes.
//!
//! **Which records count.** redb's file holds a [`Mark`], written by each of its durable commits: the generation and
//! the sequence of the commit that it is at. The log's records of that generation come after it. A checkpoint begins
//! the next generation, whose records overwrite those of the last one from the start.
//!
//! **Order.** The log's header gets the new generation, and is synced; then redb's durable commit gets the mark; then
//! come records of that generation. So the header is never behind the mark of a log that is in use, nor more than one
//! ahead; a log or a database file that was put in place of another does not fit. What redb commits in between is
//! never durable: after a failure its file is left alone.
//!
//! **Where it ends.** A record that is not whole is the end, unless a later one knew that it had been synced.

mod header;
mod replay;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use redb::StorageBackend;
use redb::backends::InMemoryBackend;

use super::Pending;
use super::format::log::{DatabaseId, LogHeader, Mark, RECORDS_AT, Record, RecordHead, Records};
use super::paged::Unreadable;

pub(super) use self::replay::replay;

/// How much is logged before a checkpoint, and how the file grows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogLimits {
    /// The length at first.
    pub(crate) first: u64,
    /// How much is added when that is full.
    pub(crate) step: u64,
    /// The most that the file is grown to; when it is full there is a checkpoint.
    pub(crate) most: u64,
    /// Larger commits are checkpoints themselves: their bytes are written once.
    pub(crate) largest: usize,
}

impl Default for LogLimits {
    fn default() -> LogLimits {
        LogLimits {
            first: 256 * 1024,
            step: 1024 * 1024,
            most: 16 * 1024 * 1024,
            largest: 1024 * 1024,
        }
    }
}

/// The log file.
#[derive(Debug)]
pub(super) struct Log {
    file: Arc<dyn StorageBackend>,
    limits: LogLimits,
    state: Mutex<LogState>,
    /// Held through each fsync; whether one failed. The system tells one caller of a failure, and this one the others.
    sync_failed: Mutex<bool>,
    /// How many fsyncs in a row were quick.
    quick: AtomicU32,
    /// There is room for more than a few records.
    roomy: AtomicBool,
}

/// An fsync that takes no longer is quick.
const QUICK: Duration = Duration::from_micros(20);

/// After so many quick ones the next is expected to be quick.
const QUICK_ONES: u32 = 16;

/// With less room than this the log is about to be grown, or full.
const ROOM: u64 = 64 * 1024;

/// Where the log stands. Whoever has redb's write transaction takes it.
#[derive(Debug)]
pub(super) struct LogState {
    /// As the last durable commit of redb has it.
    mark: Mark,
    /// As it is on disk; none until the log is first used.
    header: Option<LogHeader>,
    twin: Twin,
    /// Where the next record goes.
    at: u64,
    /// The last commit.
    sequence: u64,
    /// The last one that is on disk for sure.
    synced: u64,
    /// There are commits that are in redb and not in the log.
    unlogged: bool,
    /// Whether commits are to be logged, as far as is known.
    wanted: bool,
    /// A commit is in the log and not in redb, or may be.
    torn: bool,
    changes: Changes,
}

/// The second slot of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Twin {
    /// Another than the first, or what is on disk is not known.
    Stale,
    /// The same as the first, but perhaps not on disk yet.
    Written,
    Synced,
}

/// The changes of a write transaction.
#[derive(Debug, Default)]
pub(super) struct Changes {
    record: Record,
    /// Whether they are collected.
    collecting: bool,
    /// Whether there are any.
    any: bool,
    largest: usize,
}

impl Changes {
    /// Adds what is about to be applied.
    pub(super) fn add(&mut self, pending: &Pending) {
        if pending.is_empty() {
            return;
        }
        self.any = true;
        for tree in pending.cleared() {
            if self.collecting {
                self.record.clear(tree);
            }
        }
        for (composite, value) in pending.writes() {
            if !self.collecting {
                return;
            }
            self.record.write(composite, value);
            self.collecting = self.record.stride() <= self.largest;
        }
    }

    pub(super) fn any(&self) -> bool {
        self.any
    }
}

/// What a log cannot be.
fn damaged(what: impl Into<String>) -> io::Error {
    Unreadable::Damaged(what.into()).into()
}

/// A page of the operating system's cache.
const CACHE_PAGE: u64 = 4096;

impl Log {
    pub(super) fn new(file: Arc<dyn StorageBackend>, limits: LogLimits) -> Log {
        Log {
            file,
            limits,
            state: Mutex::new(LogState {
                mark: Mark {
                    id: [0; 16],
                    generation: 0,
                    sequence: 0,
                    used: false,
                },
                header: None,
                twin: Twin::Stale,
                at: RECORDS_AT,
                sequence: 0,
                synced: 0,
                unlogged: false,
                wanted: false,
                torn: false,
                changes: Changes::default(),
            }),
            sync_failed: Mutex::new(false),
            quick: AtomicU32::new(0),
            roomy: AtomicBool::new(false),
        }
    }

    /// The log of no file: it is given nothing, since every commit is too large for it.
    pub(super) fn unused() -> Log {
        let limits = LogLimits {
            largest: 0,
            ..LogLimits::default()
        };
        Log::new(Arc::new(InMemoryBackend::new()), limits)
    }

    /// The same file, for the store that takes this one's place. This one must not be written to any more.
    pub(super) fn handed_on(&self) -> Log {
        Log::new(self.file.clone(), self.limits)
    }

    /// The size of the file.
    pub(super) fn file_bytes(&self) -> io::Result<u64> {
        self.file.len()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The mark of a database that has none, whose log must be empty.
    ///
    /// # Errors
    /// There is a log: it belongs to another database.
    pub(super) fn first_mark(&self, id: DatabaseId) -> io::Result<Mark> {
        match self.read_header()? {
            None => Ok(Mark {
                id,
                generation: 0,
                sequence: 0,
                used: false,
            }),
            Some(_) => Err(damaged("the log belongs to another database")),
        }
    }

    /// Compares the log with the mark that the database file has; gives the records that are to be replayed.
    ///
    /// # Errors
    /// They do not belong together, or a part of the log is missing or damaged.
    pub(super) fn adopt(&self, mark: Mark) -> io::Result<Vec<u8>> {
        let header = self.read_header()?;
        let mut records = Vec::new();
        match header {
            None if mark.used => return Err(damaged("the log of a database that was not closed is missing")),
            None => {}
            Some(header) => {
                if header.id != mark.id {
                    return Err(damaged("the log belongs to another database"));
                }
                if mark.used && header.generation < mark.generation {
                    return Err(damaged("the log is older than the database file"));
                }
                if header.generation > mark.generation + 1 {
                    return Err(damaged("the database file is older than its log"));
                }
                let length = self.file.len()?;
                if length < header.length && mark.used {
                    return Err(damaged("the log has lost its end"));
                }
                let logged = match mark.used {
                    true => header.length,
                    // To see that the first record is not of a later generation.
                    false => header.length.min(length).min(RECORDS_AT + CACHE_PAGE),
                };
                let size = usize::try_from(logged.saturating_sub(RECORDS_AT)).unwrap_or(0);
                records.resize(size, 0);
                if size > 0 {
                    self.file.read(RECORDS_AT, &mut records)?;
                }
            }
        }
        if !mark.used && !matches!(Records::after(&mark, &records).next(), Ok(None)) {
            return Err(damaged("the database file is older than its log"));
        }
        let mut state = self.state();
        // A closed database needs no log: a header whose file is too short is as good as none.
        state.header = match header {
            Some(header) if header.length > self.file.len()? => None,
            header => header,
        };
        state.sequence = mark.sequence;
        state.synced = mark.sequence;
        state.mark = mark;
        state.changes.largest = self.limits.largest;
        Ok(records)
    }

    /// Makes the changes of the transaction that begins collectable.
    pub(super) fn begin<'a>(&self, state: &'a mut LogState) -> &'a mut Changes {
        state.changes.record.reset();
        state.changes.any = false;
        state.changes.collecting = state.mark.used && !state.unlogged;
        &mut state.changes
    }

    /// Whether the transaction's changes can go into the log: it is in use, has all that came before, and has room
    /// or can grow. `grow` allows for fsyncs.
    ///
    /// # Errors
    /// The file could not be grown, though there is space.
    pub(super) fn has_room(&self, state: &mut LogState, grow: bool) -> io::Result<bool> {
        if !state.mark.used || state.unlogged || !state.changes.collecting {
            return Ok(false);
        }
        let end = state.at + state.changes.record.stride() as u64;
        loop {
            let Some(header) = state.header else {
                return Ok(false);
            };
            if end <= header.length {
                return Ok(true);
            }
            let longer = header.length + self.limits.step;
            if !grow || longer > self.limits.most || !self.lengthen(state, longer)? {
                return Ok(false);
            }
        }
    }

    /// Writes the transaction's changes; on disk when `sync` is set. From now on until [`LogState::committed`]
    /// the log is ahead of redb.
    ///
    /// # Errors
    /// Whether the record is in the log is not known.
    pub(super) fn append(&self, state: &mut LogState, sync: bool) -> io::Result<()> {
        state.torn = true;
        let head = RecordHead {
            generation: state.mark.generation,
            sequence: state.sequence + 1,
            synced: state.synced,
        };
        let end = state.at + state.changes.record.stride() as u64;
        // Whole pages: the operating system then need not read what is there.
        let room = (end.next_multiple_of(CACHE_PAGE) - state.at) as usize;
        let bytes = state.changes.record.seal(head, &state.mark.id, room);
        self.file.write(state.at, bytes)?;
        if sync {
            self.sync_file(state)?;
            state.synced = head.sequence;
        }
        state.at = end;
        self.note_room(state);
        Ok(())
    }

    fn note_room(&self, state: &LogState) {
        let length = state.header.map_or(0, |header| header.length);
        let is_roomy = state.mark.used && state.at + ROOM <= length;
        self.roomy.store(is_roomy, Ordering::Relaxed);
    }

    /// Whether the next record is expected to fit.
    pub(super) fn is_roomy(&self) -> bool {
        self.roomy.load(Ordering::Relaxed)
    }

    /// Whether the next record is expected to be on disk at once.
    pub(super) fn is_quick(&self) -> bool {
        self.quick.load(Ordering::Relaxed) >= QUICK_ONES && self.is_roomy()
    }

    /// Makes what was appended durable.
    pub(super) fn sync(&self, state: &mut LogState) -> io::Result<()> {
        if state.synced < state.sequence {
            self.sync_file(state)?;
            state.synced = state.sequence;
        }
        Ok(())
    }

    /// Begins the generation of a mark that redb's durable commit has written.
    pub(super) fn restart(&self, state: &mut LogState, mark: Mark) -> io::Result<()> {
        state.mark = mark;
        state.sequence = mark.sequence;
        state.synced = mark.sequence;
        state.at = RECORDS_AT;
        state.unlogged = false;
        state.torn = false;
        self.note_room(state);
        match mark.used {
            true => self.write_twin(state),
            false => Ok(()),
        }
    }

    /// Makes what was appended durable, without holding up who appends. `false` when there is more to do: commits are
    /// not in the log, or it needs room.
    pub(super) fn sync_beside(&self) -> io::Result<bool> {
        let before = {
            let state = self.state();
            if state.unlogged || state.torn {
                return Ok(false);
            }
            (state.synced < state.sequence).then_some((state.sequence, state.header, state.twin))
        };
        if before.is_some() {
            self.sync_data()?;
        }
        let mut state = self.state();
        if let Some((sequence, header, twin)) = before {
            state.synced = state.synced.max(sequence);
            if state.twin == Twin::Written && (state.header, state.twin) == (header, twin) {
                state.twin = Twin::Synced;
            }
        }
        let needed = state.at + self.limits.most / 8;
        Ok(!state.mark.used || state.header.is_some_and(|header| needed <= header.length))
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut failed = self.sync_failed.lock().unwrap_or_else(PoisonError::into_inner);
        if *failed {
            return Err(io::Error::other("an earlier sync of the log failed"));
        }
        let start = Instant::now();
        self.file.sync_data().inspect_err(|_| *failed = true)?;
        let quick = match start.elapsed() <= QUICK {
            true => self.quick.load(Ordering::Relaxed).saturating_add(1),
            false => 0,
        };
        self.quick.store(quick, Ordering::Relaxed);
        Ok(())
    }

    fn sync_file(&self, state: &mut LogState) -> io::Result<()> {
        self.sync_data()?;
        if state.twin == Twin::Written {
            state.twin = Twin::Synced;
        }
        Ok(())
    }
}

impl LogState {
    /// The mark for a durable commit of redb with the transaction's changes.
    pub(super) fn next_mark(&self, used: bool) -> Mark {
        Mark {
            generation: self.mark.generation + 1,
            sequence: self.sequence + u64::from(self.changes.any),
            used,
            ..self.mark
        }
    }

    /// redb has the transaction's changes too, `logged` or not.
    pub(super) fn committed(&mut self, logged: bool) {
        self.sequence += 1;
        self.unlogged |= !logged;
        self.torn = false;
    }

    /// Commits are to be logged from now on, or not.
    pub(super) fn want(&mut self, logged: bool) {
        self.wanted = logged;
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.wanted
    }

    pub(super) fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Whether the transaction's changes are more than a record may have.
    pub(super) fn is_too_large(&self) -> bool {
        self.mark.used && !self.unlogged && !self.changes.collecting
    }

    /// Whether redb has commits that neither the log nor its own file has.
    pub(super) fn is_unlogged(&self) -> bool {
        self.unlogged
    }

    /// Whether the database file alone is not all there is.
    pub(super) fn needs_checkpoint(&self) -> bool {
        self.unlogged || self.mark.used
    }

    /// Nothing of what redb has may be made durable.
    pub(super) fn abandon(&mut self) {
        self.torn = true;
    }

    /// Whether the log may have a commit that redb does not have.
    pub(super) fn is_torn(&self) -> bool {
        self.torn
    }
}
