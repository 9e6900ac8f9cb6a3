//! Giving space back: the same tables in a new, dense file that takes the old one's place.
//!
//! The new file is written and synced beside the old one, and renamed over it: at any point the name stands for
//! one whole file or the other, and both hold the same. Snapshots of the old one stay readable; its space is
//! free when the last of them is gone. Tables are copied as they are, whatever is in them.

use std::path::Path;

use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition, TableHandle};

use super::{FILE_NAME, FileStore, fault, in_doubt, io_fault, opening, sync_directory};
use crate::native::fault::Result;
use crate::native::storage::Failure;

/// The file that is being written. One that a crash left is removed at the next opening.
pub(super) const COMPACTED_NAME: &str = "odm.db.compact";

impl FileStore {
    /// A new store with the same content, in the old one's place. Nobody writes meanwhile.
    pub(super) fn rewrite(&self, directory: &Path) -> Result<FileStore, Failure> {
        let path = directory.join(COMPACTED_NAME);
        let written = self.write_compacted(&path);
        let renamed = written.and_then(|fresh| {
            std::fs::rename(&path, directory.join(FILE_NAME))
                .map_err(|error| io_fault("cannot put the compacted file in its place", &error))?;
            Ok(fresh)
        });
        let mut fresh = renamed.map_err(|fault| {
            // The next opening removes it otherwise.
            let _ = std::fs::remove_file(&path);
            Failure::Before(fault)
        })?;
        fresh.directory = Some(directory.to_owned());
        // Until it is known to be the one that is found after a power loss, nothing may be written to it.
        sync_directory(directory).map_err(|error| Failure::InDoubt(in_doubt(&error)))?;
        Ok(fresh)
    }

    fn write_compacted(&self, path: &Path) -> Result<FileStore> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(io_fault("cannot remove what an earlier compaction left", &error));
            }
            _ => {}
        }
        let mut fresh = FileStore::at(path, self.cache_bytes)?;
        copy_tables(self.database()?, fresh.database()?)?;
        fresh.check_written()?;
        if let Some(database) = &mut fresh.database {
            // Of a file that was just filled in order this only cuts off its empty end.
            database.compact().map_err(|error| match error {
                redb::CompactionError::Storage(error) => fault(error.into()),
                other => crate::native::storage::format::damaged(format!("cannot compact: {other}")),
            })?;
        }
        fresh.check_written()?;
        Ok(fresh)
    }

    /// An error when not all that was written is in the file.
    pub(super) fn check_written(&self) -> Result<()> {
        match self.shadow.failure() {
            None => Ok(()),
            Some(error) => Err(io_fault("cannot write the new file", &error)),
        }
    }

    /// Opens the store in the file of this path.
    pub(super) fn at(path: &Path, cache_bytes: usize) -> Result<FileStore> {
        let file =
            super::open_file(path).map_err(|error| io_fault("cannot open the database file", &error))?;
        let identity = super::identity(file.metadata());
        let backend = super::FileBackend::new(file).map_err(opening)?;
        let mut store = FileStore::with_backend(Box::new(backend), cache_bytes)?;
        store.identity = identity;
        Ok(store)
    }
}

/// Copies every table, in one durable commit.
fn copy_tables(from: &Database, to: &Database) -> Result<()> {
    let read = from.begin_read().map_err(|error| fault(error.into()))?;
    let mut write = to.begin_write().map_err(|error| fault(error.into()))?;
    write
        .set_durability(Durability::Immediate)
        .map_err(|error| fault(error.into()))?;
    for table in read.list_tables().map_err(|error| fault(error.into()))? {
        let definition = TableDefinition::<&[u8], &[u8]>::new(table.name());
        let source = read.open_table(definition).map_err(|error| fault(error.into()))?;
        let mut target = write
            .open_table(definition)
            .map_err(|error| fault(error.into()))?;
        for entry in source.iter().map_err(|error| fault(error.into()))? {
            let (key, value) = entry.map_err(|error| fault(error.into()))?;
            target
                .insert(key.value(), value.value())
                .map_err(|error| fault(error.into()))?;
        }
    }
    write.commit().map_err(|error| fault(error.into()))
}
