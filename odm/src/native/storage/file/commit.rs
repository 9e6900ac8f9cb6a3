//! How commits end: in the log, in redb's file, or only in memory yet.

use std::io;

use redb::{Durability, WriteTransaction};

use super::fault::{explained, fault, in_doubt, io_fault};
use super::transaction::FileTransaction;
use super::{FileStore, LOG};
use crate::native::fault::{Fault, Result};
use crate::native::storage::format::log::{MARK_KEY, Mark};
use crate::native::storage::log::LogState;
use crate::native::storage::{Failure, Finish, Transaction};

const LOG_FAILED: &str = "cannot write to the log";

impl FileStore {
    /// Runs `body` in redb's write transaction and ends it as it says.
    pub(super) fn write_and_finish(
        &self,
        body: &mut dyn FnMut(&mut dyn Transaction) -> Result<Finish>,
    ) -> Result<(), Failure> {
        let write = self.begin().map_err(Failure::Before)?;
        let mut log = self.log.state();
        if log.is_torn() && self.shadow.failure().is_none() {
            self.stop(io::Error::other("an earlier commit did not come to its end"));
        }
        let finish = FileTransaction::new(&write, &self.paged, self.log.begin(&mut log))
            .and_then(|mut transaction| body(&mut transaction));
        let finish = match (finish, self.shadow.failure()) {
            (Ok(_), Some(error)) => Err(io_fault("cannot write to the database file", &error)),
            (finish, _) => finish,
        };
        match finish {
            Ok(Finish::Abort) => write.abort().map_err(|error| self.before(error.into())),
            Ok(Finish::Relaxed) => {
                log.want(false);
                self.commit_in_memory(write, &mut log, false)
            }
            Ok(Finish::Logged) => {
                log.want(true);
                self.commit_logged(write, &mut log)
            }
            Ok(Finish::Durable) if log.changes().any() => {
                log.want(true);
                self.commit_durable(write, &mut log)
            }
            Ok(Finish::Durable) => self.sync(write, &mut log),
            Err(fault) => {
                // The fault says more than a failure to forget the changes would.
                let _ = write.abort();
                Err(Failure::Before(fault))
            }
        }
    }

    /// A durable commit of redb of everything that there is; the log starts over.
    pub(super) fn start_over(&self) -> Result<(), Failure> {
        self.checkpoint_as(LogState::is_wanted)
    }

    /// The same, and the log is not in use after it: the file alone is all there is, until the next commit.
    pub(super) fn end_log(&self) -> Result<(), Failure> {
        self.checkpoint_as(|_| false)
    }

    fn checkpoint_as(&self, used: impl FnOnce(&LogState) -> bool) -> Result<(), Failure> {
        let write = self.begin().map_err(Failure::Before)?;
        let mut log = self.log.state();
        if log.is_torn() && self.shadow.failure().is_none() {
            self.stop(io::Error::other("an earlier commit did not come to its end"));
        }
        self.log.begin(&mut log);
        if let Some(error) = self.shadow.failure() {
            return Err(Failure::Before(io_fault(
                "cannot write to the database file",
                &error,
            )));
        }
        if !log.needs_checkpoint() {
            return write.abort().map_err(|error| self.before(error.into()));
        }
        let used = used(&log);
        self.commit_to_file(write, &mut log, used)
    }

    /// The same in two phases: recovery of a private copy of the file then trusts the last commit or fails, and
    /// does not quietly go back to the one before.
    pub(super) fn checkpoint_for_inspection(&self) -> Result<()> {
        let mut write = self.begin()?;
        let mut log = self.log.state();
        self.log.begin(&mut log);
        if let Some(error) = self.shadow.failure() {
            return Err(io_fault("cannot write to the database file", &error));
        }
        write.set_two_phase_commit(true);
        let used = log.is_wanted();
        self.commit_to_file(write, &mut log, used)
            .map_err(|failure| match failure {
                Failure::Before(fault) => fault,
                Failure::InDoubt(fault) => match self.shadow.failure() {
                    Some(error) => io_fault("cannot write to the database file", &error),
                    None => fault,
                },
            })
    }

    /// Ends the use of the log: from now on the file alone is all there is. `false` when that cannot be done, and
    /// the file must stay as it is.
    pub(super) fn release(&self) -> bool {
        if self.shadow.failure().is_some() || self.log.state().is_torn() {
            return false;
        }
        self.end_log().is_ok()
    }

    /// Commits a mark and what `body` does before it, durably.
    pub(super) fn commit_mark(&self, body: &mut dyn FnMut(&WriteTransaction) -> Result<Mark>) -> Result<()> {
        let write = self.begin()?;
        let mark = match body(&write) {
            Ok(mark) => mark,
            Err(fault) => {
                let _ = write.abort();
                return Err(fault);
            }
        };
        put_mark(&write, &mark)?;
        write.commit().map_err(|error| fault(error.into()))?;
        match self.shadow.failure() {
            None => Ok(()),
            Some(error) => Err(io_fault("cannot write to the database file", &error)),
        }
    }

    fn begin(&self) -> Result<WriteTransaction> {
        self.database()?
            .begin_write()
            .map_err(|error| explained(fault(error.into()), &self.paged))
    }

    fn before(&self, error: redb::Error) -> Failure {
        Failure::Before(explained(fault(error), &self.paged))
    }

    /// The log failed: nothing may reach redb's file any more, which is as old as the log's first record.
    fn stop(&self, error: io::Error) -> Fault {
        let fault = io_fault(LOG_FAILED, &error);
        self.shadow.stop(error);
        fault
    }

    fn commit_durable(&self, write: WriteTransaction, log: &mut LogState) -> Result<(), Failure> {
        match self.log.has_room(log, true) {
            Ok(true) => {}
            Ok(false) => return self.commit_to_file(write, log, true),
            Err(error) => return Err(Failure::Before(self.stop(error))),
        }
        if let Err(error) = self.log.append(log, true) {
            let fault = in_doubt(&error);
            self.stop(error);
            return Err(Failure::InDoubt(fault));
        }
        self.commit_in_memory(write, log, true)
    }

    /// Without an fsync, whatever happens: what does not fit into the log waits for the next checkpoint.
    fn commit_logged(&self, write: WriteTransaction, log: &mut LogState) -> Result<(), Failure> {
        let room = self.log.has_room(log, false);
        let logged = room.and_then(|room| match room {
            true => self.log.append(log, false).map(|()| true),
            false => Ok(false),
        });
        match logged {
            Ok(logged) => self.commit_in_memory(write, log, logged),
            Err(error) => {
                let fault = in_doubt(&error);
                self.stop(error);
                Err(Failure::InDoubt(fault))
            }
        }
    }

    /// Makes earlier commits durable.
    fn sync(&self, write: WriteTransaction, log: &mut LogState) -> Result<(), Failure> {
        if !log.is_unlogged() {
            if let Err(error) = self.log.sync(log) {
                let fault = in_doubt(&error);
                self.stop(error);
                return Err(Failure::InDoubt(fault));
            }
            match self.log.keep_room(log) {
                Ok(true) => return write.abort().map_err(|error| self.before(error.into())),
                Ok(false) => {}
                Err(error) => return Err(Failure::Before(self.stop(error))),
            }
        }
        let used = log.is_wanted();
        self.commit_to_file(write, log, used)
    }

    /// A commit that redb keeps in memory; its pages may reach the file, but no header that refers to them.
    fn commit_in_memory(
        &self,
        mut write: WriteTransaction,
        log: &mut LogState,
        logged: bool,
    ) -> Result<(), Failure> {
        // Fails only when savepoints are in play, which are not used.
        if let Err(error) = write.set_durability(Durability::None) {
            let fault = in_doubt(&error);
            self.stop(io::Error::other(error));
            return Err(Failure::InDoubt(fault));
        }
        self.commit(write)?;
        log.committed(logged);
        Ok(())
    }

    /// A durable commit of redb, of this transaction and all that came before it. `used` says whether commits will
    /// be logged after it.
    fn commit_to_file(&self, write: WriteTransaction, log: &mut LogState, used: bool) -> Result<(), Failure> {
        if used && let Err(error) = self.log.announce(log) {
            return Err(Failure::Before(self.stop(error)));
        }
        let mark = log.next_mark(used);
        if let Err(fault) = put_mark(&write, &mark) {
            let _ = write.abort();
            return Err(Failure::Before(explained(fault, &self.paged)));
        }
        self.commit(write)?;
        if let Err(error) = self.log.restart(log, mark) {
            // The commit is on disk; later ones are refused.
            self.stop(error);
        }
        Ok(())
    }

    fn commit(&self, write: WriteTransaction) -> Result<(), Failure> {
        let committed = write.commit();
        match (committed, self.shadow.failure()) {
            (Ok(()), None) => Ok(()),
            (Ok(()), Some(error)) => Err(Failure::InDoubt(in_doubt(&error))),
            (Err(error), _) => {
                let fault = in_doubt(&error);
                self.shadow.stop(io::Error::other(error));
                Err(Failure::InDoubt(fault))
            }
        }
    }
}

fn put_mark(write: &WriteTransaction, mark: &Mark) -> Result<()> {
    let mut table = write.open_table(LOG).map_err(|error| fault(error.into()))?;
    table
        .insert(MARK_KEY, mark.seal().as_slice())
        .map_err(|error| fault(error.into()))?;
    Ok(())
}
