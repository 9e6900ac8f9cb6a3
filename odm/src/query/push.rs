//! Updates that add elements to arrays.

use std::marker::PhantomData;

use bson::RawBson;
use serde::Serialize;

use super::operand::Operand;
use super::sort::Sort;
use super::update::change::Push;
use super::update::{Action, Update};
use crate::error::Result;
use crate::model::{ArrayType, Field, FieldType, Ordered, Path};

impl<R, T> Field<R, T> {
    /// Adds an element at the end. A missing array is made; a null is an error.
    pub fn push(&self, element: impl Operand<T::Item>) -> Update<R>
    where
        T: ArrayType<Item: Serialize>,
    {
        self.push_each([element])
    }

    /// Adds elements at the end, in this order.
    pub fn push_each<I>(&self, elements: I) -> Update<R>
    where
        T: ArrayType<Item: Serialize>,
        I: IntoIterator<Item: Operand<T::Item>>,
    {
        self.push_each_with(elements, |options| options)
    }

    /// Adds elements, then sorts the array, then cuts it, in one step:
    /// `s.scores.push_each_with([90, 92], |p| p.sort_desc().slice(3))`.
    pub fn push_each_with<I>(
        &self,
        elements: I,
        options: impl FnOnce(PushOptions<T::Item>) -> PushOptions<T::Item>,
    ) -> Update<R>
    where
        T: ArrayType<Item: Serialize>,
        I: IntoIterator<Item: Operand<T::Item>>,
    {
        let options = options(PushOptions {
            position: None,
            slice: None,
            sort: None,
            marker: PhantomData,
        });
        let push = self.elements(elements).and_then(|elements| {
            Ok(Push {
                elements,
                position: options.position,
                slice: options.slice,
                sort: options.sort.transpose()?,
            })
        });
        Update::change(self, push.map(Action::Push))
    }

    /// Adds an element unless an equal one is there.
    pub fn add_to_set(&self, element: impl Operand<T::Item>) -> Update<R>
    where
        T: ArrayType<Item: Serialize>,
    {
        self.add_each_to_set([element])
    }

    /// Adds those of the elements that are not there.
    pub fn add_each_to_set<I>(&self, elements: I) -> Update<R>
    where
        T: ArrayType<Item: Serialize>,
        I: IntoIterator<Item: Operand<T::Item>>,
    {
        Update::change(self, self.elements(elements).map(Action::AddToSet))
    }
}

/// Where pushed elements of type `T` go, and what is kept of the array.
#[derive(Debug)]
#[must_use]
pub struct PushOptions<T> {
    position: Option<i64>,
    slice: Option<i64>,
    sort: Option<Result<RawBson>>,
    marker: PhantomData<fn() -> T>,
}

impl<T> PushOptions<T> {
    /// Inserts before this position, counted from 0; negative counts from the end.
    pub fn position(mut self, position: i64) -> PushOptions<T> {
        self.position = Some(position);
        self
    }

    /// Keeps this many elements: the first ones, or the last ones when negative.
    pub fn slice(mut self, elements: i64) -> PushOptions<T> {
        self.slice = Some(elements);
        self
    }

    /// Sorts the array by fields of its elements: `p.sort_by(|g| g.score.desc())`.
    pub fn sort_by(mut self, sort: impl FnOnce(T::Handle<T>) -> Sort<T>) -> PushOptions<T>
    where
        T: FieldType,
    {
        self.sort = Some(sort(T::handle(Path::root())).element_order());
        self
    }

    /// Sorts the array's elements, smallest first.
    pub fn sort_asc(mut self) -> PushOptions<T>
    where
        T: Ordered,
    {
        self.sort = Some(Ok(RawBson::Int32(1)));
        self
    }

    /// Sorts the array's elements, greatest first.
    pub fn sort_desc(mut self) -> PushOptions<T>
    where
        T: Ordered,
    {
        self.sort = Some(Ok(RawBson::Int32(-1)));
        self
    }
}
