//! One document by its `_id`, without a plan, a walk or a cursor: most reads are that.

use super::super::catalog::Collection;
use super::super::document::{Doc, Value};
use super::super::fault::Result;
use super::super::key::{END, encode};
use super::super::places::Places;
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

/// Looks for the document: where one with this `_id` was before, or by the index. No tally is kept of it.
pub(crate) fn find(
    read: &dyn Read,
    places: &Places,
    (database, name): (&str, &str),
    id: &Value<'_>,
) -> Result<ById> {
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
    if let Some(record) = places.of(entry.tree, &key)
        // What is wrong with another document is not this one's.
        && let Ok(Some(document)) = document_of(read, collection, record)
        && has_key(&document, &key)
    {
        return Ok(ById::Found(document));
    }
    let Some(record) = record::holder(read, entry, &key, None)? else {
        return Ok(ById::Missing);
    };
    let document = document_of(read, collection, record)?.ok_or_else(|| dangling(collection, record))?;
    places.note(entry.tree, &key, record);
    Ok(ById::Found(document))
}

/// The document of a record, if there is one.
fn document_of(read: &dyn Read, collection: &Collection, record: u64) -> Result<Option<Vec<u8>>> {
    let place = record.to_be_bytes();
    let Some(mut stored) = read.get(collection.records, &place)? else {
        return Ok(None);
    };
    let length = format::unseal(collection.records, &place, &stored)?.len();
    stored.truncate(length);
    Ok(Some(stored))
}

/// Whether the document's `_id` has this key.
fn has_key(document: &[u8], key: &[u8]) -> bool {
    let Some(id) = Doc::Raw(document).get("_id") else {
        return false;
    };
    let mut own = Vec::with_capacity(key.len());
    encode(&id, false, &mut own);
    own.push(END);
    own == key
}
