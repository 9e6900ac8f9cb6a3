//! Whether stored sagas are as they should be.

use std::time::Duration;

use odm::bson::DateTime;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::SagaError;
use super::record::{SagaRecord, SagaStatus, StepState};
use super::sagas::Sagas;

/// What is wrong with a stored saga.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SagaProblem {
    /// The saga's id.
    pub id: String,
    /// What is wrong.
    pub kind: SagaProblemKind,
}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SagaProblemKind {
    /// Its steps are not those of the definition: no worker of this program goes on with it.
    OtherSteps(Vec<String>),
    /// Its state cannot be read.
    BadState(String),
    /// Nobody has worked on it since then, though it is due.
    Overdue(DateTime),
    /// It waits for somebody.
    Stuck(Option<String>),
    /// It is over, but this step is not what the end says.
    WrongEnd {
        /// The step's name.
        step: String,
        /// What is stored of it.
        state: StepState,
    },
}

impl<S: Serialize + DeserializeOwned + Clone + Send + Sync + 'static> Sagas<S> {
    /// Looks through all sagas of the definition. `patience` is how long a due saga may be left alone. Reads all of them;
    /// nothing is repaired, because what a saga needs is a worker or somebody to decide.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn verify(&self, patience: Duration) -> Result<Vec<SagaProblem>, SagaError> {
        let mut problems = Vec::new();
        let limit = i64::try_from(patience.as_millis()).unwrap_or(i64::MAX);
        let oldest = self.db.now().timestamp_millis().saturating_sub(limit);
        let mut sagas = self
            .collection
            .find(|s| s.name.eq(&self.definition.name))
            .stream();
        while let Some(record) = sagas.try_next().await? {
            let kinds = self.problems_of(&record, oldest);
            problems.extend(kinds.into_iter().map(|kind| SagaProblem {
                id: record.id.clone(),
                kind,
            }));
        }
        Ok(problems)
    }

    fn problems_of(&self, record: &SagaRecord, oldest: i64) -> Vec<SagaProblemKind> {
        let mut kinds = Vec::new();
        if let Err(SagaError::OtherSteps { stored, .. }) = self.check_steps(record) {
            kinds.push(SagaProblemKind::OtherSteps(stored));
        }
        if let Err(error) = record.state::<S>() {
            kinds.push(SagaProblemKind::BadState(error.to_string()));
        }
        if record.status.is_active() && record.due.timestamp_millis() < oldest {
            kinds.push(SagaProblemKind::Overdue(record.due));
        }
        if record.status.is_stuck() {
            kinds.push(SagaProblemKind::Stuck(record.error.clone()));
        }
        for (step, known) in self.definition.steps.iter().zip(&record.steps) {
            let fits = match (record.status, known.state) {
                (SagaStatus::Completed, state) => matches!(state, StepState::Done | StepState::Skipped),
                (SagaStatus::Compensated, StepState::Begun | StepState::Done) => step.compensation.is_none(),
                _ => true,
            };
            if !fits {
                kinds.push(SagaProblemKind::WrongEnd {
                    step: known.name.clone(),
                    state: known.state,
                });
            }
        }
        kinds
    }
}
