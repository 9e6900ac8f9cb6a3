//! Taking jobs out of the queue to work on them.

use odm::bson::oid::ObjectId;
use odm::bson::{RawArrayBuf, rawdoc};
use odm::{Embedded, Filter, Model, Result, Update};
use serde::{Deserialize, Serialize};

use super::Queue;
use super::failure::Failure;
use super::job::Job;
use super::lease::{Claimed, Lease};
use super::message;
use super::order;
use super::stored::{BY_ID, State, Stored, StoredFields};

/// How often a batch is looked for again, further behind, when others took what was found.
const TRIES: u64 = 4;

#[derive(Debug, Serialize, Deserialize, Embedded)]
struct Found {
    #[serde(rename = "_id")]
    id: ObjectId,
}

impl<J: Job> Queue<J> {
    /// Claims the first job that is ready, if there is one and the queue is not [paused](Queue::pause): it is this owner's
    /// until its [lease](super::Options::lease) ends. The claim counts as an attempt.
    ///
    /// One round trip; when nothing is ready one more, in which jobs that are due, and those whose lease has ended, become
    /// ready, and then up to three more. A stored job that is no `J` becomes dead, and the next one is claimed.
    ///
    /// # Errors
    /// As any operation. When the reply is lost the job was claimed all the same, and becomes ready again when its lease
    /// ends.
    pub async fn claim(&self) -> Result<Option<Claimed<J>>> {
        if self.is_paused().await? || self.permits(1).await? == 0 {
            return Ok(None);
        }
        loop {
            let mut found = self.claim_ready().await?;
            if found.is_none() && self.promote().await?.found > 0 {
                found = self.claim_ready().await?;
            }
            let Some(found) = found else {
                self.give_back(1).await?;
                return Ok(None);
            };
            if let Some(claimed) = self.read(found).await? {
                return Ok(Some(claimed));
            }
        }
    }

    /// Claims up to so many jobs. Three round trips, whatever the number; when others take the same jobs at the same
    /// moment it looks for others, up to four times; when nothing is ready as [`claim`](Queue::claim).
    ///
    /// # Errors
    /// As [`claim`](Queue::claim).
    pub async fn claim_many(&self, count: u32) -> Result<Vec<Claimed<J>>> {
        if count == 0 || self.is_paused().await? {
            return Ok(Vec::new());
        }
        let permits = self.permits(count).await?;
        if permits == 0 {
            return Ok(Vec::new());
        }
        let mut found = self.claim_batch(permits).await?;
        if found.is_empty() && self.promote().await?.found > 0 {
            found = self.claim_batch(permits).await?;
        }
        let unused = permits.saturating_sub(u32::try_from(found.len()).unwrap_or(u32::MAX));
        self.give_back(unused).await?;
        let mut claimed = Vec::with_capacity(found.len());
        for job in found {
            claimed.extend(self.read(job).await?);
        }
        Ok(claimed)
    }

    /// The job as its own type; one that does not fit is dead, so that it is not claimed again and again.
    async fn read(&self, job: Stored) -> Result<Option<Claimed<J>>> {
        let lease = Lease::of(&job);
        match message::decode(&job.message) {
            Ok(message) => Ok(Some(Claimed {
                job: message,
                lease,
                created: job.created,
                due: job.due,
                group: job.group,
                progress: job.progress,
            })),
            Err(error) => {
                self.fail(&lease, Failure::dead(error)).await?;
                Ok(None)
            }
        }
    }
}

impl<J> Queue<J> {
    /// The lane of a job.
    pub(super) fn lane_for(&self, id: ObjectId) -> u8 {
        match (self.options.lanes, id.bytes()) {
            (0 | 1, _) => 0,
            // The last bytes of an id count.
            (lanes, [.., last]) => last % lanes,
        }
    }

    /// The lane that this owner looks at first.
    fn own_lane(&self) -> u8 {
        let sum = self.owner.bytes().fold(0_u32, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(u32::from(byte))
        });
        u8::try_from(sum % u32::from(self.options.lanes.max(1))).unwrap_or(0)
    }

    /// Where this owner looks for jobs, in this order: from its own lane on, and then before it.
    fn parts(&self) -> impl Iterator<Item = Part> + use<J> {
        let (first, then) = match order::lane(self.own_lane()) {
            0 => (Part::All, None),
            own => (Part::From(own), Some(Part::Before(own))),
        };
        std::iter::once(first).chain(then)
    }

    async fn claim_ready(&self) -> Result<Option<Stored>> {
        for part in self.parts() {
            let claimed = self
                .jobs
                .find_one_and_update(|j| ready(&j, part), |j| self.take(&j, ObjectId::new()))
                .sort(|j| j.order.asc())
                .return_new()
                .await?;
            if claimed.is_some() {
                return Ok(claimed);
            }
        }
        Ok(None)
    }

    async fn claim_batch(&self, count: u32) -> Result<Vec<Stored>> {
        for part in self.parts() {
            let claimed = self.claim_batch_of(part, count).await?;
            if !claimed.is_empty() {
                return Ok(claimed);
            }
        }
        Ok(Vec::new())
    }

    async fn claim_batch_of(&self, part: Part, count: u32) -> Result<Vec<Stored>> {
        for again in 0..TRIES {
            // The second time the jobs at the head belong to somebody else.
            let candidates = self
                .jobs
                .find(|j| ready(&j, part))
                .sort(|j| j.order.asc())
                .skip(again * u64::from(count))
                .limit(u64::from(count))
                .project::<Found>()
                .await?;
            if candidates.is_empty() {
                break;
            }
            let ids: RawArrayBuf = candidates.into_iter().map(|found| found.id).collect();
            let claim = ObjectId::new();
            let taken = self
                .jobs
                .update_many(
                    |j| among(&ids) & j.state.eq(State::Ready),
                    |j| self.take(&j, claim),
                )
                .hint(BY_ID)
                .await?;
            if taken.modified == 0 {
                continue;
            }
            let mut jobs = self
                .jobs
                .find(|j| among(&ids) & j.lease.claim.eq(claim) & j.state.eq(State::Running))
                .hint(BY_ID)
                .await?;
            jobs.sort_by_key(|job| job.place);
            return Ok(jobs);
        }
        Ok(Vec::new())
    }

    fn take(&self, j: &StoredFields, claim: ObjectId) -> Update<Stored> {
        let until = order::later(self.now(), self.options.lease);
        j.state.set(State::Running)
            & j.order.set(order::at(until))
            & j.lease.owner.set(&*self.owner)
            & j.lease.until.set(until)
            & j.lease.claim.set(claim)
            & j.lease.token.inc(1)
            & j.attempts.inc(1)
    }
}

/// The jobs with these ids, which are encoded already: a batch asks for them more than once.
pub(super) fn among(ids: &RawArrayBuf) -> Filter<Stored> {
    Filter::raw(rawdoc! { "_id": { "$in": ids.clone() } })
}

/// A part of the jobs that are ready, by their places.
#[derive(Clone, Copy, Debug)]
enum Part {
    All,
    From(i64),
    Before(i64),
}

/// One range of the index, in its order.
fn ready(j: &StoredFields, part: Part) -> Filter<Stored> {
    let ready = j.state.eq(State::Ready);
    match part {
        Part::All => ready,
        Part::From(place) => ready & j.order.gte(place),
        Part::Before(place) => ready & j.order.lt(place),
    }
}

impl<J> Queue<J> {
    /// How a claim finds its job, in MongoDB's words: one range of an index, in its order. For tests and the curious.
    ///
    /// # Errors
    /// As any operation.
    pub async fn explain_claim(&self) -> Result<odm::bson::Document> {
        self.jobs
            .find_one_and_update(|j| ready(&j, Part::All), |j| self.take(&j, ObjectId::new()))
            .sort(|j| j.order.asc())
            .explain()
            .executed()
            .await
    }

    /// The descriptor of what is stored, for what looks at declared models.
    pub fn descriptor() -> &'static odm::ModelDescriptor {
        Stored::DESCRIPTOR
    }
}
