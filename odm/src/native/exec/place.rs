//! Where a plan found a document: the key by which, and the record.

use std::ops::Bound;

use super::super::catalog::{Collection, IndexEntry};
use super::super::document::Doc;
use super::super::fault::{Fault, Result};
use super::super::index::Order;
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
            ..
        } => match collection.indexes.get(*index) {
            Some(entry) if !entry.definition.clustered => in_index(entry, ranges, *reverse, document),
            _ => Ok(None),
        },
        Access::Union(parts) => {
            for part in parts {
                if let Some(key) = key_of(part, collection, document)? {
                    return Ok(Some(key));
                }
            }
            Ok(None)
        }
    }
}

fn in_index(
    entry: &IndexEntry,
    ranges: &[KeyRange],
    reverse: bool,
    document: &[u8],
) -> Result<Option<Vec<u8>>> {
    let definition = &entry.definition;
    let keeps_values = |order| matches!(order, Order::Ascending | Order::Descending);
    let is_plain = definition.text.is_none() && definition.wildcard.is_none();
    if !is_plain || !definition.keys.iter().all(|key| keeps_values(key.order)) {
        return Err(Fault::unsupported(format!(
            "the index {} keeps its keys in the engine's own way: they are not shown",
            definition.name
        )));
    }
    let keys = definition.keys(Doc::Raw(document))?.keys;
    let mut inside = keys
        .iter()
        .filter(|key| ranges.iter().any(|range| holds(range, key)));
    let first = match reverse {
        true => inside.next_back(),
        false => inside.next(),
    };
    Ok(first.map(|key| definition.key_value(Doc::Raw(document), key)))
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
