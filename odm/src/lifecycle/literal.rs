//! Values that rules name.

use std::cmp::Ordering;
use std::fmt;

use bson::{Bson, Decimal128, RawBsonRef};

use crate::query::compare_numbers;

/// A number, text or truth value in a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Literal(Bson);

macro_rules! literals {
    ($($type:ty => $into:ty;)*) => {$(
        impl From<$type> for Literal {
            fn from(value: $type) -> Literal {
                Literal(Bson::from(<$into>::from(value)))
            }
        }
    )*};
}

literals! {
    i8 => i32;
    i16 => i32;
    i32 => i32;
    i64 => i64;
    u8 => i32;
    u16 => i32;
    u32 => i64;
    f32 => f64;
    f64 => f64;
    bool => bool;
    &str => String;
    String => String;
}

impl From<Bson> for Literal {
    fn from(value: Bson) -> Literal {
        Literal(value)
    }
}

impl Literal {
    pub(crate) fn bson(&self) -> &Bson {
        &self.0
    }

    pub(crate) fn is_number(&self) -> bool {
        Number::of(&self.0).is_some() || matches!(self.0, Bson::Decimal128(_))
    }

    /// Whether the value is a number below this one, or not a number.
    pub(crate) fn is_above(&self, value: RawBsonRef<'_>) -> bool {
        is_number(value) && !matches!(self.compare(value), Some(Ordering::Less | Ordering::Equal))
    }

    /// Whether the value is a number above this one, or not a number.
    pub(crate) fn is_below(&self, value: RawBsonRef<'_>) -> bool {
        is_number(value) && !matches!(self.compare(value), Some(Ordering::Greater | Ordering::Equal))
    }

    /// Whether MongoDB would call the two equal.
    pub(crate) fn equals(&self, value: RawBsonRef<'_>) -> bool {
        match (&self.0, value) {
            (Bson::String(own), RawBsonRef::String(text)) => own == text,
            (Bson::Boolean(own), RawBsonRef::Boolean(truth)) => *own == truth,
            (_, value) => is_number(value) && self.compare(value) == Some(Ordering::Equal),
        }
    }

    /// This number against a stored one. Against a decimal it is the decimal that was written: `0.1` is a tenth.
    fn compare(&self, value: RawBsonRef<'_>) -> Option<Ordering> {
        if let (Some(own), Some(other)) = (Number::of(&self.0), Number::stored(value)) {
            return match (own, other) {
                (Number::Whole(a), Number::Whole(b)) => Some(a.cmp(&b)),
                (a, b) => a.double().partial_cmp(&b.double()),
            };
        }
        compare_numbers(RawBsonRef::Decimal128(self.decimal()?), value)
    }

    /// The number as the decimal that was written; none where it is no number.
    pub(crate) fn decimal(&self) -> Option<Decimal128> {
        match &self.0 {
            Bson::Decimal128(number) => Some(*number),
            Bson::Int32(number) => number.to_string().parse().ok(),
            Bson::Int64(number) => number.to_string().parse().ok(),
            Bson::Double(number) => format!("{number:e}").parse().ok(),
            _ => None,
        }
    }
}

/// A number that is no decimal.
enum Number {
    Whole(i64),
    Double(f64),
}

impl Number {
    fn of(value: &Bson) -> Option<Number> {
        match value {
            Bson::Int32(number) => Some(Number::Whole((*number).into())),
            Bson::Int64(number) => Some(Number::Whole(*number)),
            Bson::Double(number) => Some(Number::Double(*number)),
            _ => None,
        }
    }

    fn stored(value: RawBsonRef<'_>) -> Option<Number> {
        match value {
            RawBsonRef::Int32(number) => Some(Number::Whole(number.into())),
            RawBsonRef::Int64(number) => Some(Number::Whole(number)),
            RawBsonRef::Double(number) => Some(Number::Double(number)),
            _ => None,
        }
    }

    fn double(&self) -> f64 {
        match self {
            Number::Whole(number) => *number as f64,
            Number::Double(number) => *number,
        }
    }
}

fn is_number(value: RawBsonRef<'_>) -> bool {
    matches!(
        value,
        RawBsonRef::Int32(_) | RawBsonRef::Int64(_) | RawBsonRef::Double(_) | RawBsonRef::Decimal128(_)
    )
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Bson::String(text) => write!(f, "{text:?}"),
            value => value.fmt(f),
        }
    }
}
