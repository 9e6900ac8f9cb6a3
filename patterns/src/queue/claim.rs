//! Taking jobs out of the queue to work on them.

use odm::bson::oid::ObjectId;
use odm::bson::{DateTime, RawArrayBuf, rawdoc};
use odm::{Embedded, Filter, Model, Result, Update};
use serde::{Deserialize, Serialize};

use super::Queue;
use super::failure::Failure;
use super::job::Job;
use super::lease::{Claimed, Lease};
use super::message;
use super::order;
use super::stored::{BY_ID, Due, State, Stored, StoredFields, StoredLease};

/// How often a batch is looked for again, further behind, when others took what was found.
const TRIES: u64 = 4;

/// What came of looking for jobs.
#[derive(Debug)]
pub(super) enum Looked<J> {
    /// At least one job.
    Claimed(Vec<Claimed<J>>),
    /// Nothing is ready, or the queue is paused.
    Nothing,
    /// The [rate](super::Options::rate_limit) does not allow any now.
    NoPermit,
    /// Others took what was found; there may be more.
    Outrun,
}

/// A batch of jobs as they are stored, taken.
enum Batch {
    Jobs(Vec<Stored>),
    Nothing,
    Outrun,
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
struct OnlyId {
    #[serde(rename = "_id")]
    id: ObjectId,
}

impl<J: Job> Queue<J> {
    /// Claims the first job that is ready, if there is one and the queue is not [paused](Queue::pause): it is this owner's
    /// until its [lease](super::Options::lease) ends. The claim counts as an attempt.
    ///
    /// One round trip; when nothing is ready one more, in which jobs that are due, and those whose lease has ended, become
    /// ready, and then up to three more. A stored job that is no `J` becomes dead, and the next one is claimed; so does one
    /// whose document (16 MiB) has no room for the lease.
    ///
    /// # Errors
    /// As any operation. When the reply is lost the job was claimed all the same, and becomes ready again when its lease
    /// ends.
    pub async fn claim(&self) -> Result<Option<Claimed<J>>> {
        match self.look_for_one().await? {
            Looked::Claimed(mut jobs) => Ok(jobs.pop()),
            Looked::Nothing | Looked::NoPermit | Looked::Outrun => Ok(None),
        }
    }

    /// As [`claim`](Queue::claim), and says why there is none.
    pub(super) async fn look_for_one(&self) -> Result<Looked<J>> {
        if self.is_paused().await? {
            return Ok(Looked::Nothing);
        }
        if self.permits(1).await? == 0 {
            return Ok(Looked::NoPermit);
        }
        loop {
            let mut found = self.claim_ready().await?;
            if found.is_none() && self.promote().await?.found > 0 {
                found = self.claim_ready().await?;
            }
            let Some(found) = found else {
                self.give_back(1).await?;
                return Ok(Looked::Nothing);
            };
            match self.read(found).await {
                Ok(Some(claimed)) => return Ok(Looked::Claimed(vec![claimed])),
                Ok(None) => {}
                Err(error) => {
                    self.give_back(1).await.ok();
                    return Err(error);
                }
            }
        }
    }

    /// Claims up to so many jobs. Two round trips, whatever the number; one more when jobs are unique, of groups, or were
    /// claimed before unlike the others, and when others take some of them at the same moment. When these take all it looks for others, up to four times; when nothing is ready as [`claim`](Queue::claim).
    ///
    /// # Errors
    /// As [`claim`](Queue::claim).
    pub async fn claim_many(&self, count: u32) -> Result<Vec<Claimed<J>>> {
        match self.look_for(count).await? {
            Looked::Claimed(jobs) => Ok(jobs),
            Looked::Nothing | Looked::NoPermit | Looked::Outrun => Ok(Vec::new()),
        }
    }

    /// Claims up to so many jobs, and says why there is none.
    pub(super) async fn look_for(&self, count: u32) -> Result<Looked<J>> {
        if count == 0 || self.is_paused().await? {
            return Ok(Looked::Nothing);
        }
        let permits = self.permits(count).await?;
        if permits == 0 {
            return Ok(Looked::NoPermit);
        }
        loop {
            let mut found = self.find_batch(permits).await?;
            if let Batch::Nothing = found
                && self.promote().await?.found > 0
            {
                found = self.find_batch(permits).await?;
            }
            let jobs = match found {
                Batch::Jobs(jobs) => jobs,
                none => {
                    self.give_back(permits).await?;
                    return Ok(match none {
                        Batch::Outrun => Looked::Outrun,
                        _ => Looked::Nothing,
                    });
                }
            };
            let mut claimed = Vec::with_capacity(jobs.len());
            let mut failed = None;
            for job in jobs {
                match self.read(job).await {
                    Ok(read) => claimed.extend(read),
                    Err(error) => failed = Some(error),
                }
            }
            // When none of them is a `J`, or has room for a lease, there may be more behind them.
            if !claimed.is_empty() {
                let used = u32::try_from(claimed.len()).unwrap_or(u32::MAX);
                self.give_back(permits.saturating_sub(used)).await?;
                // One that could not be made dead is tried again when its lease has ended.
                return Ok(Looked::Claimed(claimed));
            }
            if let Some(error) = failed {
                self.give_back(permits).await.ok();
                return Err(error);
            }
        }
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
            let claimed = match self.claim_first(|j| ready(j, part)).await {
                Err(error) if self.has_no_room(&error) => self.claim_with_room(part).await?,
                claimed => claimed?,
            };
            if claimed.is_some() {
                return Ok(claimed);
            }
        }
        Ok(None)
    }

    async fn claim_first(&self, which: impl Fn(&StoredFields) -> Filter<Stored>) -> Result<Option<Stored>> {
        self.jobs
            .find_one_and_update(
                |j| which(&j),
                |j| self.take(&j, ObjectId::new(), self.lease_end()),
            )
            .sort(|j| j.order.asc())
            .return_new()
            .await
    }

    /// Claims the first job that has room for a lease; those before it are dead.
    async fn claim_with_room(&self, part: Part) -> Result<Option<Stored>> {
        loop {
            let found = self.jobs.find(|j| ready(&j, part)).sort(|j| j.order.asc());
            let found = found.limit(1).project::<Due>().await?;
            let Some(first) = found.first() else {
                return Ok(None);
            };
            // Not whichever is first by then: only of this one it is known what the error is about.
            let is_first = |j: &StoredFields| j.id.eq(first.id) & j.state.eq(State::Ready);
            match self.claim_first(is_first).await {
                Ok(None) => {}
                Err(error) if self.has_no_room(&error) => {
                    self.bury(first).await?;
                }
                claimed => return claimed,
            }
        }
    }

    /// Whether a job is ready, or would be if somebody asked for it. One round trip.
    pub(super) async fn has_ready(&self) -> Result<bool> {
        let now = order::at(self.now());
        let others = [State::Scheduled, State::Failed, State::Running];
        let found = self
            .jobs
            .find(|j| j.state.eq(State::Ready) | (j.state.is_in(others) & j.order.lte(now)))
            .limit(1)
            .project::<OnlyId>()
            .await?;
        Ok(!found.is_empty())
    }

    async fn find_batch(&self, count: u32) -> Result<Batch> {
        let mut none = Batch::Nothing;
        for part in self.parts() {
            match self.find_batch_of(part, count).await? {
                Batch::Jobs(jobs) => return Ok(Batch::Jobs(jobs)),
                Batch::Outrun => none = Batch::Outrun,
                Batch::Nothing => {}
            }
        }
        Ok(none)
    }

    async fn find_batch_of(&self, part: Part, count: u32) -> Result<Batch> {
        for again in 0..TRIES {
            // The second time the jobs at the head belong to somebody else.
            let mut jobs = self
                .jobs
                .find(|j| ready(&j, part))
                .sort(|j| j.order.asc())
                .skip(again * u64::from(count))
                .limit(u64::from(count))
                .await?;
            if jobs.is_empty() {
                return Ok(match again {
                    0 => Batch::Nothing,
                    _ => Batch::Outrun,
                });
            }
            let ids: RawArrayBuf = jobs.iter().map(|job| job.id).collect();
            let past = Past::of(&jobs);
            let claim = ObjectId::new();
            let until = self.lease_end();
            let taken = self
                .jobs
                .update_many(
                    |j| {
                        let found = among(&ids) & j.state.eq(State::Ready);
                        match past {
                            Some(past) => found & past.filter(&j),
                            None => found,
                        }
                    },
                    |j| match past {
                        Some(past) => {
                            let lease = self.lease_after(past.token, claim, until);
                            self.take_but_lease(&j, until) & j.lease.set(lease)
                        }
                        None => self.take(&j, claim, until),
                    },
                )
                .hint(BY_ID)
                .await;
            let taken = match taken {
                Err(error) if self.has_no_room(&error) => {
                    self.take_each(&ids, claim, until).await?;
                    return Ok(Batch::Jobs(self.taken_by(claim, &ids).await?));
                }
                taken => taken?,
            };
            if taken.modified == 0 {
                continue;
            }
            if past.is_some() && taken.modified == jobs.len() as u64 {
                for job in &mut jobs {
                    self.note_taken(job, claim, until);
                }
                return Ok(Batch::Jobs(jobs));
            }
            let jobs = self.taken_by(claim, &ids).await?;
            return Ok(match jobs.is_empty() {
                true => Batch::Outrun,
                false => Batch::Jobs(jobs),
            });
        }
        Ok(Batch::Outrun)
    }

    /// Takes those that are still ready one by one, after one of them had no room for a lease: that one is dead.
    async fn take_each(&self, ids: &RawArrayBuf, claim: ObjectId, until: DateTime) -> Result<()> {
        let left = self.jobs.find(|j| among(ids) & j.state.eq(State::Ready));
        for job in left.hint(BY_ID).project::<Due>().await? {
            let taken = self.jobs.update_one(
                |j| j.id.eq(job.id) & j.state.eq(State::Ready),
                |j| self.take(&j, claim, until),
            );
            match taken.await {
                Err(error) if self.has_no_room(&error) => {
                    self.bury(&job).await?;
                }
                taken => {
                    taken?;
                }
            }
        }
        Ok(())
    }

    /// The jobs that a claim took, in their order.
    async fn taken_by(&self, claim: ObjectId, ids: &RawArrayBuf) -> Result<Vec<Stored>> {
        let mut jobs = self
            .jobs
            .find(|j| among(ids) & j.lease.claim.eq(claim) & j.state.eq(State::Running))
            .hint(BY_ID)
            .await?;
        jobs.sort_by_key(|job| job.place);
        Ok(jobs)
    }

    fn lease_end(&self) -> DateTime {
        order::later(self.now(), self.options.lease)
    }

    fn take(&self, j: &StoredFields, claim: ObjectId, until: DateTime) -> Update<Stored> {
        self.take_but_lease(j, until)
            & j.lease.owner.set(&*self.owner)
            & j.lease.until.set(until)
            & j.lease.claim.set(claim)
            & j.lease.token.inc(1)
    }

    fn take_but_lease(&self, j: &StoredFields, until: DateTime) -> Update<Stored> {
        j.state.set(State::Running) & j.order.set(order::at(until)) & j.attempts.inc(1)
    }

    fn lease_after(&self, token: i64, claim: ObjectId, until: DateTime) -> StoredLease {
        StoredLease {
            owner: self.owner.to_string(),
            token: token + 1,
            until,
            claim,
        }
    }

    /// What [`take`](Queue::take) makes of a job.
    fn note_taken(&self, job: &mut Stored, claim: ObjectId, until: DateTime) {
        job.state = State::Running;
        job.order = order::at(until);
        job.attempts += 1;
        job.lease = Some(self.lease_after(token_of(job), claim, until));
    }
}

/// What jobs have behind them: all of a batch the same, mostly nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Past {
    token: i64,
    attempts: u32,
}

impl Past {
    /// That of all these jobs, if it says that they are still as they were read: nothing else of a ready job changes,
    /// unless it can be enqueued once more or moves in a group.
    fn of(jobs: &[Stored]) -> Option<Past> {
        let past = |job: &Stored| Past {
            token: token_of(job),
            attempts: job.attempts,
        };
        let first = past(jobs.first()?);
        jobs.iter()
            .all(|job| job.unique.is_none() && job.group.is_none() && past(job) == first)
            .then_some(first)
    }

    fn filter(self, j: &StoredFields) -> Filter<Stored> {
        match self.token {
            // Without a claim there was no attempt.
            0 => j.lease.missing(),
            token => j.lease.token.eq(token) & j.attempts.eq(self.attempts),
        }
    }
}

/// The token of its last claim.
fn token_of(job: &Stored) -> i64 {
    job.lease.as_ref().map_or(0, |lease| lease.token)
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
            .find_one_and_update(
                |j| ready(&j, Part::All),
                |j| self.take(&j, ObjectId::new(), self.lease_end()),
            )
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
