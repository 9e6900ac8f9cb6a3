//! How commits end: in the log, in redb's file, or only in memory yet.

use std::cell::OnceCell;
use std::io;
use std::sync::{MutexGuard, PoisonError};

use redb::{Durability, WriteTransaction};

use super::fault::{explained, fault, in_doubt, io_fault};
use super::snapshot::FileSnapshot;
use super::staged::{Direct, Staged};
use super::transaction::FileTransaction;
use super::{FileStore, LOG};
use crate::native::fault::{Fault, Result};
use crate::native::storage::format::log::{MARK_KEY, Mark};
use crate::native::storage::log::LogState;
use crate::native::storage::{Due, Failure, Finish, Pending, Transaction};

const LOG_FAILED: &str = "cannot write to the log";
const FILE_FAILED: &str = "cannot write to the database file";

/// A write transaction that is to be ended.
#[derive(Default)]
struct Ready<'s> {
    /// redb's, once it has one.
    direct: Option<Direct<'s>>,
    /// What redb's does not have.
    own: Pending,
}

impl Ready<'_> {
    fn abort(self) -> Result<(), redb::Error> {
        match self.direct {
            Some(direct) => direct.write.abort().map_err(Into::into),
            None => Ok(()),
        }
    }
}

impl FileStore {
    /// Runs `body` in a write transaction and ends it as it says.
    pub(super) fn write_and_finish(
        &self,
        body: &mut dyn FnMut(&mut dyn Transaction) -> Result<Finish>,
    ) -> Result<(), Failure> {
        let mut log = self.writer();
        let slot = OnceCell::new();
        let (finish, own) = self.run_staged(&slot, &mut log, body);
        let finish = match (finish, self.shadow.failure()) {
            (Ok(_), Some(error)) => Err(io_fault(FILE_FAILED, &error)),
            (finish, _) => finish,
        };
        let ready = Ready {
            direct: slot.into_inner(),
            own,
        };
        match finish {
            Ok(Finish::Abort) => ready.abort().map_err(|error| self.before(error)),
            Ok(Finish::Relaxed) => {
                log.want(false);
                self.commit_in_memory(ready, &mut log, false)
            }
            Ok(Finish::Logged) => {
                log.want(true);
                self.commit_logged(ready, &mut log)
            }
            Ok(Finish::Durable) if log.changes().any() => {
                log.want(true);
                self.commit_durable(ready, &mut log)
            }
            Ok(Finish::Durable) => self.sync(ready, &mut log),
            Err(fault) => {
                // The fault says more than a failure to forget the changes would.
                let _ = ready.abort();
                Err(Failure::Before(fault))
            }
        }
    }

    /// Runs `body`; gives how it is to end, and what redb's transaction in `slot`, if there is one, does not have.
    fn run_staged<'s>(
        &'s self,
        slot: &OnceCell<Direct<'s>>,
        log: &mut LogState,
        body: &mut dyn FnMut(&mut dyn Transaction) -> Result<Finish>,
    ) -> (Result<Finish>, Pending) {
        let layer = match self.layer() {
            Ok(layer) => layer,
            Err(fault) => return (Err(fault), Pending::default()),
        };
        let mut staged = Staged::new(self, layer, slot, self.log.begin(log));
        // A file that cannot be read takes no more either: redb says why.
        let ready = match self.shadow.is_unreadable() || self.current.is_full(&self.limits.recent) {
            true => staged.go_direct().map(drop),
            false => Ok(()),
        };
        let finish = ready
            .map_err(|fault| explained(fault, &self.paged))
            .and_then(|()| body(&mut staged));
        (finish, staged.into_own())
    }

    /// The writer's place.
    fn writer(&self) -> MutexGuard<'_, LogState> {
        let log = self.log.state();
        if log.is_torn() && self.shadow.failure().is_none() {
            self.stop(io::Error::other("an earlier commit did not come to its end"));
        }
        log
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
        let mut log = self.writer();
        self.log.begin(&mut log);
        if let Some(error) = self.shadow.failure() {
            return Err(Failure::Before(io_fault(FILE_FAILED, &error)));
        }
        if !log.needs_checkpoint() {
            return Ok(());
        }
        let used = used(&log);
        self.commit_to_file(Ready::default(), &mut log, used)
    }

    /// The same in two phases: recovery of a private copy of the file then trusts the last commit or fails, and
    /// does not quietly go back to the one before.
    pub(super) fn checkpoint_for_inspection(&self) -> Result<()> {
        let mut log = self.log.state();
        self.log.begin(&mut log);
        if let Some(error) = self.shadow.failure() {
            return Err(io_fault(FILE_FAILED, &error));
        }
        let mut direct = self.begin_with(&mut Pending::default())?;
        direct.write.set_two_phase_commit(true);
        let used = log.is_wanted();
        let ready = Ready {
            direct: Some(direct),
            own: Pending::default(),
        };
        self.commit_to_file(ready, &mut log, used)
            .map_err(|failure| match failure {
                Failure::Before(fault) => fault,
                Failure::InDoubt(fault) => match self.shadow.failure() {
                    Some(error) => io_fault(FILE_FAILED, &error),
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
            Some(error) => Err(io_fault(FILE_FAILED, &error)),
        }
    }

    fn begin(&self) -> Result<WriteTransaction> {
        self.database()?
            .begin_write()
            .map_err(|error| explained(fault(error.into()), &self.paged))
    }

    /// redb's write transaction, for whoever has the writer's place or brings to redb what is recent.
    pub(super) fn begin_direct(&self) -> Result<Direct<'_>> {
        let only = self.flushing.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Direct::new(self.begin()?, only))
    }

    /// The same with all that redb does not have yet, and `own` after it.
    fn begin_with(&self, own: &mut Pending) -> Result<Direct<'_>> {
        let direct = self.begin_direct()?;
        let filled = self
            .with_unflushed(&direct.write)
            .and_then(|mut transaction| transaction.apply(own));
        match filled {
            Ok(()) => Ok(direct),
            Err(fault) => {
                let _ = direct.write.abort();
                Err(explained(fault, &self.paged))
            }
        }
    }

    /// Writes all that redb does not have yet.
    pub(super) fn with_unflushed<'t>(&'t self, write: &'t WriteTransaction) -> Result<FileTransaction<'t>> {
        let (waiting, recent) = self.current.unflushed();
        let mut transaction = FileTransaction::new(write, &self.paged)?;
        transaction.apply_waiting(&waiting)?;
        transaction.apply_writes(recent.writes())?;
        Ok(transaction)
    }

    /// Whether a large commit may go to redb later, while others write.
    pub(super) fn may_wait(&self, bytes: usize) -> bool {
        let has_room = || self.current.has_room(bytes, &self.limits.recent);
        if has_room() {
            return true;
        }
        // Those before it are arriving, if they can.
        drop(self.flushing.lock().unwrap_or_else(PoisonError::into_inner));
        has_room()
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

    /// The same, when it is not known what the log has.
    fn doubt(&self, error: io::Error) -> Failure {
        let fault = in_doubt(&error);
        self.stop(error);
        Failure::InDoubt(fault)
    }

    fn commit_durable(&self, ready: Ready<'_>, log: &mut LogState) -> Result<(), Failure> {
        match self.log.has_room(log, true) {
            Ok(true) => {}
            Ok(false) => return self.commit_to_file(ready, log, true),
            Err(error) => return Err(Failure::Before(self.stop(error))),
        }
        match self.log.append(log, true) {
            Ok(()) => self.commit_in_memory(ready, log, true),
            Err(error) => Err(self.doubt(error)),
        }
    }

    /// Without an fsync, unless the log is to be begun, grown or begun anew. What is too large for it waits for the next
    /// checkpoint, and so does what comes after that.
    fn commit_logged(&self, ready: Ready<'_>, log: &mut LogState) -> Result<(), Failure> {
        if log.is_unlogged() || log.is_too_large() {
            return self.commit_in_memory(ready, log, false);
        }
        match self.log.has_room(log, true) {
            Ok(true) => {}
            Ok(false) => return self.commit_to_file(ready, log, true),
            Err(error) => return Err(Failure::Before(self.stop(error))),
        }
        match self.log.append(log, false) {
            Ok(()) => self.commit_in_memory(ready, log, true),
            Err(error) => Err(self.doubt(error)),
        }
    }

    /// Makes earlier commits durable.
    fn sync(&self, ready: Ready<'_>, log: &mut LogState) -> Result<(), Failure> {
        if !log.is_unlogged() {
            if let Err(error) = self.log.sync(log) {
                return Err(self.doubt(error));
            }
            match self.log.keep_room(log) {
                Ok(true) => return ready.abort().map_err(|error| self.before(error)),
                Ok(false) => {}
                Err(error) => return Err(Failure::Before(self.stop(error))),
            }
        }
        let used = log.is_wanted();
        self.commit_to_file(ready, log, used)
    }

    /// The same of what is in the log, beside a writer; `false` when that is not all there is to do.
    pub(super) fn sync_log(&self) -> Result<bool, Failure> {
        if self.shadow.failure().is_some() {
            return Ok(false);
        }
        self.log.sync_beside().map_err(|error| self.doubt(error))
    }

    /// A commit that stays in memory, beside redb or in it; of redb's pages some may reach the file, but no header
    /// that refers to them.
    fn commit_in_memory(
        &self,
        mut ready: Ready<'_>,
        log: &mut LogState,
        logged: bool,
    ) -> Result<(), Failure> {
        match ready.direct {
            None if ready.own.bytes() > self.limits.recent.largest => self.current.publish_large(ready.own),
            None => self.current.publish(&mut ready.own),
            Some(mut direct) => {
                // Fails only when savepoints are in play, which are not used.
                if let Err(error) = direct.write.set_durability(Durability::None) {
                    return Err(self.doubt(io::Error::other(error)));
                }
                self.commit(direct)?;
            }
        }
        log.committed(logged);
        Ok(())
    }

    /// A durable commit of redb, of this transaction and all that came before it. `used` says whether commits will
    /// be logged after it.
    ///
    /// What the log does not have is committed in two phases: when the file is damaged, recovery must not go back to the
    /// commit before, which would then be all that there is.
    fn commit_to_file(&self, mut ready: Ready<'_>, log: &mut LogState, used: bool) -> Result<(), Failure> {
        let mut direct = match ready.direct {
            Some(direct) => direct,
            None => self.begin_with(&mut ready.own).map_err(Failure::Before)?,
        };
        if log.changes().any() || log.is_unlogged() {
            direct.write.set_two_phase_commit(true);
        }
        if used && let Err(error) = self.log.announce(log) {
            return Err(Failure::Before(self.stop(error)));
        }
        let mark = log.next_mark(used);
        if let Err(fault) = put_mark(&direct.write, &mark) {
            let _ = direct.write.abort();
            return Err(Failure::Before(explained(fault, &self.paged)));
        }
        self.commit(direct)?;
        if let Err(error) = self.log.restart(log, mark) {
            // The commit is on disk; later ones are refused.
            self.stop(error);
        }
        Ok(())
    }

    /// Commits a transaction that has all that redb did not have.
    fn commit(&self, direct: Direct<'_>) -> Result<(), Failure> {
        self.end_direct(direct, |base| self.current.all_arrived(base))
    }

    /// Ends redb's transaction; then, before another one can begin, `arrived` gets the state.
    fn end_direct(
        &self,
        direct: Direct<'_>,
        arrived: impl FnOnce(Option<FileSnapshot>),
    ) -> Result<(), Failure> {
        let Direct { write, only } = direct;
        let committed = write.commit();
        match (committed, self.shadow.failure()) {
            (Ok(()), None) => {
                arrived(self.open_snapshot().ok());
                drop(only);
                Ok(())
            }
            (Ok(()), Some(error)) => Err(Failure::InDoubt(in_doubt(&error))),
            (Err(error), _) => {
                let fault = in_doubt(&error);
                self.shadow.stop(io::Error::other(error));
                Err(Failure::InDoubt(fault))
            }
        }
    }

    /// Brings to redb what is recent, in a commit that stays in memory; the writer may go on meanwhile.
    pub(super) fn flush_recent(&self) -> Result<()> {
        if self.current.due(&self.limits.recent) == Due::Never {
            return Ok(());
        }
        let mut direct = self.begin_direct()?;
        let waiting = self.current.set_aside();
        if waiting.is_empty() {
            return direct.write.abort().map_err(|error| fault(error.into()));
        }
        if let Some(error) = self.shadow.failure() {
            return Err(io_fault(FILE_FAILED, &error));
        }
        FileTransaction::new(&direct.write, &self.paged)
            .and_then(|mut transaction| transaction.apply_waiting(&waiting))?;
        direct
            .write
            .set_durability(Durability::None)
            .map_err(|error| fault(redb::Error::from(error)))?;
        let ended = self.end_direct(direct, |base| {
            // Without a base what is there stays: redb may get it twice.
            if let Some(base) = base {
                self.current.arrived(base, waiting.len());
            }
        });
        ended.map_err(|failure| match failure {
            Failure::Before(fault) | Failure::InDoubt(fault) => match self.shadow.failure() {
                Some(error) => io_fault(FILE_FAILED, &error),
                None => fault,
            },
        })
    }
}

fn put_mark(write: &WriteTransaction, mark: &Mark) -> Result<()> {
    let mut table = write.open_table(LOG).map_err(|error| fault(error.into()))?;
    table
        .insert(MARK_KEY, mark.seal().as_slice())
        .map_err(|error| fault(error.into()))?;
    Ok(())
}
