//! The engine: one store, its catalog, one writer, many readers.
//!
//! Writes are jobs. A job runs on the one writer and checks before it writes; its writes are collected
//! with those of the jobs before it, and taken back when it fails: none of them reaches the store then. Jobs that arrive together share one commit. Readers
//! use [`View`]s of the last commit and never wait. Transactions collect their writes over a view and are
//! applied as one job.

mod absences;
mod backup;
mod changes;
mod check;
mod claims;
mod compact;
mod job;
mod queue;
mod repair;
mod statistics;
mod transaction;
mod view;
mod wait;
mod writer;

use std::future::{Future, poll_fn};
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use super::fault::{Class, Fault, Result, code};
use super::places::Places;
use super::storage::file::FileStore;
use super::storage::format::LogHead;
use super::storage::memory::MemoryStore;
use super::storage::{Read, Store, TreeId, Write};

use self::queue::Shared;

pub(crate) use self::backup::{Copied, Watcher};
pub(crate) use self::changes::ChangeWindow;
pub(crate) use self::check::CheckReport;
pub(crate) use self::compact::Compacted;
pub(crate) use self::job::CommitOptions;
pub(crate) use self::repair::{Done, Finding, RepairReport, RepairScope, Wrong};
pub(crate) use self::statistics::{Statistics, Window};
pub(crate) use self::transaction::Overlay;
pub(crate) use self::view::View;
pub(crate) use self::wait::wait;

/// Where the data lives.
#[derive(Clone, Debug)]
pub(crate) enum Location {
    /// In memory, for as long as the engine.
    Memory,
    /// In a file in this directory; created when missing.
    Directory(PathBuf),
    /// The same, to be read only: nothing in the directory is changed.
    Reading(PathBuf),
}

/// When an acknowledged write is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Before it is acknowledged. Writes that arrive together share one fsync.
    Immediate,
    /// At most this long after it was acknowledged.
    Interval(Duration),
    /// When the engine is closed, or earlier. After a crash an earlier commit is found, whole.
    None,
}

/// How an engine is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EngineOptions {
    /// Has no effect in memory.
    pub(crate) durability: Durability,
    /// The most bytes that cached pages of the file take.
    pub(crate) cache_bytes: usize,
    /// How much of the log of changes is kept.
    pub(crate) changes: ChangeWindow,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            durability: Durability::Immediate,
            cache_bytes: 512 * 1024 * 1024,
            changes: ChangeWindow::default(),
        }
    }
}

/// A handle to an open engine; clones are the same engine. The last one to go closes it: relaxed commits
/// are made durable, the file is unlocked when no [`View`] is left.
#[derive(Clone, Debug)]
pub(crate) struct Engine(Arc<Handle>, Commits);

/// How the commits of a handle's jobs are acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Commits {
    /// As the engine's durability says.
    AsOpened,
    /// When they are on the disk.
    Durably,
}

/// A handle that does not keep the engine open.
#[derive(Clone, Debug)]
pub(crate) struct WeakEngine(Weak<Handle>);

impl WeakEngine {
    /// A handle, while there is another.
    pub(crate) fn upgrade(&self) -> Option<Engine> {
        Some(Engine(self.0.upgrade()?, Commits::AsOpened))
    }
}

/// Closes the engine when dropped. The engine's thread holds only what is shared, never this.
#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
}

impl Engine {
    /// Opens an engine.
    ///
    /// # Errors
    /// Class `Locked` when the directory is in use by another engine, in this process or in another;
    /// `Corrupt`, `Unsupported` (not an engine's file, or of a newer format), `Io`.
    pub(crate) fn open(location: Location, options: EngineOptions) -> Result<Engine> {
        let is_read_only = matches!(location, Location::Reading(_));
        let (store, durability): (Arc<dyn Store>, _) = match location {
            Location::Memory => (Arc::new(MemoryStore::default()), None),
            Location::Directory(path) => {
                let store = view::shielded(|| FileStore::open(&path, options.cache_bytes))?;
                (Arc::new(store), Some(options.durability))
            }
            Location::Reading(path) => {
                let store = view::shielded(|| FileStore::open_to_read(&path, options.cache_bytes))?;
                (Arc::new(store), None)
            }
        };
        let shared = Shared::open(
            store,
            durability,
            (options.changes, Places::beside(options.cache_bytes)),
        )?;
        let engine = Engine(Arc::new(Handle { shared }), Commits::AsOpened);
        repair::renew_keys(&engine)?;
        if is_read_only {
            engine.0.shared.fail(read_only());
        }
        Ok(engine)
    }

    /// The same engine, whose jobs are acknowledged when they are on the disk, whatever its durability; or by that.
    pub(crate) fn acknowledging(&self, durably: bool) -> Engine {
        let commits = match durably {
            true => Commits::Durably,
            false => Commits::AsOpened,
        };
        Engine(self.0.clone(), commits)
    }

    /// The same engine, which this does not keep open.
    pub(crate) fn downgrade(&self) -> WeakEngine {
        WeakEngine(Arc::downgrade(&self.0))
    }

    /// Makes all commits durable that are not. Blocks the thread; writers wait meanwhile.
    ///
    /// # Errors
    /// Class `Io` or `InDoubt` when they cannot be, or an earlier commit failed.
    pub(crate) fn flush(&self) -> Result<()> {
        self.0.shared.flush()
    }

    /// An engine on any store; without a durability there is nothing to make durable.
    #[cfg(test)]
    pub(crate) fn with_store(store: Arc<dyn Store>, durability: Option<Durability>) -> Result<Engine> {
        let shared = Shared::open(store, durability, (ChangeWindow::default(), Places::beside(0)))?;
        Ok(Engine(Arc::new(Handle { shared }), Commits::AsOpened))
    }

    /// The last committed state. Cheap: views are shared until the next commit.
    ///
    /// # Errors
    /// Class `Io` or `Corrupt` when the store cannot be read.
    pub(crate) fn view(&self) -> Result<Arc<View>> {
        self.0.shared.view()
    }

    /// Where documents were found by their `_id`, or put.
    pub(crate) fn places(&self) -> &Places {
        &self.0.shared.places
    }

    /// Runs a job on the writer and commits what it wrote.
    ///
    /// Nothing happens before the first poll. With [`Durability::Immediate`] the job runs on the engine's
    /// thread, unless the disk answers at once; otherwise on the caller's when the writer is free. A job that gives an error or panics
    /// leaves nothing behind. A job that gives a fault of class `Blocked` (from [`Write::claim`]) runs
    /// again when the transaction that holds the key has ended.
    ///
    /// # Cancel safety
    /// When the future is dropped the job may or may not take effect, but never in part.
    ///
    /// # Errors
    /// The job's; class `InDoubt` when the commit failed, `Io` when writing failed before it or an earlier
    /// commit did.
    pub(crate) fn write<T, F>(&self, job: F) -> impl Future<Output = Result<T>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnMut(&mut dyn Write) -> Result<T> + Send + 'static,
    {
        let engine = self.clone();
        async move {
            match engine.start(job, None)? {
                job::Started::Done(result) => result,
                job::Started::Waiting(receiver) => receiver.await.unwrap_or_else(|_| Err(closed())),
            }
        }
    }

    /// As [`write`](Engine::write), but gives the job up when `over` ends before the writer, or the transaction that
    /// is in its way, lets it run.
    ///
    /// # Errors
    /// Those of [`write`](Engine::write); class `Timeout` when the job was given up: then it has no effect.
    pub(crate) fn write_until<T, F, P>(
        &self,
        job: F,
        over: P,
    ) -> impl Future<Output = Result<T>> + Send + use<T, F, P>
    where
        T: Send + 'static,
        F: FnMut(&mut dyn Write) -> Result<T> + Send + 'static,
        P: Future<Output = ()> + Send,
    {
        let engine = self.clone();
        async move {
            let patience = Arc::new(job::Patience::default());
            let mut receiver = match engine.start(job, Some(patience.clone()))? {
                job::Started::Done(result) => return result,
                job::Started::Waiting(receiver) => receiver,
            };
            let mut over = pin!(over);
            let mut is_over = false;
            let answered = poll_fn(|ctx| {
                if let Poll::Ready(answer) = Pin::new(&mut receiver).poll(ctx) {
                    return Poll::Ready(Some(answer));
                }
                if !is_over && over.as_mut().poll(ctx).is_ready() {
                    is_over = true;
                    if patience.give_up() {
                        return Poll::Ready(None);
                    }
                }
                Poll::Pending
            });
            match answered.await {
                Some(answer) => answer.unwrap_or_else(|_| Err(closed())),
                None => Err(Fault::of(
                    Class::Timeout,
                    code::MAX_TIME_EXPIRED,
                    "operation exceeded time limit",
                )),
            }
        }
    }

    /// Begins the log of changes, unless it has begun. Changes committed after this are in it.
    ///
    /// # Errors
    /// Class `Unsupported` when the engine was opened without one; those of [`Engine::write`].
    pub(crate) async fn begin_log(&self) -> Result<()> {
        // On it is before it is committed, and whoever goes by that finds a state without it.
        let is_on = self.0.shared.changes.is_on();
        if is_on && self.view()?.get(TreeId::CHANGES, LogHead::KEY)?.is_some() {
            return Ok(());
        }
        self.write(|write| write.begin_log()).await
    }

    /// Ends with the first commit after this call. Cheap; dropping it forgets the wish.
    pub(crate) fn next_commit(&self) -> impl Future<Output = ()> + Send + use<> {
        let told = self.0.shared.next_commit();
        async move {
            // An engine that is closed tells nobody, and has no commits to wait for.
            let _ = told.await;
        }
    }

    /// Begins a transaction on the last committed state.
    ///
    /// # Errors
    /// Those of [`Engine::view`].
    pub(crate) fn begin(&self) -> Result<Overlay> {
        Overlay::begin(self.clone())
    }

    /// Commits a transaction. One that wrote nothing is done at once, unless what it read is to be on the disk.
    ///
    /// # Errors
    /// A conflict when a collection that it wrote to was changed or dropped since its snapshot; class
    /// `InDoubt` and `Io` as for [`Engine::write`].
    pub(crate) fn commit(
        &self,
        transaction: Overlay,
        options: CommitOptions,
    ) -> impl Future<Output = Result<()>> + Send + use<> {
        let engine = self.clone();
        async move {
            if transaction.is_unchanged() && !(options.durable && engine.0.shared.is_relaxed()) {
                return Ok(());
            }
            let (job, receiver) = job::Commit::new(transaction, options);
            engine.0.shared.check_writable()?;
            engine.0.shared.enqueue([Box::new(job) as Box<dyn job::Job>]);
            receiver.await.unwrap_or_else(|_| Err(closed()))
        }
    }

    /// Checks everything: the store's own integrity, every record, every index against its documents.
    /// Writers wait meanwhile, readers do not. The data is read from disk, not from the cache.
    ///
    /// # Errors
    /// Class `Io` when the file cannot be read. Damage is in the report.
    pub(crate) fn check(&self) -> Result<CheckReport> {
        check::check(&self.0.shared)
    }

    /// Makes the indexes what the documents say, and counts and flags with them. Each index is one commit. Blocks
    /// the thread; writers wait while an index is looked at. `go_on` is asked between two indexes.
    ///
    /// # Errors
    /// Those of [`Engine::write`]. Damage is in the report.
    pub(crate) fn repair(
        &self,
        scope: &RepairScope,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<RepairReport> {
        repair::repair(self, scope, go_on)
    }

    /// Copies the last committed state to a directory, as a database of its own. Blocks the thread; readers and
    /// writers go on.
    ///
    /// # Errors
    /// See [`backup::backup`].
    pub(crate) fn backup(
        &self,
        target: &Path,
        damaged_too: bool,
        watcher: &mut Watcher<'_>,
    ) -> Result<Copied> {
        let view = self.view()?;
        backup::backup(&view, target, damaged_too, watcher)
    }

    /// Gives unused space of the file back. Blocks the thread; writers wait, readers go on.
    ///
    /// # Errors
    /// See [`compact::compact`].
    pub(crate) fn compact(&self) -> Result<Compacted> {
        compact::compact(&self.0.shared)
    }

    /// What the engine has done and what is open; with `space`, also what the file's bytes are used for, which
    /// reads most of it.
    ///
    /// # Errors
    /// Class `Io` or `Corrupt` when the store cannot be read.
    pub(crate) fn statistics(&self, space: bool) -> Result<Statistics> {
        statistics::statistics(&self.0.shared, space)
    }

    /// Runs a job here when that is allowed and the writer is free, otherwise queues it.
    fn start<T, F>(&self, job: F, patience: Option<Arc<job::Patience>>) -> Result<job::Started<T>>
    where
        T: Send + 'static,
        F: FnMut(&mut dyn Write) -> Result<T> + Send + 'static,
    {
        let durable = self.1 == Commits::Durably;
        let mut job = job::Typed::new(job).with_patience(patience).durable(durable);
        match self.0.shared.run_here(&mut job)? {
            queue::Here::Done(committed) => {
                return Ok(job::Started::Done(job.finish(committed.as_ref().copied())));
            }
            queue::Here::Blocked(claim) => {
                let receiver = job.channel();
                self.0.shared.wait_for(claim, Box::new(job));
                return Ok(job::Started::Waiting(receiver));
            }
            queue::Here::Busy => {}
        }
        let receiver = job.channel();
        self.0.shared.enqueue([Box::new(job) as Box<dyn job::Job>]);
        Ok(job::Started::Waiting(receiver))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.close();
    }
}

/// The fault of whoever writes to a database that was opened to be read.
fn read_only() -> Fault {
    Fault::of(
        Class::Unsupported,
        code::ILLEGAL_OPERATION,
        "the database was opened for reading only",
    )
}

fn closed() -> Fault {
    Fault::of(Class::Locked, code::INTERNAL, "the engine is closed")
}

#[cfg(test)]
mod tests;
