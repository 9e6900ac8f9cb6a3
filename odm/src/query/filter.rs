//! Which documents.

mod node;
mod render;

use std::fmt;
use std::marker::PhantomData;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Not};

use bson::raw::{CStr, cstr};
use bson::{RawBson, RawDocumentBuf};

pub(crate) use self::node::{Node, Test, array, is_plain, starts_with_operator};
use crate::codec::Raw;
use crate::error::{Error, ErrorKind, Result};

/// A condition on documents of `R`: made by the methods of fields, combined with `&`, `|` and `!`.
///
/// ```
/// use odm::Model;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Model)]
/// struct Book {
///     #[serde(rename = "_id")]
///     id: i32,
///     title: String,
///     available: u32,
/// }
///
/// let b = Book::fields();
/// let filter = b.title.starts_with("Moby") & b.available.gt(0);
/// assert_eq!(
///     filter.to_document()?,
///     bson::rawdoc! { "title": { "$regex": "^Moby" }, "available": { "$gt": 0_i64 } }
/// );
/// # use odm::bson;
/// # Ok::<(), odm::Error>(())
/// ```
#[must_use]
pub struct Filter<R> {
    node: Result<Node>,
    marker: PhantomData<fn() -> R>,
}

impl<R> Filter<R> {
    /// Every document.
    pub fn all() -> Filter<R> {
        Filter::from_node(Node::All)
    }

    /// No document.
    pub fn none() -> Filter<R> {
        Filter::from_node(Node::Never)
    }

    /// A filter in MongoDB's own words, taken as it is. Combines with typed ones.
    ///
    /// Its operands are not encoded by the fields' codecs.
    pub fn raw(filter: impl Into<Raw>) -> Filter<R> {
        Filter::from_result(filter.into().into_document().map(Node::raw))
    }

    /// An aggregation expression that must be true: `{"$gt": ["$spent", "$budget"]}`.
    ///
    /// Comparisons in expressions do not bracket types: a missing field is less than any number.
    pub fn expr(expression: impl Into<Raw>) -> Filter<R> {
        Filter::operator(cstr!("$expr"), expression)
    }

    /// A text for the server's log and profiler that changes nothing else.
    pub fn comment(text: impl Into<String>) -> Filter<R> {
        Filter::from_node(Node::Operator {
            name: cstr!("$comment"),
            value: RawBson::String(text.into()),
        })
    }

    /// The documents that all of these match; every document when there are none.
    pub fn and(filters: impl IntoIterator<Item = Filter<R>>) -> Filter<R> {
        Filter::from_result(nodes(filters).map(Node::and))
    }

    /// The documents that one of these matches; no document when there are none.
    pub fn or(filters: impl IntoIterator<Item = Filter<R>>) -> Filter<R> {
        Filter::from_result(nodes(filters).map(Node::or))
    }

    /// The documents that none of these matches; every document when there are none.
    pub fn nor(filters: impl IntoIterator<Item = Filter<R>>) -> Filter<R> {
        Filter::from_result(nodes(filters).map(Node::nor))
    }

    /// The filter as MongoDB takes it.
    ///
    /// # Errors
    /// `Encode` when an operand does not fit BSON, naming the field; `InvalidArgument` for a condition that cannot
    /// be written where it stands.
    pub fn to_document(&self) -> Result<RawDocumentBuf> {
        self.whole().map(Node::document)
    }

    /// The condition, which is about documents.
    fn whole(&self) -> Result<&Node> {
        match &self.node {
            Ok(node) if node.is_on_value() => Err(Error::new(
                ErrorKind::InvalidArgument,
                "a flattened field is not stored as one value: ask its fields one by one (a condition on a value itself \
                 is for elements of arrays)",
            )),
            Ok(node) => Ok(node),
            Err(error) => Err(error.clone()),
        }
    }

    pub(crate) fn into_whole(self) -> Result<Node> {
        self.whole()?;
        self.node
    }

    /// The arrays in whose place an upsert would store what an element is equal to.
    pub(crate) fn seeded_arrays(&self) -> Vec<String> {
        let mut found = Vec::new();
        if let Ok(node) = &self.node {
            node.seeded_arrays(&mut found);
        }
        found
    }

    /// Whether this is [`Filter::all`].
    pub fn is_all(&self) -> bool {
        matches!(self.node, Ok(Node::All))
    }

    pub(super) fn node(&self) -> Result<&Node, &Error> {
        self.node.as_ref()
    }

    pub(crate) fn into_node(self) -> Result<Node> {
        self.node
    }

    pub(crate) fn from_node(node: Node) -> Filter<R> {
        Filter::from_result(Ok(node))
    }

    pub(super) fn from_result(node: Result<Node>) -> Filter<R> {
        Filter {
            node,
            marker: PhantomData,
        }
    }

    fn operator(name: &'static CStr, value: impl Into<Raw>) -> Filter<R> {
        Filter::from_result(value.into().into_document().map(|value| Node::Operator {
            name,
            value: RawBson::Document(value),
        }))
    }
}

fn nodes<R>(filters: impl IntoIterator<Item = Filter<R>>) -> Result<Vec<Node>> {
    filters.into_iter().map(Filter::into_node).collect()
}

impl<R> BitAnd for Filter<R> {
    type Output = Filter<R>;

    /// Documents that both match.
    fn bitand(self, other: Filter<R>) -> Filter<R> {
        Filter::and([self, other])
    }
}

impl<R> BitOr for Filter<R> {
    type Output = Filter<R>;

    /// Documents that one of the two matches.
    fn bitor(self, other: Filter<R>) -> Filter<R> {
        Filter::or([self, other])
    }
}

impl<R> BitAndAssign for Filter<R> {
    /// Narrows it: `filter &= b.year.gt(1900)`.
    fn bitand_assign(&mut self, other: Filter<R>) {
        *self = std::mem::replace(self, Filter::all()) & other;
    }
}

impl<R> BitOrAssign for Filter<R> {
    /// Widens it: `filter |= b.year.is_none()`.
    fn bitor_assign(&mut self, other: Filter<R>) {
        *self = std::mem::replace(self, Filter::none()) | other;
    }
}

impl<R> Not for Filter<R> {
    type Output = Filter<R>;

    /// Documents that it does not match: the exact complement, documents without the field included.
    fn not(self) -> Filter<R> {
        Filter::from_result(self.node.map(Node::not))
    }
}

impl<R> Clone for Filter<R> {
    fn clone(&self) -> Filter<R> {
        Filter::from_result(self.node.clone())
    }
}

impl<R> fmt::Debug for Filter<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node {
            Ok(node) => write!(f, "Filter({:?})", node.document()),
            Err(error) => write!(f, "Filter({error:?})"),
        }
    }
}
