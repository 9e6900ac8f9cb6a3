//! Transactions: an overlay that operations borrow one after another.

use std::any::Any;
use std::fmt;
use std::future::{poll_fn, ready};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_core::future::BoxFuture;
use futures_util::FutureExt;
use futures_util::future::Shared;

use super::super::command::{self, Cursors, Job};
use super::super::engine::{CommitOptions, Engine, Overlay};
use super::super::exec::aggregate::AggregateCursor;
use super::super::exec::batch;
use super::super::exec::cursor::FindCursor;
use super::super::exec::output::Target;
use super::super::exec::statement::Outcome;
use super::super::fault::{Fault, Result as Outcomes, code};
use super::super::tally::{self, Tally};
use super::cursor::GatheredCursor;
use super::footprint;
use super::lifetime::Lifetime;
use super::request::{self, Request};
use super::response::{located, translate, written};
use super::{NativeBackend, capabilities, concern};
use crate::backend::{
    Backend, Capabilities, Footprint, Operation, ReadPreference, Response, Transaction, TransactionOptions,
};
use crate::error::{Error, ErrorKind, Result};

/// A running transaction: an overlay that its operations borrow one after another.
pub(super) struct NativeTransaction {
    engine: Arc<Engine>,
    cursors: Arc<Cursors>,
    name: &'static str,
    state: Arc<Mutex<State>>,
    lifetime: Lifetime,
    /// No operation ran yet.
    first: AtomicBool,
    /// Every read is an error.
    unreadable: bool,
    durable: bool,
    max_commit_time: Option<Duration>,
}

/// Begins a transaction.
pub(super) fn begin(backend: &NativeBackend, options: &TransactionOptions) -> Outcomes<NativeTransaction> {
    if let Some(concern) = options.write_concern {
        concern::check(concern, backend.name, "transactions")?;
    }
    if let Some(level) = options.read_concern {
        concern::check_level(level)?;
    }
    let overlay = backend.engine.begin()?;
    let state = Arc::new(Mutex::new(State::Running(Box::new(overlay))));
    Ok(NativeTransaction {
        engine: backend.engine.clone(),
        cursors: backend.cursors.clone(),
        name: backend.name,
        lifetime: backend.lifetimes.begin(&state),
        state,
        first: AtomicBool::new(true),
        unreadable: options
            .read_preference
            .is_some_and(|preference| preference != ReadPreference::Primary),
        durable: options
            .write_concern
            .and_then(|concern| concern.wants_journal())
            .unwrap_or(backend.journaled),
        max_commit_time: options.max_commit_time,
    })
}

#[derive(Debug)]
pub(super) enum State {
    Running(Box<Overlay>),
    /// Under way or done: whoever asks again is told the same, as also when the one who asked first has gone away.
    Committing(Shared<BoxFuture<'static, Outcomes<()>>>),
    /// An operation failed, or the program gave up.
    Aborted,
}

impl fmt::Debug for NativeTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NativeTransaction")
    }
}

impl Backend for NativeTransaction {
    fn name(&self) -> &'static str {
        self.name
    }

    fn capabilities(&self) -> Capabilities {
        capabilities(self.name)
    }

    fn execute(&self, operation: Operation) -> BoxFuture<'_, Result<Response>> {
        let (name, namespace) = (operation.name(), operation.namespace().map(ToString::to_string));
        let outcome = self
            .run(operation)
            .map_err(|fault| located(fault, self.name, name, namespace));
        Box::pin(std::future::ready(outcome))
    }

    fn measure(&self, operation: Operation) -> BoxFuture<'_, (Result<Response>, Option<Footprint>)> {
        let tally = Arc::<Tally>::default();
        let mut execute = tally::within(Some(tally.clone()), || self.execute(operation));
        Box::pin(async move {
            let executed =
                poll_fn(|context| tally::within(Some(tally.clone()), || execute.as_mut().poll(context)));
            let response = executed
                .await
                .map(|response| footprint::followed(response, &tally));
            (response, Some(footprint::of(&tally)))
        })
    }

    fn connection(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(self.cursors.clone())
    }

    fn begin(&self, _options: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>> {
        let error = Error::new(ErrorKind::Unsupported, "transactions do not nest").with_backend(self.name);
        Box::pin(std::future::ready(Err(error)))
    }
}

impl NativeTransaction {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // A panic while the state was held leaves a transaction that can only be aborted, which is what is done.
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The commit of the transaction, which is begun where it is not yet.
    fn committing(&self) -> Shared<BoxFuture<'static, Outcomes<()>>> {
        let mut state = self.state();
        if self.lifetime.is_over() && matches!(&*state, State::Running(_)) {
            *state = State::Aborted;
        }
        let overlay = match std::mem::replace(&mut *state, State::Aborted) {
            State::Running(overlay) => overlay,
            State::Committing(committing) => {
                *state = State::Committing(committing.clone());
                return committing;
            }
            State::Aborted => return ready(Err(over())).boxed().shared(),
        };
        let until = self
            .max_commit_time
            .and_then(|time| Instant::now().checked_add(time));
        let options = CommitOptions {
            durable: self.durable,
            until,
        };
        let committing = self.engine.commit(*overlay, options).boxed().shared();
        *state = State::Committing(committing.clone());
        committing
    }

    /// Runs one operation on the overlay; any failure aborts the transaction, as on the server.
    fn run(&self, mut operation: Operation) -> Outcomes<Response> {
        // Nobody estimates in a transaction.
        if let Operation::Count(count) = &mut operation {
            count.estimated = false;
        }
        let mut state = self.state();
        if self.lifetime.is_over() && matches!(&*state, State::Running(_)) {
            *state = State::Aborted;
        }
        refuse(&operation, self.first.load(Ordering::Relaxed), self.unreadable)?;
        self.first.store(false, Ordering::Relaxed);
        let State::Running(overlay) = &mut *state else {
            return Err(over());
        };
        let outcome = run_in(overlay, operation, self);
        if !matches!(&outcome, Ok((_, true))) {
            *state = State::Aborted;
        }
        outcome.map(|(response, _)| response)
    }
}

/// Refuses what does not run in a transaction. As on the server, such a refusal leaves the transaction as it is.
fn refuse(operation: &Operation, first: bool, unreadable: bool) -> Outcomes<()> {
    let name = match operation {
        Operation::RunCommand(own) => {
            let has = |name: &str| own.command.get(name).is_ok_and(|found| found.is_some());
            if has("writeConcern") {
                return Err(Fault::new(
                    code::INVALID_OPTIONS,
                    "writeConcern is not allowed within a multi-statement transaction",
                ));
            }
            if has("readConcern") && !first {
                return Err(Fault::new(
                    code::INVALID_OPTIONS,
                    "Only the first command in a transaction may specify a readConcern",
                ));
            }
            match own.command.iter().next() {
                Some(Ok((name, _))) => name.as_str(),
                _ => return Ok(()),
            }
        }
        // A count is made of a pipeline; a bulk write of the writes that it holds.
        Operation::Count(_) => "aggregate",
        Operation::BulkWrite(_) => "update",
        // These have their own words.
        Operation::Watch(_)
        | Operation::Check(_)
        | Operation::Repair(_)
        | Operation::Backup(_)
        | Operation::Compact(_)
        | Operation::Flush(_)
        | Operation::MeasureStore(_) => return Ok(()),
        other => other.name(),
    };
    command::refuse_in_transaction(name)?;
    if unreadable && command::reads(name) {
        return Err(Fault::new(
            code::BAD_VALUE,
            "read preference in a transaction must be primary",
        ));
    }
    Ok(())
}

/// The fault of using a transaction that has ended.
fn over() -> Fault {
    Fault::new(
        code::NO_SUCH_TRANSACTION,
        "the transaction has been aborted or committed",
    )
    .labelled("TransientTransactionError")
}

/// Runs an operation on the overlay; its answer, and whether all of it succeeded.
fn run_in(
    overlay: &mut Overlay,
    operation: Operation,
    own: &NativeTransaction,
) -> Outcomes<(Response, bool)> {
    let response = match request::prepare(operation, own.name)? {
        Request::Find(find) if find.tail.is_some() => {
            return Err(Fault::new(
                code::INVALID_OPTIONS,
                "It is illegal to open a tailable cursor in a transaction",
            ));
        }
        Request::Aggregate(aggregate) => {
            let mut cursor = AggregateCursor::open(overlay, &aggregate)?;
            let mut batches = Vec::new();
            while let Some(batch) = cursor.next_batch(overlay)? {
                batches.push(batch);
            }
            Response::Cursor(Box::new(GatheredCursor(batches.into_iter())))
        }
        Request::Output(_, target, _) => return Err(refuse_output(&target)),
        Request::Find(find) => {
            // The overlay changes under a cursor, so that its documents are gathered at once.
            let mut cursor = FindCursor::open(overlay, find)?;
            let mut batches = Vec::new();
            while let Some(batch) = cursor.next_batch(overlay)? {
                batches.push(batch);
            }
            Response::Cursor(Box::new(GatheredCursor(batches.into_iter())))
        }
        Request::Read(read) => read(overlay)?,
        Request::Batch(batch) => {
            let mut outcome = Outcome::default();
            batch::run(overlay, &batch, 0, &mut outcome)?;
            let well = outcome.errors.is_empty();
            return Ok((
                Response::Write(written(outcome, &batch.statements, own.name)),
                well,
            ));
        }
        Request::Write(mut job) => job(overlay)?,
        // A transaction has the write concern of its commit.
        Request::Command(Job::Batch(batch, verb), _) => {
            let mut outcome = Outcome::default();
            batch::run(overlay, &batch, 0, &mut outcome)?;
            let reply = super::replied(command::written(verb, &outcome))?;
            return Ok((reply, outcome.errors.is_empty()));
        }
        Request::Command(job, _) => command_in(overlay, job, &own.cursors).and_then(super::replied)?,
        Request::Watch(..) => return Err(refuse_watching()),
        Request::Check(_) => return Err(Fault::unsupported("check does not run inside a transaction")),
        Request::Maintenance(_) => {
            return Err(Fault::unsupported(
                "the store is not maintained inside a transaction",
            ));
        }
    };
    Ok((response, true))
}

fn refuse_output(target: &Target) -> Fault {
    let text = match target {
        Target::Out(_) => "$out cannot be used in a transaction",
        Target::Merge(_) => "$merge cannot be used in a transaction",
    };
    Fault::new(code::OPERATION_NOT_SUPPORTED_IN_TRANSACTION, text)
}

fn refuse_watching() -> Fault {
    Fault::new(
        code::OPERATION_NOT_SUPPORTED_IN_TRANSACTION,
        "Operation not permitted in transaction :: caused by :: Aggregation stage $changeStream cannot run within a \
         multi-document transaction.",
    )
}

/// Runs a command on the overlay; its reply.
fn command_in(overlay: &mut Overlay, job: Job, cursors: &Cursors) -> Outcomes<Vec<u8>> {
    match job {
        Job::Reply(reply) => Ok(reply),
        Job::Read(read) => read(overlay),
        Job::Open(open) => {
            let opened = open(overlay)?;
            cursors.answer(opened, overlay, None)
        }
        Job::Watch(_) => Err(refuse_watching()),
        // Nobody commits to what it reads.
        Job::More(asked) => {
            let mut cursor = cursors.take(asked)?;
            match cursor.next(Some(overlay))? {
                Some(reply) => Ok(reply),
                None => cursor.nothing(),
            }
        }
        Job::Kill { ids } => Ok(cursors.kill(&ids)),
        Job::Batch(batch, verb) => {
            let mut outcome = Outcome::default();
            batch::run(overlay, &batch, 0, &mut outcome)?;
            Ok(command::written(verb, &outcome))
        }
        Job::Write(mut job) => job(overlay),
        Job::Output(_, target, _) => Err(refuse_output(&target)),
    }
}

impl Transaction for NativeTransaction {
    fn commit(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let committed = self.committing().await;
            committed.map_err(|fault| translate(fault, self.name).with_operation("commitTransaction"))
        })
    }

    fn abort(&self) -> BoxFuture<'_, ()> {
        let mut state = self.state();
        if matches!(&*state, State::Running(_)) {
            *state = State::Aborted;
        }
        Box::pin(std::future::ready(()))
    }
}
