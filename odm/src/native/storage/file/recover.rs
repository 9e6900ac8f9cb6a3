//! Opening: bringing the file up to the end of its log.

use redb::{ReadableDatabase, TableError};

use super::fault::{explained, fault, io_fault};
use super::snapshot::get;
use super::transaction::FileTransaction;
use super::{FileStore, LOG, TREES};
use crate::native::fault::Result;
use crate::native::storage::format::log::{MARK_KEY, Mark};
use crate::native::storage::log::replay;
use crate::native::storage::{Transaction, format};

impl FileStore {
    /// The store, once it has all that its log has.
    ///
    /// # Errors
    /// The log cannot be read, or does not belong to the file.
    pub(super) fn recovered(self) -> Result<FileStore> {
        match self.recover() {
            Ok(()) => Ok(self),
            Err(fault) => {
                // Closing must not make durable what was not recovered to the end.
                self.log.state().abandon();
                Err(explained(fault, &self.paged))
            }
        }
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
                let mut trees = FileTransaction::new(transaction, &self.paged)?;
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
}
