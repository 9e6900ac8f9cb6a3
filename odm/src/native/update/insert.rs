//! Documents to insert.

use super::super::document::doc::framed;
use super::super::document::{Doc, MAX_DOCUMENT_BYTES, Value};
use super::super::fault::{Fault, Result, code};
use super::{Now, identity};

/// Makes a document ready for storage: checks its size and `_id`, puts `_id` first or generates it, and
/// fills empty timestamps at the top level. The bytes have passed [`super::super::document::validate`].
///
/// # Errors
/// 2 (too large, `_id` twice), 53 (type of `_id`), 52 (`$` inside of `_id`).
pub(crate) fn prepare_insert(doc: Doc<'_>, now: Now) -> Result<Vec<u8>> {
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
    if doc.elements().filter(|element| element.name() == b"_id").count() > 1 {
        return Err(Fault::new(
            code::BAD_VALUE,
            "can't have multiple _id fields in one document",
        ));
    }
    identity::check(doc)?;
    if let Doc::Raw(bytes) = doc
        && !has_empty_timestamp(doc)
        && doc.elements().next().is_some_and(|first| first.name() == b"_id")
    {
        return Ok(bytes.to_vec());
    }
    Ok(identity::lead(Doc::Raw(&filled(doc, now))))
}

/// Whether a field of the document itself, not `_id`, is an empty timestamp.
pub(super) fn has_empty_timestamp(doc: Doc<'_>) -> bool {
    doc.elements()
        .any(|element| element.name() != b"_id" && is_empty_timestamp(&element.value()))
}

fn is_empty_timestamp(value: &Value<'_>) -> bool {
    matches!(
        value,
        Value::Timestamp {
            time: 0,
            increment: 0
        }
    )
}

/// The document with its empty timestamps filled.
pub(super) fn filled(doc: Doc<'_>, now: Now) -> Vec<u8> {
    let (time, increment) = now.timestamp;
    let mut new = Vec::new();
    framed(&mut new, |out| {
        for element in doc.elements() {
            let value = match element.value() {
                value if element.name() != b"_id" && is_empty_timestamp(&value) => {
                    Value::Timestamp { time, increment }
                }
                value => value,
            };
            value.write_element(element.name(), out);
        }
    });
    new
}
