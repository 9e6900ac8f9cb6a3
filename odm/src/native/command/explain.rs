//! `explain`.

use std::sync::Arc;

use super::super::collation::Collation;
use super::super::document::{Doc, Value};
use super::super::exec::cursor::Extras;
use super::super::exec::explain::{ExplainRequest, Explained, explain as explained};
use super::super::exec::statement::Statement;
use super::super::exec::tail::TailCursor;
use super::super::fault::{Fault, Result, code};
use super::super::needs::{Needs, Values};
use super::aggregate::explain_pipeline;
use super::shape::{Shape, Type};
use super::{
    Call, Job, NOT_HERE, collation, command, count, find, find_and_modify, generic, not_here, query, write,
};

static EXPLAIN: Shape = Shape {
    name: "explain",
    fields: &[("verbosity", Type::Checked(&Type::String, check_verbosity))],
    required: &[],
};

fn check_verbosity(value: Value<'_>) -> Result<()> {
    match value.as_str().unwrap_or_default() {
        "allPlansExecution" | "executionStats" | "queryPlanner" => Ok(()),
        other => Err(Fault::new(
            code::BAD_VALUE,
            format!("Enumeration value '{other}' for field 'explain.verbosity' is not a valid value."),
        )),
    }
}

/// What is explained, taken from the command inside.
struct Asked<'a> {
    filter: Option<Doc<'a>>,
    sort: Option<Doc<'a>>,
    projection: Option<Doc<'a>>,
    hint: Option<Value<'a>>,
    collation: Option<Collation>,
    skip: u64,
    limit: u64,
    what: Explained,
    /// What is asked of what is found, if that is less than all.
    needs: Option<Needs>,
}

pub(super) fn explain(call: &Call<'_>) -> Result<Job> {
    let fields = EXPLAIN.command(call.doc)?;
    if matches!(call.target, Value::Null | Value::Undefined) {
        return Err(EXPLAIN.missing("explain"));
    }
    let Value::Document(inner) = call.target else {
        return Err(Fault::new(
            code::TYPE_MISMATCH,
            format!(
                "BSON field 'explain.explain' is the wrong type '{}', expected type 'object'",
                call.target.kind().alias()
            ),
        ));
    };
    let execute = fields.string("verbosity") != Some("queryPlanner");
    generic::check(call.name, call.doc)?;
    let first = inner.elements().next();
    let name = first.map(|element| element.name_str()).unwrap_or_default();
    let target = first.map_or(Value::Null, |element| element.value());
    let whole = Call {
        name,
        target,
        doc: inner,
        ..*call
    };
    check_inner(call, &whole)?;
    if name == "aggregate" {
        return explain_pipeline(&whole, execute);
    }
    if name == "find" {
        return explain_find(call, &whole, execute);
    }
    let namespace = call.collection(&target)?;
    check_command(&whole)?;
    let asked = ask(name, inner)?;
    let own = inner.get("let").and_then(|own| own.as_document());
    let variables = query::variables(own, asked.collation.as_ref(), &whole)?;
    let mut parsed = query::query(asked.filter, asked.sort, asked.hint, &variables)?;
    parsed.sort_by(asked.sort)?;
    let parsed = parsed
        .collated(asked.collation)
        .needing(asked.needs)
        .projected(asked.projection);
    // As the server, which reads it where there is a collection.
    let projected = parsed.projection_of_one(asked.projection);
    let mut request = ExplainRequest {
        namespace,
        query: parsed,
        projection: None,
        filter: Some(asked.filter.unwrap_or(Doc::empty()).to_bytes()),
        what: asked.what,
        skip: asked.skip,
        limit: asked.limit,
        extras: Extras::default(),
        piped: None,
        execute,
        deadline: call.deadline()?,
    };
    Ok(Job::Read(Box::new(move |read| {
        let ns = &request.namespace;
        if read.catalog().collection(&ns.database, &ns.collection).is_some() {
            request.projection = projected?.map(Arc::new);
        }
        explained(read, &request)
    })))
}

fn explain_find(call: &Call<'_>, whole: &Call<'_>, execute: bool) -> Result<Job> {
    let fields = find::fields(whole.doc)?;
    call.collection(&whole.target)?;
    let asked = find::ask(whole, &fields)?.request;
    let followed = asked.tail.is_some().then(|| asked.clone());
    let request = ExplainRequest {
        namespace: asked.namespace,
        query: asked.query,
        projection: asked.projection,
        filter: Some(
            find::document(&fields, "filter")?
                .unwrap_or(Doc::empty())
                .to_bytes(),
        ),
        what: Explained::Find,
        skip: asked.skip,
        limit: asked.limit,
        extras: asked.extras,
        piped: None,
        execute,
        deadline: call.deadline()?,
    };
    Ok(Job::Read(Box::new(move |read| {
        followed
            .map(|followed| TailCursor::open(read, followed))
            .transpose()?;
        explained(read, &request)
    })))
}

/// Refuses what is no command, and what has no plan.
fn check_inner(call: &Call<'_>, whole: &Call<'_>) -> Result<()> {
    if let Some(Value::String(other)) = whole.doc.get("$db")
        && other != call.database
    {
        return Err(Fault::new(
            code::INVALID_NAMESPACE,
            format!(
                "Mismatched $db in explain command. Expected {} but got {other}",
                call.database
            ),
        ));
    }
    let name = whole.name;
    match name {
        "aggregate" | "find" | "count" | "distinct" | "findAndModify" | "findandmodify" | "update"
        | "delete" => Ok(()),
        "explain" => Err(Fault::new(
            code::ILLEGAL_OPERATION,
            "Explain cannot explain itself.",
        )),
        _ if NOT_HERE.contains(&name) => Err(not_here(name)),
        _ if command(name).is_some() => Err(Fault::new(
            code::ILLEGAL_OPERATION,
            format!("Cannot explain cmd: {name}"),
        )),
        _ => Err(Fault::new(
            code::COMMAND_NOT_FOUND,
            format!("Explain failed due to unknown command: {name}"),
        )),
    }
}

/// Refuses what is wrong with the command by itself.
fn check_command(whole: &Call<'_>) -> Result<()> {
    let job = match whole.name {
        "count" => count::count(whole)?,
        "distinct" => count::distinct(whole)?,
        "update" => write::update(whole)?,
        "delete" => write::delete(whole)?,
        _ => find_and_modify::find_and_modify(whole)?,
    };
    let Job::Batch(batch, _) = job else {
        return Ok(());
    };
    let mut statements = batch.statements.into_iter();
    match (statements.next(), statements.next()) {
        (Some(Statement::Refused(fault)), None) => Err(fault),
        (Some(Statement::RefusedUpdate(refused)), None) => Err(refused.fault),
        (Some(_), None) => Ok(()),
        _ => Err(Fault::new(16, "explained write batches must be of size 1")),
    }
}

fn ask<'a>(name: &str, inner: Doc<'a>) -> Result<Asked<'a>> {
    Ok(match name {
        "count" => {
            let fields = count::COUNT.command(inner)?;
            Asked {
                filter: fields.object("query"),
                sort: None,
                hint: fields.get("hint"),
                collation: collation(&fields)?,
                skip: fields.count("skip")?.unwrap_or(0),
                limit: fields.number("limit").unwrap_or(0).unsigned_abs(),
                what: Explained::Count,
                ..Asked::all()
            }
        }
        "distinct" => {
            let fields = count::DISTINCT.command(inner)?;
            Asked {
                filter: fields.object("query"),
                collation: collation(&fields)?,
                what: Explained::Distinct,
                needs: fields
                    .string("key")
                    .map(|key| Needs::of_values(key, Values::There)),
                ..Asked::all()
            }
        }
        "findAndModify" | "findandmodify" => {
            let fields = find_and_modify::FIND_AND_MODIFY.command(inner)?;
            Asked {
                filter: fields.object("query"),
                sort: fields.object("sort"),
                projection: fields.object("fields"),
                hint: fields.get("hint"),
                collation: collation(&fields)?,
                what: Explained::FindAndModify {
                    removes: fields.flag("remove"),
                },
                limit: 1,
                ..Asked::all()
            }
        }
        "update" | "delete" => {
            let list = if name == "update" { "updates" } else { "deletes" };
            let mut entries = inner
                .get(list)
                .and_then(|own| own.as_array())
                .into_iter()
                .flat_map(Doc::values);
            let entry = entries.next().and_then(|entry| entry.as_document());
            let entry = entry.unwrap_or(Doc::empty());
            let many = entry
                .get("multi")
                .is_some_and(|multi| super::shape::truth(&multi))
                || entry
                    .get("limit")
                    .is_some_and(|limit| super::shape::whole(&limit) == Some(0));
            Asked {
                filter: entry.get("q").and_then(|own| own.as_document()),
                hint: entry.get("hint"),
                collation: match entry.get("collation") {
                    Some(Value::Document(own)) => Collation::parse(own)?,
                    _ => None,
                },
                what: match name {
                    "update" => Explained::Update,
                    _ => Explained::Delete,
                },
                limit: u64::from(!many),
                ..Asked::all()
            }
        }
        _ => Asked::all(),
    })
}

impl Asked<'_> {
    fn all() -> Asked<'static> {
        Asked {
            filter: None,
            sort: None,
            projection: None,
            hint: None,
            collation: None,
            skip: 0,
            limit: 0,
            what: Explained::Find,
            needs: None,
        }
    }
}
