//! What a file holds.

use redb::{ReadableDatabase, ReadableTableMetadata};

use super::FileStore;
use super::fault::{fault, io_fault};
use crate::native::fault::Result;
use crate::native::storage::format::{PAGE_BYTES, PAGE_SUM_BYTES, PREAMBLE_BYTES};
use crate::native::storage::{Figures, FileFigures, Space};

impl FileStore {
    pub(super) fn file_figures(&self) -> Result<Figures> {
        let failed = |error| io_fault("the database file failed", &error);
        let bytes = self.paged.file_bytes().map_err(failed)?;
        let page_bytes = (PAGE_BYTES + PAGE_SUM_BYTES) as u64;
        Ok(Figures {
            file: Some(FileFigures {
                bytes,
                page_bytes: PAGE_BYTES as u64,
                pages: bytes.saturating_sub(PREAMBLE_BYTES) / page_bytes,
                syncs: self.counts.syncs(),
                written: self.counts.written(),
                read: self.counts.read(),
                cache_bytes: self.cache_bytes as u64,
            }),
            log_bytes: match self.place {
                Some(_) => Some(self.log.file_bytes().map_err(failed)?),
                None => None,
            },
        })
    }

    /// Adds up the pages of every table: reads all of them but for the contents of large values.
    pub(super) fn file_space(&self) -> Result<Space> {
        self.flush_recent()?;
        let database = self.database()?;
        let read = database.begin_read().map_err(|error| fault(error.into()))?;
        let mut space = Space::default();
        for table in read.list_tables().map_err(|error| fault(error.into()))? {
            let table = read
                .open_untyped_table(table)
                .map_err(|error| fault(error.into()))?;
            let stats = table.stats().map_err(|error| fault(error.into()))?;
            space.content += stats.stored_bytes();
            space.overhead += stats.metadata_bytes();
            space.unfilled += stats.fragmented_bytes();
        }
        Ok(space)
    }
}
