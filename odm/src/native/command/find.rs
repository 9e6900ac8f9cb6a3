//! `find`, `getMore` and `killCursors`.

use std::sync::Arc;

use super::super::document::{Doc, Kind, Value};
use super::super::exec::cursor::{Extras, FindCursor, FindRequest};
use super::super::exec::tail::{Tail, TailCursor};
use super::super::exec::view;
use super::super::fault::{Fault, Result, code};
use super::super::plan::Edges;
use super::cursor::{Opened, Rows};
use super::shape::{Fields, Shape, Type, out_of_range};
use super::{Call, Job, collation, query};

pub(super) static FIND: Shape = Shape {
    name: "FindCommandRequest",
    fields: &[
        ("filter", Type::Any),
        ("projection", Type::Any),
        ("sort", Type::Any),
        ("hint", Type::Any),
        ("collation", Type::Object),
        ("skip", Type::Number),
        ("limit", Type::Number),
        ("batchSize", Type::Number),
        ("singleBatch", Type::Boolish),
        ("allowDiskUse", Type::Boolish),
        ("min", Type::Object),
        ("max", Type::Object),
        ("returnKey", Type::Boolish),
        ("showRecordId", Type::Boolish),
        ("tailable", Type::Boolish),
        ("awaitData", Type::Boolish),
        ("oplogReplay", Type::Boolish),
        ("noCursorTimeout", Type::Boolish),
        ("allowPartialResults", Type::Boolish),
        ("mirrored", Type::Boolish),
        ("readOnce", Type::Boolish),
        ("let", Type::Object),
    ],
    required: &[],
};

static GET_MORE: Shape = Shape {
    name: "getMore",
    fields: &[
        ("collection", Type::String),
        ("batchSize", Type::Number),
        ("term", Type::Long),
        ("lastKnownCommittedOpTime", Type::Object),
    ],
    required: &["collection"],
};

static KILL_CURSORS: Shape = Shape {
    name: "killCursors",
    fields: &[("cursors", Type::Array)],
    required: &["cursors"],
};

pub(super) fn find(call: &Call<'_>) -> Result<Job> {
    let fields = FIND.command(call.doc)?;
    let namespace = call.namespace()?;
    let (filter, projection, sort) = (
        document(&fields, "filter")?,
        document(&fields, "projection")?,
        document(&fields, "sort")?,
    );
    let collation = collation(&fields)?;
    if fields.flag("awaitData") && !fields.flag("tailable") {
        return Err(Fault::new(
            code::FAILED_TO_PARSE,
            "Cannot set 'awaitData' without also setting 'tailable'",
        ));
    }
    let (skip, limit) = (fields.count("skip")?, fields.count("limit")?);
    let batch_size = fields.count("batchSize")?;
    let variables = query::variables(fields.object("let"), call)?;
    let query = query::query(filter, sort, fields.get("hint"), &variables)?.collated(collation);
    let projection = query::projection(projection, &query)?.map(Arc::new);
    let query = query
        .between(edges(&fields)?)
        .projected(document(&fields, "projection")?);
    let deadline = call.deadline()?;
    let ns = namespace.to_string();
    let single = fields.flag("singleBatch");
    // Of one document it makes no difference.
    let one = limit == Some(1);
    let of_collections = ["allowPartialResults", "noCursorTimeout", "singleBatch"]
        .into_iter()
        .find(|name| fields.flag(name) && !(one && *name == "singleBatch"));
    let tailable = fields.flag("tailable");
    let request = FindRequest {
        namespace,
        query,
        projection,
        skip: skip.unwrap_or(0),
        limit: limit.unwrap_or(0),
        batch_size: None,
        tail: tailable.then_some(Tail::Poll),
        extras: extras(&fields),
        deadline,
    };
    Ok(Job::Open(Box::new(move |read| {
        if let Some(name) = of_collections
            && view::view_of(read.catalog(), &request.namespace).is_some()
        {
            return Err(Fault::new(
                168,
                format!("Option {name} not supported in aggregation."),
            ));
        }
        if tailable {
            TailCursor::open(read, request)?;
            return Err(Fault::unsupported(
                "commands do not follow a capped collection; the typed find does",
            ));
        }
        // Of what does not exist the server answers as of a listing.
        let listing = read
            .catalog()
            .collection(&request.namespace.database, &request.namespace.collection)
            .is_none();
        Ok(Opened {
            ns,
            rows: Rows::Find(Box::new(FindCursor::open(read, request)?)),
            batch_size: batch_size.map(|size| usize::try_from(size).unwrap_or(usize::MAX)),
            single,
            listing,
        })
    })))
}

/// The part of an index that a find names.
pub(super) fn edges(fields: &Fields<'_>) -> Result<Option<Edges>> {
    let edge = |name| Ok::<_, Fault>(document(fields, name)?.unwrap_or(Doc::empty()));
    Edges::parse(edge("min")?, edge("max")?)
}

/// What a find asks beside documents.
pub(super) fn extras(fields: &Fields<'_>) -> Extras {
    Extras {
        return_key: fields.flag("returnKey"),
        record_id: fields.flag("showRecordId"),
    }
}

/// A document among the fields of a find, with find's own complaint.
pub(super) fn document<'a>(fields: &Fields<'a>, name: &str) -> Result<Option<Doc<'a>>> {
    match fields.get(name) {
        None => Ok(None),
        Some(Value::Document(doc)) => Ok(Some(doc)),
        Some(_) => Err(Fault::new(
            code::TYPE_MISMATCH,
            format!("Expected field {name}to be of type object"),
        )),
    }
}

pub(super) fn get_more(call: &Call<'_>) -> Result<Job> {
    let fields = GET_MORE.command(call.doc)?;
    let Value::Int64(id) = call.target else {
        return Err(Fault::new(
            code::TYPE_MISMATCH,
            format!(
                "BSON field 'getMore.getMore' is the wrong type '{}', expected type 'long'",
                call.target.kind().alias()
            ),
        ));
    };
    let collection = fields.string("collection").unwrap_or_default();
    let batch_size = match fields.number("batchSize") {
        Some(size) if size < 0 => return Err(out_of_range("batchSize", size)),
        // Of a following batch, zero means no limit.
        Some(0) | None => None,
        Some(size) => usize::try_from(size).ok(),
    };
    Ok(Job::More {
        id,
        ns: format!("{}.{collection}", call.database),
        batch_size,
    })
}

pub(super) fn kill_cursors(call: &Call<'_>) -> Result<Job> {
    let fields = KILL_CURSORS.command(call.doc)?;
    let namespace = call.namespace()?;
    let mut ids = Vec::new();
    for value in fields.array("cursors").into_iter().flat_map(Doc::values) {
        match value {
            Value::Int64(id) => ids.push(id),
            other => {
                let kind: Kind = other.kind();
                return Err(Fault::new(
                    code::TYPE_MISMATCH,
                    format!(
                        "BSON field 'killCursors.cursors.0' is the wrong type '{}', expected type 'long'",
                        kind.alias()
                    ),
                ));
            }
        }
    }
    Ok(Job::Kill {
        ids,
        ns: namespace.to_string(),
    })
}
