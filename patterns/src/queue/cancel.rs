//! Calling jobs off.

use odm::Result;
use odm::bson::oid::ObjectId;

use super::Queue;
use super::stored::State;

/// What calling a job off did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cancel {
    /// It will not run any more.
    Canceled,
    /// It runs: its worker was told, and learns of it by its next heartbeat. Whatever happens, there is no further attempt.
    Asked,
    /// It was finished already, in this state.
    Finished(State),
    /// There is no such job.
    NotFound,
}

impl<J> Queue<J> {
    /// Calls a job off. One round trip for a job that does not run yet, two for one that runs, three for one that is
    /// finished; one more for one of a group.
    ///
    /// # Errors
    /// As any operation.
    pub async fn cancel(&self, id: ObjectId) -> Result<Cancel> {
        let now = self.now();
        let canceled = self
            .jobs
            .find_one_and_update(
                |j| j.id.eq(id) & j.state.is_in(State::QUEUED),
                |j| self.finishing(&j, (State::Canceled, true), now, None, None),
            )
            .await?;
        if let Some(job) = canceled {
            if let Some((group, slot)) = job.group.zip(job.slot) {
                self.settle(vec![(group, Some(slot))]).await;
            }
            return Ok(Cancel::Canceled);
        }
        let asked = self
            .jobs
            .update_one(
                |j| j.id.eq(id) & j.state.eq(State::Running),
                |j| j.cancel.set(true),
            )
            .await?;
        if asked.matched == 1 {
            return Ok(Cancel::Asked);
        }
        match self.jobs.get(id).await? {
            None => Ok(Cancel::NotFound),
            Some(job) if job.state.is_finished() => Ok(Cancel::Finished(job.state)),
            // It changed hands between the two: the next attempt sees a job that waits or runs.
            Some(_) => Box::pin(self.cancel(id)).await,
        }
    }
}
