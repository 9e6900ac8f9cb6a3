//! How many bytes the documents of a part of a collection have.

use std::ops::{Bound, ControlFlow};

use super::super::catalog::{Collection, IndexEntry};
use super::super::document::{Doc, Value, equal};
use super::super::fault::{Fault, Result, code};
use super::super::storage::{ALL, Read, format};
use super::walk::RECORD_BYTES;
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
    let mut sizes = Vec::new();
    let (from, to) = (Doc::Raw(&asked.from), Doc::Raw(&asked.to));
    let records = collection.records;
    let mut total = Measured::default();
    read.scan(records, ALL, false, &mut |key, stored| {
        let bytes = format::unseal(records, key, stored)?.len() as i64;
        total.bytes += bytes;
        total.documents += 1;
        sizes.push(bytes);
        Ok(ControlFlow::Continue(()))
    })?;
    if total.documents == 0 {
        return Ok(None);
    }
    if !from.is_empty() || !to.is_empty() {
        sizes = between(read, collection, Doc::Raw(&asked.key_pattern), (from, to))?;
    } else if asked.estimate {
        return Ok(Some(total));
    }
    let average = total.bytes / total.documents;
    let mut measured = Measured::default();
    for bytes in sizes {
        measured.bytes += if asked.estimate { average } else { bytes };
        measured.documents += 1;
        let is_over = |most: i64, own: i64| most != 0 && own > most;
        if is_over(asked.most_bytes, measured.bytes) || is_over(asked.most_documents, measured.documents) {
            measured.is_cut = true;
            break;
        }
    }
    Ok(Some(measured))
}

/// The sizes of the documents in a part of an index.
fn between(
    read: &dyn Read,
    collection: &Collection,
    pattern: Doc<'_>,
    (from, to): (Doc<'_>, Doc<'_>),
) -> Result<Vec<i64>> {
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
    let mut sizes = Vec::with_capacity(places.len());
    for place in places {
        if let Some(stored) = read.get(records, &place)? {
            sizes.push(format::unseal(records, &place, &stored)?.len() as i64);
        }
    }
    Ok(sizes)
}

/// Whether an index begins with the fields: all documents stand in it once, and its strings by their bytes.
fn leads(entry: &IndexEntry, pattern: Doc<'_>, bound: Doc<'_>) -> bool {
    let definition = &entry.definition;
    let own = definition.key_pattern();
    let is_plain = !entry.multikey.contains(&true)
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
