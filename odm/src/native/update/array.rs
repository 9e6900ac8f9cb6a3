//! `$push`, `$addToSet`, `$pop`, `$pull` and `$pullAll`.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::super::collation::Collation;
use super::super::document::doc::{decimal, framed};
use super::super::document::{Doc, Owned, Value, number};
use super::super::fault::{Fault, Result, code};
use super::super::introsort;
use super::super::sort::reached;
use super::apply::{Context, Outcome};
use super::path::Location;

/// A parsed `$push`: inserts, then sorts, then slices.
#[derive(Clone, Debug)]
pub(super) struct Push {
    items: Vec<Owned>,
    /// From the end when negative; at the end without one.
    position: Option<i64>,
    sort: Option<ItemOrder>,
    /// How many items stay: the first, or the last when negative.
    slice: Option<i64>,
}

/// The `$sort` of a `$push`.
#[derive(Clone, Debug)]
enum ItemOrder {
    Whole { descending: bool },
    Fields(Vec<(String, bool)>),
}

fn bad(message: impl Into<std::borrow::Cow<'static, str>>) -> Fault {
    Fault::new(code::BAD_VALUE, message)
}

impl Push {
    pub(super) fn parse(value: &Value<'_>) -> Result<Push> {
        let each = value
            .as_document()
            .and_then(|clauses| Some((clauses, clauses.get("$each")?)));
        let Some((clauses, each)) = each else {
            return Ok(Push {
                items: vec![(*value).into()],
                position: None,
                sort: None,
                slice: None,
            });
        };
        for element in clauses.elements() {
            if !matches!(element.name_str(), "$each" | "$slice" | "$sort" | "$position") {
                return Err(bad(format!(
                    "Unrecognized clause in $push: {}",
                    element.name_str()
                )));
            }
        }
        let Value::Array(items) = each else {
            return Err(bad(format!(
                "The argument to $each in $push must be an array but it was of type: {}",
                each.kind().alias()
            )));
        };
        let integer = |name: &str, wording: &str| match clauses.get(name) {
            None => Ok(None),
            Some(value) => match number::as_i64_exact(&value) {
                Some(x) => Ok(Some(x)),
                None => Err(bad(format!(
                    "The value for {name} must be an integer value{wording}{}",
                    value.kind().alias()
                ))),
            },
        };
        let slice = integer("$slice", " but was given type: ")?;
        let sort = clauses
            .get("$sort")
            .map(|value| ItemOrder::parse(&value))
            .transpose()?;
        let position = integer("$position", ", not of type: ")?;
        Ok(Push {
            items: items.values().map(Owned::from).collect(),
            position,
            sort,
            slice,
        })
    }

    /// The values that it adds.
    pub(super) fn items(&self) -> &[Owned] {
        &self.items
    }

    pub(super) fn change(
        &self,
        value: &Value<'_>,
        at: &Location<'_>,
        context: &Context<'_>,
    ) -> Result<Outcome> {
        let Value::Array(existing) = value else {
            return Err(bad(format!(
                "The field '{at}' must be an array but is of type {} in document {{{}}}",
                value.kind().alias(),
                context.id_text()
            )));
        };
        if self.keeps(existing.count()) {
            return Ok(Outcome::Keep);
        }
        if let (None, None, None) = (self.position, &self.sort, self.slice) {
            return Ok(Outcome::Set(appended(*existing, &self.items)));
        }
        Ok(Outcome::Set(
            self.applied(existing.values().map(Owned::from).collect(), context),
        ))
    }

    /// Whether an array of so many items stays as it is. To sort what there is counts as a change, even into the order that
    /// it has, and so do new items that a slice takes away again.
    fn keeps(&self, count: usize) -> bool {
        self.is_idle(count) || (count == 0 && self.items.is_empty())
    }

    /// Whether there is nothing to do to an array of so many items. Beside other changes, to sort none is told as one.
    pub(super) fn is_idle(&self, count: usize) -> bool {
        self.items.is_empty()
            && self.sort.is_none()
            && self.slice.is_none_or(|slice| kept(slice, count) == count)
    }

    /// Whether the change is told as new items at the end: from this length to that one.
    pub(super) fn only_appends(&self, before: usize, after: usize) -> bool {
        let at_end = self
            .position
            .is_none_or(|position| usize::try_from(position).is_ok_and(|position| position > before));
        before > 0 && at_end && self.sort.is_none() && after == before + self.items.len()
    }

    pub(super) fn create(&self, context: &Context<'_>) -> Owned {
        self.applied(Vec::new(), context)
    }

    fn applied(&self, mut items: Vec<Owned>, context: &Context<'_>) -> Owned {
        let length = items.len();
        let at = match self.position {
            None => length,
            Some(position) => match usize::try_from(position) {
                Ok(from_start) => from_start.min(length),
                Err(_) => {
                    length.saturating_sub(usize::try_from(position.unsigned_abs()).unwrap_or(usize::MAX))
                }
            },
        };
        items.splice(at..at, self.items.iter().cloned());
        if let Some(order) = &self.sort {
            introsort::sort_by(&mut items, |a, b| {
                order.compare(&a.as_value(), &b.as_value(), context.collation)
            });
        }
        if let Some(slice) = self.slice {
            let kept = kept(slice, items.len());
            match slice < 0 {
                true => {
                    items.drain(..items.len() - kept);
                }
                false => items.truncate(kept),
            }
        }
        Owned::Array(items)
    }
}

/// How many of `count` items a slice keeps.
fn kept(slice: i64, count: usize) -> usize {
    usize::try_from(slice.unsigned_abs()).map_or(count, |slice| slice.min(count))
}

impl ItemOrder {
    fn parse(value: &Value<'_>) -> Result<ItemOrder> {
        match value {
            Value::Document(fields) => {
                if fields.is_empty() {
                    return Err(bad(
                        "The sort pattern is empty when it should be a set of fields.",
                    ));
                }
                let fields = fields
                    .elements()
                    .map(|element| sort_field(element.name_str(), &element.value()));
                Ok(ItemOrder::Fields(fields.collect::<Result<_>>()?))
            }
            value if value.is_number() => match direction(value) {
                Some(descending) => Ok(ItemOrder::Whole { descending }),
                None => Err(bad("The $sort element value must be either 1 or -1")),
            },
            _ => Err(bad(
                "The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields",
            )),
        }
    }

    fn compare(&self, a: &Value<'_>, b: &Value<'_>, collation: &Collation) -> Ordering {
        let directed = |ordering: Ordering, descending: bool| match descending {
            true => ordering.reverse(),
            false => ordering,
        };
        match self {
            ItemOrder::Whole { descending } => directed(collation.compare(a, b), *descending),
            ItemOrder::Fields(fields) => fields
                .iter()
                .map(|(path, descending)| {
                    directed(
                        collation.compare(&reached(a, path), &reached(b, path)),
                        *descending,
                    )
                })
                .find(|ordering| ordering.is_ne())
                .unwrap_or(Ordering::Equal),
        }
    }
}

fn sort_field(path: &str, value: &Value<'_>) -> Result<(String, bool)> {
    let descending = direction(value).ok_or_else(|| bad("The sort element value must be either 1 or -1"))?;
    if path.is_empty() {
        return Err(bad("The sort field cannot be empty"));
    }
    if path.split('.').any(str::is_empty) {
        return Err(bad(format!(
            "The sort field is a dotted field but has an empty part: {path}"
        )));
    }
    Ok((path.to_owned(), descending))
}

/// Whether it is -1; `None` when it is neither 1 nor -1.
fn direction(value: &Value<'_>) -> Option<bool> {
    match number::as_i64_exact(value)? {
        1 => Some(false),
        -1 => Some(true),
        _ => None,
    }
}

/// The array with items added at its end, copied as bytes.
fn appended(existing: Doc<'_>, items: &[Owned]) -> Owned {
    let mut bytes = Vec::new();
    framed(&mut bytes, |out| {
        let mut name = [0u8; 20];
        let all = existing.values().chain(items.iter().map(Owned::as_value));
        for (index, value) in all.enumerate() {
            value.write_element(decimal(index, &mut name), out);
        }
    });
    Owned::RawArray(bytes)
}

/// The values of an `$addToSet`.
pub(super) fn parse_set(value: &Value<'_>) -> Result<Vec<Owned>> {
    let first = value.as_document().and_then(|clauses| clauses.elements().next());
    let (Some(first), Value::Document(clauses)) = (first, value) else {
        return Ok(vec![(*value).into()]);
    };
    if first.name_str() != "$each" {
        return Ok(vec![(*value).into()]);
    }
    let Value::Array(items) = first.value() else {
        return Err(Fault::new(
            code::TYPE_MISMATCH,
            format!(
                "The argument to $each in $addToSet must be an array but it was of type {}",
                first.kind().alias()
            ),
        ));
    };
    if clauses.count() > 1 {
        return Err(bad(format!(
            "Found unexpected fields after $each in $addToSet: {clauses}"
        )));
    }
    let items = items.values().map(Owned::from).collect();
    Ok(distinct(items, Collation::simple()))
}

/// Of equal items the first.
pub(super) fn distinct(items: Vec<Owned>, collation: &Collation) -> Vec<Owned> {
    let mut seen = HashSet::new();
    let mut distinct = items;
    distinct.retain(|item| {
        let mut key = Vec::new();
        collation.encode(&item.as_value(), false, &mut key);
        seen.insert(key)
    });
    distinct
}

/// Values with their places, in the collation's order.
fn in_order<'v>(values: &'v [Owned], collation: &Collation) -> Vec<(usize, Value<'v>)> {
    let values = values.iter().map(Owned::as_value);
    let mut order: Vec<(usize, Value<'v>)> = values.enumerate().collect();
    order.sort_by(|(_, a), (_, b)| collation.compare(a, b));
    order
}

/// Those of the items, which are distinct, that the array does not have.
fn missing(existing: Doc<'_>, items: &[Owned], collation: &Collation) -> Vec<Owned> {
    if let [item] = items {
        let item = item.as_value();
        let is_there = existing.values().any(|other| collation.equal(&other, &item));
        return if is_there { Vec::new() } else { items.to_vec() };
    }
    let order = in_order(items, collation);
    let mut is_there = vec![false; items.len()];
    for other in existing.values() {
        if let Ok(at) = order.binary_search_by(|(_, item)| collation.compare(item, &other)) {
            is_there[order[at].0] = true;
        }
    }
    let missing = items.iter().zip(is_there).filter(|(_, is_there)| !is_there);
    missing.map(|(item, _)| item.clone()).collect()
}

/// Adds the items that are not there; `items` are distinct.
pub(super) fn add_to_set(
    value: &Value<'_>,
    items: &[Owned],
    at: &Location<'_>,
    context: &Context<'_>,
) -> Result<Outcome> {
    let Value::Array(existing) = value else {
        return Err(bad(format!(
            "Cannot apply $addToSet to non-array field. Field named '{}' has non-array type {}",
            at.name(),
            value.kind().alias()
        )));
    };
    let missing = missing(*existing, items, context.collation);
    Ok(match missing.is_empty() {
        true => Outcome::Keep,
        false => Outcome::Set(appended(*existing, &missing)),
    })
}

/// The array that `$addToSet` creates.
pub(super) fn new_set(items: &[Owned]) -> Owned {
    Owned::Array(items.to_vec())
}

/// Whether a `$pop` takes the first item.
pub(super) fn parse_pop(path: &str, value: &Value<'_>) -> Result<bool> {
    let refused = |message| Fault::new(code::FAILED_TO_PARSE, message);
    if !value.is_number() {
        return Err(refused(format!("Expected a number in: {path}: {value}")));
    }
    match number::as_i64_exact(value) {
        Some(1) => Ok(false),
        Some(-1) => Ok(true),
        Some(other) => Err(refused(format!("$pop expects 1 or -1, found: {other}"))),
        None if matches!(value, Value::Double(x) if x.is_nan()) => Err(refused(format!(
            "Expected an integer, but found NaN in: {path}: {value}"
        ))),
        None if fits_i64(value) => Err(refused(format!("Expected an integer: {path}: {value}"))),
        None => Err(refused(format!(
            "Cannot represent as a 64-bit integer: {path}: {value}"
        ))),
    }
}

fn fits_i64(value: &Value<'_>) -> bool {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    matches!(value, Value::Double(x) if (-LIMIT..LIMIT).contains(x))
}

pub(super) fn pop(value: &Value<'_>, first: bool, at: &Location<'_>) -> Result<Outcome> {
    let Value::Array(items) = value else {
        return Err(Fault::new(
            code::TYPE_MISMATCH,
            format!(
                "Path '{at}' contains an element of non-array type '{}'",
                value.kind().alias()
            ),
        ));
    };
    let count = items.count();
    if count == 0 {
        return Ok(Outcome::Keep);
    }
    let gone = if first { 0 } else { count - 1 };
    let rest = items.values().enumerate().filter(|(index, _)| *index != gone);
    Ok(Outcome::Set(Owned::Array(
        rest.map(|(_, item)| item.into()).collect(),
    )))
}

/// The values of a `$pullAll`.
pub(super) fn parse_all(value: &Value<'_>) -> Result<Vec<Owned>> {
    match value {
        Value::Array(values) => Ok(values.values().map(Owned::from).collect()),
        _ => Err(bad(format!(
            "$pullAll requires an array argument but was given a {}",
            value.kind().alias()
        ))),
    }
}

pub(super) fn pull_all(value: &Value<'_>, values: &[Owned], context: &Context<'_>) -> Result<Outcome> {
    let gone = in_order(values, context.collation);
    pull(value, |item| {
        let found = gone.binary_search_by(|(_, gone)| context.collation.compare(gone, item));
        Ok(found.is_ok())
    })
}

/// Removes the items for which `gone` holds.
pub(super) fn pull(value: &Value<'_>, gone: impl Fn(&Value<'_>) -> Result<bool>) -> Result<Outcome> {
    let Value::Array(items) = value else {
        return Err(bad("Cannot apply $pull to a non-array value"));
    };
    let mut rest = Vec::new();
    let mut count = 0;
    for item in items.values() {
        count += 1;
        if !gone(&item)? {
            rest.push(item);
        }
    }
    Ok(match rest.len() == count {
        true => Outcome::Keep,
        false => Outcome::Set(Owned::Array(rest.into_iter().map(Owned::from).collect())),
    })
}
