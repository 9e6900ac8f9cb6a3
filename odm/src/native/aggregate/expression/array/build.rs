//! Operators that make arrays of arrays and numbers.

use super::super::super::super::document::doc::Element;
use super::super::super::super::document::{Items, Owned, Value};
use super::super::super::super::fault::{Fault, Result};
use super::super::super::print;
use super::super::arithmetic::as_i32_exact;
use super::super::operator::Operator;
use super::super::parse::Parser;
use super::super::{Answer, Node, type_name};

/// The most that one array may take in memory: 100 MiB, as for the stages.
const MEMORY_LIMIT: i64 = 100 * 1024 * 1024;

/// The bytes that a server counts for an array without its items.
const ARRAY: i64 = 40;

/// The bytes that a server counts for an item of an array.
const ITEM: i64 = 16;

pub(in super::super) fn concat(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let mut result = Items::default();
    for argument in arguments {
        match argument.value() {
            None | Some(Value::Null | Value::Undefined) => return Ok(Some(Owned::Null)),
            Some(Value::Array(items)) => items.elements().for_each(|item| result.push_element(&item)),
            Some(_) => {
                return Err(Fault::new(
                    28664,
                    format!("$concatArrays only supports arrays, not {}", argument.type_name()),
                ));
            }
        }
    }
    Ok(Some(result.into_owned()))
}

pub(super) fn range(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let [start, end, step @ ..] = arguments else {
        return Ok(None);
    };
    let start = i64::from(bound(
        start,
        (34443, "a numeric starting value", "value of type: "),
        (34444, "a starting value"),
    )?);
    let end = i64::from(bound(
        end,
        (34445, "a numeric ending value", "value of type: "),
        (34446, "an ending value"),
    )?);
    let step = match step.first() {
        None => 1,
        Some(step) => i64::from(bound(
            step,
            (34447, "a numeric step value", "value of type:"),
            (34448, "a step value"),
        )?),
    };
    if step == 0 {
        return Err(Fault::new(34449, "$range requires a non-zero step value"));
    }
    let count = if step > 0 {
        (end - start + step - 1).div_euclid(step)
    } else {
        (start - end - step - 1).div_euclid(-step)
    }
    .max(0);
    let bytes = count * ITEM + ARRAY;
    if bytes > MEMORY_LIMIT {
        return Err(Fault::new(
            146,
            format!(
                "$range would use too much memory ({bytes} bytes) and cannot spill to disk. Memory limit: {MEMORY_LIMIT} bytes"
            ),
        ));
    }
    let numbers = (0..count).map(|index| Value::Int32((start + index * step) as i32));
    Ok(Some(numbers.collect::<Items>().into_owned()))
}

fn bound(argument: &Answer<'_>, numeric: (i32, &str, &str), integer: (i32, &str)) -> Result<i32> {
    let number = argument.value().filter(Value::is_number).ok_or_else(|| {
        Fault::new(
            numeric.0,
            format!(
                "$range requires {}, found {}{}",
                numeric.1,
                numeric.2,
                argument.type_name()
            ),
        )
    })?;
    as_i32_exact(&number).ok_or_else(|| {
        Fault::new(
            integer.0,
            format!(
                "$range requires {} that can be represented as a 32-bit integer, found value: {}",
                integer.1,
                print::value(&number)
            ),
        )
    })
}

pub(super) fn reverse(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let Some(array) = arguments.first().filter(|array| !array.is_nullish()) else {
        return Ok(Some(Owned::Null));
    };
    let Some(Value::Array(items)) = array.value() else {
        return Err(Fault::new(
            34435,
            format!(
                "The argument to $reverseArray must be an array, but was of type: {}",
                array.type_name()
            ),
        ));
    };
    let elements: Vec<Element<'_>> = items.elements().collect();
    Ok(Some(elements.into_iter().rev().collect::<Items>().into_owned()))
}

/// Where the inputs of `$zip` begin.
const INPUTS: usize = 2;

/// The arguments of `$zip`: whether the longest array counts, how many inputs, the inputs, the defaults.
pub(super) fn parse_zip(
    parser: &mut Parser<'_>,
    _: &'static Operator,
    value: &Value<'_>,
) -> Result<Vec<Node>> {
    let found = |value: &Value<'_>| type_name(Some(*value));
    let Value::Document(doc) = *value else {
        return Err(Fault::new(
            34460,
            format!(
                "$zip only supports an object as an argument, found {}",
                found(value)
            ),
        ));
    };
    let (mut inputs, mut defaults, mut longest) = (Vec::new(), Vec::new(), false);
    for element in doc.elements() {
        let value = element.value();
        match element.name_str() {
            "inputs" => match value {
                Value::Array(_) => inputs = parser.list(&value)?,
                other => {
                    return Err(Fault::new(
                        34461,
                        format!("inputs must be an array of expressions, found {}", found(&other)),
                    ));
                }
            },
            "defaults" => match value {
                Value::Array(_) => defaults = parser.list(&value)?,
                other => {
                    return Err(Fault::new(
                        34462,
                        format!(
                            "defaults must be an array of expressions, found {}",
                            found(&other)
                        ),
                    ));
                }
            },
            "useLongestLength" => match value {
                Value::Bool(given) => longest = given,
                _ => {
                    // The server tells the type of all arguments together.
                    return Err(Fault::new(34463, "useLongestLength must be a bool, found object"));
                }
            },
            other => {
                return Err(Fault::new(
                    34464,
                    format!("$zip found an unknown argument: {other}"),
                ));
            }
        }
    }
    if inputs.is_empty() {
        return Err(Fault::new(34465, "$zip requires at least one input array"));
    }
    if !longest && !defaults.is_empty() {
        return Err(Fault::new(
            34466,
            "cannot specify defaults unless useLongestLength is true",
        ));
    }
    if !defaults.is_empty() && defaults.len() != inputs.len() {
        return Err(Fault::new(34467, "defaults and inputs must have the same length"));
    }
    let mut arguments = vec![
        Node::Constant(Owned::Bool(longest)),
        Node::Constant(Owned::Int64(inputs.len() as i64)),
    ];
    arguments.extend(inputs);
    arguments.extend(defaults);
    Ok(arguments)
}

/// The defaults are asked for where the arrays differ in length and the longest one counts.
pub(super) fn zip<'a>(
    _: &'static Operator,
    argument: &dyn Fn(usize) -> Result<Answer<'a>>,
) -> Result<Option<Owned>> {
    let longest = argument(0)?.is_true();
    let count = match argument(1)?.value() {
        Some(Value::Int64(count)) => usize::try_from(count).unwrap_or_default(),
        _ => 0,
    };
    let inputs = INPUTS..INPUTS + count;
    let mut arrays = Vec::with_capacity(count);
    for index in inputs.clone() {
        let input = argument(index)?;
        match input.value() {
            None | Some(Value::Null | Value::Undefined) => return Ok(Some(Owned::Null)),
            Some(Value::Array(_)) => arrays.push(input),
            Some(_) => {
                return Err(Fault::new(
                    34468,
                    format!(
                        "$zip found a non-array expression in input: {}",
                        print::answer(&input)
                    ),
                ));
            }
        }
    }
    let arrays: Vec<Vec<Element<'_>>> = arrays.iter().map(items).collect();
    let lengths = || arrays.iter().map(Vec::len);
    let (least, most) = (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0));
    let defaults = match longest && least < most {
        true => inputs
            .map(|index| argument(index + count))
            .collect::<Result<Vec<_>>>()?,
        false => Vec::new(),
    };
    let mut rows = Items::default();
    for row in 0..if longest { most } else { least } {
        let items = arrays.iter().enumerate().filter_map(|(column, array)| {
            match (array.get(row), defaults.get(column)) {
                (Some(item), _) => Some(item.value()),
                (None, None | Some(Answer::Absent)) => Some(Value::Null),
                // A default without a value leaves its place out.
                (None, Some(default)) => default.value(),
            }
        });
        rows.push_array(items);
    }
    Ok(Some(rows.into_owned()))
}

fn items<'a>(answer: &'a Answer<'_>) -> Vec<Element<'a>> {
    match answer.value() {
        Some(Value::Array(items)) => items.elements().collect(),
        _ => Vec::new(),
    }
}
