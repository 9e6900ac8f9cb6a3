//! Distinct values of a path.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::catalog::Collection;
use super::super::collation::Collation;
use super::super::document::{Doc, MAX_DOCUMENT_BYTES, Owned, Value};
use super::super::fault::{Fault, Result};
use super::super::needs::Needs;
use super::super::plan::{Leap, Plan};
use super::super::projection::check_key;
use super::super::storage::Read;
use super::cursor::FindRequest;
use super::query::Query;
use super::search;
use super::view::{self, Through};
use super::walk::{Flow, Walk};
use super::{Deadline, Examined, Namespace, tally};

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
    match view::through(read, ns, query, None, (0, 0), deadline)? {
        Some(Through::Query(base, merged)) => on_collection(read, &base, path, &merged, deadline),
        Some(Through::Rows(rows)) => {
            let own = view::collation_of(read.catalog(), ns);
            let mut found = Found::by(query.collation_in(&own));
            for row in &rows {
                found.add(row, path)?;
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
    let query = query.settled()?.into_owned().needing(Some(Needs::of(path)));
    let (plan, leap) = plan(read, collection, &query, (path, false), deadline)?;
    let mut walk = Walk::new(&plan, collection, deadline);
    let found = values(read, collection, &query, path, (&plan, leap.as_ref()), &mut walk);
    // A view's query tells what runs it already.
    let found = found.map_err(|fault| query.in_run(fault).while_running(DISTINCT))?;
    Ok(found.into_sorted())
}

/// How many values there are by a plan, and what is looked at for them.
pub(super) fn examined(
    read: &dyn Read,
    collection: &Collection,
    query: &Query,
    path: &str,
    plan: (&Plan, Option<&Leap>),
    deadline: Deadline,
) -> Result<(u64, Examined)> {
    let mut walk = Walk::new(plan.0, collection, deadline);
    let found = values(read, collection, query, path, plan, &mut walk)?;
    Ok((found.values.len() as u64, walk.examined))
}

fn values(
    read: &dyn Read,
    collection: &Collection,
    query: &Query,
    path: &str,
    (plan, leap): (&Plan, Option<&Leap>),
    walk: &mut Walk,
) -> Result<Found> {
    let mut found = Found::by(query.collation_in(&collection.rules.collation));
    match leap {
        Some(leap) => walk.values(read, collection, leap, &mut |document| found.add(document, path))?,
        None => {
            walk.documents(read, collection, &mut |_, document| {
                if search::test(query, plan, document)? {
                    found.add(document, path)?;
                }
                Ok(Flow::Continue)
            })?;
        }
    }
    Ok(found)
}

/// A read of documents with every value at a path, and one without if there is one, that leaps between the values.
pub(super) struct Leaping {
    collection: Arc<Collection>,
    plan: Plan,
    leap: Leap,
    deadline: Deadline,
}

impl Leaping {
    /// Of what a find asks for; `None` where no scan leaps.
    pub(super) fn of(read: &dyn Read, find: &FindRequest, path: &str) -> Result<Option<Leaping>> {
        let ns = &find.namespace;
        if find.skip > 0 || find.limit > 0 || view::list::is_list(ns) {
            return Ok(None);
        }
        let Some(collection) = read.catalog().collection(&ns.database, &ns.collection) else {
            return Ok(None);
        };
        let (plan, leap) = plan(read, collection, &find.query, (path, true), find.deadline)?;
        Ok(leap.map(|leap| Leaping {
            collection: collection.clone(),
            plan,
            leap,
            deadline: find.deadline,
        }))
    }

    pub(super) fn each(&self, read: &dyn Read, visit: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        Walk::new(&self.plan, &self.collection, self.deadline).values(
            read,
            &self.collection,
            &self.leap,
            visit,
        )
    }
}

/// How the values at the path are found, and perhaps whether one is missing.
pub(super) fn plan(
    read: &dyn Read,
    collection: &Collection,
    query: &Query,
    (path, or_missing): (&str, bool),
    deadline: Deadline,
) -> Result<(Plan, Option<Leap>)> {
    let (views, _) = query.views(collection);
    let is_simple = query.collation_in(&collection.rules.collation).is_simple();
    let all = match query.is_everything() && is_simple && collection.rules.series.is_none() {
        true => Plan::of_values(&views, path, or_missing),
        false => None,
    };
    let plan = match all {
        Some(plan) => {
            tally::planned(&plan, collection);
            query.covering(plan, &views)
        }
        None => query.plan(read, collection, None, deadline)?,
    };
    // Of values that are equal by a collation the first of the collection stands for all.
    let leap = match is_simple {
        true => plan.leap(&views, path),
        false => None,
    };
    Ok((plan, leap))
}

/// The values so far, by their keys: of equal ones the first.
struct Found {
    collation: Collation,
    values: BTreeMap<Vec<u8>, Owned>,
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
    fn add(&mut self, document: &[u8], path: &str) -> Result<()> {
        collect(Doc::Raw(document), path, &mut |value| {
            let mut encoded = Vec::new();
            self.collation.encode(&value, false, &mut encoded);
            let values = &mut self.values;
            let bytes = &mut self.bytes;
            values.entry(encoded).or_insert_with(|| {
                let mut element = Vec::new();
                value.write_element(b"", &mut element);
                *bytes += element.len();
                Owned::from(value)
            });
        });
        match self.bytes < MAX_DOCUMENT_BYTES {
            true => Ok(()),
            false => Err(Fault::new(17_217, "distinct too big, 16mb cap")),
        }
    }

    fn into_sorted(self) -> Vec<Owned> {
        self.values.into_values().collect()
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
