//! Accumulators as expressions: over their arguments, or the items of a single array.

use std::cmp::Ordering;

use super::super::super::collation::Collation;
use super::super::super::document::number::as_f64;
use super::super::super::document::{Owned, Value};
use super::super::super::fault::Result;
use super::super::sum::{Deviation, Sum};
use super::Answer;
use super::operator::{Arguments, Operator, comparing, strict};

pub(super) static OPERATORS: &[Operator] = &[
    strict("$sum", Arguments::Any, |_, arguments| {
        Ok(Some(sum_of(arguments).total()))
    }),
    strict("$avg", Arguments::Any, |_, arguments| {
        Ok(Some(sum_of(arguments).mean().unwrap_or(Owned::Null)))
    }),
    comparing("$min", Arguments::Any, |_, arguments, collation| {
        extreme(arguments, Ordering::Less, collation)
    }),
    comparing("$max", Arguments::Any, |_, arguments, collation| {
        extreme(arguments, Ordering::Greater, collation)
    }),
    strict("$stdDevPop", Arguments::Any, |_, arguments| {
        Ok(Some(deviation_of(arguments).population()))
    }),
    strict("$stdDevSamp", Arguments::Any, |_, arguments| {
        Ok(Some(deviation_of(arguments).sample()))
    }),
];

fn items<'a>(arguments: &'a [Answer<'a>]) -> Vec<Value<'a>> {
    match arguments {
        [one] => match one.value() {
            Some(Value::Array(items)) => items.values().collect(),
            other => other.into_iter().collect(),
        },
        many => many.iter().filter_map(Answer::value).collect(),
    }
}

fn sum_of(arguments: &[Answer<'_>]) -> Sum {
    let mut sum = Sum::default();
    for item in items(arguments) {
        sum.add(&item);
    }
    sum
}

fn deviation_of(arguments: &[Answer<'_>]) -> Deviation {
    let mut deviation = Deviation::default();
    for x in items(arguments).iter().filter_map(as_f64) {
        deviation.add(x);
    }
    deviation
}

fn extreme(arguments: &[Answer<'_>], wanted: Ordering, collation: &Collation) -> Result<Option<Owned>> {
    let mut best: Option<Value<'_>> = None;
    for item in items(arguments) {
        if matches!(item, Value::Null | Value::Undefined) {
            continue;
        }
        if best.is_none_or(|best| collation.compare(&item, &best) == wanted) {
            best = Some(item);
        }
    }
    Ok(Some(best.map_or(Owned::Null, Owned::from)))
}
