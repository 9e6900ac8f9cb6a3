//! Filters by comparison.

use bson::RawBson;
use bson::raw::{CStr, cstr};
use serde::Serialize;

use super::encode::Tested;
use super::filter::Filter;
use super::operand::Operand;
use crate::model::{Field, Ordered};

impl<R, T> Field<R, T> {
    /// Equal. On an array: the whole array is equal, or one of its elements is an array equal to it.
    ///
    /// On an enum or another value that is no array MongoDB compares the elements of a stored array too: `eq` of one variant
    /// of an untagged enum also matches where another variant is stored as an array that holds the value.
    ///
    /// `eq(None)` also matches documents without the field.
    pub fn eq(&self, value: impl Operand<T>) -> Filter<R>
    where
        T: Serialize,
    {
        Filter::from_result(self.operand(value).and_then(|value| self.equal(false, value)))
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
            self.operands(values)
                .and_then(|values| self.one_of(false, values)),
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
        Filter::from_result(self.operand(value).and_then(|value| {
            let tested = Tested::by(false, matches!(value, RawBson::Array(_)));
            self.operator(tested, operator, Ok(value))
        }))
    }
}
