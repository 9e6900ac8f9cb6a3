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

fn each<'a>(arguments: &'a [Answer<'a>], visit: impl FnMut(Value<'a>)) {
    match arguments {
        [one] => match one.value() {
            Some(Value::Array(items)) => items.values().for_each(visit),
            other => other.into_iter().for_each(visit),
        },
        many => many.iter().filter_map(Answer::value).for_each(visit),
    }
}

fn sum_of(arguments: &[Answer<'_>]) -> Sum {
    let mut sum = Sum::default();
    each(arguments, |item| {
        sum.add(&item);
    });
    sum
}

fn deviation_of(arguments: &[Answer<'_>]) -> Deviation {
    let mut deviation = Deviation::default();
    each(arguments, |item| {
        if let Some(x) = as_f64(&item) {
            deviation.add(x);
        }
    });
    deviation
}

fn extreme(arguments: &[Answer<'_>], wanted: Ordering, collation: &Collation) -> Result<Option<Owned>> {
    let mut best: Option<Value<'_>> = None;
    each(arguments, |item| {
        let is_null = matches!(item, Value::Null | Value::Undefined);
        if !is_null && best.is_none_or(|best| collation.compare(&item, &best) == wanted) {
            best = Some(item);
        }
    });
    Ok(Some(best.map_or(Owned::Null, Owned::from)))
}
