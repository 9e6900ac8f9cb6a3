//! Giving space back: the same tables in a new, dense file that takes the old one's place.
//!
//! The old file gets all that was committed, and the mark that its log is not in use. The new one is written
//! beside it, mark and all, synced, closed, opened again, and renamed over it: at any point the name stands for
//! one whole file or the other, both hold the same, and neither needs the log, which fits both. Only then is the
//! log used again, by the new store. Snapshots of the old one stay readable; its space is free when the last of
//! them is gone. Tables are copied as they are, whatever is in them.

use std::io;
use std::sync::Arc;

use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition, TableHandle};

use super::directory::Place;
use super::fault::{fault, in_doubt, io_fault};
use super::{FILE_NAME, FileStore, Layers};
use crate::native::fault::Result;
use crate::native::storage::{Failure, format};

/// The file that is being written. One that a crash left is removed at the next opening.
pub(super) const COMPACTED_NAME: &str = "odm.db.compact";

impl FileStore {
    /// A new store with the same content, in the old one's place. Nobody writes meanwhile.
    pub(super) fn rewrite(&self, place: &Arc<dyn Place>) -> Result<FileStore, Failure> {
        self.end_log()?;
        let fresh = self.write_compacted(place).and_then(|fresh| {
            place
                .rename(COMPACTED_NAME, FILE_NAME)
                .map_err(|error| io_fault("cannot put the compacted file in its place", &error))?;
            Ok(fresh)
        });
        let fresh = fresh.map_err(|fault| {
            // The next opening removes it otherwise.
            let _ = place.remove(COMPACTED_NAME);
            Failure::Before(fault)
        })?;
        // The log is the other one's now.
        self.shadow.stop(io::Error::other("the store was compacted"));
        // Until it is known to be the one that is found after a power loss, nothing may be written to it.
        place.sync().map_err(|error| Failure::InDoubt(in_doubt(&error)))?;
        Ok(fresh)
    }

    fn write_compacted(&self, place: &Arc<dyn Place>) -> Result<FileStore> {
        place
            .remove(COMPACTED_NAME)
            .map_err(|error| io_fault("cannot remove what an earlier compaction left", &error))?;
        let layers = || -> Result<Layers> {
            let (file, _) = place
                .open(COMPACTED_NAME)
                .map_err(|error| io_fault("cannot make the compacted file", &error))?;
            Ok(Layers::new(file, self.counts.clone()))
        };
        let fresh = layers()?;
        let mut database = fresh.open(self.cache_bytes)?;
        copy_tables(self.database()?, &database)?;
        fresh.check_written()?;
        // Of a file that was just filled in order this only cuts off its empty end.
        database.compact().map_err(|error| match error {
            redb::CompactionError::Storage(error) => fault(error.into()),
            other => format::damaged(format!("cannot compact: {other}")),
        })?;
        fresh.check_written()?;
        drop(database);
        fresh.check_written()?;
        // Closed and opened, it is what a crash from now on may find; and locked before it gets the name.
        let store =
            FileStore::over(layers()?, self.log.handed_on(), self.cache_bytes, self.limits)?.recovered()?;
        store.check_written()?;
        Ok(store.at(place))
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
