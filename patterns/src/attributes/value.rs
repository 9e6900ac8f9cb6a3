//! What attributes are worth.

use std::cmp::Ordering;
use std::fmt;

use odm::bson::{Bson, DateTime, Decimal128};

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// An exact decimal number.
    Decimal(Decimal128),
    /// Yes or no.
    Boolean(bool),
    /// A point of time.
    Date(DateTime),
}

/// The value as a person would write it; dates as RFC 3339 has them.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => text.fmt(f),
            Value::Integer(number) => number.fmt(f),
            Value::Number(number) => number.fmt(f),
            Value::Decimal(number) => number.fmt(f),
            Value::Boolean(truth) => truth.fmt(f),
            Value::Date(date) => match date.try_to_rfc3339_string() {
                Ok(text) => text.fmt(f),
                Err(_) => date.fmt(f),
            },
        }
    }
}

/// What the values of an attribute are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Texts.
    Text,
    /// Whole numbers.
    Integer,
    /// Numbers, and measures with units.
    Number,
    /// Exact decimal numbers.
    Decimal,
    /// Yes or no.
    Boolean,
    /// Points of time.
    Date,
}

/// A number with a unit: `Quantity::new(1500, "g")`.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    pub(super) number: f64,
    pub(super) unit: String,
}

impl Quantity {
    /// So much of a unit.
    pub fn new(number: impl Into<f64>, unit: impl Into<String>) -> Quantity {
        Quantity {
            number: number.into(),
            unit: unit.into(),
        }
    }
}

impl Value {
    /// What it is.
    pub fn kind(&self) -> Kind {
        match self {
            Value::Text(_) => Kind::Text,
            Value::Integer(_) => Kind::Integer,
            Value::Number(_) => Kind::Number,
            Value::Decimal(_) => Kind::Decimal,
            Value::Boolean(_) => Kind::Boolean,
            Value::Date(_) => Kind::Date,
        }
    }

    /// As BSON: what is stored.
    pub fn to_bson(&self) -> Bson {
        match self {
            Value::Text(text) => Bson::String(text.clone()),
            Value::Integer(number) => Bson::Int64(*number),
            Value::Number(number) => Bson::Double(*number),
            Value::Decimal(number) => Bson::Decimal128(*number),
            Value::Boolean(boolean) => Bson::Boolean(*boolean),
            Value::Date(date) => Bson::DateTime(*date),
        }
    }

    /// From BSON; `None` for other types.
    pub fn from_bson(value: &Bson) -> Option<Value> {
        Some(match value {
            Bson::String(text) => Value::Text(text.clone()),
            Bson::Int32(number) => Value::Integer(i64::from(*number)),
            Bson::Int64(number) => Value::Integer(*number),
            Bson::Double(number) => Value::Number(*number),
            Bson::Decimal128(number) => Value::Decimal(*number),
            Bson::Boolean(boolean) => Value::Boolean(*boolean),
            Bson::DateTime(date) => Value::Date(*date),
            _ => return None,
        })
    }

    /// The order of values of one kind; `None` of different kinds, and where there is none.
    pub(super) fn order(&self, other: &Value) -> Option<Ordering> {
        match (self, other) {
            (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
            (Value::Integer(a), Value::Integer(b)) => Some(a.cmp(b)),
            (Value::Number(a), Value::Number(b)) => a.partial_cmp(b),
            (Value::Decimal(a), Value::Decimal(b)) => {
                Some(crate::computed::Amount::order(*a, *b)).filter(|_| is_number(*a) && is_number(*b))
            }
            (Value::Boolean(a), Value::Boolean(b)) => Some(a.cmp(b)),
            (Value::Date(a), Value::Date(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }

    /// The value as one of this kind: whole numbers are numbers, too. `None` for what is not, and for what is no number.
    pub(super) fn into_kind(self, kind: Kind) -> Option<Value> {
        match (self, kind) {
            (Value::Integer(number), Kind::Number) if number.unsigned_abs() <= 1 << 53 => {
                Some(Value::Number(number as f64))
            }
            (Value::Integer(number), Kind::Decimal) => number.to_string().parse().ok().map(Value::Decimal),
            (Value::Number(number), Kind::Number) => number.is_finite().then_some(Value::Number(number)),
            (Value::Decimal(number), Kind::Decimal) => is_number(number).then_some(Value::Decimal(number)),
            (value, kind) => (value.kind() == kind).then_some(value),
        }
    }
}

fn is_number(decimal: Decimal128) -> bool {
    let text = decimal.to_string();
    !text.contains("NaN") && !text.contains("Inf")
}

macro_rules! values {
    ($($type:ty => $variant:ident;)*) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Value {
                Value::$variant(value.into())
            }
        }
    )*};
}

values! {
    &str => Text;
    String => Text;
    i32 => Integer;
    u32 => Integer;
    i64 => Integer;
    f64 => Number;
    Decimal128 => Decimal;
    bool => Boolean;
    DateTime => Date;
}
