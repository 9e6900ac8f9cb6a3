//! How far two collections have the same documents.

use bson::{Bson, RawDocument};

use super::about;
use crate::action::raw_documents::Documents;
use crate::collection::Target;
use crate::error::{Error, ErrorKind, Result};

/// Goes on to where the target ends, and gives how many documents were the same on both sides.
///
/// # Errors
/// `Conflict` for the first that is not.
pub(super) async fn agreeing(from: &mut Documents, mut to: Documents, target: &Target) -> Result<u64> {
    let mut same = 0;
    while to.advance().await? {
        let found = to.current()?;
        if !from.advance().await? || from.current()?.as_bytes() != found.as_bytes() {
            return Err(differing(target, Some(found)));
        }
        same += 1;
    }
    Ok(same)
}

/// The error of two sides that do not have the same.
pub(super) fn differing(target: &Target, document: Option<&RawDocument>) -> Error {
    let text = "the target's documents are not those of the source";
    let error = about(ErrorKind::Conflict, text, target);
    let id = document.and_then(|document| document.get("_id").ok()?);
    match id.and_then(|id| Bson::try_from(id).ok()) {
        Some(id) => error.with_id(id),
        None => error,
    }
}
