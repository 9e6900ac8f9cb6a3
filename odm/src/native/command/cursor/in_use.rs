//! A cursor that is being read: nobody else reads it meanwhile, and it may wait.

use std::time::{Duration, Instant};

use super::super::super::exec::cursor::IN_GET_MORE;
use super::super::super::exec::tail::PATIENCE;
use super::super::super::fault::{Fault, Result};
use super::super::super::storage::Read;
use super::{Cursors, Given, More, Slot, Waiting};

/// A cursor that is being read. It goes back to the others when nobody goes on with it, as when a wait is given up.
#[derive(Debug)]
pub(crate) struct InUse<'c> {
    pub(super) cursors: &'c Cursors,
    pub(super) asked: More,
    /// Taken when it is closed.
    pub(super) cursor: Option<Waiting>,
    pub(super) has_waited: bool,
}

impl InUse<'_> {
    /// Whether it reads the newest state of the database.
    pub(crate) fn follows(&self) -> bool {
        self.cursor
            .as_ref()
            .is_some_and(|cursor| cursor.rows.follows().is_some())
    }

    /// How long it waits for a document.
    pub(crate) fn patience(&self) -> Duration {
        self.asked.patience.unwrap_or(PATIENCE)
    }

    /// The reply with the next batch; nothing when it is to be asked again after a commit. What follows a collection reads
    /// the state that is given.
    ///
    /// # Errors
    /// Those of reading, which close it; code 237 when it was closed meanwhile.
    pub(crate) fn next(&mut self, newest: Option<&dyn Read>) -> Result<Option<Vec<u8>>> {
        let has_waited = self.has_waited;
        let batch = self.read(newest).map_err(|fault| {
            // What came up while it waited came up while it ran.
            match has_waited {
                true => fault.while_running(IN_GET_MORE),
                false => fault.rather_while_running(IN_GET_MORE),
            }
        });
        let given = batch.inspect_err(|_| self.close())?;
        let awaits = self.cursor.as_ref().is_some_and(|cursor| cursor.rows.awaits());
        if awaits && given.more && given.documents.is_empty() {
            self.has_waited = true;
            return Ok(None);
        }
        Ok(Some(self.reply(given)))
    }

    /// The reply when nothing came.
    ///
    /// # Errors
    /// Code 237 when it was closed meanwhile.
    pub(crate) fn nothing(mut self) -> Result<Vec<u8>> {
        self.check_killed()?;
        let given = Given {
            documents: Vec::new(),
            more: true,
            token: self.cursor.as_ref().and_then(|cursor| cursor.rows.token()),
        };
        Ok(self.reply(given))
    }

    fn read(&mut self, newest: Option<&dyn Read>) -> Result<Given> {
        self.check_killed()?;
        let most = self.asked.batch_size;
        let Some(cursor) = &mut self.cursor else {
            return Ok(Given {
                documents: Vec::new(),
                more: false,
                token: None,
            });
        };
        let view = cursor.view.clone();
        let read = view.as_deref().map(|view| view as &dyn Read).or(newest);
        cursor.rows.next(read, most)
    }

    fn check_killed(&self) -> Result<()> {
        match self.cursors.open().get(&self.asked.id) {
            Some(Slot::InUse { killed: false }) => Ok(()),
            _ => Err(Fault::new(
                237,
                format!("{IN_GET_MORE} :: caused by :: operation was interrupted"),
            )),
        }
    }

    fn reply(&mut self, given: Given) -> Vec<u8> {
        let left = match given.more {
            true => self.asked.id,
            false => {
                self.close();
                0
            }
        };
        given.reply("nextBatch", left, &self.asked.ns)
    }

    fn close(&mut self) {
        self.cursor = None;
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        let id = self.asked.id;
        // What was being read when something panicked may not be whole.
        let is_whole = !std::thread::panicking();
        let mut open = self.cursors.open();
        if is_whole
            && matches!(open.get(&id), Some(Slot::InUse { killed: false }))
            && let Some(mut cursor) = self.cursor.take()
        {
            cursor.used = Instant::now();
            open.insert(id, Slot::Waiting(cursor));
        } else {
            // What is not put back is given up after this, not under the lock.
            open.remove(&id);
        }
    }
}
