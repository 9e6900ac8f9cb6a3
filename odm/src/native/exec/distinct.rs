//! Distinct values of a path.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::super::collation::Collation;
use super::super::document::{Doc, MAX_DOCUMENT_BYTES, Owned, Value, compare};
use super::super::fault::{Fault, Result};
use super::super::needs::{Needs, Values};
use super::super::projection::check_key;
use super::super::storage::Read;
use super::query::Query;
use super::search;
use super::view::{self, Through};
use super::walk::{Flow, Walk};
use super::{Deadline, Namespace};

/// What runs it, as faults of documents tell it.
const DISTINCT: &str = "Executor error during distinct command";

/// The distinct values at a dotted path, in the order of values. An array at the end counts by its elements.
pub(crate) fn distinct(
    read: &dyn Read,
    ns: &Namespace,
    path: &str,
    query: &Query,
    deadline: Deadline,
) -> Result<Vec<Owned>> {
    check_key(path, &query.matcher)?;
    if view::view_of(read.catalog(), ns).is_some() {
        // Before what is wrong with the view, unlike in a count.
        query.settled_by(&view::collation_of(read.catalog(), ns))?;
    }
    match view::through(read, ns, query, None, (0, 0), (deadline, true))? {
        Some(Through::Query(base, merged)) => on_collection(read, &base, path, &merged, deadline),
        Some(Through::Rows(rows)) => {
            let own = view::collation_of(read.catalog(), ns);
            let mut found = Found::by(query.collation_in(&own));
            for (record, row) in (1..).zip(&rows) {
                found.add((record, row), path)?;
            }
            Ok(found.into_sorted())
        }
        None => on_collection(read, ns, path, query, deadline),
    }
}

/// The same of what is known to be no view.
fn on_collection(
    read: &dyn Read,
    ns: &Namespace,
    path: &str,
    query: &Query,
    deadline: Deadline,
) -> Result<Vec<Owned>> {
    let own = view::collation_of(read.catalog(), ns);
    let Some(collection) = read.catalog().collection(&ns.database, &ns.collection) else {
        query.check_without_collection(ns)?;
        return Ok(Vec::new());
    };
    let query = query.by_default(&own);
    let needs = Needs::of_values(path, Values::There);
    let query = query.settled()?.into_owned().needing(Some(needs));
    let mut found = Found::by(query.collation_in(&own));
    let plan = query.plan(read, collection, None, deadline)?;
    let mut walk = Walk::new(&plan, collection, deadline);
    let walked = walk.documents(read, collection, &mut |record, document| {
        if search::test(&query, &plan, document)? {
            found.add((record, document), path)?;
        }
        Ok(Flow::Continue)
    });
    // A view's query tells what runs it already.
    walked.map_err(|fault| query.in_run(fault).while_running(DISTINCT))?;
    Ok(found.into_sorted())
}

/// The values so far, by their keys: of equal ones that of the first record.
struct Found {
    collation: Collation,
    values: BTreeMap<Vec<u8>, (u64, Owned)>,
    /// About what they take in an answer.
    bytes: usize,
}

impl Found {
    fn by(collation: &Collation) -> Found {
        Found {
            collation: collation.clone(),
            values: BTreeMap::new(),
            bytes: 0,
        }
    }

    /// Adds the values of a document.
    ///
    /// # Errors
    /// Code 17217 when there are more than go into one answer.
    fn add(&mut self, (record, document): (u64, &[u8]), path: &str) -> Result<()> {
        let document = Doc::Raw(document);
        if self.collation.is_simple() {
            collect(document, path, &mut |value| self.add_value(record, value));
        } else {
            // Of equal ones the first by its bytes counts.
            let mut values = Vec::new();
            collect(document, path, &mut |value| values.push(value));
            values.sort_by(compare);
            values.into_iter().for_each(|value| self.add_value(record, value));
        }
        match self.bytes < MAX_DOCUMENT_BYTES {
            true => Ok(()),
            false => Err(Fault::new(17_217, "distinct too big, 16mb cap")),
        }
    }

    fn add_value(&mut self, record: u64, value: Value<'_>) {
        let mut encoded = Vec::new();
        self.collation.encode(&value, false, &mut encoded);
        match self.values.entry(encoded) {
            Entry::Occupied(mut known) => {
                // An index over arrays does not lead to records in their order.
                if known.get().0 > record {
                    known.insert((record, value.into()));
                }
            }
            Entry::Vacant(place) => {
                let mut element = Vec::new();
                value.write_element(b"", &mut element);
                self.bytes += element.len();
                place.insert((record, value.into()));
            }
        }
    }

    fn into_sorted(self) -> Vec<Owned> {
        self.values.into_values().map(|(_, value)| value).collect()
    }
}

/// Visits the values at the path: a field of the whole name comes before the parts of it. Of an array on the way a
/// number is the index, and any other name that of its elements' fields.
fn collect<'a>(holder: Doc<'a>, path: &str, visit: &mut dyn FnMut(Value<'a>)) {
    if let Some(value) = holder.get(path) {
        match value {
            Value::Array(items) => items.values().for_each(visit),
            other => visit(other),
        }
        return;
    }
    let Some((first, rest)) = path.split_once('.') else {
        return;
    };
    match holder.get(first) {
        Some(Value::Document(inner)) => collect(inner, rest, visit),
        Some(Value::Array(items)) if starts_with_index(rest) => collect(items, rest, visit),
        Some(Value::Array(items)) => {
            for item in items.values() {
                if let Value::Document(inner) = item {
                    collect(inner, rest, visit);
                }
            }
        }
        _ => {}
    }
}

/// Whether the first part of a path is a number.
fn starts_with_index(path: &str) -> bool {
    let first = path.split('.').next().unwrap_or_default();
    !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit())
}
