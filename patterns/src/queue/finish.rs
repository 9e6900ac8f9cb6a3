//! What a worker says of a job in the end.

use std::collections::BTreeMap;
use std::time::Duration;

use odm::bson::oid::ObjectId;
use odm::bson::{DateTime, RawArrayBuf, RawBson};
use odm::{Embedded, Filter, Result, Update};
use serde::{Deserialize, Serialize};

use super::Queue;
use super::claim::among;
use super::failure::{Failure, Then};
use super::lease::{Lease, LeaseLost};
use super::message;
use super::order;
use super::stored::{AttemptError, BY_ID, State, Stored, StoredFields, StoredLease};

/// What is looked at when a lease is found lost.
#[derive(Debug, Serialize, Deserialize, Embedded)]
pub(super) struct Seen {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub state: State,
    #[serde(default)]
    pub lease: Option<StoredLease>,
    #[serde(default)]
    pub cancel: bool,
}

impl Seen {
    fn is_of(&self, lease: &Lease) -> bool {
        self.lease.as_ref().is_some_and(|seen| seen.token == lease.token)
    }
}

/// How a job goes back into the queue.
struct Back {
    state: State,
    due: DateTime,
    /// Whether the attempt counts.
    counts: bool,
    error: Option<AttemptError>,
}

impl<J> Queue<J> {
    /// Says that the job is done. Saying it twice is no error, so that it can be said again when the reply was lost.
    ///
    /// Where it [deletes the job](super::Options::keep_done), a job that is gone counts as done under this lease, as far as
    /// can be told. Not so inside of a transaction: what else it writes is written only if the acknowledgement took effect.
    ///
    /// One round trip; one more when the lease is lost, or for a job of a group, whose next job it lets go.
    ///
    /// # Errors
    /// `Conflict` with [`LeaseLost`] when the job belongs to somebody else by now, was called off, or is gone; then nothing
    /// is written.
    pub async fn ack(&self, lease: impl AsRef<Lease>) -> Result<()> {
        self.finish(lease.as_ref(), State::Done, None, None).await
    }

    /// Says that the job is done, and keeps a result with it, to be read by [`Entry::result`](super::Entry::result).
    ///
    /// # Errors
    /// As [`ack`](Queue::ack); `Encode` for a result that does not fit BSON, `InvalidArgument` for one that the job's document
    /// (16 MiB) has no room for.
    pub async fn ack_with<R: Serialize>(&self, lease: impl AsRef<Lease>, result: &R) -> Result<()> {
        let result = message::encode(result)?;
        let result = Some(result).filter(|result| *result != RawBson::Null);
        self.finish(lease.as_ref(), State::Done, result, None).await
    }

    /// Says of several jobs that they are done; gives those whose leases are lost. One round trip for a batch that was
    /// claimed together, one more when leases are lost, and one more for each group.
    ///
    /// # Errors
    /// As any operation; then some of the jobs may be done.
    pub async fn ack_many<L: AsRef<Lease>>(
        &self,
        leases: impl IntoIterator<Item = L>,
    ) -> Result<Vec<LeaseLost>> {
        let leases: Vec<Lease> = leases.into_iter().map(|lease| lease.as_ref().clone()).collect();
        let mut by_token: BTreeMap<i64, RawArrayBuf> = BTreeMap::new();
        for lease in &leases {
            by_token.entry(lease.token).or_default().push(lease.id);
        }
        let deletes = self.deletes(State::Done);
        let in_groups = leases.iter().any(|lease| lease.group.is_some());
        let written = self.finish_all(&by_token, in_groups, deletes).await?;
        let groups = leases.iter().filter_map(|lease| lease.group.clone());
        self.settle(groups.map(|(group, slot)| (group, Some(slot))).collect())
            .await;
        if written == leases.len() as u64 {
            return Ok(Vec::new());
        }
        let ids: Vec<ObjectId> = leases.iter().map(|lease| lease.id).collect();
        let seen = self.jobs.find(|j| j.id.is_in(&ids)).project::<Seen>().await?;
        let lost = leases.iter().filter_map(|lease| {
            let seen = seen.iter().find(|seen| seen.id == lease.id);
            match seen {
                Some(seen) if seen.state == State::Done && seen.is_of(lease) => None,
                None if deletes && self.takes_gone_for_done() => None,
                seen => Some(LeaseLost {
                    id: lease.id,
                    token: lease.token,
                    state: seen.map(|seen| seen.state),
                }),
            }
        });
        Ok(lost.collect())
    }

    /// Finishes the jobs that still have these tokens; how many did.
    async fn finish_all(
        &self,
        by_token: &BTreeMap<i64, RawArrayBuf>,
        in_groups: bool,
        deletes: bool,
    ) -> Result<u64> {
        let now = self.now();
        let held = |j: StoredFields, token: i64, ids: &RawArrayBuf| {
            among(ids) & j.lease.token.eq(token) & j.state.eq(State::Running)
        };
        let end = (State::Done, in_groups);
        let done = |j: StoredFields| self.finishing(&j, end, now, None, None);
        if by_token.len() == 1
            && let Some((token, ids)) = by_token.first_key_value()
        {
            let filter = |j| held(j, *token, ids);
            return Ok(match deletes {
                true => self.jobs.delete_many(filter).hint(BY_ID).await?.deleted,
                false => self.jobs.update_many(filter, done).hint(BY_ID).await?.matched,
            });
        }
        let mut batch = self.jobs.bulk_write().unordered();
        for (token, ids) in by_token {
            let filter = |j| held(j, *token, ids);
            batch = match deletes {
                true => batch.delete_many(filter),
                false => batch.update_many(filter, done),
            };
        }
        let written = batch.await?;
        Ok(written.matched + written.deleted)
    }

    /// Says that the job was not done: it is tried again later, dead, put off or called off, as the [`Failure`] and the
    /// kind's [policy](super::Retry) say. A job that was [canceled](Queue::cancel) meanwhile is not tried again.
    ///
    /// A job whose document (16 MiB) has no room for the error in its log, because of its progress, is dead.
    ///
    /// One round trip; one more when the lease is lost, or for a job of a group that is dead; two more when it was canceled.
    ///
    /// # Errors
    /// As [`ack`](Queue::ack).
    pub async fn fail(&self, lease: impl AsRef<Lease>, failure: impl Into<Failure>) -> Result<()> {
        let (lease, failure) = (lease.as_ref(), failure.into());
        match self.say_failed(lease, &failure).await {
            // Said again it would be the same, and so would be the attempt.
            Err(error) if self.has_no_room(&error) => self.bury_held(lease).await,
            said => said,
        }
    }

    async fn say_failed(&self, lease: &Lease, failure: &Failure) -> Result<()> {
        let now = self.now();
        let error = || AttemptError::new(lease.attempt, now, &lease.owner, &failure.error);
        match failure.then {
            Then::Snooze(delay) => self.snooze(lease, delay).await,
            Then::Canceled => self.finish(lease, State::Canceled, None, None).await,
            Then::Retry(after) if lease.attempt < lease.max_attempts => {
                let policy = self.options.policy(&lease.kind);
                let delay = after.unwrap_or_else(|| policy.delay(lease.id, lease.attempt));
                let back = Back {
                    state: State::Failed,
                    due: order::later(now, delay),
                    counts: true,
                    error: Some(error()),
                };
                self.put_back(lease, back).await
            }
            Then::Retry(_) | Then::Dead => self.finish(lease, State::Dead, None, Some(error())).await,
        }
    }

    /// Gives the job back, to be claimed again after this long. The attempt does not count. One round trip, as
    /// [`fail`](Queue::fail).
    ///
    /// # Errors
    /// As [`ack`](Queue::ack).
    pub async fn snooze(&self, lease: impl AsRef<Lease>, delay: Duration) -> Result<()> {
        let back = Back {
            state: State::Scheduled,
            due: order::later(self.now(), delay),
            counts: false,
            error: None,
        };
        self.put_back(lease.as_ref(), back).await
    }

    /// Gives the job back at once, as if it had not been claimed: for workers that shut down. One round trip, as
    /// [`fail`](Queue::fail).
    ///
    /// # Errors
    /// As [`ack`](Queue::ack).
    pub async fn release(&self, lease: impl AsRef<Lease>) -> Result<()> {
        let lease = lease.as_ref();
        let released = self
            .jobs
            .update_one(
                |j| held(&j, lease) & j.cancel.ne(true),
                |j| j.state.set(State::Ready) & j.order.set(lease.place) & j.attempts.inc(-1),
            )
            .await?;
        if released.matched == 0 {
            return self.canceled_or_lost(lease).await;
        }
        self.settle(Vec::new()).await;
        Ok(())
    }

    async fn put_back(&self, lease: &Lease, back: Back) -> Result<()> {
        let place = order::place(order::lane_of(lease.place), lease.priority, back.due);
        let is_due = back.due <= self.now();
        let changed = self
            .jobs
            .update_one(
                |j| held(&j, lease) & j.cancel.ne(true),
                |j| {
                    let mut update = j.state.set(back.state)
                        & j.order.set(order::at(back.due))
                        & j.place.set(place)
                        & j.due.set(back.due);
                    if !back.counts {
                        update &= j.attempts.inc(-1);
                    }
                    match back.error {
                        Some(error) => update & self.logging(&j, error),
                        None => update,
                    }
                },
            )
            .await?;
        if changed.matched == 0 {
            return self.canceled_or_lost(lease).await;
        }
        if is_due {
            self.settle(Vec::new()).await;
        }
        Ok(())
    }

    /// A job that was called off while it ran ends here; otherwise the lease is lost.
    async fn canceled_or_lost(&self, lease: &Lease) -> Result<()> {
        let seen = self.jobs.get(lease.id).project::<Seen>().await?;
        match seen {
            Some(seen) if seen.cancel && seen.state == State::Running && seen.is_of(lease) => {
                self.finish(lease, State::Canceled, None, None).await
            }
            seen => Err(LeaseLost::error(lease, seen.map(|seen| seen.state))),
        }
    }

    pub(super) async fn finish(
        &self,
        lease: &Lease,
        state: State,
        result: Option<RawBson>,
        error: Option<AttemptError>,
    ) -> Result<()> {
        let now = self.now();
        let keeps = result.is_some() || !self.deletes(state);
        let finished = if keeps {
            let end = (state, lease.group.is_some());
            let update = |j: StoredFields| self.finishing(&j, end, now, result, error);
            let updated = self.jobs.update_one(|j| held(&j, lease), update).await?;
            updated.matched
        } else {
            self.jobs.delete_one(|j| held(&j, lease)).await?.deleted
        };
        if finished == 0 {
            let seen = self.jobs.get(lease.id).project::<Seen>().await?;
            let is_done = match &seen {
                Some(seen) => seen.state == state && seen.is_of(lease),
                None => !keeps && self.takes_gone_for_done(),
            };
            if !is_done {
                return Err(LeaseLost::error(lease, seen.map(|seen| seen.state)));
            }
        }
        if let Some((group, slot)) = lease.group.clone() {
            self.settle(vec![(group, Some(slot))]).await;
        }
        Ok(())
    }

    /// Whether a job without a result that ends so is deleted.
    fn deletes(&self, state: State) -> bool {
        state != State::Dead && self.options.keep_done == Some(Duration::ZERO)
    }

    /// Whether a job that is gone was deleted by the same acknowledgement, as far as can be told, whose reply was lost. The
    /// reply of a write inside of a transaction is not lost without the transaction: there somebody else had the job.
    fn takes_gone_for_done(&self) -> bool {
        !self.db.in_transaction()
    }

    pub(super) fn finishing(
        &self,
        j: &StoredFields,
        (state, in_group): (State, bool),
        now: DateTime,
        result: Option<RawBson>,
        error: Option<AttemptError>,
    ) -> Update<Stored> {
        let mut update =
            j.state.set(state) & j.order.set(self.prune_at(state, now)) & j.finished.set(Some(now));
        if in_group {
            update &= j.slot.unset();
        }
        if let Some(result) = result {
            update &= j.result.set(Some(result));
        }
        match error {
            Some(error) => update & self.logging(j, error),
            None => update,
        }
    }

    /// When a job that is finished now can be pruned.
    pub(super) fn prune_at(&self, state: State, now: DateTime) -> i64 {
        let kept = match state {
            State::Dead => self.options.keep_dead,
            _ => self.options.keep_done,
        };
        kept.map_or(order::NEVER, |kept| order::at(order::later(now, kept)))
    }

    /// Adds to the log of errors, which keeps the latest.
    pub(super) fn logging(&self, j: &StoredFields, error: AttemptError) -> Update<Stored> {
        let kept = -i64::from(self.options.errors);
        j.errors.push_each_with([error], |options| options.slice(kept))
    }
}

/// The job, as long as the lease is valid.
pub(super) fn held(j: &StoredFields, lease: &Lease) -> Filter<Stored> {
    j.id.eq(lease.id) & j.lease.token.eq(lease.token) & j.state.eq(State::Running)
}
