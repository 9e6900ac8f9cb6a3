//! The bounds of fields behind a range: what an index's key has to hold there.
//!
//! Ranges go by the first fields up to the first that is no single value. The keys in them are in no order by the fields
//! behind it, so that each is looked at; where many are passed over, the next that may do is looked for instead.

use super::super::fault::{Class, Fault, Result, code};
use super::super::index::{IndexDefinition, Order};
use super::super::key::{self, AFTER, BEFORE};
use super::interval::{Interval, Intervals};

/// The bounds of the fields behind those that ranges go by.
#[derive(Clone, Debug)]
pub(crate) struct Tail {
    fields: Vec<Field>,
}

#[derive(Clone, Debug)]
struct Field {
    descending: bool,
    /// In stored order; those of a field that the ranges go by are left out.
    bounds: Option<Vec<Interval>>,
}

/// Where a key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    Inside,
    /// The next key that may be inside lies behind this one, in the direction of the walk.
    Behind(Vec<u8>),
}

impl Tail {
    /// The bounds behind the first `ranged` fields; `None` where there are none, or where keys are not values.
    pub(super) fn new(definition: &IndexDefinition, bounds: &[&Intervals], ranged: usize) -> Option<Tail> {
        let keeps_values = |order| matches!(order, Order::Ascending | Order::Descending);
        let last = bounds.iter().rposition(|bounds| !bounds.is_all())?;
        if last < ranged
            || definition.wildcard.is_some()
            || definition.text.is_some()
            || !definition.keys.iter().all(|key| keeps_values(key.order))
        {
            return None;
        }
        let fields = definition.keys.iter().zip(bounds).take(last + 1).enumerate();
        let fields = fields.map(|(field, (key, bounds))| {
            let descending = key.order == Order::Descending;
            Field {
                descending,
                bounds: (field >= ranged && !bounds.is_all()).then(|| bounds.stored(descending)),
            }
        });
        Some(Tail {
            fields: fields.collect(),
        })
    }

    /// Where the key is, to which a walk came forwards or in reverse.
    ///
    /// # Errors
    /// Corrupt, where it is no key of the index.
    pub(crate) fn spot(&self, key: &[u8], reverse: bool) -> Result<Spot> {
        let mut at = 0;
        for field in &self.fields {
            let rest = key.get(at..).unwrap_or_default();
            if let Some(bounds) = &field.bounds
                && let Some(edge) = field_edge(bounds, rest, reverse)
            {
                return Ok(Spot::Behind([&key[..at], edge].concat()));
            }
            let length = key::length(rest, field.descending);
            at += length.ok_or_else(|| Fault::of(Class::Corrupt, code::INTERNAL, "malformed index key"))?;
        }
        Ok(Spot::Inside)
    }
}

/// Where the next values begin, if what is left of a key begins with none of the bounds' values.
fn field_edge<'a>(bounds: &'a [Interval], rest: &[u8], reverse: bool) -> Option<&'a [u8]> {
    let is_at_or_behind = |edge: &[u8]| rest >= edge;
    if reverse {
        let before = bounds.partition_point(|own| is_at_or_behind(&own.from));
        return match before.checked_sub(1).map(|last| &bounds[last]) {
            Some(own) if is_at_or_behind(&own.to) => Some(&own.to),
            Some(_) => None,
            None => Some(&[BEFORE]),
        };
    }
    match bounds.get(bounds.partition_point(|own| is_at_or_behind(&own.to))) {
        Some(own) if !is_at_or_behind(&own.from) => Some(&own.from),
        Some(_) => None,
        None => Some(&[AFTER]),
    }
}
