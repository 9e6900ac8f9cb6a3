//! The plan of one document by its `_id`, made without weighing indexes.

use super::candidate::under;
use super::interval::Intervals;
use super::{Access, Plan};
use crate::native::document::Owned;
use crate::native::key::encode;

impl Plan {
    /// The plan that finds the document with this `_id` in the index at position 0, which is that of `_id`; `None` for a
    /// value whose equality says more than one key can. `alone` says that nothing else is asked of the document.
    pub(crate) fn of_id(id: &Owned, alone: bool) -> Option<Plan> {
        let plain = matches!(
            id,
            Owned::Int32(_)
                | Owned::Int64(_)
                | Owned::Double(_)
                | Owned::Decimal128(_)
                | Owned::String(_)
                | Owned::ObjectId(_)
                | Owned::Binary { .. }
                | Owned::Bool(_)
                | Owned::DateTime(_)
                | Owned::Timestamp { .. }
        );
        if !plain {
            return None;
        }
        let mut component = Vec::with_capacity(32);
        encode(&id.as_value(), false, &mut component);
        Some(Plan {
            access: Access::Index {
                index: 0,
                ranges: vec![under(&component)],
                reverse: false,
                bounds: vec![Intervals::component(component)],
            },
            sorted: true,
            exact: alone,
            repeats: false,
            covered_count: alone,
            by_id: alone,
            text: None,
        })
    }
}
