//! How things stand.

use std::fmt;

use odm::Db;
use odm::bson::DateTime;

use super::definition::{Migrations, has_changed, is_pending};
use super::error::{MigrationError, MigrationErrorKind};
use super::lease::MigrationLease;
use super::record::{StepKind, StepRecord, StepState};
use super::step::{Action, Step};

/// How things stand with the migrations of a database.
///
/// Its text is a table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MigrationStatus {
    /// The steps of the program, in their order.
    pub steps: Vec<StepStatus>,
    /// What is recorded of steps that the program does not have.
    pub unknown: Vec<StepRecord>,
    /// Who is migrating now.
    pub lease: Option<MigrationLease>,
}

/// How things stand with a step.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StepStatus {
    /// The step's id.
    pub id: String,
    /// What it is for.
    pub description: Option<String>,
    /// How it runs.
    pub kind: StepKind,
    /// How far it is.
    pub standing: Standing,
    /// Whether [`require_done`](Migrations::require_done) waits for it: it is not done, and does not run every time.
    pub is_pending: bool,
    /// What is recorded of it.
    pub record: Option<StepRecord>,
}

/// How far a step is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Standing {
    /// It is done.
    Done,
    /// It is done, and has another fingerprint since.
    Changed,
    /// It is to be run.
    Pending,
    /// It is to be run, and steps behind it are done.
    OutOfOrder,
    /// It runs.
    Running {
        /// Where.
        owner: Option<String>,
        /// When the lease ends, unless it is renewed.
        until: DateTime,
    },
    /// Its process died, or lost its lease: the next run begins with it.
    Interrupted,
    /// It failed: the next run begins with it.
    Failed {
        /// Why.
        error: Option<String>,
    },
    /// It is being undone, or that failed, or its process died.
    Reverting {
        /// Why it failed.
        error: Option<String>,
    },
    /// It was undone, and is to be run.
    Reverted,
    /// It runs every time.
    EveryTime,
}

impl MigrationStatus {
    /// Whether nothing is left to be run, and nothing is wrong.
    pub fn is_settled(&self) -> bool {
        let is_settled = |step: &StepStatus| matches!(step.standing, Standing::Done | Standing::EveryTime);
        self.unknown.is_empty() && self.steps.iter().all(is_settled)
    }

    /// How things stand with a step of the program.
    pub fn standing(&self, id: &str) -> Option<&Standing> {
        let step = self.steps.iter().find(|step| step.id == id);
        step.map(|step| &step.standing)
    }

    /// The steps that are not done, in their order: those of [`Migrations::pending`].
    pub fn pending(&self) -> Vec<&str> {
        let steps = self.steps.iter().filter(|step| step.is_pending);
        steps.map(|step| step.id.as_str()).collect()
    }
}

/// What a run would do.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlannedStep {
    /// The step's id.
    pub id: String,
    /// What it is for.
    pub description: Option<String>,
    /// How it runs.
    pub kind: StepKind,
    /// Which attempt it would be, counted from 1.
    pub attempt: u32,
    /// How many documents the filter of a step in batches finds now, those behind which it would go on included.
    pub documents: Option<u64>,
}

impl Migrations {
    /// How things stand. Two round trips; changes nothing.
    ///
    /// # Errors
    /// `Database`, and those of [`check`](Migrations::check). What a run would refuse is none.
    pub async fn status(&self, db: &Db) -> Result<MigrationStatus, MigrationError> {
        let ledger = self.ledger(db)?;
        let records = self.read(&ledger).await?;
        let lease = ledger.leases.get().await;
        let lease = lease.map_err(|error| self.database(None, error))?;
        let now = db.now();
        let lease = lease.filter(|lease| lease.owner.is_some() && lease.until > now);
        let late = self.late(&records, self.steps.len());
        let steps = self.steps.iter().map(|step| {
            let record = records.get(&step.id);
            StepStatus {
                id: step.id.clone(),
                description: step.description.clone(),
                kind: step.kind(),
                standing: match late.contains(&step.id) {
                    true => Standing::OutOfOrder,
                    false => standing(step, record, lease.as_ref()),
                },
                is_pending: is_pending(step, record),
                record: record.cloned(),
            }
        });
        Ok(MigrationStatus {
            steps: steps.collect(),
            unknown: self.unknown(&records).cloned().collect(),
            lease,
        })
    }

    /// What [`run`](Migrations::run) would do, and what it would refuse. One round trip, and one for each step in batches,
    /// whose documents it counts; changes nothing.
    ///
    /// # Errors
    /// `Unknown`, `OutOfOrder`, `Changed`, `HalfReverted`, `NoTransactions`, and those of [`check`](Migrations::check), as
    /// `run` gives them; `Database`.
    pub async fn plan(&self, db: &Db) -> Result<Vec<PlannedStep>, MigrationError> {
        let ledger = self.ledger(db)?;
        let records = self.read(&ledger).await?;
        let todo = self.todo(&records, self.steps.len())?;
        let todo = todo.into_iter().filter_map(|at| self.steps.get(at));
        let todo: Vec<&Step> = todo.collect();
        self.refuse_transactions(db, &todo).await?;
        let mut plan = Vec::new();
        for step in todo {
            let documents = match &step.up {
                Action::Batched(batched) => {
                    let count = batched.count(db, &step.options).await;
                    Some(count.map_err(|error| self.database(Some(&step.id), error))?)
                }
                _ => None,
            };
            let tried = records.get(&step.id).filter(|record| step.goes_on(record));
            plan.push(PlannedStep {
                id: step.id.clone(),
                description: step.description.clone(),
                kind: step.kind(),
                attempt: super::run::count(tried.map_or(0, |record| record.attempts)).saturating_add(1),
                documents,
            });
        }
        Ok(plan)
    }

    /// The ids of the program's steps that are not done, in their order. One round trip. Steps that the program does not
    /// have are not looked at.
    ///
    /// # Errors
    /// `Database`, and those of [`check`](Migrations::check).
    pub async fn pending(&self, db: &Db) -> Result<Vec<String>, MigrationError> {
        let ledger = self.ledger(db)?;
        let records = self.read(&ledger).await?;
        let steps = self.steps.iter();
        Ok(steps
            .filter(|step| is_pending(step, records.get(&step.id)))
            .map(|step| step.id.clone())
            .collect())
    }

    /// Whether a program may start that does not migrate by itself. One round trip.
    ///
    /// # Errors
    /// `Pending`; as [`pending`](Migrations::pending).
    pub async fn require_done(&self, db: &Db) -> Result<(), MigrationError> {
        let pending = self.pending(db).await?;
        match pending.is_empty() {
            true => Ok(()),
            false => Err(self.error(None, MigrationErrorKind::Pending(pending))),
        }
    }
}

fn standing(step: &Step, record: Option<&StepRecord>, lease: Option<&MigrationLease>) -> Standing {
    let Some(record) = record else {
        return match is_pending(step, record) {
            true => Standing::Pending,
            false => Standing::EveryTime,
        };
    };
    match record.state {
        StepState::Done if has_changed(step, record) => match is_pending(step, Some(record)) {
            true => Standing::Pending,
            false => Standing::Changed,
        },
        StepState::Done if !step.is_once() && !is_pending(step, Some(record)) => match step.again {
            super::step::Again::EveryTime => Standing::EveryTime,
            _ => Standing::Done,
        },
        StepState::Done => Standing::Done,
        StepState::Running if record.attempts == 0 => Standing::Pending,
        StepState::Running => match lease.filter(|lease| lease.token == record.token) {
            Some(lease) => Standing::Running {
                owner: lease.owner.clone(),
                until: lease.until,
            },
            None => Standing::Interrupted,
        },
        StepState::Failed => Standing::Failed {
            error: record.error.clone(),
        },
        StepState::Reverting => Standing::Reverting {
            error: record.error.clone(),
        },
        StepState::Reverted => Standing::Reverted,
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Standing::Done => "done",
            Standing::Changed => "changed",
            Standing::Pending => "pending",
            Standing::OutOfOrder => "out of order",
            Standing::Running { .. } => "running",
            Standing::Interrupted => "interrupted",
            Standing::Failed { .. } => "failed",
            Standing::Reverting { .. } => "reverting",
            Standing::Reverted => "reverted",
            Standing::EveryTime => "every time",
        };
        f.pad(text)
    }
}

impl fmt::Display for MigrationStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.steps.iter().map(|step| step.id.chars().count());
        let unknown = self.unknown.iter().map(|record| record.id.chars().count());
        let width = known.chain(unknown).max().unwrap_or(0);
        for step in &self.steps {
            write!(f, "{:width$}  {:13}  {:12}", step.id, step.kind, step.standing)?;
            write_record(f, step.record.as_ref())?;
        }
        for record in &self.unknown {
            write!(f, "{:width$}  {:13}  {:12}", record.id, record.kind, "unknown")?;
            write_record(f, Some(record))?;
        }
        Ok(())
    }
}

/// The end of a line: when it was, how long it took, and why it failed.
fn write_record(f: &mut fmt::Formatter<'_>, record: Option<&StepRecord>) -> fmt::Result {
    if let Some(record) = record {
        write!(f, "  {}", record.started)?;
        if let Some(duration) = record.duration() {
            write!(f, "  {duration:?}")?;
        }
        if let Some(error) = &record.error {
            write!(f, "  {}", error.replace(['\n', '\r'], " "))?;
        }
    }
    f.write_str("\n")
}
