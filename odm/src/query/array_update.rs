//! Updates that take elements out of arrays.

use bson::RawDocumentBuf;
use bson::raw::cstr;
use serde::Serialize;

use super::filter::Filter;
use super::operand::Operand;
use super::update::{Action, Update};
use crate::model::{ArrayType, Field, FieldType, Path};

impl<R, T> Field<R, T> {
    /// Takes the first element out.
    pub fn pop_first(&self) -> Update<R>
    where
        T: ArrayType,
    {
        Update::change(self, Ok(Action::PopFirst))
    }

    /// Takes the last element out.
    pub fn pop_last(&self) -> Update<R>
    where
        T: ArrayType,
    {
        Update::change(self, Ok(Action::PopLast))
    }

    /// Takes out the elements that meet a condition written on a plain value: `v.gte(6)`.
    ///
    /// Like [`pull_where`](Field::pull_where), for elements of any type.
    pub fn pull_where_value(
        &self,
        condition: impl FnOnce(Field<T::Item, T::Item>) -> Filter<T::Item>,
    ) -> Update<R>
    where
        T: ArrayType,
    {
        self.pull_matching(condition(Field::new(Path::root())))
    }
}

impl<R, T> Field<R, T> {
    /// Takes out the elements equal to this: documents with the same fields in the same order.
    pub fn pull(&self, element: impl Operand<T::Item>) -> Update<R>
    where
        T: ArrayType<Item: Serialize>,
    {
        Update::change(self, self.element(element).map(Action::Pull))
    }

    /// Takes out the elements equal to one of these.
    pub fn pull_all<I>(&self, elements: I) -> Update<R>
    where
        T: ArrayType<Item: Serialize>,
        I: IntoIterator<Item: Operand<T::Item>>,
    {
        Update::change(self, self.elements(elements).map(Action::PullAll))
    }
}

impl<R, T> Field<R, T> {
    /// Takes out the elements that meet a condition: `p.checkout.pull_where(|c| c.by.eq("joe"))`, or for plain
    /// values `s.scores.pull_where(|v| v.lt(60))`.
    pub fn pull_where(
        &self,
        condition: impl FnOnce(<T::Item as FieldType>::Handle<T::Item>) -> Filter<T::Item>,
    ) -> Update<R>
    where
        T: ArrayType<Item: FieldType>,
    {
        self.pull_matching(condition(<T::Item as FieldType>::handle(Path::root())))
    }
}

impl<R, T> Field<R, T> {
    fn pull_matching<E>(&self, condition: Filter<E>) -> Update<R> {
        let condition = self.element_condition(condition).map(|condition| {
            // `$pull` takes a leading `$not` for a filter on documents.
            match condition.as_bytes().get(5..10) == Some(b"$not\0") {
                false => condition,
                true => {
                    let mut led = RawDocumentBuf::new();
                    led.append(cstr!("$exists"), true);
                    for (name, value) in condition.iter().flatten() {
                        led.append(name, value);
                    }
                    led
                }
            }
        });
        Update::change(self, condition.map(Action::PullWhere))
    }
}
