//! Raw documents as the driver's own document type, where its signatures ask for one.

use bson::{Document, RawBson, RawDocument, RawDocumentBuf};

use super::Attempt;
use crate::error::{Error, ErrorKind};

/// Decodes a document that the program gave.
pub(super) fn decode(raw: &RawDocument) -> Attempt<Document> {
    crate::codec::check_depth(raw.as_bytes())?;
    Document::try_from(raw).map_err(|e| {
        Error::new(ErrorKind::InvalidArgument, "malformed document")
            .with_backend(super::NAME)
            .with_source(e)
            .into()
    })
}

/// Whether a decoded filter says all that this one does: a document within an expression may have a field twice.
pub(super) fn is_kept(filter: &RawDocument) -> bool {
    if !matches!(filter.get("$expr"), Ok(Some(_))) {
        return true;
    }
    let again = Document::try_from(filter).and_then(|decoded| RawDocumentBuf::try_from(&decoded));
    again.is_ok_and(|again| again.as_bytes() == filter.as_bytes())
}

/// Decodes an optional document.
pub(super) fn decode_optional(raw: Option<&RawDocumentBuf>) -> Attempt<Option<Document>> {
    raw.map(|raw| decode(raw)).transpose()
}

/// Decodes a list of documents.
pub(super) fn decode_all(raw: &[RawDocumentBuf]) -> Attempt<Vec<Document>> {
    raw.iter().map(|raw| decode(raw)).collect()
}

/// An index by name or key pattern, as the driver takes it.
pub(super) fn hint(raw: Option<&RawBson>) -> Attempt<Option<::mongodb::options::Hint>> {
    match raw {
        None => Ok(None),
        Some(RawBson::String(name)) => Ok(Some(::mongodb::options::Hint::Name(name.clone()))),
        Some(RawBson::Document(keys)) => Ok(Some(::mongodb::options::Hint::Keys(decode(keys)?))),
        Some(_) => Err(Error::new(
            ErrorKind::InvalidArgument,
            "a hint is an index name or a key pattern",
        )
        .into()),
    }
}

/// A collation document, as the driver takes it.
pub(super) fn collation(raw: Option<&RawDocumentBuf>) -> Attempt<Option<::mongodb::options::Collation>> {
    raw.map(|raw| {
        bson::deserialize_from_slice(raw.as_bytes()).map_err(|e| {
            Error::new(ErrorKind::InvalidArgument, "malformed collation")
                .with_source(e)
                .into()
        })
    })
    .transpose()
}
