//! Filters on arrays.

use bson::raw::cstr;
use bson::{RawBson, RawDocumentBuf};
use serde::Serialize;

use super::encode::Tested;
use super::filter::{Filter, Node, Test, array, is_plain};
use super::operand::Operand;
use crate::error::{Error, Result};
use crate::model::{ArrayType, Field, FieldType, Path};

impl<R, T> Field<R, T> {
    /// An array of exactly this many elements.
    pub fn size(&self, elements: u32) -> Filter<R>
    where
        T: ArrayType,
    {
        let elements = Ok(RawBson::Int64(elements.into()));
        Filter::from_result(self.operator(Tested::Array, cstr!("$size"), elements))
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
            self.element(element)
                .and_then(|element| self.equal(true, element)),
        )
    }

    /// One of the elements is equal to one of these.
    pub fn has_any<I>(&self, elements: I) -> Filter<R>
    where
        T: ArrayType<Item: Serialize>,
        I: IntoIterator<Item: Operand<T::Item>>,
    {
        Filter::from_result(
            self.elements(elements)
                .and_then(|elements| self.one_of(true, elements)),
        )
    }

    /// Each of these is equal to one of the elements. Without any, no document matches, as with `$all`.
    pub fn has_all<I>(&self, elements: I) -> Filter<R>
    where
        T: ArrayType<Item: Serialize>,
        I: IntoIterator<Item: Operand<T::Item>>,
    {
        Filter::from_result(self.elements(elements).and_then(|elements| self.all_of(elements)))
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
        // A condition on a plain value has no `|`; that one element meets one of several is that one meets the first, or
        // one meets the next.
        if let Ok(node @ Node::Or(conditions)) = condition.node()
            && node.is_on_value()
        {
            let each = conditions
                .iter()
                .map(|condition| self.matching(Filter::<E>::from_node(condition.clone())));
            return Filter::or(each);
        }
        let condition = self.element_condition(condition).map(RawBson::Document);
        Filter::from_result(self.operator(Tested::Array, cstr!("$elemMatch"), condition))
    }

    /// The condition that each of these is equal to an element.
    fn all_of(&self, elements: Vec<RawBson>) -> Result<Node> {
        let all = |values: RawBson| vec![(cstr!("$all"), values)];
        let is_simple = |element: &RawBson| is_plain(element) && !matches!(element, RawBson::Array(_));
        let is_near = self.has_near_elements()?;
        if elements.is_empty() || is_near && elements.iter().all(is_simple) {
            return self.tested(Tested::Array, Test::Operators(all(array(elements))));
        }
        // `$all` would match by stored patterns, take documents for operators, and reach no array in an array.
        if is_near {
            let each = elements.into_iter().map(|element| self.equal(true, element));
            return each.collect::<Result<_>>().map(Node::and);
        }
        let each = elements.into_iter().map(|element| {
            let equal: RawDocumentBuf = [(cstr!("$eq"), element)].into_iter().collect();
            RawBson::Document([(cstr!("$elemMatch"), equal)].into_iter().collect())
        });
        self.tested(Tested::Array, Test::Operators(all(array(each))))
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
