//! `find`, `getMore` and `killCursors`.

use std::sync::Arc;
use std::time::Duration;

use super::super::document::{Doc, Value};
use super::super::exec::collections::check_uuid;
use super::super::exec::cursor::{Extras, FindCursor, FindRequest, IN_FIND};
use super::super::exec::query::Part;
use super::super::exec::tail::{Tail, TailCursor, check_followable};
use super::super::fault::{Fault, Result, code};
use super::super::plan::Edges;
use super::cursor::{More, Opened, Rows};
use super::reply::text;
use super::shape::{Fields, Shape, Type, out_of_range, wrong_type};
use super::write::refuse_encryption;
use super::{Call, Job, collation, expected_uuid, generic, query};

static FIND: Shape = Shape {
    name: "FindCommandRequest",
    fields: &[
        ("filter", Type::Asked),
        ("projection", Type::Asked),
        ("sort", Type::Asked),
        ("hint", Type::Hint),
        ("collation", Type::Asked),
        ("skip", Type::Count),
        ("limit", Type::Count),
        ("batchSize", Type::Count),
        ("singleBatch", Type::Flag),
        ("allowDiskUse", Type::Flag),
        ("min", Type::Asked),
        ("max", Type::Asked),
        ("returnKey", Type::Flag),
        ("showRecordId", Type::Flag),
        ("tailable", Type::Flag),
        ("awaitData", Type::Flag),
        ("oplogReplay", Type::Flag),
        ("noCursorTimeout", Type::Flag),
        ("allowPartialResults", Type::Flag),
        ("readOnce", Type::Flag),
        ("let", Type::Object),
        ("options", Type::Object),
        ("ntoreturn", Type::Count),
        ("allowSpeculativeMajorityRead", Type::Flag),
        ("collectionUUID", Type::Uuid),
        ("$queryOptions", Type::Asked),
        ("encryptionInformation", Type::Object),
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

/// What a find asks for, all of it checked.
pub(super) struct Asked {
    pub(super) request: FindRequest,
    /// The UUID that the collection must have.
    expected: Option<[u8; 16]>,
    batch_size: Option<u64>,
}

pub(super) fn ask(call: &Call<'_>, fields: &Fields<'_>) -> Result<Asked> {
    let namespace = call.namespace()?;
    let expected = expected_uuid(fields)?;
    let (filter, projection, sort) = (
        document(fields, "filter")?,
        document(fields, "projection")?,
        document(fields, "sort")?,
    );
    let (skip, limit) = (fields.count("skip")?, fields.count("limit")?);
    let batch_size = fields.count("batchSize")?;
    query::hint(fields.get("hint"))?;
    let edges = edges(fields)?;
    let collation = collation(fields)?;
    let variables = query::variables(fields.object("let"), collation.as_ref(), call)?;
    let mut query = query::query(filter, sort, fields.get("hint"), &variables)?
        .collated(collation)
        .with_constants(fields.object("let"));
    let shown = query.shown_in(projection, sort);
    let projection = match shown {
        Ok(projection) => projection.map(Arc::new),
        // Constants of the filter are computed before these are read.
        Err(fault) => return Err(query.settled().err().unwrap_or(fault)),
    };
    let query = query
        .run_by(IN_FIND)
        .part(Part {
            batch_size: batch_size.and_then(|size| u32::try_from(size).ok()),
            limit: limit.unwrap_or(0),
            skip: skip.unwrap_or(0),
            ..Part::default().by(fields.object("collation"))
        })
        .between(edges)
        .projected(document(fields, "projection")?);
    let deadline = call.deadline()?;
    let request = FindRequest {
        namespace,
        query,
        projection,
        skip: skip.unwrap_or(0),
        limit: limit.unwrap_or(0),
        batch_size: None,
        tail: fields.flag("tailable").then_some(match fields.flag("awaitData") {
            true => Tail::Await,
            false => Tail::Poll,
        }),
        extras: extras(fields)?,
        deadline,
    };
    Ok(Asked {
        request,
        expected,
        batch_size,
    })
}

pub(super) fn find(call: &Call<'_>) -> Result<Job> {
    let fields = fields(call.doc)?;
    let Asked {
        request,
        expected,
        batch_size,
    } = ask(call, &fields)?;
    let ns = request.namespace.to_string();
    let single = fields.flag("singleBatch");
    let stays = fields.flag("noCursorTimeout");
    let tailable = request.tail.is_some();
    Ok(Job::Open(Box::new(move |read| {
        check_uuid(read.catalog(), &request.namespace, expected)?;
        // Of what does not exist the server answers as of a listing.
        let listing = read
            .catalog()
            .collection(&request.namespace.database, &request.namespace.collection)
            .is_none();
        let (rows, ends) = match tailable {
            false => (Rows::Find(Box::new(FindCursor::open(read, request)?)), listing),
            true => {
                let cursor = TailCursor::open(read, request)?;
                let ends = cursor.ends_at_once(read)?;
                (Rows::Tail(Box::new(cursor)), ends)
            }
        };
        Ok(Opened {
            ns,
            rows,
            batch_size: batch_size.map(|size| usize::try_from(size).unwrap_or(usize::MAX)),
            // Nor does it keep anything open.
            single: single || ends,
            listing,
            stays,
        })
    })))
}

/// The fields of a find.
pub(super) fn fields(doc: Doc<'_>) -> Result<Fields<'_>> {
    let fields = FIND.command(doc)?;
    refuse_encryption(&fields)?;
    let returned = fields.count("ntoreturn")?;
    let is_bounded = ["limit", "batchSize"]
        .iter()
        .any(|other| fields.get(other).is_some());
    if returned.is_some() && is_bounded {
        return Err(Fault::new(
            code::BAD_VALUE,
            "'limit' or 'batchSize' fields can not be set with 'ntoreturn' field.",
        ));
    }
    if fields.flag("awaitData") && !fields.flag("tailable") {
        return Err(Fault::new(
            code::FAILED_TO_PARSE,
            "Cannot set 'awaitData' without also setting 'tailable'",
        ));
    }
    if fields.flag("tailable") {
        check_followable(document(&fields, "sort")?, fields.flag("singleBatch"))?;
    }
    match returned {
        None => Ok(fields),
        Some(_) => Err(Fault::new(
            5_746_102,
            "the ntoreturn find command parameter is not supported when FCV >= 5.1",
        )),
    }
}

/// The part of an index that a find names.
fn edges(fields: &Fields<'_>) -> Result<Option<Edges>> {
    let edge = |name| Ok::<_, Fault>(document(fields, name)?.unwrap_or(Doc::empty()));
    Edges::parse(edge("min")?, edge("max")?)
}

/// What a find asks beside documents.
fn extras(fields: &Fields<'_>) -> Result<Extras> {
    // Of one document a single batch makes no difference.
    let is_one = fields.count("limit")? == Some(1);
    let of_collections = ["noCursorTimeout", "allowPartialResults", "singleBatch"]
        .into_iter()
        .find(|name| fields.flag(name) && !(is_one && *name == "singleBatch"));
    Ok(Extras {
        return_key: fields.flag("returnKey"),
        record_id: fields.flag("showRecordId"),
        in_memory: fields.get("allowDiskUse").is_some() && !fields.flag("allowDiskUse"),
        of_collections,
    })
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
    if let Some(Value::String(name)) = call.doc.get("collection")
        && let Err(fault) = of_cursor(call, name)
    {
        // What comes before the name is complained of before it.
        let before = call
            .doc
            .elements()
            .take_while(|element| element.name() != b"collection");
        let before = before.map(|element| (element.name_str().to_owned(), element.value().into()));
        let name = ("collection".to_owned(), text(name));
        GET_MORE.command(Doc::Fields(&before.chain([name]).collect::<Vec<_>>()))?;
        return Err(fault);
    }
    let fields = GET_MORE.command(call.doc)?;
    if matches!(call.target, Value::Null | Value::Undefined) {
        return Err(GET_MORE.missing("getMore"));
    }
    let Value::Int64(id) = call.target else {
        return Err(wrong_type("getMore.getMore", call.target, "type 'long'"));
    };
    let ns = of_cursor(call, fields.string("collection").unwrap_or_default())?;
    let batch_size = match fields.number("batchSize") {
        Some(size) if size < 0 => return Err(out_of_range("batchSize", size)),
        // Of a following batch, zero means no limit.
        Some(0) | None => None,
        Some(size) => usize::try_from(size).ok(),
    };
    let is_timed = call.doc.get("maxTimeMS").is_some();
    let time = generic::max_time(call.name, call.doc)?.unwrap_or(0);
    Ok(Job::More(More {
        id,
        ns,
        batch_size,
        patience: is_timed.then(|| Duration::from_millis(time)),
    }))
}

pub(super) fn kill_cursors(call: &Call<'_>) -> Result<Job> {
    let fields = KILL_CURSORS.command(call.doc)?;
    // It need not be theirs.
    of_cursor(call, call.text_of(&call.target)?)?;
    let mut ids = Vec::new();
    for (at, value) in fields
        .array("cursors")
        .into_iter()
        .flat_map(Doc::values)
        .enumerate()
    {
        match value {
            Value::Int64(id) => ids.push(id),
            Value::Null | Value::Undefined => {}
            other => {
                return Err(fields.wrong_item("cursors", at, other, "type 'long'"));
            }
        }
    }
    Ok(Job::Kill { ids })
}

/// The namespace that a cursor is said to be of: whether a collection may have that name does not matter.
fn of_cursor(call: &Call<'_>, collection: &str) -> Result<String> {
    let why = if collection.is_empty() {
        "Collection names cannot be empty".to_owned()
    } else if collection.starts_with('.') {
        format!("Collection names cannot start with '.': {collection}")
    } else if collection.contains('\0') {
        "Collection names cannot have embedded null characters".to_owned()
    } else {
        return Ok(format!("{}.{collection}", call.database));
    };
    Err(Fault::new(code::INVALID_NAMESPACE, why))
}
