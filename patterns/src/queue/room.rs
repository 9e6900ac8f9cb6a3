//! Room in a job's document for what is written to it later.
//!
//! A document holds 16 MiB. A claim that does not fit would fail for everybody who asks for the first job, again and again;
//! so what is enqueued leaves room, and a job that has none all the same (by its progress, say) is dead.

use odm::{Error, ErrorKind, Result, WriteError};

use super::Queue;
use super::finish::held;
use super::lease::Lease;
use super::stored::{Due, State, Stored};
use crate::numbered::{BSON_TOO_LARGE, MAX_BYTES, is_too_large};
use crate::value;

/// What is left free for fields, leases and the log of errors.
const ROOM: usize = 64 << 10;

/// That a job leaves room in its document.
///
/// # Errors
/// `InvalidArgument` otherwise.
pub(super) fn has_room(job: &Stored) -> Result<()> {
    let length = |text: Option<&String>| text.map_or(0, String::len);
    let texts = job.kind.len() + length(job.unique.as_ref()) + length(job.group.as_ref());
    if value::size(&job.message) + texts <= MAX_BYTES - ROOM {
        return Ok(());
    }
    let text = "the job is larger than one can be (16 MiB, of which 64 KiB are left free)";
    Err(Error::new(ErrorKind::InvalidArgument, text).with_code(BSON_TOO_LARGE))
}

/// How many writes of a batch found their jobs, and which had no room in them.
///
/// # Errors
/// The error itself, if it is about anything else.
pub(super) fn without_room(error: Error) -> Result<(u64, Vec<usize>)> {
    match error.partial_write() {
        Some(partial) if partial.concern.is_none() && are_all_too_large(&partial.errors) => {
            let full = partial.errors.iter().map(|failed| failed.index).collect();
            Ok((partial.summary.matched, full))
        }
        _ => Err(error),
    }
}

fn are_all_too_large(failed: &[WriteError]) -> bool {
    !failed.is_empty() && failed.iter().all(|failed| is_too_large(&failed.error))
}

impl<J> Queue<J> {
    /// Whether a write failed because there was no room for it, and something can be done about that: an error ends a
    /// transaction.
    pub(super) fn has_no_room(&self, error: &Error) -> bool {
        is_too_large(error) && !self.db.in_transaction()
    }

    /// Makes a job that this lease is of dead, because it has no room for why it failed. Nothing is added to its document.
    ///
    /// # Errors
    /// As that of any acknowledgement.
    pub(super) async fn bury_held(&self, lease: &Lease) -> Result<()> {
        let order = self.prune_at(State::Dead, self.now());
        let buried = self
            .jobs
            .update_one(
                |j| held(&j, lease),
                |j| j.state.set(State::Dead) & j.order.set(order) & j.slot.unset(),
            )
            .await?;
        if buried.matched == 0 {
            // Whoever was faster has said what became of it.
            return self.finish(lease, State::Dead, None, None).await;
        }
        if let Some((group, slot)) = lease.group.clone() {
            self.settle(vec![(group, Some(slot))]).await;
        }
        Ok(())
    }

    /// Makes a job that has no room dead, if it is still as it was found; whether it was. Nothing is added to its document,
    /// not even why.
    pub(super) async fn bury(&self, job: &Due) -> Result<bool> {
        let order = self.prune_at(State::Dead, self.now());
        let buried = self
            .jobs
            .update_one(
                |j| j.id.eq(job.id) & j.state.eq(job.state) & j.order.eq(job.order),
                |j| j.state.set(State::Dead) & j.order.set(order) & j.slot.unset(),
            )
            .await?;
        if buried.matched == 0 {
            return Ok(false);
        }
        if let Some((group, slot)) = job.group.clone().zip(job.slot) {
            self.settle(vec![(group, Some(slot))]).await;
        }
        Ok(true)
    }
}
