//! What has to be done now and then, by anybody.

use std::time::Duration;

use odm::bson::oid::ObjectId;
use odm::bson::{DateTime, doc};
use odm::{Embedded, Result, Update};
use serde::{Deserialize, Serialize};

use super::Queue;
use super::order;
use super::room::without_room;
use super::stored::{AttemptError, BY_ID, Due, State, StoredFields};

/// By how much the lease of another handle may be ahead of this one's clock.
const SKEW: Duration = Duration::from_secs(1);

/// What tending to the queue did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tended {
    /// Jobs that were found to be due, or with a lease that had ended; others may have been faster.
    pub found: u64,
    /// Jobs that were due and are ready now.
    pub promoted: u64,
    /// Jobs whose lease had ended and that are ready now.
    pub reclaimed: u64,
    /// Jobs whose lease had ended in their last attempt, and that are dead now.
    pub died: u64,
    /// Jobs that had been called off while they ran, and whose lease had ended.
    pub canceled: u64,
    /// Jobs of groups that somebody had forgotten to let go.
    pub admitted: u64,
    /// Leases that ended so late that only a clock that was ahead explains it, and for which nobody gave a sign of life for as
    /// long as a lease lasts: they end now.
    pub shortened: u64,
    /// Finished jobs that were deleted.
    pub pruned: u64,
}

/// A lease that ends further ahead than any lasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub(super) struct Ahead {
    #[serde(rename = "_id")]
    id: ObjectId,
    /// When it ends: no two that a job had after another end at the same time.
    order: i64,
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
struct Finished {
    #[serde(rename = "_id")]
    id: ObjectId,
}

impl<J> Queue<J> {
    /// Does what has to be done now and then: makes ready what is due, and what a dead worker held; lets go the jobs of
    /// groups that were forgotten; deletes what was kept long enough; up to a [batch](super::Options::batch) of each. A
    /// [`Worker`](super::Worker) calls it every second. Anybody may, as often as they like and at the same time. A job that
    /// a dead worker held, and whose document (16 MiB) has no room for that in its log of errors, is dead.
    ///
    /// The lease of a dead worker whose clock was ahead is ended by a handle, or its clones, that has tended to the queue for as
    /// long as a lease lasts.
    ///
    /// Four round trips when there is nothing to do.
    ///
    /// # Errors
    /// As any operation; what was done until then stays done.
    pub async fn tend(&self) -> Result<Tended> {
        let shortened = self.shorten().await?;
        let mut tended = self.promote().await?;
        tended.shortened = shortened;
        tended.admitted = self.admit_forgotten().await?;
        tended.pruned = self.prune().await?;
        Ok(tended)
    }

    /// Makes ready what is due and what is no longer held. One round trip, and one more for each of the two if there is
    /// something.
    pub(super) async fn promote(&self) -> Result<Tended> {
        let now = self.now();
        let due = self
            .jobs
            .find(|j| {
                j.state.is_in([State::Scheduled, State::Failed, State::Running]) & j.order.lte(order::at(now))
            })
            .limit(u64::from(self.options.batch))
            .project::<Due>()
            .await?;
        let mut tended = Tended::default();
        if due.is_empty() {
            return Ok(tended);
        }
        tended.found = due.len() as u64;
        let (expired, waiting): (Vec<Due>, Vec<Due>) =
            due.into_iter().partition(|job| job.state == State::Running);
        if !waiting.is_empty() {
            let ids: Vec<ObjectId> = waiting.iter().map(|job| job.id).collect();
            let promoted = self
                .jobs
                .update_many(
                    |j| {
                        j.id.is_in(&ids)
                            & j.state.is_in([State::Scheduled, State::Failed])
                            & j.order.lte(order::at(now))
                    },
                    |_| {
                        Update::pipeline([
                            doc! { "$set": { "state": State::Ready.name(), "order": "$place" } },
                        ])
                    },
                )
                .hint(BY_ID)
                .await?;
            tended.promoted = promoted.matched;
        }
        let freed = self.reclaim_all(&expired, now, &mut tended).await?;
        self.settle(freed).await;
        Ok(tended)
    }

    /// Takes jobs from those whose leases have ended; the slots of groups that are free then.
    async fn reclaim_all(
        &self,
        expired: &[Due],
        now: DateTime,
        tended: &mut Tended,
    ) -> Result<Vec<(String, Option<u32>)>> {
        let mut freed = Vec::new();
        if expired.is_empty() {
            return Ok(freed);
        }
        let mut batch = self.jobs.bulk_write().unordered();
        for job in expired {
            let next = next_state(job);
            if let (true, Some((group, slot))) = (next.is_finished(), job.group.clone().zip(job.slot)) {
                freed.push((group, Some(slot)));
            }
            let token = job.lease.as_ref().map_or(0, |lease| lease.token);
            batch = batch.update_one(
                |j| {
                    let found = j.id.eq(job.id)
                        & j.state.eq(State::Running)
                        & j.order.eq(job.order)
                        & j.lease.token.eq(token);
                    match job.cancel {
                        true => found,
                        // Called off since then, it is left to the next look.
                        false => found & j.cancel.ne(true),
                    }
                },
                |j| self.reclaim(&j, job, next, now),
            );
        }
        let (mut left, full) = match batch.await {
            Err(error) if !self.db.in_transaction() => without_room(error)?,
            written => (written?.matched, Vec::new()),
        };
        // Others may do the same at the same time: what they did is not counted here.
        for (at, job) in expired.iter().enumerate() {
            if full.contains(&at) {
                tended.died += u64::from(self.bury(job).await?);
                continue;
            }
            let count = match next_state(job) {
                State::Dead => &mut tended.died,
                State::Canceled => &mut tended.canceled,
                _ => &mut tended.reclaimed,
            };
            *count += u64::from(left > 0);
            left = left.saturating_sub(1);
        }
        Ok(freed)
    }

    fn reclaim(
        &self,
        j: &StoredFields,
        job: &Due,
        next: State,
        now: DateTime,
    ) -> Update<super::stored::Stored> {
        let owner = job.lease.as_ref().map_or("", |lease| lease.owner.as_str());
        let error = AttemptError::new(job.attempts, now, owner, "the lease ended without a sign of life");
        match next {
            State::Ready => j.state.set(State::Ready) & j.order.set(job.place) & self.logging(j, error),
            finished => self.finishing(j, (finished, job.group.is_some()), now, None, Some(error)),
        }
    }

    /// Ends leases that end further ahead than any lease lasts, once nobody has renewed them for as long as one: the clock of
    /// their workers was ahead. Where this one's is behind, those who live renew theirs. One round trip, and one more when there
    /// is something to end.
    async fn shorten(&self) -> Result<u64> {
        let now = self.now();
        let latest = order::at(order::later(order::later(now, self.options.lease), SKEW));
        let ahead = self
            .jobs
            .find(|j| j.state.eq(State::Running) & j.order.gt(latest))
            // Those of the wrong clock are further ahead than those of the right ones.
            .sort(|j| j.order.desc())
            .limit(u64::from(self.options.batch))
            .project::<Ahead>()
            .await?;
        let over = self.shared.control.note_ahead(ahead, now, self.options.lease);
        if over.is_empty() {
            return Ok(0);
        }
        let mut batch = self.jobs.bulk_write().unordered();
        for lease in over {
            batch = batch.update_one(
                |j| j.id.eq(lease.id) & j.state.eq(State::Running) & j.order.eq(lease.order),
                |j| j.order.set(order::at(now)) & j.lease.until.set(now),
            );
        }
        Ok(batch.await?.matched)
    }

    /// Deletes finished jobs that were kept long enough, up to a [batch](super::Options::batch). One round trip, and one
    /// more when there are some. [`tend`](Queue::tend) does it too.
    ///
    /// # Errors
    /// As any operation.
    pub async fn prune(&self) -> Result<u64> {
        let now = order::at(self.now());
        let finished = [State::Done, State::Dead, State::Canceled];
        let old = self
            .jobs
            .find(|j| j.state.is_in(finished) & j.order.lte(now))
            .limit(u64::from(self.options.batch))
            .project::<Finished>()
            .await?;
        if old.is_empty() {
            return Ok(0);
        }
        let ids: Vec<ObjectId> = old.iter().map(|job| job.id).collect();
        let pruned = self
            .jobs
            .delete_many(|j| j.id.is_in(&ids) & j.state.is_in(finished) & j.order.lte(now))
            .hint(BY_ID)
            .await?;
        Ok(pruned.deleted)
    }
}

/// What becomes of a job whose lease has ended. The attempt counts.
fn next_state(job: &Due) -> State {
    match job.attempts {
        _ if job.cancel => State::Canceled,
        attempts if attempts >= job.max_attempts => State::Dead,
        _ => State::Ready,
    }
}
