//! Operations that read, and what chooses documents.

use std::sync::Arc;

use bson::{RawBson, RawDocumentBuf};

use super::super::super::aggregate::constants::{self, Variables};
use super::super::super::collation::Collation;
use super::super::super::document::{Doc, Owned, Value};
use super::super::super::exec::aggregate::{self, AggregateRequest};
use super::super::super::exec::by_id;
use super::super::super::exec::cursor::{Extras, FindRequest, IN_FIND};
use super::super::super::exec::explain::{ExplainRequest, Explained};
use super::super::super::exec::query::{Part, Query};
use super::super::super::exec::statement::Statement;
use super::super::super::exec::tail::Tail;
use super::super::super::exec::{Deadline, Namespace, check_database};
use super::super::super::fault::{Fault, Result};
use super::super::super::needs::{Needs, Values};
use super::super::super::projection::Projection;
use super::statement::{delete_statement, find_and_modify_request, update_statement};
use super::{collation, gate, gate_optional, namespace, now, value};
use crate::backend::{self, DeleteStatement, Operation, ReadOptions, UpdateStatement};

pub(super) fn aggregate_request(own: backend::Aggregate) -> Result<AggregateRequest> {
    let collation = collation(own.options.collation.as_ref())?;
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
        above: None,
        constants: gate_optional(own.options.variables.as_ref())?
            .unwrap_or(Doc::empty())
            .to_bytes(),
        variables: variables(&own.options, collation.as_ref())?,
        collation,
        hint: own.options.hint.as_ref().map(value).transpose()?,
        batch_size: own.batch_size,
        allow_disk_use: own.allow_disk_use,
        unvalidated: false,
        now: now.millis,
        deadline: Deadline::after(own.options.max_time),
    })
}

pub(super) fn query(
    filter: &RawDocumentBuf,
    sort: Option<&RawDocumentBuf>,
    options: &ReadOptions,
) -> Result<Query> {
    let collation = collation(options.collation.as_ref())?;
    let variables = variables(options, collation.as_ref())?;
    let query = query_with(filter, sort, options, &variables)?;
    Ok(query.with_constants(gate_optional(options.variables.as_ref())?))
}

/// The same with these variables.
pub(super) fn query_with(
    filter: &RawDocumentBuf,
    sort: Option<&RawDocumentBuf>,
    options: &ReadOptions,
    variables: &Variables,
) -> Result<Query> {
    let collation = collation(options.collation.as_ref())?;
    let hint = options.hint.as_ref().map(value).transpose()?;
    let query = Query::parse_with(
        gate(filter)?,
        gate_optional(sort)?,
        hint.as_ref().map(Owned::as_value),
        variables.clone(),
    )
    .map(|query| query.collated(collation))?
    .part(Part::default().by(gate_optional(options.collation.as_ref())?));
    Ok(query)
}

/// Computes what an operation gives to its expressions, with strings compared by the collation.
pub(super) fn variables(options: &ReadOptions, collation: Option<&Collation>) -> Result<Variables> {
    let given = gate_optional(options.variables.as_ref())?.unwrap_or(Doc::empty());
    let collation = collation.unwrap_or(Collation::simple());
    constants::of(given, now().millis, collation)
}

/// What the one statement of an update or deletion finds, and how many it takes; 0 is all.
fn single(
    filter: &RawDocumentBuf,
    hint: Option<&RawBson>,
    collation: Option<&RawDocumentBuf>,
    multi: bool,
    variables: &Variables,
) -> Result<(Query, u64)> {
    let hint = hint.map(value).transpose()?;
    let collation = super::collation(collation)?;
    let hint = hint.as_ref().map(Owned::as_value);
    let query = Query::parse_with(gate(filter)?, None, hint, variables.clone())?.settled_alone(collation)?;
    Ok((query, u64::from(!multi)))
}

pub(super) fn projection(spec: Option<&RawDocumentBuf>, query: &Query) -> Result<Option<Projection>> {
    query.projection(gate_optional(spec)?)
}

/// The `_id` that a find asks for, when it asks for nothing else.
pub(in super::super) fn asked_by_id(find: &backend::Find) -> Result<Option<Value<'_>>> {
    let backend::Find {
        namespace: _,
        filter,
        sort: None,
        projection: None,
        skip: 0,
        // One document is within every limit.
        limit: _,
        batch_size: _,
        tail: None,
        options:
            ReadOptions {
                hint: None,
                comment: _,
                max_time: _,
                collation: None,
                variables: None,
            },
    } = find
    else {
        return Ok(None);
    };
    // Most other filters show here that they are others.
    match filter.as_bytes().get(5..9) {
        Some(b"_id\0") => Ok(by_id::asked(gate(filter)?)),
        _ => Ok(None),
    }
}

pub(super) fn find_request(find: backend::Find) -> Result<FindRequest> {
    let tail = match find.tail {
        None => None,
        Some(backend::Tail::Poll) => Some(Tail::Poll),
        Some(backend::Tail::Await) => Some(Tail::Await),
    };
    let query = query(&find.filter, find.sort.as_ref(), &find.options)?;
    let projection = projection(find.projection.as_ref(), &query)?.map(Arc::new);
    let query = query
        .run_by(IN_FIND)
        .part(Part {
            batch_size: find.batch_size,
            limit: find.limit,
            skip: find.skip,
            ..Part::default().by(gate_optional(find.options.collation.as_ref())?)
        })
        .projected(gate_optional(find.projection.as_ref())?);
    Ok(FindRequest {
        namespace: namespace(find.namespace)?,
        query,
        projection,
        skip: find.skip,
        limit: find.limit,
        batch_size: find.batch_size,
        tail,
        extras: Extras::default(),
        deadline: Deadline::after(find.options.max_time),
    })
}

/// Refuses a statement that could not run.
fn accepted(statement: Statement) -> Result<()> {
    match statement {
        Statement::Refused(fault) => Err(fault),
        _ => Ok(()),
    }
}

pub(super) fn explain_request(
    operation: Operation,
    execute: bool,
    backend: &'static str,
) -> Result<ExplainRequest> {
    let what = match &operation {
        Operation::Count(_) => Explained::Count,
        Operation::Distinct(_) => Explained::Distinct,
        Operation::Update(_) => Explained::Update,
        Operation::Delete(_) => Explained::Delete,
        Operation::FindAndModify(own) => Explained::FindAndModify {
            removes: own.modification.is_none(),
        },
        _ => Explained::Find,
    };
    let mut shown = None;
    let (ns, query, filter, skip, limit, max_time) = match operation {
        Operation::Find(own) => {
            let parsed = query(&own.filter, own.sort.as_ref(), &own.options)?;
            shown = projection(own.projection.as_ref(), &parsed)?.map(Arc::new);
            let parsed = parsed.projected(gate_optional(own.projection.as_ref())?);
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
            let needs = Needs::of_values(&own.key, Values::There);
            let parsed = query(&own.filter, None, &own.options)?.needing(Some(needs));
            (own.namespace, parsed, own.filter, 0, 0, own.options.max_time)
        }
        Operation::FindAndModify(own) => {
            find_and_modify_request(own.clone())?;
            let parsed = query(&own.filter, own.sort.as_ref(), &own.options)?;
            let given = gate_optional(own.projection.as_ref())?;
            shown = parsed.projection_of_one(given)?.map(Arc::new);
            let parsed = parsed.projected(given);
            (own.namespace, parsed, own.filter, 0, 1, own.options.max_time)
        }
        Operation::Update(own) if own.statements.len() == 1 => {
            let variables = variables(&own.options, None)?;
            accepted(update_statement(&own.statements[0], &Ok(variables.clone())))?;
            let UpdateStatement {
                filter,
                hint,
                collation,
                multi,
                ..
            } = &own.statements[0];
            let (parsed, limit) = single(filter, hint.as_ref(), collation.as_ref(), *multi, &variables)?;
            (
                own.namespace,
                parsed,
                filter.clone(),
                0,
                limit,
                own.options.max_time,
            )
        }
        Operation::Delete(own) if own.statements.len() == 1 => {
            let by = super::collation(own.statements[0].collation.as_ref())?;
            let variables = variables(&own.options, by.as_ref())?;
            accepted(delete_statement(&own.statements[0], &own.options))?;
            let DeleteStatement {
                filter,
                hint,
                collation,
                multi,
                ..
            } = &own.statements[0];
            let (parsed, limit) = single(filter, hint.as_ref(), collation.as_ref(), *multi, &variables)?;
            (
                own.namespace,
                parsed,
                filter.clone(),
                0,
                limit,
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
        projection: shown,
        filter: Some(filter.as_bytes().to_vec()),
        what,
        skip,
        limit,
        extras: Extras::default(),
        piped: None,
        execute,
        deadline: Deadline::after(max_time),
    })
}
