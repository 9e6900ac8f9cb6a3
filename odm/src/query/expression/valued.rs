//! What can stand where a value is asked for.

use bson::RawBson;
use serde::Serialize;

use super::{Expr, Number, constant};
use crate::codec::encode_value;
use crate::error::Result;
use crate::model::{Codec, Field, Id, Numeric};
use crate::query::Operand;

/// A field or an expression: something that has a value in each document of `Root`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no field and no expression",
    label = "has no value in a document",
    note = "a constant is `literal(..)`; an embedded document is reached by `.value()`"
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
/// constant. Constants of other types are made by [`literal`](super::literal).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand for a `{T}` in an expression over `{R}`",
    label = "expected a field, an expression or a constant of type `{T}`",
    note = "constants of other types than the plain ones, such as options, arrays and structs: `odm::expr::literal(..)`"
)]
pub trait Term<R, T> {
    /// The value, constants being encoded as those that they are compared with.
    #[doc(hidden)]
    fn term(self, codec: Option<Codec<T>>) -> Result<RawBson>;
}

impl<R, T> Term<R, T> for Expr<R, T> {
    fn term(self, _codec: Option<Codec<T>>) -> Result<RawBson> {
        self.value
    }
}

impl<R, T> Term<R, T> for &Expr<R, T> {
    fn term(self, _codec: Option<Codec<T>>) -> Result<RawBson> {
        self.value.clone()
    }
}

impl<R, T> Term<R, T> for Field<R, T> {
    fn term(self, _codec: Option<Codec<T>>) -> Result<RawBson> {
        self.value().value
    }
}

impl<R, T> Term<R, T> for &Field<R, T> {
    fn term(self, _codec: Option<Codec<T>>) -> Result<RawBson> {
        self.value().value
    }
}

macro_rules! constants {
    ($($constant:ty: $target:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<R> Term<R, $target> for $constant {
            fn term(self, codec: Option<Codec<$target>>) -> Result<RawBson> {
                encoded(self, codec)
            }
        }

        #[diagnostic::do_not_recommend]
        impl<R> Term<R, Option<$target>> for $constant {
            fn term(self, codec: Option<Codec<Option<$target>>>) -> Result<RawBson> {
                encoded(self, codec)
            }
        }
    )*};
}

constants! {
    bool: bool;
    i8: i8;
    i16: i16;
    i32: i32;
    i64: i64;
    u8: u8;
    u16: u16;
    u32: u32;
    u64: u64;
    f32: f32;
    f64: f64;
    i32: f64;
    String: String;
    &str: String;
    bson::oid::ObjectId: bson::oid::ObjectId;
    bson::DateTime: bson::DateTime;
    bson::Decimal128: bson::Decimal128;
    bson::Uuid: bson::Uuid;
}

#[diagnostic::do_not_recommend]
impl<R, M> Term<R, Id<M>> for Id<M> {
    fn term(self, codec: Option<Codec<Id<M>>>) -> Result<RawBson> {
        encoded(self, codec)
    }
}

/// A constant as the field's values are stored.
fn encoded<T: Serialize>(value: impl Operand<T>, codec: Option<Codec<T>>) -> Result<RawBson> {
    value
        .with_operand(|value| match codec {
            Some(codec) => codec(value),
            None => encode_value(value),
        })
        .map(constant)
}

/// What can become the value of an output field of type `T`: a field or an expression of that type, one that is not
/// optional where the field is, a number where the field is one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not give a `{T}` of documents of `{R}`",
    label = "the output field is a `{T}`",
    note = "fields and expressions give values of their own type, arithmetic gives any number; a constant is `literal(..)`"
)]
pub trait Gives<R, T> {
    /// The value.
    #[doc(hidden)]
    fn give(self) -> Result<RawBson>;
}

macro_rules! gives {
    ($($giver:ty: $target:ty;)*) => {$(
        impl<R, T> Gives<R, $target> for $giver {
            fn give(self) -> Result<RawBson> {
                self.expression().value
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

impl<R, T: Numeric> Gives<R, T> for Expr<R, Number> {
    fn give(self) -> Result<RawBson> {
        self.value
    }
}

impl<R> Gives<R, String> for Expr<R, &str> {
    fn give(self) -> Result<RawBson> {
        self.value
    }
}
