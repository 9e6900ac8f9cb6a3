//! Arithmetic.

use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use bson::RawBson;
use bson::raw::{CStr, cstr};

use super::{Expr, call, call_all, constant};
use crate::error::Result;
use crate::model::{Field, Numeric};

/// The type of what is computed of numbers: any of BSON's numbers, for output fields of any numeric type.
///
/// Sums and products of integers are integers, of doubles doubles; quotients and means are doubles, which no integer of
/// Rust is decoded from: [`to_i32`](Expr::to_i32) and [`to_i64`](Expr::to_i64) make them integers. What has to do with a
/// null or missing field is null.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Number;

/// A number in an expression over `R`: a numeric field or expression, or a constant.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no number in an expression over `{R}`",
    label = "arithmetic needs a numeric field, a numeric expression or a number"
)]
pub trait NumberTerm<R> {
    /// The value.
    #[doc(hidden)]
    fn number(self) -> Result<RawBson>;
}

impl<R, T: Numeric> NumberTerm<R> for Expr<R, T> {
    fn number(self) -> Result<RawBson> {
        self.value
    }
}

impl<R> NumberTerm<R> for Expr<R, Number> {
    fn number(self) -> Result<RawBson> {
        self.value
    }
}

impl<R, T> NumberTerm<R> for &Expr<R, T>
where
    Expr<R, T>: NumberTerm<R>,
{
    fn number(self) -> Result<RawBson> {
        self.value.clone()
    }
}

impl<R, T: Numeric> NumberTerm<R> for Field<R, T> {
    fn number(self) -> Result<RawBson> {
        self.value().value
    }
}

impl<R, T: Numeric> NumberTerm<R> for &Field<R, T> {
    fn number(self) -> Result<RawBson> {
        self.value().value
    }
}

macro_rules! constants {
    ($($number:ty)*) => {$(
        impl<R> NumberTerm<R> for $number {
            fn number(self) -> Result<RawBson> {
                Ok(constant(RawBson::from(self)))
            }
        }
    )*};
}

constants!(i32 i64 f64);

macro_rules! operators {
    ($($trait:ident $method:ident $operator:literal;)*) => {$(
        impl<R, T, V: NumberTerm<R>> $trait<V> for Expr<R, T>
        where
            Expr<R, T>: NumberTerm<R>,
        {
            type Output = Expr<R, Number>;

            fn $method(self, other: V) -> Expr<R, Number> {
                Expr::new(call_all(cstr!($operator), [self.value, other.number()]))
            }
        }
    )*};
}

operators! {
    Add add "$add";
    Sub sub "$subtract";
    Mul mul "$multiply";
    Div div "$divide";
    Rem rem "$mod";
}

impl<R, T> Neg for Expr<R, T>
where
    Expr<R, T>: NumberTerm<R>,
{
    type Output = Expr<R, Number>;

    fn neg(self) -> Expr<R, Number> {
        Expr::new(call_all(
            cstr!("$multiply"),
            [self.value, Ok(constant(RawBson::Int32(-1)))],
        ))
    }
}

impl<R, T> Expr<R, T>
where
    Expr<R, T>: NumberTerm<R>,
{
    /// The value without its sign.
    pub fn abs(self) -> Expr<R, Number> {
        self.unary(cstr!("$abs"))
    }

    /// The greatest whole number that is not greater.
    pub fn floor(self) -> Expr<R, Number> {
        self.unary(cstr!("$floor"))
    }

    /// The least whole number that is not less.
    pub fn ceil(self) -> Expr<R, Number> {
        self.unary(cstr!("$ceil"))
    }

    /// The square root.
    pub fn sqrt(self) -> Expr<R, Number> {
        self.unary(cstr!("$sqrt"))
    }

    /// Rounded to so many places behind the point, halves to the even neighbor; negative places round to tens.
    pub fn round(self, places: i32) -> Expr<R, Number> {
        Expr::new(call_all(
            cstr!("$round"),
            [self.value, Ok(constant(RawBson::Int32(places)))],
        ))
    }

    /// Cut off behind so many places behind the point, towards zero; negative places cut off tens.
    pub fn trunc(self, places: i32) -> Expr<R, Number> {
        Expr::new(call_all(
            cstr!("$trunc"),
            [self.value, Ok(constant(RawBson::Int32(places)))],
        ))
    }

    /// e to the power of it.
    pub fn exp(self) -> Expr<R, Number> {
        self.unary(cstr!("$exp"))
    }

    /// The natural logarithm; what is not positive is an error of the server.
    pub fn ln(self) -> Expr<R, Number> {
        self.unary(cstr!("$ln"))
    }

    /// The logarithm to a base; what is not positive, and a base that is not or is 1, are an error of the server.
    pub fn log(self, base: impl NumberTerm<R>) -> Expr<R, Number> {
        Expr::new(call_all(cstr!("$log"), [self.value, base.number()]))
    }

    /// The lesser of the two; the one that is there where the other is null or missing.
    pub fn min_with(self, other: impl NumberTerm<R>) -> Expr<R, Number> {
        Expr::new(call_all(cstr!("$min"), [self.value, other.number()]))
    }

    /// The greater of the two; the one that is there where the other is null or missing.
    pub fn max_with(self, other: impl NumberTerm<R>) -> Expr<R, Number> {
        Expr::new(call_all(cstr!("$max"), [self.value, other.number()]))
    }

    /// As an `i32`, towards zero; an error of the server where it does not fit, null of null.
    pub fn to_i32(self) -> Expr<R, i32> {
        Expr::new(self.value.map(|value| call(cstr!("$toInt"), value)))
    }

    /// As an `i64`, towards zero; an error of the server where it does not fit, null of null.
    pub fn to_i64(self) -> Expr<R, i64> {
        Expr::new(self.value.map(|value| call(cstr!("$toLong"), value)))
    }

    /// As a double; null of null.
    pub fn to_f64(self) -> Expr<R, f64> {
        Expr::new(self.value.map(|value| call(cstr!("$toDouble"), value)))
    }

    /// To the power of the other.
    pub fn pow(self, exponent: impl NumberTerm<R>) -> Expr<R, Number> {
        Expr::new(call_all(cstr!("$pow"), [self.value, exponent.number()]))
    }

    fn unary(self, operator: &'static CStr) -> Expr<R, Number> {
        Expr::new(self.value.map(|value| call(operator, value)))
    }
}

impl<R> Expr<R, Number> {
    /// The number, or the other where it is null: what is computed of a null or missing value is null.
    pub fn if_null(self, otherwise: impl NumberTerm<R>) -> Expr<R, Number> {
        Expr::new(call_all(cstr!("$ifNull"), [self.value, otherwise.number()]))
    }

    /// Whether it is null: something that it is computed of is null or missing.
    pub fn is_null(self) -> Expr<R, bool> {
        let null = Ok(constant(RawBson::Null));
        let value = call_all(cstr!("$ifNull"), [self.value, null.clone()]);
        Expr::new(call_all(cstr!("$eq"), [value, null]))
    }
}

macro_rules! comparisons {
    ($($method:ident $operator:literal $doc:literal;)*) => {
        impl<R> Expr<R, Number> {$(
            #[doc = $doc]
            pub fn $method(self, other: impl NumberTerm<R>) -> Expr<R, bool> {
                Expr::new(call_all(cstr!($operator), [self.value, other.number()]))
            }
        )*}
    };
}

comparisons! {
    equals "$eq" "Equal to the number.";
    differs "$ne" "Not equal to the number.";
    above "$gt" "Greater than the number. Null and missing are less than any.";
    at_least "$gte" "Greater than the number, or equal.";
    below "$lt" "Less than the number. Null and missing are less than any.";
    at_most "$lte" "Less than the number, or equal.";
}
