//! Arrays.

use std::cell::Cell;

use bson::RawBson;
use bson::raw::{CStr, cstr};

use super::{Encoding, Expr, Number, Term, Valued, call, call_all, call_named, constant};
use crate::error::Result;
use crate::model::{ArrayType, FieldType, Numeric, Path, Segment};
use crate::query::encode::own_codec;

impl<R, T: ArrayType> Expr<R, T> {
    /// How many elements. What is no array is an error of the server; `if_null` helps where it may be missing.
    pub fn size(self) -> Expr<R, Number> {
        self.unary_array(cstr!("$size"))
    }

    /// The first element; missing where there is none.
    pub fn first(self) -> Expr<R, Option<T::Item>> {
        self.at(0)
    }

    /// The last element; missing where there is none.
    pub fn last(self) -> Expr<R, Option<T::Item>> {
        self.at(-1)
    }

    /// The element at this position, counted from 0, or from the end by negative numbers; missing where there is none.
    pub fn at(self, position: i32) -> Expr<R, Option<T::Item>> {
        let position = Ok(constant(RawBson::Int32(position)));
        let encoding = of_elements(self.encoding);
        Expr::new(call_all(cstr!("$arrayElemAt"), [self.value, position])).stored(encoding)
    }

    /// Whether an element is equal to this.
    pub fn contains(self, element: impl Term<R, T::Item>) -> Expr<R, bool> {
        let element = element.term(&Encoding::Computed);
        Expr::new(call_all(cstr!("$in"), [element, self.elements()]))
    }

    /// What becomes of each element: `b.scores.value().map(|score| score.value() * 2)`.
    pub fn map<V: Valued<Root = R>>(
        self,
        change: impl FnOnce(<T::Item as FieldType>::Handle<R>) -> V,
    ) -> Expr<R, Vec<V::Value>>
    where
        T: ArrayType<Item: FieldType>,
    {
        let mut encoding = Encoding::Computed;
        let (name, changed) = element::<R, T::Item, _>(|item| {
            let changed = change(item).expression();
            encoding = of_elements(changed.encoding);
            changed.value
        });
        let mapped = Expr::new(call_named(
            cstr!("$map"),
            [
                (cstr!("input"), self.elements()),
                (cstr!("as"), Ok(RawBson::String(name))),
                (cstr!("in"), changed),
            ],
        ));
        mapped.stored(encoding)
    }

    /// The elements for which a condition is true: `b.scores.value().filter(|score| score.value().gt(5))`.
    pub fn filter(
        self,
        condition: impl FnOnce(<T::Item as FieldType>::Handle<R>) -> Expr<R, bool>,
    ) -> Expr<R, Vec<T::Item>>
    where
        T: ArrayType<Item: FieldType>,
    {
        let (name, condition) = element::<R, T::Item, _>(|item| condition(item).value);
        Expr::new(call_named(
            cstr!("$filter"),
            [
                (cstr!("input"), self.elements()),
                (cstr!("as"), Ok(RawBson::String(name))),
                (cstr!("cond"), condition),
            ],
        ))
    }

    /// The sum of the elements that are numbers.
    pub fn sum(self) -> Expr<R, Number>
    where
        T: ArrayType<Item: Numeric>,
    {
        self.unary_array(cstr!("$sum"))
    }

    /// The mean of the elements that are numbers; null where there is none.
    pub fn avg(self) -> Expr<R, Number>
    where
        T: ArrayType<Item: Numeric>,
    {
        self.unary_array(cstr!("$avg"))
    }

    /// The array, where its elements are stored as their type says.
    fn elements(self) -> Result<RawBson> {
        match self.encoding.is_own() {
            true => self.named(Err(own_codec())),
            false => self.value,
        }
    }

    fn unary_array(self, operator: &'static CStr) -> Expr<R, Number> {
        // In a list of its own, an array is the argument, not the arguments.
        Expr::new(self.value.map(|value| call(operator, value)))
    }
}

/// How what is in values that are stored like this, or made of them, is stored.
fn of_elements<T, E>(encoding: Encoding<T>) -> Encoding<E> {
    match encoding.is_own() {
        true => Encoding::Inside,
        false => Encoding::Computed,
    }
}

thread_local! {
    /// How many element variables are in scope: each has a name of its own, so that inner ones do not hide outer ones.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

struct Scope;

impl Drop for Scope {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get().saturating_sub(1));
    }
}

/// The variable's name, and what is made of the element that it stands for.
fn element<R, I: FieldType, O>(make: impl FnOnce(I::Handle<R>) -> Result<O>) -> (String, Result<O>) {
    let depth = DEPTH.get();
    DEPTH.set(depth.saturating_add(1));
    let _scope = Scope;
    let name = format!("e{depth}");
    let path = Path::root().then(Segment::Key(format!("$${name}").into()));
    let made = make(I::handle(path));
    (name, made)
}
