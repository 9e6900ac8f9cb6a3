//! Operators that order an array or take some of its ends.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::super::super::super::collation::Collation;
use super::super::super::super::document::number::{as_f64, as_i64_exact};
use super::super::super::super::document::{Doc, Items, Owned, Value};
use super::super::super::super::fault::{Fault, Result};
use super::super::super::super::introsort;
use super::super::super::super::sort::reached;
use super::super::super::print;
use super::super::arithmetic::to_long;
use super::super::operator::Operator;
use super::super::parse::{Parser, required};
use super::super::{Answer, Node, type_name};

/// The arguments of `$sortArray`: the input, then the order as a document or a number.
pub(super) fn parse_sort(
    parser: &mut Parser<'_>,
    _: &'static Operator,
    value: &Value<'_>,
) -> Result<Vec<Node>> {
    let Value::Document(doc) = *value else {
        return Err(Fault::new(
            2942500,
            format!(
                "$sortArray requires an object as an argument, found: {}",
                type_name(Some(*value))
            ),
        ));
    };
    let (mut input, mut order) = (None, None);
    for element in doc.elements() {
        match element.name_str() {
            "input" => input = Some(parser.operand(&element.value())?),
            "sortBy" => order = Some(checked_order(element.value())?),
            other => {
                return Err(Fault::new(
                    2942501,
                    format!("$sortArray found an unknown argument: {other}"),
                ));
            }
        }
    }
    let input = input.ok_or_else(|| Fault::new(2942502, "$sortArray requires 'input' to be specified"))?;
    let order = order.ok_or_else(|| Fault::new(2942503, "$sortArray requires 'sortBy' to be specified"))?;
    Ok(vec![input, Node::Constant(Owned::from(order))])
}

/// What `sortBy` says, where it says an order.
fn checked_order<'a>(order: Value<'a>) -> Result<Value<'a>> {
    let is_sign = |value: &Value<'_>| matches!(as_i64_exact(value), Some(1 | -1));
    match order {
        Value::Document(fields) => {
            if fields.is_empty() {
                return Err(Fault::new(
                    2942505,
                    "BadValue: The sort pattern is empty when it should be a set of fields.",
                ));
            }
            for element in fields.elements() {
                let dotted;
                let problem = if !is_sign(&element.value()) {
                    "The sort element value must be either 1 or -1"
                } else if element.name().is_empty() {
                    "The sort field cannot be empty"
                } else if element.name().split(|byte| *byte == b'.').any(<[u8]>::is_empty) {
                    dotted = format!(
                        "The sort field is a dotted field but has an empty part: {}",
                        element.name_str()
                    );
                    &dotted
                } else {
                    continue;
                };
                return Err(Fault::new(2942505, format!("BadValue: {problem}")));
            }
        }
        number if number.is_number() => {
            if !is_sign(&number) {
                return Err(Fault::new(
                    2942506,
                    "The $sort element value must be either 1 or -1",
                ));
            }
        }
        _ => {
            return Err(Fault::new(
                2942507,
                "The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields",
            ));
        }
    }
    Ok(order)
}

pub(super) fn sort(
    _: &'static Operator,
    arguments: &[Answer<'_>],
    collation: &Collation,
) -> Result<Option<Owned>> {
    let [input, order] = arguments else {
        return Ok(None);
    };
    if input.is_nullish() {
        return Ok(Some(Owned::Null));
    }
    let Some(Value::Array(items)) = input.value() else {
        return Err(Fault::new(
            2942504,
            format!(
                "The input argument to $sortArray must be an array, but was of type: {}",
                input.type_name()
            ),
        ));
    };
    let mut items: Vec<Value<'_>> = items.values().collect();
    match order.value() {
        Some(Value::Document(fields)) => {
            introsort::sort_by(&mut items, |a, b| sorted_by(a, b, fields, collation));
        }
        Some(sign) => {
            let descending = as_i64_exact(&sign) == Some(-1);
            introsort::sort_by(&mut items, |a, b| directed(collation.compare(a, b), descending));
        }
        None => {}
    }
    array(items.into_iter())
}

fn directed(order: Ordering, descending: bool) -> Ordering {
    if descending { order.reverse() } else { order }
}

/// The order of two values by the fields of a sort pattern: what is missing is null, unlike undefined. Arrays are not
/// entered: they compare whole.
fn sorted_by(a: &Value<'_>, b: &Value<'_>, fields: Doc<'_>, collation: &Collation) -> Ordering {
    for element in fields.elements() {
        let path = element.name_str();
        let descending = as_i64_exact(&element.value()).is_some_and(|sign| sign < 0);
        let order = collation.compare(&reached(a, path), &reached(b, path));
        if order != Ordering::Equal {
            return directed(order, descending);
        }
    }
    Ordering::Equal
}

/// The arguments of `$firstN` and its like: `n`, `input`.
pub(super) fn parse_n(
    parser: &mut Parser<'_>,
    operator: &'static Operator,
    value: &Value<'_>,
) -> Result<Vec<Node>> {
    let Value::Document(doc) = *value else {
        let code = match operator.name {
            "$maxN" | "$minN" => 5787900,
            _ => 5787801,
        };
        return Err(Fault::new(
            code,
            format!(
                "specification must be an object; found {}: {}",
                operator.name,
                print::bson_value(value)
            ),
        ));
    };
    let arguments = parser.named(doc, &["n", "input"], |name| {
        Fault::new(5787901, format!("Unknown argument for 'n' operator: {name}"))
    })?;
    let all = [(&arguments[0], "n", 5787906), (&arguments[1], "input", 5787907)];
    required(all, |argument| format!("Missing value for '{argument}'"))?;
    Ok(arguments)
}

/// Reads the count of an `n` operator: an integer above zero.
pub(crate) fn count_argument(answer: &Answer<'_>) -> Result<usize> {
    let wrong = |code| {
        Fault::new(
            code,
            format!(
                "Value for 'n' must be of integral type, but found {}",
                print::answer(answer)
            ),
        )
    };
    let number = answer
        .value()
        .filter(Value::is_number)
        .ok_or_else(|| wrong(5787902))?;
    // A decimal counts as a double, which may be whole where it is not.
    let count = to_long(Some(number))?;
    if as_f64(&number) != Some(count as f64) {
        return Err(wrong(5787903));
    }
    if count <= 0 {
        return Err(Fault::new(
            5787908,
            format!("'n' must be greater than 0, found {count}"),
        ));
    }
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

fn n_items<'a>(arguments: &'a [Answer<'a>]) -> Result<(usize, Vec<Value<'a>>)> {
    let [count, input] = arguments else {
        return Ok((0, Vec::new()));
    };
    let count = count_argument(count)?;
    match input.value() {
        Some(Value::Array(items)) => Ok((count, items.values().collect())),
        _ => Err(Fault::new(5788200, "Input must be an array")),
    }
}

fn array<'a>(items: impl Iterator<Item = Value<'a>>) -> Result<Option<Owned>> {
    Ok(Some(items.collect::<Items>().into_owned()))
}

pub(super) fn first_n(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let (count, items) = n_items(arguments)?;
    array(items.into_iter().take(count))
}

pub(super) fn last_n(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let (count, items) = n_items(arguments)?;
    let skipped = items.len().saturating_sub(count);
    array(items.into_iter().skip(skipped))
}

pub(super) fn min_n(
    _: &'static Operator,
    arguments: &[Answer<'_>],
    collation: &Collation,
) -> Result<Option<Owned>> {
    let (count, mut items) = numbered(arguments)?;
    items.sort_by(|a, b| collation.compare(a, b));
    array(items.into_iter().take(count))
}

pub(super) fn max_n(
    _: &'static Operator,
    arguments: &[Answer<'_>],
    collation: &Collation,
) -> Result<Option<Owned>> {
    let (count, items) = numbered(arguments)?;
    // The least is on top, of equal ones the first.
    let mut kept: BinaryHeap<Reverse<(Vec<u8>, usize)>> = BinaryHeap::new();
    for (index, item) in items.iter().enumerate() {
        let mut key = Vec::new();
        collation.encode(item, false, &mut key);
        if kept.len() >= count {
            // Of equal values the first to come are kept.
            match kept.peek() {
                Some(Reverse((least, _))) if *least < key => drop(kept.pop()),
                _ => continue,
            }
        }
        kept.push(Reverse((key, index)));
    }
    let greatest_first = kept.into_sorted_vec();
    array(
        greatest_first
            .into_iter()
            .filter_map(|Reverse((_, index))| items.get(index).copied()),
    )
}

/// How many are asked for, and the values that are not null.
fn numbered<'a>(arguments: &'a [Answer<'a>]) -> Result<(usize, Vec<Value<'a>>)> {
    let (count, mut items) = n_items(arguments)?;
    items.retain(|item| !matches!(item, Value::Null | Value::Undefined));
    Ok((count, items))
}
