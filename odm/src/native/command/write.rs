//! `insert`, `update` and `delete`.

use std::sync::Arc;

use super::super::collation::Collation;
use super::super::document::number::as_f64;
use super::super::document::{BUILDABLE_BYTES, Doc, Value};
use super::super::exec::aggregate::look_through;
use super::super::exec::query::Part;
use super::super::exec::series::BUCKETS;
use super::super::exec::statement::{Batch, DeleteStatement, RefusedUpdate, Statement, UpdateStatement};
use super::super::fault::{Fault, Result, code};
use super::super::update::Updater;
use super::query::{self, Variables};
use super::reply::Verb;
use super::shape::{Fields, Shape, Type};
use super::{Call, Job, collation, expected_uuid, generic};

/// How many statements a batch may have.
const MOST: usize = 100_000;

static INSERT: Shape = Shape {
    name: "insert",
    fields: &[
        ("documents", Type::Documents),
        ("ordered", Type::Bool),
        ("bypassDocumentValidation", Type::Boolish),
        ("stmtId", Type::Int),
        ("stmtIds", Type::Array),
        ("encryptionInformation", Type::Object),
        ("isTimeseriesNamespace", Type::Flag),
        ("collectionUUID", Type::Uuid),
    ],
    required: &["documents"],
};

static UPDATE: Shape = Shape {
    name: "update",
    fields: &[
        ("updates", Type::Parts(&UPDATE_ENTRY)),
        ("ordered", Type::Bool),
        ("bypassDocumentValidation", Type::Boolish),
        ("let", Type::Object),
        ("stmtId", Type::Int),
        ("stmtIds", Type::Array),
        ("encryptionInformation", Type::Object),
        ("isTimeseriesNamespace", Type::Flag),
        ("collectionUUID", Type::Uuid),
    ],
    required: &["updates"],
};

static UPDATE_ENTRY: Shape = Shape {
    name: "update.updates",
    fields: &[
        ("q", Type::Object),
        ("u", Type::Change),
        ("c", Type::Object),
        ("multi", Type::Bool),
        ("upsert", Type::Bool),
        ("arrayFilters", Type::Documents),
        ("hint", Type::Hint),
        ("collation", Type::Object),
        ("upsertSupplied", Type::Flag),
    ],
    required: &["q", "u"],
};

static DELETE: Shape = Shape {
    name: "delete",
    fields: &[
        ("deletes", Type::Parts(&DELETE_ENTRY)),
        ("ordered", Type::Bool),
        ("bypassDocumentValidation", Type::Boolish),
        ("let", Type::Object),
        ("stmtId", Type::Int),
        ("stmtIds", Type::Array),
        ("encryptionInformation", Type::Object),
        ("isTimeseriesNamespace", Type::Flag),
        ("collectionUUID", Type::Uuid),
    ],
    required: &["deletes"],
};

static DELETE_ENTRY: Shape = Shape {
    name: "delete.deletes",
    fields: &[
        ("q", Type::Object),
        ("limit", Type::Limit),
        ("hint", Type::Hint),
        ("collation", Type::Object),
    ],
    required: &["q", "limit"],
};

pub(super) fn insert(call: &Call<'_>) -> Result<Job> {
    let fields = INSERT.command(call.doc)?;
    let documents = fields.documents("documents");
    check_count(documents.len())?;
    let statements = documents
        .into_iter()
        .map(|document| {
            Statement::insert_changed(document, call.now)
                .unwrap_or_else(|| Statement::insert_unchanged(document.to_bytes()))
        })
        .collect();
    batch(call, &fields, statements, Verb::Insert)
}

pub(super) fn update(call: &Call<'_>) -> Result<Job> {
    let fields = UPDATE.command(call.doc)?;
    let entries = fields.documents("updates");
    check_count(entries.len())?;
    let entries = entries
        .into_iter()
        .map(|entry| {
            let entry = UPDATE_ENTRY.checked(entry);
            let change = change(&entry)?;
            let filters = entry.documents("arrayFilters");
            Ok((entry, change, filters))
        })
        .collect::<Result<Vec<_>>>()?;
    generic::check(call.name, call.doc)?;
    for (_, change, _) in &entries {
        change.check_stages(call.database)?;
    }
    let variables = query::variables(fields.object("let"), None, call);
    let mut statements = Vec::with_capacity(entries.len());
    for (entry, change, filters) in &entries {
        let statement = variables
            .as_ref()
            .map_err(Fault::clone)
            .and_then(|variables| update_statement(entry, change, filters, variables));
        statements.push(match statement {
            Ok(statement) => Statement::Update(Arc::new(statement)),
            Err(fault) => Statement::RefusedUpdate(Box::new(RefusedUpdate {
                fault,
                filter: entry.object("q").unwrap_or(Doc::empty()).to_bytes(),
                multi: entry.flag("multi"),
                upsert: entry.flag("upsert"),
                replaces: matches!(change, Change::Replacement(_)),
            })),
        });
    }
    batch(call, &fields, statements, Verb::Update)
}

pub(super) fn delete(call: &Call<'_>) -> Result<Job> {
    let fields = DELETE.command(call.doc)?;
    let entries = fields.documents("deletes");
    check_count(entries.len())?;
    let mut statements = Vec::with_capacity(entries.len());
    for entry in entries {
        let entry = DELETE_ENTRY.checked(entry);
        let statement = delete_statement(&entry, is_unlimited(&entry), |collation| {
            query::variables(fields.object("let"), collation, call)
        });
        statements.push(match statement {
            Ok(statement) => Statement::Delete(Arc::new(statement)),
            Err(fault) => Statement::Refused(fault),
        });
    }
    batch(call, &fields, statements, Verb::Delete)
}

/// Whether a deletion takes all that match: what is no number limits nothing.
fn is_unlimited(entry: &Fields<'_>) -> bool {
    let limit = entry.get("limit").and_then(|value| as_f64(&value));
    limit.is_none_or(|limit| limit == 0.0)
}

fn batch(call: &Call<'_>, fields: &Fields<'_>, statements: Vec<Statement>, verb: Verb) -> Result<Job> {
    refuse_encryption(fields)?;
    check_ids(fields, statements.len())?;
    let namespace = call.namespace()?;
    if fields.flag("isTimeseriesNamespace") && !namespace.collection.starts_with(BUCKETS) {
        return Err(Fault::new(
            5_916_400,
            "'isTimeseriesNamespace' parameter can only be set when the request is sent on system.buckets namespace",
        ));
    }
    let batch = Batch {
        namespace,
        expected: expected_uuid(fields)?,
        statements,
        ordered: fields.get("ordered").is_none() || fields.flag("ordered"),
        unvalidated: fields.flag("bypassDocumentValidation"),
        now: call.now,
        deadline: call.deadline()?,
    };
    Ok(Job::Batch(batch, verb))
}

/// Checks the numbers that a client gives its statements, which mean nothing here.
fn check_ids(fields: &Fields<'_>, count: usize) -> Result<()> {
    let Some(ids) = fields.array("stmtIds") else {
        return Ok(());
    };
    let mut given = 0;
    for (at, id) in ids.values().enumerate() {
        match id {
            Value::Int32(_) => given += 1,
            Value::Null | Value::Undefined => {}
            other => return Err(fields.wrong_item("stmtIds", at, other, "type 'int'")),
        }
    }
    if fields.get("stmtId").is_some() {
        return Err(Fault::new(
            code::INVALID_OPTIONS,
            "May not specify both stmtId and stmtIds in write command.",
        ));
    }
    if given == count {
        return Ok(());
    }
    Err(Fault::new(
        code::INVALID_LENGTH,
        format!(
            "Number of statement ids must match the number of batch entries. Got {given} statement ids but {count} operations."
        ),
    ))
}

/// Refuses to keep what clients find encrypted values by, which they ask for in this field.
pub(super) fn refuse_encryption(fields: &Fields<'_>) -> Result<()> {
    match fields.get("encryptionInformation") {
        None => Ok(()),
        Some(_) => Err(Fault::unsupported(
            "the embedded engine does not keep what encrypted values are found by (encryptionInformation)",
        )),
    }
}

fn check_count(count: usize) -> Result<()> {
    if (1..=MOST).contains(&count) {
        return Ok(());
    }
    Err(Fault::new(
        code::INVALID_LENGTH,
        format!("Write batch sizes must be between 1 and {MOST}. Got {count} operations."),
    ))
}

/// How documents are to change, told apart by its shape.
pub(super) enum Change<'a> {
    Operators(Doc<'a>),
    Replacement(Doc<'a>),
    Pipeline(Vec<Doc<'a>>),
}

impl<'a> Change<'a> {
    /// Of a value that was found to be a [`Type::Change`].
    pub(super) fn of(value: &Value<'a>) -> Change<'a> {
        if let Value::Array(stages) = value {
            return Change::Pipeline(stages.values().filter_map(|stage| stage.as_document()).collect());
        }
        let doc = value.as_document().unwrap_or(Doc::empty());
        match doc.elements().next() {
            Some(first) if first.name().starts_with(b"$") => Change::Operators(doc),
            _ => Change::Replacement(doc),
        }
    }

    /// Refuses a pipeline with what is no stage at all, and the whole command with it. A server has run the statements
    /// before it by then; here none runs.
    pub(super) fn check_stages(&self, database: &str) -> Result<()> {
        match self {
            Change::Pipeline(stages) => look_through(stages, database),
            Change::Operators(_) | Change::Replacement(_) => Ok(()),
        }
    }

    /// Parses it into what changes documents.
    pub(super) fn updater(&self, array_filters: &[Doc<'_>], variables: &Variables) -> Result<Updater> {
        match self {
            Change::Operators(update) => Updater::operators(*update, array_filters),
            Change::Replacement(document) => {
                // The server checks them, and then has no use for them.
                Updater::check_array_filters(array_filters)?;
                Updater::replacement(*document)
            }
            Change::Pipeline(_) if !array_filters.is_empty() => {
                Updater::check_array_filters(array_filters)?;
                Err(Fault::new(
                    code::FAILED_TO_PARSE,
                    "arrayFilters may not be specified for pipeline-style updates",
                ))
            }
            Change::Pipeline(stages) => Updater::pipeline(stages, variables.clone()),
        }
    }
}

fn change<'a>(entry: &Fields<'a>) -> Result<Change<'a>> {
    let value = entry.get("u").unwrap_or(Value::Null);
    let change = Change::of(&value);
    if let Change::Replacement(document) = &change
        && document.to_bytes().len() > BUILDABLE_BYTES
    {
        return Err(Fault::new(
            code::BSON_TOO_LARGE,
            "the replacement is larger than a document may be",
        ));
    }
    Ok(change)
}

fn update_statement(
    entry: &Fields<'_>,
    change: &Change<'_>,
    filters: &[Doc<'_>],
    variables: &Variables,
) -> Result<UpdateStatement> {
    let collation = collation(entry)?;
    let filter = entry.object("q").unwrap_or(Doc::empty());
    let (multi, upsert) = (entry.flag("multi"), entry.flag("upsert"));
    let own = entry.object("c");
    if multi && matches!(change, Change::Replacement(_)) {
        Updater::check_array_filters(filters)?;
        return Err(Fault::new(
            code::FAILED_TO_PARSE,
            "multi update is not supported for replacement-style update",
        ));
    }
    let supplied = match entry.flag("upsertSupplied") {
        true => Some(supplied(own, upsert)?),
        false => None,
    };
    if own.is_some() && !matches!(change, Change::Pipeline(_)) {
        Updater::check_array_filters(filters)?;
        return Err(Fault::new(
            51198,
            "Constant values may only be specified for pipeline updates",
        ));
    }
    let variables = query::with_own(variables, own.unwrap_or(Doc::empty()))?;
    // The server reads the update before the filter.
    let updater = change.updater(filters, &variables)?;
    if upsert {
        Updater::check_upsert_filter(filter)?;
    }
    let query =
        query::query(Some(filter), None, entry.get("hint"), &variables)?.settled_alone(collation.clone())?;
    let part = Part::default().updated_by(collation.as_ref());
    Ok(UpdateStatement {
        query: query.part(part),
        filter: filter.to_bytes(),
        updater: updater.collated(&collation.unwrap_or_default()),
        multi,
        upsert,
        supplied,
    })
}

/// The document that came along to be inserted.
fn supplied(constants: Option<Doc<'_>>, upsert: bool) -> Result<Updater> {
    let refused = |text: &'static str| Err(Fault::new(code::FAILED_TO_PARSE, text));
    if !upsert {
        return refused("cannot specify 'upsertSupplied: true' for a non-upsert operation");
    }
    match constants.and_then(|own| own.get("new")) {
        Some(Value::Document(document)) => Updater::replacement(document),
        _ => refused("the parameter 'upsertSupplied' is set to 'true', but no document was supplied"),
    }
}

fn delete_statement(
    entry: &Fields<'_>,
    multi: bool,
    variables: impl FnOnce(Option<&Collation>) -> Result<Variables>,
) -> Result<DeleteStatement> {
    let collation = collation(entry)?;
    let variables = variables(collation.as_ref())?;
    let query =
        query::query(entry.object("q"), None, entry.get("hint"), &variables)?.settled_alone(collation)?;
    Ok(DeleteStatement {
        query: query.part(Part::default().by(entry.object("collation"))),
        filter: entry.object("q").unwrap_or(Doc::empty()).to_bytes(),
        multi,
    })
}
