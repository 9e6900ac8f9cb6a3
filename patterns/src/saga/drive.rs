//! Working on a saga that is claimed: every write carries the token of the lease.

use std::sync::{Arc, Mutex, PoisonError};

use odm::backend::TransactionOptions;
use odm::{Db, Model, Update};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::definition::{Action, Step};
use super::effect::Effect;
use super::error::{SagaError, StepError};
use super::record::{Event, EventKind, SagaRecord, SagaRecordFields, SagaStatus, StepState};
use super::sagas::{Outcome, Sagas, stored};
use crate::later::later;

/// What a write makes of a saga.
pub(super) struct Move {
    pub(super) status: SagaStatus,
    pub(super) step: i32,
    pub(super) attempt: i32,
    /// The step whose state changes, and to what.
    pub(super) settled: Option<(usize, StepState)>,
    /// The step that may happen from now on.
    pub(super) begun: Option<usize>,
}

impl<S: Serialize + DeserializeOwned + Clone + Send + Sync + 'static> Sagas<S> {
    /// Works until the saga is over or has to wait.
    pub(super) async fn drive(&self, mut record: SagaRecord) -> Result<Outcome<S>, SagaError> {
        while record.status.is_active() {
            let position = usize::try_from(record.step).unwrap_or_default();
            let Some(step) = self.definition.steps.get(position) else {
                return Err(other_steps(&record));
            };
            let forward = record.status == SagaStatus::Running;
            let next = match forward {
                true => self.after(&record, position, StepState::Done),
                false => self.before(&record, position, StepState::Compensated),
            };
            let result = match u32::try_from(record.attempt).unwrap_or(u32::MAX) > step.retry.attempts {
                // Tries that ended with their process.
                true => Err(Stop::Failed(StepError::retry(
                    record
                        .error
                        .clone()
                        .unwrap_or_else(|| "no try came to its end".to_owned()),
                ))),
                false => self.attempt(&record, position, step, &next).await,
            };
            record = match result {
                Ok(record) => record,
                Err(Stop::Failed(StepError::LeaseLost)) => return Err(lease_lost(&record)),
                Err(Stop::Failed(error)) => match self.fail(&record, position, step, error).await? {
                    (record, true) => record,
                    (record, false) => return self.outcome(record),
                },
                Err(Stop::Saga(error)) => return Err(error),
            };
        }
        self.outcome(record)
    }

    /// Does or undoes the step and stores it; gives the saga as it is stored then.
    async fn attempt(
        &self,
        record: &SagaRecord,
        position: usize,
        step: &Step<S>,
        next: &Move,
    ) -> Result<SagaRecord, Stop> {
        let state: S = record.state().map_err(SagaError::from)?;
        let forward = record.status == SagaStatus::Running;
        let kind = match forward {
            true => EventKind::Done,
            false => EventKind::Compensated,
        };
        let action: &Action<S> = match (&step.compensation, forward) {
            (_, true) => &step.action,
            (Some(compensation), false) => compensation,
            // The definition has lost it since the saga turned around: there is nothing to be undone.
            (None, false) => return Ok(self.store(&self.db, record, next, kind, None).await?),
        };
        if !step.is_atomic {
            let effect = self.effect(&self.db, record, position);
            let note = effect.note.clone();
            let state = action(effect, state).await?;
            let noted = (kind, noted(&note));
            return Ok(self.settle(&self.db, record, next, &state, noted).await?);
        }
        let body = |tx: odm::Tx| {
            let (action, state) = (action.clone(), state.clone());
            async move {
                let effect = self.effect(&tx, record, position);
                let note = effect.note.clone();
                let state = action(effect, state).await?;
                let noted = (kind, noted(&note));
                let settled = self.settle(&tx, record, next, &state, noted).await;
                // The step's transaction may have been ended by what the step did not pass on.
                settled.map_err(|error| match error {
                    SagaError::Database(error) => Stop::from(error),
                    error => Stop::Saga(error),
                })
            }
        };
        self.db
            .transaction_with(TransactionOptions::default(), body)
            .await
    }

    /// After a try that failed: waits, turns around, or waits for somebody. Says whether there is more to do now.
    async fn fail(
        &self,
        record: &SagaRecord,
        position: usize,
        step: &Step<S>,
        error: StepError,
    ) -> Result<(SagaRecord, bool), SagaError> {
        let text = error.to_string();
        let attempt = u32::try_from(record.attempt).unwrap_or(u32::MAX);
        let again = matches!(error, StepError::Retry(_)) && attempt < step.retry.attempts;
        if again {
            let due = later(self.db.now(), step.retry.pause(attempt));
            let event = self.event(record, EventKind::Failed, Some(text.clone()));
            // On the way back the error stays the one that it turned around for.
            let error = match record.status {
                SagaStatus::Running => SagaRecord::fields().error.set(text),
                _ => Update::none(),
            };
            let change = |s: SagaRecordFields| {
                s.due.set(due) & s.lease.owner.unset() & error & self.remembered(&s, event)
            };
            return Ok((self.write(&self.db, record, change).await?, false));
        }
        // A pivot that may have happened, and cannot be undone, leaves no way back.
        let may_be_past = step.is_final() && matches!(error, StepError::Retry(_));
        if record.status == SagaStatus::Running && !self.is_past_pivot(record) && !may_be_past {
            let turned = self.turned(record, position);
            let kind = EventKind::TurnedAround;
            let record = self.store(&self.db, record, &turned, kind, Some(text)).await?;
            return Ok((record, true));
        }
        let stuck = Move {
            status: match record.status {
                SagaStatus::Running => SagaStatus::Stuck,
                _ => SagaStatus::StuckCompensating,
            },
            step: record.step,
            attempt: record.attempt,
            settled: None,
            begun: None,
        };
        let record = self
            .store(&self.db, record, &stuck, EventKind::Stuck, Some(text))
            .await?;
        Ok((record, false))
    }

    /// What comes after a step that was done or skipped.
    pub(super) fn after(&self, record: &SagaRecord, position: usize, settled: StepState) -> Move {
        let next = position + 1;
        match self.definition.steps.get(next) {
            Some(step) => Move {
                status: SagaStatus::Running,
                step: record.step + 1,
                attempt: 1,
                settled: Some((position, settled)),
                // The intent of the next step is stored by the same write.
                begun: (!step.is_atomic).then_some(next),
            },
            None => Move {
                status: SagaStatus::Completed,
                step: record.step,
                attempt: record.attempt,
                settled: Some((position, settled)),
                begun: None,
            },
        }
    }

    /// What comes after a step that was undone, or whose compensation was skipped.
    pub(super) fn before(&self, record: &SagaRecord, position: usize, settled: StepState) -> Move {
        Move {
            settled: Some((position, settled)),
            ..self.down_from(record, position)
        }
    }

    /// What turning around at a step comes to. A step that may have happened is undone too.
    pub(super) fn turned(&self, record: &SagaRecord, position: usize) -> Move {
        self.down_from(record, position + 1)
    }

    /// The next step to undo below a position.
    fn down_from(&self, record: &SagaRecord, end: usize) -> Move {
        let steps = self
            .definition
            .steps
            .iter()
            .zip(&record.steps)
            .enumerate()
            .take(end);
        let next = steps.rev().find(|(_, (step, known))| {
            step.compensation.is_some() && matches!(known.state, StepState::Begun | StepState::Done)
        });
        match next {
            Some((next, _)) => Move {
                status: SagaStatus::Compensating,
                step: i32::try_from(next).unwrap_or(i32::MAX),
                attempt: 1,
                settled: None,
                begun: None,
            },
            None => Move {
                status: SagaStatus::Compensated,
                step: record.step,
                attempt: record.attempt,
                settled: None,
                begun: None,
            },
        }
    }

    pub(super) fn is_past_pivot(&self, record: &SagaRecord) -> bool {
        let pivot = self.definition.pivot().and_then(|pivot| record.steps.get(pivot));
        pivot.is_some_and(|pivot| matches!(pivot.state, StepState::Done | StepState::Skipped))
    }

    /// Whether the pivot may have happened, and cannot be undone. What nobody claimed yet has not begun.
    pub(super) fn may_be_past_pivot(&self, record: &SagaRecord) -> bool {
        let mut steps = self.definition.steps.iter().zip(&record.steps);
        record.lease.token > 0
            && steps.any(|(step, known)| step.is_final() && known.state == StepState::Begun)
    }

    /// Stores that a step was done or undone, with what the history says of it.
    async fn settle(
        &self,
        db: &Db,
        record: &SagaRecord,
        next: &Move,
        state: &S,
        (kind, note): (EventKind, Option<String>),
    ) -> Result<SagaRecord, SagaError> {
        let event = self.event(record, kind, note);
        self.put(db, record, next, Some(state), event, None).await
    }

    /// Stores a move, if the lease is still this one's.
    pub(super) async fn store(
        &self,
        db: &Db,
        record: &SagaRecord,
        next: &Move,
        kind: EventKind,
        error: Option<String>,
    ) -> Result<SagaRecord, SagaError> {
        let event = self.event(record, kind, error.clone());
        self.put(db, record, next, None, event, error).await
    }

    async fn put(
        &self,
        db: &Db,
        record: &SagaRecord,
        next: &Move,
        state: Option<&S>,
        event: Event,
        error: Option<String>,
    ) -> Result<SagaRecord, SagaError> {
        let state = state.map(stored).transpose()?;
        let kind = event.kind;
        let now = self.db.now();
        let change = |s: SagaRecordFields| {
            let mut change = s.status.set(next.status)
                & s.step.set(next.step)
                & s.attempt.set(next.attempt)
                & self.remembered(&s, event);
            if let Some((position, settled)) = next.settled {
                change &= s.steps.at(index(position)).state.set(settled);
            }
            if let Some(position) = next.begun {
                change &= s.steps.at(index(position)).state.set(StepState::Begun);
            }
            if let Some(state) = state {
                change &= s.state.set(state);
            }
            change &= match (error, kind) {
                (Some(error), _) => s.error.set(error),
                // Why it turned around is the error that it ends with.
                (None, EventKind::Compensated) => Update::none(),
                (None, _) => s.error.unset(),
            };
            match next.status.is_active() {
                true => change & s.due.set(later(now, self.lease)),
                false if next.status.is_stuck() => change & s.lease.owner.unset(),
                false => change & s.lease.owner.unset() & s.finished.set(now),
            }
        };
        self.write(db, record, change).await
    }

    /// Changes the saga, if the lease is still this one's, and gives it as it is then.
    async fn write(
        &self,
        db: &Db,
        record: &SagaRecord,
        change: impl FnOnce(SagaRecordFields) -> Update<SagaRecord>,
    ) -> Result<SagaRecord, SagaError> {
        let sagas = db.collection_named::<SagaRecord>(self.collection.name());
        let written = sagas
            .find_one_and_update(|_| self.fence(record), change)
            .return_new();
        written.await?.ok_or_else(|| lease_lost(record))
    }

    pub(super) fn event(&self, record: &SagaRecord, kind: EventKind, note: Option<String>) -> Event {
        Event {
            at: self.db.now(),
            kind,
            step: record.step,
            token: record.lease.token,
            note,
        }
    }

    pub(super) fn remembered(&self, s: &SagaRecordFields, event: Event) -> Update<SagaRecord> {
        s.history
            .push_each_with([event], |push| push.slice(-i64::from(self.history)))
    }

    fn effect(&self, db: &Db, record: &SagaRecord, position: usize) -> Effect {
        let known = record.steps.get(position);
        Effect {
            db: db.clone(),
            sagas: db.collection_named(self.collection.name()),
            saga: record.id.clone(),
            run: record.run,
            step: known.map(|step| step.name.clone()).unwrap_or_default(),
            attempt: u32::try_from(record.attempt).unwrap_or_default(),
            token: record.lease.token,
            lease: self.lease,
            is_certain: known.is_some_and(|step| step.state == StepState::Done),
            is_compensation: record.status == SagaStatus::Compensating,
            note: Arc::default(),
        }
    }

    pub(super) fn check_steps(&self, record: &SagaRecord) -> Result<(), SagaError> {
        let own = self.definition.steps.iter().map(|step| &step.name);
        match own.eq(record.steps.iter().map(|step| &step.name)) {
            true => Ok(()),
            false => Err(other_steps(record)),
        }
    }
}

/// Why working on a step ended.
enum Stop {
    /// The step failed.
    Failed(StepError),
    /// The saga cannot be worked on.
    Saga(SagaError),
}

impl From<StepError> for Stop {
    fn from(error: StepError) -> Stop {
        Stop::Failed(error)
    }
}

impl From<SagaError> for Stop {
    fn from(error: SagaError) -> Stop {
        Stop::Saga(error)
    }
}

/// That of a step's transaction. Where it says that nothing was kept, and never will be, the step failed; what else it
/// did is looked at by whoever claims the saga next.
impl From<odm::Error> for Stop {
    fn from(error: odm::Error) -> Stop {
        if error.is_unsupported() {
            return Stop::Saga(error.into());
        }
        match StepError::from(error.clone()) {
            failed @ StepError::Fatal(_) => Stop::Failed(failed),
            _ => Stop::Saga(error.into()),
        }
    }
}

/// What the history is to say of a step beside its end.
fn noted(note: &Mutex<Option<String>>) -> Option<String> {
    note.lock().unwrap_or_else(PoisonError::into_inner).take()
}

pub(super) fn lease_lost(record: &SagaRecord) -> SagaError {
    SagaError::LeaseLost {
        id: record.id.clone(),
    }
}

fn other_steps(record: &SagaRecord) -> SagaError {
    SagaError::OtherSteps {
        id: record.id.clone(),
        stored: record.steps.iter().map(|step| step.name.clone()).collect(),
    }
}

fn index(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}
