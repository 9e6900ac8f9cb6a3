//! Operators that make arrays of arrays and numbers.

use super::super::super::super::document::{Owned, Value};
use super::super::super::super::fault::{Fault, Result};
use super::super::super::print;
use super::super::arithmetic::as_i32_exact;
use super::super::operator::Operator;
use super::super::parse::Parser;
use super::super::{Answer, Node, type_name};

/// The most that one array may take in memory: 100 MiB, as for the stages.
const MEMORY_LIMIT: usize = 100 * 1024 * 1024;

pub(super) fn concat(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let mut result = Vec::new();
    for argument in arguments {
        match argument.value() {
            None | Some(Value::Null | Value::Undefined) => return Ok(Some(Owned::Null)),
            Some(Value::Array(items)) => result.extend(items.values().map(Owned::from)),
            Some(_) => {
                return Err(Fault::new(
                    28664,
                    format!("$concatArrays only supports arrays, not {}", argument.type_name()),
                ));
            }
        }
    }
    Ok(Some(Owned::Array(result)))
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
    .max(0) as usize;
    let bytes = count.saturating_mul(size_of::<Owned>());
    if bytes > MEMORY_LIMIT {
        return Err(Fault::new(
            146,
            format!(
                "$range would use too much memory ({bytes} bytes) and cannot spill to disk. Memory limit: {MEMORY_LIMIT} bytes"
            ),
        ));
    }
    Ok(Some(Owned::Array(
        (0..count as i64)
            .map(|index| Owned::Int32((start + index * step) as i32))
            .collect(),
    )))
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
    let mut result: Vec<Owned> = items.values().map(Owned::from).collect();
    result.reverse();
    Ok(Some(Owned::Array(result)))
}

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
                other => {
                    return Err(Fault::new(
                        34463,
                        format!("useLongestLength must be a bool, found {}", found(&other)),
                    ));
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

pub(super) fn zip(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let [longest, count, rest @ ..] = arguments else {
        return Ok(None);
    };
    let count = match count.value() {
        Some(Value::Int64(count)) => (count as usize).min(rest.len()),
        _ => rest.len(),
    };
    let (inputs, defaults) = rest.split_at(count);
    let mut arrays = Vec::with_capacity(count);
    for input in inputs {
        match input.value() {
            None | Some(Value::Null | Value::Undefined) => return Ok(Some(Owned::Null)),
            Some(Value::Array(items)) => arrays.push(items.values().collect::<Vec<_>>()),
            Some(_) => {
                return Err(Fault::new(
                    34468,
                    format!(
                        "$zip found a non-array expression in input: {}",
                        print::answer(input)
                    ),
                ));
            }
        }
    }
    let lengths = arrays.iter().map(Vec::len);
    let length = if longest.is_true() {
        lengths.max()
    } else {
        lengths.min()
    };
    let rows = (0..length.unwrap_or(0)).map(|row| {
        let items = arrays.iter().enumerate().map(|(column, array)| {
            match (array.get(row), defaults.get(column)) {
                (Some(item), _) => Some(Owned::from(*item)),
                // A default without a value leaves its place out.
                (None, Some(default)) => default.value().map(Owned::from),
                (None, None) => Some(Owned::Null),
            }
        });
        Owned::Array(items.flatten().collect())
    });
    Ok(Some(Owned::Array(rows.collect())))
}
