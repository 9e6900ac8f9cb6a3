//! The plan of documents by their `_id`, made without weighing indexes.

use super::candidate::under;
use super::interval::Intervals;
use super::{Access, Plan};
use crate::native::document::{Owned, Value};
use crate::native::key::encode;

impl Plan {
    /// The plan that finds the document with this `_id` in the index at position 0, which is that of `_id`; `None` for a
    /// value whose equality says more than one key can. `alone` says that nothing else is asked of the document.
    pub(crate) fn of_id(id: &Owned, alone: bool) -> Option<Plan> {
        let plan = Plan::of_ids(std::slice::from_ref(id), alone)?;
        Some(Plan { by_id: alone, ..plan })
    }

    /// The same for the documents with one of these, which are in order and distinct.
    pub(crate) fn of_ids(ids: &[Owned], alone: bool) -> Option<Plan> {
        if ids.is_empty() || !ids.iter().all(|id| is_plain(&id.as_value())) {
            return None;
        }
        let mut ranges = Vec::with_capacity(ids.len());
        let mut points = Vec::with_capacity(ids.len());
        for id in ids {
            let mut component = Vec::with_capacity(32);
            encode(&id.as_value(), false, &mut component);
            ranges.push(under(&component));
            points.push(component);
        }
        Some(Plan {
            access: Access::Index {
                index: 0,
                ranges,
                reverse: false,
                bounds: vec![Intervals::components(points)],
                tail: None,
            },
            sorted: true,
            exact: alone,
            repeats: false,
            covered_count: alone,
            by_id: false,
            text: None,
            asked: None,
            cover: None,
            sieve: None,
            leap: None,
        })
    }
}

/// Whether equality with the value says one key.
pub(crate) fn is_plain(id: &Value<'_>) -> bool {
    matches!(
        id,
        Value::Int32(_)
            | Value::Int64(_)
            | Value::Double(_)
            | Value::Decimal128(_)
            | Value::String(_)
            | Value::ObjectId(_)
            | Value::Binary { .. }
            | Value::Bool(_)
            | Value::DateTime(_)
            | Value::Timestamp { .. }
    )
}
