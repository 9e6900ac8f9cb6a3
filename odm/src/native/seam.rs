//! The engine behind the seam: operations become requests, faults become errors.

mod concern;
mod cursor;
mod expiry;
mod footprint;
mod lifetime;
mod maintenance;
mod request;
mod response;
mod snapshot;
mod transaction;
mod wait;
mod watch;

use std::any::Any;
use std::fmt;
use std::future::poll_fn;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_core::future::BoxFuture;

use self::cursor::{FollowingCursor, GatheredCursor, PipelineCursor, Single, SingleCursor, ViewCursor};
use self::lifetime::Lifetimes;
use self::request::Request;
use self::response::{located, translate, written};
use self::snapshot::Snapshot;
use self::wait::comes;
use self::watch::ChangeCursor;
use super::command::{self, Cursors, Job, More};
use super::engine::{ChangeWindow, Durability, Engine, EngineOptions, Location, View};
use super::exec::aggregate::{self, AggregateCursor, AggregateRequest};
use super::exec::by_id::{self, ById};
use super::exec::cursor::{FindCursor, FindRequest};
use super::exec::output::Target;
use super::exec::statement::{Batch as WriteBatch, Outcome};
use super::exec::tail::TailCursor;
use super::exec::watch::{WatchCursor, WatchRequest};
use super::exec::{self, batch};
use super::fault::Result as Outcomes;
use super::storage::Write;
use super::storage::file::FILE_NAME;
use super::tally::{self, Tally};
use super::update::Now;
use crate::backend::{
    Backend, Capabilities, Concerns, Footprint, Operation, Response, Session, Transaction,
    TransactionOptions, WriteConcern,
};
use crate::clock::Sleep;
use crate::db;
use crate::error::{Error, ErrorKind, Result};

/// The engine behind the seam.
#[derive(Clone)]
struct NativeBackend {
    engine: Arc<Engine>,
    cursors: Arc<Cursors>,
    name: &'static str,
    lifetimes: Arc<Lifetimes>,
    /// Every write is on the disk before it is acknowledged.
    journaled: bool,
    /// The last of the fields: its end is waited for when the engine is to be closed.
    _expiry: Arc<expiry::Running>,
}

/// How an engine is opened, as far as both places have it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    /// How often expired documents are looked for.
    pub(crate) expiry: Duration,
    /// The most bytes that cached pages of the file take.
    pub(crate) cache_bytes: usize,
    /// How long a transaction may run.
    pub(crate) transaction_lifetime: Duration,
    /// Whether nothing is to be written.
    pub(crate) read_only: bool,
    pub(crate) changes: db::ChangeLog,
    /// Is told of what fails where nobody waits for it.
    pub(crate) warn: fn(&Error),
}

impl fmt::Debug for NativeBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NativeBackend({})", self.name)
    }
}

/// Opens an empty database in memory.
pub(crate) fn open_memory(opening: Opening) -> Result<Arc<dyn Backend>> {
    open(Location::Memory, "memory", Durability::None, opening).map(shared)
}

/// Opens, or creates, the database in a directory.
pub(crate) fn open_directory(
    path: &Path,
    durability: db::Durability,
    create: bool,
    opening: Opening,
) -> Result<Arc<dyn Backend>> {
    if (!create || opening.read_only) && !path.join(FILE_NAME).exists() {
        let text = format!("there is no database in {}", path.display());
        return Err(Error::new(ErrorKind::NotFound, text).with_backend("native"));
    }
    let durability = match durability {
        db::Durability::Immediate => Durability::Immediate,
        db::Durability::Interval(time) => Durability::Interval(time),
        db::Durability::None => Durability::None,
    };
    let location = match opening.read_only {
        true => Location::Reading(path.to_owned()),
        false => Location::Directory(path.to_owned()),
    };
    open(location, "native", durability, opening).map(shared)
}

fn shared(backend: NativeBackend) -> Arc<dyn Backend> {
    Arc::new(backend)
}

fn open(
    location: Location,
    name: &'static str,
    durability: Durability,
    opening: Opening,
) -> Result<NativeBackend> {
    let changes = ChangeWindow {
        enabled: !opening.changes.is_off(),
        bytes: opening.changes.kept_bytes(),
        age: opening.changes.kept_age(),
    };
    let engine = Engine::open(
        location,
        EngineOptions {
            durability,
            cache_bytes: opening.cache_bytes,
            changes,
        },
    )
    .map_err(|fault| translate(fault, name))?;
    let cursors = Arc::default();
    let expiry = (opening.expiry, opening.warn, name);
    let _expiry = Arc::new(expiry::start(&engine, &cursors, expiry));
    Ok(NativeBackend {
        engine: Arc::new(engine),
        cursors,
        name,
        lifetimes: Lifetimes::new(opening.transaction_lifetime),
        journaled: false,
        _expiry,
    })
}

impl Backend for NativeBackend {
    fn name(&self) -> &'static str {
        self.name
    }

    fn capabilities(&self) -> Capabilities {
        capabilities(self.name)
    }

    fn execute(&self, operation: Operation) -> BoxFuture<'_, Result<Response>> {
        let found = match self.find_by_id(&operation) {
            Ok(None) => return self.in_full(operation),
            Ok(Some(found)) => Ok(found),
            Err(fault) => {
                let namespace = operation.namespace().map(ToString::to_string);
                Err(located(fault, self.name, operation.name(), namespace))
            }
        };
        done(found)
    }

    fn measure(&self, operation: Operation) -> BoxFuture<'_, (Result<Response>, Option<Footprint>)> {
        let tally = Arc::<Tally>::default();
        // A read may be done when this returns.
        let mut execute = tally::within(Some(tally.clone()), || self.in_full(operation));
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

    fn concerns(&self) -> Concerns {
        let journaled = || WriteConcern::majority().journal(true);
        Concerns {
            write_concern: self.journaled.then(journaled),
            ..Concerns::default()
        }
    }

    fn concerned(&self, concerns: Concerns) -> Result<Option<Arc<dyn Backend>>> {
        let Some(concern) = concerns.write_concern else {
            return Ok(None);
        };
        concern::check(concern, self.name, "handles").map_err(|fault| translate(fault, self.name))?;
        let concerned = self.acknowledging(concern.wants_journal());
        Ok(concerned.map(|concerned| Arc::new(concerned) as Arc<dyn Backend>))
    }

    fn session(&self) -> BoxFuture<'_, Result<Option<Arc<dyn Session>>>> {
        // One member, whose writes are seen by every read behind them.
        Box::pin(std::future::ready(Ok(None)))
    }

    fn snapshot<'a>(&'a self, _database: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Backend>>>> {
        let view = self.engine.view().map_err(|fault| translate(fault, self.name));
        let snapshot = view.map(|view| {
            Some(Arc::new(Snapshot::new(view, self.cursors.clone(), self.name)) as Arc<dyn Backend>)
        });
        Box::pin(std::future::ready(snapshot))
    }

    fn begin(&self, options: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>> {
        Box::pin(async move {
            transaction::begin(self, &options)
                .map(|transaction| Arc::new(transaction) as Arc<dyn Transaction>)
                .map_err(|fault| translate(fault, self.name).with_operation("startTransaction"))
        })
    }
}

impl NativeBackend {
    /// Runs an operation. What only reads waits for nothing, so that it is done when this returns; the future of
    /// anything else has room for what it needs alone.
    fn in_full(&self, operation: Operation) -> BoxFuture<'_, Result<Response>> {
        let (name, namespace) = (operation.name(), operation.namespace().map(ToString::to_string));
        let limit = request::max_time(&operation).and_then(exec::after);
        let locate = move |fault| located(fault, self.name, name, namespace);
        let request = match request::prepare(operation, self.name) {
            Ok(request) => request,
            Err(fault) => return done(Err(locate(fault))),
        };
        match request {
            Request::Find(find) => done(self.find(find).map_err(locate)),
            Request::Aggregate(aggregate) => done(self.aggregate(&aggregate).map_err(locate)),
            Request::Read(read) => {
                let read = self.engine.view().and_then(|view| read(&*view));
                done(read.map_err(locate))
            }
            Request::Output(aggregate, target, now) => Box::pin(async move {
                self.output(&aggregate, target, now).await.map_err(locate)?;
                Ok(Response::Cursor(Box::new(GatheredCursor(Vec::new().into_iter()))))
            }),
            Request::Batch(batch) => Box::pin(async move {
                let batch = Arc::new(batch);
                let outcome = self.run_batch(batch.clone(), limit).await.map_err(locate)?;
                Ok(Response::Write(written(outcome, &batch.statements, self.name)))
            }),
            Request::Write(mut job) => Box::pin(async move {
                let written = self.write(move |write| job(write), limit).await;
                written.map_err(locate)
            }),
            Request::Watch(watch, patience) => {
                Box::pin(async move { self.watch(*watch, patience).await.map_err(locate) })
            }
            Request::Check(database) => Box::pin(async move {
                let checked = maintenance::check(self.engine.clone(), database).await;
                checked.map_err(locate)
            }),
            Request::Maintenance(asked) => Box::pin(async move {
                let run = asked.run(self.engine.clone(), self.cursors.clone()).await;
                run.map_err(locate)
            }),
            Request::Command(job, concern) => Box::pin(async move {
                let reply = match self.as_asked(concern.journaled) {
                    None => self.command(job, limit).await,
                    Some(own) => own.command(job, limit).await,
                };
                let reply = reply.and_then(|reply| replied(concern.apply(reply)));
                reply.map_err(locate)
            }),
        }
    }

    /// The same, whose writes are acknowledged when they are on the disk, or as the database was opened; none where they
    /// are already.
    fn acknowledging(&self, journaled: Option<bool>) -> Option<NativeBackend> {
        let journaled = journaled.filter(|journaled| *journaled != self.journaled)?;
        Some(NativeBackend {
            engine: Arc::new(self.engine.acknowledging(journaled)),
            journaled,
            ..self.clone()
        })
    }

    /// The same as the concern of a command asks. In memory there is no journal to wait for, as in a server's engine of
    /// that name.
    fn as_asked(&self, journaled: Option<bool>) -> Option<NativeBackend> {
        self.acknowledging(journaled.filter(|_| concern::has_journal(self.name)))
    }

    fn find(&self, find: FindRequest) -> Outcomes<Response> {
        let view = self.engine.view()?;
        if find.tail.is_some() {
            let cursor = TailCursor::open(&*view, find)?;
            return Ok(Response::Cursor(Box::new(FollowingCursor {
                engine: self.engine.clone(),
                cursor,
                name: self.name,
            })));
        }
        found(view, find, self.name)
    }

    fn aggregate(&self, aggregate: &AggregateRequest) -> Outcomes<Response> {
        aggregated(self.engine.view()?, aggregate, self.name)
    }

    async fn watch(&self, watch: WatchRequest, patience: Duration) -> Outcomes<Response> {
        self.engine.begin_log().await?;
        let cursor = WatchCursor::open(&*self.engine.view()?, watch)?;
        Ok(Response::Cursor(Box::new(ChangeCursor::new(
            self.engine.clone(),
            cursor,
            patience,
            self.name,
        ))))
    }

    /// The answer to a find by `_id` and nothing else, where that takes no plan.
    fn find_by_id(&self, operation: &Operation) -> Outcomes<Option<Response>> {
        let Operation::Find(find) = operation else {
            return Ok(None);
        };
        let Some(id) = request::asked_by_id(find)? else {
            return Ok(None);
        };
        let (database, collection) = (&find.namespace.database, &find.namespace.collection);
        let found = match by_id::find(
            &*self.engine.view()?,
            self.engine.places(),
            (database, collection),
            &id,
        )? {
            ById::Found(document) => Some(Single(document)),
            ById::Missing => None,
            ById::Unknown => return Ok(None),
        };
        Ok(Some(Response::Cursor(Box::new(SingleCursor(found)))))
    }

    /// Runs a job, unless it has to wait for longer than it may.
    async fn write<T, F>(&self, job: F, limit: Option<Instant>) -> Outcomes<T>
    where
        T: Send + 'static,
        F: FnMut(&mut dyn Write) -> Outcomes<T> + Send + 'static,
    {
        // The job may run on another thread.
        let tally = tally::current();
        let mut job = job;
        let job = move |write: &mut dyn Write| tally::within(tally.clone(), || job(write));
        match limit {
            None => self.engine.write(job).await,
            Some(until) => self.engine.write_until(job, Sleep::until(until)).await,
        }
    }

    /// Runs a command; its reply.
    async fn command(&self, job: Job, limit: Option<Instant>) -> Outcomes<Vec<u8>> {
        match job {
            Job::Reply(reply) => Ok(reply),
            Job::Read(read) => read(&*self.engine.view()?),
            Job::Open(open) => {
                let view = self.engine.view()?;
                let opened = open(&*view)?;
                self.cursors.answer(opened, &*view, Some(view.clone()))
            }
            Job::Watch(watching) => {
                watching.check(&*self.engine.view()?)?;
                self.engine.begin_log().await?;
                let view = self.engine.view()?;
                let opened = watching.open(&*view)?;
                self.cursors.answer(opened, &*view, Some(view.clone()))
            }
            Job::More(asked) => self.more(asked, limit).await,
            Job::Kill { ids } => Ok(self.cursors.kill(&ids)),
            Job::Batch(batch, verb) => {
                let outcome = self.run_batch(Arc::new(batch), limit).await?;
                Ok(command::written(verb, &outcome))
            }
            Job::Write(mut job) => self.write(move |write| job(write), limit).await,
            Job::Output(aggregate, target, now) => {
                self.output(&aggregate, target, now).await?;
                Ok(command::written_out(&aggregate.namespace.to_string()))
            }
        }
    }

    /// The next batch of a cursor; one that follows a collection may wait for it.
    async fn more(&self, asked: More, limit: Option<Instant>) -> Outcomes<Vec<u8>> {
        let mut cursor = self.cursors.take(asked)?;
        // Too far away to be counted is forever.
        let own = Instant::now().checked_add(cursor.patience());
        let until = own.into_iter().chain(limit).min();
        loop {
            let (commit, newest) = match cursor.follows() {
                // Taken before the view: a commit between the two is noticed.
                true => (Some(self.engine.next_commit()), Some(self.engine.view()?)),
                false => (None, None),
            };
            if let Some(reply) = cursor.next(newest.as_deref().map(|view| view as _))? {
                return Ok(reply);
            }
            drop(newest);
            let came = match commit {
                Some(commit) => comes(commit, until).await,
                None => false,
            };
            if !came {
                return cursor.nothing();
            }
        }
    }

    /// Runs a pipeline and writes what it gives.
    async fn output(&self, aggregate: &AggregateRequest, target: Target, now: Now) -> Outcomes<()> {
        let (rows, collation, variables) = {
            let view = self.engine.view()?;
            let collation = aggregate.collation(&*view)?;
            target.check(&*view, &collation)?;
            let variables = aggregate.by_default(&*view)?.variables.clone();
            (aggregate::rows(&*view, aggregate)?, collation, variables)
        };
        let unvalidated = aggregate.unvalidated;
        let job =
            move |write: &mut dyn Write| target.run(write, &rows, now, unvalidated, &collation, &variables);
        self.engine.write(job).await?
    }

    /// Runs statements; where a running transaction is in the way of one, those before it are committed and it is
    /// run again when the transaction has ended.
    async fn run_batch(&self, batch: Arc<WriteBatch>, limit: Option<Instant>) -> Outcomes<Outcome> {
        let mut total = Outcome::default();
        let mut start = 0;
        loop {
            let own = batch.clone();
            let job = move |write: &mut dyn Write| {
                let mut outcome = Outcome::default();
                let next = batch::run(write, &own, start, &mut outcome)?;
                Ok((outcome, next))
            };
            let job = self.write(job, limit);
            let (outcome, next) = job.await?;
            total.absorb(outcome);
            start = next;
            if start >= batch.statements.len() {
                return Ok(total);
            }
        }
    }
}

/// Opens a find's cursor over a view.
fn found(view: Arc<View>, find: FindRequest, name: &'static str) -> Outcomes<Response> {
    let cursor = FindCursor::open(&*view, find)?;
    Ok(Response::Cursor(Box::new(ViewCursor { view, cursor, name })))
}

/// Opens a pipeline's cursor over a view.
fn aggregated(view: Arc<View>, aggregate: &AggregateRequest, name: &'static str) -> Outcomes<Response> {
    let cursor = AggregateCursor::open(&*view, aggregate)?;
    Ok(Response::Cursor(Box::new(PipelineCursor { view, cursor, name })))
}

fn done<'a>(result: Result<Response>) -> BoxFuture<'a, Result<Response>> {
    Box::pin(std::future::ready(result))
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
        text_indexes: true,
        hashed_indexes: true,
        aggregation: true,
        commands: true,
        persistent: name == "native",
        maintenance: true,
        compaction: name == "native",
        lasting_snapshots: true,
        ..Capabilities::minimal()
    }
}
