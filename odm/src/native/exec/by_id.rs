//! One document by its `_id`, without a plan, a walk or a cursor: most reads are that.

use super::super::document::{Doc, Value};
use super::super::fault::Result;
use super::super::key::{END, encode};
use super::super::plan::is_plain;
use super::super::storage::{Read, format};
use super::record;
use super::walk::dangling;

/// What came of a look.
#[derive(Debug)]
pub(crate) enum ById {
    Found(Vec<u8>),
    Missing,
    /// It takes a plan.
    Unknown,
}

/// The `_id` that a filter asks for, when it asks for nothing else and the value has one key.
pub(crate) fn asked(filter: Doc<'_>) -> Option<Value<'_>> {
    let mut elements = filter.elements();
    let only = elements.next().filter(|only| only.name() == b"_id")?;
    let id = elements.next().is_none().then(|| only.value())?;
    is_plain(&id).then_some(id)
}

/// Looks for the document. No tally is kept of it.
pub(crate) fn find(read: &dyn Read, database: &str, name: &str, id: &Value<'_>) -> Result<ById> {
    let Some(collection) = read.catalog().collection(database, name) else {
        return Ok(ById::Unknown);
    };
    let rules = &collection.rules;
    let Some(entry) = collection.indexes.first() else {
        return Ok(ById::Unknown);
    };
    // By a collation other strings have the same key.
    let is_told =
        entry.definition.is_id() && (entry.definition.collation.is_simple() || id.as_str().is_none());
    if !is_told || rules.view.is_some() || rules.series.is_some() {
        return Ok(ById::Unknown);
    }
    let mut key = Vec::with_capacity(32);
    encode(id, false, &mut key);
    key.push(END);
    let Some(record) = record::holder(read, entry, &key, None)? else {
        return Ok(ById::Missing);
    };
    let place = record.to_be_bytes();
    let mut stored = read
        .get(collection.records, &place)?
        .ok_or_else(|| dangling(collection, record))?;
    let length = format::unseal(collection.records, &place, &stored)?.len();
    stored.truncate(length);
    Ok(ById::Found(stored))
}
