//! The `_id` that an upsert would make.

use bson::oid::ObjectId;
use bson::{Bson, RawBsonRef, RawDocument};

use crate::backend::Modification;
use crate::collection::Record;
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::equal_values;

/// Refuses an upsert whose document the database would give an ObjectId as `_id`, where the model's is none: it could
/// not be read.
///
/// # Errors
/// `InvalidArgument`.
pub(super) fn check<D: Record>(filter: &RawDocument, modification: &Modification) -> Result<()> {
    if is_given(filter, modification)?
        || D::decode_key(&Bson::ObjectId(ObjectId::from_bytes([0; 12]))).is_ok()
    {
        return Ok(());
    }
    let message = "the upsert would insert a document with a new ObjectId as its `_id`, which the model's `_id` is not: give it in \
                   the filter or by `set_on_insert`";
    Err(Error::new(ErrorKind::InvalidArgument, message).with_path("_id"))
}

/// Whether the filter or the modification says which `_id` the document gets.
fn is_given(filter: &RawDocument, modification: &Modification) -> Result<bool> {
    let is_id = |name: &str| name == "_id" || name.starts_with("_id.");
    let is_changed = match modification {
        Modification::Replacement(document) => {
            document.iter().flatten().any(|(name, _)| name.as_str() == "_id")
        }
        Modification::Operators(operators) => operators.iter().flatten().any(|(_, changes)| match changes {
            RawBsonRef::Document(changes) => changes.iter().flatten().any(|(path, _)| is_id(path.as_str())),
            _ => false,
        }),
        // What its stages make of the document only the database knows.
        Modification::Pipeline(_) => true,
    };
    Ok(is_changed || equal_values(filter)?.iter().any(|(path, _)| is_id(path)))
}
