//! Places in an order: what comes after a document, as a filter whose bounds an index can take.

mod beyond;
mod class;
mod place;

use bson::{RawBson, RawBsonRef, RawDocument, RawDocumentBuf};

use self::beyond::Alternatives;
pub(crate) use self::place::Place;
use super::encode::path_text;
use crate::error::{Error, ErrorKind, Result};

/// An order in which no two documents are equal: that of a sort, ties broken by `_id`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Keyset {
    keys: Vec<Key>,
}

#[derive(Clone, Debug, PartialEq)]
struct Key {
    path: String,
    descending: bool,
}

impl Keyset {
    /// The order of a sort in MongoDB's words, `_id` being appended in the direction of the last field, so that an
    /// index over the fields and `_id` serves it either way.
    ///
    /// # Errors
    /// `InvalidArgument` for an order that is not by fields: `$natural`, the score of a text search.
    pub(crate) fn new(sort: Option<&RawDocument>) -> Result<Keyset> {
        let mut keys: Vec<Key> = Vec::new();
        for element in sort.into_iter().flatten() {
            let (path, direction) = element.map_err(malformed)?;
            let key = Key {
                path: path.as_str().to_owned(),
                descending: is_descending(path.as_str(), direction)?,
            };
            let is_id = key.path == "_id";
            keys.push(key);
            if is_id {
                return Ok(Keyset { keys });
            }
        }
        keys.push(Key {
            path: "_id".to_owned(),
            descending: keys.last().is_some_and(|last| last.descending),
        });
        Ok(Keyset { keys })
    }

    /// The fields that make a place.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|key| key.path.as_str())
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The order as MongoDB takes it, or its opposite.
    ///
    /// # Errors
    /// A path that holds a NUL.
    pub(crate) fn sort(&self, reverse: bool) -> Result<RawDocumentBuf> {
        let mut sort = RawDocumentBuf::new();
        for key in &self.keys {
            sort.append(
                path_text(key.path.clone())?,
                if key.descending != reverse { -1 } else { 1 },
            );
        }
        Ok(sort)
    }

    /// Where a document is in the order.
    ///
    /// # Errors
    /// `InvalidArgument` for a document that has no one place, because of an array.
    pub(crate) fn place(&self, document: &RawDocument) -> Result<Place> {
        Place::of(self.paths(), document)
    }

    /// The documents behind the place, or before it; with `inclusive` also the one at it.
    ///
    /// One alternative for each field that may differ first, most equal first, so that the alternatives are disjoint
    /// parts of an index over the order.
    pub(crate) fn beyond(&self, place: &Place, before: bool, inclusive: bool) -> Result<RawDocumentBuf> {
        let values: Vec<&RawBson> = place.values().collect();
        let mut alternatives = Alternatives::default();
        if inclusive {
            alternatives.equal(self.keys.iter().map(|key| key.path.as_str()), &values)?;
        }
        for last in (0..self.keys.len()).rev() {
            let (Some(key), Some(value)) = (self.keys.get(last), values.get(last)) else {
                continue;
            };
            let equal = self
                .keys
                .iter()
                .map(|key| key.path.as_str())
                .zip(&values)
                .take(last);
            let equal: Vec<(&str, &RawBson)> = equal.map(|(path, value)| (path, *value)).collect();
            alternatives.beyond(&equal, &key.path, value, key.descending != before)?;
        }
        Ok(alternatives.into_filter())
    }
}

fn is_descending(path: &str, direction: RawBsonRef<'_>) -> Result<bool> {
    let direction = match direction {
        RawBsonRef::Int32(direction) => Some(f64::from(direction)),
        RawBsonRef::Int64(direction) => Some(direction as f64),
        RawBsonRef::Double(direction) => Some(direction),
        _ => None,
    };
    match direction {
        Some(direction) if !path.starts_with('$') && !path.is_empty() && direction != 0.0 => {
            Ok(direction < 0.0)
        }
        _ => Err(Error::new(
            ErrorKind::InvalidArgument,
            "pages are for orders by fields: 1 or -1 each",
        )
        .with_path(path)),
    }
}

fn malformed(error: bson::error::Error) -> Error {
    Error::new(ErrorKind::Corrupt, "the document is malformed").with_source(error)
}

#[cfg(test)]
mod tests;
