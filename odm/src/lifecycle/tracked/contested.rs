//! Changes that no operator makes: those that are merged into what others made of the value meanwhile.

use bson::{RawArray, RawArrayBuf, RawBson, RawBsonRef, RawDocument, RawDocumentBuf};

use crate::error::Result;
use crate::lifecycle::document;
use crate::lifecycle::validator::malformed;

/// A value that is stored whole, if it is still what was seen, and else once more from what it is then.
pub(super) struct Contested {
    pub(super) path: String,
    old: RawBson,
    new: RawBson,
}

impl Contested {
    /// Of two arrays that are sets, or of two documents.
    pub(super) fn new(path: String, old: RawBsonRef<'_>, new: RawBsonRef<'_>) -> Contested {
        Contested {
            path,
            old: old.into(),
            new: new.into(),
        }
    }

    /// What is stored where nobody else has changed the value, and the condition that nobody has.
    pub(super) fn expected(&self) -> Result<(RawBson, RawDocumentBuf)> {
        let condition = is_still(&self.path, Some(self.old.as_raw_bson_ref()))?;
        Ok((self.new.clone(), condition))
    }

    /// What becomes of the stored value, and the condition that it is still stored. `encoded` is the stored document as
    /// the model would store it.
    pub(super) fn merged(
        &self,
        stored: &RawDocument,
        encoded: &RawDocument,
    ) -> Result<(RawBson, RawDocumentBuf)> {
        let current = document::at(stored, &self.path);
        let condition = is_still(&self.path, current)?;
        let value = match (&self.old, &self.new, current) {
            (RawBson::Array(old), RawBson::Array(new), _) => {
                RawBson::Array(array(old, new, document::at(encoded, &self.path))?)
            }
            (RawBson::Document(old), RawBson::Document(new), Some(RawBsonRef::Document(current))) => {
                RawBson::Document(fields(old, new, current)?)
            }
            (_, new, _) => new.clone(),
        };
        Ok((value, condition))
    }
}

/// The set without what is gone and with what has come.
fn array(old: &RawArray, new: &RawArray, known: Option<RawBsonRef<'_>>) -> Result<RawArrayBuf> {
    let (old, new) = (values(old)?, values(new)?);
    let known = match known {
        Some(RawBsonRef::Array(known)) => values(known)?,
        _ => Vec::new(),
    };
    let mut merged = RawArrayBuf::new();
    let stays = |value: &&RawBson| !old.contains(value) || new.contains(value);
    for value in known.iter().filter(stays) {
        merged.push(value.clone());
    }
    let come = |value: &RawBson| !old.contains(value) && !known.contains(value);
    for (index, value) in new.iter().enumerate() {
        if come(value) && new.iter().position(|other| other == value) == Some(index) {
            merged.push(value.clone());
        }
    }
    Ok(merged)
}

/// The stored fields with the changes of ours.
fn fields(old: &RawDocument, new: &RawDocument, stored: &RawDocument) -> Result<RawDocumentBuf> {
    let mut merged = RawDocumentBuf::new();
    for element in stored {
        let (name, value) = element.map_err(malformed)?;
        let (before, after) = (
            old.get(name).map_err(malformed)?,
            new.get(name).map_err(malformed)?,
        );
        match (before, after, value) {
            (before, after, value) if before == after => merged.append(name, value),
            (_, None, _) => {}
            (
                Some(RawBsonRef::Document(before)),
                Some(RawBsonRef::Document(after)),
                RawBsonRef::Document(value),
            ) => merged.append(name, fields(before, after, value)?),
            (_, Some(after), _) => merged.append(name, after),
        }
    }
    for element in new {
        let (name, value) = element.map_err(malformed)?;
        let is_changed = old.get(name).map_err(malformed)? != Some(value);
        if is_changed && stored.get(name).map_err(malformed)?.is_none() {
            merged.append(name, value);
        }
    }
    Ok(merged)
}

/// The condition that this value stands at the path.
fn is_still(path: &str, value: Option<RawBsonRef<'_>>) -> Result<RawDocumentBuf> {
    let Some(value) = value else {
        let mut missing = RawDocumentBuf::new();
        missing.append(
            document::key(path)?,
            document::single(bson::cstr!("$exists"), false),
        );
        return Ok(missing);
    };
    let mut equal = RawArrayBuf::new();
    equal.push(format!("${path}"));
    equal.push(document::single(bson::cstr!("$literal"), RawBson::from(value)));
    Ok(document::single(
        bson::cstr!("$expr"),
        document::single(bson::cstr!("$eq"), equal),
    ))
}

pub(super) fn values(array: &RawArray) -> Result<Vec<RawBson>> {
    let values = array.into_iter();
    values.map(|value| Ok(value.map_err(malformed)?.into())).collect()
}
