//! What can stand where a value is asked for.

use bson::RawBson;
use serde::Serialize;

use super::{Encoding, Expr, Number};
use crate::error::Result;
use crate::model::{Field, Numeric};

/// A field or an expression: something that has a value in each document of `Root`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no field and no expression",
    label = "has no value in a document",
    note = "a constant that an expression begins with is `literal(..)`, or `field.constant(..)` of a field; an embedded document is reached by `.value()`"
)]
pub trait Valued {
    /// The documents.
    type Root;
    /// The type of the value.
    type Value;

    /// The value as an expression.
    fn expression(self) -> Expr<Self::Root, Self::Value>;
}

impl<R, T> Valued for Expr<R, T> {
    type Root = R;
    type Value = T;

    fn expression(self) -> Expr<R, T> {
        self
    }
}

impl<R, T> Valued for &Expr<R, T> {
    type Root = R;
    type Value = T;

    fn expression(self) -> Expr<R, T> {
        self.clone()
    }
}

impl<R, T> Valued for Field<R, T> {
    type Root = R;
    type Value = T;

    fn expression(self) -> Expr<R, T> {
        self.value()
    }
}

impl<R, T> Valued for &Field<R, T> {
    type Root = R;
    type Value = T;

    fn expression(self) -> Expr<R, T> {
        self.value()
    }
}

/// What can be compared with a value of type `T` in documents of `R`: a field or an expression of the same type, or a
/// constant: a `T`, for an option also what is in it, `&str` for texts, `i32` for `f64`.
///
/// Constants are stored as the values that they stand beside, also where their field has its own serde codec.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand for a `{T}` in an expression over `{R}`",
    label = "expected a field, an expression or a constant of type `{T}`",
    note = "constants are of the field's own type; convert it first",
    note = "what arithmetic gives is compared by `equals`, `differs`, `above`, `at_least`, `below`, `at_most`"
)]
pub trait Term<R, T> {
    /// The value, constants being encoded as those that they are compared with.
    #[doc(hidden)]
    fn term(self, encoding: &Encoding<T>) -> Result<RawBson>;
}

impl<R, T> Term<R, T> for Expr<R, T> {
    fn term(self, encoding: &Encoding<T>) -> Result<RawBson> {
        self.named(self.encoding.agrees(encoding))?;
        self.value
    }
}

impl<R, T> Term<R, T> for &Expr<R, T> {
    fn term(self, encoding: &Encoding<T>) -> Result<RawBson> {
        self.clone().term(encoding)
    }
}

impl<R, T> Term<R, T> for Field<R, T> {
    fn term(self, encoding: &Encoding<T>) -> Result<RawBson> {
        self.value().term(encoding)
    }
}

impl<R, T> Term<R, T> for &Field<R, T> {
    fn term(self, encoding: &Encoding<T>) -> Result<RawBson> {
        self.value().term(encoding)
    }
}

#[diagnostic::do_not_recommend]
impl<R, T: Serialize> Term<R, T> for T {
    fn term(self, encoding: &Encoding<T>) -> Result<RawBson> {
        encoding.constant(self)
    }
}

#[diagnostic::do_not_recommend]
impl<R, T: Serialize> Term<R, Option<T>> for T {
    fn term(self, encoding: &Encoding<Option<T>>) -> Result<RawBson> {
        encoding.constant(Some(self))
    }
}

macro_rules! constants {
    ($($constant:ty: $target:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<R> Term<R, $target> for $constant {
            fn term(self, encoding: &Encoding<$target>) -> Result<RawBson> {
                encoding.constant(self.into())
            }
        }

        #[diagnostic::do_not_recommend]
        impl<R> Term<R, Option<$target>> for $constant {
            fn term(self, encoding: &Encoding<Option<$target>>) -> Result<RawBson> {
                encoding.constant(Some(self.into()))
            }
        }
    )*};
}

constants! {
    i32: f64;
    &str: String;
}

/// What can become the value of an output field of type `T`: a field, an expression or a constant of that type, one that is
/// not optional where the field is, a number where the field is one. Constants are stored as the output field's values are.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not give a `{T}` of documents of `{R}`",
    label = "the output field is a `{T}`",
    note = "fields, expressions and constants give values of their own type, arithmetic gives any number",
    note = "what is made of a group (`count()`, `sum(..)`) is given by `is`"
)]
pub trait Gives<R, T> {
    /// The value.
    #[doc(hidden)]
    fn give(self, encoding: &Encoding<T>) -> Result<RawBson>;
}

macro_rules! gives {
    ($($giver:ty: $target:ty;)*) => {$(
        impl<R, T> Gives<R, $target> for $giver {
            fn give(self, encoding: &Encoding<$target>) -> Result<RawBson> {
                let value = self.expression();
                value.encoding.fits(encoding)?;
                value.value
            }
        }
    )*};
}

gives! {
    Expr<R, T>: T;
    &Expr<R, T>: T;
    Field<R, T>: T;
    &Field<R, T>: T;
    Expr<R, T>: Option<T>;
    &Expr<R, T>: Option<T>;
    Field<R, T>: Option<T>;
    &Field<R, T>: Option<T>;
}

#[diagnostic::do_not_recommend]
impl<R, T: Serialize> Gives<R, T> for T {
    fn give(self, encoding: &Encoding<T>) -> Result<RawBson> {
        encoding.constant(self)
    }
}

#[diagnostic::do_not_recommend]
impl<R, T: Serialize> Gives<R, Option<T>> for T {
    fn give(self, encoding: &Encoding<Option<T>>) -> Result<RawBson> {
        encoding.constant(Some(self))
    }
}

#[diagnostic::do_not_recommend]
impl<R> Gives<R, String> for &str {
    fn give(self, encoding: &Encoding<String>) -> Result<RawBson> {
        encoding.constant(self.to_owned())
    }
}

impl<R, T: Numeric> Gives<R, T> for Expr<R, Number> {
    fn give(self, _: &Encoding<T>) -> Result<RawBson> {
        self.value
    }
}

impl<R> Gives<R, String> for Expr<R, &str> {
    fn give(self, _: &Encoding<String>) -> Result<RawBson> {
        self.value
    }
}
