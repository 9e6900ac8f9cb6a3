//! What stands between redb and the file: after a failed write the file is left alone.
//!
//! redb refuses to read once a write or an fsync has failed, and would go on to change the file when it is
//! closed. Here the first failure is remembered, redb is told that all went well, and from then on changes
//! go to memory only: reads go on, nothing more reaches the file, and the next opening recovers the last
//! durable commit. Whoever commits must ask [`Shadow::failure`] before believing in a commit.

use std::collections::BTreeMap;
use std::io;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::{BackendError, StorageBackend};

use super::format::PAGE_BYTES;

/// The live file. Cloning shares it.
#[derive(Clone, Debug)]
pub(super) struct Shadow(Arc<Live>);

#[derive(Debug)]
struct Live {
    file: Box<dyn StorageBackend>,
    failed: AtomicBool,
    unreadable: AtomicBool,
    failure: Mutex<Option<Arc<io::Error>>>,
    /// Used from the failure on.
    memory: Mutex<Memory>,
}

/// Changes that are not in the file.
#[derive(Debug, Default)]
struct Memory {
    length: Option<u64>,
    /// Writes by offset; later ones were cut out of earlier ones.
    chunks: BTreeMap<u64, Vec<u8>>,
}

/// The file as it is on disk, with changes kept apart: for looking into it without touching it.
#[derive(Debug)]
pub(super) struct Private {
    live: Shadow,
    memory: Mutex<Memory>,
}

/// A file that is never written to: what is written is kept in memory, and gone when it is closed. Whoever reads shares
/// the file with others who do, and with nobody who writes.
#[derive(Debug)]
pub(super) struct ReadOnly {
    file: Box<dyn StorageBackend>,
    memory: Mutex<Memory>,
}

impl ReadOnly {
    pub(super) fn new(file: Box<dyn StorageBackend>) -> ReadOnly {
        ReadOnly {
            file,
            memory: Mutex::default(),
        }
    }
}

impl StorageBackend for ReadOnly {
    fn len(&self) -> io::Result<u64> {
        lock(&self.memory).len(&*self.file)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        lock(&self.memory).read(&*self.file, offset, out)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        lock(&self.memory).length = Some(length);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        lock(&self.memory).write(offset, data);
        Ok(())
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.query_lock_range(start, end)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads a file; what is past its end is zero.
fn read_or_zero(file: &dyn StorageBackend, offset: u64, out: &mut [u8]) -> io::Result<()> {
    let left = file.len()?.saturating_sub(offset);
    let present = usize::try_from(left).unwrap_or(usize::MAX).min(out.len());
    let (from_file, beyond) = out.split_at_mut(present);
    beyond.fill(0);
    match from_file.is_empty() {
        true => Ok(()),
        false => file.read(offset, from_file),
    }
}

impl Memory {
    fn write(&mut self, offset: u64, data: &[u8]) {
        let end = offset + data.len() as u64;
        let overlapping: Vec<u64> = self
            .chunks
            .range(..end)
            .rev()
            .take_while(|(start, chunk)| **start + chunk.len() as u64 > offset || **start >= offset)
            .map(|(start, _)| *start)
            .collect();
        for start in overlapping {
            let Some(chunk) = self.chunks.remove(&start) else {
                continue;
            };
            let chunk_end = start + chunk.len() as u64;
            if start < offset {
                self.chunks
                    .insert(start, chunk[..(offset - start) as usize].to_vec());
            }
            if chunk_end > end {
                self.chunks.insert(end, chunk[(end - start) as usize..].to_vec());
            }
        }
        self.chunks.insert(offset, data.to_vec());
    }

    /// Reads the file with the changes over it; what is past its end is zero. Pages that were changed are not read
    /// from the file: one whose write failed may be anything there.
    fn read(&self, file: &dyn StorageBackend, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let end = offset + out.len() as u64;
        let first = self
            .chunks
            .range(..=offset)
            .next_back()
            .map_or(offset, |(start, _)| *start);
        let changed = self.chunks.range(first..end).filter_map(|(&start, chunk)| {
            let (from, to) = (start.max(offset), (start + chunk.len() as u64).min(end));
            let content = || &chunk[(from - start) as usize..(to - start) as usize];
            (from < to).then(|| ((from - offset) as usize, content()))
        });
        let mut at = 0;
        if offset < PAGE_BYTES as u64 {
            // The header is read as a whole.
            read_or_zero(file, offset, out)?;
            at = out.len();
        }
        for (from, content) in changed {
            if at < from {
                read_or_zero(file, offset + at as u64, &mut out[at..from])?;
            }
            out[from..from + content.len()].copy_from_slice(content);
            at = at.max(from + content.len());
        }
        match at < out.len() {
            true => read_or_zero(file, offset + at as u64, &mut out[at..]),
            false => Ok(()),
        }
    }

    fn len(&self, file: &dyn StorageBackend) -> io::Result<u64> {
        match self.length {
            Some(length) => Ok(length),
            None => file.len(),
        }
    }
}

impl Shadow {
    pub(super) fn new(file: Box<dyn StorageBackend>) -> Shadow {
        Shadow(Arc::new(Live {
            file,
            failed: AtomicBool::new(false),
            unreadable: AtomicBool::new(false),
            failure: Mutex::new(None),
            memory: Mutex::default(),
        }))
    }

    /// The first failure, after which nothing more was written.
    pub(super) fn failure(&self) -> Option<Arc<io::Error>> {
        if !self.failed() {
            return None;
        }
        lock(&self.0.failure).clone()
    }

    /// Whether a read failed: redb reads nothing more.
    pub(super) fn is_unreadable(&self) -> bool {
        self.0.unreadable.load(Ordering::Relaxed)
    }

    /// The file as it is now, to be opened beside the live one.
    pub(super) fn private(&self) -> Private {
        Private {
            live: self.clone(),
            memory: Mutex::default(),
        }
    }

    /// From now on nothing more is written, as after a failure.
    pub(super) fn stop(&self, error: io::Error) {
        self.fail(error);
    }

    fn failed(&self) -> bool {
        self.0.failed.load(Ordering::Acquire)
    }

    fn fail(&self, error: io::Error) {
        lock(&self.0.failure).get_or_insert(Arc::new(error));
        self.0.failed.store(true, Ordering::Release);
    }
}

impl StorageBackend for Shadow {
    fn len(&self) -> io::Result<u64> {
        if self.failed() {
            return lock(&self.0.memory).len(&*self.0.file);
        }
        self.0.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let read = match self.failed() {
            true => lock(&self.0.memory).read(&*self.0.file, offset, out),
            false => self.0.file.read(offset, out),
        };
        if read.is_err() {
            self.0.unreadable.store(true, Ordering::Relaxed);
        }
        read
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        if !self.failed() {
            match self.0.file.set_len(length) {
                Ok(()) => return Ok(()),
                Err(error) => self.fail(error),
            }
        }
        lock(&self.0.memory).length = Some(length);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        if !self.failed()
            && let Err(error) = self.0.file.sync_data()
        {
            self.fail(error);
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if !self.failed() {
            match self.0.file.write(offset, data) {
                Ok(()) => return Ok(()),
                Err(error) => self.fail(error),
            }
        }
        lock(&self.0.memory).write(offset, data);
        Ok(())
    }

    fn close(&self) -> io::Result<()> {
        self.0.file.close()
    }

    super::locks::forward_locks!();
}

/// Takes no locks: the live backend holds them.
impl StorageBackend for Private {
    fn len(&self) -> io::Result<u64> {
        lock(&self.memory).len(&self.live)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        lock(&self.memory).read(&self.live, offset, out)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        lock(&self.memory).length = Some(length);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        lock(&self.memory).write(offset, data);
        Ok(())
    }
}
