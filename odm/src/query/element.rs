//! Reaching the elements of arrays and the values of maps.

use std::sync::Arc;

use bson::raw::cstr;
use bson::{RawBson, RawDocumentBuf};
use serde::Serialize;

use super::encode::path_text;
use super::filter::{Filter, Node};
use crate::codec;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{ArrayCondition, ArrayType, Field, FieldType, MapType, Path, Segment};

impl<R, T> Field<R, T> {
    /// Any element, in filters: `b.authors.any().starts_with("H")`, `p.addresses.any().city.eq("Faketon")`. In a sort
    /// and an index it stands for all elements. Updates and expressions do not take it.
    ///
    /// An array in an array is reached by one `any()` for each: `m.rows.any().any().gt(5)`, `m.rows.any().size(3)`.
    ///
    /// Two conditions on `any()` may be met by two elements; see [`elem_match`](Field::elem_match).
    pub fn any(&self) -> <T::Item as FieldType>::Handle<R>
    where
        T: ArrayType<Item: FieldType>,
    {
        self.reach(Segment::Any)
    }

    /// The element at this position, counted from 0: in filters and updates.
    pub fn at(&self, position: u32) -> <T::Item as FieldType>::Handle<R>
    where
        T: ArrayType<Item: FieldType>,
    {
        self.reach(Segment::Index(position))
    }

    /// The first element that the filter matched (`$`), in updates.
    ///
    /// The filter must have a condition on this array, and not on another one as well.
    pub fn matched(&self) -> <T::Item as FieldType>::Handle<R>
    where
        T: ArrayType<Item: FieldType>,
    {
        self.reach(Segment::Matched)
    }

    /// Every element (`$[]`), in updates.
    pub fn each(&self) -> <T::Item as FieldType>::Handle<R>
    where
        T: ArrayType<Item: FieldType>,
    {
        self.reach(Segment::All)
    }

    /// The elements that meet a condition (`$[f0]` with its array filter), in updates.
    ///
    /// ```
    /// # use odm::{Embedded, Model};
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize, Model)]
    /// struct Student {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     grades: Vec<Grade>,
    /// }
    ///
    /// #[derive(Serialize, Deserialize, Embedded)]
    /// struct Grade {
    ///     score: i32,
    ///     passed: bool,
    /// }
    ///
    /// let s = Student::fields();
    /// let update = s.grades.filtered(|g| g.score.lt(60)).passed.set(false).build()?;
    /// assert_eq!(update.array_filters, [odm::bson::rawdoc! { "f0.score": { "$lt": 60 } }]);
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn filtered(
        &self,
        condition: impl FnOnce(<T::Item as FieldType>::Handle<T::Item>) -> Filter<T::Item>,
    ) -> <T::Item as FieldType>::Handle<R>
    where
        T: ArrayType<Item: FieldType>,
    {
        let node = condition(<T::Item as FieldType>::handle(Path::root())).into_node();
        self.reach(Segment::Where(Arc::new(ElementCondition(node))))
    }

    fn reach(&self, segment: Segment) -> <T::Item as FieldType>::Handle<R>
    where
        T: ArrayType<Item: FieldType>,
    {
        <T::Item as FieldType>::handle(self.element_path(Some(segment)))
    }
}

impl<R, T> Field<R, T> {
    /// The value of this key: `b.titles.key("en").eq("Ulysses")`, `b.votes.key(user.id)`, `b.titles.key(Language::English)`.
    ///
    /// A key is whatever serializes to text, and what a map's keys are stored as: integers and bools as they are
    /// written, enums without data by their names, ObjectIds and UUIDs by their digits.
    ///
    /// A key that is empty, holds a dot or starts with `$` cannot be part of a path; using it is an error, and so is one
    /// that is not written as text.
    pub fn key(&self, key: impl Serialize) -> <T::Value as FieldType>::Handle<R>
    where
        T: MapType<Value: FieldType>,
    {
        let path = match codec::encode_name(&key) {
            Ok(key) if key.is_empty() || key.starts_with('$') || key.contains(['.', '\0']) => {
                let error = Error::new(
                    ErrorKind::InvalidArgument,
                    "a map's key in a path is not empty, has no dot and does not start with `$`",
                );
                Err(error.with_path(self.path().then(Segment::Key(key.into())).to_string()))
            }
            Ok(key) => Ok(self.element_path(Some(Segment::Key(key.into())))),
            Err(error) => Err(error.with_path(self.path().to_string())),
        };
        let path = path.unwrap_or_else(|error| self.path().then(Segment::Where(Arc::new(BadKey(error)))));
        <T::Value as FieldType>::handle(path)
    }
}

impl<R, T> Field<R, T> {
    /// Any value, where a model declares a reference or an inverse: `rooms.any_value().owner`.
    ///
    /// Filters and updates do not reach all values of a map: using it in one is an error.
    pub fn any_value(&self) -> <T::Value as FieldType>::Handle<R>
    where
        T: MapType<Value: FieldType>,
    {
        let path = self.path().then(every_value());
        <T::Value as FieldType>::handle(path)
    }
}

/// The step to all values of a map.
pub(crate) fn every_value() -> Segment {
    Segment::Where(Arc::new(EveryValue))
}

/// Stands in the path for all values of a map.
#[derive(Debug)]
struct EveryValue;

impl ArrayCondition for EveryValue {
    fn is_every_value(&self) -> bool {
        true
    }

    fn document(&self, _: &str) -> Result<RawDocumentBuf> {
        Err(Error::new(
            ErrorKind::InvalidArgument,
            "filters and updates do not reach all values of a map; name one by `key`",
        ))
    }
}

/// The condition of [`Field::filtered`].
#[derive(Debug)]
struct ElementCondition(Result<Node>);

impl ArrayCondition for ElementCondition {
    fn document(&self, name: &str) -> Result<RawDocumentBuf> {
        match &self.0 {
            Ok(Node::All) => Ok([(path_text(name.to_owned())?, exists())].into_iter().collect()),
            Ok(node) => Ok(node.document_under(name)),
            Err(error) => Err(error.clone()),
        }
    }
}

/// What every element meets; an array filter needs a condition.
fn exists() -> RawBson {
    RawBson::Document([(cstr!("$exists"), true)].into_iter().collect())
}

/// Stands in the path for a key that cannot.
#[derive(Debug)]
struct BadKey(Error);

impl ArrayCondition for BadKey {
    fn document(&self, _: &str) -> Result<RawDocumentBuf> {
        Err(self.0.clone())
    }
}
