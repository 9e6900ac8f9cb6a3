//! Operations, checked and parsed into what the engine runs.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bson::{RawBson, RawBsonRef, RawDocumentBuf};

use super::super::aggregate::expression::{Expression, Scope, check_variable_name};
use super::super::command::{self, Job};
use super::super::document::{Doc, MAX_DOCUMENT_BYTES, Malformed, Owned, validate};
use super::super::exec::aggregate::{self, AggregateRequest};
use super::super::exec::cursor::FindRequest;
use super::super::exec::explain::ExplainRequest;
use super::super::exec::find_and_modify::FindAndModifyRequest;
use super::super::exec::output::{self, Target};
use super::super::exec::query::Query;
use super::super::exec::statement::{Batch, DeleteStatement, Statement, UpdateStatement};
use super::super::exec::tail::Tail;
use super::super::exec::watch::WatchRequest;
use super::super::exec::{
    Deadline, Namespace, alter, check_database, collections, count, distinct, explain, find_and_modify,
    indexes, statistics, view,
};
use super::super::fault::{Fault, Result, code};
use super::super::matcher::near;
use super::super::projection::Projection;
use super::super::storage::{Read, Write};
use super::super::update::{Now, Updater, changed_for_insert, too_deep};
use super::maintenance::Maintenance;
use super::response::{counted, raw_bson};
use super::watch;
use crate::backend::{self, Modification, Operation, ReadOptions, Response, WriteStatement};

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
    Command(Job),
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
            Request::Batch(batch(
                insert.namespace,
                statements,
                insert.ordered,
                now,
                &ReadOptions::default(),
            )?)
        }
        Operation::Update(update) => {
            let shared = update.options;
            refuse_variables(&shared)?;
            let statements = update.statements.iter().map(update_statement).collect();
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
            refuse_variables(&shared)?;
            let statements = delete.statements.iter().map(delete_statement).collect();
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
            refuse_variables(&shared)?;
            let now = now();
            let statements = bulk
                .statements
                .into_iter()
                .map(|statement| match statement {
                    WriteStatement::Insert(document) => insert_statement(document, now),
                    WriteStatement::Update(update) => update_statement(&update),
                    WriteStatement::Delete(delete) => delete_statement(&delete),
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
                view::refuse(read.catalog(), &ns)?;
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
            let patience = own.max_await_time.unwrap_or(watch::PATIENCE);
            Request::Watch(Box::new(watch::request(own)?), patience)
        }
        Operation::Check(own) => Request::Check(own.database),
        Operation::Repair(own) => Request::Maintenance(Maintenance::Repair(own)),
        Operation::Backup(own) => Request::Maintenance(Maintenance::Backup(own)),
        Operation::Compact(_) => Request::Maintenance(Maintenance::Compact),
        Operation::MeasureStore(own) => Request::Maintenance(Maintenance::Measure(own)),
        Operation::Aggregate(own) => {
            let request = aggregate_request(own)?;
            match request.parse()?.output() {
                None => Request::Aggregate(request),
                Some(to) => {
                    let target = output::parse(to, &request.namespace.database)?;
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
            Request::Command(command::parse(&own.database, gate(&own.command)?, now())?)
        }
    })
}

/// The time that all parts of an operation agree on.
pub(super) fn now() -> Now {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let millis = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    let seconds = u32::try_from(since.as_secs()).unwrap_or(u32::MAX);
    Now {
        millis,
        timestamp: (seconds, since.subsec_micros() + 1),
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
    match validate(bytes) {
        Ok(()) => Ok(Doc::Raw(bytes)),
        Err(Malformed::Shape(reason)) => Err(Fault::new(
            code::INVALID_BSON,
            format!("malformed document: {reason}"),
        )),
        Err(Malformed::TooDeep) => Err(too_deep()),
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

fn aggregate_request(own: backend::Aggregate) -> Result<AggregateRequest> {
    refuse_collation(own.options.collation.as_ref())?;
    let ns = if own.namespace.collection == aggregate::NO_COLLECTION {
        check_database(&own.namespace.database)?;
        Namespace {
            database: own.namespace.database,
            collection: own.namespace.collection,
        }
    } else {
        namespace(own.namespace)?
    };
    let now = now();
    let stages = own
        .pipeline
        .iter()
        .map(|stage| gate(stage).map(Doc::to_bytes))
        .collect::<Result<_>>()?;
    Ok(AggregateRequest {
        namespace: ns,
        stages,
        variables: variables(own.options.variables.as_ref(), now)?,
        hint: own.options.hint.as_ref().map(value).transpose()?,
        batch_size: own.batch_size,
        allow_disk_use: own.allow_disk_use,
        unvalidated: false,
        now: now.millis,
        deadline: Deadline::after(own.options.max_time),
    })
}

/// The values of `let`, which may use the variables before them but no document.
fn variables(given: Option<&RawDocumentBuf>, now: Now) -> Result<Vec<(String, Option<Owned>)>> {
    let mut variables: Vec<(String, Option<Owned>)> = Vec::new();
    for element in gate_optional(given)?.into_iter().flat_map(Doc::elements) {
        check_variable_name(element.name_str(), true)?;
        let names: Vec<String> = variables.iter().map(|(name, _)| name.clone()).collect();
        let expression = Expression::parse(&element.value(), &names)?;
        let mut scope = Scope::new(Doc::empty(), now.millis);
        scope.variables.clone_from(&variables);
        let value = expression.evaluate(&scope)?;
        variables.push((element.name_str().to_owned(), value));
    }
    Ok(variables)
}

fn query(filter: &RawDocumentBuf, sort: Option<&RawDocumentBuf>, options: &ReadOptions) -> Result<Query> {
    refuse_variables(options)?;
    refuse_collation(options.collation.as_ref())?;
    let hint = options.hint.as_ref().map(value).transpose()?;
    Query::parse(
        gate(filter)?,
        gate_optional(sort)?,
        hint.as_ref().map(Owned::as_value),
    )
}

fn refuse_collation(collation: Option<&RawDocumentBuf>) -> Result<()> {
    match collation.map(gate).transpose()? {
        None => Ok(()),
        // Binary comparison, by its name.
        Some(doc) if doc.count() == 1 && doc.get("locale").and_then(|l| l.as_str()) == Some("simple") => {
            Ok(())
        }
        Some(_) => Err(Fault::unsupported(
            "the embedded engine compares strings by their bytes; collation is not supported",
        )),
    }
}

fn refuse_variables(options: &ReadOptions) -> Result<()> {
    match gate_optional(options.variables.as_ref())? {
        Some(variables) if !variables.is_empty() => Err(Fault::unsupported(
            "variables of an operation (let) are not supported",
        )),
        _ => Ok(()),
    }
}

fn projection(spec: Option<&RawDocumentBuf>, query: &Query) -> Result<Option<Projection>> {
    match gate_optional(spec)? {
        Some(spec) if !spec.is_empty() => Projection::parse(spec, Some(&query.matcher)).map(Some),
        _ => Ok(None),
    }
}

fn find_request(find: backend::Find) -> Result<FindRequest> {
    let tail = match find.tail {
        None => None,
        Some(backend::Tail::Poll) => Some(Tail::Poll),
        Some(backend::Tail::Await) => Some(Tail::Await),
    };
    let query = query(&find.filter, find.sort.as_ref(), &find.options)?;
    let projection = projection(find.projection.as_ref(), &query)?.map(Arc::new);
    Ok(FindRequest {
        namespace: namespace(find.namespace)?,
        query,
        projection,
        skip: find.skip,
        limit: find.limit,
        batch_size: find.batch_size,
        tail,
        deadline: Deadline::after(find.options.max_time),
    })
}

fn batch(
    ns: backend::Namespace,
    statements: Vec<Statement>,
    ordered: bool,
    now: Now,
    shared: &ReadOptions,
) -> Result<Batch> {
    let deadline = Deadline::after(shared.max_time);
    Ok(Batch {
        namespace: namespace(ns)?,
        statements,
        ordered,
        unvalidated: false,
        now,
        deadline,
    })
}

fn insert_statement(document: RawDocumentBuf, now: Now) -> Statement {
    match gate(&document).and_then(|doc| changed_for_insert(doc, now)) {
        Ok(Some(bytes)) => Statement::Insert(bytes),
        Ok(None) => Statement::Insert(document.into_bytes()),
        Err(fault) => Statement::Refused(fault),
    }
}

fn update_statement(own: &backend::UpdateStatement) -> Statement {
    let parse = || -> Result<UpdateStatement> {
        refuse_collation(own.collation.as_ref())?;
        let hint = own.hint.as_ref().map(value).transpose()?;
        let query = Query::parse(gate(&own.filter)?, None, hint.as_ref().map(Owned::as_value))?;
        if own.multi && matches!(own.modification, Modification::Replacement(_)) {
            return Err(Fault::new(
                code::FAILED_TO_PARSE,
                "multi update is not supported for replacement-style update",
            ));
        }
        if own.upsert {
            Updater::check_upsert_filter(Doc::Raw(own.filter.as_bytes()))?;
        }
        Ok(UpdateStatement {
            query,
            filter: own.filter.as_bytes().to_vec(),
            updater: updater(&own.modification, &own.array_filters)?,
            multi: own.multi,
            upsert: own.upsert,
        })
    };
    match parse() {
        Ok(statement) => Statement::Update(Arc::new(statement)),
        Err(fault) => Statement::Refused(fault),
    }
}

fn delete_statement(own: &backend::DeleteStatement) -> Statement {
    let parse = || -> Result<DeleteStatement> {
        refuse_collation(own.collation.as_ref())?;
        let hint = own.hint.as_ref().map(value).transpose()?;
        let query = Query::parse(gate(&own.filter)?, None, hint.as_ref().map(Owned::as_value))?;
        Ok(DeleteStatement {
            query,
            multi: own.multi,
        })
    };
    match parse() {
        Ok(statement) => Statement::Delete(Arc::new(statement)),
        Err(fault) => Statement::Refused(fault),
    }
}

fn updater(modification: &Modification, array_filters: &[RawDocumentBuf]) -> Result<Updater> {
    let filters: Vec<Doc<'_>> = array_filters.iter().map(gate).collect::<Result<_>>()?;
    match modification {
        Modification::Operators(update) => Updater::operators(gate(update)?, &filters),
        Modification::Replacement(document) => {
            // The server checks them, and then has no use for them.
            Updater::check_array_filters(&filters)?;
            Updater::replacement(gate(document)?)
        }
        Modification::Pipeline(_) if !filters.is_empty() => Err(Fault::new(
            code::FAILED_TO_PARSE,
            "arrayFilters may not be specified for pipeline-style updates",
        )),
        Modification::Pipeline(stages) => {
            let stages: Vec<Doc<'_>> = stages.iter().map(gate).collect::<Result<_>>()?;
            Updater::pipeline(&stages, None)
        }
    }
}

fn find_and_modify_request(own: backend::FindAndModify) -> Result<FindAndModifyRequest> {
    let query = query(&own.filter, own.sort.as_ref(), &own.options)?;
    let projection = projection(own.projection.as_ref(), &query)?;
    if own.return_new && projection.as_ref().is_some_and(Projection::needs_position) {
        return Err(Fault::new(
            code::BAD_VALUE,
            "Cannot use a positional projection and return the new document",
        ));
    }
    if own.modification.is_none() && (own.return_new || own.upsert) {
        return Err(Fault::new(
            code::FAILED_TO_PARSE,
            "Cannot specify both new=true (or upsert=true) and remove=true; 'remove' always returns the deleted document",
        ));
    }
    let updater = own
        .modification
        .as_ref()
        .map(|own_change| updater(own_change, &own.array_filters))
        .transpose()?;
    if own.upsert {
        Updater::check_upsert_filter(Doc::Raw(own.filter.as_bytes()))?;
    }
    Ok(FindAndModifyRequest {
        namespace: namespace(own.namespace)?,
        query,
        filter: own.filter.as_bytes().to_vec(),
        projection,
        updater,
        return_new: own.return_new,
        upsert: own.upsert,
        unvalidated: false,
        now: now(),
        deadline: Deadline::after(own.options.max_time),
    })
}

fn explain_request(operation: Operation, execute: bool, backend: &'static str) -> Result<ExplainRequest> {
    let counts = matches!(operation, Operation::Count(_));
    let (ns, query, filter, skip, limit, max_time) = match operation {
        Operation::Find(own) => {
            let parsed = query(&own.filter, own.sort.as_ref(), &own.options)?;
            (
                own.namespace,
                parsed,
                own.filter,
                own.skip,
                own.limit,
                own.options.max_time,
            )
        }
        Operation::Count(own) => {
            let parsed = query(&own.filter, None, &own.options)?;
            (
                own.namespace,
                parsed,
                own.filter,
                own.skip,
                own.limit,
                own.options.max_time,
            )
        }
        Operation::Distinct(own) => {
            let parsed = query(&own.filter, None, &own.options)?;
            (own.namespace, parsed, own.filter, 0, 0, own.options.max_time)
        }
        Operation::FindAndModify(own) => {
            let parsed = query(&own.filter, own.sort.as_ref(), &own.options)?;
            (own.namespace, parsed, own.filter, 0, 1, own.options.max_time)
        }
        Operation::Update(own) if own.statements.len() == 1 => {
            let statement = &own.statements[0];
            let hint = statement.hint.as_ref().map(value).transpose()?;
            let parsed = Query::parse(gate(&statement.filter)?, None, hint.as_ref().map(Owned::as_value))?;
            (
                own.namespace,
                parsed,
                statement.filter.clone(),
                0,
                u64::from(!statement.multi),
                own.options.max_time,
            )
        }
        Operation::Delete(own) if own.statements.len() == 1 => {
            let statement = &own.statements[0];
            let hint = statement.hint.as_ref().map(value).transpose()?;
            let parsed = Query::parse(gate(&statement.filter)?, None, hint.as_ref().map(Owned::as_value))?;
            (
                own.namespace,
                parsed,
                statement.filter.clone(),
                0,
                u64::from(!statement.multi),
                own.options.max_time,
            )
        }
        other => {
            return Err(Fault::unsupported(format!(
                "{backend} cannot explain a {}",
                other.name()
            )));
        }
    };
    Ok(ExplainRequest {
        namespace: namespace(ns)?,
        query,
        filter: filter.as_bytes().to_vec(),
        counts,
        skip,
        limit,
        execute,
        deadline: Deadline::after(max_time),
    })
}
