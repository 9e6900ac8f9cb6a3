//! Where a document is in an order.

use bson::{Bson, RawBson, RawBsonRef, RawDocument, RawDocumentBuf};

use super::class::Class;
use super::malformed;
use super::order::compare;
use crate::error::{Error, ErrorKind, Result};
use crate::query::encode::path_text;

/// The values of an order's fields in one document; null for a field that is missing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place(Vec<RawBson>);

impl Place {
    /// The place by these fields, of which an array counts by its greatest element where the flag is set, otherwise
    /// by its least.
    pub(super) fn of<'p>(
        paths: impl Iterator<Item = (&'p str, bool)>,
        document: &RawDocument,
        collated: bool,
    ) -> Result<Place> {
        let values = paths.map(|(path, greatest)| {
            let value = stored(document, path).and_then(|value| ordered(value, greatest, collated));
            value.map_err(|error| {
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

/// What stands at the path; null where nothing does.
pub(super) fn stored<'a>(document: &'a RawDocument, path: &str) -> Result<RawBsonRef<'a>> {
    let (first, rest) = match path.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (path, None),
    };
    match (document.get(first).map_err(malformed)?, rest) {
        (None, _) => Ok(RawBsonRef::Null),
        (Some(RawBsonRef::Document(inner)), Some(rest)) => stored(inner, rest),
        (Some(value), None) => Ok(value),
        (Some(RawBsonRef::Array(_)), Some(_)) => Err(refused(
            "a page cannot begin or end at a document whose sort leads through an array; sort by another field",
        )),
        (Some(_), Some(_)) => Ok(RawBsonRef::Null),
    }
}

/// The value that the document is ordered by: of an array an element, of an empty one undefined.
fn ordered(value: RawBsonRef<'_>, greatest: bool, collated: bool) -> Result<RawBson> {
    let RawBsonRef::Array(array) = value else {
        return positioned(value);
    };
    let mut chosen: Option<RawBsonRef<'_>> = None;
    for element in array {
        let element = element.map_err(malformed)?;
        let is_chosen = chosen.is_none_or(|chosen| {
            let order = compare(element, chosen);
            if greatest { order.is_gt() } else { order.is_lt() }
        });
        if collated && chosen.is_some_and(|chosen| is_by_collation(element, chosen)) {
            return Err(refused(
                "under a collation a page cannot begin or end at an array of several texts; sort by another field, or by \
                 the collation `simple`",
            ));
        }
        if is_chosen {
            chosen = Some(element);
        }
    }
    positioned(chosen.unwrap_or(RawBsonRef::Undefined))
}

/// Whether a collation decides which of two values is less. It decides nothing between values of two classes, nor of those
/// that hold no text.
fn is_by_collation(one: RawBsonRef<'_>, other: RawBsonRef<'_>) -> bool {
    let class = Class::of(one);
    matches!(class, Class::Text | Class::Document | Class::Array) && class == Class::of(other)
}

fn positioned(value: RawBsonRef<'_>) -> Result<RawBson> {
    match value {
        RawBsonRef::RegularExpression(_) => Err(refused(
            "filters cannot compare patterns, so that a page cannot begin or end at one; sort by another field",
        )),
        value => Ok(value.into()),
    }
}

fn refused(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}
