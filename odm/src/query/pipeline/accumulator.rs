//! What is made of the values of a group.

use std::fmt;
use std::marker::PhantomData;

use bson::raw::{CStr, cstr};
use bson::{RawBson, RawDocumentBuf};

use crate::error::Result;
use crate::query::expression::{Expr, Number, NumberTerm, Valued, call};

/// A value of type `T` made of all documents of `R` in a group: the functions of [`expr`](crate::expr) make them, and
/// [`is`](crate::Field::is) says which output field gets it.
#[must_use]
pub struct Accumulator<R, T> {
    value: Result<RawBson>,
    marker: PhantomData<fn() -> (R, T)>,
}

impl<R, T> Accumulator<R, T> {
    /// An accumulator in MongoDB's words; the type is believed.
    pub fn raw(accumulator: impl Into<crate::codec::Raw>) -> Accumulator<R, T> {
        Accumulator::new(accumulator.into().into_document().map(RawBson::Document))
    }

    pub(super) fn into_value(self) -> Result<RawBson> {
        self.value
    }

    fn new(value: Result<RawBson>) -> Accumulator<R, T> {
        Accumulator {
            value,
            marker: PhantomData,
        }
    }

    fn of(operator: &'static CStr, value: Result<RawBson>) -> Accumulator<R, T> {
        Accumulator::new(value.map(|value| call(operator, value)))
    }
}

/// How many documents.
pub fn count<R>() -> Accumulator<R, Number> {
    Accumulator::of(cstr!("$count"), Ok(RawBson::Document(RawDocumentBuf::new())))
}

/// The sum of the values that are numbers; 0 where none is.
pub fn sum<R>(value: impl NumberTerm<R>) -> Accumulator<R, Number> {
    Accumulator::of(cstr!("$sum"), value.number())
}

/// The mean of the values that are numbers, a double; null where none is.
pub fn avg<R>(value: impl NumberTerm<R>) -> Accumulator<R, Number> {
    Accumulator::of(cstr!("$avg"), value.number())
}

/// The standard deviation of the values that are numbers, as those of all there are; a double, null where none is.
pub fn std_dev_pop<R>(value: impl NumberTerm<R>) -> Accumulator<R, Number> {
    Accumulator::of(cstr!("$stdDevPop"), value.number())
}

/// The standard deviation of the values that are numbers, as a sample of more; a double, null where there are less than
/// two.
pub fn std_dev_samp<R>(value: impl NumberTerm<R>) -> Accumulator<R, Option<Number>> {
    Accumulator::of(cstr!("$stdDevSamp"), value.number())
}

macro_rules! of_values {
    ($($name:ident $operator:literal $output:ty, $doc:literal;)*) => {$(
        #[doc = $doc]
        pub fn $name<V: Valued>(value: V) -> Accumulator<V::Root, $output> {
            Accumulator::of(cstr!($operator), Expr::into_value(value.expression()))
        }
    )*};
}

of_values! {
    min "$min" V::Value, "The least value in MongoDB's order; null and missing do not count.";
    max "$max" V::Value, "The greatest value in MongoDB's order; null and missing do not count.";
    first "$first" V::Value, "The value of the first document, by the order before the group.";
    last "$last" V::Value, "The value of the last document, by the order before the group.";
    push "$push" Vec<V::Value>, "All values, in the order before the group; a missing one is left out.";
    add_to_set "$addToSet" Vec<V::Value>, "The different values, in no order that is promised.";
}

impl<R, T> Clone for Accumulator<R, T> {
    fn clone(&self) -> Self {
        Accumulator::new(self.value.clone())
    }
}

impl<R, T> fmt::Debug for Accumulator<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Accumulator").field(&self.value).finish()
    }
}
