//! Filters by comparison.

use bson::RawBson;
use bson::raw::{CStr, CString, cstr};
use serde::Serialize;

use super::filter::{Filter, Node, Test, array};
use super::operand::Operand;
use crate::model::{Field, Ordered};

impl<R, T> Field<R, T> {
    /// Equal. On an array: the whole array is equal, or one of its elements is an array equal to it.
    ///
    /// `eq(None)` also matches documents without the field.
    pub fn eq(&self, value: impl Operand<T>) -> Filter<R>
    where
        T: Serialize,
    {
        Filter::from_result(
            self.query_path()
                .and_then(|path| Ok(Node::equal(path, self.operand(value)?))),
        )
    }

    /// Not equal: the exact complement of [`eq`](Field::eq), documents without the field included.
    pub fn ne(&self, value: impl Operand<T>) -> Filter<R>
    where
        T: Serialize,
    {
        !self.eq(value)
    }

    /// Equal to one of these; to none when there are none.
    pub fn is_in<I>(&self, values: I) -> Filter<R>
    where
        T: Serialize,
        I: IntoIterator<Item: Operand<T>>,
    {
        Filter::from_result(
            self.query_path()
                .and_then(|path| Ok(Node::one_of(path, self.operands(values)?))),
        )
    }

    /// Equal to none of these: the exact complement of [`is_in`](Field::is_in).
    pub fn not_in<I>(&self, values: I) -> Filter<R>
    where
        T: Serialize,
        I: IntoIterator<Item: Operand<T>>,
    {
        !self.is_in(values)
    }
}

impl<R, T> Field<R, T> {
    /// Greater. Only values of the same kind count: numbers with numbers, texts with texts.
    pub fn gt(&self, value: impl Operand<T>) -> Filter<R>
    where
        T: Ordered + Serialize,
    {
        self.compare(cstr!("$gt"), value)
    }

    /// Greater or equal.
    pub fn gte(&self, value: impl Operand<T>) -> Filter<R>
    where
        T: Ordered + Serialize,
    {
        self.compare(cstr!("$gte"), value)
    }

    /// Less. Only values of the same kind count: missing and null are less than nothing.
    pub fn lt(&self, value: impl Operand<T>) -> Filter<R>
    where
        T: Ordered + Serialize,
    {
        self.compare(cstr!("$lt"), value)
    }

    /// Less or equal.
    pub fn lte(&self, value: impl Operand<T>) -> Filter<R>
    where
        T: Ordered + Serialize,
    {
        self.compare(cstr!("$lte"), value)
    }

    fn compare(&self, operator: &'static CStr, value: impl Operand<T>) -> Filter<R>
    where
        T: Ordered + Serialize,
    {
        Filter::test(self.query_path(), operator, self.operand(value))
    }
}

impl Node {
    /// Equality with one of these. Stored patterns are compared one by one: `$in` would match by them.
    pub(super) fn one_of(path: CString, values: Vec<RawBson>) -> Node {
        if values
            .iter()
            .any(|value| matches!(value, RawBson::RegularExpression(_)))
        {
            return Node::Or(
                values
                    .into_iter()
                    .map(|value| Node::equal(path.clone(), value))
                    .collect(),
            );
        }
        Node::Test {
            path,
            test: Test::Operators(vec![(cstr!("$in"), array(values))]),
        }
    }
}
