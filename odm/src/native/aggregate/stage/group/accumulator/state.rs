//! What accumulators gather, and what comes of it.

use std::cmp::Ordering;
use std::collections::{HashSet, VecDeque};

use super::super::super::super::super::collation::Collation;
use super::super::super::super::super::document::number::as_f64;
use super::super::super::super::super::document::{Doc, Fields, Items, Owned, Value};
use super::super::super::super::super::fault::{Fault, Result};
use super::super::super::super::expression::{Expression, Scope, count_argument, merge_into};
use super::super::super::super::pipeline::MEMORY_LIMIT;
use super::super::super::super::sum::{Deviation, Sum};
use super::super::super::{Context, scope};
use super::{Accumulator, Operator, Which};

/// What an accumulator has gathered of one group.
#[derive(Clone, Debug)]
pub(in super::super::super) enum State {
    Sum(Sum),
    Deviation(Deviation),
    One(Option<Owned>),
    /// `seen` is used for sets only.
    Items {
        seen: HashSet<Vec<u8>>,
        items: Items,
        bytes: usize,
    },
    Count(i64),
    Fields(Fields),
    /// At most `most` values by ascending key, in the order they came where keys are equal.
    Ranked {
        most: usize,
        items: Vec<(Vec<u8>, Owned)>,
        bytes: usize,
    },
    Bounded {
        most: usize,
        items: VecDeque<Owned>,
        bytes: usize,
        /// There were more than it holds.
        over: bool,
    },
}

impl Accumulator {
    /// The state of a new group; a count may depend on the group's `_id`.
    pub(in super::super::super) fn start(&self, id: &Owned, context: &Context<'_>) -> Result<State> {
        let most = |count: &Expression| {
            let root = match id.as_value() {
                Value::Document(doc) => doc,
                _ => Doc::empty(),
            };
            count_argument(&count.answer(&scope(root, context))?)
        };
        Ok(match &self.operator {
            Operator::Sum | Operator::Average => State::Sum(Sum::default()),
            Operator::DeviationPopulation | Operator::DeviationSample => {
                State::Deviation(Deviation::default())
            }
            Operator::Min | Operator::Max | Operator::First | Operator::Last => State::One(None),
            Operator::Push | Operator::AddToSet => State::Items {
                seen: HashSet::new(),
                items: Items::default(),
                bytes: 0,
            },
            Operator::Count => State::Count(0),
            Operator::MergeObjects => State::Fields(Vec::new()),
            Operator::Several(Which::First | Which::Last, count) => State::Bounded {
                most: most(count)?,
                items: VecDeque::new(),
                bytes: 0,
                over: false,
            },
            Operator::Several(_, count)
            | Operator::Ranked {
                count: Some(count), ..
            } => State::Ranked {
                most: most(count)?,
                items: Vec::new(),
                bytes: 0,
            },
            Operator::Ranked { count: None, .. } => State::Ranked {
                most: 1,
                items: Vec::new(),
                bytes: 0,
            },
        })
    }

    /// Takes one document in; gives how many bytes more it holds.
    pub(in super::super::super) fn add(&self, state: &mut State, scope: &Scope<'_>) -> Result<usize> {
        if let (Operator::First, State::One(Some(_))) = (&self.operator, &*state) {
            // The first is known; only a server's other means look at more.
            return match self.input.answer(scope) {
                Err(fault) if self.is_early => Err(fault),
                _ => Ok(0),
            };
        }
        if let (Operator::Several(Which::First, _), State::Bounded { over: true, .. }) =
            (&self.operator, &*state)
        {
            // The first ones are known, and that there are more.
            return Ok(0);
        }
        let answer = self.input.answer(scope)?;
        let value = answer.value();
        match (&self.operator, state) {
            (Operator::Ranked { order, which, .. }, State::Ranked { most, items, bytes }) => {
                let sort_key = match order.wanted().is_empty() {
                    true => order.key_of_values(scope.root)?,
                    false => order.key_with(scope.root, scope.metadata)?,
                };
                let value = value.map_or(Owned::Null, Owned::from);
                rank(items, bytes, (sort_key, value), *most, *which)
            }
            (_, state) => self.take(state, value, &scope.collation),
        }
    }

    /// Takes the value of one document in, for all operators that ask for no more; gives how many bytes more it holds.
    pub(in super::super) fn take(
        &self,
        state: &mut State,
        value: Option<Value<'_>>,
        collation: &Collation,
    ) -> Result<usize> {
        match (&self.operator, state) {
            (Operator::Count, State::Count(count)) => *count += 1,
            (Operator::Sum | Operator::Average, State::Sum(sum)) => {
                if let Some(value) = value {
                    sum.add(&value);
                }
            }
            (_, State::Deviation(deviation)) => {
                if let Some(x) = value.as_ref().and_then(as_f64) {
                    deviation.add(x);
                }
            }
            (Operator::First, State::One(slot)) => {
                slot.get_or_insert_with(|| value.map_or(Owned::Null, Owned::from));
            }
            (Operator::Last, State::One(slot)) => *slot = Some(value.map_or(Owned::Null, Owned::from)),
            (operator, State::One(slot)) => {
                let wanted = if matches!(operator, Operator::Min) {
                    Ordering::Less
                } else {
                    Ordering::Greater
                };
                match value {
                    None | Some(Value::Null | Value::Undefined) => {}
                    Some(value) => {
                        // Of equal ones an early group keeps the last.
                        let better = slot.as_ref().is_none_or(|best| {
                            let order = collation.compare(&value, &best.as_value());
                            order == wanted || (self.is_early && order.is_eq())
                        });
                        if better {
                            *slot = Some(value.into());
                        }
                    }
                }
            }
            (operator, State::Items { seen, items, bytes }) => {
                let Some(value) = value else {
                    return Ok(0);
                };
                let name = if matches!(operator, Operator::AddToSet) {
                    let mut encoded = Vec::new();
                    collation.encode(&value, false, &mut encoded);
                    if !seen.insert(encoded) {
                        return Ok(0);
                    }
                    "set"
                } else {
                    "array"
                };
                let size = held(&value);
                items.push(&value);
                *bytes += size;
                check_items(*bytes, name, items.len())?;
                return Ok(size);
            }
            (_, State::Fields(fields)) => match value {
                None => {}
                Some(value)
                    if self.is_early
                        && !matches!(value, Value::Document(_) | Value::Null | Value::Undefined) =>
                {
                    return Err(Fault::new(5911200, "$mergeObjects only supports objects"));
                }
                Some(value) => merge_into(fields, &value)?,
            },
            (
                Operator::Several(which, _),
                State::Bounded {
                    most,
                    items,
                    bytes,
                    over,
                },
            ) => {
                let full = items.len() >= *most;
                *over |= full;
                if full && *which == Which::First {
                    return Ok(0);
                }
                if full && let Some(gone) = items.pop_front() {
                    *bytes = bytes.saturating_sub(held(&gone.as_value()));
                }
                let value = value.unwrap_or(Value::Null);
                let size = held(&value);
                items.push_back(value.into());
                *bytes += size;
                check_bounded(*bytes)?;
                return Ok(if full { 0 } else { size });
            }
            (Operator::Several(which, _), State::Ranked { most, items, bytes }) => {
                let Some(value) = value.filter(|value| !matches!(value, Value::Null | Value::Undefined))
                else {
                    return Ok(0);
                };
                let mut sort_key = Vec::new();
                collation.encode(&value, false, &mut sort_key);
                return rank(items, bytes, (sort_key, value.into()), *most, *which);
            }
            _ => {}
        }
        Ok(0)
    }

    /// The result by now, of a group that goes on.
    pub(in super::super::super) fn result(&self, state: &State) -> Owned {
        match state {
            State::Items { items, .. } => items.to_owned(),
            state => self.finish(state.clone()),
        }
    }

    /// The group's result.
    pub(in super::super::super) fn finish(&self, state: State) -> Owned {
        match (&self.operator, state) {
            (Operator::Average, State::Sum(sum)) if self.is_early => sum.exact_mean().unwrap_or(Owned::Null),
            (Operator::Average, State::Sum(sum)) => sum.mean().unwrap_or(Owned::Null),
            (_, State::Sum(sum)) => sum.total(),
            (Operator::DeviationSample, State::Deviation(deviation)) => deviation.sample(),
            (_, State::Deviation(deviation)) => deviation.population(),
            (_, State::One(value)) => value.unwrap_or(Owned::Null),
            (_, State::Items { items, .. }) => items.into_owned(),
            (_, State::Count(count)) => i32::try_from(count).map_or(Owned::Int64(count), Owned::Int32),
            (_, State::Fields(fields)) => Owned::Document(fields),
            (_, State::Bounded { items, .. }) => Owned::Array(items.into()),
            (Operator::Ranked { count: None, .. }, State::Ranked { items, .. }) => {
                items.into_iter().next().map_or(Owned::Null, |(_, value)| value)
            }
            (Operator::Several(Which::Max | Which::LastMax, _), State::Ranked { items, .. }) => {
                Owned::Array(items.into_iter().rev().map(|(_, value)| value).collect())
            }
            (_, State::Ranked { items, .. }) => {
                Owned::Array(items.into_iter().map(|(_, value)| value).collect())
            }
        }
    }
}

/// Keeps the value among the `most` first, or last, by key; gives how many bytes more are held.
fn rank(
    items: &mut Vec<(Vec<u8>, Owned)>,
    bytes: &mut usize,
    item: (Vec<u8>, Owned),
    most: usize,
    which: Which,
) -> Result<usize> {
    let size_of = |(key, value): &(Vec<u8>, Owned)| key.len() + held(&value.as_value());
    let at = items.partition_point(|(other, _)| *other <= item.0);
    let is_full = items.len() >= most;
    let is_beyond = match which {
        // One that is equal to the least does not drive it out.
        Which::Max => items.first().is_none_or(|(least, _)| *least >= item.0),
        Which::LastMax => at == 0,
        _ => at >= most,
    };
    if is_full && is_beyond {
        return Ok(0);
    }
    let size = size_of(&item);
    items.insert(at, item);
    *bytes += size;
    if is_full {
        let gone = match which {
            Which::Max | Which::LastMax => Some(items.remove(0)),
            _ => items.pop(),
        };
        *bytes = bytes.saturating_sub(gone.as_ref().map_or(0, size_of));
    }
    check_bounded(*bytes)?;
    Ok(if is_full { 0 } else { size })
}

/// About how many bytes a kept value takes.
pub(super) fn held(value: &Value<'_>) -> usize {
    let inner = match value {
        Value::String(text) | Value::Symbol(text) => text.len(),
        Value::Binary { bytes, .. } => bytes.len(),
        Value::Document(Doc::Raw(bytes)) | Value::Array(Doc::Raw(bytes)) => bytes.len(),
        Value::Document(doc) | Value::Array(doc) => doc.to_bytes().len(),
        _ => 0,
    };
    size_of::<Owned>() + inner
}

/// Refuses more than an array or a set may keep.
pub(super) fn check_items(bytes: usize, name: &str, count: usize) -> Result<()> {
    if bytes <= MEMORY_LIMIT {
        return Ok(());
    }
    Err(Fault::new(
        146,
        format!(
            "Used too much memory for a single {name}. Memory limit: {MEMORY_LIMIT} bytes. The {name} contains {count} elements"
        ),
    ))
}

/// Refuses more than one accumulator may keep.
pub(super) fn check_bounded(bytes: usize) -> Result<()> {
    if bytes <= MEMORY_LIMIT {
        return Ok(());
    }
    Err(Fault::new(
        146,
        format!(
            "the accumulator used too much memory and spilling to disk cannot reduce memory consumption any further. Memory limit: {MEMORY_LIMIT} bytes"
        ),
    ))
}
