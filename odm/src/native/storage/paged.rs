//! Checksums under redb: no page that is not what was written ever reaches it.
//!
//! redb trusts what it reads: after a flipped bit it gives wrong answers or panics. Here every page of its
//! file is stored with a checksum over its bytes and its number, and a read gives the page or an error.
//! [`format`](super::format) has the layout.
//!
//! **Pages.** redb never overwrites a page that a durable commit refers to, and page and checksum are one
//! write. A page torn by a power loss therefore belongs to a commit whose fsync never returned, and redb
//! looks for such pages when it opens a file that was not closed: until [`Paged::distrust`] is called on
//! such a file a bad page reads as zeros, which redb takes for a torn one and goes back to the commit
//! before. From then on, and at once on a file that was closed or whose last commit had two phases, a bad page is an
//! error.
//!
//! **The header** is overwritten by every commit, so it has two slots, written in turn: never the one that
//! was synced last. Once that is on disk the other one gets the same header, with the next sync, and at once in a file
//! that is closed; a flipped bit in one of them then changes nothing.
//!
//! As SQLite does, this relies on a disk that leaves the bytes around a write alone when the power fails.

use std::fmt;
use std::io;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::{BackendError, StorageBackend};

use super::format::{
    self, HEADER_BYTES, Header, PAGE_BYTES, PAGE_SUM_BYTES, PREAMBLE_BYTES, SLOT_BYTES, SLOT_OFFSETS, Slot,
};

/// The checked file. Cloning shares it.
#[derive(Clone, Debug)]
pub(super) struct Paged(Arc<Pages>);

#[derive(Debug)]
struct Pages {
    file: Box<dyn StorageBackend>,
    /// Read on the first use: only then redb has locked the file.
    state: Mutex<Option<State>>,
    /// Bad pages read as zeros.
    recovering: AtomicBool,
    /// The first bad page that was read.
    damage: Mutex<Option<String>>,
}

/// Where the header is.
#[derive(Debug)]
struct State {
    /// `None` until the first one is written.
    header: Option<Header>,
    /// The slot of the last header that is on disk for sure.
    synced: Option<usize>,
    /// The slot of a later one.
    unsynced: Option<usize>,
    /// Both slots hold the header, the later one perhaps not on disk yet.
    twins: bool,
}

/// What is wrong with a file; travels inside an [`io::Error`].
#[derive(Clone, Debug)]
pub(super) enum Unreadable {
    /// Bytes are not those that were written.
    Damaged(String),
    /// Not a file of this engine.
    Foreign,
    /// A format that this version does not know.
    Newer(u32),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Damaged(what) => f.write_str(what),
            Unreadable::Foreign => f.write_str("not a database file"),
            Unreadable::Newer(version) => write!(f, "the database file has format {version}"),
        }
    }
}

impl std::error::Error for Unreadable {}

impl From<Unreadable> for io::Error {
    fn from(error: Unreadable) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}

impl Unreadable {
    /// The reason in an error that came from here.
    pub(super) fn of(error: &io::Error) -> Option<&Unreadable> {
        error.get_ref()?.downcast_ref()
    }
}

const PAGE: u64 = PAGE_BYTES as u64;
const STRIDE: u64 = (PAGE_BYTES + PAGE_SUM_BYTES) as u64;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where a page is; page 0 is the header.
fn place(page: u64) -> u64 {
    PREAMBLE_BYTES + (page - 1) * STRIDE
}

fn misplaced() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not whole pages")
}

impl Paged {
    pub(super) fn new(file: Box<dyn StorageBackend>) -> Paged {
        Paged(Arc::new(Pages {
            file,
            state: Mutex::new(None),
            recovering: AtomicBool::new(false),
            damage: Mutex::new(None),
        }))
    }

    /// From now on a bad page is an error.
    pub(super) fn distrust(&self) {
        self.0.recovering.store(false, Ordering::Release);
    }

    /// What was found damaged first, by a read that gave an error.
    pub(super) fn damage(&self) -> Option<String> {
        lock(&self.0.damage).clone()
    }

    /// The size of the file.
    pub(super) fn file_bytes(&self) -> io::Result<u64> {
        self.0.file.len()
    }

    fn damaged(&self, what: String) -> io::Error {
        lock(&self.0.damage).get_or_insert_with(|| what.clone());
        Unreadable::Damaged(what).into()
    }

    /// Calls `body` with the state, which is read from the file when it is not known yet.
    fn with_state<T>(&self, body: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        let mut state = lock(&self.0.state);
        let state = match &mut *state {
            Some(state) => state,
            unknown => unknown.insert(self.load()?),
        };
        body(state)
    }

    fn load(&self) -> io::Result<State> {
        let length = self.0.file.len()?;
        let fresh = State {
            header: None,
            synced: None,
            unsynced: None,
            twins: false,
        };
        let mut slots = [[0; SLOT_BYTES]; 2];
        for (slot, offset) in slots.iter_mut().zip(SLOT_OFFSETS) {
            if offset + SLOT_BYTES as u64 <= length {
                self.0.file.read(offset, slot)?;
            }
        }
        let found = slots.map(|slot| format::decode_slot(&slot));
        let (at, header, twins) = match &found {
            [Slot::Header(first), Slot::Header(second)] => match first.sequence >= second.sequence {
                true => (0, first, first.sequence == second.sequence),
                false => (1, second, false),
            },
            [Slot::Header(first), _] => (0, first, false),
            [_, Slot::Header(second)] => (1, second, false),
            [Slot::Newer(version), _] | [_, Slot::Newer(version)] => {
                return Err(Unreadable::Newer(*version).into());
            }
            [Slot::Damaged, _] | [_, Slot::Damaged] => {
                return Err(self.damaged("both copies of the file's header are damaged".to_owned()));
            }
            [Slot::Foreign, Slot::Foreign] => {
                // The first thing that happens to a new file is that it gets its length.
                return match self.is_blank(length)? {
                    true => Ok(fresh),
                    false => Err(Unreadable::Foreign.into()),
                };
            }
        };
        if !header.is_initialized() {
            // Creation was cut short.
            return Ok(fresh);
        }
        if length < PREAMBLE_BYTES {
            return Err(self.damaged("the file ends in its header".to_owned()));
        }
        self.0
            .recovering
            .store(header.may_lack_pages(), Ordering::Release);
        // What a killed process wrote may be known to the operating system only; the header's other slot is
        // about to be overwritten.
        self.0.file.sync_data()?;
        Ok(State {
            header: Some(header.clone()),
            synced: Some(at),
            unsynced: None,
            twins,
        })
    }

    /// Whether the file has nothing but zeros.
    fn is_blank(&self, length: u64) -> io::Result<bool> {
        let mut chunk = vec![0; 1 << 16];
        let mut offset = 0;
        while offset < length {
            let size = usize::try_from(length - offset).map_or(chunk.len(), |left| left.min(chunk.len()));
            self.0.file.read(offset, &mut chunk[..size])?;
            if chunk[..size].iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            offset += size as u64;
        }
        Ok(true)
    }

    fn write_header(&self, content: &[u8]) -> io::Result<()> {
        self.with_state(|state| {
            let header = match &state.header {
                Some(header) => header.after(content),
                None => Header::first(content),
            };
            let slot = state.unsynced.unwrap_or(match state.synced {
                Some(0) => 1,
                _ => 0,
            });
            self.0
                .file
                .write(SLOT_OFFSETS[slot], &format::encode_slot(&header))?;
            state.header = Some(header);
            state.unsynced = Some(slot);
            state.twins = false;
            Ok(())
        })
    }
}

impl StorageBackend for Paged {
    fn len(&self) -> io::Result<u64> {
        self.with_state(|state| {
            if state.header.is_none() {
                return Ok(0);
            }
            let pages = self.0.file.len()?.saturating_sub(PREAMBLE_BYTES);
            if pages % STRIDE != 0 {
                return Err(self.damaged("the file ends in the middle of a page".to_owned()));
            }
            Ok(PAGE + pages / STRIDE * PAGE)
        })
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if offset == 0 && out.len() <= HEADER_BYTES {
            return self.with_state(|state| {
                let header = state.header.as_ref().ok_or(io::ErrorKind::UnexpectedEof)?;
                out.copy_from_slice(&header.content[..out.len()]);
                Ok(())
            });
        }
        let first = offset / PAGE;
        if first == 0 || !offset.is_multiple_of(PAGE) || !out.len().is_multiple_of(PAGE_BYTES) {
            return Err(misplaced());
        }
        let mut stored = vec![0; out.len() / PAGE_BYTES * STRIDE as usize];
        let mut bad = None;
        match self.0.file.read(place(first), &mut stored) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => bad = Some(first),
            Err(error) => return Err(error),
            Ok(()) => {
                for (page, (stored, out)) in stored
                    .chunks_exact(STRIDE as usize)
                    .zip(out.chunks_exact_mut(PAGE_BYTES))
                    .enumerate()
                {
                    let number = first + page as u64;
                    match format::open_page(number, stored) {
                        Some(content) => out.copy_from_slice(content),
                        None => bad = bad.or(Some(number)),
                    }
                }
            }
        }
        match bad {
            None => Ok(()),
            Some(_) if self.0.recovering.load(Ordering::Acquire) => {
                out.fill(0);
                Ok(())
            }
            Some(page) => Err(self.damaged(format!(
                "page {page} of the database file does not match its checksum"
            ))),
        }
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        if !length.is_multiple_of(PAGE) || length == 0 {
            return Err(misplaced());
        }
        self.with_state(|state| {
            if state.header.is_none() {
                // What an earlier creation that was cut short left.
                self.0.file.set_len(0)?;
            }
            self.0.file.set_len(place(length / PAGE))
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.with_state(|state| {
            self.0.file.sync_data()?;
            if let Some(slot) = state.unsynced.take() {
                state.synced = Some(slot);
            }
            if let (Some(header), Some(slot), false) = (&state.header, state.synced, state.twins) {
                self.0
                    .file
                    .write(SLOT_OFFSETS[1 - slot], &format::encode_slot(header))?;
                if header.is_closed() {
                    self.0.file.sync_data()?;
                }
                state.twins = true;
            }
            Ok(())
        })
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if offset == 0 && data.len() <= HEADER_BYTES {
            return self.write_header(data);
        }
        let first = offset / PAGE;
        if first == 0 || !offset.is_multiple_of(PAGE) || !data.len().is_multiple_of(PAGE_BYTES) {
            return Err(misplaced());
        }
        let mut stored = Vec::with_capacity(data.len() / PAGE_BYTES * STRIDE as usize);
        for (page, content) in data.chunks_exact(PAGE_BYTES).enumerate() {
            format::seal_page(first + page as u64, content, &mut stored);
        }
        self.0.file.write(place(first), &stored)
    }

    fn close(&self) -> io::Result<()> {
        self.0.file.close()
    }

    super::locks::forward_locks!();
}
