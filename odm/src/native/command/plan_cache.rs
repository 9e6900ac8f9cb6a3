//! `planCacheClear`, and the index filters. Plans are not kept here: each query gets its own.

use std::sync::Arc;

use super::super::catalog::Collection;
use super::super::catalog::filters::IndexFilter;
use super::super::collation::Collation;
use super::super::document::{Doc, Kind, Owned, Value};
use super::super::exec::query::Query;
use super::super::exec::{Namespace, view};
use super::super::fault::{Fault, Result, code};
use super::super::storage::Read;
use super::reply::{self, Reply};
use super::{Call, Job};

/// What queries of a shape have in common, as a command names it.
struct Asked {
    shape: String,
    filter: IndexFilter,
}

pub(super) fn clear(call: &Call<'_>) -> Result<Job> {
    let namespace = call.namespace()?;
    let command = call.doc.to_bytes();
    Ok(Job::Read(Box::new(move |read| {
        view::refuse(read.catalog(), &namespace)?;
        if find(read, &namespace).is_some() {
            asked(Doc::Raw(&command))?;
        }
        Ok(reply::ok())
    })))
}

pub(super) fn set_filter(call: &Call<'_>) -> Result<Job> {
    let namespace = call.namespace()?;
    let command = call.doc.to_bytes();
    Ok(Job::Read(Box::new(move |read| {
        view::refuse(read.catalog(), &namespace)?;
        let collection = find(read, &namespace).ok_or_else(|| bad("no such collection"))?;
        let command = Doc::Raw(&command);
        let indexes = indexes(command)?;
        if let Some(asked) = asked(command)? {
            collection.filters.set(IndexFilter {
                indexes,
                ..asked.filter
            });
        }
        Ok(reply::ok())
    })))
}

/// The indexes that a filter leaves.
fn indexes(command: Doc<'_>) -> Result<Vec<Owned>> {
    if command.get("query").is_none() {
        return Err(bad("required field query missing"));
    }
    let indexes = match command.get("indexes") {
        None => return Err(bad("required field indexes missing")),
        Some(Value::Array(indexes)) if indexes.is_empty() => {
            return Err(bad("required field indexes must contain at least one index"));
        }
        Some(Value::Array(indexes)) => indexes,
        Some(_) => return Err(bad("required field indexes must be an array")),
    };
    let indexes = indexes.values().map(|index| match index {
        Value::String(_) => Ok(Owned::from(index)),
        Value::Document(pattern) if pattern.is_empty() => Err(bad("index specification cannot be empty")),
        Value::Document(_) => Ok(Owned::from(index)),
        _ => Err(bad("each item in indexes must be an object or string")),
    });
    indexes.collect()
}

pub(super) fn clear_filters(call: &Call<'_>) -> Result<Job> {
    let namespace = call.namespace()?;
    let command = call.doc.to_bytes();
    Ok(Job::Read(Box::new(move |read| {
        view::refuse(read.catalog(), &namespace)?;
        if let Some(collection) = find(read, &namespace) {
            let asked = asked(Doc::Raw(&command))?;
            collection
                .filters
                .clear(asked.as_ref().map(|asked| asked.shape.as_str()));
        }
        Ok(reply::ok())
    })))
}

pub(super) fn list_filters(call: &Call<'_>) -> Result<Job> {
    let namespace = call.namespace()?;
    Ok(Job::Read(Box::new(move |read| {
        view::refuse(read.catalog(), &namespace)?;
        let found = find(read, &namespace)
            .map(|collection| collection.filters.list())
            .unwrap_or_default();
        let filters = found.into_iter().map(|filter| {
            let mut shown = Reply::new()
                .with("query", Owned::RawDocument(filter.query))
                .with("sort", Owned::RawDocument(filter.sort))
                .with("projection", Owned::RawDocument(filter.projection));
            if let Some(collation) = filter.collation {
                shown = shown.with("collation", Owned::RawDocument(collation));
            }
            shown.with("indexes", Owned::Array(filter.indexes)).inner()
        });
        let filters = Owned::Array(filters.collect());
        Ok(Reply::new().with("filters", filters).done())
    })))
}

/// The collection; without one nothing else is looked at.
fn find<'a>(read: &'a dyn Read, namespace: &Namespace) -> Option<&'a Arc<Collection>> {
    read.catalog()
        .collection(&namespace.database, &namespace.collection)
}

/// The query of the command, if it names one. As on the server, an array is an object too.
fn asked(command: Doc<'_>) -> Result<Option<Asked>> {
    let part = |name: &str| match command.get(name) {
        None => Ok(None),
        Some(Value::Document(doc) | Value::Array(doc)) => Ok(Some(doc)),
        Some(_) => Err(bad(format!("optional field {name} must be an object"))),
    };
    let filter = match command.get("query") {
        None => {
            let others = ["sort", "projection", "collation"];
            return match others.iter().any(|name| command.get(name).is_some()) {
                true => Err(bad("sort, projection, or collation provided without query")),
                false => Ok(None),
            };
        }
        Some(Value::Document(filter) | Value::Array(filter)) => filter,
        Some(other) if other.kind() != Kind::Document => {
            return Err(bad("required field query must be an object"));
        }
        Some(_) => return Ok(None),
    };
    let (sort, projection, collation) = (part("sort")?, part("projection")?, part("collation")?);
    if collation.is_some_and(|collation| collation.is_empty()) {
        return Err(bad("optional field collation cannot be an empty object"));
    }
    let collation = collation.map(Collation::parse).transpose()?.flatten();
    let query = Query::parse(filter, sort, None)?
        .collated(collation.clone())
        .projected(projection);
    let bytes = |doc: Option<Doc<'_>>| doc.unwrap_or(Doc::empty()).to_bytes();
    Ok(Some(Asked {
        shape: query.shape(),
        filter: IndexFilter {
            shape: query.shape(),
            query: filter.to_bytes(),
            sort: bytes(sort),
            projection: bytes(projection),
            collation: collation.and_then(|own| own.spec().map(Doc::to_bytes)),
            indexes: Vec::new(),
        },
    }))
}

fn bad(text: impl Into<std::borrow::Cow<'static, str>>) -> Fault {
    Fault::new(code::BAD_VALUE, text)
}
