//! Distinct values of a path.

use std::collections::BTreeMap;

use super::super::collation::Collation;
use super::super::document::{Doc, Owned, Value};
use super::super::fault::Result;
use super::super::storage::Read;
use super::query::Query;
use super::search;
use super::view::{self, Through};
use super::walk::{Flow, Walk};
use super::{Deadline, Namespace};

/// The distinct values at a dotted path, in the order of values. An array at the end counts by its elements.
pub(crate) fn distinct(
    read: &dyn Read,
    ns: &Namespace,
    path: &str,
    query: &Query,
    deadline: Deadline,
) -> Result<Vec<Owned>> {
    match view::through(read, ns, query, deadline)? {
        Some(Through::Query(base, merged)) => on_collection(read, &base, path, &merged, deadline),
        Some(Through::Rows(rows)) => {
            let segments: Vec<&str> = path.split('.').collect();
            let own = view::collation_of(read.catalog(), ns);
            let mut found = Found::by(query.collation_in(&own));
            for row in &rows {
                found.add(row, &segments);
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
    let segments: Vec<&str> = path.split('.').collect();
    let own = view::collation_of(read.catalog(), ns);
    let mut found = Found::by(query.collation_in(&own));
    let Some(collection) = read.catalog().collection(&ns.database, &ns.collection) else {
        return Ok(Vec::new());
    };
    let query = query.by_default(&own);
    let query = &*query;
    let plan = query.plan(collection, None)?;
    let mut walk = Walk::new(&plan, collection, deadline);
    walk.documents(read, collection, &mut |_, document| {
        if search::test(query, &plan, document)? {
            found.add(document, &segments);
        }
        Ok(Flow::Continue)
    })?;
    Ok(found.into_sorted())
}

/// The values so far, by their keys: of equal ones the first.
struct Found {
    collation: Collation,
    values: BTreeMap<Vec<u8>, Owned>,
}

impl Found {
    fn by(collation: &Collation) -> Found {
        Found {
            collation: collation.clone(),
            values: BTreeMap::new(),
        }
    }

    fn add(&mut self, document: &[u8], path: &[&str]) {
        collect(Value::Document(Doc::Raw(document)), path, &mut |value| {
            let mut encoded = Vec::new();
            self.collation.encode(&value, false, &mut encoded);
            self.values.entry(encoded).or_insert_with(|| Owned::from(value));
        });
    }

    fn into_sorted(self) -> Vec<Owned> {
        self.values.into_values().collect()
    }
}

/// Visits the values at the path: arrays on the way are entered by index and by element, one level each.
fn collect<'a>(value: Value<'a>, path: &[&str], visit: &mut dyn FnMut(Value<'a>)) {
    let Some((first, rest)) = path.split_first() else {
        match value {
            Value::Array(items) => items.values().for_each(visit),
            Value::Undefined => {}
            other => visit(other),
        }
        return;
    };
    match value {
        Value::Document(doc) => {
            if let Some(next) = doc.get(first) {
                collect(next, rest, visit);
            }
        }
        Value::Array(items) => {
            if is_index(first)
                && let Ok(index) = first.parse::<usize>()
                && let Some(next) = items.at(index)
            {
                collect(next, rest, visit);
            }
            for item in items.values() {
                if let Value::Document(doc) = item
                    && let Some(next) = doc.get(first)
                {
                    collect(next, rest, visit);
                }
            }
        }
        _ => {}
    }
}

/// Whether a segment names an array index: digits without a leading zero.
fn is_index(segment: &str) -> bool {
    segment == "0"
        || (!segment.starts_with('0') && !segment.is_empty() && segment.bytes().all(|b| b.is_ascii_digit()))
}
