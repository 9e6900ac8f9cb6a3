//! Giving dead jobs another chance.

use odm::bson::doc;
use odm::bson::oid::ObjectId;
use odm::{Result, Update};

use super::Queue;
use super::order;
use super::stored::{State, Stored};

impl<J> Queue<J> {
    /// Makes a dead or canceled job ready again, with all its attempts before it; `false` when it is in no such state. Its
    /// log of errors stays. A job of a group takes up its old place in it, before those that were enqueued later and nobody
    /// has claimed yet; what was claimed before stays in front.
    ///
    /// One round trip for the job and one to find it; three more for one of a group.
    ///
    /// # Errors
    /// As any operation.
    pub async fn redrive(&self, id: ObjectId) -> Result<bool> {
        let found = self
            .jobs
            .find_one(|j| j.id.eq(id) & j.state.is_in([State::Dead, State::Canceled]))
            .await?;
        match found {
            Some(job) => self.revive(job).await,
            None => Ok(false),
        }
    }

    /// Redrives up to so many dead jobs, those first that died first; how many. One round trip, and those of
    /// [`redrive`](Queue::redrive) for each.
    ///
    /// # Errors
    /// As any operation; then some may have been redriven.
    pub async fn redrive_dead(&self, limit: u64) -> Result<u64> {
        let dead = self
            .jobs
            .find(|j| j.state.eq(State::Dead))
            .sort(|j| j.order.asc())
            .limit(limit.max(1))
            .await?;
        let mut redriven = 0;
        for job in dead
            .into_iter()
            .take(usize::try_from(limit).unwrap_or(usize::MAX))
        {
            redriven += u64::from(self.revive(job).await?);
        }
        Ok(redriven)
    }

    async fn revive(&self, job: Stored) -> Result<bool> {
        let now = self.now();
        let place = order::place(order::lane_of(job.place), job.priority, now);
        let (state, order) = match job.group {
            Some(_) => (State::Waiting, 0),
            None => (State::Ready, place),
        };
        let revived = self
            .jobs
            .update_one(
                |j| j.id.eq(job.id) & j.state.eq(job.state) & j.order.eq(job.order),
                |j| {
                    j.state.set(state)
                        & j.order.set(order)
                        & j.place.set(place)
                        & j.due.set(now)
                        & j.attempts.set(0)
                        & j.finished.unset()
                        & j.cancel.unset()
                },
            )
            .await?;
        if revived.matched == 0 {
            return Ok(false);
        }
        let sent = match &job.group {
            Some(group) => self.send_back(group, job.number).await,
            None => Ok(()),
        };
        self.settle(job.group.map(|group| (group, None)).into_iter().collect())
            .await;
        sent.map(|()| true)
    }

    /// Takes the slot from the last of a group whose turn it is, if it comes behind this number and nobody has claimed it
    /// yet: it waits again, at its place.
    async fn send_back(&self, group: &str, number: Option<i64>) -> Result<()> {
        let now = order::at(self.now());
        let stage = doc! { "$set": {
            "slot": "$$REMOVE",
            "state": State::Waiting.name(),
            // As of those that wait: when it is due, if that is later.
            "order": { "$cond": [{ "$and": [
                { "$eq": ["$state", State::Scheduled.name()] },
                { "$gt": ["$order", now] },
            ] }, "$order", 0_i64] },
        } };
        self.jobs
            .find_one_and_update(
                |j| {
                    j.group.eq(Some(group.to_owned()))
                        & j.slot.exists()
                        & j.state.is_in([State::Ready, State::Scheduled])
                        & j.attempts.eq(0)
                        & j.number.gt(number)
                },
                |_| Update::pipeline([stage]),
            )
            .sort(|j| j.number.desc())
            .project_raw(doc! { "_id": 1 })
            .await?;
        Ok(())
    }
}
