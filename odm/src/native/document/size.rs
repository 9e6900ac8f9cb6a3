//! How large what is made may be.

use super::super::fault::{Fault, Result, code};
use super::{BUILDABLE_BYTES, Doc, MAX_DOCUMENT_BYTES};

/// Refuses a document that the server could not build.
///
/// # Errors
/// Code 10334.
pub(crate) fn check_buildable(document: &[u8]) -> Result<()> {
    if document.len() <= BUILDABLE_BYTES {
        return Ok(());
    }
    let first = Doc::Raw(document).elements().next();
    let first = first.map_or_else(String::new, |e| format!("{}: {}", e.name_str(), e.value()));
    Err(Fault::new(
        code::BSON_TOO_LARGE,
        format!(
            "BSONObj size: {} (0x{:X}) is invalid. Size must be between 0 and {BUILDABLE_BYTES}(16MB) First \
             element: {first}",
            document.len(),
            document.len()
        ),
    ))
}

/// Refuses a string of so many bytes that an expression would make.
///
/// # Errors
/// Code 16493.
pub(crate) fn check_text(bytes: usize) -> Result<()> {
    match bytes < MAX_DOCUMENT_BYTES {
        true => Ok(()),
        false => Err(Fault::new(16_493, "Tried to create string longer than 16MB")),
    }
}
