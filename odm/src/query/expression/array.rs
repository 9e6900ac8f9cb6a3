//! Arrays.

use std::cell::Cell;

use bson::raw::{CStr, cstr};
use bson::{RawBson, RawDocumentBuf};

use super::{
    ArrayTerm, Encoding, Expr, Number, Term, Valued, call, call_all, call_named, constant, field_name,
};
use crate::error::Result;
use crate::model::{ArrayType, Embedded, FieldType, Numeric, Path, Segment};
use crate::query::Sort;
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

    /// Whether a condition is true for an element: `b.scores.value().any(|score| score.value().gt(5))`. What is no array is
    /// an error of the server.
    pub fn any(
        self,
        condition: impl FnOnce(<T::Item as FieldType>::Handle<R>) -> Expr<R, bool>,
    ) -> Expr<R, bool>
    where
        T: ArrayType<Item: FieldType>,
    {
        self.map(condition).of_truths(cstr!("$anyElementTrue"))
    }

    /// Whether a condition is true for all elements, as it is where there is none. What is no array is an error of the
    /// server.
    pub fn all(
        self,
        condition: impl FnOnce(<T::Item as FieldType>::Handle<R>) -> Expr<R, bool>,
    ) -> Expr<R, bool>
    where
        T: ArrayType<Item: FieldType>,
    {
        self.map(condition).of_truths(cstr!("$allElementsTrue"))
    }

    /// What becomes of the first value by one element after another; null where there is no array.
    ///
    /// ```
    /// # use odm::Model;
    /// # use odm::expr::literal;
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Model)]
    /// # struct Book {
    /// #     #[serde(rename = "_id")]
    /// #     id: i32,
    /// #     tags: Vec<String>,
    /// # }
    /// let b = Book::fields();
    /// let all = b.tags.value().fold(literal(String::new()), |text, tag| text.concat(tag).concat(" "));
    /// # all.to_bson()?;
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn fold<A>(
        self,
        first: Expr<R, A>,
        step: impl FnOnce(Expr<R, A>, <T::Item as FieldType>::Handle<R>) -> Expr<R, A>,
    ) -> Expr<R, A>
    where
        T: ArrayType<Item: FieldType>,
    {
        // `$$value` and `$$this` of an inner one would hide those of an outer one.
        let (name, stepped) = element::<R, T::Item, _>(|item| {
            let so_far = DEPTH.get();
            step(Expr::new(Ok(RawBson::String(format!("$$a{so_far}")))), item).value
        });
        let so_far = format!("a{}", DEPTH.get() + 1);
        let stepped = stepped.and_then(|stepped| {
            let variables = [(so_far, "$$value"), (name, "$$this")];
            let mut scope = RawDocumentBuf::new();
            for (name, value) in variables {
                scope.append(field_name(&name)?, value);
            }
            call_named(
                cstr!("$let"),
                [(cstr!("vars"), Ok(scope.into())), (cstr!("in"), Ok(stepped))],
            )
        });
        Expr::new(call_named(
            cstr!("$reduce"),
            [
                (cstr!("input"), self.elements()),
                (cstr!("initialValue"), first.value),
                (cstr!("in"), stepped),
            ],
        ))
    }

    /// So many elements from a position on, which is counted from 0, or from the end by negative numbers.
    pub fn slice(self, from: i32, count: u32) -> Expr<R, Vec<T::Item>> {
        let number = |number: i64| Ok(constant(RawBson::Int64(number)));
        // None is no count that the server takes.
        let arguments = match count {
            0 => vec![self.elements(), number(0)],
            count => vec![self.elements(), number(from.into()), number(count.into())],
        };
        Expr::new(call_all(cstr!("$slice"), arguments))
    }

    /// The elements in the opposite order.
    pub fn reversed(self) -> Expr<R, Vec<T::Item>> {
        Expr::new(self.elements().map(|value| call(cstr!("$reverseArray"), value)))
    }

    /// The elements of this array, then those of the other; null where one of them is null or missing.
    pub fn append(self, other: impl ArrayTerm<R, T::Item>) -> Expr<R, Vec<T::Item>> {
        Expr::new(call_all(cstr!("$concatArrays"), [self.elements(), other.array()]))
    }

    /// The elements in their order, the least first; those of several types by the order of BSON's types.
    pub fn sorted(self) -> Expr<R, Vec<T::Item>> {
        self.in_order(RawBson::Int32(1))
    }

    /// The elements in their order, the greatest first.
    pub fn sorted_down(self) -> Expr<R, Vec<T::Item>> {
        self.in_order(RawBson::Int32(-1))
    }

    /// The elements, which are embedded documents, in an order: `o.lines.value().sorted_by(|line| line.price.desc())`.
    pub fn sorted_by(
        self,
        order: impl FnOnce(<T::Item as Embedded>::Fields<T::Item>) -> Sort<T::Item>,
    ) -> Expr<R, Vec<T::Item>>
    where
        T: ArrayType<Item: Embedded>,
    {
        match order(T::Item::fields_at(Path::root())).to_document() {
            Ok(order) => self.in_order(order.into()),
            Err(error) => Expr::new(Err(error)),
        }
    }

    /// Where the first element is that is equal to this, counted from 0; -1 where there is none, null where there is no
    /// array.
    pub fn index_of(self, element: impl Term<R, T::Item>) -> Expr<R, Number> {
        let element = element.term(&Encoding::Computed);
        Expr::new(call_all(cstr!("$indexOfArray"), [self.elements(), element]))
    }

    /// The least element; null where there is none.
    pub fn min(self) -> Expr<R, Option<T::Item>> {
        self.extreme(cstr!("$min"))
    }

    /// The greatest element; null where there is none.
    pub fn max(self) -> Expr<R, Option<T::Item>> {
        self.extreme(cstr!("$max"))
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

    fn in_order(self, order: RawBson) -> Expr<R, Vec<T::Item>> {
        Expr::new(call_named(
            cstr!("$sortArray"),
            [(cstr!("input"), self.elements()), (cstr!("sortBy"), Ok(order))],
        ))
    }

    fn extreme(self, operator: &'static CStr) -> Expr<R, Option<T::Item>> {
        let encoding = of_elements(self.encoding);
        Expr::new(self.value.map(|value| call(operator, value))).stored(encoding)
    }

    /// The array, where its elements are stored as their type says.
    pub(super) fn elements(self) -> Result<RawBson> {
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

impl<R> Expr<R, Vec<bool>> {
    fn of_truths(self, operator: &'static CStr) -> Expr<R, bool> {
        Expr::new(call_all(operator, [self.value]))
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
