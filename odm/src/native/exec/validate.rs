//! Holding documents against the validator of their collection.

use super::super::catalog::Collection;
use super::super::catalog::rules::Validator;
use super::super::document::Doc;
use super::super::fault::{Fault, Result, code};

/// Checks a new document.
///
/// # Errors
/// Code 121.
pub(super) fn inserted(collection: &Collection, document: &[u8]) -> Result<()> {
    match &collection.rules.validator {
        Some(validator) if !validator.matcher.matches(Doc::Raw(document))? => {
            Err(refused(validator, document))
        }
        _ => Ok(()),
    }
}

/// Checks a changed document; at the level `moderate` only where it matched before.
///
/// # Errors
/// Code 121.
pub(super) fn replaced(collection: &Collection, old: &[u8], new: &[u8]) -> Result<()> {
    match &collection.rules.validator {
        Some(validator)
            if !validator.matcher.matches(Doc::Raw(new))?
                && !(validator.moderate && !validator.matcher.matches(Doc::Raw(old))?) =>
        {
            Err(refused(validator, new))
        }
        _ => Ok(()),
    }
}

fn refused(validator: &Validator, document: &[u8]) -> Fault {
    let _ = (validator, document);
    Fault::new(code::DOCUMENT_VALIDATION_FAILURE, "Document failed validation")
}
