//! The part of an index between two keys that a find names itself: `min` and `max`.

use std::ops::Bound;

use super::{Access, Hint, IndexView, KeyRange, Plan, PlanRequest};
use crate::native::collation::Collation;
use crate::native::document::{Doc, Value};
use crate::native::fault::{Fault, Result};
use crate::native::index::{IndexDefinition, IndexField, Order};
use crate::native::sort::SortField;

/// The first key of an index to look at, and the first behind it; an empty document is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Edges {
    min: Vec<u8>,
    max: Vec<u8>,
}

impl Edges {
    /// Reads `min` and `max`; none when both are empty.
    ///
    /// # Errors
    /// Code 51176 when they name other fields.
    pub(crate) fn parse(min: Doc<'_>, max: Doc<'_>) -> Result<Option<Edges>> {
        if min.is_empty() && max.is_empty() {
            return Ok(None);
        }
        let same = min
            .elements()
            .map(|element| element.name())
            .eq(max.elements().map(|element| element.name()));
        if !min.is_empty() && !max.is_empty() && !same {
            return Err(Fault::new(51176, "min and max must have the same field names"));
        }
        Ok(Some(Edges {
            min: min.to_bytes(),
            max: max.to_bytes(),
        }))
    }

    /// The name of the option that is given.
    pub(crate) fn name(&self) -> &'static str {
        match Doc::Raw(&self.max).is_empty() {
            true => "min",
            false => "max",
        }
    }
}

fn natural() -> Fault {
    fault(291, "min and max are incompatible with $natural")
}

/// Takes the part of the hinted index.
///
/// # Errors
/// MongoDB's: 51173 without a hint, 291 for the natural order, 51174 and 6137400 for an index of other fields or kinds,
/// 51175 and 6137401 when nothing lies between the two, 6137402 for a clustered collection from its end.
pub(super) fn choose(
    request: &PlanRequest<'_>,
    (edges, collation): (&Edges, &Collation),
    hint: &Hint<'_>,
) -> Result<Plan> {
    let index = match hint {
        // An order of that kind is a hint.
        Hint::Free if request.sort.is_some_and(|sort| sort.natural.is_some()) => return Err(natural()),
        Hint::Free => {
            return Err(fault(
                51173,
                "When using min()/max() a hint of which index to use must be provided",
            ));
        }
        Hint::Natural { .. } => return Err(natural()),
        Hint::Index(hint) => hint.find(request.indexes)?,
    };
    let view = &request.indexes[index];
    let definition = view.definition;
    let incompatible = || match definition.clustered {
        true => fault(
            6_137_400,
            "The clustered index is not compatible with the values provided for min/max due to the query collation",
        ),
        false => fault(51174, "The index chosen is not compatible with min/max"),
    };
    let (min, max) = (Doc::Raw(&edges.min), Doc::Raw(&edges.max));
    for edge in [min, max].into_iter().filter(|edge| !edge.is_empty()) {
        let names = edge.elements().map(|element| element.name());
        let is_plain = definition.text.is_none() && definition.wildcard.is_none();
        let is_collated = edge.values().any(|value| may_hold_texts(&value));
        if !is_plain
            || !names.eq(definition.keys.iter().map(|key| key.path.as_bytes()))
            || (is_collated && definition.collation != *collation)
        {
            return Err(incompatible());
        }
    }
    let keeps_values = |order| matches!(order, Order::Ascending | Order::Descending);
    if !definition.keys.iter().all(|key| keeps_values(key.order)) {
        return Err(Fault::unsupported(format!(
            "the index {} keeps its keys in the engine's own way: min and max cannot say where in it",
            definition.name
        )));
    }
    let reverse = is_backwards(request, view);
    let (from, to) = (key(definition, min), key(definition, max));
    let range = match definition.clustered {
        true => range_of_records(from, to, reverse)?,
        false => range_of_keys(definition, from, to)?,
    };
    Ok(Plan {
        access: Access::Index {
            index,
            ranges: vec![range],
            reverse,
            // The server shows none either.
            bounds: Vec::new(),
            tail: None,
        },
        sorted: request.sort.is_none_or(|sort| sort.fields.is_empty()),
        exact: false,
        repeats: view.is_multikey(),
        covered_count: false,
        by_id: false,
        text: None,
        asked: None,
        cover: None,
        sieve: None,
        leap: None,
    })
}

/// The keys between the two. What is not given is an end of the index, and a last key of nothing but ends lies behind all
/// that are looked at.
fn range_of_keys(
    definition: &IndexDefinition,
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
) -> Result<KeyRange> {
    let first = end(definition, false);
    let to = to.unwrap_or_else(|| end(definition, true));
    if from.as_ref().unwrap_or(&first) >= &to {
        return Err(fault(
            51175,
            "The value provided for min() does not come before the value provided for max() in the hinted index",
        ));
    }
    Ok(KeyRange {
        from: from.map_or(Bound::Unbounded, Bound::Included),
        to: Bound::Excluded(to),
    })
}

/// The records of a clustered collection between the two, or all on the side of one that is not given.
fn range_of_records(from: Option<Vec<u8>>, to: Option<Vec<u8>>, reverse: bool) -> Result<KeyRange> {
    if let (Some(from), Some(to)) = (&from, &to)
        && from >= to
    {
        return Err(fault(6_137_401, "max() must be greater than min()"));
    }
    if reverse {
        return Err(Fault::new(
            6_137_402,
            "min() / max() are only supported for forward collection scans on clustered collections",
        ));
    }
    Ok(KeyRange {
        from: from.map_or(Bound::Unbounded, Bound::Included),
        to: to.map_or(Bound::Unbounded, Bound::Excluded),
    })
}

/// Whether the index has the order asked for from its end: then equal ones come in that order too.
fn is_backwards(request: &PlanRequest<'_>, view: &IndexView<'_>) -> bool {
    let Some(sort) = request.sort.filter(|sort| !sort.fields.is_empty()) else {
        return false;
    };
    let keys = &view.definition.keys;
    let is_reverse = |(field, key): (&SortField, &IndexField)| {
        field.path == key.path && field.descending != matches!(key.order, Order::Descending)
    };
    sort.fields.len() <= keys.len() && !view.is_multikey() && sort.fields.iter().zip(keys).all(is_reverse)
}

/// The components of the first key that an index can have, or of the last.
fn end(definition: &IndexDefinition, last: bool) -> Vec<u8> {
    let mut key = Vec::new();
    for field in &definition.keys {
        let value = match matches!(field.order, Order::Descending) == last {
            true => Value::MinKey,
            false => Value::MaxKey,
        };
        field.order.encode(&value, &definition.collation, &mut key);
    }
    key
}

/// Whether a value of this type depends on how strings compare, whether or not it holds any.
fn may_hold_texts(value: &Value<'_>) -> bool {
    matches!(value, Value::String(_) | Value::Document(_) | Value::Array(_))
}

/// The components of a key with these values: all keys with them are at or behind it.
fn key(definition: &IndexDefinition, edge: Doc<'_>) -> Option<Vec<u8>> {
    if edge.is_empty() {
        return None;
    }
    let mut key = Vec::new();
    for (field, value) in definition.keys.iter().zip(edge.values()) {
        field.order.encode(&value, &definition.collation, &mut key);
    }
    Some(key)
}

fn fault(number: i32, why: &str) -> Fault {
    Fault::unplanned(number, why)
}
