//! What is made of the documents of a window.

use std::fmt;
use std::marker::PhantomData;

use bson::raw::{CStr, cstr};
use bson::{RawArrayBuf, RawBson, RawDocumentBuf};

use super::accumulator::Accumulator;
use super::series::InOrderOfOne;
use super::window::function;
use super::windows::Windowed;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Date, Numeric};
use crate::query::expression::{Number, NumberTerm};
use crate::query::time_unit::TimeUnit;

/// The documents around one of `R`, in the order `O`, that something is made of: [`Window`](super::Window) makes them.
#[must_use]
pub struct Frame<R, O> {
    window: Result<RawDocumentBuf>,
    marker: PhantomData<fn() -> (R, O)>,
}

impl<R, O> Frame<R, O> {
    pub(super) fn new(window: Result<RawDocumentBuf>) -> Frame<R, O> {
        Frame {
            window,
            marker: PhantomData,
        }
    }

    /// What an accumulator makes of the documents: `w.all().of(sum(&s.sold))`. Where there is none, `sum` and `count` are
    /// 0, arrays are empty, and the others are null.
    pub fn of<V>(&self, accumulator: Accumulator<R, V>) -> Windowed<R, V> {
        let made = accumulator.into_value().and_then(|made| match made {
            RawBson::Document(made) => Ok(made),
            _ => Err(Error::new(
                ErrorKind::InvalidArgument,
                "an accumulator is a document",
            )),
        });
        self.windowed(Windowed::new(made))
    }

    /// How much two numbers vary together, as those of all documents there are; a double, null where there is none. Pairs
    /// that are not of two numbers do not count.
    pub fn covariance_pop(&self, one: impl NumberTerm<R>, other: impl NumberTerm<R>) -> Windowed<R, Number> {
        self.pair(cstr!("$covariancePop"), one.number(), other.number())
    }

    /// How much two numbers vary together, as a sample of more; a double, null where there are less than two documents.
    /// Pairs that are not of two numbers do not count.
    pub fn covariance_samp(
        &self,
        one: impl NumberTerm<R>,
        other: impl NumberTerm<R>,
    ) -> Windowed<R, Option<Number>> {
        self.pair(cstr!("$covarianceSamp"), one.number(), other.number())
    }

    fn pair<V>(
        &self,
        operator: &'static CStr,
        one: Result<RawBson>,
        other: Result<RawBson>,
    ) -> Windowed<R, V> {
        let both = one.and_then(|one| Ok([one, other?].into_iter().collect::<RawArrayBuf>()));
        self.windowed(function(operator, both))
    }

    fn rate<V>(
        &self,
        operator: &'static CStr,
        input: Result<RawBson>,
        unit: Option<TimeUnit>,
    ) -> Windowed<R, V> {
        let argument = input.map(|input| {
            let mut argument = RawDocumentBuf::new();
            argument.append(cstr!("input"), input);
            if let Some(unit) = unit {
                argument.append(cstr!("unit"), unit.as_str());
            }
            argument
        });
        self.windowed(function(operator, argument))
    }

    /// The function over these documents.
    fn windowed<V>(&self, function: Windowed<R, V>) -> Windowed<R, V> {
        function.within(self.window.clone())
    }
}

impl<R, O: InOrderOfOne<Value: Numeric>> Frame<R, O> {
    /// The slope of the value from the first document to the last, by the field of the order; null where there are less
    /// than two documents.
    pub fn derivative(&self, value: impl NumberTerm<R>) -> Windowed<R, Option<Number>> {
        self.rate(cstr!("$derivative"), value.number(), None)
    }

    /// The area under the value, by the field of the order: the sum of the trapezoids between the documents. 0 of one
    /// document, null of none.
    pub fn integral(&self, value: impl NumberTerm<R>) -> Windowed<R, Number> {
        self.rate(cstr!("$integral"), value.number(), None)
    }
}

impl<R, O: InOrderOfOne<Value: Date>> Frame<R, O> {
    /// The slope of the value from the first document to the last, for a unit of the time of the order; null where there
    /// are less than two documents.
    ///
    /// A unit longer than a week is an error of the server (code 5490710).
    pub fn derivative_per(&self, value: impl NumberTerm<R>, unit: TimeUnit) -> Windowed<R, Option<Number>> {
        self.rate(cstr!("$derivative"), value.number(), Some(unit))
    }

    /// The area under the value, by the time of the order in this unit: the sum of the trapezoids between the documents. 0
    /// of one document, null of none.
    ///
    /// A unit longer than a week is an error of the server (code 5490710).
    pub fn integral_per(&self, value: impl NumberTerm<R>, unit: TimeUnit) -> Windowed<R, Number> {
        self.rate(cstr!("$integral"), value.number(), Some(unit))
    }
}

impl<R, O> Clone for Frame<R, O> {
    fn clone(&self) -> Self {
        Frame::new(self.window.clone())
    }
}

impl<R, O> fmt::Debug for Frame<R, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Frame").field(&self.window).finish()
    }
}
