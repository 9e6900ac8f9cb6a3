//! Commands as raw documents: for batches of statements and for `explain`, where the driver has no method.

use bson::raw::{CStr, cstr};
use bson::{RawArrayBuf, RawBson, RawDocumentBuf, rawdoc};

use super::read::counting;
use super::{Attempt, limit};
use crate::backend::{
    Aggregate, Count, DeleteStatement, Distinct, Find, FindAndModify, Modification, Operation, ReadOptions,
    UpdateStatement,
};
use crate::error::{Error, ErrorKind};

/// One statement of an `update` command.
pub(super) fn update_statement(statement: &UpdateStatement) -> RawDocumentBuf {
    let mut out = RawDocumentBuf::new();
    out.append(cstr!("q"), statement.filter.clone());
    out.append(cstr!("u"), modification(&statement.modification));
    if statement.multi {
        out.append(cstr!("multi"), true);
    }
    if statement.upsert {
        out.append(cstr!("upsert"), true);
    }
    if !statement.array_filters.is_empty() {
        out.append(cstr!("arrayFilters"), array(&statement.array_filters));
    }
    place(&mut out, statement.hint.as_ref(), statement.collation.as_ref());
    out
}

/// One statement of a `delete` command.
pub(super) fn delete_statement(statement: &DeleteStatement) -> RawDocumentBuf {
    let mut out = RawDocumentBuf::new();
    out.append(cstr!("q"), statement.filter.clone());
    out.append(cstr!("limit"), i32::from(!statement.multi));
    place(&mut out, statement.hint.as_ref(), statement.collation.as_ref());
    out
}

/// A command over a list of statements (`updates`, `deletes`).
pub(super) fn batch(
    verb: &'static CStr,
    list: &'static CStr,
    collection: &str,
    statements: &[RawDocumentBuf],
    ordered: bool,
    options: &ReadOptions,
) -> RawDocumentBuf {
    let mut out = RawDocumentBuf::new();
    out.append(verb, collection);
    out.append(list, array(statements));
    out.append(cstr!("ordered"), ordered);
    finish(&mut out, options);
    out
}

/// The command that an operation is, for `explain`.
pub(super) fn explainable(operation: &Operation) -> Attempt<RawDocumentBuf> {
    Ok(match operation {
        Operation::Find(find) => find_command(find),
        Operation::Aggregate(aggregate) => aggregate_command(aggregate),
        Operation::Count(count) => count_command(count),
        Operation::Distinct(distinct) => distinct_command(distinct),
        Operation::Update(update) => {
            let statements: Vec<_> = update.statements.iter().map(update_statement).collect();
            batch(
                cstr!("update"),
                cstr!("updates"),
                &update.namespace.collection,
                &statements,
                update.ordered,
                &update.options,
            )
        }
        Operation::Delete(delete) => {
            let statements: Vec<_> = delete.statements.iter().map(delete_statement).collect();
            batch(
                cstr!("delete"),
                cstr!("deletes"),
                &delete.namespace.collection,
                &statements,
                delete.ordered,
                &delete.options,
            )
        }
        Operation::FindAndModify(change) => find_and_modify_command(change),
        other => {
            return Err(
                Error::new(ErrorKind::Unsupported, "this operation has no plan to explain")
                    .with_operation(other.name())
                    .into(),
            );
        }
    })
}

fn find_command(find: &Find) -> RawDocumentBuf {
    let mut out = rawdoc! { "find": find.namespace.collection.as_str(), "filter": find.filter.clone() };
    optional(&mut out, cstr!("sort"), find.sort.as_ref());
    optional(&mut out, cstr!("projection"), find.projection.as_ref());
    number(&mut out, cstr!("skip"), find.skip);
    number(&mut out, cstr!("limit"), find.limit);
    with_place(&mut out, &find.options);
    out
}

fn aggregate_command(aggregate: &Aggregate) -> RawDocumentBuf {
    let mut out = rawdoc! {
        "aggregate": aggregate.namespace.collection.as_str(),
        "pipeline": array(&aggregate.pipeline),
        "cursor": {},
    };
    if aggregate.allow_disk_use {
        out.append(cstr!("allowDiskUse"), true);
    }
    with_place(&mut out, &aggregate.options);
    out
}

fn count_command(count: &Count) -> RawDocumentBuf {
    if count.options.variables.is_some() {
        let mut out = rawdoc! {
            "aggregate": count.namespace.collection.as_str(),
            "pipeline": array(&counting(count)),
            "cursor": {},
        };
        with_place(&mut out, &count.options);
        return out;
    }
    let mut out = rawdoc! { "count": count.namespace.collection.as_str(), "query": count.filter.clone() };
    number(&mut out, cstr!("skip"), count.skip);
    number(&mut out, cstr!("limit"), count.limit);
    with_place(&mut out, &count.options);
    out
}

fn distinct_command(distinct: &Distinct) -> RawDocumentBuf {
    let mut out = rawdoc! {
        "distinct": distinct.namespace.collection.as_str(),
        "key": distinct.key.as_str(),
        "query": distinct.filter.clone(),
    };
    with_place(&mut out, &distinct.options);
    out
}

/// The `findAndModify` command.
pub(super) fn find_and_modify_command(change: &FindAndModify) -> RawDocumentBuf {
    let mut out =
        rawdoc! { "findAndModify": change.namespace.collection.as_str(), "query": change.filter.clone() };
    optional(&mut out, cstr!("sort"), change.sort.as_ref());
    optional(&mut out, cstr!("fields"), change.projection.as_ref());
    match &change.modification {
        None => out.append(cstr!("remove"), true),
        Some(own) => {
            out.append(cstr!("update"), modification(own));
            out.append(cstr!("new"), change.return_new);
            out.append(cstr!("upsert"), change.upsert);
        }
    }
    if !change.array_filters.is_empty() {
        out.append(cstr!("arrayFilters"), array(&change.array_filters));
    }
    with_place(&mut out, &change.options);
    out
}

/// What a modification is on the wire.
fn modification(modification: &Modification) -> RawBson {
    match modification {
        Modification::Operators(document) | Modification::Replacement(document) => {
            RawBson::Document(document.clone())
        }
        Modification::Pipeline(stages) => RawBson::Array(array(stages)),
    }
}

fn array(documents: &[RawDocumentBuf]) -> RawArrayBuf {
    documents.iter().map(|document| document.as_ref()).collect()
}

fn optional(out: &mut RawDocumentBuf, name: &'static CStr, value: Option<&RawDocumentBuf>) {
    if let Some(value) = value {
        out.append(name, value.clone());
    }
}

fn number(out: &mut RawDocumentBuf, name: &'static CStr, value: u64) {
    if value > 0 {
        out.append(name, i64::try_from(value).unwrap_or(i64::MAX));
    }
}

fn place(out: &mut RawDocumentBuf, hint: Option<&RawBson>, collation: Option<&RawDocumentBuf>) {
    if let Some(hint) = hint {
        out.append(cstr!("hint"), hint.clone());
    }
    optional(out, cstr!("collation"), collation);
}

fn with_place(out: &mut RawDocumentBuf, options: &ReadOptions) {
    place(out, options.hint.as_ref(), options.collation.as_ref());
    finish(out, options);
}

fn finish(out: &mut RawDocumentBuf, options: &ReadOptions) {
    optional(out, cstr!("let"), options.variables.as_ref());
    if let Some(comment) = &options.comment {
        out.append(cstr!("comment"), comment.as_str());
    }
    if let Some(limit) = limit::time(options.max_time) {
        out.append(
            cstr!("maxTimeMS"),
            i64::try_from(limit.as_millis()).unwrap_or(i64::MAX),
        );
    }
}
