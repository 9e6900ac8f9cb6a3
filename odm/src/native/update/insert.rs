//! Documents to insert.

use super::super::document::doc::{Element, framed};
use super::super::document::{Doc, Kind, MAX_DEPTH, MAX_DOCUMENT_BYTES, Value, equal, raw};
use super::super::fault::{Fault, Result, code};
use super::{Now, identity};

/// Makes a document ready for storage: checks its size and `_id`, puts `_id` first or generates it, and
/// fills empty timestamps at the top level. The bytes have passed [`super::super::document::validate`].
///
/// # Errors
/// 2 (too large, `_id` twice), 15 (too deep), 53 (type of `_id`), 52 (`$` inside of `_id`).
pub(crate) fn prepare_insert(doc: Doc<'_>, now: Now) -> Result<Vec<u8>> {
    Ok(changed_for_insert(doc, now)?.unwrap_or_else(|| doc.to_bytes()))
}

/// The same; nothing when the document is ready as it is.
///
/// # Errors
/// As [`prepare_insert`].
pub(crate) fn changed_for_insert(doc: Doc<'_>, now: Now) -> Result<Option<Vec<u8>>> {
    let size = match doc {
        Doc::Raw(bytes) => bytes.len(),
        _ => doc.to_bytes().len(),
    };
    if size > MAX_DOCUMENT_BYTES {
        return Err(Fault::new(
            code::BAD_VALUE,
            format!("object to insert too large. size in bytes: {size}, max size: {MAX_DOCUMENT_BYTES}"),
        ));
    }
    let (mut ids, mut leads, mut timestamps) = (0, false, false);
    for (position, element) in doc.elements().enumerate() {
        if is_too_deep(&element) {
            return Err(Fault::new(
                code::OVERFLOW,
                format!("cannot insert document because it exceeds {MAX_DEPTH} levels of nesting"),
            ));
        }
        if element.name() == b"_id" {
            ids += 1;
            leads |= position == 0;
        } else {
            timestamps |= is_empty_timestamp(&element);
        }
    }
    if ids > 1 {
        return Err(Fault::new(
            code::BAD_VALUE,
            "can't have multiple _id fields in one document",
        ));
    }
    identity::check(doc)?;
    if matches!(doc, Doc::Raw(_)) && leads && !timestamps {
        return Ok(None);
    }
    Ok(Some(identity::lead(Doc::Raw(&filled(doc, now)))))
}

/// Whether the value nests too deep for a stored document.
fn is_too_deep(element: &Element<'_>) -> bool {
    if !matches!(element.kind(), Kind::Document | Kind::Array) {
        return false;
    }
    match element.value() {
        Value::Document(Doc::Raw(bytes)) | Value::Array(Doc::Raw(bytes)) => {
            !raw::is_within(bytes, MAX_DEPTH - 1)
        }
        Value::Document(inner) | Value::Array(inner) => !raw::is_within(&inner.to_bytes(), MAX_DEPTH - 1),
        _ => false,
    }
}

/// Whether a field of the document itself, not `_id`, is an empty timestamp.
pub(crate) fn has_empty_timestamp(doc: Doc<'_>) -> bool {
    doc.elements()
        .any(|element| element.name() != b"_id" && is_empty_timestamp(&element))
}

fn is_empty_timestamp(element: &Element<'_>) -> bool {
    let empty = Value::Timestamp {
        time: 0,
        increment: 0,
    };
    // Values of other types are not worth decoding.
    element.kind() == Kind::Timestamp && equal(&element.value(), &empty)
}

/// The document with its empty timestamps filled.
pub(super) fn filled(doc: Doc<'_>, now: Now) -> Vec<u8> {
    let mut new = Vec::new();
    framed(&mut new, |out| {
        for element in doc.elements() {
            let value = match element.name() != b"_id" && is_empty_timestamp(&element) {
                true => {
                    let (time, increment) = now.timestamp();
                    Value::Timestamp { time, increment }
                }
                false => element.value(),
            };
            value.write_element(element.name(), out);
        }
    });
    new
}
