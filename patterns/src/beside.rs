//! Fields that a pattern keeps in a document beside those of its model.

use odm::{Error, ErrorKind, Model, Result};

/// Refuses a model whose documents could not be read any more.
///
/// # Errors
/// `Schema`, with this message.
pub(crate) fn room_in<M: Model>(message: &'static str) -> Result<()> {
    match M::DESCRIPTOR.denies_unknown_fields {
        true => Err(Error::new(ErrorKind::Schema, message).with_model(M::DESCRIPTOR.name)),
        false => Ok(()),
    }
}
