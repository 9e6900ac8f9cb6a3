//! The writer and its queue: who runs which jobs, in which commit.
//!
//! There is one writer, behind a lock. With immediate durability the engine's thread takes it: each
//! round applies every job that has arrived, commits with one fsync, then answers. Where several wrote at once it
//! waits a little for them to come back, so that they do not split into two crowds that take turns. Otherwise, and
//! where the disk answers so quickly that handing a job over would take longer, whoever starts a job takes the writer
//! when it is free; without immediate durability it runs what others queued meanwhile before it goes, and
//! when that gets too much the thread takes over. So it does there where a commit waits for the disk all the same.

mod alone;
mod arrivals;
mod commit;
mod flusher;
mod thread;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, TryLockError};
use std::thread::JoinHandle;
use std::time::Instant;

use futures_channel::oneshot;

use self::alone::Turns;
use self::arrivals::{Arrivals, One};
use self::flusher::Flusher;
use super::Durability;
use super::absences::Absences;
use super::changes::{ChangeLog, ChangeWindow};
use super::claims::{Claim, Claims};
use super::job::Job;
use super::statistics::Counts;
use super::view::{View, shielded};
use crate::native::catalog::{self, Catalog};
use crate::native::fault::{Class, Fault, Result, code};
use crate::native::places::Places;
use crate::native::storage::{Failure, Finish, Pending, Store, TreeId};

/// What the handles and the thread of an engine share.
pub(super) struct Shared {
    /// Replaced by a compaction, under the writer's lock and that of what is published.
    store: RwLock<Arc<dyn Store>>,
    /// `None`: there is nothing to make durable.
    durability: Option<Durability>,
    published: RwLock<Published>,
    writer: Mutex<WriterState>,
    pub(super) turns: Turns,
    queue: Mutex<Queue>,
    wake: Condvar,
    claims: Mutex<Claims>,
    /// Who wants to be told of the next commit.
    waiting: Mutex<Vec<oneshot::Sender<()>>>,
    pub(super) changes: ChangeLog,
    pub(super) counts: Counts,
    pub(super) places: Places,
    /// Why nothing is written any more.
    failure: Mutex<Option<Fault>>,
    failed: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
    flusher: Flusher,
}

/// The last commit.
#[derive(Debug)]
struct Published {
    sequence: u64,
    catalog: Arc<Catalog>,
    /// Made when first asked for.
    view: Option<Arc<View>>,
    /// Whether the view is to stay until the next commit, which changes the catalog.
    is_held: bool,
}

/// What only the writer uses.
#[derive(Debug, Default)]
pub(super) struct WriterState {
    /// Of the jobs of a commit.
    pending: Pending,
    /// In the trees of unique indexes.
    absences: Absences,
    /// How much was committed without being durable, nor being made durable just now.
    unsynced_bytes: usize,
    /// The thread is making commits durable beside the writer; it is not known yet whether it can.
    syncing: bool,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Box<dyn Job>>,
    /// The thread is to run the jobs.
    served: bool,
    /// How many jobs the thread waits for; it is told of no fewer.
    wanted: usize,
    /// The thread is to make commits durable: now, or when the interval is over.
    sync: Option<Sync>,
    closing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sync {
    Now,
    Since(Instant),
}

/// What became of a job that its caller wanted to run itself.
pub(super) enum Here {
    Done(Result<()>),
    Blocked(Claim),
    Busy,
}

/// How many jobs of others a caller runs before the thread takes over.
const MAX_JOBS_FOR_OTHERS: usize = 64;

/// Removes a log of changes that is not wanted.
fn clear_changes(store: &dyn Store) -> Result<()> {
    let cleared = store.write(&mut |transaction| {
        let mut pending = Pending::default();
        pending.clear(TreeId::CHANGES);
        transaction.apply(&mut pending)?;
        Ok(Finish::Durable)
    });
    cleared.map_err(|failure| match failure {
        Failure::Before(fault) | Failure::InDoubt(fault) => fault,
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Whether commits may be acknowledged before they are durable.
    pub(super) fn is_relaxed(&self) -> bool {
        matches!(self.durability, Some(Durability::Interval(_) | Durability::None))
    }

    /// Whether every commit is made durable before it is acknowledged.
    pub(super) fn is_immediate(&self) -> bool {
        self.durability == Some(Durability::Immediate)
    }

    /// Reads the catalog and, for a file, starts the thread.
    pub(super) fn open(
        store: Arc<dyn Store>,
        durability: Option<Durability>,
        (window, places): (ChangeWindow, Places),
    ) -> Result<Arc<Shared>> {
        let (catalog, (changes, unwanted)) = shielded(|| {
            let snapshot = store.snapshot()?;
            Ok((catalog::load(&*snapshot)?, ChangeLog::open(&*snapshot, window)?))
        })?;
        if unwanted {
            clear_changes(&*store)?;
        }
        let shared = Arc::new(Shared {
            store: RwLock::new(store),
            durability,
            published: RwLock::new(Published {
                sequence: 0,
                catalog: Arc::new(catalog),
                view: None,
                is_held: false,
            }),
            writer: Mutex::default(),
            turns: Turns::default(),
            queue: Mutex::new(Queue {
                served: durability == Some(Durability::Immediate),
                ..Queue::default()
            }),
            wake: Condvar::new(),
            claims: Mutex::default(),
            waiting: Mutex::default(),
            changes,
            counts: Counts::default(),
            places,
            failure: Mutex::new(None),
            failed: AtomicBool::new(false),
            thread: Mutex::new(None),
            flusher: Flusher::default(),
        });
        if durability.is_some() {
            shared.ensure_thread()?;
        }
        Ok(shared)
    }

    /// The store that is in use.
    pub(super) fn store(&self) -> Arc<dyn Store> {
        self.store.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Goes on with a store that has the same content, all of it durable. Whoever has a view keeps it.
    pub(super) fn replace_store(&self, writer: &mut WriterState, store: Arc<dyn Store>) {
        writer.unsynced_bytes = 0;
        let (old, view) = {
            let mut published = self.published.write().unwrap_or_else(PoisonError::into_inner);
            let mut current = self.store.write().unwrap_or_else(PoisonError::into_inner);
            (std::mem::replace(&mut *current, store), published.view.take())
        };
        // Closing a store may take a while: not under the locks, and after its snapshot.
        drop(view);
        drop(old);
    }

    /// The last commit's view.
    pub(super) fn view(&self) -> Result<Arc<View>> {
        if let Some(view) = &self.published.read().unwrap_or_else(PoisonError::into_inner).view {
            return Ok(view.clone());
        }
        self.view_of(&mut self.published.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// The last commit's view, which stays what readers get until another commit is published.
    fn hold_view(&self) -> Result<()> {
        let mut published = self.published.write().unwrap_or_else(PoisonError::into_inner);
        published.is_held = true;
        self.view_of(&mut published).map(drop)
    }

    fn view_of(&self, published: &mut Published) -> Result<Arc<View>> {
        if let Some(view) = &published.view {
            return Ok(view.clone());
        }
        // A commit may be between the store and its publication: the data is then newer than the catalog and
        // the sequence say. The catalog is the same all the same, because a commit that changes it holds the
        // view before it commits; and an older sequence only means a needless conflict.
        let view = View::new(&self.store(), published.catalog.clone(), published.sequence)?;
        let view = Arc::new(view);
        self.counts.note_view(&view);
        published.view = Some(view.clone());
        Ok(view)
    }

    /// Gives the last commit's view up for another one of the same content: the store reads it faster by now, and what it
    /// has kept for this one takes memory.
    fn renew_view(&self) {
        let old = {
            let mut published = self.published.write().unwrap_or_else(PoisonError::into_inner);
            match published.is_held {
                true => None,
                false => published.view.take(),
            }
        };
        // Ending a snapshot may take the store a while: not under the lock.
        drop(old);
    }

    /// The last commit's view, if somebody has asked for it.
    pub(super) fn published_view(&self) -> Option<Arc<View>> {
        let published = self.published.read().unwrap_or_else(PoisonError::into_inner);
        published.view.clone()
    }

    /// Is told of the first commit that is published from now on.
    pub(super) fn next_commit(&self) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = lock(&self.waiting);
        waiting.retain(|other| !other.is_canceled());
        waiting.push(sender);
        receiver
    }

    pub(super) fn claims(&self) -> MutexGuard<'_, Claims> {
        lock(&self.claims)
    }

    /// # Errors
    /// Class `Io` when an earlier commit failed.
    pub(super) fn check_writable(&self) -> Result<()> {
        if !self.failed.load(Ordering::Acquire) {
            return Ok(());
        }
        let cause = lock(&self.failure);
        if let Some(fault) = cause.as_ref().filter(|fault| fault.class() == Class::Unsupported) {
            return Err(fault.clone());
        }
        Err(Fault::of(
            Class::Io,
            code::INTERNAL,
            format!(
                "the engine accepts no writes until it is opened again: {}",
                cause.as_ref().map_or("a commit failed", Fault::message)
            ),
        ))
    }

    /// Runs a job on the caller's thread, when that is how this engine works and the writer is free.
    pub(super) fn run_here(self: &Arc<Self>, job: &mut dyn Job) -> Result<Here> {
        self.check_writable()?;
        // Whoever waits for the thread goes first, and shares the commit.
        let waits = || !self.store().is_quick() || !lock(&self.queue).jobs.is_empty();
        if ((self.is_immediate() || job.must_be_durable()) && waits()) || self.awaits_room() {
            return Ok(Here::Busy);
        }
        let Some(mut writer) = self.try_writer() else {
            return Ok(Here::Busy);
        };
        let mut blocked = Vec::new();
        let committed = self.run_batch(&mut writer, &mut One(Some(job)), &mut blocked);
        drop(writer);
        self.drain();
        Ok(match blocked.pop() {
            Some((_, claim)) => Here::Blocked(claim),
            None => Here::Done(committed),
        })
    }

    /// Whether the next commit waits for the disk though its caller does not: the log is to be begun, grown or begun anew.
    /// The thread makes it then.
    fn awaits_room(&self) -> bool {
        let is_roomy = || {
            let store = self.store.read().unwrap_or_else(PoisonError::into_inner);
            store.is_roomy()
        };
        matches!(self.durability, Some(Durability::Interval(_))) && !is_roomy()
    }

    /// Queues jobs; sees to it that somebody runs them: the thread, where the disk is waited for.
    pub(super) fn enqueue(self: &Arc<Self>, jobs: impl IntoIterator<Item = Box<dyn Job>>) {
        let (served, enough) = {
            let mut waits = self.awaits_room();
            let mut queue = lock(&self.queue);
            for job in jobs {
                waits |= job.must_be_durable() && self.is_relaxed();
                queue.jobs.push_back(job);
            }
            queue.served |= waits;
            (queue.served, queue.jobs.len() >= queue.wanted)
        };
        match (served, enough) {
            (true, true) => self.wake.notify_one(),
            (true, false) => {}
            (false, _) => self.drain(),
        }
    }

    /// Lets a job wait until the transaction that holds the key has ended.
    pub(super) fn wait_for(self: &Arc<Self>, claim: Claim, job: Box<dyn Job>) {
        let free = self.claims().wait(claim, job);
        if let Some(job) = free {
            self.enqueue([job]);
        }
    }

    /// Runs what is queued, when the writer is free; whoever has the writer does it otherwise.
    pub(super) fn drain(self: &Arc<Self>) {
        let mut done = 0;
        loop {
            // Looked at after the writer was given back: what came before that is seen here, what comes
            // after finds the writer free.
            {
                let mut queue = lock(&self.queue);
                if queue.jobs.is_empty() || queue.served {
                    return;
                }
                if done >= MAX_JOBS_FOR_OTHERS && self.ensure_thread().is_ok() {
                    queue.served = true;
                    self.wake.notify_one();
                    return;
                }
            }
            let Some(mut writer) = self.try_writer() else {
                return;
            };
            let jobs = Vec::from(std::mem::take(&mut lock(&self.queue).jobs));
            done += jobs.len();
            self.run_jobs(&mut writer, Arrivals::new(self, jobs, 0, Instant::now()));
        }
    }

    /// The writer, where nobody has it or waits for it.
    fn try_writer(&self) -> Option<MutexGuard<'_, WriterState>> {
        if self.turns.wanted() > 0 {
            return None;
        }
        match self.writer.try_lock() {
            Ok(writer) => Some(writer),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Remembers that nothing may be written any more.
    pub(super) fn fail(&self, fault: Fault) -> Fault {
        lock(&self.failure).get_or_insert_with(|| fault.clone());
        self.failed.store(true, Ordering::Release);
        fault
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("durability", &self.durability)
            .finish_non_exhaustive()
    }
}
