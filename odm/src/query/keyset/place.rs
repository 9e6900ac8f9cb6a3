//! Where a document is in an order.

use bson::{Bson, RawBson, RawBsonRef, RawDocument, RawDocumentBuf};

use super::malformed;
use crate::error::{Error, ErrorKind, Result};
use crate::query::encode::path_text;

/// The values of an order's fields in one document; null for a field that is missing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place(Vec<RawBson>);

impl Place {
    pub(super) fn of<'p>(paths: impl Iterator<Item = &'p str>, document: &RawDocument) -> Result<Place> {
        let values = paths.map(|path| {
            value_at(document, path).map_err(|error| {
                let error = error.with_path(path);
                match document.get("_id").ok().flatten().map(Bson::try_from) {
                    Some(Ok(id)) => error.with_id(id),
                    _ => error,
                }
            })
        });
        values.collect::<Result<_>>().map(Place)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &RawBson> {
        self.0.iter()
    }

    /// The values as a document, by their positions.
    pub(crate) fn to_document(&self) -> Result<RawDocumentBuf> {
        let mut document = RawDocumentBuf::new();
        for (position, value) in self.0.iter().enumerate() {
            document.append(path_text(position.to_string())?, value.clone());
        }
        Ok(document)
    }

    /// A place of so many values, read back. `None` where the document is no such place.
    pub(crate) fn read(document: &RawDocument, count: usize) -> Option<Place> {
        let mut values = Vec::with_capacity(count);
        for element in document {
            let (_, value) = element.ok()?;
            values.push(positioned(value).ok()?);
        }
        (values.len() == count).then_some(Place(values))
    }
}

/// The value that the document is ordered by, where it is one.
fn value_at(document: &RawDocument, path: &str) -> Result<RawBson> {
    let (first, rest) = match path.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (path, None),
    };
    match (document.get(first).map_err(malformed)?, rest) {
        (None, _) => Ok(RawBson::Null),
        (Some(RawBsonRef::Document(inner)), Some(rest)) => value_at(inner, rest),
        (Some(value), None) => positioned(value),
        (Some(RawBsonRef::Array(array)), Some(_)) => positioned(RawBsonRef::Array(array)),
        (Some(_), Some(_)) => Ok(RawBson::Null),
    }
}

fn positioned(value: RawBsonRef<'_>) -> Result<RawBson> {
    let refused = match value {
        RawBsonRef::Array(_) => {
            "an array has no one place in an order, so that a page cannot begin or end at it; sort by another field"
        }
        RawBsonRef::RegularExpression(_) => {
            "filters cannot compare patterns, so that a page cannot begin or end at one; sort by another field"
        }
        value => return Ok(value.into()),
    };
    Err(Error::new(ErrorKind::InvalidArgument, refused))
}

pub(super) fn is_nan(value: &RawBson) -> bool {
    match value {
        RawBson::Double(value) => value.is_nan(),
        // The combination field of decimal128 that means NaN is in the highest byte.
        RawBson::Decimal128(value) => value.bytes()[15] & 0x7C == 0x7C,
        _ => false,
    }
}
