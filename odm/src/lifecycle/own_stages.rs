//! The stages of an update by a pipeline: what they make of the fields that writes set by themselves.

use bson::{Bson, Document, RawDocumentBuf, doc};

use super::document::is_within;
use super::versions;
use crate::codec::{self, Raw};
use crate::error::Result;

/// Whether the stages set the field, or take it out, so that its value is theirs. What makes another document is no more
/// than any replacement of it, unless the field is carried over.
pub(super) fn set(stages: &[RawDocumentBuf], field: &str, is_carried: bool) -> Result<bool> {
    let mut is_set = false;
    for stage in stages {
        let stage: Document = codec::decode_untyped(stage)?;
        match stage.iter().next().map(|(name, made)| (name.as_str(), made)) {
            Some(("$set" | "$addFields", Bson::Document(fields))) => {
                is_set |= fields.keys().any(|name| is_within(name, field));
            }
            Some(("$unset", Bson::String(name))) => is_set |= is_within(name, field),
            Some(("$unset", Bson::Array(names))) => {
                let mut names = names.iter().filter_map(Bson::as_str);
                is_set |= names.any(|name| is_within(name, field));
            }
            Some(("$project", Bson::Document(kept))) => {
                match kept.iter().find(|(name, _)| is_within(name, field)) {
                    Some((_, value)) => is_set |= !is_kept(value),
                    None => is_set &= is_carried || !is_inclusive(kept),
                }
            }
            Some(("$replaceWith" | "$replaceRoot", _)) => is_set &= is_carried,
            _ => {}
        }
    }
    Ok(is_set)
}

/// Lets stages that make another document leave these fields as they are.
pub(super) fn carry_over(stages: &mut [RawDocumentBuf], names: &[&str]) -> Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    for stage in stages {
        let mut own: Document = codec::decode_untyped(stage)?;
        match own.iter_mut().next().map(|(name, made)| (name.as_str(), made)) {
            Some(("$replaceWith", made)) => *made = with_stored(names, made.clone()),
            Some(("$replaceRoot", Bson::Document(asked))) => {
                if let Some(made) = asked.get_mut("newRoot") {
                    *made = with_stored(names, made.clone());
                }
            }
            Some(("$project", Bson::Document(kept))) if is_inclusive(kept) => {
                for name in names {
                    if !kept.contains_key(name) {
                        kept.insert(*name, 1);
                    }
                }
            }
            _ => continue,
        }
        *stage = Raw::from(own).into_document()?;
    }
    Ok(())
}

/// The document that an expression makes, with these fields of the one it is made of. It may have a schema version of its
/// own.
fn with_stored(names: &[&str], made: Bson) -> Bson {
    let stored = names.iter().map(|name| {
        let own = Bson::String(format!("${name}"));
        let value = match *name {
            versions::FIELD => Bson::from(doc! { "$ifNull": [format!("$$made.{name}"), own] }),
            _ => own,
        };
        ((*name).to_owned(), value)
    });
    let stored: Document = stored.collect();
    // What makes no document is an error of the stage.
    let is_document = doc! { "$eq": [{ "$type": "$$made" }, "object"] };
    let merged = doc! { "$cond": [is_document, { "$mergeObjects": ["$$made", stored] }, "$$made"] };
    Bson::from(doc! { "$let": { "vars": { "made": made }, "in": merged } })
}

/// Whether a projection keeps what it names, instead of leaving it out.
fn is_inclusive(projection: &Document) -> bool {
    projection.iter().any(|(name, value)| {
        let leaves_out = match value {
            Bson::Document(inner) if inner.keys().all(|name| !name.starts_with('$')) => !is_inclusive(inner),
            value => is_switch(value) == Some(false),
        };
        name != "_id" && !leaves_out
    })
}

/// Whether a projection lets a field be as it is.
fn is_kept(value: &Bson) -> bool {
    is_switch(value) == Some(true)
}

/// Whether a value of a projection says that a field is kept, or left out; none where it says what the field becomes.
fn is_switch(value: &Bson) -> Option<bool> {
    match value {
        Bson::Boolean(kept) => Some(*kept),
        Bson::Int32(number) => Some(*number != 0),
        Bson::Int64(number) => Some(*number != 0),
        Bson::Double(number) => Some(*number != 0.0),
        _ => None,
    }
}
