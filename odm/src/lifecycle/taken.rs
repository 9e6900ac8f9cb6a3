//! What a change takes out of an array, where it is known before the array is.

use bson::{Bson, Document, RawArray, RawBson, doc};

use super::condition::{array_at, literals, schema_at};
use crate::query::update::{Action, Change};

/// What a change takes out of an array.
#[derive(Clone, Debug)]
pub(crate) enum Taken {
    /// The first element or the last.
    One,
    /// All elements that are equal to one of these.
    Values(Vec<RawBson>),
}

impl Taken {
    /// None where the change takes nothing out, or what a condition says.
    pub(super) fn by(change: &Change) -> Option<Taken> {
        let Action::Raw { operator, value } = &change.action else {
            return None;
        };
        match (operator.as_str(), value) {
            ("$pop", _) => Some(Taken::One),
            ("$pullAll", RawBson::Array(values)) => {
                let values = values.into_iter().flatten();
                Some(Taken::Values(values.map(RawBson::from).collect()))
            }
            ("$pull", RawBson::Document(_) | RawBson::RegularExpression(_) | RawBson::Array(_)) => None,
            ("$pull", value) => Some(Taken::Values(vec![value.clone()])),
            _ => None,
        }
    }

    /// The filter of documents whose array has so many elements left, or none to lose.
    pub(super) fn leaves(&self, path: &str, least: u32) -> Document {
        match self {
            Taken::One => {
                let enough = doc! { "minItems": i64::from(least) + 1 };
                match schema_at(path, doc! { "anyOf": [enough, { "maxItems": 0 }] }) {
                    Some(schema) => schema,
                    None => doc! { "$or": [
                        { format!("{path}.{least}"): { "$exists": true } },
                        { format!("{path}.0"): { "$exists": false } },
                    ] },
                }
            }
            Taken::Values(values) => {
                let is_taken = doc! { "$in": ["$$this", { "$literal": literals(values) }] };
                let left = doc! { "$filter": { "input": "$$items", "cond": { "$not": [is_taken] } } };
                let is_enough = doc! { "$gte": ["$$left", i64::from(least)] };
                let is_all = doc! { "$eq": ["$$left", { "$size": "$$items" }] };
                let counted = doc! { "$let": {
                    "vars": { "left": { "$size": left } },
                    "in": { "$or": [is_enough, is_all] },
                } };
                doc! { "$expr": { "$let": {
                    "vars": { "items": Bson::from(array_at(path)) },
                    "in": counted,
                } } }
            }
        }
    }

    /// How many elements of the array are left.
    pub(super) fn left(&self, array: &RawArray) -> usize {
        let elements = array.into_iter().flatten();
        match self {
            Taken::One => elements.count().saturating_sub(1),
            Taken::Values(values) => {
                let left = elements.filter(|element| !values.contains(&RawBson::from(*element)));
                left.count()
            }
        }
    }
}
