//! What can stand where an array is asked for.

use bson::RawBson;
use serde::Serialize;

use super::{Expr, constant};
use crate::codec::encode_value;
use crate::error::Result;
use crate::model::{ArrayType, Field};

/// An array of elements of type `I` in an expression over `R`: a field or expression, or a constant: a `Vec` or an array.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no array of `{I}` in an expression over `{R}`",
    label = "expected a field or expression of an array with elements of type `{I}`, or a `Vec<{I}>`"
)]
pub trait ArrayTerm<R, I> {
    /// The value.
    #[doc(hidden)]
    fn array(self) -> Result<RawBson>;
}

impl<R, A: ArrayType> ArrayTerm<R, A::Item> for Expr<R, A> {
    fn array(self) -> Result<RawBson> {
        self.elements()
    }
}

impl<R, A: ArrayType> ArrayTerm<R, A::Item> for &Expr<R, A> {
    fn array(self) -> Result<RawBson> {
        self.clone().elements()
    }
}

impl<R, A: ArrayType> ArrayTerm<R, A::Item> for Field<R, A> {
    fn array(self) -> Result<RawBson> {
        self.value().elements()
    }
}

impl<R, A: ArrayType> ArrayTerm<R, A::Item> for &Field<R, A> {
    fn array(self) -> Result<RawBson> {
        self.value().elements()
    }
}

impl<R, I: Serialize> ArrayTerm<R, I> for Vec<I> {
    fn array(self) -> Result<RawBson> {
        encode_value(&self).map(constant)
    }
}

impl<R, I: Serialize, const N: usize> ArrayTerm<R, I> for [I; N] {
    fn array(self) -> Result<RawBson> {
        encode_value(self.as_slice()).map(constant)
    }
}

impl<R, const N: usize> ArrayTerm<R, String> for [&str; N] {
    fn array(self) -> Result<RawBson> {
        encode_value(self.as_slice()).map(constant)
    }
}
