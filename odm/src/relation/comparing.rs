//! How references compare: by their values, whatever the collations of the collections are.

use bson::{Document, RawArrayBuf, RawBsonRef, RawDocumentBuf, rawdoc};

use crate::error::Result;
use crate::schema::ModelDescriptor;

/// The collation that a model declares of its collection; nothing for the comparison of bytes.
pub(crate) fn declared(model: &'static ModelDescriptor) -> Option<Document> {
    let declared = (model.options?)();
    declared.own_collation().filter(|own| !is_bytes(own)).cloned()
}

/// The collation that an operation says; nothing for the comparison of bytes.
pub(crate) fn said(collation: &RawDocumentBuf) -> Result<Option<Document>> {
    let said = Document::try_from(collation).map_err(super::stored::malformed)?;
    Ok(Some(said).filter(|said| !is_bytes(said)))
}

/// The collation that is the comparison of bytes.
pub(super) fn bytes() -> RawDocumentBuf {
    rawdoc! { "locale": "simple" }
}

fn is_bytes(collation: &Document) -> bool {
    collation.get_str("locale").is_ok_and(|locale| locale == "simple")
}

/// Whether a collation could take some of the keys for others.
pub(super) fn hold_text(keys: &RawArrayBuf) -> bool {
    keys.into_iter().any(|key| {
        matches!(
            key,
            Ok(RawBsonRef::String(_)
                | RawBsonRef::Symbol(_)
                | RawBsonRef::Document(_)
                | RawBsonRef::Array(_))
        )
    })
}

/// The comparison of bytes, where it must be said for these keys: an index of another collation finds no strings.
pub(super) fn for_keys(keys: &RawArrayBuf) -> Option<RawDocumentBuf> {
    hold_text(keys).then(bytes)
}
