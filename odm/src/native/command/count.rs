//! `count` and `distinct`.

use super::super::collation::Collation;
use super::super::document::{Owned, Value};
use super::super::exec::query::{Part, Query};
use super::super::exec::{Namespace, count as counting, distinct as values, view};
use super::super::fault::{Fault, Result, code};
use super::super::matcher::integer;
use super::super::storage::Read;
use super::reply::{self, Reply};
use super::shape::{Shape, Type, whole};
use super::write::refuse_encryption;
use super::{Call, Job, collation, find, query};

pub(super) static COUNT: Shape = Shape {
    name: "count",
    fields: &[
        ("query", Type::Object),
        ("fields", Type::Any),
        ("limit", Type::Own(check_limit)),
        ("skip", Type::Count),
        ("hint", Type::Hint),
        ("collation", Type::Object),
        ("$queryOptions", Type::Object),
        ("encryptionInformation", Type::Object),
    ],
    required: &[],
};

pub(super) static DISTINCT: Shape = Shape {
    name: "distinct",
    fields: &[
        ("key", Type::String),
        ("query", Type::Object),
        ("collation", Type::Object),
        ("$queryOptions", Type::Any),
    ],
    required: &["key"],
};

fn check_limit(limit: Value<'_>) -> Result<()> {
    if !limit.is_number() {
        return Err(Fault::new(code::BAD_VALUE, "limit value is not a valid number"));
    }
    integer::parse("limit", &limit)?;
    match whole(&limit) {
        Some(i64::MIN) => Err(Fault::new(
            code::BAD_VALUE,
            "limit value for count cannot be min long",
        )),
        _ => Ok(()),
    }
}

pub(super) fn count(call: &Call<'_>) -> Result<Job> {
    let fields = COUNT.command(call.doc)?;
    refuse_encryption(&fields)?;
    let namespace = call.namespace()?;
    let collation = collation(&fields)?;
    // A negative limit counts as its amount.
    let limit = fields.number("limit").unwrap_or(0).unsigned_abs();
    let is_none = fields.get("limit").is_some() && limit == 0;
    let skip = fields.count("skip")?.unwrap_or(0);
    let query = query::query(
        fields.object("query"),
        None,
        fields.get("hint"),
        &query::Variables::new(),
    )?
    .part(Part::default().by(fields.object("collation")));
    let deadline = call.deadline()?;
    Ok(Job::Read(Box::new(move |read| {
        // Of a view it is a stage of its own.
        if is_none && view::view_of(read.catalog(), &namespace).is_some() {
            return Err(Fault::new(15958, "the limit must be positive"));
        }
        let query = settled(read, &namespace, query, collation)?;
        let number = counting::count(read, &namespace, &query, skip, limit, deadline)?;
        Ok(of(read, &namespace, Reply::new().with("n", reply::count(number))))
    })))
}

/// With all computed that depends on no document. There is no time, but in a pipeline, which it is on a view.
fn settled(
    read: &dyn Read,
    namespace: &Namespace,
    query: Query,
    collation: Option<Collation>,
) -> Result<Query> {
    match view::view_of(read.catalog(), namespace) {
        Some(_) => Ok(query.collated(collation)),
        None => query.without_clock().settled_alone(collation),
    }
}

/// A reply about a view is made of a pipeline's: its `ok` is an int.
fn of(read: &dyn Read, namespace: &Namespace, reply: Reply) -> Vec<u8> {
    match view::view_of(read.catalog(), namespace) {
        Some(_) => reply.done_with(Owned::Int32(1)),
        None => reply.done(),
    }
}

pub(super) fn distinct(call: &Call<'_>) -> Result<Job> {
    let fields = DISTINCT.command(call.doc)?;
    find::document(&fields, "$queryOptions")?;
    let namespace = call.namespace()?;
    let key = fields.string("key").unwrap_or_default().to_owned();
    if key.contains('\0') {
        return Err(Fault::new(
            31032,
            "Key field cannot contain an embedded null byte",
        ));
    }
    let collation = collation(&fields)?;
    let query = query::query(fields.object("query"), None, None, &query::Variables::new())?;
    let deadline = call.deadline()?;
    Ok(Job::Read(Box::new(move |read| {
        let query = settled(read, &namespace, query, collation)?;
        let found = values::distinct(read, &namespace, &key, &query, deadline)?;
        let reply = Reply::new().with("values", Owned::Array(found));
        Ok(of(read, &namespace, reply))
    })))
}
