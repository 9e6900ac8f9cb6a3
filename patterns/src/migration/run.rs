//! Running what is pending.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, FutureExt as _, select};
use odm::backend::TransactionOptions;
use odm::bson::{Bson, DateTime, doc};
use odm::{Db, Error};

use super::definition::Migrations;
use super::each::{Batch, Batched};
use super::error::{MigrationError, MigrationErrorKind, StepError};
use super::hold::Entered;
use super::ledger::{Fate, Records, Session, Tail};
use super::progress::Progress;
use super::record::{StepRecord, StepState};
use super::report::{MigrationEvent, MigrationReport, RanStep};
use super::step::{Action, Step};

/// How often it is tried to record that a step is done.
const TRIES: u32 = 3;

impl Migrations {
    /// Runs the steps that are not done, in their order, each with a record of it. Where another process does, this one
    /// waits, and then finds them done.
    ///
    /// Cost: 1 round trip when nothing is to be done. Otherwise 2 for the lease and 1 for the records, 3 for each step beside
    /// its own, a sign of life now and then, and 1 at the end.
    ///
    /// Cancel safety: when the future is dropped, the step that runs is one that was interrupted: the next run, when the
    /// lease is over, begins with it.
    ///
    /// # Errors
    /// `StepFailed`: nothing behind the step was run, and the next run begins with it. `Unknown`, `OutOfOrder`, `Changed`,
    /// `HalfReverted`, `NoTransactions`, and those of [`check`](Migrations::check), before any step is run. `Busy`,
    /// `LeaseLost`, `InTransaction`; `Database`.
    pub async fn run(&self, db: &Db) -> Result<MigrationReport, MigrationError> {
        self.run_before(db, self.steps.len()).await
    }

    /// The same up to this step, which is the last one that is run.
    ///
    /// # Errors
    /// As [`run`](Migrations::run); `NoSuchStep`.
    pub async fn run_to(&self, db: &Db, id: &str) -> Result<MigrationReport, MigrationError> {
        self.run_before(db, self.place(id)? + 1).await
    }

    async fn run_before(&self, db: &Db, end: usize) -> Result<MigrationReport, MigrationError> {
        let ledger = self.ledger(db)?;
        let begun = db.now();
        let mut report = MigrationReport::default();
        match self.enter(&ledger, Some(end)).await? {
            Entered::Idle(records, waited) => {
                report.skipped = self.done(&records, &[]);
                report.waited = waited;
            }
            Entered::Session(session, records, waited) => {
                report.waited = waited;
                let result = self.run_all(&session, &records, end, &mut report).await;
                self.leave(&session, result).await?;
            }
        }
        report.duration = since(begun, db.now()).saturating_sub(report.waited);
        Ok(report)
    }

    async fn run_all(
        &self,
        session: &Session,
        records: &Records,
        end: usize,
        report: &mut MigrationReport,
    ) -> Result<(), MigrationError> {
        let todo = self.todo(records, end)?;
        report.skipped = self.done(records, &todo);
        let todo = todo.into_iter().filter_map(|at| self.steps.get(at));
        let todo: Vec<&Step> = todo.collect();
        self.refuse_transactions(&session.ledger.db, &todo).await?;
        for step in todo {
            let ran = self.run_step(session, step, records.get(&step.id)).await?;
            self.tell(&MigrationEvent::Done(ran.clone()));
            report.steps.push(ran);
        }
        Ok(())
    }

    /// The steps that are done, but for those at some places.
    fn done(&self, records: &Records, todo: &[usize]) -> Vec<String> {
        let is_done = |step: &Step| {
            let record = records.get(&step.id);
            record.is_some_and(|record| record.state == StepState::Done)
        };
        let steps = self.steps.iter().enumerate();
        steps
            .filter(|(at, step)| !todo.contains(at) && is_done(step))
            .map(|(_, step)| step.id.clone())
            .collect()
    }

    /// # Errors
    /// `NoTransactions`, where one of the steps is a transaction and the database has none.
    pub(super) async fn refuse_transactions(&self, db: &Db, steps: &[&Step]) -> Result<(), MigrationError> {
        let Some(step) = steps.iter().find(|step| step.is_transactional) else {
            return Ok(());
        };
        let mut has_them = db.capabilities().transactions;
        // A server that is by itself refuses transactions only when they are used.
        if has_them && db.backend_name() == "mongodb" {
            let hello = db.run_command(doc! { "hello": 1 }).await;
            let hello = hello.map_err(|error| self.database(Some(&step.id), error))?;
            has_them =
                hello.contains_key("setName") || hello.get_str("msg").is_ok_and(|msg| msg == "isdbgrid");
        }
        match has_them {
            true => Ok(()),
            false => Err(self.error(Some(&step.id), MigrationErrorKind::NoTransactions)),
        }
    }

    async fn run_step(
        &self,
        session: &Session,
        step: &Step,
        known: Option<&StepRecord>,
    ) -> Result<RanStep, MigrationError> {
        let goes_on = known.is_some_and(|record| step.goes_on(record));
        self.carry_out(
            session,
            step,
            &step.up,
            (StepState::Running, StepState::Done),
            (known, goes_on),
        )
        .await
    }

    /// Does or undoes a step of which something may be known: records the intent, runs it beside signs of life, records its
    /// end.
    pub(super) async fn carry_out(
        &self,
        session: &Session,
        step: &Step,
        action: &Action,
        (under_way, end): (StepState, StepState),
        (known, goes_on): (Option<&StepRecord>, bool),
    ) -> Result<RanStep, MigrationError> {
        let intent = self.intent(step);
        let begun = session.intend(&intent, under_way, known, goes_on).await;
        let begun = begun
            .map_err(|error| self.database(Some(&step.id), error))?
            .ok_or_else(|| self.lost(&step.id, session.token()))?;
        self.tell(&MigrationEvent::Begun {
            id: step.id.clone(),
            attempt: count(begun.attempts),
            reverting: under_way == StepState::Reverting,
        });
        let performed = {
            let work =
                pin!(AssertUnwindSafe(self.perform(session, step, action, &begun, end)).catch_unwind());
            let beats = pin!(self.beats(session));
            match select(work, beats).await {
                Either::Left((Ok(performed), _)) => performed,
                Either::Left((Err(_), _)) => Err(Stop::Step(StepError::new("the step panicked"))),
                Either::Right(((), _)) => Err(Stop::Lost),
            }
        };
        let ended = match performed {
            Ok(ended) => ended,
            Err(Stop::Lost) => return Err(self.taken(session, step, &begun, end).await),
            Err(Stop::Ledger(error)) => return Err(self.database(Some(&step.id), error)),
            Err(Stop::Step(error)) => self.give_up(session, step, &begun, end, error).await?,
        };
        Ok(RanStep {
            id: step.id.clone(),
            attempt: count(begun.attempts),
            duration: since(begun.started, session.now()),
            examined: u64::try_from(begun.examined + ended.examined).unwrap_or(0),
            changed: u64::try_from(begun.changed + ended.changed).unwrap_or(0),
        })
    }

    /// Runs an action, and records that it is done; what it has counted.
    async fn perform(
        &self,
        session: &Session,
        step: &Step,
        action: &Action,
        begun: &StepRecord,
        end: StepState,
    ) -> Result<Tail, Stop> {
        let db = &session.ledger.db;
        match action {
            Action::Batched(batched) => {
                return self.go_through(session, step, batched.as_ref(), begun, end).await;
            }
            Action::Plain(action) if step.is_transactional => {
                let body = |tx: odm::Tx| async move {
                    let db: Db = (*tx).clone();
                    action(db).await?;
                    match session.settle(&tx, begun, end, &Tail::default()).await? {
                        true => Ok(Tail::default()),
                        false => Err(Stop::Lost),
                    }
                };
                return db.transaction_with(TransactionOptions::default(), body).await;
            }
            Action::Plain(action) => action(db.clone()).await?,
            Action::Resumable(action) => {
                let progress = Progress {
                    db: db.clone(),
                    records: session.ledger.records.clone(),
                    term: session.term.clone(),
                    id: begun.id.clone(),
                    attempt: count(begun.attempts),
                    position: begun.position.clone(),
                };
                action(progress).await?;
            }
        }
        self.settle(session, begun, end, Tail::default()).await
    }

    /// Changes documents batch by batch, and records how far that is.
    async fn go_through(
        &self,
        session: &Session,
        step: &Step,
        batched: &dyn Batched,
        begun: &StepRecord,
        end: StepState,
    ) -> Result<Tail, Stop> {
        let mut position = begun.position.as_ref().and_then(Bson::as_str).map(str::to_owned);
        let mut sum = Tail::default();
        loop {
            if !session.term.renew_if_due().await.map_err(Stop::Ledger)? {
                return Err(Stop::Lost);
            }
            let place = position.as_deref();
            let batch = match step.is_transactional {
                true => {
                    let body = |tx: odm::Tx| async move {
                        let batch = batched.batch(&tx, &step.options, place).await?;
                        match record(session, &tx, begun, end, &batch).await? {
                            true => Ok(batch),
                            false => Err(Stop::Lost),
                        }
                    };
                    let db = &session.ledger.db;
                    db.transaction_with(TransactionOptions::default(), body).await?
                }
                false => {
                    let db = &session.ledger.db;
                    let batch = batched.batch(db, &step.options, place).await?;
                    match batch.next {
                        Some(_) => {
                            let recorded = record(session, db, begun, end, &batch).await;
                            if !recorded.map_err(Stop::Ledger)? {
                                return Err(Stop::Lost);
                            }
                        }
                        None => {
                            self.settle(session, begun, end, Tail::of(&batch)).await?;
                        }
                    }
                    batch
                }
            };
            sum.examined += batch.examined;
            sum.changed += batch.changed;
            self.tell(&MigrationEvent::Progress {
                id: step.id.clone(),
                examined: u64::try_from(begun.examined + sum.examined).unwrap_or(0),
                changed: u64::try_from(begun.changed + sum.changed).unwrap_or(0),
            });
            match batch.next {
                Some(next) => position = Some(next),
                None => return Ok(sum),
            }
        }
    }

    /// Records the end of a step; again when it is not known whether that was heard.
    async fn settle(
        &self,
        session: &Session,
        begun: &StepRecord,
        end: StepState,
        tail: Tail,
    ) -> Result<Tail, Stop> {
        let mut tries = TRIES;
        loop {
            tries -= 1;
            match session.settle(&session.ledger.db, begun, end, &tail).await {
                Ok(true) => return Ok(tail),
                Ok(false) => {
                    let fate = session.fate(begun, end).await;
                    return match fate.map_err(Stop::Ledger)? {
                        Fate::Ended => Ok(tail),
                        Fate::Taken | Fate::Forgotten => Err(Stop::Lost),
                    };
                }
                Err(error) if tries == 0 => return Err(Stop::Ledger(error)),
                Err(_) => {}
            }
        }
    }

    /// Records that a step failed, unless it turns out that its transaction was committed.
    async fn give_up(
        &self,
        session: &Session,
        step: &Step,
        begun: &StepRecord,
        end: StepState,
        error: StepError,
    ) -> Result<Tail, MigrationError> {
        if error.is_lease_lost() {
            return Err(self.taken(session, step, begun, end).await);
        }
        let kind = match session.fail(begun, shortened(error.to_string())).await {
            Ok(false) => match session.fate(begun, end).await {
                Ok(Fate::Ended) => return Ok(Tail::default()),
                Ok(Fate::Taken) => return Err(self.lost(&step.id, session.token())),
                Ok(Fate::Forgotten) => failed(begun, error.clone()),
                Err(error) => MigrationErrorKind::Database(error),
            },
            // Whether it could be recorded or not: this is what went wrong.
            Ok(true) | Err(_) => failed(begun, error.clone()),
        };
        let id = step.id.clone();
        self.tell(&MigrationEvent::Failed { id, error });
        Err(self.error(Some(&step.id), kind))
    }

    /// Why an attempt is nobody's of this process any more: somebody else has the lease, or the record is gone.
    async fn taken(
        &self,
        session: &Session,
        step: &Step,
        begun: &StepRecord,
        end: StepState,
    ) -> MigrationError {
        match session.fate(begun, end).await {
            Ok(Fate::Forgotten) => {
                let error = StepError::new(
                    "the record of the step is gone: the step dropped it, or somebody deleted it while the step ran",
                );
                let kind = failed(begun, error.clone());
                let id = step.id.clone();
                self.tell(&MigrationEvent::Failed { id, error });
                self.error(Some(&step.id), kind)
            }
            _ => self.lost(&step.id, session.token()),
        }
    }
}

/// Records what a batch did.
async fn record(
    session: &Session,
    db: &Db,
    begun: &StepRecord,
    end: StepState,
    batch: &Batch,
) -> odm::Result<bool> {
    let tail = Tail::of(batch);
    match &batch.next {
        Some(next) => session.advance(db, begun, next, &tail).await,
        None => session.settle(db, begun, end, &tail).await,
    }
}

/// The error of an attempt that failed.
fn failed(begun: &StepRecord, error: StepError) -> MigrationErrorKind {
    let attempt = count(begun.attempts);
    match begun.state {
        StepState::Running => MigrationErrorKind::StepFailed { attempt, error },
        _ => MigrationErrorKind::RevertFailed { error },
    }
}

/// Why a step did not come to its end.
enum Stop {
    /// It failed.
    Step(StepError),
    /// Somebody else has the lease.
    Lost,
    /// It could not be recorded.
    Ledger(Error),
}

impl From<StepError> for Stop {
    fn from(error: StepError) -> Stop {
        Stop::Step(error)
    }
}

/// What the database says in a step's transaction, or of it.
impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Step(error.into())
    }
}

/// A text that a record has room for.
fn shortened(mut text: String) -> String {
    const LONGEST: usize = 10_000;
    text.truncate(text.floor_char_boundary(LONGEST));
    text
}

pub(super) fn count(attempts: i64) -> u32 {
    u32::try_from(attempts).unwrap_or(u32::MAX)
}

pub(super) fn since(from: DateTime, to: DateTime) -> Duration {
    to.saturating_duration_since(from)
}
