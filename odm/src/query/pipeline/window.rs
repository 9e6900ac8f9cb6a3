//! Which documents around one are looked at, and what goes by their order alone.

use std::fmt;
use std::marker::PhantomData;

use bson::raw::{CStr, cstr};
use bson::{Bson, Decimal128, RawArrayBuf, RawBson, RawDocumentBuf};

use super::frame::Frame;
use super::series::{Ascending, InOrder, InOrderOfOne};
use super::windows::Windowed;
use crate::codec::encode_value;
use crate::error::Result;
use crate::model::{Date, Numeric};
use crate::query::expression::{Expr, Number, NumberTerm, Term, Valued};
use crate::query::time_unit::TimeUnit;

/// What can be said of the documents around one of `R`, where these are in the order `O`.
pub struct Window<R, O>(PhantomData<fn() -> (R, O)>);

/// One end of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Edge<N> {
    /// Where the partition ends.
    Unbounded,
    /// At the document itself.
    Current,
    /// So far from the document itself: before it by negative numbers.
    By(N),
}

impl From<i32> for Edge<i32> {
    fn from(by: i32) -> Edge<i32> {
        Edge::By(by)
    }
}

macro_rules! distances {
    ($($number:ty)*) => {$(
        impl From<$number> for Edge<Bson> {
            fn from(by: $number) -> Edge<Bson> {
                Edge::By(by.into())
            }
        }
    )*};
}

distances!(i32 i64 f64 Decimal128);

impl<N: serde::Serialize> Edge<N> {
    fn into_value(self) -> Result<RawBson> {
        match self {
            Edge::Unbounded => Ok(RawBson::String("unbounded".to_owned())),
            Edge::Current => Ok(RawBson::String("current".to_owned())),
            Edge::By(by) => encode_value(&by),
        }
    }
}

impl<R, O> Window<R, O> {
    pub(super) fn new() -> Window<R, O> {
        Window(PhantomData)
    }

    /// All documents of the partition.
    pub fn all(&self) -> Frame<R, O> {
        Frame::new(Ok(RawDocumentBuf::new()))
    }

    /// The last value in the order that is not null, the document's own or one before it: what carries a value over gaps.
    /// Null before the first value.
    pub fn locf<V: Valued<Root = R>>(&self, value: V) -> Windowed<R, V::Value> {
        function(cstr!("$locf"), value.expression().into_value())
    }
}

impl<R, O: InOrder> Window<R, O> {
    /// The documents from so many before (negative) or behind (positive) to so many: `w.documents(-2, 0)` are the document
    /// and the two before it, `w.documents(Edge::Unbounded, Edge::Current)` all up to it.
    ///
    /// A window that need not hold the document itself can be without any: sums of nothing are 0, arrays empty, and other
    /// values null, which only an optional field takes. A lower end above the upper one is an error of the server (code
    /// 5339900).
    pub fn documents(&self, from: impl Into<Edge<i32>>, to: impl Into<Edge<i32>>) -> Frame<R, O> {
        Frame::new(bounds(cstr!("documents"), from.into(), to.into()))
    }

    /// The value of the document so many places on (positive) or back (negative); null where there is none.
    pub fn shift<V: Valued<Root = R>>(&self, value: V, by: i32) -> Windowed<R, Option<V::Value>> {
        let argument = value.expression().into_value().map(|value| shifted(value, by));
        function(cstr!("$shift"), argument)
    }

    /// The value of the document so many places on (positive) or back (negative); a constant where there is none.
    ///
    /// What is no constant is an error of the server (code 9).
    pub fn shift_or<V: Valued<Root = R>>(
        &self,
        value: V,
        by: i32,
        default: impl Term<R, V::Value>,
    ) -> Windowed<R, V::Value> {
        let value: Expr<R, V::Value> = value.expression();
        let default = value.named(default.term(&value.encoding()));
        let argument = value.into_value().and_then(|value| {
            let mut argument = shifted(value, by);
            argument.append(cstr!("default"), default?);
            Ok(argument)
        });
        function(cstr!("$shift"), argument)
    }

    /// The exponential moving average in which the last so many documents count for about 86 %: each value counts
    /// `2 / (count + 1)`. What is no number does not count; null before the first number.
    ///
    /// A count of 0 is an error of the server (code 9).
    pub fn exp_moving_avg(&self, value: impl NumberTerm<R>, count: u32) -> Windowed<R, Number> {
        moving(value.number(), cstr!("N"), RawBson::Int64(i64::from(count)))
    }

    /// The exponential moving average in which each value counts `alpha`, and all before it `1 - alpha`. What is no number
    /// does not count; null before the first number.
    ///
    /// An `alpha` that is not between 0 and 1 is an error of the server (code 9).
    pub fn exp_moving_avg_by(&self, value: impl NumberTerm<R>, alpha: f64) -> Windowed<R, Number> {
        moving(value.number(), cstr!("alpha"), RawBson::Double(alpha))
    }
}

impl<R, O: InOrderOfOne> Window<R, O> {
    /// The document's place in the order, from 1: equal ones have the same, and leave out as many behind them.
    pub fn rank(&self) -> Windowed<R, Number> {
        function(cstr!("$rank"), Ok(RawDocumentBuf::new()))
    }

    /// The document's place in the order, from 1: equal ones have the same, and the next have the next.
    pub fn dense_rank(&self) -> Windowed<R, Number> {
        function(cstr!("$denseRank"), Ok(RawDocumentBuf::new()))
    }

    /// The document's number in the order, from 1: each has its own.
    pub fn document_number(&self) -> Windowed<R, Number> {
        function(cstr!("$documentNumber"), Ok(RawDocumentBuf::new()))
    }

    /// The value, and where it is null what lies on the line between the values around it, by the field of the order, which
    /// is a number or a date. Null before the first value and behind the last.
    pub fn linear_fill(&self, value: impl NumberTerm<R>) -> Windowed<R, Option<Number>> {
        function(cstr!("$linearFill"), value.number())
    }
}

impl<R, V: Numeric> Window<R, Ascending<V>> {
    /// The documents whose field of the order is not farther from the document's own: `w.range(-10, 0)` are those of up to
    /// 10 less. [`Edge::Current`] is the document itself, 0 also those of the same value.
    ///
    /// A window that need not hold the document itself can be without any, as in [`documents`](Window::documents). Documents
    /// without a number in the field are an error of the server (code 5429414).
    pub fn range(&self, from: impl Into<Edge<Bson>>, to: impl Into<Edge<Bson>>) -> Frame<R, Ascending<V>> {
        Frame::new(bounds(cstr!("range"), from.into(), to.into()))
    }
}

impl<R, V: Date> Window<R, Ascending<V>> {
    /// The documents whose date of the order is not farther from the document's own: `w.time(-6, 0, TimeUnit::Day)` are
    /// those of the week up to it. [`Edge::Current`] is the document itself, 0 also those of the same time.
    ///
    /// A window that need not hold the document itself can be without any, as in [`documents`](Window::documents). Documents
    /// without a date in the field are an error of the server (code 5429513).
    pub fn time(
        &self,
        from: impl Into<Edge<i32>>,
        to: impl Into<Edge<i32>>,
        unit: TimeUnit,
    ) -> Frame<R, Ascending<V>> {
        let window = bounds(cstr!("range"), from.into(), to.into()).map(|mut window| {
            window.append(cstr!("unit"), unit.as_str());
            window
        });
        Frame::new(window)
    }
}

pub(super) fn function<R, V>(
    operator: &'static CStr,
    argument: Result<impl Into<RawBson>>,
) -> Windowed<R, V> {
    Windowed::new(argument.map(|argument| {
        let mut function = RawDocumentBuf::new();
        function.append(operator, argument.into());
        function
    }))
}

fn shifted(value: RawBson, by: i32) -> RawDocumentBuf {
    let mut argument = RawDocumentBuf::new();
    argument.append(cstr!("output"), value);
    argument.append(cstr!("by"), by);
    argument
}

fn moving<R>(value: Result<RawBson>, name: &'static CStr, weight: RawBson) -> Windowed<R, Number> {
    let argument = value.map(|value| {
        let mut argument = RawDocumentBuf::new();
        argument.append(cstr!("input"), value);
        argument.append(name, weight);
        argument
    });
    function(cstr!("$expMovingAvg"), argument)
}

fn bounds<N: serde::Serialize>(name: &'static CStr, from: Edge<N>, to: Edge<N>) -> Result<RawDocumentBuf> {
    let mut ends = RawArrayBuf::new();
    ends.push(from.into_value()?);
    ends.push(to.into_value()?);
    let mut window = RawDocumentBuf::new();
    window.append(name, ends);
    Ok(window)
}

impl<R, O> Clone for Window<R, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, O> Copy for Window<R, O> {}

impl<R, O> fmt::Debug for Window<R, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Window")
    }
}
