//! Whole new documents: replacements, and what pipelines give.

use super::super::document::{Doc, Value, equal};
use super::super::fault::{Fault, Result, code};
use super::{Now, identity, insert};

/// The server's code for a malformed database reference.
const INVALID_DBREF: i32 = 55;

/// A replacement document.
#[derive(Clone, Debug)]
pub(super) struct Replacement {
    document: Vec<u8>,
    /// Whether it has timestamps to fill.
    timestamps: bool,
}

impl Replacement {
    pub(super) fn parse(doc: Doc<'_>) -> Replacement {
        Replacement {
            document: doc.to_bytes(),
            timestamps: insert::has_empty_timestamp(doc),
        }
    }

    /// The new bytes; `None` when they are those of the document.
    pub(super) fn apply(&self, old: &[u8], now: Now) -> Result<Option<Vec<u8>>> {
        let document = self.filled(now);
        check_names(Doc::Raw(&document))?;
        if *document == *old {
            return Ok(None);
        }
        with_id_of(Doc::Raw(old), Doc::Raw(&document)).map(Some)
    }

    /// The document to insert; `seeded` has what the filter says of `_id`.
    pub(super) fn insert(&self, seeded: &[u8], now: Now) -> Result<Vec<u8>> {
        inserted(Doc::Raw(seeded), Doc::Raw(&self.filled(now)), false)
    }

    fn filled(&self, now: Now) -> std::borrow::Cow<'_, [u8]> {
        match self.timestamps {
            true => insert::filled(Doc::Raw(&self.document), now).into(),
            false => (&self.document).into(),
        }
    }
}

/// The new document with the old one's `_id`, which its own must equal; a number may change its type.
pub(super) fn with_id_of(old: Doc<'_>, new: Doc<'_>) -> Result<Vec<u8>> {
    identity::check(new)?;
    match (old.get("_id"), new.get("_id")) {
        (Some(old_id), None) => Ok(identity::with(old_id, new)),
        (Some(old_id), Some(new_id)) => {
            refuse_other(&old_id, &new_id)?;
            Ok(identity::lead(new))
        }
        (None, _) => Ok(identity::lead(new)),
    }
}

/// Refuses an `_id` that is not the one before.
fn refuse_other(old_id: &Value<'_>, new_id: &Value<'_>) -> Result<()> {
    if equal(old_id, new_id) {
        return Ok(());
    }
    Err(Fault::new(
        code::IMMUTABLE_FIELD,
        format!(
            "After applying the update, the (immutable) field '_id' was found to have been altered to _id: {new_id}"
        ),
    ))
}

/// The new document to insert, with the seeded `_id`, if any. As on the server, one that was put together of parts
/// may hold any names.
pub(super) fn inserted(seeded: Doc<'_>, new: Doc<'_>, is_in_parts: bool) -> Result<Vec<u8>> {
    // What says no more than the filter is only looked at as what is to be stored.
    if seeded.to_bytes() == new.to_bytes() {
        if !is_in_parts {
            identity::check(new)?;
        }
        return Ok(identity::lead(new));
    }
    let id = new.get("_id").or_else(|| seeded.get("_id"));
    if let Some(Value::Array(_)) = id {
        return Err(Fault::new(
            code::NOT_SINGLE_VALUE_FIELD,
            "After applying the update to the document, the (immutable) field '_id' was found to be an array or array \
             descendant.",
        ));
    }
    if let (Some(old_id), Some(new_id)) = (seeded.get("_id"), new.get("_id")) {
        refuse_other(&old_id, &new_id)?;
    }
    let complete = with_id_of(seeded, new)?;
    if !is_in_parts || new.get("_id").is_some() {
        identity::check(Doc::Raw(&complete))?;
    }
    Ok(complete)
}

/// Checks the top-level names of a replacement, and what `_id` holds in its place among them.
fn check_names(doc: Doc<'_>) -> Result<()> {
    let fields = named(doc);
    for (at, (name, value)) in fields.iter().enumerate() {
        if name.starts_with('$') {
            check_name(&fields, at)?;
        } else if *name == "_id" {
            identity::check_value(value)?;
        }
    }
    Ok(())
}

/// The fields of a document with their names.
pub(super) fn named(doc: Doc<'_>) -> Vec<(&str, Value<'_>)> {
    doc.elements()
        .map(|element| (element.name_str(), element.value()))
        .collect()
}

/// Checks the name of one of a document's fields, which starts with `$`: only those of a database reference do, each with
/// those of it that stand before.
pub(super) fn check_name(fields: &[(&str, Value<'_>)], at: usize) -> Result<()> {
    let has = |at: usize, name: &str| fields.get(at).is_some_and(|(own, _)| *own == name);
    let behind = |at: usize, name: &str, message: &'static str| {
        let before = at.checked_sub(1).filter(|before| has(*before, name));
        before.ok_or_else(|| Fault::new(INVALID_DBREF, message))
    };
    let text = |at: usize| match &fields[at] {
        (_, Value::String(_)) => Ok(()),
        (name, value) => Err(Fault::new(
            INVALID_DBREF,
            format!(
                "The DBRef {name} field must be a String, not a {}",
                value.kind().alias()
            ),
        )),
    };
    let mut at = at;
    if has(at, "$db") {
        text(at)?;
        at = behind(
            at,
            "$id",
            "Found $db field without a $id before it, which is invalid.",
        )?;
    }
    if has(at, "$id") {
        at = behind(
            at,
            "$ref",
            "Found $id field without a $ref before it, which is invalid.",
        )?;
    }
    if has(at, "$ref") {
        text(at)?;
        return match has(at + 1, "$id") {
            true => Ok(()),
            false => Err(Fault::new(
                INVALID_DBREF,
                "The DBRef $ref field must be followed by a $id field",
            )),
        };
    }
    let (name, _) = fields[at];
    Err(Fault::new(
        code::DOLLAR_PREFIXED_FIELD_NAME,
        format!(
            "The dollar ($) prefixed field '{name}' in '{name}' is not allowed in the context of an update's \
             replacement document. Consider using an aggregation pipeline with $replaceWith."
        ),
    ))
}
