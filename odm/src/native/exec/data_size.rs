//! How many bytes the documents of a part of a collection have.

use std::ops::{Bound, ControlFlow};

use super::super::catalog::{Collection, IndexEntry};
use super::super::document::{Doc, Value, equal};
use super::super::fault::{Fault, Result, code};
use super::super::index::arrays::is_multikey;
use super::super::storage::{ALL, Read, TreeId, format};
use super::scan::RECORD_BYTES;
use super::{Namespace, view};

/// What is to be measured.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) namespace: Namespace,
    /// The fields of an index, if it is said.
    pub(crate) key_pattern: Vec<u8>,
    /// The part of the index: from, and up to but without. Both are empty for the whole collection.
    pub(crate) from: Vec<u8>,
    pub(crate) to: Vec<u8>,
    /// Whether each document counts as the average one.
    pub(crate) estimate: bool,
    /// Where counting stops, once there is more; zero is no limit.
    pub(crate) most_bytes: i64,
    pub(crate) most_documents: i64,
}

/// What was measured.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) bytes: i64,
    pub(crate) documents: i64,
    /// Whether counting stopped at a limit.
    pub(crate) is_cut: bool,
}

/// Measures; nothing where there are no documents.
///
/// # Errors
/// Code 166 for a view, 2 for one bound alone, 16634 and 349 for bounds of other fields than the index has, none where
/// there is no such index.
pub(crate) fn measure(read: &dyn Read, asked: &Asked) -> Result<Option<Measured>> {
    let ns = &asked.namespace;
    view::refuse(read.catalog(), ns)?;
    let found = read.catalog().collection(&ns.database, &ns.collection);
    let Some(collection) = found else {
        return Ok(None);
    };
    if view::list::is_list(ns) {
        return Ok(of_views(
            view::list::documents(read.catalog(), &ns.database),
            asked,
        ));
    }
    if is_empty(read, collection.records)? {
        return Ok(None);
    }
    let (from, to) = (Doc::Raw(&asked.from), Doc::Raw(&asked.to));
    let is_whole = from.is_empty() && to.is_empty();
    let mut tally = Tally {
        most_bytes: asked.most_bytes,
        most_documents: asked.most_documents,
        ..Tally::default()
    };
    if asked.estimate {
        let total = whole(read, collection.records, Tally::default())?;
        if is_whole {
            return Ok(Some(total));
        }
        tally.average = total.bytes.checked_div(total.documents);
    }
    let measured = match is_whole {
        true => whole(read, collection.records, tally),
        false => between(read, collection, Doc::Raw(&asked.key_pattern), (from, to), tally),
    };
    measured.map(Some)
}

/// Measures the documents of views, all of them: no index has parts of these.
fn of_views(documents: Vec<Vec<u8>>, asked: &Asked) -> Option<Measured> {
    let mut tally = Tally::default();
    if !asked.estimate {
        (tally.most_bytes, tally.most_documents) = (asked.most_bytes, asked.most_documents);
    }
    let is_empty = documents.is_empty();
    for document in documents {
        if tally.add(document.len()).is_break() {
            break;
        }
    }
    (!is_empty).then_some(tally.measured)
}

fn is_empty(read: &dyn Read, records: TreeId) -> Result<bool> {
    let mut is_empty = true;
    read.scan(records, ALL, false, &mut |_, _| {
        is_empty = false;
        Ok(ControlFlow::Break(()))
    })?;
    Ok(is_empty)
}

/// What is measured so far, and where to stop; zero is no limit.
#[derive(Default)]
struct Tally {
    measured: Measured,
    /// What each document counts as, if not as itself.
    average: Option<i64>,
    most_bytes: i64,
    most_documents: i64,
}

impl Tally {
    fn add(&mut self, bytes: usize) -> ControlFlow<()> {
        let measured = &mut self.measured;
        measured.bytes += self.average.unwrap_or(bytes as i64);
        measured.documents += 1;
        let is_over = |most: i64, own: i64| most != 0 && own > most;
        measured.is_cut =
            is_over(self.most_bytes, measured.bytes) || is_over(self.most_documents, measured.documents);
        match measured.is_cut {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// Measures all documents of a collection.
fn whole(read: &dyn Read, records: TreeId, mut tally: Tally) -> Result<Measured> {
    read.scan(records, ALL, false, &mut |key, stored| {
        Ok(tally.add(format::unseal(records, key, stored)?.len()))
    })?;
    Ok(tally.measured)
}

/// Measures the documents in a part of an index.
fn between(
    read: &dyn Read,
    collection: &Collection,
    pattern: Doc<'_>,
    (from, to): (Doc<'_>, Doc<'_>),
    mut tally: Tally,
) -> Result<Measured> {
    if from.is_empty() || to.is_empty() {
        let (set, other) = if from.is_empty() {
            ("max", "min")
        } else {
            ("min", "max")
        };
        return Err(Fault::new(
            code::BAD_VALUE,
            format!("{other} must be set if {set} is set"),
        ));
    }
    let Some(entry) = collection
        .indexes
        .iter()
        .find(|entry| leads(entry, pattern, from))
    else {
        return Err(Fault::new(0, "couldn't find valid index containing key pattern"));
    };
    let range = (
        Bound::Included(edge(entry, pattern, from)?),
        Bound::Excluded(edge(entry, pattern, to)?),
    );
    let mut places = Vec::new();
    if let (Bound::Included(from), Bound::Excluded(to)) = (&range.0, &range.1)
        && from < to
    {
        let bounds = (Bound::Included(from.as_slice()), Bound::Excluded(to.as_slice()));
        read.scan(entry.tree, bounds, false, &mut |key, _| {
            places.push(
                key.get(key.len().saturating_sub(RECORD_BYTES)..)
                    .unwrap_or_default()
                    .to_vec(),
            );
            Ok(ControlFlow::Continue(()))
        })?;
    }
    let records = collection.records;
    for place in places {
        if let Some(stored) = read.get(records, &place)?
            && tally
                .add(format::unseal(records, &place, &stored)?.len())
                .is_break()
        {
            break;
        }
    }
    Ok(tally.measured)
}

/// Whether an index begins with the fields: all documents stand in it once, and its strings by their bytes.
fn leads(entry: &IndexEntry, pattern: Doc<'_>, bound: Doc<'_>) -> bool {
    let definition = &entry.definition;
    let own = definition.key_pattern();
    let is_plain = !is_multikey(&entry.multikey)
        && !definition.sparse
        && definition.partial.is_none()
        && definition.collation.is_simple();
    let mut fields = own.elements();
    is_plain
        && match pattern.is_empty() {
            // Without a pattern the bounds say the fields, all ascending.
            true => bound.elements().all(|wanted| {
                let field = fields.next();
                field.is_some_and(|field| {
                    field.name() == wanted.name() && equal(&field.value(), &Value::Int32(1))
                })
            }),
            false => pattern.elements().all(|wanted| {
                let field = fields.next();
                field.is_some_and(|field| {
                    field.name() == wanted.name() && equal(&field.value(), &wanted.value())
                })
            }),
        }
}

/// The beginning of the keys at a bound; fields that it does not have are at their first value.
fn edge(entry: &IndexEntry, pattern: Doc<'_>, bound: Doc<'_>) -> Result<Vec<u8>> {
    let definition = &entry.definition;
    let pattern = if pattern.is_empty() {
        definition.key_pattern()
    } else {
        pattern
    };
    if bound.count() > definition.keys.len() {
        return Err(Fault::new(
            349,
            format!("keyPattern {pattern} shorter than bound {bound}"),
        ));
    }
    let mut key = Vec::new();
    for (element, field) in bound.elements().zip(&definition.keys) {
        if element.name_str() != field.path {
            return Err(Fault::new(
                16634,
                format!("field names of bound {bound} do not match those of keyPattern {pattern}"),
            ));
        }
        field
            .order
            .encode(&element.value(), &definition.collation, &mut key);
    }
    Ok(key)
}
