//! The engine behind the seam: operations become requests, faults become errors.

mod cursor;
mod expiry;
mod maintenance;
mod request;
mod response;
mod transaction;
mod watch;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_core::future::BoxFuture;

use self::cursor::{FollowingCursor, GatheredCursor, PipelineCursor, ViewCursor};
use self::request::Request;
use self::response::{located, translate, written};
use self::transaction::{NativeTransaction, State};
use self::watch::ChangeCursor;
use super::command::{self, Cursors, Job};
use super::engine::{ChangeWindow, Durability, Engine, EngineOptions, Location};
use super::exec::aggregate::{self, AggregateCursor, AggregateRequest};
use super::exec::batch;
use super::exec::cursor::FindCursor;
use super::exec::output::Target;
use super::exec::statement::{Batch as WriteBatch, Outcome};
use super::exec::tail::TailCursor;
use super::exec::watch::WatchCursor;
use super::fault::Result as Outcomes;
use super::storage::Write;
use super::storage::file::FILE_NAME;
use super::update::Now;
use crate::backend::{Backend, Capabilities, Operation, Response, Transaction, TransactionOptions};
use crate::db;
use crate::error::{Error, ErrorKind, Result};

/// The engine behind the seam.
struct NativeBackend {
    engine: Arc<Engine>,
    cursors: Arc<Cursors>,
    name: &'static str,
    _expiry: expiry::Running,
}

impl fmt::Debug for NativeBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NativeBackend({})", self.name)
    }
}

/// Opens an empty database in memory.
pub(crate) fn open_memory(expiry: Duration, changes: db::ChangeLog) -> Result<Arc<dyn Backend>> {
    open(Location::Memory, "memory", Durability::None, expiry, changes)
}

/// Opens, or creates, the database in a directory.
pub(crate) fn open_directory(
    path: &Path,
    durability: db::Durability,
    create: bool,
    expiry: Duration,
    changes: db::ChangeLog,
) -> Result<Arc<dyn Backend>> {
    if !create && !path.join(FILE_NAME).exists() {
        let text = format!("there is no database in {}", path.display());
        return Err(Error::new(ErrorKind::NotFound, text).with_backend("native"));
    }
    let durability = match durability {
        db::Durability::Immediate => Durability::Immediate,
        db::Durability::Interval(time) => Durability::Interval(time),
        db::Durability::None => Durability::None,
    };
    open(
        Location::Directory(path.to_owned()),
        "native",
        durability,
        expiry,
        changes,
    )
}

fn open(
    location: Location,
    name: &'static str,
    durability: Durability,
    expiry: Duration,
    changes: db::ChangeLog,
) -> Result<Arc<dyn Backend>> {
    let changes = ChangeWindow {
        enabled: !changes.is_off(),
        bytes: changes.kept_bytes(),
        age: changes.kept_age(),
    };
    let engine = Engine::open(
        location,
        EngineOptions {
            durability,
            changes,
            ..EngineOptions::default()
        },
    )
    .map_err(|fault| translate(fault, name))?;
    let engine = Arc::new(engine);
    let _expiry = expiry::start(&engine, expiry);
    Ok(Arc::new(NativeBackend {
        engine,
        cursors: Arc::default(),
        name,
        _expiry,
    }))
}

impl Backend for NativeBackend {
    fn name(&self) -> &'static str {
        self.name
    }

    fn capabilities(&self) -> Capabilities {
        capabilities(self.name)
    }

    fn execute(&self, operation: Operation) -> BoxFuture<'_, Result<Response>> {
        Box::pin(async move {
            let (name, namespace) = (operation.name(), operation.namespace().map(ToString::to_string));
            self.run(operation)
                .await
                .map_err(|fault| located(fault, self.name, name, namespace))
        })
    }

    fn begin(&self, _options: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>> {
        Box::pin(async move {
            let overlay = self.engine.begin().map_err(|fault| translate(fault, self.name))?;
            let state = Mutex::new(State::Running(Box::new(overlay)));
            let transaction = NativeTransaction {
                engine: self.engine.clone(),
                cursors: self.cursors.clone(),
                name: self.name,
                state,
            };
            Ok(Arc::new(transaction) as Arc<dyn Transaction>)
        })
    }
}

impl NativeBackend {
    async fn run(&self, operation: Operation) -> Outcomes<Response> {
        match request::prepare(operation, self.name)? {
            Request::Find(find) if find.tail.is_some() => {
                let cursor = TailCursor::open(&*self.engine.view()?, find)?;
                Ok(Response::Cursor(Box::new(FollowingCursor {
                    engine: self.engine.clone(),
                    cursor,
                    name: self.name,
                })))
            }
            Request::Aggregate(aggregate) => {
                let view = self.engine.view()?;
                let cursor = AggregateCursor::open(&*view, &aggregate)?;
                Ok(Response::Cursor(Box::new(PipelineCursor {
                    view,
                    cursor,
                    name: self.name,
                })))
            }
            Request::Output(aggregate, target, now) => {
                self.output(&aggregate, target, now).await?;
                Ok(Response::Cursor(Box::new(GatheredCursor(Vec::new().into_iter()))))
            }
            Request::Find(find) => {
                let view = self.engine.view()?;
                let cursor = FindCursor::open(&*view, find)?;
                Ok(Response::Cursor(Box::new(ViewCursor {
                    view,
                    cursor,
                    name: self.name,
                })))
            }
            Request::Read(read) => read(&*self.engine.view()?),
            Request::Batch(batch) => {
                let outcome = self.run_batch(Arc::new(batch)).await?;
                Ok(Response::Write(written(outcome, self.name)))
            }
            Request::Write(mut job) => self.engine.write(move |write| job(write)).await,
            Request::Watch(watch, patience) => {
                self.engine.begin_log().await?;
                let cursor = WatchCursor::open(&*self.engine.view()?, *watch)?;
                Ok(Response::Cursor(Box::new(ChangeCursor::new(
                    self.engine.clone(),
                    cursor,
                    patience,
                    self.name,
                ))))
            }
            Request::Check(database) => maintenance::check(self.engine.clone(), database).await,
            Request::Maintenance(asked) => asked.run(self.engine.clone(), self.cursors.clone()).await,
            Request::Command(job) => self.command(job).await.and_then(replied),
        }
    }

    /// Runs a command; its reply.
    async fn command(&self, job: Job) -> Outcomes<Vec<u8>> {
        match job {
            Job::Reply(reply) => Ok(reply),
            Job::Read(read) => read(&*self.engine.view()?),
            Job::Open(open) => {
                let view = self.engine.view()?;
                let opened = open(&*view)?;
                self.cursors.answer(opened, &*view, Some(view.clone()))
            }
            Job::More { id, ns, batch_size } => self.cursors.more(id, &ns, batch_size),
            Job::Kill { ids, ns } => Ok(self.cursors.kill(&ids, &ns)),
            Job::Batch(batch, verb) => {
                let outcome = self.run_batch(Arc::new(batch)).await?;
                Ok(command::written(verb, &outcome))
            }
            Job::Write(mut job) => self.engine.write(move |write| job(write)).await,
            Job::Output(aggregate, target, now) => {
                self.output(&aggregate, target, now).await?;
                Ok(command::written_out(&aggregate.namespace.to_string()))
            }
        }
    }

    /// Runs a pipeline and writes what it gives.
    async fn output(&self, aggregate: &AggregateRequest, target: Target, now: Now) -> Outcomes<()> {
        let rows = {
            let view = self.engine.view()?;
            target.check(&*view)?;
            aggregate::rows(&*view, aggregate)?
        };
        let job = move |write: &mut dyn Write| target.run(write, &rows, now);
        self.engine.write(job).await?
    }

    /// Runs statements; where a running transaction is in the way of one, those before it are committed and it is
    /// run again when the transaction has ended.
    async fn run_batch(&self, batch: Arc<WriteBatch>) -> Outcomes<Outcome> {
        let mut total = Outcome::default();
        let mut start = 0;
        loop {
            let own = batch.clone();
            let job = self.engine.write(move |write| {
                let mut outcome = Outcome::default();
                let next = batch::run(write, &own, start, &mut outcome)?;
                Ok((outcome, next))
            });
            let (outcome, next) = job.await?;
            total.absorb(outcome);
            start = next;
            if start >= batch.statements.len() {
                return Ok(total);
            }
        }
    }
}

/// A command's reply as the seam's answer.
fn replied(reply: Vec<u8>) -> Outcomes<Response> {
    request::document(reply).map(|reply| Response::Document(Some(reply)))
}

/// What a backend of this name can do.
fn capabilities(name: &'static str) -> Capabilities {
    Capabilities {
        transactions: true,
        change_streams: true,
        hashed_indexes: true,
        aggregation: true,
        commands: true,
        persistent: name == "native",
        maintenance: true,
        compaction: name == "native",
        ..Capabilities::minimal()
    }
}
