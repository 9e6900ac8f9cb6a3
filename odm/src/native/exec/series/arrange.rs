//! The form in which a time series keeps documents: time and source first, the fields of sources in order.

use super::super::super::catalog::rules::Series;
use super::super::super::document::doc::{decimal, framed};
use super::super::super::document::{Doc, Value};

/// The source of a document as an element without a name; nothing for one that says none.
pub(super) fn source(series: &Series, doc: Doc<'_>) -> Vec<u8> {
    let mut source = Vec::new();
    if let Some(meta) = series.meta.as_deref().and_then(|meta| doc.get(meta)) {
        write_sorted(b"", &meta, &mut source);
    }
    source
}

/// The document as the server gives it back: time, source, then the rest. A source has its fields in order; `source`
/// is it as an element without a name.
pub(super) fn arranged(series: &Series, doc: Doc<'_>, source: &[u8], made_id: bool) -> Vec<u8> {
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
