//! Writing to time series: what is inserted has a time, and what is changed or removed are sources, not measurements.

use std::ops::{Bound, ControlFlow};

use super::super::super::catalog::Collection;
use super::super::super::catalog::buckets::BucketId;
use super::super::super::catalog::rules::Series;
use super::super::super::document::doc::{decimal, framed};
use super::super::super::document::{Doc, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::super::storage::{Read, Write};
use super::super::super::update::{Updater, Written};
use super::super::statement::{Batch, DeleteStatement, Statement, UpdateStatement};
use super::super::{Namespace, record};

/// Refuses to write to a time series inside a transaction.
pub(in super::super) fn refuse_in_transaction(write: &dyn Write, batch: &Batch) -> Result<()> {
    let ns = &batch.namespace;
    if !write.in_transaction() || !super::is_series(write.catalog(), ns) {
        return Ok(());
    }
    let text = match batch.statements.first() {
        Some(Statement::Insert { .. }) => {
            format!("Cannot insert into a time-series collection in a multi-document transaction: {ns}")
        }
        _ => format!("Cannot perform a multi-document transaction on a time-series collection: {ns}"),
    };
    Err(Fault::new(code::OPERATION_NOT_SUPPORTED_IN_TRANSACTION, text))
}

/// Adds a document to the open bucket of its source, or opens one.
///
/// # Errors
/// Code 2 for a document without its time.
pub(in super::super) fn insert(
    write: &mut dyn Write,
    ns: &Namespace,
    collection: &Collection,
    series: &Series,
    (document, made_id): (&[u8], bool),
) -> Result<()> {
    let doc = Doc::Raw(document);
    let Some(Value::DateTime(millis)) = doc.get(&series.time) else {
        return Err(Fault::new(
            code::BAD_VALUE,
            format!(
                "'{}' must be present and contain a valid BSON UTC datetime value",
                series.time
            ),
        ));
    };
    let mut source = Vec::new();
    if let Some(meta) = series.meta.as_deref().and_then(|meta| doc.get(meta)) {
        write_sorted(b"", &meta, &mut source);
    }
    let arranged = arranged(series, doc, &source, made_id);
    let records = collection.records;
    record::insert_as(write, ns, collection, &arranged, &mut |write| {
        if let Some(record) = series.open.next(&source, millis)
            && write.get(records, &record.to_be_bytes())?.is_none()
        {
            return Ok(record);
        }
        let step = series.granularity.rounding();
        let begin = millis.div_euclid(1000).div_euclid(step).saturating_mul(step);
        let end = begin.saturating_add(series.granularity.span());
        let time = (begin.saturating_mul(1000), end.saturating_mul(1000));
        let id = unused_bucket(write, collection, begin)?;
        Ok(series.open.open(source.clone(), id, time))
    })
}

/// A bucket behind all those that begin at these seconds.
fn unused_bucket(read: &dyn Read, collection: &Collection, begin: i64) -> Result<BucketId> {
    let mut id = BucketId::first_at(begin);
    loop {
        let (from, to) = (
            id.first_record().to_be_bytes(),
            id.last_record_then().to_be_bytes(),
        );
        let mut last = None;
        let range = (Bound::Included(&from[..]), Bound::Included(&to[..]));
        read.scan(collection.records, range, true, &mut |key, _| {
            last = key.try_into().ok().map(u64::from_be_bytes);
            Ok(ControlFlow::Break(()))
        })?;
        let Some(last) = last else {
            return Ok(id);
        };
        let next = BucketId::of(last).next().ok_or_else(|| {
            Fault::new(
                code::INTERNAL,
                format!("{} has no room for another source", collection.namespace()),
            )
        })?;
        if next.begin() == id.begin() {
            return Ok(next);
        }
        // All that the second has are taken.
        id = next;
    }
}

/// The document as the server gives it back: time, source, then the rest. A source has its fields in order; `source`
/// is it as an element without a name.
fn arranged(series: &Series, doc: Doc<'_>, source: &[u8], made_id: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    framed(&mut bytes, |out| {
        if let Some(time) = doc.get(&series.time) {
            time.write_element(series.time.as_bytes(), out);
        }
        if let (Some(meta), Some((kind, payload))) = (&series.meta, source.split_first()) {
            out.push(*kind);
            out.extend_from_slice(meta.as_bytes());
            // The end of the name, of both.
            out.extend_from_slice(payload);
        }
        write_rest(series, doc, made_id, out);
    });
    bytes
}

/// A changed document in the same order.
pub(in super::super) fn in_order(series: &Series, document: &[u8]) -> Vec<u8> {
    let doc = Doc::Raw(document);
    let mut bytes = Vec::new();
    framed(&mut bytes, |out| {
        for name in std::iter::once(&series.time).chain(&series.meta) {
            if let Some(value) = doc.get(name) {
                value.write_element(name.as_bytes(), out);
            }
        }
        write_rest(series, doc, false, out);
    });
    bytes
}

fn write_rest(series: &Series, doc: Doc<'_>, without_id: bool, out: &mut Vec<u8>) {
    let is_set_apart = |name: &str| name == series.time || series.meta.as_deref() == Some(name);
    for element in doc.elements() {
        let name = element.name_str();
        let is_made = without_id && name == "_id";
        if !is_set_apart(name) && !is_made {
            element.value().write_element(element.name(), out);
        }
    }
}

/// Writes an element with the fields of all documents in it sorted.
fn write_sorted(name: &[u8], value: &Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Document(doc) => {
            let mut elements: Vec<_> = doc.elements().collect();
            elements.sort_by_key(|element| element.name());
            let mut inner = Vec::new();
            framed(&mut inner, |out| {
                for element in elements {
                    write_sorted(element.name(), &element.value(), out);
                }
            });
            Value::Document(Doc::Raw(&inner)).write_element(name, out);
        }
        Value::Array(items) => {
            let mut inner = Vec::new();
            framed(&mut inner, |out| {
                let mut buffer = [0u8; 20];
                for (at, item) in items.values().enumerate() {
                    write_sorted(decimal(at, &mut buffer), &item, out);
                }
            });
            Value::Array(Doc::Raw(&inner)).write_element(name, out);
        }
        other => other.write_element(name, out),
    }
}

/// Refuses an update of anything but the sources of many documents.
///
/// # Errors
/// Code 72, with the server's words.
pub(in super::super) fn check_update(series: &Series, statement: &UpdateStatement) -> Result<()> {
    let Some(meta) = &series.meta else {
        return Err(invalid(
            "Cannot perform an update on a time-series collection that does not have a metaField",
        ));
    };
    if !statement.multi {
        return Err(invalid(
            "Cannot perform a non-multi update on a time-series collection",
        ));
    }
    if statement.upsert {
        return Err(invalid("Cannot perform an upsert on a time-series collection"));
    }
    check_filter(series, meta, Doc::Raw(&statement.filter))?;
    check_written(meta, &statement.updater)
}

fn check_written(meta: &str, updater: &Updater) -> Result<()> {
    match updater.written() {
        Written::Fields(names) if names.iter().all(|name| *name == meta) => Ok(()),
        Written::Fields(_) => Err(invalid(format!(
            "Cannot perform an update on a time-series collection which updates a field that is not the metaField '{meta}'"
        ))),
        Written::All => Err(invalid(
            "Cannot perform an update on a time-series collection using a replacement document",
        )),
        Written::ByPipeline => Err(invalid(
            "Cannot perform an update on a time-series collection using a pipeline update",
        )),
    }
}

/// Refuses a deletion of anything but all documents of sources.
///
/// # Errors
/// Codes 20 and 72, with the server's words.
pub(in super::super) fn check_delete(series: &Series, statement: &DeleteStatement) -> Result<()> {
    if !statement.multi {
        return Err(Fault::new(
            code::ILLEGAL_OPERATION,
            "Cannot perform a non-multi delete on a time-series collection",
        ));
    }
    let filter = Doc::Raw(&statement.filter);
    match &series.meta {
        Some(meta) => check_filter(series, meta, filter),
        None if filter.is_empty() => Ok(()),
        None => Err(invalid(
            "Cannot perform a delete with a non-empty query on a time-series collection that does not have a metaField",
        )),
    }
}

/// Refuses a filter that asks for more than the source.
fn check_filter(series: &Series, meta: &str, filter: Doc<'_>) -> Result<()> {
    let other_field = || {
        invalid(format!(
            "Cannot perform an update or delete on a time-series collection when querying on a field that is not the metaField '{meta}'"
        ))
    };
    for element in filter.elements() {
        match (element.name_str(), element.value()) {
            (name @ ("$expr" | "$where"), _) => {
                return Err(invalid(format!(
                    "Cannot use {name} when performing an update or delete on a time-series collection"
                )));
            }
            ("$and" | "$or" | "$nor", Value::Array(parts)) => {
                for part in parts.values() {
                    if let Value::Document(part) = part {
                        check_filter(series, meta, part)?;
                    }
                }
            }
            ("$jsonSchema", Value::Document(schema)) => {
                let properties = schema.get("properties").and_then(|own| own.as_document());
                let required = schema.get("required").and_then(|own| own.as_array());
                let named = properties.into_iter().flat_map(Doc::elements);
                let needed = required.into_iter().flat_map(Doc::values);
                let names = named.map(|element| element.name_str().to_owned());
                let mut names = names.chain(needed.filter_map(|name| name.as_str().map(str::to_owned)));
                if names.any(|name| name != meta) {
                    return Err(other_field());
                }
            }
            (operator, _) if operator.starts_with('$') => {}
            (path, _) if series.is_of_meta(path) => {}
            _ => return Err(other_field()),
        }
    }
    Ok(())
}

fn invalid(text: impl Into<std::borrow::Cow<'static, str>>) -> Fault {
    Fault::new(code::INVALID_OPTIONS, text)
}
