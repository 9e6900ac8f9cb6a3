//! Holding documents against the validator of their collection.

mod encrypted;
mod reason;
mod schema;

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
        Some(validator) if !validator.accepts(Doc::Raw(document))? => Err(refused(validator, document)),
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
            Err(refused(validator, new))
        }
        _ => Ok(()),
    }
}

fn refused(validator: &Validator, document: &[u8]) -> Fault {
    let doc = Doc::Raw(document);
    let info = vec![
        (
            "failingDocumentId".to_owned(),
            doc.get("_id").map_or(Owned::Null, Owned::from),
        ),
        (
            "details".to_owned(),
            Owned::Document(reason::of_filter(Doc::Raw(&validator.filter), doc)),
        ),
    ];
    Fault::new(code::DOCUMENT_VALIDATION_FAILURE, "Document failed validation")
        .detailed(Doc::Fields(&info).to_bytes())
}
