//! What somebody can do about a saga that cannot go on.

use odm::{Model, Update};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::drive::{Move, lease_lost};
use super::error::SagaError;
use super::record::{EventKind, SagaRecord, SagaStatus, StepState};
use super::sagas::Sagas;

/// Acts of operators. Each takes the lease away from whoever has it: a worker that is under way finds it lost. `note` says
/// who acts and why, for the history.
///
/// Cost: 2 round trips. Of two acts at the same time one is `LeaseLost`.
impl<S: Serialize + DeserializeOwned + Clone + Send + Sync + 'static> Sagas<S> {
    /// Lets a step that is stuck be tried again, as often as at first.
    ///
    /// # Errors
    /// `NotFound`, `NotStuck`, `Finished`, `LeaseLost`.
    pub async fn retry(&self, id: &str, note: &str) -> Result<(), SagaError> {
        let record = self.stuck_one(id).await?;
        let next = Move {
            status: match record.status {
                SagaStatus::Stuck => SagaStatus::Running,
                _ => SagaStatus::Compensating,
            },
            step: record.step,
            attempt: 0,
            settled: None,
            begun: None,
        };
        self.act(&record, next, EventKind::Retried, note).await
    }

    /// Takes a step that is stuck for done, or its compensation for undone, and goes on with the next.
    ///
    /// # Errors
    /// `NotFound`, `NotStuck`, `Finished`, `LeaseLost`, `OtherSteps`.
    pub async fn skip(&self, id: &str, note: &str) -> Result<(), SagaError> {
        let record = self.stuck_one(id).await?;
        self.check_steps(&record)?;
        let position = usize::try_from(record.step).unwrap_or_default();
        let next = match record.status {
            SagaStatus::Stuck => self.after(&record, position, StepState::Skipped),
            _ => self.before(&record, position, StepState::Skipped),
        };
        self.act(&record, next, EventKind::Skipped, note).await
    }

    /// Turns a saga around before its pivot, whether it is stuck or under way; gives up one whose compensation is stuck.
    ///
    /// A pivot that a worker is at, or was at, may have happened: where it has no compensation and is not atomic, its saga
    /// cannot be turned around before it is stuck. Then somebody can have found out.
    ///
    /// # Errors
    /// `NotFound`, `PastPivot`, `Finished`, `LeaseLost`, `OtherSteps`; `NotStuck` when it is being compensated anyway.
    pub async fn abort(&self, id: &str, note: &str) -> Result<(), SagaError> {
        let record = self.get(id).await?;
        self.check_steps(&record)?;
        let position = usize::try_from(record.step).unwrap_or_default();
        let next = match record.status {
            SagaStatus::Running if self.may_be_past_pivot(&record) => {
                return Err(SagaError::PastPivot { id: record.id });
            }
            SagaStatus::Running | SagaStatus::Stuck if self.is_past_pivot(&record) => {
                return Err(SagaError::PastPivot { id: record.id });
            }
            SagaStatus::Running | SagaStatus::Stuck => self.turned(&record, position),
            SagaStatus::Compensating => return Err(SagaError::NotStuck { id: record.id }),
            SagaStatus::StuckCompensating => Move {
                status: SagaStatus::Abandoned,
                step: record.step,
                attempt: record.attempt,
                settled: None,
                begun: None,
            },
            _ => return Err(SagaError::Finished { id: record.id }),
        };
        self.act(&record, next, EventKind::Aborted, note).await
    }

    async fn stuck_one(&self, id: &str) -> Result<SagaRecord, SagaError> {
        let record = self.get(id).await?;
        match record.status {
            status if status.is_stuck() => Ok(record),
            status if status.is_active() => Err(SagaError::NotStuck { id: record.id }),
            _ => Err(SagaError::Finished { id: record.id }),
        }
    }

    async fn act(
        &self,
        record: &SagaRecord,
        next: Move,
        kind: EventKind,
        note: &str,
    ) -> Result<(), SagaError> {
        let s = SagaRecord::fields();
        let now = self.db.now();
        let event = self.event(record, kind, Some(note.to_owned()));
        let mut change = s.status.set(next.status)
            & s.step.set(next.step)
            & s.attempt.set(0)
            & s.due.set(now)
            & s.lease.token.inc(1)
            & s.lease.owner.unset()
            & self.remembered(&s, event);
        for (position, state) in next
            .settled
            .into_iter()
            .chain(next.begun.map(|at| (at, StepState::Begun)))
        {
            change &= s
                .steps
                .at(u32::try_from(position).unwrap_or(u32::MAX))
                .state
                .set(state);
        }
        change &= match next.status.is_finished() {
            true => s.finished.set(now),
            false => Update::none(),
        };
        let filter = self.fence(record) & s.status.eq(record.status);
        match self.collection.update_one(|_| filter, |_| change).await?.matched {
            1 => Ok(()),
            _ => Err(lease_lost(record)),
        }
    }
}
