//! Holding documents against the validator of their collection.

mod encrypted;
mod leaf;
mod reason;
mod schema;
mod size;

use self::reason::Case;
use super::super::catalog::Collection;
use super::super::catalog::rules::Validator;
use super::super::document::{Doc, Owned};
use super::super::fault::{Fault, Result, code};

/// Checks a new document.
///
/// # Errors
/// Code 121.
pub(super) fn inserted(collection: &Collection, document: &[u8]) -> Result<()> {
    if !collection.rules.encrypted.is_empty() {
        encrypted::inserted(collection, Doc::Raw(document))?;
    }
    match &collection.rules.validator {
        Some(validator) if !validator.accepts(Doc::Raw(document))? => {
            Err(refused(collection, validator, document))
        }
        _ => Ok(()),
    }
}

/// Checks a changed document; at the level `moderate` only where it matched before.
///
/// # Errors
/// Code 121.
pub(super) fn replaced(collection: &Collection, old: &[u8], new: &[u8]) -> Result<()> {
    if !collection.rules.encrypted.is_empty() {
        encrypted::replaced(collection, Doc::Raw(old), Doc::Raw(new))?;
    }
    match &collection.rules.validator {
        Some(validator)
            if !validator.accepts(Doc::Raw(new))?
                && (!validator.moderate || validator.accepts(Doc::Raw(old))?) =>
        {
            Err(refused(collection, validator, new))
        }
        _ => Ok(()),
    }
}

fn refused(collection: &Collection, validator: &Validator, document: &[u8]) -> Fault {
    let doc = Doc::Raw(document);
    let case = Case {
        doc,
        collation: &collection.rules.collation,
    };
    let id = doc.get("_id").map_or(Owned::Null, Owned::from);
    let info = match reason::of_filter(Doc::Raw(&validator.filter), case) {
        Ok(details) => size::fitting(id, details),
        Err(fault) => size::without(id, reason::failure(&fault)),
    };
    Fault::new(code::DOCUMENT_VALIDATION_FAILURE, "Document failed validation").detailed(info)
}
