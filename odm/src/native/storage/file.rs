//! The store of `native:` directories: redb, and a log in front of it.
//!
//! The catalog and all indexes live in one redb table under composite keys (tree, then key): a small commit
//! then changes one B-tree for all of them. The records of each collection have a table of their own, where
//! what is appended fills its pages; in the middle of a table they would stay half empty.
//!
//! Between redb and the file are [`Shadow`] and [`Paged`]: the one keeps a failed disk from doing harm, the
//! other keeps damaged pages from redb. [`Log`] makes commits durable.

mod commit;
mod directory;
mod fault;
mod snapshot;
mod transaction;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use redb::backends::FileBackend;
use redb::{Builder, Database, ReadableDatabase, StorageBackend, TableDefinition, TableError};

use self::directory::{create_directory, open_file, sync_directory};
use self::fault::{closed, explained, fault, io_fault, opening};
use self::snapshot::{FileSnapshot, get};
use self::transaction::FileTransaction;
use super::format::log::{MARK_KEY, Mark};
use super::log::{Log, LogLimits, replay};
use super::paged::Paged;
use super::shadow::Shadow;
use super::{Failure, Finish, Snapshot, Store, Transaction, Trees, format};
use crate::native::fault::Result;

/// The file's name in its directory.
pub(crate) const FILE_NAME: &str = "odm.db";

/// The name of the log beside it.
pub(crate) const LOG_FILE_NAME: &str = "odm.log";

const TREES: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("trees");

/// The table of the mark.
const LOG: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("log");

/// The bytes of a tree's id before a key of the shared table.
const TREE_BYTES: usize = 4;

/// A store in two files.
#[derive(Debug)]
pub(crate) struct FileStore {
    /// Taken only when the store is dropped.
    database: Option<Database>,
    shadow: Shadow,
    paged: Paged,
    log: Log,
}

impl FileStore {
    /// Opens the store in a directory; creates it and the files when they are missing, readable by the owner only.
    ///
    /// # Errors
    /// Class `Locked` when another engine has it open, in this process or in another; `Corrupt` when it is
    /// damaged, or its files do not belong together; `Unsupported` when a file is not an engine's or of a newer
    /// format; `Io`.
    pub(crate) fn open(directory: &Path, cache_bytes: usize) -> Result<FileStore> {
        FileStore::open_with(directory, cache_bytes, LogLimits::default())
    }

    /// Opens the store in a directory with a log of another size.
    pub(crate) fn open_with(directory: &Path, cache_bytes: usize, limits: LogLimits) -> Result<FileStore> {
        create_directory(directory).map_err(|error| io_fault("cannot create the directory", &error))?;
        let file = |name: &str| {
            open_file(&directory.join(name))
                .map_err(|error| io_fault("cannot open the database file", &error))
        };
        let database = FileBackend::new(file(FILE_NAME)?).map_err(opening)?;
        let log = FileBackend::new(file(LOG_FILE_NAME)?).map_err(opening)?;
        let store = FileStore::with_backends(Box::new(database), Box::new(log), cache_bytes, limits)?;
        // The files' names must survive a power loss as their content does.
        sync_directory(directory).map_err(|error| io_fault("cannot sync the directory", &error))?;
        Ok(store)
    }

    /// Opens the store that two backends hold.
    pub(crate) fn with_backends(
        database: Box<dyn StorageBackend>,
        log: Box<dyn StorageBackend>,
        cache_bytes: usize,
        limits: LogLimits,
    ) -> Result<FileStore> {
        let paged = Paged::new(database);
        let shadow = Shadow::new(Box::new(paged.clone()));
        FileStore::assemble(shadow, paged, Log::new(log, limits), cache_bytes)
    }

    /// A store whose commits are redb's own, with or without our checksums, to see what those and the log cost.
    #[cfg(test)]
    pub(crate) fn bare(directory: &Path, cache_bytes: usize, checked: bool) -> Result<FileStore> {
        create_directory(directory).unwrap();
        let file: Box<dyn StorageBackend> =
            Box::new(FileBackend::new(open_file(&directory.join(FILE_NAME)).unwrap()).unwrap());
        let unused = || Box::new(redb::backends::InMemoryBackend::new());
        let limits = LogLimits {
            largest: 0,
            ..LogLimits::default()
        };
        let log = Log::new(unused(), limits);
        if checked {
            let paged = Paged::new(file);
            return FileStore::assemble(Shadow::new(Box::new(paged.clone())), paged, log, cache_bytes);
        }
        FileStore::assemble(Shadow::new(file), Paged::new(unused()), log, cache_bytes)
    }

    fn assemble(shadow: Shadow, paged: Paged, log: Log, cache_bytes: usize) -> Result<FileStore> {
        let database = Builder::new()
            .set_cache_size(cache_bytes)
            .create_with_backend(shadow.clone())
            .map_err(|error| match shadow.failure() {
                // redb does not know of it, and what it makes of the file then is no damage.
                Some(failure) => io_fault("cannot open the database file", &failure),
                None => opening(error),
            })?;
        paged.distrust();
        let store = FileStore {
            database: Some(database),
            shadow,
            paged,
            log,
        };
        let recovered = store.recover().map_err(|fault| explained(fault, &store.paged));
        if let Err(fault) = recovered {
            // Closing must not make durable what was not recovered to the end.
            store.log.state().abandon();
            return Err(fault);
        }
        Ok(store)
    }

    fn database(&self) -> Result<&Database> {
        self.database.as_ref().ok_or_else(closed)
    }

    /// Brings the file up to the end of its log; makes what a new file must have.
    fn recover(&self) -> Result<()> {
        let log_fault = |error| io_fault("cannot read the log", &error);
        let (mark, complete) = self.stored_mark()?;
        let mark = match mark {
            Some(mark) => mark,
            None => self
                .log
                .first_mark(bson::Uuid::new().bytes())
                .map_err(log_fault)?,
        };
        if !complete {
            self.commit_mark(&mut |transaction| {
                transaction
                    .open_table(TREES)
                    .map_err(|error| fault(error.into()))?;
                Ok(mark)
            })?;
        }
        let records = self.log.adopt(mark).map_err(log_fault)?;
        if mark.used {
            let mut recovered = mark;
            self.commit_mark(&mut |transaction| {
                let mut unused = Default::default();
                let mut trees = FileTransaction::new(transaction, &self.paged, &mut unused)?;
                recovered = Mark {
                    generation: mark.generation + 1,
                    sequence: replay(&mark, &records, &mut |pending| trees.apply(pending))?,
                    used: false,
                    ..mark
                };
                Ok(recovered)
            })?;
            self.log
                .restart(&mut self.log.state(), recovered)
                .map_err(|error| io_fault("cannot write to the log", &error))?;
        }
        Ok(())
    }

    /// The mark, if there is one, and whether the tables are there too.
    fn stored_mark(&self) -> Result<(Option<Mark>, bool)> {
        let read = self
            .database()?
            .begin_read()
            .map_err(|error| fault(error.into()))?;
        let table = |definition| match read.open_table(definition) {
            Ok(table) => Ok(Some(table)),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(fault(error.into())),
        };
        let stored = match table(LOG)? {
            Some(table) => get(&table, MARK_KEY)?,
            None => None,
        };
        let mark = match stored {
            Some(stored) => Some(
                Mark::unseal(&stored)
                    .ok_or_else(|| format::damaged("the mark of the log is damaged".to_owned()))?,
            ),
            None => None,
        };
        Ok((mark, mark.is_some() && table(TREES)?.is_some()))
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
}

impl Drop for FileStore {
    fn drop(&mut self) {
        // Closing a damaged file can panic; there is nothing to save then that is not saved.
        let released = catch_unwind(AssertUnwindSafe(|| self.release()));
        if !matches!(released, Ok(true)) {
            self.shadow
                .stop(std::io::Error::other("the database was not closed"));
        }
        let database = self.database.take();
        let _ = catch_unwind(AssertUnwindSafe(|| drop(database)));
    }
}

impl Store for FileStore {
    fn snapshot(&self) -> Result<Snapshot> {
        let explain = |fault| explained(fault, &self.paged);
        let read = self
            .database()?
            .begin_read()
            .map_err(|error| explain(fault(error.into())))?;
        Ok(Box::new(FileSnapshot::new(read, &self.paged).map_err(explain)?))
    }

    fn write(&self, body: &mut dyn FnMut(&mut dyn Transaction) -> Result<Finish>) -> Result<(), Failure> {
        self.write_and_finish(body)
    }

    fn checkpoint(&self) -> Result<(), Failure> {
        self.start_over()
    }

    fn inspect(&self, body: &mut dyn FnMut(&dyn Trees) -> Result<()>) -> Result<()> {
        self.inspect_copy(body)
            .map_err(|fault| explained(fault, &self.paged))
    }
}

const INSPECTION_CACHE_BYTES: usize = 64 * 1024 * 1024;
