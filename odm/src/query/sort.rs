//! In which order.

use std::fmt;
use std::marker::PhantomData;
use std::ops::BitAnd;

use bson::raw::CString;
use bson::{RawBson, RawDocumentBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::model::{Field, Ordered};

/// An order of documents of `R`: made by [`asc`](crate::Field::asc) and [`desc`](crate::Field::desc), combined with
/// `&`, the most significant first.
///
/// ```
/// # use odm::Model;
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Serialize, Deserialize, Model)]
/// # struct Book {
/// #     #[serde(rename = "_id")]
/// #     id: i32,
/// #     title: String,
/// #     year: i32,
/// # }
/// let b = Book::fields();
/// let sort = b.year.desc() & b.title.asc();
/// assert_eq!(sort.to_document()?, odm::bson::rawdoc! { "year": -1, "title": 1 });
/// # Ok::<(), odm::Error>(())
/// ```
#[must_use]
pub struct Sort<R> {
    keys: Result<Vec<(CString, Direction)>>,
    marker: PhantomData<fn() -> R>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Direction {
    Ascending = 1,
    Descending = -1,
    /// The best answers of a text search first.
    Score = 0,
}

impl Direction {
    fn value(self) -> RawBson {
        match self {
            Direction::Score => RawBson::Document(bson::rawdoc! { "$meta": "textScore" }),
            direction => RawBson::Int32(direction as i32),
        }
    }
}

impl<R> Sort<R> {
    /// The documents that answer the filter's [text search](crate::Filter::text) best first. A query without one fails
    /// with code 40218.
    pub fn by_text_score() -> Sort<R> {
        Sort::from_result(Ok(vec![(bson::cstr!("score").to_owned(), Direction::Score)]))
    }

    /// Documents equal in this order are ordered by the other.
    pub fn then(self, other: Sort<R>) -> Sort<R> {
        Sort::from_result(self.keys.and_then(|mut keys| {
            for (path, direction) in other.keys? {
                if keys.iter().any(|(taken, _)| *taken == path) {
                    return Err(
                        Error::new(ErrorKind::InvalidArgument, "the sort names one field twice")
                            .with_path(path.to_string()),
                    );
                }
                keys.push((path, direction));
            }
            Ok(keys)
        }))
    }

    /// The order as MongoDB takes it.
    ///
    /// # Errors
    /// `InvalidArgument` when a field stands twice, or its path cannot be sorted by.
    pub fn to_document(&self) -> Result<RawDocumentBuf> {
        match &self.keys {
            Ok(keys) if keys.iter().any(|(path, _)| path.is_empty()) => Err(Error::new(
                ErrorKind::InvalidArgument,
                "a value without a name of its own cannot be sorted by",
            )),
            Ok(keys) => Ok(keys
                .iter()
                .map(|(path, direction)| (path, direction.value()))
                .collect()),
            Err(error) => Err(error.clone()),
        }
    }

    /// The order of an array's elements: by their fields, or by themselves.
    pub(super) fn element_order(&self) -> Result<RawBson> {
        match self.keys.as_deref() {
            Ok([(path, direction)]) if path.is_empty() => Ok(direction.value()),
            _ => self.to_document().map(RawBson::Document),
        }
    }

    fn from_result(keys: Result<Vec<(CString, Direction)>>) -> Sort<R> {
        Sort {
            keys,
            marker: PhantomData,
        }
    }
}

impl<R, T> Field<R, T> {
    /// Smallest first. Missing and null come before everything; an array counts by its smallest element.
    pub fn asc(&self) -> Sort<R>
    where
        T: Ordered,
    {
        Sort::from_result(self.query_path().map(|path| vec![(path, Direction::Ascending)]))
    }

    /// Greatest first. Missing and null come last; an array counts by its greatest element.
    pub fn desc(&self) -> Sort<R>
    where
        T: Ordered,
    {
        Sort::from_result(self.query_path().map(|path| vec![(path, Direction::Descending)]))
    }
}

impl<R> BitAnd for Sort<R> {
    type Output = Sort<R>;

    /// The same as [`then`](Sort::then).
    fn bitand(self, other: Sort<R>) -> Sort<R> {
        self.then(other)
    }
}

impl<R> Clone for Sort<R> {
    fn clone(&self) -> Sort<R> {
        Sort::from_result(self.keys.clone())
    }
}

impl<R> fmt::Debug for Sort<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_document() {
            Ok(document) => write!(f, "Sort({document:?})"),
            Err(error) => write!(f, "Sort({error:?})"),
        }
    }
}
