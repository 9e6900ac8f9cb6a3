//! What a database says of its collections.

use bson::{Document, RawDocument};

use crate::codec;
use crate::error::{Error, ErrorKind, Result};

/// A collection, as the database lists it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CollectionInfo {
    /// The name.
    pub name: String,
    /// `collection`, `view` or `timeseries`.
    pub kind: String,
    /// What it was created with, in the words of MongoDB's command `create`.
    pub options: Document,
}

impl CollectionInfo {
    pub(crate) fn read(document: &RawDocument) -> Result<CollectionInfo> {
        let malformed = |error: bson::error::Error| {
            Error::new(
                ErrorKind::Decode,
                "the backend's list of collections is malformed",
            )
            .with_source(error)
        };
        let text = |key: &str| document.get_str(key).map(str::to_owned);
        Ok(CollectionInfo {
            name: text("name").map_err(|error| {
                Error::new(ErrorKind::Decode, "a listed collection has no name").with_source(error)
            })?,
            kind: text("type").unwrap_or_else(|_| "collection".to_owned()),
            options: match document.get("options").map_err(malformed)? {
                Some(bson::RawBsonRef::Document(options)) => codec::decode_untyped(options)?,
                _ => Document::new(),
            },
        })
    }
}
