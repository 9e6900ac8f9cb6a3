//! The state of a transaction, shared by all that runs inside it.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_core::future::BoxFuture;

use crate::backend::Transaction;
use crate::db::Db;
use crate::error::{Error, ErrorKind, Result};

pub(crate) const TRANSIENT: &str = "TransientTransactionError";
pub(crate) const UNKNOWN_COMMIT: &str = "UnknownTransactionCommitResult";

/// What every operation, and the commit, is told after the server aborted the transaction.
const NO_SUCH_TRANSACTION: i32 = 251;

const SWALLOWED: &str = "an operation failed and so aborted the transaction; the failure was not passed on";

const RUNNING: u8 = 0;
const COMMITTING: u8 = 1;
const COMMITTED: u8 = 2;
const ABORTED: u8 = 3;

/// Keeps a transaction from being used after its end, and remembers what decides about running it again.
pub(crate) struct Guard {
    transaction: Arc<dyn Transaction>,
    state: AtomicU8,
    /// The error of an operation that aborted the transaction, as far as that can be known here: some errors leave
    /// the transaction alone, which only the commit shows.
    cause: Mutex<Option<Error>>,
    doomed: Mutex<Option<Error>>,
    /// The database that the transaction was begun on.
    outer: Db,
    endings: Mutex<Endings>,
    /// Whether whoever began it may run it again, and says when it is rolled back for good.
    is_run: AtomicBool,
}

/// What waits for the end of the transaction.
#[derive(Default)]
struct Endings {
    commit: Vec<BoxFuture<'static, ()>>,
    rollback: Vec<BoxFuture<'static, ()>>,
}

impl Guard {
    pub(crate) fn new(transaction: Arc<dyn Transaction>, outer: Db) -> Guard {
        Guard {
            transaction,
            state: AtomicU8::new(RUNNING),
            cause: Mutex::new(None),
            doomed: Mutex::new(None),
            outer,
            endings: Mutex::default(),
            is_run: AtomicBool::new(false),
        }
    }

    /// Leaves what waits for the rollback to whoever runs the transaction.
    pub(super) fn is_to_be_run(&self) {
        self.is_run.store(true, Ordering::Relaxed);
    }

    pub(crate) fn outer(&self) -> &Db {
        &self.outer
    }

    /// Runs this when the transaction is committed.
    pub(crate) fn after_commit(&self, action: BoxFuture<'static, ()>) {
        self.endings().commit.push(action);
    }

    /// Runs this when the transaction is rolled back and not run again.
    pub(crate) fn after_rollback(&self, action: BoxFuture<'static, ()>) {
        self.endings().rollback.push(action);
    }

    /// The same where nobody runs the transaction again.
    pub(super) async fn ended(&self) {
        if !self.is_run.load(Ordering::Relaxed) {
            self.rolled_back().await;
        }
    }

    /// Drops what waits for the end: the transaction is run again.
    pub(super) fn forget(&self) {
        drop(std::mem::take(&mut *self.endings()));
    }

    /// Runs what waits for the rollback, if the transaction is rolled back: it may be committed, or nobody may know
    /// whether it is.
    pub(crate) async fn rolled_back(&self) {
        if !self.is_aborted() {
            return;
        }
        let endings = std::mem::take(&mut *self.endings());
        for action in endings.rollback {
            action.await;
        }
    }

    fn endings(&self) -> MutexGuard<'_, Endings> {
        self.endings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error when the transaction was committed or aborted, or is being committed.
    pub(crate) fn check_running(&self) -> Result<()> {
        match self.state.load(Ordering::Acquire) {
            RUNNING => Ok(()),
            COMMITTING => Err(self.over("the transaction is being committed")),
            COMMITTED => Err(self.over("the transaction was committed")),
            _ => Err(self.over("the transaction was aborted")),
        }
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.state.load(Ordering::Acquire) == ABORTED
    }

    /// Whether it was committed or aborted. What is being committed may be asked for that again.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state.load(Ordering::Acquire), COMMITTED | ABORTED)
    }

    /// Whether an operation failed in a way that running the transaction again can cure.
    pub(crate) fn is_transient(&self) -> bool {
        self.cause()
            .as_ref()
            .is_some_and(|cause| cause.has_label(TRANSIENT))
    }

    /// Remembers what an operation's error says about the transaction.
    ///
    /// An operation on a transaction that was aborted before is told that there is no such transaction, and that
    /// running it again may help. Whether it does depends on what aborted it: that error stays.
    pub(crate) fn notice(&self, error: &Error) {
        let mut cause = self.cause();
        let news = match &*cause {
            None => true,
            Some(known) => {
                error.has_label(TRANSIENT)
                    && error.code() != Some(NO_SUCH_TRANSACTION)
                    && !known.has_label(TRANSIENT)
            }
        };
        if news {
            *cause = Some(error.clone());
        }
    }

    /// An operation on a transaction that was aborted before is only told that there is none: with what aborted it as
    /// the source.
    pub(crate) fn explained(&self, error: Error) -> Error {
        match &*self.cause() {
            Some(cause)
                if error.code() == Some(NO_SUCH_TRANSACTION) && cause.code() != Some(NO_SUCH_TRANSACTION) =>
            {
                error.with_source(cause.clone())
            }
            _ => error,
        }
    }

    pub(super) fn cause(&self) -> MutexGuard<'_, Option<Error>> {
        self.cause.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the transaction end only by abort: a part of it failed, and its writes must not be kept.
    pub(crate) fn doom(&self, error: Error) {
        self.doomed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(error);
    }

    /// The same after an operation that failed in its middle, with its error.
    pub(crate) fn fail(&self, error: Error) {
        self.doom(error.behind(SWALLOWED));
    }

    pub(crate) async fn commit(&self) -> Result<()> {
        let doomed = self.doomed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(error) = doomed {
            self.abort().await;
            return Err(error);
        }
        let cause = self.cause().clone();
        if let Some(cause) = &cause
            && cause.has_label(TRANSIENT)
            && self.check_running().is_ok()
        {
            self.abort().await;
            // What the server says of it, with the reason.
            return Err(Error::new(ErrorKind::Conflict, SWALLOWED)
                .with_code(NO_SUCH_TRANSACTION)
                .with_label(TRANSIENT)
                .with_backend(self.transaction.name())
                .with_operation("commitTransaction")
                .with_source(cause.clone()));
        }
        match self
            .state
            .compare_exchange(RUNNING, COMMITTING, Ordering::AcqRel, Ordering::Acquire)
        {
            // A commit that was interrupted, or whose outcome is unknown, may be asked again.
            Ok(_) | Err(COMMITTING) => {}
            Err(COMMITTED) => return Ok(()),
            Err(_) => return Err(self.over("the transaction was aborted")),
        }
        let result = self.transaction.commit().await;
        match &result {
            Ok(()) => {
                self.state.store(COMMITTED, Ordering::Release);
                let endings = std::mem::take(&mut *self.endings());
                for action in endings.commit {
                    action.await;
                }
            }
            // Of two that asked at a time, the other one was told.
            Err(_) if self.state.load(Ordering::Acquire) == COMMITTED => return Ok(()),
            // It is committed, or may be.
            Err(error) if error.is_in_doubt() || error.has_label(UNKNOWN_COMMIT) => {}
            Err(error) => {
                self.notice(error);
                let (from, to) = (Ordering::AcqRel, Ordering::Acquire);
                let _ = self.state.compare_exchange(COMMITTING, ABORTED, from, to);
            }
        }
        if let (Err(error), Some(cause)) = (&result, cause)
            && error.code() == Some(NO_SUCH_TRANSACTION)
        {
            return Err(cause.behind(SWALLOWED));
        }
        let backend = self.transaction.name();
        result.map_err(|error| error.within(backend, "commitTransaction", None, || None))
    }

    pub(crate) async fn abort(&self) {
        let running = self
            .state
            .compare_exchange(RUNNING, ABORTED, Ordering::AcqRel, Ordering::Acquire);
        if running.is_ok() {
            self.transaction.abort().await;
        }
    }

    fn over(&self, text: &'static str) -> Error {
        Error::new(ErrorKind::Locked, text).with_backend(self.transaction.name())
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("running", &self.check_running().is_ok())
            .finish()
    }
}
