//! Arrays of the document that an upsert would make.

use bson::RawBsonRef;

use crate::backend::Modification;
use crate::error::{Error, ErrorKind, Result};

/// Refuses an upsert whose document would have an element in the place of an array: it could not be read. MongoDB stores
/// what a filter asks to be equal, and takes `{tags: "a"}` for the field itself.
///
/// # Errors
/// `InvalidArgument`.
pub(super) fn check(seeded_arrays: &[String], modification: &Modification) -> Result<()> {
    let Modification::Operators(operators) = modification else {
        // A replacement takes the `_id` alone from the filter; what stages make of it only the database knows.
        return Ok(());
    };
    let is_set = |array: &str| {
        operators
            .iter()
            .flatten()
            .any(|(operator, changes)| match (operator.as_str(), changes) {
                ("$set" | "$setOnInsert" | "$unset", RawBsonRef::Document(changes)) => changes
                    .iter()
                    .flatten()
                    .any(|(path, _)| leads_to(path.as_str(), array)),
                _ => false,
            })
    };
    match seeded_arrays.iter().find(|array| !is_set(array)) {
        None => Ok(()),
        Some(array) => {
            let message = "the upsert would insert a document with an element where the array belongs, because the filter says what \
                           an element is equal to: set the array as well, by `set` or `set_on_insert`";
            Err(Error::new(ErrorKind::InvalidArgument, message).with_path(array))
        }
    }
}

/// Whether a change of the one path is one of the whole other.
fn leads_to(path: &str, array: &str) -> bool {
    match array.strip_prefix(path) {
        Some(rest) => rest.is_empty() || rest.starts_with('.'),
        None => false,
    }
}
