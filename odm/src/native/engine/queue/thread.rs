//! The engine's thread: it runs what is queued when it is its turn, and makes relaxed commits durable.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::arrivals::{Arrivals, part_of};
use super::{Durability, Queue, Shared, Sync, WriterState, lock};
use crate::native::engine::view::panic_text;
use crate::native::fault::{Class, Fault, Result, code};
use crate::native::storage::{Failure, Finish};

/// The longest that is waited for others to share a commit.
const MOST_PATIENCE: Duration = Duration::from_millis(2);

impl Shared {
    /// Makes what was committed durable.
    fn sync(&self, state: &mut WriterState) {
        // What the thread is making durable it may have begun with, and no more: its failure is found here too.
        let is_all_durable = state.unsynced_bytes == 0 && !state.syncing;
        if is_all_durable || self.failed.load(Ordering::Acquire) {
            return;
        }
        state.unsynced_bytes = 0;
        self.write_all();
    }

    /// Makes commits durable that are not, for whoever asks.
    ///
    /// # Errors
    /// Why they cannot be; class `Io` when an earlier commit failed.
    pub(in super::super) fn flush(self: &Arc<Self>) -> Result<()> {
        self.alone(|state| {
            match self.check_writable() {
                // Nothing was ever written.
                Err(fault) if fault.class() == Class::Unsupported => return Ok(()),
                written => written?,
            }
            if self.durability.is_some() {
                self.sync(state);
            }
            match lock(&self.failure).as_ref() {
                Some(fault) => Err(fault.clone()),
                None => Ok(()),
            }
        })
    }

    /// The same; writers need not wait meanwhile, unless it is the database file that must be written.
    fn sync_beside(&self) {
        {
            let mut state = lock(&self.writer);
            if state.unsynced_bytes == 0 || self.failed.load(Ordering::Acquire) {
                return;
            }
            // What is committed from here on counts for the next time.
            state.unsynced_bytes = 0;
            state.syncing = true;
        }
        let synced = self.or_fail(|| self.store().sync());
        let mut state = lock(&self.writer);
        state.syncing = false;
        if synced == Some(false) {
            state.unsynced_bytes = 0;
            self.write_all();
        }
    }

    /// Makes durable what is not; the store may have it elsewhere then.
    fn write_all(&self) {
        let written = self.or_fail(|| self.store().write(&mut |_| Ok(Finish::Durable)));
        if written.is_some() {
            self.renew_view();
        }
    }

    /// What the store did; nothing is written any more if it failed.
    fn or_fail<T>(&self, body: impl FnOnce() -> Result<T, Failure>) -> Option<T> {
        match catch_unwind(AssertUnwindSafe(body)) {
            Ok(Ok(done)) => return Some(done),
            Ok(Err(Failure::Before(fault) | Failure::InDoubt(fault))) => drop(self.fail(fault)),
            Err(panic) => drop(self.fail(Fault::of(
                Class::InDoubt,
                code::INTERNAL,
                format!("the store failed: {}", panic_text(&*panic)),
            ))),
        }
        None
    }

    pub(super) fn ensure_thread(self: &Arc<Self>) -> Result<()> {
        let mut thread = lock(&self.thread);
        if thread.is_none() {
            let shared = self.clone();
            let started = std::thread::Builder::new()
                .name("odm-writer".to_owned())
                .spawn(move || shared.serve());
            *thread = Some(started.map_err(|error| {
                Fault::of(
                    Class::Io,
                    code::INTERNAL,
                    format!("cannot start the engine's thread: {error}"),
                )
            })?);
        }
        Ok(())
    }

    /// The thread: runs queued jobs when it is its turn, makes relaxed commits durable, until closed.
    fn serve(self: Arc<Self>) {
        loop {
            let (closing, sync) = self.wait_for_work();
            if sync && !closing {
                self.sync_beside();
            }
            self.turns.give_way();
            let mut writer = lock(&self.writer);
            if closing {
                self.sync(&mut writer);
            }
            let mut commit = Duration::ZERO;
            let mut crowd = 0;
            loop {
                let until = Instant::now() + commit.min(MOST_PATIENCE);
                let jobs = {
                    let mut queue = lock(&self.queue);
                    if crowd > 1 {
                        queue = self.gather(queue, part_of(crowd), until);
                    }
                    if queue.jobs.is_empty() {
                        // Back to callers who run their jobs themselves; under the lock that they look at
                        // the queue with, so that no job is left to nobody.
                        queue.served = self.is_immediate();
                        queue.wanted = 0;
                        break;
                    }
                    if self.turns.wanted() > 0 && !closing {
                        queue.wanted = 0;
                        break;
                    }
                    // Nobody need wake a thread that is at work.
                    queue.wanted = usize::MAX;
                    Vec::from(std::mem::take(&mut queue.jobs))
                };
                let start = Instant::now();
                let ran = self.run_jobs(&mut writer, Arrivals::new(&self, jobs, crowd, until));
                commit = start.elapsed().saturating_sub(ran.waited);
                // All who write now: those who were answered and those who came meanwhile.
                crowd = ran.jobs + lock(&self.queue).jobs.len();
            }
            if closing {
                self.sync(&mut writer);
                return;
            }
            drop(writer);
            self.drain();
        }
    }

    /// Waits for the first of those who were part of the last commit: they ask again at once, or not soon. No longer
    /// than that commit took, so that waiting in vain costs no more than a commit.
    fn gather<'q>(
        &self,
        mut queue: MutexGuard<'q, Queue>,
        wanted: usize,
        until: Instant,
    ) -> MutexGuard<'q, Queue> {
        queue.wanted = wanted;
        while queue.jobs.len() < wanted && !queue.closing {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            queue = self
                .wake
                .wait_timeout(queue, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        queue
    }

    /// Waits until there is something to do: whether the engine is closing, and whether to sync.
    fn wait_for_work(&self) -> (bool, bool) {
        let mut queue = lock(&self.queue);
        loop {
            let mut timeout = None;
            let mut sync = false;
            match (queue.sync, self.durability) {
                (Some(Sync::Since(start)), Some(Durability::Interval(interval))) => {
                    let left = interval.saturating_sub(start.elapsed());
                    sync = left.is_zero();
                    timeout = Some(left);
                }
                (Some(_), _) => sync = true,
                (None, _) => {}
            }
            if sync {
                queue.sync = None;
            }
            if sync || queue.closing || (queue.served && !queue.jobs.is_empty()) {
                return (queue.closing, sync);
            }
            queue = match timeout {
                None => self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner),
                Some(timeout) => {
                    let waited = self.wake.wait_timeout(queue, timeout);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Ends the thread after it has run what is queued and made every commit durable.
    pub(in super::super) fn close(&self) {
        lock(&self.queue).closing = true;
        self.wake.notify_one();
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            // The thread catches panics; there is nobody to tell of one.
            let _ = thread.join();
        }
        self.flusher.close();
    }
}
