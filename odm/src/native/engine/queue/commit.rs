//! Running jobs as one commit.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::arrivals::{Arrivals, Jobs};
use super::{Durability, Shared, Sync, WriterState, lock};
use crate::native::engine::claims::Claim;
use crate::native::engine::job::Ran;
use crate::native::engine::view::{panic_text, shielded};
use crate::native::engine::writer::Writer;
use crate::native::fault::{Class, Fault, Result, code};
use crate::native::storage::{Failure, Finish};

/// Commits that are not durable cost space in the file: after this much they are made durable.
const MAX_UNSYNCED_BYTES: usize = 64 * 1024 * 1024;

/// The jobs of a commit, and how long it waited for them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RanJobs {
    pub(super) jobs: usize,
    pub(super) waited: Duration,
}

impl Shared {
    /// Runs queued jobs as one commit and answers them.
    pub(super) fn run_jobs(
        self: &Arc<Self>,
        writer: &mut WriterState,
        mut arrivals: Arrivals<'_>,
    ) -> RanJobs {
        if arrivals.jobs.is_empty() {
            return RanJobs::default();
        }
        let mut blocked = Vec::new();
        let committed = self
            .check_writable()
            .and_then(|()| self.run_batch(writer, &mut arrivals, &mut blocked));
        let ran = RanJobs {
            jobs: arrivals.jobs.len(),
            waited: arrivals.waited,
        };
        let mut blocked = blocked.into_iter().peekable();
        for (at, job) in arrivals.jobs.into_iter().enumerate() {
            match blocked.next_if(|(blocked, _)| *blocked == at) {
                Some((_, claim)) => {
                    // Not by way of `wait_for`: the queue is looked at again before the writer is left alone.
                    if let Some(job) = self.claims().wait(claim, job) {
                        lock(&self.queue).jobs.push_back(job);
                    }
                }
                None => job.complete(committed.as_ref().copied()),
            }
        }
        ran
    }

    /// Runs jobs as one commit. `blocked` gets the positions of those that did not run for a transaction's
    /// sake.
    pub(super) fn run_batch(
        self: &Arc<Self>,
        state: &mut WriterState,
        jobs: &mut dyn Jobs,
        blocked: &mut Vec<(usize, Claim)>,
    ) -> Result<()> {
        let (before, sequence) = {
            let published = self.published.read().unwrap_or_else(PoisonError::into_inner);
            (published.catalog.clone(), published.sequence + 1)
        };
        let mut catalog = before.clone();
        let (mut written, mut kept) = (0, 0);
        let mut durable = self.is_immediate();
        let WriterState {
            pending,
            absences,
            unsynced_bytes,
            syncing,
        } = state;
        pending.reset();
        let mut body = |transaction: &mut dyn crate::native::storage::Transaction| {
            let mut next = 0;
            while let Some(job) = jobs.next() {
                let at = next;
                next += 1;
                let mut writer = Writer::new(
                    self,
                    &*transaction,
                    (&mut *pending, &mut *absences),
                    catalog.clone(),
                    sequence,
                );
                match job.run(&mut writer) {
                    Ran::Done => {
                        writer.write_log()?;
                        let (after, wrote) = writer.keep();
                        catalog = after;
                        durable |= job.must_be_durable();
                        kept += u64::from(wrote);
                    }
                    Ran::Failed => writer.forget(),
                    Ran::Blocked(claim) => {
                        writer.forget();
                        blocked.push((at, claim));
                    }
                }
            }
            if pending.is_empty() {
                // What was found may be what others wrote, who did not wait for the disk.
                let waits = durable && (*unsynced_bytes > 0 || *syncing);
                return Ok(if waits { Finish::Durable } else { Finish::Abort });
            }
            written = pending.bytes();
            transaction.apply(pending)?;
            if !Arc::ptr_eq(&catalog, &before) {
                self.hold_view()?;
            }
            Ok(match self.durability {
                _ if durable => Finish::Durable,
                Some(Durability::Interval(_)) => Finish::Logged,
                _ => Finish::Relaxed,
            })
        };
        let store = self.store();
        let outcome = catch_unwind(AssertUnwindSafe(|| store.write(&mut body)));
        if !matches!(outcome, Ok(Ok(()))) {
            absences.forget();
        }
        match outcome {
            Ok(Ok(())) if written == 0 => {
                if durable && *unsynced_bytes > 0 {
                    *unsynced_bytes = 0;
                    self.renew_view();
                }
                return Ok(());
            }
            Ok(Ok(())) => {}
            Ok(Err(Failure::Before(fault))) => {
                let reloaded = shielded(|| self.changes.reload(&*store.snapshot()?));
                return Err(match reloaded {
                    Ok(()) => fault,
                    Err(fault) => self.fail(fault),
                });
            }
            Ok(Err(Failure::InDoubt(fault))) => return Err(self.fail(fault)),
            Err(panic) => {
                return Err(self.fail(Fault::of(
                    Class::InDoubt,
                    code::INTERNAL,
                    format!("the store failed: {}", panic_text(&*panic)),
                )));
            }
        }
        let old = {
            let mut published = self.published.write().unwrap_or_else(PoisonError::into_inner);
            published.sequence = sequence;
            published.catalog = catalog;
            published.is_held = false;
            published.view.take()
        };
        // Ending a snapshot may take the store a while: not under the lock.
        drop(old);
        self.counts.note_commit(kept);
        for waiting in std::mem::take(&mut *lock(&self.waiting)) {
            // Whoever dropped the receiver does not want to know.
            let _ = waiting.send(());
        }
        self.claims().prune(sequence);
        self.note_recent(store.due());
        if durable {
            *unsynced_bytes = 0;
        } else if self.durability.is_some() {
            self.note_unsynced(unsynced_bytes, written);
        }
        Ok(())
    }

    /// Counts what is not durable yet; asks the thread to sync, in time or at once.
    fn note_unsynced(&self, unsynced_bytes: &mut usize, written: usize) {
        let first = *unsynced_bytes == 0;
        *unsynced_bytes += written;
        let wanted = if *unsynced_bytes > MAX_UNSYNCED_BYTES {
            Sync::Now
        } else if first && self.durability != Some(Durability::None) {
            Sync::Since(Instant::now())
        } else {
            return;
        };
        lock(&self.queue).sync = Some(wanted);
        self.wake.notify_one();
    }
}
