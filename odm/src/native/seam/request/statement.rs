//! Operations that write, statement by statement.

use std::sync::Arc;

use bson::RawDocumentBuf;

use super::super::super::aggregate::constants::Variables;
use super::super::super::collation::Collation;
use super::super::super::document::{Doc, Owned};
use super::super::super::exec::Deadline;
use super::super::super::exec::find_and_modify::FindAndModifyRequest;
use super::super::super::exec::query::{Part, Query};
use super::super::super::exec::statement::{Batch, DeleteStatement, Statement, UpdateStatement};
use super::super::super::fault::{Fault, Result, code};
use super::super::super::update::{Now, Updater};
use super::read::{query_with, variables};
use super::{collation, gate, gate_optional, namespace, now, value};
use crate::backend::{self, Modification, ReadOptions};

pub(super) fn batch(
    ns: backend::Namespace,
    statements: Vec<Statement>,
    ordered: bool,
    now: Now,
    shared: &ReadOptions,
) -> Result<Batch> {
    let deadline = Deadline::after(shared.max_time);
    Ok(Batch {
        namespace: namespace(ns)?,
        expected: None,
        statements,
        ordered,
        unvalidated: false,
        now,
        deadline,
    })
}

pub(super) fn insert_statement(document: RawDocumentBuf, now: Now) -> Statement {
    match gate(&document).map(|doc| Statement::insert_changed(doc, now)) {
        Ok(Some(changed)) => changed,
        Ok(None) => Statement::insert_unchanged(document.into_bytes()),
        Err(fault) => Statement::Refused(fault),
    }
}

pub(super) fn update_statement(own: &backend::UpdateStatement, variables: &Result<Variables>) -> Statement {
    let parse = || -> Result<UpdateStatement> {
        let variables = variables.as_ref().map_err(Fault::clone)?;
        let collation = collation(own.collation.as_ref())?;
        let hint = own.hint.as_ref().map(value).transpose()?;
        // The server reads the update before the filter.
        let updater = updater(&own.modification, &own.array_filters, variables)?;
        let hint = hint.as_ref().map(Owned::as_value);
        let query = Query::parse_with(gate(&own.filter)?, None, hint, variables.clone())?
            .settled_alone(collation.clone())?;
        if own.multi && matches!(own.modification, Modification::Replacement(_)) {
            return Err(Fault::new(
                code::FAILED_TO_PARSE,
                "multi update is not supported for replacement-style update",
            ));
        }
        if own.upsert {
            Updater::check_upsert_filter(Doc::Raw(own.filter.as_bytes()))?;
        }
        let part = Part::default().updated_by(collation.as_ref());
        Ok(UpdateStatement {
            query: query.part(part),
            filter: own.filter.as_bytes().to_vec(),
            updater: updater.collated(&collation.unwrap_or_default()),
            multi: own.multi,
            upsert: own.upsert,
            supplied: None,
        })
    };
    match parse() {
        Ok(statement) => Statement::Update(Arc::new(statement)),
        Err(fault) => Statement::Refused(fault),
    }
}

pub(super) fn delete_statement(own: &backend::DeleteStatement, shared: &ReadOptions) -> Statement {
    let parse = || -> Result<DeleteStatement> {
        let collation = collation(own.collation.as_ref())?;
        let variables = variables(shared, collation.as_ref())?;
        let hint = own.hint.as_ref().map(value).transpose()?;
        let hint = hint.as_ref().map(Owned::as_value);
        let query = Query::parse_with(gate(&own.filter)?, None, hint, variables)?.settled_alone(collation)?;
        Ok(DeleteStatement {
            query: query.part(Part::default().by(gate_optional(own.collation.as_ref())?)),
            filter: own.filter.as_bytes().to_vec(),
            multi: own.multi,
        })
    };
    match parse() {
        Ok(statement) => Statement::Delete(Arc::new(statement)),
        Err(fault) => Statement::Refused(fault),
    }
}

fn updater(
    modification: &Modification,
    array_filters: &[RawDocumentBuf],
    variables: &Variables,
) -> Result<Updater> {
    let filters: Vec<Doc<'_>> = array_filters.iter().map(gate).collect::<Result<_>>()?;
    match modification {
        Modification::Operators(update) => Updater::operators(gate(update)?, &filters),
        Modification::Replacement(document) => {
            // The server checks them, and then has no use for them.
            Updater::check_array_filters(&filters)?;
            Updater::replacement(gate(document)?)
        }
        Modification::Pipeline(_) if !filters.is_empty() => {
            Updater::check_array_filters(&filters)?;
            Err(Fault::new(
                code::FAILED_TO_PARSE,
                "arrayFilters may not be specified for pipeline-style updates",
            ))
        }
        Modification::Pipeline(stages) => {
            let stages: Vec<Doc<'_>> = stages.iter().map(gate).collect::<Result<_>>()?;
            Updater::pipeline(&stages, variables.clone())
        }
    }
}

pub(super) fn find_and_modify_request(own: backend::FindAndModify) -> Result<FindAndModifyRequest> {
    let variables = variables(&own.options, None)?;
    let query = query_with(&own.filter, own.sort.as_ref(), &own.options, &variables)?;
    let projection = query.projection_of_one(gate_optional(own.projection.as_ref())?);
    if own.modification.is_none() && (own.return_new || own.upsert) {
        return Err(Fault::new(
            code::FAILED_TO_PARSE,
            "Cannot specify both new=true (or upsert=true) and remove=true; 'remove' always returns the deleted document",
        ));
    }
    let updater = own
        .modification
        .as_ref()
        .map(|own_change| updater(own_change, &own.array_filters, &variables))
        .transpose()?
        .map(|updater| updater.collated(query.collation().unwrap_or(Collation::simple())));
    if own.upsert {
        Updater::check_upsert_filter(Doc::Raw(own.filter.as_bytes()))?;
    }
    let part = Part::one(own.sort.is_some());
    let part = match own.modification {
        None => part.by(gate_optional(own.options.collation.as_ref())?),
        Some(_) => part.updated_by(query.collation()),
    };
    Ok(FindAndModifyRequest {
        namespace: namespace(own.namespace)?,
        query: query.part(part),
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
