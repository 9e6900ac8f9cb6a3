//! One value of an attribute, as it was given.

use odm::bson::{Bson, Document, doc};

use super::value::{Quantity, Value};

/// One value of an attribute. Of a measure it is the number in the attribute's own unit, beside what was given.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Given {
    /// The value, by which is searched.
    pub value: Value,
    /// The number and unit that were given, of a measure.
    pub quantity: Option<Quantity>,
}

/// The value or the values of an attribute.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Held {
    /// The value of an attribute that has one.
    One(Given),
    /// The values of an attribute that can have several.
    Many(Vec<Given>),
}

impl Held {
    /// The values.
    pub fn values(&self) -> &[Given] {
        match self {
            Held::One(given) => std::slice::from_ref(given),
            Held::Many(given) => given,
        }
    }
}

impl Given {
    /// What is stored in place of the value: the value, or number, given number and unit.
    pub(super) fn to_bson(&self) -> Bson {
        match &self.quantity {
            None => self.value.to_bson(),
            Some(_) => Bson::Document(self.parts()),
        }
    }

    /// What is stored beside the name, in a list.
    pub(super) fn parts(&self) -> Document {
        match &self.quantity {
            None => doc! { "v": self.value.to_bson() },
            Some(quantity) => {
                doc! { "v": self.value.to_bson(), "g": quantity.number, "u": quantity.unit.as_str() }
            }
        }
    }

    pub(super) fn from_bson(value: &Bson) -> Option<Given> {
        match value {
            Bson::Document(parts) => Given::from_parts(parts),
            value => Value::from_bson(value).map(Given::plain),
        }
    }

    pub(super) fn from_parts(parts: &Document) -> Option<Given> {
        let value = Value::from_bson(parts.get("v")?)?;
        let quantity = match (parts.get("g"), parts.get("u")) {
            (None, None) => None,
            (Some(number), Some(Bson::String(unit))) => {
                let number = match Value::from_bson(number)? {
                    Value::Number(number) => number,
                    Value::Integer(number) => number as f64,
                    _ => return None,
                };
                Some(Quantity::new(number, unit))
            }
            _ => return None,
        };
        Some(Given { value, quantity })
    }

    fn plain(value: Value) -> Given {
        Given {
            value,
            quantity: None,
        }
    }
}

impl<T: Into<Value>> From<T> for Given {
    fn from(value: T) -> Given {
        Given::plain(value.into())
    }
}

impl From<Quantity> for Given {
    fn from(quantity: Quantity) -> Given {
        Given {
            value: Value::Number(quantity.number),
            quantity: Some(quantity),
        }
    }
}
