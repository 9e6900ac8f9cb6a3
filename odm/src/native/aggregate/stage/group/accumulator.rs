//! Accumulators of `$group`.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::super::super::super::document::number::as_f64;
use super::super::super::super::document::{Doc, Fields, Owned, Value, compare};
use super::super::super::super::fault::{Fault, Result, code};
use super::super::super::super::key;
use super::super::super::super::sort::SortSpec;
use super::super::super::expression::{Expression, Scope, count_argument, merge_into};
use super::super::super::pipeline::MEMORY_LIMIT;
use super::super::super::sum::{Deviation, Sum};
use super::super::{Context, print, scope};

/// One accumulator: what it does with which value.
#[derive(Clone, Debug)]
pub(in super::super) struct Accumulator {
    operator: Operator,
    input: Expression,
}

#[derive(Clone, Debug)]
enum Operator {
    Sum,
    Average,
    Min,
    Max,
    First,
    Last,
    Push,
    AddToSet,
    Count,
    DeviationPopulation,
    DeviationSample,
    MergeObjects,
    /// Several values: which, and how many.
    Several(Which, Expression),
    /// The values of the first or last documents in an order; several if there is a count.
    Ranked {
        order: SortSpec,
        last: bool,
        count: Option<Expression>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    First,
    Last,
    Min,
    Max,
}

/// What an accumulator has gathered of one group.
#[derive(Clone, Debug)]
pub(in super::super) enum State {
    Sum(Sum),
    Deviation(Deviation),
    One(Option<Owned>),
    /// `seen` is used for sets only.
    Items {
        seen: HashSet<Vec<u8>>,
        items: Vec<Owned>,
        bytes: usize,
    },
    Count(i64),
    Fields(Fields),
    /// At most `most` values by ascending key, in the order they came where keys are equal.
    Ranked {
        most: usize,
        items: Vec<(Vec<u8>, Owned)>,
    },
    Bounded {
        most: usize,
        items: std::collections::VecDeque<Owned>,
    },
}

impl Accumulator {
    /// The count of documents.
    pub(in super::super) fn count() -> Accumulator {
        Accumulator {
            operator: Operator::Count,
            input: Expression::constant(Owned::Null),
        }
    }

    /// Parses the value of one field of `$group`.
    pub(in super::super) fn parse(
        field: &str,
        value: &Value<'_>,
        variables: &[String],
    ) -> Result<Accumulator> {
        if field.contains('.') {
            return Err(Fault::new(
                40235,
                format!("The field name '{field}' cannot contain '.'"),
            ));
        }
        if field.starts_with('$') {
            return Err(Fault::new(
                40236,
                format!("The field name '{field}' cannot be an operator name"),
            ));
        }
        let Some((doc, first)) = value
            .as_document()
            .and_then(|doc| Some((doc, doc.elements().next()?)))
            .filter(|(_, first)| !first.name().is_empty())
        else {
            return Err(Fault::new(
                40234,
                format!("The field '{field}' must be an accumulator object"),
            ));
        };
        if doc.count() != 1 {
            return Err(Fault::new(
                40238,
                format!("The field '{field}' must specify one accumulator"),
            ));
        }
        let (name, value) = (first.name_str(), first.value());
        if matches!(value, Value::Array(_)) {
            return Err(Fault::new(
                40237,
                format!("The {name} accumulator is a unary operator"),
            ));
        }
        Accumulator::parse_operator(name, &value, variables)
    }

    /// Parses the argument of the accumulator of this name.
    pub(in super::super) fn parse_operator(
        name: &str,
        value: &Value<'_>,
        variables: &[String],
    ) -> Result<Accumulator> {
        let operator = match name {
            "$sum" => Operator::Sum,
            "$avg" => Operator::Average,
            "$min" => Operator::Min,
            "$max" => Operator::Max,
            "$first" => Operator::First,
            "$last" => Operator::Last,
            "$push" => Operator::Push,
            "$addToSet" => Operator::AddToSet,
            "$stdDevPop" => Operator::DeviationPopulation,
            "$stdDevSamp" => Operator::DeviationSample,
            "$mergeObjects" => Operator::MergeObjects,
            "$count" => {
                return match value {
                    Value::Document(doc) if doc.is_empty() => Ok(Accumulator::count()),
                    _ => Err(Fault::new(
                        code::TYPE_MISMATCH,
                        "$count takes no arguments, i.e. $count:{}",
                    )),
                };
            }
            "$firstN" => return Accumulator::parse_several(name, Which::First, value, variables),
            "$lastN" => return Accumulator::parse_several(name, Which::Last, value, variables),
            "$minN" => return Accumulator::parse_several(name, Which::Min, value, variables),
            "$maxN" => return Accumulator::parse_several(name, Which::Max, value, variables),
            "$top" | "$topN" | "$bottom" | "$bottomN" => {
                return Accumulator::parse_ranked(name, value, variables);
            }
            "$accumulator" => {
                return Err(Fault::unsupported(
                    "the native engine does not run JavaScript ($accumulator)",
                ));
            }
            _ => {
                return Err(Fault::new(15952, format!("unknown group operator '{name}'")));
            }
        };
        Ok(Accumulator {
            operator,
            input: Expression::parse_unfolded(value, variables)?,
        })
    }

    fn parse_several(
        name: &str,
        which: Which,
        value: &Value<'_>,
        variables: &[String],
    ) -> Result<Accumulator> {
        let Value::Document(doc) = *value else {
            return Err(Fault::new(
                5787801,
                format!(
                    "specification must be an object; found {name}: {}",
                    print::bson_value(value)
                ),
            ));
        };
        let (mut count, mut input) = (None, None);
        for element in doc.elements() {
            match element.name_str() {
                "n" => count = Some(Expression::parse_unfolded(&element.value(), variables)?),
                "input" => input = Some(Expression::parse_unfolded(&element.value(), variables)?),
                other => {
                    return Err(Fault::new(
                        5787901,
                        format!("Unknown argument for 'n' operator: {other}"),
                    ));
                }
            }
        }
        let count = count.ok_or_else(|| Fault::new(5787906, "Missing value for 'n'"))?;
        let input = input.ok_or_else(|| Fault::new(5787907, "Missing value for 'input'"))?;
        Ok(Accumulator {
            operator: Operator::Several(which, count),
            input,
        })
    }

    fn parse_ranked(name: &str, value: &Value<'_>, variables: &[String]) -> Result<Accumulator> {
        let Value::Document(doc) = *value else {
            return Err(Fault::new(
                5788001,
                format!(
                    "specification must be an object; found {name}: {}",
                    print::bson_value(value)
                ),
            ));
        };
        let several = name.ends_with('N');
        let (mut count, mut output, mut order) = (None, None, None);
        for element in doc.elements() {
            match element.name_str() {
                "n" if several => count = Some(Expression::parse_unfolded(&element.value(), variables)?),
                "output" => output = Some(Expression::parse_unfolded(&element.value(), variables)?),
                "sortBy" => match element.value() {
                    Value::Document(spec) => order = Some(spec),
                    _ => {
                        return Err(Fault::new(
                            10065,
                            "invalid parameter: expected an object (sortBy)",
                        ));
                    }
                },
                other => {
                    return Err(Fault::new(
                        5788002,
                        format!("Unknown argument to {name} '{other}'"),
                    ));
                }
            }
        }
        if several && count.is_none() {
            return Err(Fault::new(5788003, "Missing value for 'n'"));
        }
        let output = output.ok_or_else(|| Fault::new(5788004, "Missing value for 'output'"))?;
        let order = order.ok_or_else(|| Fault::new(5788005, "Missing value for 'sortBy'"))?;
        Ok(Accumulator {
            operator: Operator::Ranked {
                order: SortSpec::parse(order)?,
                last: name.starts_with("$bottom"),
                count,
            },
            input: output,
        })
    }

    pub(in super::super) fn fold(&mut self) -> Result<()> {
        match &mut self.operator {
            Operator::Several(_, count)
            | Operator::Ranked {
                count: Some(count), ..
            } => count.fold()?,
            _ => {}
        }
        self.input.fold()
    }

    /// The state of a new group; a count may depend on the group's `_id`.
    pub(in super::super) fn start(&self, id: &Owned, context: &Context<'_>) -> Result<State> {
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
                items: Vec::new(),
                bytes: 0,
            },
            Operator::Count => State::Count(0),
            Operator::MergeObjects => State::Fields(Vec::new()),
            Operator::Several(Which::First | Which::Last, count) => State::Bounded {
                most: most(count)?,
                items: std::collections::VecDeque::new(),
            },
            Operator::Several(_, count)
            | Operator::Ranked {
                count: Some(count), ..
            } => State::Ranked {
                most: most(count)?,
                items: Vec::new(),
            },
            Operator::Ranked { count: None, .. } => State::Ranked {
                most: 1,
                items: Vec::new(),
            },
        })
    }

    /// Takes one document in; gives how many bytes more it holds.
    pub(in super::super) fn add(&self, state: &mut State, scope: &Scope<'_>) -> Result<usize> {
        let answer = self.input.answer(scope)?;
        let value = answer.value();
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
                        let better = slot
                            .as_ref()
                            .is_none_or(|best| compare(&value, &best.as_value()) == wanted);
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
                let mut encoded = Vec::new();
                key::encode(&value, false, &mut encoded);
                let size = encoded.len() + size_of::<Owned>();
                let name = if matches!(operator, Operator::AddToSet) {
                    if !seen.insert(encoded) {
                        return Ok(0);
                    }
                    "$addToSet"
                } else {
                    "$push"
                };
                items.push(value.into());
                *bytes += size;
                if *bytes > MEMORY_LIMIT {
                    return Err(Fault::new(
                        146,
                        format!(
                            "{name} used too much memory and cannot spill to disk. Memory limit: {MEMORY_LIMIT} bytes"
                        ),
                    ));
                }
                return Ok(size);
            }
            (_, State::Fields(fields)) => match value {
                None => {}
                Some(Value::Document(_) | Value::Null | Value::Undefined) => {
                    if let Some(value) = value {
                        merge_into(fields, &value)?;
                    }
                }
                Some(_) => {
                    return Err(Fault::new(5911200, "$mergeObjects only supports objects"));
                }
            },
            (Operator::Several(which, _), State::Bounded { most, items }) => {
                let full = items.len() >= *most;
                if full && *which == Which::First {
                    return Ok(0);
                }
                if full {
                    items.pop_front();
                }
                items.push_back(value.map_or(Owned::Null, Owned::from));
                return Ok(size_of::<Owned>());
            }
            (Operator::Several(which, _), State::Ranked { most, items }) => {
                let Some(value) = value.filter(|value| !matches!(value, Value::Null | Value::Undefined))
                else {
                    return Ok(0);
                };
                let mut sort_key = Vec::new();
                key::encode(&value, *which == Which::Max, &mut sort_key);
                return Ok(rank(items, sort_key, value.into(), *most, false));
            }
            (Operator::Ranked { order, last, .. }, State::Ranked { most, items }) => {
                let sort_key = order.key(scope.root)?;
                let value = value.map_or(Owned::Null, Owned::from);
                return Ok(rank(items, sort_key, value, *most, *last));
            }
            _ => {}
        }
        Ok(0)
    }

    /// The group's result.
    pub(in super::super) fn finish(&self, state: State) -> Owned {
        match (&self.operator, state) {
            (Operator::Average, State::Sum(sum)) => sum.mean().unwrap_or(Owned::Null),
            (_, State::Sum(sum)) => sum.total(),
            (Operator::DeviationSample, State::Deviation(deviation)) => deviation.sample(),
            (_, State::Deviation(deviation)) => deviation.population(),
            (_, State::One(value)) => value.unwrap_or(Owned::Null),
            (_, State::Items { items, .. }) => Owned::Array(items),
            (_, State::Count(count)) => i32::try_from(count).map_or(Owned::Int64(count), Owned::Int32),
            (_, State::Fields(fields)) => Owned::Document(fields),
            (_, State::Bounded { items, .. }) => Owned::Array(items.into()),
            (Operator::Ranked { count: None, .. }, State::Ranked { items, .. }) => {
                items.into_iter().next().map_or(Owned::Null, |(_, value)| value)
            }
            (_, State::Ranked { items, .. }) => {
                Owned::Array(items.into_iter().map(|(_, value)| value).collect())
            }
        }
    }
}

/// Keeps the value among the `most` first, or last, by key.
fn rank(items: &mut Vec<(Vec<u8>, Owned)>, key: Vec<u8>, value: Owned, most: usize, last: bool) -> usize {
    let size = key.len() + size_of::<Owned>();
    let at = items.partition_point(|(other, _)| *other <= key);
    if items.len() >= most {
        if last {
            if at == 0 {
                return 0;
            }
            items.insert(at, (key, value));
            items.remove(0);
            return 0;
        }
        if at >= most {
            return 0;
        }
        items.pop();
        items.insert(at, (key, value));
        return 0;
    }
    items.insert(at, (key, value));
    size
}
