//! The store of `native:` directories: redb.
//!
//! The catalog and all indexes live in one redb table under composite keys (tree, then key): a small commit
//! then changes one B-tree for all of them. The records of each collection have a table of their own, where
//! what is appended fills its pages; in the middle of a table they would stay half empty.
//!
//! Between redb and the file are [`Shadow`] and [`Paged`]: the one keeps a failed disk from doing harm, the
//! other keeps damaged pages from redb.

pub(crate) mod aside;
mod compact;
mod figures;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::ops::{Bound, ControlFlow};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, PoisonError, RwLock};

use redb::backends::FileBackend;
use redb::{
    Builder, Database, DatabaseError, Durability, ReadOnlyTable, ReadTransaction, ReadableDatabase,
    ReadableTable, StorageBackend, Table, TableDefinition, TableError, WriteTransaction,
};

use self::compact::COMPACTED_NAME;
use super::counted::{Counted, Counts};
use super::paged::{Paged, Unreadable};
use super::pending::{composite_range, is_empty_range, split, with_composite};
use super::shadow::Shadow;
use super::{
    Failure, Figures, Finish, Pending, Range, Snapshot, Space, Store, Transaction, TreeId, Trees, Visitor,
    format,
};
use crate::native::fault::{Class, Fault, Result, code};

/// The file's name in its directory.
pub(crate) const FILE_NAME: &str = "odm.db";

const TREES: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("trees");

/// A store in a file.
#[derive(Debug)]
pub(crate) struct FileStore {
    /// Taken only when the store is dropped.
    database: Option<Database>,
    shadow: Shadow,
    paged: Paged,
    counts: Arc<Counts>,
    cache_bytes: usize,
    /// Where the file is; none when it is no file of the system's.
    directory: Option<PathBuf>,
    /// Device and number of the file.
    identity: Option<(u64, u64)>,
}

type TreesTable<'t> = Table<'t, &'static [u8], &'static [u8]>;
type ReadTable = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// A snapshot; tables of records are opened when first read.
struct FileSnapshot {
    paged: Paged,
    shared: ReadTable,
    records: RwLock<BTreeMap<TreeId, Option<Arc<ReadTable>>>>,
    transaction: ReadTransaction,
}

/// A write transaction; tables of records are opened when first touched.
struct FileTransaction<'t> {
    paged: &'t Paged,
    shared: TreesTable<'t>,
    records: RefCell<BTreeMap<TreeId, Rc<TreesTable<'t>>>>,
    transaction: &'t WriteTransaction,
}

impl FileStore {
    /// Opens the store in a directory; creates both when they are missing, readable by the owner only.
    ///
    /// # Errors
    /// Class `Locked` when another engine has it open, in this process or in another; `Corrupt` when it is
    /// damaged; `Unsupported` when the file is not an engine's or of a newer format; `Io`.
    pub(crate) fn open(directory: &Path, cache_bytes: usize) -> Result<FileStore> {
        create_directory(directory).map_err(|error| io_fault("cannot create the directory", &error))?;
        let path = directory.join(FILE_NAME);
        let mut store = loop {
            let store = FileStore::at(&path, cache_bytes).map_err(|fault| match fault.class() {
                Class::Locked => locked(directory),
                _ => fault,
            })?;
            // A compaction may have put another file in its place before this one was locked.
            if store.is_at(&path) {
                break store;
            }
        };
        store.directory = Some(directory.to_owned());
        match std::fs::remove_file(directory.join(COMPACTED_NAME)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io_fault("cannot remove what a compaction left", &error));
            }
            _ => {}
        }
        // The file's name must survive a power loss as its content does.
        sync_directory(directory).map_err(|error| io_fault("cannot sync the directory", &error))?;
        Ok(store)
    }

    /// Opens the store that a backend holds.
    pub(crate) fn with_backend(backend: Box<dyn StorageBackend>, cache_bytes: usize) -> Result<FileStore> {
        let counts = Arc::new(Counts::default());
        let paged = Paged::new(Box::new(Counted::new(backend, counts.clone())));
        let shadow = Shadow::new(Box::new(paged.clone()));
        FileStore::assemble(shadow, paged, counts, cache_bytes)
    }

    /// A store whose pages have no checksums of ours, to see what those cost.
    #[cfg(test)]
    pub(crate) fn without_page_checksums(directory: &Path, cache_bytes: usize) -> Result<FileStore> {
        create_directory(directory).unwrap();
        let backend = FileBackend::new(open_file(&directory.join(FILE_NAME)).unwrap()).unwrap();
        let unused = Paged::new(Box::new(redb::backends::InMemoryBackend::new()));
        FileStore::assemble(
            Shadow::new(Box::new(backend)),
            unused,
            Arc::default(),
            cache_bytes,
        )
    }

    fn assemble(shadow: Shadow, paged: Paged, counts: Arc<Counts>, cache_bytes: usize) -> Result<FileStore> {
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
            counts,
            cache_bytes,
            directory: None,
            identity: None,
        };
        store.create_tables()?;
        Ok(store)
    }

    fn database(&self) -> Result<&Database> {
        self.database.as_ref().ok_or_else(closed)
    }

    /// Opens a private copy of the file as it is on disk, after all of its pages were checked.
    fn inspect_copy(&self, body: &mut dyn FnMut(&dyn Trees) -> Result<()>) -> Result<()> {
        // Two phases: recovery of the private copy then trusts the last commit or fails, and does not
        // quietly go back to the one before.
        let mut write = self
            .database()?
            .begin_write()
            .map_err(|error| fault(error.into()))?;
        write.set_two_phase_commit(true);
        write.commit().map_err(|error| fault(error.into()))?;
        if let Some(error) = self.shadow.failure() {
            return Err(io_fault("cannot write to the database file", &error));
        }
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

    /// Makes sure that there is the table that snapshots open.
    fn create_tables(&self) -> Result<()> {
        let read = self
            .database()?
            .begin_read()
            .map_err(|error| fault(error.into()))?;
        match read.open_table(TREES) {
            Ok(_) => return Ok(()),
            Err(TableError::TableDoesNotExist(_)) => {}
            Err(error) => return Err(fault(error.into())),
        }
        drop(read);
        let write = self
            .database()?
            .begin_write()
            .map_err(|error| fault(error.into()))?;
        write.open_table(TREES).map_err(|error| fault(error.into()))?;
        write.commit().map_err(|error| fault(error.into()))?;
        match self.shadow.failure() {
            None => Ok(()),
            Some(error) => Err(io_fault("cannot create the database", &error)),
        }
    }
}

impl FileStore {
    /// Closes the store.
    ///
    /// # Errors
    /// Class `Io` when not all that was written is in the file.
    pub(crate) fn close(mut self) -> Result<()> {
        self.end();
        self.check_written()
    }

    fn end(&mut self) {
        let database = self.database.take();
        // Closing a damaged file can panic; there is nothing to save then that is not saved.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(database)));
    }

    /// Whether this store's file is the one of this path.
    fn is_at(&self, path: &Path) -> bool {
        match (self.identity, identity(std::fs::metadata(path))) {
            (Some(own), Some(found)) => own == found,
            // Where files have no identity, they are not replaced while they are open.
            _ => true,
        }
    }
}

impl Drop for FileStore {
    fn drop(&mut self) {
        self.end();
    }
}

fn records_table(tree: TreeId) -> String {
    format!("records {}", tree.number())
}

fn get(table: &impl ReadableTable<&'static [u8], &'static [u8]>, key: &[u8]) -> Result<Option<Vec<u8>>> {
    match table.get(key) {
        Ok(value) => Ok(value.map(|value| value.value().to_vec())),
        Err(error) => Err(fault(error.into())),
    }
}

/// Visits a range; the first `prefix` bytes of each key are not shown.
fn scan(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    range: Range<'_>,
    prefix: usize,
    reverse: bool,
    visit: &mut Visitor<'_>,
) -> Result<()> {
    let mut entries = table.range::<&[u8]>(range).map_err(|error| fault(error.into()))?;
    while let Some(entry) = if reverse {
        entries.next_back()
    } else {
        entries.next()
    } {
        let (key, value) = entry.map_err(|error| fault(error.into()))?;
        let Some(key) = key.value().get(prefix..) else {
            return Err(format::damaged("a stored key is too short".to_owned()));
        };
        if let ControlFlow::Break(()) = visit(key, value.value())? {
            break;
        }
    }
    Ok(())
}

fn scan_shared(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    tree: TreeId,
    range: Range<'_>,
    reverse: bool,
    visit: &mut Visitor<'_>,
) -> Result<()> {
    let (from, to) = composite_range(tree, range);
    scan(
        table,
        (as_slice(&from), as_slice(&to)),
        TREE_BYTES,
        reverse,
        visit,
    )
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

impl FileSnapshot {
    fn new(transaction: ReadTransaction, paged: &Paged) -> Result<FileSnapshot> {
        Ok(FileSnapshot {
            paged: paged.clone(),
            shared: transaction
                .open_table(TREES)
                .map_err(|error| fault(error.into()))?,
            records: RwLock::default(),
            transaction,
        })
    }

    /// The table of a tree of records; none when nothing was ever stored in it.
    fn records(&self, tree: TreeId) -> Result<Option<Arc<ReadTable>>> {
        if let Some(table) = self
            .records
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&tree)
        {
            return Ok(table.clone());
        }
        let table = match self
            .transaction
            .open_table(TableDefinition::new(&records_table(tree)))
        {
            Ok(table) => Some(Arc::new(table)),
            Err(TableError::TableDoesNotExist(_)) => None,
            Err(error) => return Err(fault(error.into())),
        };
        let mut records = self.records.write().unwrap_or_else(PoisonError::into_inner);
        Ok(records.entry(tree).or_insert(table).clone())
    }
}

impl Trees for FileSnapshot {
    fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let found = if tree.is_records() {
            self.records(tree).and_then(|table| match table {
                Some(table) => get(&*table, key),
                None => Ok(None),
            })
        } else {
            with_composite(tree, key, |composite| get(&self.shared, composite))
        };
        found.map_err(|fault| explained(fault, &self.paged))
    }

    fn scan(&self, tree: TreeId, range: Range<'_>, reverse: bool, visit: &mut Visitor<'_>) -> Result<()> {
        if is_empty_range(range) {
            return Ok(());
        }
        let scanned = if tree.is_records() {
            self.records(tree).and_then(|table| match table {
                Some(table) => scan(&*table, range, 0, reverse, visit),
                None => Ok(()),
            })
        } else {
            scan_shared(&self.shared, tree, range, reverse, visit)
        };
        scanned.map_err(|fault| explained(fault, &self.paged))
    }
}

impl<'t> FileTransaction<'t> {
    fn new(transaction: &'t WriteTransaction, paged: &'t Paged) -> Result<FileTransaction<'t>> {
        Ok(FileTransaction {
            paged,
            shared: transaction
                .open_table(TREES)
                .map_err(|error| fault(error.into()))?,
            records: RefCell::default(),
            transaction,
        })
    }

    /// The table of a tree of records; made when there is none.
    fn records(&self, tree: TreeId) -> Result<Rc<TreesTable<'t>>> {
        if let Some(table) = self.records.borrow().get(&tree) {
            return Ok(table.clone());
        }
        let table = self
            .transaction
            .open_table(TableDefinition::new(&records_table(tree)));
        let table = Rc::new(table.map_err(|error| fault(error.into()))?);
        self.records.borrow_mut().insert(tree, table.clone());
        Ok(table)
    }

    fn clear(&mut self, tree: TreeId) -> Result<()> {
        if tree.is_records() {
            // A table can be deleted only while it is not open.
            self.records.get_mut().remove(&tree);
            let name = records_table(tree);
            let table = TableDefinition::<&[u8], &[u8]>::new(&name);
            return match self.transaction.delete_table(table) {
                Ok(_) => Ok(()),
                Err(error) => Err(fault(error.into())),
            };
        }
        let (from, to) = composite_range(tree, super::ALL);
        self.shared
            .retain_in::<&[u8], _>((as_slice(&from), as_slice(&to)), |_, _| false)
            .map_err(|error| fault(error.into()))
    }
}

impl Trees for FileTransaction<'_> {
    fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let found = if tree.is_records() {
            self.records(tree).and_then(|table| get(&*table, key))
        } else {
            with_composite(tree, key, |composite| get(&self.shared, composite))
        };
        found.map_err(|fault| explained(fault, self.paged))
    }

    fn scan(&self, tree: TreeId, range: Range<'_>, reverse: bool, visit: &mut Visitor<'_>) -> Result<()> {
        if is_empty_range(range) {
            return Ok(());
        }
        let scanned = if tree.is_records() {
            self.records(tree)
                .and_then(|table| scan(&*table, range, 0, reverse, visit))
        } else {
            scan_shared(&self.shared, tree, range, reverse, visit)
        };
        scanned.map_err(|fault| explained(fault, self.paged))
    }
}

impl Transaction for FileTransaction<'_> {
    fn apply(&mut self, pending: &mut Pending) -> Result<()> {
        for tree in pending.cleared() {
            self.clear(tree)?;
        }
        let mut writes = pending.writes().peekable();
        while let Some((composite, _)) = writes.peek() {
            let (tree, _) = split(composite);
            if tree.is_records() {
                // Opened here, so that it can be borrowed for writing below.
                self.records(tree)?;
            }
            let own = self.records.get_mut().get_mut(&tree).and_then(Rc::get_mut);
            let (table, prefix) = match own {
                Some(table) => (table, TREE_BYTES),
                None => (&mut self.shared, 0),
            };
            while let Some((composite, value)) = writes.next_if(|(composite, _)| split(composite).0 == tree) {
                let key = &composite[prefix..];
                match value {
                    Some(value) => drop(table.insert(key, value).map_err(|error| fault(error.into()))?),
                    None => drop(table.remove(key).map_err(|error| fault(error.into()))?),
                }
            }
        }
        drop(writes);
        pending.reset();
        Ok(())
    }
}

/// The bytes of a tree's id before a key of the shared table.
const TREE_BYTES: usize = 4;

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
        let before = |error: redb::Error| Failure::Before(explained(fault(error), &self.paged));
        let database = self.database().map_err(Failure::Before)?;
        let mut write = database.begin_write().map_err(|error| before(error.into()))?;
        let finish =
            FileTransaction::new(&write, &self.paged).and_then(|mut transaction| body(&mut transaction));
        let finish = match (finish, self.shadow.failure()) {
            (Ok(_), Some(error)) => Err(io_fault("cannot write to the database file", &error)),
            (finish, _) => finish,
        };
        let durability = match finish {
            Ok(Finish::Durable) => Durability::Immediate,
            Ok(Finish::Relaxed) => Durability::None,
            Ok(Finish::Abort) => return write.abort().map_err(|error| before(error.into())),
            Err(fault) => {
                // The fault says more than a failure to forget the changes would.
                let _ = write.abort();
                return Err(Failure::Before(fault));
            }
        };
        // Fails only when savepoints are in play, which are not used.
        if let Err(error) = write.set_durability(durability) {
            return Err(before(error.into()));
        }
        let committed = write.commit();
        match (committed, self.shadow.failure()) {
            (Ok(()), None) => Ok(()),
            (Ok(()), Some(error)) => Err(Failure::InDoubt(in_doubt(&error))),
            (Err(error), _) => Err(Failure::InDoubt(in_doubt(&error))),
        }
    }

    fn inspect(&self, body: &mut dyn FnMut(&dyn Trees) -> Result<()>) -> Result<()> {
        self.inspect_copy(body)
            .map_err(|fault| explained(fault, &self.paged))
    }

    fn compacted(&self) -> Result<Option<Arc<dyn Store>>, Failure> {
        match &self.directory {
            None => Ok(None),
            Some(directory) => match self.rewrite(directory) {
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

fn create_directory(directory: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

fn open_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Device and number of a file, where the system has such.
#[cfg(unix)]
fn identity(found: io::Result<Metadata>) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    found.ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(_: io::Result<Metadata>) -> Option<(u64, u64)> {
    None
}

#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()?;
    match directory.canonicalize()?.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

fn foreign() -> Fault {
    Fault::of(
        Class::Unsupported,
        code::INTERNAL,
        "the database file was not written by odm",
    )
}

fn io_fault(what: &str, error: &io::Error) -> Fault {
    match Unreadable::of(error) {
        Some(Unreadable::Damaged(what)) => return format::damaged(what.clone()),
        Some(Unreadable::Foreign) => return foreign(),
        Some(Unreadable::Newer(version)) => {
            return Fault::of(
                Class::Unsupported,
                code::INTERNAL,
                format!(
                    "the database file has format {version}, this version of odm reads format {}",
                    format::VERSION
                ),
            );
        }
        None => {}
    }
    Fault::of(Class::Io, code::INTERNAL, format!("{what}: {error}"))
}

/// After a damaged page redb refuses to read on without saying why: the fault for that, with the reason.
fn explained(fault: Fault, paged: &Paged) -> Fault {
    match paged.damage() {
        Some(damage) if fault.class() == Class::Io => format::damaged(format!(
            "{damage}; nothing is read until the database is opened again"
        )),
        _ => fault,
    }
}

fn in_doubt(error: &dyn std::fmt::Display) -> Fault {
    Fault::of(
        Class::InDoubt,
        code::INTERNAL,
        format!("the commit failed, whether it is on disk is not known: {error}"),
    )
}

fn locked(directory: &Path) -> Fault {
    Fault::of(
        Class::Locked,
        code::INTERNAL,
        format!(
            "the database in {} is open already, in this process or in another",
            directory.display()
        ),
    )
}

fn closed() -> Fault {
    Fault::of(Class::Locked, code::INTERNAL, "the database is closed")
}

fn opening(error: DatabaseError) -> Fault {
    match error {
        DatabaseError::DatabaseAlreadyOpen => Fault::of(
            Class::Locked,
            code::INTERNAL,
            "the database is open already, in this process or in another",
        ),
        error => fault(error.into()),
    }
}

fn fault(error: redb::Error) -> Fault {
    match error {
        redb::Error::Io(error) => io_fault("the database file failed", &error),
        redb::Error::PreviousIo => Fault::of(
            Class::Io,
            code::INTERNAL,
            "the database file failed before; close and open it again",
        ),
        redb::Error::DatabaseClosed => closed(),
        error => format::damaged(format!("the store is damaged: {error}")),
    }
}
