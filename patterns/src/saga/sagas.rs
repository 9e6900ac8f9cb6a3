//! The handle: starting sagas, looking at them, working on them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use odm::bson::oid::ObjectId;
use odm::bson::{DateTime, doc};
use odm::expr::count;
use odm::{Collection, Db, Embedded, ErrorKind, Filter, Update};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::definition::Definition;
use super::error::SagaError;
use super::record::{Event, EventKind, Lease, SagaRecord, SagaStatus, StepRecord, StepState};
use crate::idempotency::fingerprint;
use crate::later::later;

/// How many due sagas are looked for at a time.
const DUE: u64 = 16;

/// The sagas of one definition. Cheap to clone.
pub struct Sagas<S> {
    pub(super) db: Db,
    pub(super) collection: Collection<SagaRecord>,
    pub(super) definition: Arc<Definition<S>>,
    pub(super) lease: Duration,
    pub(super) owner: String,
    pub(super) history: u16,
}

/// What became of a saga.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome<S> {
    /// All steps were done.
    Completed(S),
    /// All that was done is undone.
    Compensated {
        /// The state after the last compensation.
        state: S,
        /// Why it turned around.
        error: Option<String>,
    },
    /// Nobody can do anything before this time: another worker has the lease, or it waits for another try.
    Waiting {
        /// The end of the lease or of the pause.
        until: DateTime,
        /// The last error.
        error: Option<String>,
    },
    /// It waits for somebody to [`retry`](Sagas::retry), [`skip`](Sagas::skip) or [`abort`](Sagas::abort).
    Stuck {
        /// The step that cannot be done or undone.
        step: String,
        /// The last error.
        error: Option<String>,
    },
    /// Somebody gave its compensation up.
    Abandoned(S),
}

/// Whether a saga was started, or had been before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Started {
    /// It is new.
    Now,
    /// There is one of this id and this definition, started with the same state; it stays as it is.
    Before,
}

impl<S: Serialize + DeserializeOwned + Clone + Send + Sync + 'static> Sagas<S> {
    /// The sagas of a definition, in the collection `sagas`. Run [`sync_indexes`](Sagas::sync_indexes) once.
    ///
    /// # Errors
    /// `BadDefinition`.
    pub fn new(db: &Db, definition: Definition<S>) -> Result<Sagas<S>, SagaError> {
        definition.check()?;
        Ok(Sagas {
            db: db.clone(),
            collection: db.collection(),
            definition: Arc::new(definition),
            lease: Duration::from_secs(60),
            owner: format!("process {}", std::process::id()),
            history: 100,
        })
    }

    /// How long a worker has the lease: longer than a step takes, or steps renew it. 60 seconds unless said otherwise.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Sagas<S> {
        self.lease = lease;
        self
    }

    /// The worker's name, for whoever looks.
    #[must_use]
    pub fn owner(mut self, owner: impl Into<String>) -> Sagas<S> {
        self.owner = owner.into();
        self
    }

    /// How many events each saga remembers: 100 unless said otherwise.
    #[must_use]
    pub fn remember(mut self, events: u16) -> Sagas<S> {
        self.history = events.max(1);
        self
    }

    /// The same sagas through another handle of the database: a transaction, to [`start`](Sagas::start) one with what it
    /// is about, or one with another clock. They stay in their own database, whichever the handle is of: see
    /// [`Db::through`].
    #[must_use]
    pub fn on(&self, db: &Db) -> Sagas<S> {
        let db = self.db.through(db);
        Sagas {
            collection: db.collection_named(self.collection.name()),
            db,
            ..self.clone()
        }
    }

    /// Builds the indexes by which due and finished sagas are found.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn sync_indexes(&self) -> Result<(), SagaError> {
        self.collection.sync_indexes().await?;
        Ok(())
    }

    /// Stores a saga, to be worked on. Nothing of it happens yet. Idempotent by the id. One round trip, two when it was
    /// started before.
    ///
    /// # Errors
    /// `Taken` when the id is that of a saga of another definition; `OtherState` when it is that of one that was started
    /// with another state, in the sense of [`fingerprint`].
    pub async fn start(&self, id: &str, state: &S) -> Result<Started, SagaError> {
        let now = self.db.now();
        let steps = self
            .definition
            .steps
            .iter()
            .enumerate()
            .map(|(position, step)| StepRecord {
                name: step.name.clone(),
                state: match position == 0 && !step.is_atomic {
                    true => StepState::Begun,
                    false => StepState::Pending,
                },
            });
        let started = SagaRecord {
            id: id.to_owned(),
            run: Some(ObjectId::new()),
            name: self.definition.name.clone(),
            status: SagaStatus::Running,
            due: now,
            lease: Lease {
                owner: None,
                token: 0,
            },
            step: 0,
            attempt: 0,
            steps: steps.collect(),
            state: stored(state)?,
            fingerprint: Some(fingerprint(state)?),
            error: None,
            history: vec![Event {
                at: now,
                kind: EventKind::Started,
                step: 0,
                token: 0,
                note: None,
            }],
            created: now,
            finished: None,
        };
        let mut fields = odm::bson::serialize_to_document(&started).map_err(unstorable)?;
        // The filter says these.
        fields.remove("_id");
        fields.remove("name");
        let insert = Update::raw(doc! { "$setOnInsert": fields });
        for is_last in [false, true] {
            let update = self.collection.upsert(
                |s| s.id.eq(id) & s.name.eq(&self.definition.name),
                |_| insert.clone(),
            );
            match update.await {
                Ok(result) if result.upserted_id.is_some() => return Ok(Started::Now),
                Ok(_) => match self.collection.get(id).await? {
                    Some(known) if is_same(&known, &started) => return Ok(Started::Before),
                    Some(_) => return Err(SagaError::OtherState { id: id.to_owned() }),
                    // It is over and was pruned since: look again.
                    None if !is_last => {}
                    None => return Err(SagaError::NotFound { id: id.to_owned() }),
                },
                // Another one inserted it at the same time, or it is of another definition: look again. Of a transaction it
                // is the end, and there the former would be a conflict.
                Err(error) if error.is_duplicate_key() && !is_last && !self.db.in_transaction() => {}
                Err(error) if error.is_duplicate_key() => {
                    return Err(SagaError::Taken { id: id.to_owned() });
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(SagaError::Taken { id: id.to_owned() })
    }

    /// Looks at a saga. One round trip.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn get(&self, id: &str) -> Result<SagaRecord, SagaError> {
        let found = self
            .collection
            .find_one(|s| s.id.eq(id) & s.name.eq(&self.definition.name));
        found
            .await?
            .ok_or_else(|| SagaError::NotFound { id: id.to_owned() })
    }

    /// Claims a saga and works on it until it is over or has to wait. Nothing here sleeps: call it again when
    /// [`Outcome::Waiting`] says, or let [`work`](Sagas::work) find it.
    ///
    /// Cost: 1 round trip for the claim and 1 for each step, beside those of the steps; 1 more where it cannot be
    /// claimed.
    ///
    /// # Errors
    /// `NotFound`, `LeaseLost`; `OtherSteps`, and `Database` of kind `Decode` for a state of another type, after which the
    /// saga is as it was, for whoever can work on it; other errors of the `Database`, after which it is as the last write left
    /// it, and is due when the lease is over.
    pub async fn run(&self, id: &str) -> Result<Outcome<S>, SagaError> {
        match self.claim(id).await? {
            Some(record) => self.drive_if_fit(record).await,
            None => self.outcome(self.get(id).await?),
        }
    }

    /// Claims a saga that is due and works on it. `None` when none is. Those that it cannot work on, because they have other
    /// steps, or a state of another type, are left to others, such as workers of the program's last version.
    ///
    /// Cost: 1 round trip more than [`run`](Sagas::run) for each 16 sagas that are due before that one.
    ///
    /// # Errors
    /// As [`run`](Sagas::run); where there is nothing else to do, that of a saga that it cannot work on.
    pub async fn work(&self) -> Result<Option<(String, Outcome<S>)>, SagaError> {
        let mut unfit = None;
        for page in 0.. {
            let due = self.due(page * DUE).await?;
            let is_last = (due.len() as u64) < DUE;
            for known in due {
                if let Err(error) = self.check_fit(&known) {
                    unfit.get_or_insert(error);
                } else if let Some(record) = self.claim(&known.id).await? {
                    return Ok(Some((known.id, self.drive_if_fit(record).await?)));
                }
            }
            if is_last {
                break;
            }
        }
        match unfit {
            Some(error) => Err(error),
            None => Ok(None),
        }
    }

    /// Whether this definition can work on a saga.
    fn check_fit(&self, record: &SagaRecord) -> Result<(), SagaError> {
        self.check_steps(record)?;
        record.state::<S>()?;
        Ok(())
    }

    /// Works on a saga that was claimed, or gives it back as it was.
    async fn drive_if_fit(&self, record: SagaRecord) -> Result<Outcome<S>, SagaError> {
        if let Err(error) = self.check_fit(&record) {
            let now = self.db.now();
            let back = self.collection.update_one(
                |_| self.fence(&record),
                |s| s.attempt.inc(-1) & s.due.set(now) & s.lease.owner.unset(),
            );
            back.await?;
            return Err(error);
        }
        self.drive(record).await
    }

    /// The sagas that wait for somebody.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn stuck(&self) -> Result<Vec<SagaRecord>, SagaError> {
        let stuck = [SagaStatus::Stuck, SagaStatus::StuckCompensating];
        let found = self
            .collection
            .find(|s| s.name.eq(&self.definition.name) & s.status.is_in(stuck));
        Ok(found.await?)
    }

    /// How many sagas there are in each status. One round trip.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn counts(&self) -> Result<BTreeMap<SagaStatus, u64>, SagaError> {
        let groups = self
            .collection
            .aggregate()
            .filter(|s| s.name.eq(&self.definition.name))
            .group::<Counted>(|s, out| out.status.by(s.status) & out.sagas.is(count()));
        let groups = groups.await?;
        Ok(groups
            .into_iter()
            .map(|group| (group.status, group.sagas))
            .collect())
    }

    /// Deletes the sagas that were over before a time; gives how many. An id that is gone can be started anew: that is
    /// another saga, whose effects happen again. Marks in documents stay: see
    /// [`Effect::prune_marks`](super::Effect::prune_marks).
    ///
    /// # Errors
    /// Those of the database.
    pub async fn prune(&self, before: DateTime) -> Result<u64, SagaError> {
        let over = self
            .collection
            .delete_many(|s| s.name.eq(&self.definition.name) & s.finished.lt(before));
        Ok(over.await?.deleted)
    }

    async fn due(&self, skip: u64) -> Result<Vec<SagaRecord>, SagaError> {
        let active = [SagaStatus::Running, SagaStatus::Compensating];
        let now = self.db.now();
        let found = self
            .collection
            .find(|s| s.name.eq(&self.definition.name) & s.status.is_in(active) & s.due.lte(now))
            .sort(|s| s.due.asc())
            .skip(skip)
            .limit(DUE);
        Ok(found.await?)
    }

    /// Takes the lease, if it can be had. The claim counts the try, and so is stored before the step's effect.
    async fn claim(&self, id: &str) -> Result<Option<SagaRecord>, SagaError> {
        let now = self.db.now();
        let active = [SagaStatus::Running, SagaStatus::Compensating];
        let due = later(now, self.lease);
        let claimed = self
            .collection
            .find_one_and_update(
                |s| s.id.eq(id) & s.name.eq(&self.definition.name) & s.status.is_in(active) & s.due.lte(now),
                |s| s.lease.token.inc(1) & s.lease.owner.set(&self.owner) & s.attempt.inc(1) & s.due.set(due),
            )
            .return_new();
        Ok(claimed.await?)
    }

    /// What a saga that cannot be claimed is waiting for, or came to.
    pub(super) fn outcome(&self, record: SagaRecord) -> Result<Outcome<S>, SagaError> {
        Ok(match record.status {
            SagaStatus::Running | SagaStatus::Compensating => Outcome::Waiting {
                until: record.due,
                error: record.error,
            },
            SagaStatus::Stuck | SagaStatus::StuckCompensating => Outcome::Stuck {
                step: record
                    .steps
                    .get(usize::try_from(record.step).unwrap_or_default())
                    .map(|step| step.name.clone())
                    .unwrap_or_default(),
                error: record.error,
            },
            SagaStatus::Completed => Outcome::Completed(record.state()?),
            SagaStatus::Compensated => Outcome::Compensated {
                state: record.state()?,
                error: record.error,
            },
            SagaStatus::Abandoned => Outcome::Abandoned(record.state()?),
        })
    }

    /// The filter of a write that only the holder of a lease may make. Another saga of the same id, started since, may have
    /// the same token.
    pub(super) fn fence(&self, record: &SagaRecord) -> Filter<SagaRecord> {
        let s = <SagaRecord as odm::Model>::fields();
        s.id.eq(&record.id)
            & s.run.eq(record.run)
            & s.lease.token.eq(record.lease.token)
            & s.step.eq(record.step)
    }
}

#[derive(Serialize, Deserialize, Embedded)]
struct Counted {
    #[serde(rename = "_id")]
    status: SagaStatus,
    sagas: u64,
}

/// Whether a saga was started with the same state. One that was stored before sagas kept what they were started with
/// tells only until somebody works on it.
fn is_same(known: &SagaRecord, started: &SagaRecord) -> bool {
    match &known.fingerprint {
        Some(_) => known.fingerprint == started.fingerprint,
        None => known.lease.token > 0 || known.state == started.state,
    }
}

/// A state as it is stored.
pub(super) fn stored<S: Serialize>(state: &S) -> Result<odm::bson::Bson, SagaError> {
    odm::bson::serialize_to_bson(state).map_err(unstorable)
}

fn unstorable(error: odm::bson::error::Error) -> SagaError {
    odm::Error::new(ErrorKind::Encode, "the saga's state does not fit BSON")
        .with_source(error)
        .into()
}

impl<S> Clone for Sagas<S> {
    fn clone(&self) -> Sagas<S> {
        Sagas {
            db: self.db.clone(),
            collection: self.collection.clone(),
            definition: self.definition.clone(),
            lease: self.lease,
            owner: self.owner.clone(),
            history: self.history,
        }
    }
}

impl<S> fmt::Debug for Sagas<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sagas")
            .field("collection", &self.collection)
            .field("definition", &self.definition)
            .field("lease", &self.lease)
            .field("owner", &self.owner)
            .finish()
    }
}
