//! `explain`.

use super::super::collation::Collation;
use super::super::document::{Doc, Value};
use super::super::exec::cursor::Extras;
use super::super::exec::explain::{ExplainRequest, explain as explained};
use super::super::fault::{Fault, Result, code};
use super::super::plan::Edges;
use super::aggregate::explain_pipeline;
use super::shape::{Shape, Type};
use super::{Call, Job, collation, count, find, find_and_modify, query};

static EXPLAIN: Shape = Shape {
    name: "explain",
    fields: &[("verbosity", Type::String)],
    required: &[],
};

/// What is explained, taken from the command inside.
struct Asked<'a> {
    filter: Option<Doc<'a>>,
    sort: Option<Doc<'a>>,
    hint: Option<Value<'a>>,
    collation: Option<Collation>,
    skip: u64,
    limit: u64,
    counts: bool,
    edges: Option<Edges>,
    projection: Option<Doc<'a>>,
    extras: Extras,
}

pub(super) fn explain(call: &Call<'_>) -> Result<Job> {
    let fields = EXPLAIN.command(call.doc)?;
    let Value::Document(inner) = call.target else {
        return Err(Fault::new(
            code::TYPE_MISMATCH,
            format!(
                "BSON field 'explain.explain' is the wrong type '{}', expected type 'object'",
                call.target.kind().alias()
            ),
        ));
    };
    let execute = match fields.string("verbosity") {
        None | Some("allPlansExecution" | "executionStats") => true,
        Some("queryPlanner") => false,
        Some(other) => {
            return Err(Fault::new(
                code::BAD_VALUE,
                format!("Enumeration value '{other}' for field 'explain.verbosity' is not a valid value."),
            ));
        }
    };
    let first = inner.elements().next();
    let name = first.map(|element| element.name_str()).unwrap_or_default();
    let target = first.map_or(Value::Null, |element| element.value());
    if name == "aggregate" {
        let inner = Call {
            name,
            target,
            doc: inner,
            ..*call
        };
        return explain_pipeline(&inner, execute);
    }
    let asked = ask(name, inner)?;
    let namespace = call.collection(&target)?;
    let parsed = query::query(asked.filter, asked.sort, asked.hint, &query::Variables::new())?
        .collated(asked.collation)
        .between(asked.edges)
        .projected(asked.projection);
    let request = ExplainRequest {
        namespace,
        query: parsed,
        filter: asked.filter.unwrap_or(Doc::empty()).to_bytes(),
        counts: asked.counts,
        writes: matches!(name, "update" | "delete" | "findAndModify" | "findandmodify"),
        skip: asked.skip,
        limit: asked.limit,
        extras: asked.extras,
        execute,
        deadline: call.deadline()?,
    };
    Ok(Job::Read(Box::new(move |read| explained(read, &request))))
}

fn ask<'a>(name: &str, inner: Doc<'a>) -> Result<Asked<'a>> {
    Ok(match name {
        "find" => {
            let fields = find::fields(inner)?;
            Asked {
                filter: find::document(&fields, "filter")?,
                sort: find::document(&fields, "sort")?,
                hint: fields.get("hint"),
                collation: collation(&fields)?,
                skip: fields.count("skip")?.unwrap_or(0),
                limit: fields.count("limit")?.unwrap_or(0),
                counts: false,
                edges: find::edges(&fields)?,
                projection: find::document(&fields, "projection")?,
                extras: find::extras(&fields)?,
            }
        }
        "count" => {
            let fields = count::COUNT.command(inner)?;
            Asked {
                filter: fields.object("query"),
                sort: None,
                hint: fields.get("hint"),
                collation: collation(&fields)?,
                skip: fields.count("skip")?.unwrap_or(0),
                limit: fields.number("limit").unwrap_or(0).unsigned_abs(),
                counts: true,
                ..Asked::all()
            }
        }
        "distinct" => {
            let fields = count::DISTINCT.command(inner)?;
            Asked {
                filter: fields.object("query"),
                collation: collation(&fields)?,
                ..Asked::all()
            }
        }
        "findAndModify" | "findandmodify" => {
            let fields = find_and_modify::FIND_AND_MODIFY.command(inner)?;
            Asked {
                filter: fields.object("query"),
                sort: fields.object("sort"),
                hint: fields.get("hint"),
                collation: collation(&fields)?,
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
            let (Some(Value::Document(entry)), None) = (entries.next(), entries.next()) else {
                return Err(Fault::new(
                    code::FAILED_TO_PARSE,
                    "explained write batches must be of size 1",
                ));
            };
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
                limit: u64::from(!many),
                ..Asked::all()
            }
        }
        other => {
            return Err(Fault::new(
                code::COMMAND_NOT_FOUND,
                format!("Explain failed due to unknown command: {other}"),
            ));
        }
    })
}

impl Asked<'_> {
    fn all() -> Asked<'static> {
        Asked {
            filter: None,
            sort: None,
            hint: None,
            collation: None,
            skip: 0,
            limit: 0,
            counts: false,
            edges: None,
            projection: None,
            extras: Extras::default(),
        }
    }
}
