//! Where a plan found a document: the key by which, and the record.

use std::ops::Bound;

use super::super::catalog::{Collection, IndexEntry};
use super::super::collation::Collation;
use super::super::document::{Doc, Owned, Value};
use super::super::fault::{Fault, Result};
use super::super::index::Order;
use super::super::plan::interval::Intervals;
use super::super::plan::{Access, KeyRange, Plan};

/// The key of an index by which the plan came to the document first, as a document; none where no index was read.
///
/// # Errors
/// Unsupported for indexes whose keys are the engine's own.
pub(super) fn index_key(plan: &Plan, collection: &Collection, document: &[u8]) -> Result<Option<Vec<u8>>> {
    key_of(&plan.access, collection, document)
}

fn key_of(access: &Access, collection: &Collection, document: &[u8]) -> Result<Option<Vec<u8>>> {
    match access {
        Access::Nothing | Access::Collection { .. } => Ok(None),
        Access::Index {
            index,
            ranges,
            reverse,
            bounds,
            ..
        } => match collection.indexes.get(*index) {
            Some(entry) if !entry.definition.clustered => in_index(entry, ranges, bounds, *reverse, document),
            _ => Ok(None),
        },
        Access::Union(parts) => first_of(parts.iter().map(|part| &part.access), collection, document),
        Access::Merge(streams) => first_of(streams.iter().map(|stream| &stream.access), collection, document),
    }
}

fn first_of<'a>(
    parts: impl IntoIterator<Item = &'a Access>,
    collection: &Collection,
    document: &[u8],
) -> Result<Option<Vec<u8>>> {
    for part in parts {
        if let Some(key) = key_of(part, collection, document)? {
            return Ok(Some(key));
        }
    }
    Ok(None)
}

fn in_index(
    entry: &IndexEntry,
    ranges: &[KeyRange],
    bounds: &[Intervals],
    reverse: bool,
    document: &[u8],
) -> Result<Option<Vec<u8>>> {
    let (definition, doc) = (&entry.definition, Doc::Raw(document));
    let keeps_values = |order| matches!(order, Order::Ascending | Order::Descending);
    if definition.text.is_some() || !definition.keys.iter().all(|key| keeps_values(key.order)) {
        return Err(Fault::unsupported(format!(
            "the index {} keeps its keys in the engine's own way: they are not shown",
            definition.name
        )));
    }
    let mut keys = definition.keys(doc)?.keys;
    keys.retain(|key| ranges.iter().any(|range| holds(range, key)));
    if reverse {
        keys.reverse();
    }
    if let Some(wildcard) = &definition.wildcard {
        let Some(first) = keys.first() else {
            return Ok(None);
        };
        let shown = wildcard.shown(doc, &definition.collation, first)?;
        return Ok(shown.map(|(path, value)| {
            let asked = asked_path(&path, bounds).to_owned();
            let fields = [("$_path".to_owned(), Owned::String(path)), (asked, value)];
            Doc::Fields(&fields).to_bytes()
        }));
    }
    let mut shown = keys.iter().map(|key| definition.key_value(doc, key));
    let Some(first) = shown.next() else {
        return Ok(None);
    };
    // A range can hold keys of which a field behind the first is out of its bounds.
    let is_within = |key: &Vec<u8>| {
        let values = Doc::Raw(key);
        let mut fields = values.values().zip(bounds);
        fields.all(|(value, bounds)| bounds.has(&value, &definition.collation))
    };
    // Of an index that is read as a whole nothing is left out.
    if bounds.first().is_none_or(Intervals::is_all) || is_within(&first) {
        return Ok(Some(first));
    }
    Ok(Some(shown.find(is_within).unwrap_or(first)))
}

/// The path that was asked for where one below it was found.
fn asked_path<'a>(found: &'a str, bounds: &[Intervals]) -> &'a str {
    let is_asked = |path: &str| {
        let point = Intervals::point(&Value::String(path), Collation::simple());
        let first = bounds.first().and_then(|paths| paths.as_slice().first());
        first == point.as_slice().first()
    };
    let ends = found.match_indices('.').map(|(at, _)| &found[..at]);
    ends.chain([found]).find(|path| is_asked(path)).unwrap_or(found)
}

fn holds(range: &KeyRange, key: &[u8]) -> bool {
    let is_behind = match &range.from {
        Bound::Included(from) => key >= from.as_slice(),
        Bound::Excluded(from) => key > from.as_slice(),
        Bound::Unbounded => true,
    };
    let is_before = match &range.to {
        Bound::Included(to) => key <= to.as_slice(),
        Bound::Excluded(to) => key < to.as_slice(),
        Bound::Unbounded => true,
    };
    is_behind && is_before
}

/// The record of a document as it is shown.
///
/// # Errors
/// Unsupported for collections in the order of `_id`, whose records the server shows by its own keys.
pub(super) fn record_id(collection: &Collection, record: u64) -> Result<i64> {
    if collection.rules.clustered.is_some() {
        return Err(Fault::unsupported(
            "the records of a clustered collection are the engine's own: they are not shown",
        ));
    }
    Ok(i64::try_from(record).unwrap_or(i64::MAX))
}
