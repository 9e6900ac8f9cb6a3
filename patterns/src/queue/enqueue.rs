//! Putting jobs into the queue.

use odm::bson::oid::ObjectId;
use odm::bson::{DateTime, Document, doc};
use odm::{Error, ErrorKind, Result, Update};

use super::Queue;
use super::job::Job;
use super::message;
use super::new::{Duplicates, New, Policy};
use super::order;
use super::room::has_room;
use super::stored::{State, Stored};

/// How often enqueueing under a unique key is tried when the job that has it changes meanwhile.
const TRIES: usize = 16;

/// What became of a job that was to be enqueued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Enqueued {
    /// The job: the new one, or the one that was there.
    pub id: ObjectId,
    /// Which, and what happened to it.
    pub outcome: Outcome,
}

/// What enqueueing did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The job was added.
    Added,
    /// One of the same key was there and stays as it is.
    Kept,
    /// One of the same key was there and is the new one now.
    Replaced,
    /// One of the same key was there and has the new time.
    Rescheduled,
}

impl<J: Job> Queue<J> {
    /// Enqueues a job: a `J`, or a [`New`] that says when, how important, and beside which others.
    ///
    /// One round trip; with a unique key one, and one to three more if the key is taken; with a group three. When it fails
    /// with an error that leaves open whether it happened (`Network`, `InDoubt`), enqueueing again can add the job twice,
    /// unless it has a [unique](New::unique) key.
    ///
    /// # Errors
    /// `Encode` for a job that does not fit BSON; `InvalidArgument` for one of more than 16 MiB less 64 KiB; `Conflict` when
    /// the job that has the key is changed all the time.
    pub async fn enqueue(&self, job: impl Into<New<J>>) -> Result<Enqueued> {
        let new = job.into();
        let now = self.now();
        let mut job = self.draft(&new, now)?;
        if let Some(group) = &new.group {
            job.number = Some(self.numbers(group, 1).await?);
        }
        let enqueued = match &new.duplicates {
            Some(duplicates) => self.enqueue_unique(&job, duplicates, now).await?,
            None => {
                self.jobs.insert(&job).await?;
                Enqueued::added(job.id)
            }
        };
        self.settle(new.group.map(|group| (group, None)).into_iter().collect())
            .await;
        Ok(enqueued)
    }

    /// Enqueues jobs, in this order. One round trip for all that follow each other without a unique key; unique ones take
    /// what [`enqueue`](Queue::enqueue) says, each; each group takes two more.
    ///
    /// Not all or nothing, but in order: when it fails, the jobs before the failure may be there. Give it a transaction if
    /// it has to be.
    ///
    /// # Errors
    /// As [`enqueue`](Queue::enqueue).
    pub async fn enqueue_many<N: Into<New<J>>>(
        &self,
        jobs: impl IntoIterator<Item = N>,
    ) -> Result<Vec<Enqueued>> {
        let now = self.now();
        let mut drafts = Vec::new();
        for job in jobs {
            let new: New<J> = job.into();
            drafts.push((self.draft(&new, now)?, new.duplicates));
        }
        let groups = self.number_all(&mut drafts).await?;
        let mut enqueued = Vec::with_capacity(drafts.len());
        // Of a group nobody may find a later job before an earlier one is there.
        for run in drafts.chunk_by(|(_, one), (_, next)| one.is_none() && next.is_none()) {
            if let [(job, Some(duplicates))] = run {
                enqueued.push(self.enqueue_unique(job, duplicates, now).await?);
                continue;
            }
            self.jobs.insert_many(run.iter().map(|(job, _)| job)).await?;
            enqueued.extend(run.iter().map(|(job, _)| Enqueued::added(job.id)));
        }
        self.settle(groups.into_iter().map(|group| (group, None)).collect())
            .await;
        Ok(enqueued)
    }

    fn draft(&self, new: &New<J>, now: DateTime) -> Result<Stored> {
        let id = ObjectId::new();
        let kind = new.job.kind().to_owned();
        let due = new.when.time(now);
        let place = order::place(self.lane_for(id), new.priority, due);
        let max_attempts = new.attempts.unwrap_or(self.options.policy(&kind).attempts);
        let state = match &new.group {
            Some(_) => State::Waiting,
            None => due_state(due, now),
        };
        let job = Stored {
            id,
            state,
            created: now,
            message: message::encode(&new.job)?,
            kind,
            order: order_in(state, due, place, now),
            place,
            priority: new.priority,
            due,
            attempts: 0,
            max_attempts,
            lease: None,
            unique: new.duplicates.as_ref().map(|duplicates| duplicates.stored(now)),
            group: new.group.clone(),
            number: None,
            slot: None,
            cancel: false,
            progress: None,
            result: None,
            errors: Vec::new(),
            finished: None,
        };
        has_room(&job)?;
        Ok(job)
    }

    /// Gives the jobs of groups their numbers; the groups, each once.
    async fn number_all(&self, drafts: &mut [(Stored, Option<Duplicates>)]) -> Result<Vec<String>> {
        let mut groups: Vec<String> = drafts.iter().filter_map(|(job, _)| job.group.clone()).collect();
        groups.sort();
        groups.dedup();
        for group in &groups {
            let of_group = |job: &Stored| job.group.as_ref() == Some(group);
            let count = drafts.iter().filter(|(job, _)| of_group(job)).count();
            let first = self.numbers(group, count as i64).await?;
            let members = drafts.iter_mut().filter(|(job, _)| of_group(job));
            for (number, (job, _)) in (first..).zip(members) {
                job.number = Some(number);
            }
        }
        Ok(groups)
    }

    /// Adds the job unless one has its key; that one is dealt with as the policy says.
    async fn enqueue_unique(&self, job: &Stored, duplicates: &Duplicates, now: DateTime) -> Result<Enqueued> {
        let insert = insertion(job)?;
        for _ in 0..TRIES {
            let found = self
                .jobs
                .find_one_and_update(|j| j.unique.eq(&job.unique), |_| Update::raw(insert.clone()))
                .upsert()
                .return_new()
                .await;
            let found = match found {
                // Two at once that insert: the other one was faster.
                Err(error) if error.is_duplicate_key() => continue,
                found => found?,
            };
            let Some(found) = found else { continue };
            let id = found.id;
            if id == job.id {
                return Ok(Enqueued::added(id));
            }
            if !duplicates.states.contains(&found.state) {
                // It does not count as the same: the key is the new one's.
                let freed = self.jobs.update_one(
                    |j| j.id.eq(id) & j.unique.eq(&job.unique) & j.state.eq(found.state),
                    |j| j.unique.unset(),
                );
                freed.await?;
                continue;
            }
            let waits = State::QUEUED.contains(&found.state);
            let outcome = match duplicates.policy {
                Policy::Keep => Outcome::Kept,
                _ if !waits => Outcome::Kept,
                Policy::Replace => Outcome::Replaced,
                Policy::Reschedule => Outcome::Rescheduled,
            };
            if outcome == Outcome::Kept || self.change(&found, job, outcome, now).await? {
                return Ok(Enqueued { id, outcome });
            }
        }
        Err(Error::new(
            ErrorKind::Conflict,
            "the job of the same unique key is changed all the time",
        ))
    }

    /// Makes a job that does not run yet the new one, or gives it the new one's time, if it is still as it was found.
    async fn change(&self, found: &Stored, new: &Stored, outcome: Outcome, now: DateTime) -> Result<bool> {
        let priority = match outcome {
            Outcome::Replaced => new.priority,
            _ => found.priority,
        };
        let place = order::place(order::lane_of(found.place), priority, new.due);
        let state = match found.state {
            State::Waiting => State::Waiting,
            _ => due_state(new.due, now),
        };
        let changed = self
            .jobs
            .update_one(
                |j| {
                    j.id.eq(found.id)
                        & j.state.eq(found.state)
                        & j.order.eq(found.order)
                        & j.unique.eq(&new.unique)
                },
                |j| {
                    let time = j.state.set(state)
                        & j.order.set(order_in(state, new.due, place, now))
                        & j.place.set(place)
                        & j.due.set(new.due);
                    match outcome {
                        Outcome::Replaced => {
                            time & j.message.set(&new.message)
                                & j.kind.set(&new.kind)
                                & j.priority.set(priority)
                                & j.attempts.set(0)
                                & j.max_attempts.set(new.max_attempts)
                                & j.progress.unset()
                                & j.errors.unset()
                                & j.cancel.unset()
                        }
                        _ => time,
                    }
                },
            )
            .await?;
        Ok(changed.matched == 1)
    }
}

impl Enqueued {
    fn added(id: ObjectId) -> Enqueued {
        Enqueued {
            id,
            outcome: Outcome::Added,
        }
    }

    /// Whether the job is new.
    pub fn is_added(&self) -> bool {
        self.outcome == Outcome::Added
    }
}

/// The state of a job that is due then.
fn due_state(due: DateTime, now: DateTime) -> State {
    if due > now { State::Scheduled } else { State::Ready }
}

/// What the job is sorted by in a state of those that wait.
fn order_in(state: State, due: DateTime, place: i64, now: DateTime) -> i64 {
    match state {
        State::Ready => place,
        // Due when it is its turn, also by a clock that was set back meanwhile.
        State::Waiting if due <= now => 0,
        _ => order::at(due),
    }
}

/// What is to be set if the job is inserted; its key comes from the filter.
fn insertion(job: &Stored) -> Result<Document> {
    let mut document = odm::bson::serialize_to_document(job).map_err(|error| {
        Error::new(ErrorKind::Encode, "the value of the job does not fit bson").with_source(error)
    })?;
    document.remove("unique");
    Ok(doc! { "$setOnInsert": document })
}
