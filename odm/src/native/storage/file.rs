//! The store of `native:` directories: redb, and a log in front of it.
//!
//! The catalog and all indexes live in one redb table under composite keys (tree, then key): a small commit
//! then changes one B-tree for all of them. The records of each collection have a table of their own, where
//! what is appended fills its pages; in the middle of a table they would stay half empty.
//!
//! What is committed is kept beside redb at first, in an ordered map that readers lay over redb's state ([`Current`]),
//! and goes to redb many commits at once: a commit of redb costs far more than the few keys that change in it. A large
//! commit is kept as it is, and goes there at once while others write.
//!
//! Between redb and the file are [`Shadow`] and [`Paged`]: the one keeps a failed disk from doing harm, the
//! other keeps damaged pages from redb. [`Log`] makes commits durable.

pub(crate) mod aside;
mod commit;
mod compact;
mod current;
pub(crate) mod directory;
mod fault;
mod figures;
mod recover;
mod snapshot;
mod sorted;
mod staged;
mod transaction;
mod waiting;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex};

use redb::{Builder, Database, ReadableDatabase, StorageBackend, TableDefinition};

use self::compact::COMPACTED_NAME;
use self::current::{Current, Layer};
use self::directory::{Directory, Place, ReadOnlyDirectory, create_directory};
use self::fault::{closed, explained, fault, io_fault, locked, opening};
use self::snapshot::FileSnapshot;
use super::counted::{Counted, Counts};
use super::log::{Log, LogLimits};
use super::paged::Paged;
use super::recent::RecentLimits;
use super::shadow::Shadow;
use super::{Due, Failure, Figures, Finish, Snapshot, Space, Store, Transaction, Trees, format};
use crate::native::fault::{Class, Fault, Result};

/// The file's name in its directory.
pub(crate) const FILE_NAME: &str = "odm.db";

/// The name of the log beside it.
pub(crate) const LOG_FILE_NAME: &str = "odm.log";

const TREES: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("trees");

/// The table of the mark.
const LOG: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("log");

/// The bytes of a tree's id before a key of the shared table.
const TREE_BYTES: usize = 4;

/// How much is kept of what.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) log: LogLimits,
    pub(crate) recent: RecentLimits,
}

/// A store in two files.
#[derive(Debug)]
pub(crate) struct FileStore {
    /// Before redb's database, which its snapshot must not outlive.
    current: Current,
    /// Taken only when the store is closed.
    database: Option<Database>,
    /// Held by whoever has redb's write transaction.
    flushing: Mutex<()>,
    limits: Limits,
    shadow: Shadow,
    paged: Paged,
    log: Log,
    /// Of both files.
    counts: Arc<Counts>,
    cache_bytes: usize,
    /// Where the files are; none when there is only one, and nothing takes its place.
    place: Option<Arc<dyn Place>>,
}

/// What is between redb and a file.
#[derive(Debug)]
struct Layers {
    shadow: Shadow,
    paged: Paged,
    counts: Arc<Counts>,
}

impl Layers {
    fn new(file: Box<dyn StorageBackend>, counts: Arc<Counts>) -> Layers {
        let paged = Paged::new(Box::new(Counted::new(file, counts.clone())));
        Layers {
            shadow: Shadow::new(Box::new(paged.clone())),
            paged,
            counts,
        }
    }

    /// Opens the file, which is locked from now on.
    fn open(&self, cache_bytes: usize) -> Result<Database> {
        let database = Builder::new()
            .set_cache_size(cache_bytes)
            .create_with_backend(self.shadow.clone())
            .map_err(|error| match self.shadow.failure() {
                // redb does not know of it, and what it makes of the file then is no damage.
                Some(failure) => io_fault("cannot open the database file", &failure),
                None => opening(error),
            })?;
        self.paged.distrust();
        Ok(database)
    }

    /// An error when not all that was written is in the file.
    fn check_written(&self) -> Result<()> {
        written(&self.shadow)
    }
}

/// The fault of opening a directory, with its name.
fn in_directory(fault: Fault, directory: &Path) -> Fault {
    match fault.class() {
        Class::Locked => locked(directory),
        Class::Io => fault.prefixed(&format!("the database in {}: ", directory.display())),
        _ => fault,
    }
}

fn written(shadow: &Shadow) -> Result<()> {
    match shadow.failure() {
        None => Ok(()),
        Some(error) => Err(io_fault("cannot write the new file", &error)),
    }
}

impl FileStore {
    /// Opens the store in a directory; creates it and the files when they are missing, readable by the owner only.
    ///
    /// # Errors
    /// Class `Locked` when another engine has it open, in this process or in another; `Corrupt` when it is
    /// damaged, or its files do not belong together; `Unsupported` when a file is not an engine's or of a newer
    /// format; `Io`.
    pub(crate) fn open(directory: &Path, cache_bytes: usize) -> Result<FileStore> {
        FileStore::open_with(directory, cache_bytes, Limits::default())
    }

    /// Opens the store in a directory with other limits.
    pub(crate) fn open_with(directory: &Path, cache_bytes: usize, limits: Limits) -> Result<FileStore> {
        let place = Arc::new(Directory(directory.to_owned()));
        create_directory(directory)
            .map_err(|error| io_fault("cannot create the directory", &error))
            .and_then(|()| FileStore::open_at(place, cache_bytes, limits))
            .map_err(|fault| in_directory(fault, directory))
    }

    /// Opens the store in a directory to read what its commits have left. Nothing of the directory is changed: what the
    /// log has, and whatever is written, is kept in memory.
    ///
    /// # Errors
    /// As [`open`](FileStore::open); class `Io` also when there is none.
    pub(crate) fn open_to_read(directory: &Path, cache_bytes: usize) -> Result<FileStore> {
        let place = Arc::new(ReadOnlyDirectory(directory.to_owned()));
        FileStore::open_at(place, cache_bytes, Limits::default())
            .map_err(|fault| in_directory(fault, directory))
    }

    /// Opens the store whose files are at a place.
    pub(crate) fn open_at(place: Arc<dyn Place>, cache_bytes: usize, limits: Limits) -> Result<FileStore> {
        let file = |name: &str| {
            place
                .open(name)
                .map_err(|error| io_fault("cannot open the database file", &error))
        };
        let counts = Arc::<Counts>::default();
        let store = loop {
            let (database, identity) = file(FILE_NAME)?;
            let (log, _) = file(LOG_FILE_NAME)?;
            let log = Log::new(Arc::new(Counted::new(log, counts.clone())), limits.log);
            let store = FileStore::over(Layers::new(database, counts.clone()), log, cache_bytes, limits)?;
            // A compaction may have put another file in its place before this one was locked: the log is that
            // one's then.
            if place.identity(FILE_NAME) == identity {
                break store;
            }
        };
        let store = store.recovered()?.at(&place);
        place
            .remove(COMPACTED_NAME)
            .map_err(|error| io_fault("cannot remove what a compaction left", &error))?;
        // The files' names must survive a power loss as their content does.
        place
            .sync()
            .map_err(|error| io_fault("cannot sync the directory", &error))?;
        Ok(store)
    }

    /// A store in one file alone, without a log.
    pub(crate) fn alone(file: Box<dyn StorageBackend>, cache_bytes: usize) -> Result<FileStore> {
        let layers = Layers::new(file, Arc::default());
        FileStore::over(layers, Log::unused(), cache_bytes, Limits::default())?.recovered()
    }

    /// A store whose commits are redb's own, with or without our checksums, to see what those and the log cost.
    #[cfg(test)]
    pub(crate) fn bare(directory: &Path, cache_bytes: usize, checked: bool) -> Result<FileStore> {
        create_directory(directory).unwrap();
        let (file, _) = Directory(directory.to_owned()).open(FILE_NAME).unwrap();
        if checked {
            return FileStore::alone(file, cache_bytes);
        }
        let layers = Layers {
            shadow: Shadow::new(file),
            paged: Paged::new(Box::new(redb::backends::InMemoryBackend::new())),
            counts: Arc::default(),
        };
        FileStore::over(layers, Log::unused(), cache_bytes, Limits::default())?.recovered()
    }

    /// Opens and locks a file, but not yet its log.
    fn over(layers: Layers, log: Log, cache_bytes: usize, limits: Limits) -> Result<FileStore> {
        Ok(FileStore {
            current: Current::default(),
            database: Some(layers.open(cache_bytes)?),
            flushing: Mutex::default(),
            limits,
            shadow: layers.shadow,
            paged: layers.paged,
            log,
            counts: layers.counts,
            cache_bytes,
            place: None,
        })
    }

    fn at(mut self, place: &Arc<dyn Place>) -> FileStore {
        self.place = Some(place.clone());
        self
    }

    /// The last committed state.
    fn layer(&self) -> Result<Layer> {
        self.current.layer(|| self.open_snapshot())
    }

    /// What redb has.
    fn open_snapshot(&self) -> Result<FileSnapshot> {
        let explain = |fault| explained(fault, &self.paged);
        let read = self
            .database()?
            .begin_read()
            .map_err(|error| explain(fault(error.into())))?;
        FileSnapshot::new(read, &self.paged).map_err(explain)
    }

    fn database(&self) -> Result<&Database> {
        self.database.as_ref().ok_or_else(closed)
    }

    /// Opens a private copy of the file as it is on disk, after all of its pages were checked.
    fn inspect_copy(&self, body: &mut dyn FnMut(&dyn Trees) -> Result<()>) -> Result<()> {
        self.checkpoint_for_inspection()?;
        let mut copy = Builder::new()
            .set_cache_size(INSPECTION_CACHE_BYTES)
            .create_with_backend(self.shadow.private())
            .map_err(opening)?;
        if !copy.check_integrity().map_err(opening)? {
            return Err(format::damaged(
                "the store's pages do not match their checksums".to_owned(),
            ));
        }
        let read = copy.begin_read().map_err(|error| fault(error.into()))?;
        body(&FileSnapshot::new(read, &self.paged)?)
    }

    /// Closes the store.
    ///
    /// # Errors
    /// Class `Io` when not all that was written is in the file.
    pub(crate) fn close(mut self) -> Result<()> {
        self.end();
        self.check_written()
    }

    /// An error when not all that was written is in the file.
    fn check_written(&self) -> Result<()> {
        written(&self.shadow)
    }

    fn end(&mut self) {
        if self.database.is_none() {
            return;
        }
        // Closing a damaged file can panic; there is nothing to save then that is not saved.
        let released = catch_unwind(AssertUnwindSafe(|| self.release()));
        if !matches!(released, Ok(true)) {
            self.shadow.stop(io::Error::other("the database was not closed"));
        }
        self.current.close();
        let database = self.database.take();
        let _ = catch_unwind(AssertUnwindSafe(|| drop(database)));
    }
}

impl Drop for FileStore {
    fn drop(&mut self) {
        self.end();
    }
}

impl Store for FileStore {
    fn snapshot(&self) -> Result<Snapshot> {
        Ok(Box::new(self.layer()?))
    }

    fn write(&self, body: &mut dyn FnMut(&mut dyn Transaction) -> Result<Finish>) -> Result<(), Failure> {
        self.write_and_finish(body)
    }

    fn checkpoint(&self) -> Result<(), Failure> {
        self.start_over()
    }

    fn sync(&self) -> Result<bool, Failure> {
        self.sync_log()
    }

    fn is_quick(&self) -> bool {
        self.log.is_quick()
    }

    fn is_roomy(&self) -> bool {
        self.log.is_roomy()
    }

    fn due(&self) -> Due {
        self.current.due(&self.limits.recent)
    }

    fn flush(&self) -> Result<()> {
        self.flush_recent().map_err(|fault| explained(fault, &self.paged))
    }

    fn inspect(&self, body: &mut dyn FnMut(&dyn Trees) -> Result<()>) -> Result<()> {
        self.inspect_copy(body)
            .map_err(|fault| explained(fault, &self.paged))
    }

    fn compacted(&self) -> Result<Option<Arc<dyn Store>>, Failure> {
        match &self.place {
            None => Ok(None),
            Some(place) => match self.rewrite(place) {
                Ok(store) => Ok(Some(Arc::new(store))),
                Err(Failure::Before(fault)) => Err(Failure::Before(explained(fault, &self.paged))),
                Err(failure) => Err(failure),
            },
        }
    }

    fn figures(&self) -> Result<Figures> {
        self.file_figures().map_err(|fault| explained(fault, &self.paged))
    }

    fn space(&self) -> Result<Option<Space>> {
        self.file_space()
            .map(Some)
            .map_err(|fault| explained(fault, &self.paged))
    }
}

const INSPECTION_CACHE_BYTES: usize = 64 * 1024 * 1024;
