//! What the writer runs: single operations and commits of transactions.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use futures_channel::oneshot;

use super::claims::Claim;
use super::transaction::Overlay;
use super::view::panic_text;
use super::writer::Writer;
use crate::native::fault::{Class, Fault, Result, code};
use crate::native::storage::Write;

/// How a job ended on the writer, before the commit.
pub(super) enum Ran {
    /// Its writes are to be committed.
    Done,
    /// Its writes are to be forgotten.
    Failed,
    /// A running transaction holds what it needs.
    Blocked(Claim),
}

/// A job in the queue.
pub(super) trait Job: Send {
    /// Runs the job; keeps its result. Does not panic.
    fn run(&mut self, writer: &mut Writer<'_>) -> Ran;

    /// Tells whoever waits. An error of the commit takes the place of any result: the result may rest on
    /// what was not committed.
    fn complete(self: Box<Self>, committed: Result<(), &Fault>);

    /// Whether nobody waits any more.
    fn is_abandoned(&self) -> bool;

    /// Whether the commit that it is part of must be on the disk, whatever the engine's durability.
    fn must_be_durable(&self) -> bool {
        false
    }
}

/// A single operation's job.
pub(super) struct Typed<T, F> {
    job: F,
    patience: Option<Arc<Patience>>,
    durable: bool,
    result: Option<Result<T>>,
    sender: Option<oneshot::Sender<Result<T>>>,
}

/// Whether a job may still be given up: between whoever waits for it and the writer.
#[derive(Debug, Default)]
pub(super) struct Patience(AtomicU8);

const WAITING: u8 = 0;
const RUNNING: u8 = 1;
const GIVEN_UP: u8 = 2;

impl Patience {
    /// The writer takes the job up; `false` when it was given up.
    fn begin(&self) -> bool {
        self.change(WAITING, RUNNING)
    }

    /// The job has to wait again.
    fn wait(&self) {
        self.change(RUNNING, WAITING);
    }

    /// Gives the job up; `false` when it runs, or ran.
    pub(super) fn give_up(&self) -> bool {
        self.change(WAITING, GIVEN_UP)
    }

    fn change(&self, from: u8, to: u8) -> bool {
        let changed = self
            .0
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
        changed.is_ok()
    }
}

/// How far a job came when it was started.
pub(super) enum Started<T> {
    Done(Result<T>),
    Waiting(oneshot::Receiver<Result<T>>),
}

impl<T, F> Typed<T, F> {
    pub(super) fn new(job: F) -> Typed<T, F> {
        Typed {
            job,
            patience: None,
            durable: false,
            result: None,
            sender: None,
        }
    }

    /// Lets whoever waits give the job up while it does not run.
    pub(super) fn with_patience(self, patience: Option<Arc<Patience>>) -> Typed<T, F> {
        Typed { patience, ..self }
    }

    /// Whether its commit is to be on the disk, whatever the engine's durability.
    pub(super) fn durable(self, durable: bool) -> Typed<T, F> {
        Typed { durable, ..self }
    }

    /// Where the result will come out.
    pub(super) fn channel(&mut self) -> oneshot::Receiver<Result<T>> {
        let (sender, receiver) = oneshot::channel();
        self.sender = Some(sender);
        receiver
    }

    /// The result, once run and committed.
    pub(super) fn finish(&mut self, committed: Result<(), &Fault>) -> Result<T> {
        committed.map_err(Fault::clone)?;
        self.result.take().unwrap_or_else(|| Err(not_run()))
    }
}

impl<T, F> Job for Typed<T, F>
where
    T: Send,
    F: FnMut(&mut dyn Write) -> Result<T> + Send,
{
    fn run(&mut self, writer: &mut Writer<'_>) -> Ran {
        if self.patience.as_ref().is_some_and(|patience| !patience.begin()) {
            return Ran::Failed;
        }
        let result = caught(|| (self.job)(writer));
        if let Err(fault) = &result
            && fault.class() == Class::Blocked
            && let Some(claim) = writer.blocked_on()
        {
            if let Some(patience) = &self.patience {
                patience.wait();
            }
            return Ran::Blocked(claim);
        }
        let ran = if result.is_ok() { Ran::Done } else { Ran::Failed };
        self.result = Some(result);
        ran
    }

    fn complete(mut self: Box<Self>, committed: Result<(), &Fault>) {
        let result = self.finish(committed);
        if let Some(sender) = self.sender.take() {
            // Whoever dropped the receiver does not want to know.
            let _ = sender.send(result);
        }
    }

    fn is_abandoned(&self) -> bool {
        self.sender.as_ref().is_some_and(oneshot::Sender::is_canceled)
    }

    fn must_be_durable(&self) -> bool {
        self.durable
    }
}

/// How a transaction is committed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CommitOptions {
    /// On the disk, whatever the engine's durability.
    pub(crate) durable: bool,
    /// Not when the writer takes it up later than this.
    pub(crate) until: Option<Instant>,
}

/// The commit of a transaction.
pub(super) struct Commit {
    transaction: Overlay,
    options: CommitOptions,
    result: Result<()>,
    sender: oneshot::Sender<Result<()>>,
}

impl Commit {
    pub(super) fn new(
        transaction: Overlay,
        options: CommitOptions,
    ) -> (Commit, oneshot::Receiver<Result<()>>) {
        let (sender, receiver) = oneshot::channel();
        let commit = Commit {
            transaction,
            options,
            result: Err(not_run()),
            sender,
        };
        (commit, receiver)
    }
}

impl Job for Commit {
    fn run(&mut self, writer: &mut Writer<'_>) -> Ran {
        let late = self.options.until.is_some_and(|until| Instant::now() >= until);
        self.result = if late {
            Err(Fault::of(
                Class::Timeout,
                code::MAX_TIME_EXPIRED,
                "operation exceeded time limit",
            ))
        } else {
            caught(|| self.transaction.move_into(writer))
        };
        if self.result.is_ok() {
            Ran::Done
        } else {
            Ran::Failed
        }
    }

    fn complete(self: Box<Self>, committed: Result<(), &Fault>) {
        let Commit {
            transaction,
            result,
            sender,
            ..
        } = *self;
        // Releases the claims, so that whoever is told of the commit finds them free.
        drop(transaction);
        let _ = sender.send(committed.map_err(Fault::clone).and(result));
    }

    fn is_abandoned(&self) -> bool {
        self.sender.is_canceled()
    }

    fn must_be_durable(&self) -> bool {
        self.options.durable
    }
}

fn caught<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        Err(Fault::new(
            code::INTERNAL,
            format!("a write failed with a panic: {}", panic_text(&*panic)),
        ))
    })
}

fn not_run() -> Fault {
    Fault::of(Class::Io, code::INTERNAL, "the write did not run")
}
