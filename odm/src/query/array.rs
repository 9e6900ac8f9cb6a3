//! Filters on arrays.

use bson::raw::cstr;
use bson::{RawBson, RawDocumentBuf};
use serde::Serialize;

use super::filter::{Filter, Node, Test, array};
use super::operand::Operand;
use crate::error::{Error, Result};
use crate::model::{ArrayType, Field, FieldType, Path};

impl<R, T> Field<R, T> {
    /// An array of exactly this many elements.
    pub fn size(&self, elements: u32) -> Filter<R>
    where
        T: ArrayType,
    {
        Filter::test(
            self.query_path(),
            cstr!("$size"),
            Ok(RawBson::Int64(elements.into())),
        )
    }

    /// An array without elements. Documents without the array do not match.
    pub fn is_empty(&self) -> Filter<R>
    where
        T: ArrayType,
    {
        self.size(0)
    }
}

impl<R, T> Field<R, T> {
    /// One of the elements is equal to this.
    pub fn has(&self, element: impl Operand<T::Item>) -> Filter<R>
    where
        T: ArrayType<Item: Serialize>,
    {
        Filter::from_result(
            self.query_path()
                .and_then(|path| Ok(Node::equal(path, self.element(element)?))),
        )
    }

    /// One of the elements is equal to one of these.
    pub fn has_any<I>(&self, elements: I) -> Filter<R>
    where
        T: ArrayType<Item: Serialize>,
        I: IntoIterator<Item: Operand<T::Item>>,
    {
        Filter::from_result(
            self.query_path()
                .and_then(|path| Ok(Node::one_of(path, self.elements(elements)?))),
        )
    }

    /// Each of these is equal to one of the elements. Without any, no document matches, as with `$all`.
    pub fn has_all<I>(&self, elements: I) -> Filter<R>
    where
        T: ArrayType<Item: Serialize>,
        I: IntoIterator<Item: Operand<T::Item>>,
    {
        Filter::from_result(self.query_path().and_then(|path| {
            let elements = self.elements(elements)?;
            // `$all` would match by stored patterns instead of comparing them.
            if elements
                .iter()
                .any(|element| matches!(element, RawBson::RegularExpression(_)))
            {
                let each = elements
                    .into_iter()
                    .map(|element| Node::equal(path.clone(), element));
                return Ok(Node::And(each.collect()));
            }
            Ok(Node::Test {
                path,
                test: Test::Operators(vec![(cstr!("$all"), array(elements))]),
            })
        }))
    }

    /// One single element meets the whole condition, written on a plain value: `v.gt(1) & v.lt(5)`.
    ///
    /// Like [`elem_match`](Field::elem_match), for elements of any type.
    pub fn elem_match_value(
        &self,
        condition: impl FnOnce(Field<T::Item, T::Item>) -> Filter<T::Item>,
    ) -> Filter<R>
    where
        T: ArrayType<Item: Serialize>,
    {
        self.matching(condition(Field::new(Path::root())))
    }
}

impl<R, T> Field<R, T> {
    /// One single element meets the whole condition: on its fields for nested documents, on itself for plain values.
    ///
    /// ```
    /// # use odm::{Embedded, Model};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Model)]
    /// # struct Student {
    /// #     #[serde(rename = "_id")]
    /// #     id: i32,
    /// #     grades: Vec<Grade>,
    /// #     scores: Vec<i32>,
    /// # }
    /// # #[derive(Serialize, Deserialize, Embedded)]
    /// # struct Grade {
    /// #     subject: String,
    /// #     score: i32,
    /// # }
    /// let s = Student::fields();
    /// let good_at_math = s.grades.elem_match(|g| g.subject.eq("math") & g.score.gt(90));
    /// let in_the_eighties = s.scores.elem_match(|v| v.gte(80) & v.lt(90));
    /// # (good_at_math & in_the_eighties).to_document()?;
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn elem_match(
        &self,
        condition: impl FnOnce(<T::Item as FieldType>::Handle<T::Item>) -> Filter<T::Item>,
    ) -> Filter<R>
    where
        T: ArrayType<Item: FieldType>,
    {
        self.matching(condition(<T::Item as FieldType>::handle(Path::root())))
    }
}

impl<R, T> Field<R, T> {
    fn matching<E>(&self, condition: Filter<E>) -> Filter<R> {
        let condition = self.element_condition(condition).map(RawBson::Document);
        Filter::test(self.query_path(), cstr!("$elemMatch"), condition)
    }

    /// A condition on an element as `$elemMatch` and `$pull` take it.
    pub(super) fn element_condition<E>(&self, condition: Filter<E>) -> Result<RawDocumentBuf> {
        // The path of elements carries the error of an array with its own codec.
        Field::<R, E>::new(self.element_path(None)).reachable()?;
        let document = condition.into_node().and_then(|node| node.element_document());
        document.map_err(|error: Error| match error.path() {
            Some(inner) => {
                let path = format!("{}.{inner}", self.path());
                error.with_path(path)
            }
            None => error.with_path(self.path().to_string()),
        })
    }
}
