//! In which order.

use std::fmt;
use std::marker::PhantomData;
use std::ops::BitAnd;

use bson::RawDocumentBuf;
use bson::raw::CString;

use crate::error::{Error, ErrorKind, Result};
use crate::model::{Field, Ordered};

/// An order of documents of `R`: `b.title.asc()`, `b.year.desc() & b.title.asc()`.
#[must_use]
pub struct Sort<R> {
    keys: Result<Vec<(CString, Direction)>>,
    marker: PhantomData<fn() -> R>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Direction {
    Ascending = 1,
    Descending = -1,
}

impl<R> Sort<R> {
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
            Ok(keys) => Ok(keys
                .iter()
                .map(|(path, direction)| (path, *direction as i32))
                .collect()),
            Err(error) => Err(error.clone()),
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
