//! Places in an order: what comes after a document, as a filter whose bounds an index can take.

mod beyond;
mod class;
mod order;
mod place;

use std::cmp::Ordering;

use bson::{RawBsonRef, RawDocument, RawDocumentBuf};

use self::beyond::Stand;
pub(crate) use self::order::compare_numbers;
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

    /// Where a document is in the order. `collated` says whether strings compare by a collation, which is the
    /// backend's to know.
    ///
    /// # Errors
    /// `InvalidArgument` for a document whose place cannot be told.
    pub(crate) fn place(&self, document: &RawDocument, collated: bool) -> Result<Place> {
        let keys = self.keys.iter();
        Place::of(
            keys.map(|key| (key.path.as_str(), key.descending)),
            document,
            collated,
        )
    }

    /// Where the opposite sort has the document: the place, but for arrays, which are by their other end there, so
    /// that the opposite sort gives them too early.
    pub(crate) fn reverse_place(&self, document: &RawDocument) -> Result<Place> {
        let keys = self.keys.iter();
        Place::of(
            keys.map(|key| (key.path.as_str(), !key.descending)),
            document,
            false,
        )
    }

    /// Whether the document has an array in the order's fields.
    pub(crate) fn spreads(&self, document: &RawDocument) -> bool {
        self.paths().any(|path| {
            let value = place::stored(document, path);
            matches!(value, Err(_) | Ok(RawBsonRef::Array(_)))
        })
    }

    /// Which place is first in the order.
    pub(crate) fn compare(&self, left: &Place, right: &Place) -> Ordering {
        let pairs = left.values().zip(right.values());
        let orders = self.keys.iter().zip(pairs).map(|(key, (left, right))| {
            let order = order::compare(left.as_raw_bson_ref(), right.as_raw_bson_ref());
            if key.descending { order.reverse() } else { order }
        });
        orders.fold(Ordering::Equal, Ordering::then)
    }

    /// The documents behind the place, or before it; with `inclusive` also the one at it.
    pub(crate) fn beyond(&self, place: &Place, before: bool, inclusive: bool) -> Result<RawDocumentBuf> {
        let stands: Vec<Stand<'_>> = self
            .keys
            .iter()
            .zip(place.values())
            .map(|(key, value)| Stand {
                path: &key.path,
                value,
                descending: key.descending,
            })
            .collect();
        beyond::filter(&stands, before, inclusive)
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
