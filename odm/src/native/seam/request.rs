//! Operations, checked and parsed into what the engine runs.

mod read;
mod statement;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bson::{RawBson, RawBsonRef, RawDocumentBuf};

pub(super) use self::read::asked_by_id;
use self::read::{aggregate_request, explain_request, find_request, query, variables};
use self::statement::{batch, delete_statement, find_and_modify_request, insert_statement, update_statement};
use super::super::collation::Collation;
use super::super::command::{self, Concern, Job};
use super::super::document::{Doc, MAX_DOCUMENT_BYTES, MAX_SENT_DEPTH, Malformed, Owned, validate_within};
use super::super::exec::aggregate::AggregateRequest;
use super::super::exec::cursor::FindRequest;
use super::super::exec::output::{self, Target};
use super::super::exec::statement::Batch;
use super::super::exec::tail::PATIENCE;
use super::super::exec::watch::WatchRequest;
use super::super::exec::{
    Deadline, Namespace, alter, check_database, collections, count, distinct, explain, find_and_modify,
    indexes, series, statistics, view,
};
use super::super::fault::{Fault, Result, code};
use super::super::matcher::near;
use super::super::storage::{Read, Write};
use super::super::update::{Now, Timestamps};
use super::maintenance::Maintenance;
use super::response::{counted, raw_bson};
use super::watch;
use crate::backend::{self, Operation, ReadOptions, Response, WriteStatement};

/// A read that answers at once.
pub(super) type ReadJob = Box<dyn FnOnce(&dyn Read) -> Result<Response> + Send>;

/// A write; it may be run again before it has written.
pub(super) type WriteJob = Box<dyn FnMut(&mut dyn Write) -> Result<Response> + Send>;

/// What the engine runs for an operation.
pub(super) enum Request {
    Find(FindRequest),
    Aggregate(AggregateRequest),
    /// A pipeline whose results are written.
    Output(AggregateRequest, Target, Now),
    /// A read that answers at once.
    Read(ReadJob),
    /// Statements; each is atomic by itself.
    Batch(Batch),
    /// One job; it may be run again before it has written.
    Write(WriteJob),
    /// With how long to wait for an event.
    Watch(Box<WatchRequest>, Duration),
    /// Of one database, or of all.
    Check(Option<String>),
    Maintenance(Maintenance),
    /// What a command's document asks for.
    Command(Job, Concern),
}

/// How long an operation may take, waiting for others included.
pub(super) fn max_time(operation: &Operation) -> Option<Duration> {
    match operation {
        Operation::Update(own) => own.options.max_time,
        Operation::Delete(own) => own.options.max_time,
        Operation::BulkWrite(own) => own.options.max_time,
        Operation::FindAndModify(own) => own.options.max_time,
        Operation::RunCommand(own) => {
            let millis = match own.command.get("maxTimeMS").ok().flatten()? {
                RawBsonRef::Int32(millis) => u64::try_from(millis).ok()?,
                RawBsonRef::Int64(millis) => u64::try_from(millis).ok()?,
                RawBsonRef::Double(millis) if millis >= 1.0 => millis as u64,
                _ => return None,
            };
            (millis > 0).then(|| Duration::from_millis(millis))
        }
        _ => None,
    }
}

/// Checks and parses an operation.
pub(super) fn prepare(operation: Operation, backend: &'static str) -> Result<Request> {
    Ok(match operation {
        Operation::Find(find) => Request::Find(find_request(find)?),
        Operation::Insert(insert) => {
            let now = now();
            let statements = insert
                .documents
                .into_iter()
                .map(|document| insert_statement(document, now))
                .collect();
            Request::Batch(Batch {
                unvalidated: insert.bypass_validation,
                ..batch(
                    insert.namespace,
                    statements,
                    insert.ordered,
                    now,
                    &ReadOptions::default(),
                )?
            })
        }
        Operation::Update(update) => {
            let shared = update.options;
            let variables = variables(&shared, None);
            let statements = update.statements.iter();
            let statements = statements.map(|own| update_statement(own, &variables)).collect();
            Request::Batch(batch(
                update.namespace,
                statements,
                update.ordered,
                now(),
                &shared,
            )?)
        }
        Operation::Delete(delete) => {
            let shared = delete.options;
            let statements = delete.statements.iter();
            let statements = statements.map(|own| delete_statement(own, &shared)).collect();
            Request::Batch(batch(
                delete.namespace,
                statements,
                delete.ordered,
                now(),
                &shared,
            )?)
        }
        Operation::BulkWrite(bulk) => {
            let shared = bulk.options;
            let now = now();
            let variables = variables(&shared, None);
            let statements = bulk
                .statements
                .into_iter()
                .map(|statement| match statement {
                    WriteStatement::Insert(document) => insert_statement(document, now),
                    WriteStatement::Update(update) => update_statement(&update, &variables),
                    WriteStatement::Delete(delete) => delete_statement(&delete, &shared),
                })
                .collect();
            Request::Batch(batch(bulk.namespace, statements, bulk.ordered, now, &shared)?)
        }
        Operation::FindAndModify(change) => {
            let request = find_and_modify_request(change)?;
            Request::Write(Box::new(move |write| {
                let done = find_and_modify::run(write, &request)?;
                done.value.map(document).transpose().map(Response::Document)
            }))
        }
        Operation::Count(own) => {
            let ns = namespace(own.namespace)?;
            let query = query(&own.filter, None, &own.options)?;
            // Drivers count by a pipeline, which has no order.
            if query.near().is_some() {
                return Err(near::not_allowed());
            }
            let deadline = Deadline::after(own.options.max_time);
            Request::Read(Box::new(move |read| {
                count::count(read, &ns, &query, own.skip, own.limit, deadline).map(Response::Count)
            }))
        }
        Operation::Distinct(own) => {
            let ns = namespace(own.namespace)?;
            let query = query(&own.filter, None, &own.options)?;
            let deadline = Deadline::after(own.options.max_time);
            Request::Read(Box::new(move |read| {
                let values = distinct::distinct(read, &ns, &own.key, &query, deadline)?;
                Ok(Response::Values(values.iter().map(raw_bson).collect()))
            }))
        }
        Operation::Explain(own) if matches!(*own.operation, Operation::Aggregate(_)) => {
            let Operation::Aggregate(aggregate) = *own.operation else {
                return Err(Fault::new(code::INTERNAL, "not an aggregate"));
            };
            let request = aggregate_request(aggregate)?;
            request.parse()?;
            Request::Read(Box::new(move |read| {
                document(explain::explain_aggregate(read, &request, own.execute)?)
                    .map(|found| Response::Document(Some(found)))
            }))
        }
        Operation::Explain(own) => {
            let request = explain_request(*own.operation, own.execute, backend)?;
            Request::Read(Box::new(move |read| {
                document(explain::explain(read, &request)?).map(|found| Response::Document(Some(found)))
            }))
        }
        Operation::CreateIndexes(own) => {
            let ns = namespace(own.namespace)?;
            let specs: Vec<Vec<u8>> = own
                .indexes
                .iter()
                .map(|spec| gate(&spec.0).map(|doc| doc.to_bytes()))
                .collect::<Result<_>>()?;
            Request::Write(Box::new(move |write| {
                indexes::create(write, &ns, &specs).map(|()| Response::Done)
            }))
        }
        Operation::DropIndexes(own) => {
            let ns = namespace(own.namespace)?;
            let which = value(&own.index)?;
            Request::Write(Box::new(move |write| {
                indexes::drop(write, &ns, &which.as_value()).map(|()| Response::Done)
            }))
        }
        Operation::ListIndexes(own) => {
            let ns = namespace(own.namespace)?;
            Request::Read(Box::new(move |read| {
                if !series::is_series(read.catalog(), &ns) {
                    view::refuse(read.catalog(), &ns)?;
                }
                let specs = indexes::list(read, &ns).unwrap_or_default();
                specs
                    .into_iter()
                    .map(document)
                    .collect::<Result<_>>()
                    .map(Response::Documents)
            }))
        }
        Operation::CreateCollection(own) => {
            let ns = namespace(own.namespace)?;
            let options = gate(&own.options)?.to_bytes();
            Request::Write(Box::new(move |write| {
                collections::create(write, &ns, Some(Doc::Raw(&options))).map(|()| Response::Done)
            }))
        }
        Operation::DropCollection(own) => {
            let ns = namespace(own.namespace)?;
            Request::Write(Box::new(move |write| {
                collections::drop(write, &ns).map(|_| Response::Done)
            }))
        }
        Operation::ListCollections(own) => {
            check_database(&own.database)?;
            let filter = gate(&own.filter)?.to_bytes();
            Request::Read(Box::new(move |read| {
                let found = collections::list(read, &own.database, Doc::Raw(&filter))?;
                found
                    .into_iter()
                    .map(document)
                    .collect::<Result<_>>()
                    .map(Response::Documents)
            }))
        }
        Operation::DropDatabase(own) => {
            check_database(&own.database)?;
            Request::Write(Box::new(move |write| {
                collections::drop_database(write, &own.database).map(|()| Response::Done)
            }))
        }
        Operation::Watch(own) => {
            let patience = own.max_await_time.unwrap_or(PATIENCE);
            Request::Watch(Box::new(watch::request(own)?), patience)
        }
        Operation::Check(own) => Request::Check(own.database),
        Operation::Repair(own) => Request::Maintenance(Maintenance::Repair(own)),
        Operation::Backup(own) => Request::Maintenance(Maintenance::Backup(own)),
        Operation::Compact(_) => Request::Maintenance(Maintenance::Compact),
        Operation::Flush(_) => Request::Maintenance(Maintenance::Flush),
        Operation::MeasureStore(own) => Request::Maintenance(Maintenance::Measure(own)),
        Operation::Aggregate(own) => {
            let request = aggregate_request(own)?;
            match request.parse()?.output() {
                None => Request::Aggregate(request),
                Some(to) => {
                    let target = output::parse(to, &request.namespace.database, &request.names())?;
                    Request::Output(request, target, now())
                }
            }
        }
        Operation::ModifyCollection(own) => {
            let ns = namespace(own.namespace)?;
            let changes = gate(&own.changes)?.to_bytes();
            Request::Write(Box::new(move |write| {
                let reply = alter::modify(write, &ns, Doc::Raw(&changes))?;
                document(reply).map(|reply| Response::Document(Some(reply)))
            }))
        }
        Operation::RenameCollection(own) => {
            let from = namespace(own.namespace)?;
            let to = Namespace {
                database: own.to.database,
                collection: own.to.collection,
            };
            Request::Write(Box::new(move |write| {
                alter::rename(write, &from, &to, own.drop_target).map(|()| Response::Done)
            }))
        }
        Operation::Statistics(own) => {
            check_database(&own.database)?;
            Request::Read(Box::new(move |read| {
                let found = match own.collection {
                    Some(collection) => {
                        let ns = Namespace {
                            database: own.database,
                            collection,
                        };
                        ns.check()?;
                        statistics::of_collection(read, &ns)?
                    }
                    None => statistics::of_database(read, &own.database)?,
                };
                Ok(Response::Statistics(counted(found)))
            }))
        }
        Operation::RunCommand(own) => {
            let (job, concern) = command::parse(&own.database, gate(&own.command)?, now())?;
            Request::Command(job, concern)
        }
    })
}

/// The time that all parts of an operation agree on.
pub(super) fn now() -> Now {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let millis = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    Now {
        millis,
        timestamps: Timestamps::Later,
    }
}

/// Lets a document from outside in: well-formed and not too deep.
pub(super) fn gate(document: &RawDocumentBuf) -> Result<Doc<'_>> {
    let bytes = document.as_bytes();
    if bytes.len() > MAX_DOCUMENT_BYTES + 16 * 1024 {
        return Err(Fault::new(
            code::BSON_TOO_LARGE,
            format!("BSONObj size: {} is invalid", bytes.len()),
        ));
    }
    match validate_within(bytes, MAX_SENT_DEPTH) {
        Ok(()) => Ok(Doc::Raw(bytes)),
        Err(Malformed::Shape(reason)) => Err(Fault::new(
            code::INVALID_BSON,
            format!("malformed document: {reason}"),
        )),
        Err(Malformed::TooDeep) => Err(Fault::new(
            code::OVERFLOW,
            format!(
                "BSONObj exceeds maximum nested object depth: {}",
                MAX_SENT_DEPTH - 1
            ),
        )),
    }
}

fn gate_optional(document: Option<&RawDocumentBuf>) -> Result<Option<Doc<'_>>> {
    document.map(gate).transpose()
}

/// A raw value from outside, checked.
fn value(raw: &RawBson) -> Result<Owned> {
    let mut wrapped = RawDocumentBuf::new();
    wrapped.append(bson::raw::cstr!("v"), raw.clone());
    let doc = gate(&wrapped)?;
    Ok(doc.get("v").map_or(Owned::Null, Owned::from))
}

/// An answer's bytes as the seam's document.
pub(super) fn document(bytes: Vec<u8>) -> Result<RawDocumentBuf> {
    RawDocumentBuf::from_bytes(bytes).map_err(|_| Fault::new(code::INTERNAL, "malformed answer"))
}

fn namespace(ns: backend::Namespace) -> Result<Namespace> {
    let ns = Namespace {
        database: ns.database,
        collection: ns.collection,
    };
    ns.check()?;
    Ok(ns)
}

/// How strings compare, if the operation says.
fn collation(given: Option<&RawDocumentBuf>) -> Result<Option<Collation>> {
    match gate_optional(given)? {
        Some(doc) => Collation::parse(doc),
        None => Ok(None),
    }
}
