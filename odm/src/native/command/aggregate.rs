//! `aggregate`.

use super::super::aggregate::Statistics;
use super::super::aggregate::pipeline::{Output, Pipeline};
use super::super::aggregate::stage::CHANGE_STREAM;
use super::super::document::number::as_f64;
use super::super::document::{Doc, Kind, Value};
use super::super::exec::aggregate::{AggregateCursor, AggregateRequest, NO_COLLECTION, look_through};
use super::super::exec::collections::check_uuid;
use super::super::exec::explain::explain_aggregate;
use super::super::exec::{Namespace, output};
use super::super::fault::{Fault, Result, code};
use super::super::plan::check_natural;
use super::cursor::{Opened, Rows};
use super::shape::{Shape, Type, out_of_range, whole, wrong_type};
use super::write::refuse_encryption;
use super::{Call, Job, change_stream, collation, expected_uuid, generic, query};

pub(super) static AGGREGATE: Shape = Shape {
    name: "aggregate",
    fields: &[
        ("pipeline", Type::Own(check_pipeline)),
        ("explain", Type::Own(check_explain)),
        ("allowDiskUse", Type::Flag),
        ("cursor", Type::Own(check_cursor)),
        ("bypassDocumentValidation", Type::Boolish),
        ("hint", Type::Hint),
        ("collation", Type::Object),
        ("let", Type::Object),
        ("readConcern", Type::Object),
        ("writeConcern", Type::Own(check_write_concern)),
        ("maxTimeMS", Type::Own(check_time)),
        ("fromMongos", Type::Flag),
        ("needsMerge", Type::Flag),
        ("isMapReduceCommand", Type::Flag),
        ("collectionUUID", Type::Uuid),
        ("$queryOptions", Type::Object),
        ("encryptionInformation", Type::Object),
    ],
    required: &["pipeline"],
};

static CURSOR: Shape = Shape {
    name: "cursor",
    fields: &[("batchSize", Type::Count)],
    required: &[],
};

fn wrong(text: &str) -> Fault {
    Fault::new(code::TYPE_MISMATCH, text.to_owned())
}

fn check_pipeline(value: Value<'_>) -> Result<()> {
    let Value::Array(stages) = value else {
        return Err(wrong("'pipeline' option must be specified as an array"));
    };
    match stages.values().all(|stage| stage.kind() == Kind::Document) {
        true => Ok(()),
        false => Err(wrong("Each element of the 'pipeline' array must be an object")),
    }
}

fn check_explain(value: Value<'_>) -> Result<()> {
    match value.kind() {
        Kind::Bool => Ok(()),
        _ => Err(wrong("explain must be a boolean")),
    }
}

fn check_cursor(value: Value<'_>) -> Result<()> {
    match value {
        Value::Document(cursor) => CURSOR.part(cursor).map(drop),
        _ => Err(wrong("cursor field must be missing or an object")),
    }
}

fn check_write_concern(value: Value<'_>) -> Result<()> {
    match value {
        Value::Null | Value::Undefined => Ok(()),
        value => generic::write_concern("aggregate", &value),
    }
}

fn check_time(value: Value<'_>) -> Result<()> {
    match value {
        Value::Null | Value::Undefined => Ok(()),
        number if number.is_number() => match whole(&number) {
            Some(limit) if limit < 0 => Err(out_of_range("maxTimeMS", limit)),
            _ => Ok(()),
        },
        other => Err(wrong_type(
            "aggregate.maxTimeMS",
            other,
            "types '[long, int, decimal, double']",
        )),
    }
}

pub(super) fn aggregate(call: &Call<'_>) -> Result<Job> {
    run(call, None)
}

/// Explains a pipeline inside of `explain`, running it if `execute`.
pub(super) fn explain_pipeline(call: &Call<'_>, execute: bool) -> Result<Job> {
    run(call, Some(execute))
}

fn run(call: &Call<'_>, explained: Option<bool>) -> Result<Job> {
    let fields = AGGREGATE.command(call.doc)?;
    refuse_encryption(&fields)?;
    if explained.is_some() && fields.flag("explain") {
        return Err(Fault::new(
            code::FAILED_TO_PARSE,
            "The 'explain' option is illegal when a explain verbosity is also provided",
        ));
    }
    if fields.flag("explain") && call.doc.get("writeConcern").is_some() {
        return Err(Fault::new(
            code::FAILED_TO_PARSE,
            "Aggregation explain does not support the'writeConcern' option",
        ));
    }
    if fields.get("needsMerge").is_some() && fields.get("fromMongos").is_none() {
        return Err(Fault::new(
            code::FAILED_TO_PARSE,
            "Cannot specify 'needsMerge' without 'fromMongos'",
        ));
    }
    let whole_database = is_whole_database(&call.target)?;
    let namespace = if whole_database {
        Namespace {
            database: call.database.to_owned(),
            collection: NO_COLLECTION.to_owned(),
        }
    } else {
        call.namespace()?
    };
    let batch_size = match fields.object("cursor") {
        Some(cursor) => {
            let size = CURSOR.checked(cursor).number("batchSize");
            size.and_then(|size| usize::try_from(size).ok())
        }
        None if call.doc.get("explain").is_some() => None,
        None => {
            return Err(Fault::new(
                code::FAILED_TO_PARSE,
                "The 'cursor' option is required, except for aggregate with the explain argument",
            ));
        }
    };
    let mut stages = Vec::new();
    for stage in fields.array("pipeline").into_iter().flat_map(Doc::values) {
        match stage {
            Value::Document(stage) => stages.push(stage),
            _ => {
                return Err(Fault::new(
                    code::TYPE_MISMATCH,
                    "Each element of the 'pipeline' array must be an object",
                ));
            }
        }
    }
    // As on the server, which looks for what they read before it asks what else is said.
    look_through(&stages, call.database)?;
    if explained.is_none() {
        generic::check(call.name, call.doc)?;
    }
    let collation = collation(&fields)?;
    let expected = expected_uuid(&fields)?;
    let variables = query::variables(fields.object("let"), collation.as_ref(), call)?;
    let request = AggregateRequest {
        namespace,
        stages: stages.iter().map(|stage| stage.to_bytes()).collect(),
        above: None,
        variables,
        constants: fields.object("let").unwrap_or(Doc::empty()).to_bytes(),
        collation,
        hint: query::hint(fields.get("hint"))?.map(Into::into),
        batch_size: None,
        allow_disk_use: fields.flag("allowDiskUse"),
        unvalidated: fields.flag("bypassDocumentValidation"),
        now: call.now.millis,
        deadline: call.deadline()?,
    };
    check_strict(call, &stages)?;
    let is_explained = explained.is_some() || fields.flag("explain");
    if change_stream::is_begun(&stages) {
        return match expected {
            _ if is_explained => Err(Fault::unsupported(
                "the native engine does not explain change streams",
            )),
            None => change_stream::open(call, &request, batch_size),
            Some(_) => Err(Fault::new(
                4_928_900,
                "collectionUUID is not supported for a change stream",
            )),
        };
    }
    let mut pipeline = request.parse_seen()?;
    check_concern(call, &pipeline)?;
    // Of a hint it is told when constants were computed.
    check_natural(fields.get("hint").as_ref(), None, false)
        .or_else(|fault| request.settle(&mut pipeline).and(Err(fault)))?;
    if let Some(execute) = explained.or_else(|| fields.flag("explain").then_some(false)) {
        return Ok(Job::Read(Box::new(move |read| {
            check_uuid(read.catalog(), &request.namespace, expected)?;
            explain_aggregate(read, &request, execute)
        })));
    }
    if let Some(to) = pipeline.output() {
        if expected.is_some() {
            return Err(Fault::unsupported(
                "a pipeline that writes does not take collectionUUID here",
            ));
        }
        let target = output::parse(to, call.database, &request.names())?;
        return Ok(Job::Output(request, target, call.now));
    }
    Ok(Job::Open(Box::new(move |read| {
        check_uuid(read.catalog(), &request.namespace, expected)?;
        Ok(Opened {
            ns: request.namespace.to_string(),
            rows: Rows::Pipeline(Box::new(AggregateCursor::open(read, &request)?)),
            batch_size,
            single: false,
            listing: false,
            stays: false,
        })
    })))
}

/// Whether a pipeline reads no collection: it says so by the number 1.
fn is_whole_database(target: &Value<'_>) -> Result<bool> {
    match target {
        Value::String(_) => Ok(false),
        number if as_f64(number) == Some(1.0) => Ok(true),
        number if number.is_number() => Err(Fault::new(
            code::FAILED_TO_PARSE,
            "Invalid command format: the 'aggregate' field must specify a collection name or 1",
        )),
        other => Err(Fault::new(
            code::TYPE_MISMATCH,
            format!("collection name has invalid type: {}", other.kind().alias()),
        )),
    }
}

/// Refuses what version 1 of MongoDB's stable interface does not have, where only that is wanted.
fn check_strict(call: &Call<'_>, stages: &[Doc<'_>]) -> Result<()> {
    if !matches!(call.doc.get("apiStrict"), Some(Value::Bool(true))) {
        return Ok(());
    }
    let refused = |text: String| Err(Fault::new(323, text));
    if matches!(call.doc.get("fromMongos"), Some(Value::Bool(true))) {
        return refused(
            "'exchange' and 'fromMongos' option cannot be specified with 'apiStrict: true' in API Version 1"
                .to_owned(),
        );
    }
    for element in stages.iter().filter_map(|stage| stage.elements().next()) {
        match (element.name_str(), element.value()) {
            (CHANGE_STREAM, Value::Document(spec)) => change_stream::check_strict(spec)?,
            ("$collStats", Value::Document(asked)) if asked.elements().any(|own| own.name() != b"count") => {
                return refused(
                    "only the 'count' option to $collStats is supported in API Version 1".to_owned(),
                );
            }
            (
                name @ ("$currentOp" | "$indexStats" | "$listLocalSessions" | "$listSessions"
                | "$planCacheStats"),
                _,
            ) => {
                return refused(format!(
                    "stage {name} is not allowed with 'apiStrict: true' in API Version 1"
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Refuses levels of reading that a stage does not take.
fn check_concern(call: &Call<'_>, pipeline: &Pipeline) -> Result<()> {
    let concern = call
        .doc
        .get("readConcern")
        .and_then(|concern| concern.as_document());
    let Some(Value::String(level)) = concern.and_then(|concern| concern.get("level")) else {
        return Ok(());
    };
    let why = match (pipeline.statistics(), pipeline.output()) {
        (Some(Statistics::Plans), _) if level != "local" => {
            "Aggregation stage $planCacheStats cannot run with a readConcern other than 'local'"
        }
        (_, Some(Output::Out { .. })) if level == "linearizable" => {
            "$out cannot be used with a 'linearizable' read concern level"
        }
        (_, Some(Output::Merge(_))) if level == "linearizable" => {
            "$merge cannot be used with a 'linearizable' read concern level"
        }
        _ => return Ok(()),
    };
    Err(refused_concern(level, why))
}

pub(super) fn refused_concern(level: &str, why: &str) -> Fault {
    Fault::new(
        code::INVALID_OPTIONS,
        format!(
            "Command aggregate does not support {{ readConcern: {{ level: \"{level}\", provenance: \"clientSupplied\" }} }} :: caused by :: {why}"
        ),
    )
}
