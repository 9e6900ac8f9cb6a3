//! `findAndModify`.

use super::super::document::{Doc, Kind, Owned, Value};
use super::super::exec::find_and_modify::{self, FindAndModifyRequest};
use super::super::exec::query::Part;
use super::super::fault::{Fault, Result, code};
use super::super::sort::SortSpec;
use super::super::update::Updater;
use super::reply::Reply;
use super::shape::{Shape, Type};
use super::write::{Change, refuse_encryption};
use super::{Call, Job, collation, generic, query};

pub(super) static FIND_AND_MODIFY: Shape = Shape {
    name: "findAndModify",
    fields: &[
        ("query", Type::Object),
        ("fields", Type::Object),
        ("sort", Type::Object),
        ("hint", Type::Hint),
        ("collation", Type::Object),
        ("arrayFilters", Type::Documents),
        ("remove", Type::Boolish),
        ("update", Type::Change),
        ("upsert", Type::Boolish),
        ("new", Type::Boolish),
        ("let", Type::Object),
        ("bypassDocumentValidation", Type::Boolish),
        ("stmtId", Type::Int),
        ("encryptionInformation", Type::Object),
        ("writeConcern", Type::Object),
    ],
    required: &[],
};

pub(super) fn find_and_modify(call: &Call<'_>) -> Result<Job> {
    let fields = FIND_AND_MODIFY.command(call.doc)?;
    generic::check(call.name, call.doc)?;
    refuse_encryption(&fields)?;
    let namespace = call.namespace()?;
    let (remove, upsert, return_new) = (fields.flag("remove"), fields.flag("upsert"), fields.flag("new"));
    let change = fields.get("update").map(|value| Change::of(&value));
    let refuse = |why: &'static str| Err(Fault::new(code::FAILED_TO_PARSE, why));
    match (&change, remove) {
        (None, false) => return refuse("Either an update or remove=true must be specified"),
        (Some(_), true) => return refuse("Cannot specify both an update and remove=true"),
        (None, true) if upsert => return refuse("Cannot specify both upsert=true and remove=true "),
        (None, true) if return_new => {
            return refuse(
                "Cannot specify both new=true and remove=true; 'remove' always returns the deleted document",
            );
        }
        _ => {}
    }
    let filters = fields.documents("arrayFilters");
    if remove && fields.array("arrayFilters").is_some() {
        return refuse("Cannot specify arrayFilters and remove=true");
    }
    if matches!(change, Some(Change::Pipeline(_))) && fields.array("arrayFilters").is_some() {
        return refuse("Cannot specify arrayFilters and a pipeline update");
    }
    let variables = query::variables(fields.object("let"), None, call)?;
    let collation = collation(&fields)?;
    let filter = fields.object("query").unwrap_or(Doc::empty());
    // The server reads the update before the filter.
    if let Some(change) = &change {
        change.check_stages(call.database)?;
    }
    let updater = change
        .as_ref()
        .map(|change| change.updater(&filters, &variables))
        .transpose()?
        .map(|updater| updater.collated(&collation.clone().unwrap_or_default()));
    // The server looks for a document of a known `_id` alone, and then has no use for an order.
    let by_id = fields.get("hint").is_none()
        && collation.is_none()
        && is_plain_id(filter)
        && !updater.as_ref().is_some_and(Updater::needs_position);
    if upsert {
        Updater::check_upsert_filter(filter)?;
    }
    let sort = fields.object("sort");
    let sought = sort.filter(|_| !by_id);
    let query = query::query(Some(filter), sought, fields.get("hint"), &variables)?;
    let mut query = query.settled_alone(collation)?;
    query.sort_by(sought)?;
    let part = Part::one(fields.object("sort").is_some());
    let part = match remove {
        true => part.by(fields.object("collation")),
        false => part.updated_by(query.collation()),
    };
    let query = query.part(part);
    let shown = fields.object("fields");
    let mut projection = query.projection_of_one(shown);
    // It reads the order after all where there is a projection to make, and a collection.
    if by_id && shown.is_some_and(|shown| !shown.is_empty()) {
        let read = |sort| SortSpec::check_natural(sort).and_then(|()| query.clone().sort_by(Some(sort)));
        projection = sort.map_or(Ok(()), read).and(projection);
    }
    let request = FindAndModifyRequest {
        namespace,
        query,
        filter: filter.to_bytes(),
        projection,
        updater,
        return_new,
        upsert,
        unvalidated: fields.flag("bypassDocumentValidation"),
        now: call.now,
        deadline: call.deadline()?,
    };
    Ok(Job::Write(Box::new(move |write| {
        let done = find_and_modify::run(write, &request)?;
        let happened = done.found || done.upserted.is_some();
        let mut last = Reply::new().with("n", Owned::Int32(i32::from(happened)));
        if !remove {
            last = last.with("updatedExisting", Owned::Bool(done.found));
        }
        if let Some(id) = done.upserted {
            last = last.with("upserted", id);
        }
        let value = done.value.map_or(Owned::Null, Owned::RawDocument);
        Ok(Reply::new()
            .with("lastErrorObject", last.inner())
            .with("value", value)
            .done())
    })))
}

/// Whether the filter is one value for `_id` and nothing else.
fn is_plain_id(filter: Doc<'_>) -> bool {
    let mut elements = filter.elements();
    let (Some(only), None) = (elements.next(), elements.next()) else {
        return false;
    };
    only.name() == b"_id"
        && match only.value() {
            Value::Document(value) => !value
                .elements()
                .next()
                .is_some_and(|first| first.name().starts_with(b"$")),
            value => !matches!(
                value.kind(),
                Kind::Array
                    | Kind::Null
                    | Kind::Undefined
                    | Kind::Regex
                    | Kind::MinKey
                    | Kind::MaxKey
                    | Kind::Symbol
                    | Kind::Code
                    | Kind::CodeWithScope
                    | Kind::DbPointer
            ),
        }
}
