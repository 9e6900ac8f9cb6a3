//! Operators over arrays: parts and properties of one.

pub(super) mod build;
mod entries;
pub(super) mod offsets;
mod ordered;

use super::super::super::collation::Collation;
use super::super::super::document::number::{as_f64, is_nan};
use super::super::super::document::{Doc, Items, Owned, Value, raw};
use super::super::super::fault::{Fault, Result};
use super::super::print;
use super::arithmetic::as_i32_exact;
use super::evaluate::evaluate_all;
use super::operator::{Arguments, Operator, as_written, asking, at_run, comparing, lazy, scalars, strict};
use super::scalar::{Scalar, Scalars};
use super::{Answer, Env, Node, Scope, type_name};

pub(crate) use self::offsets::Offsets;
use self::offsets::Place;
pub(crate) use self::ordered::count_argument;

pub(super) static OPERATORS: &[Operator] = &[
    scalars(
        lazy("$arrayElemAt", Arguments::Exactly(2), element_at),
        Scalars::Found(|arguments, env| Scalar::of(&found_element(arguments, env)?)),
    ),
    lazy("$first", Arguments::Exactly(1), |operator, arguments, env| {
        end(operator, arguments, env, |items| items.values().next())
    }),
    lazy("$last", Arguments::Exactly(1), |operator, arguments, env| {
        end(operator, arguments, env, |items| items.values().last())
    }),
    comparing("$in", Arguments::Exactly(2), contains),
    comparing("$indexOfArray", Arguments::Between(2, 4), index_of),
    strict("$isArray", Arguments::Exactly(1), |_, arguments| {
        let array = matches!(arguments.first().and_then(Answer::value), Some(Value::Array(_)));
        Ok(Some(Owned::Bool(array)))
    }),
    strict("$size", Arguments::Exactly(1), size),
    strict("$slice", Arguments::Between(2, 3), slice),
    strict("$concatArrays", Arguments::Any, build::concat),
    strict("$range", Arguments::Between(2, 3), build::range),
    strict("$reverseArray", Arguments::Exactly(1), build::reverse),
    at_run(asking("$zip", Arguments::Custom(build::parse_zip), build::zip)),
    at_run(comparing(
        "$sortArray",
        Arguments::Custom(ordered::parse_sort),
        ordered::sort,
    )),
    as_written(strict(
        "$firstN",
        Arguments::Custom(ordered::parse_n),
        ordered::first_n,
    )),
    as_written(strict(
        "$lastN",
        Arguments::Custom(ordered::parse_n),
        ordered::last_n,
    )),
    as_written(comparing(
        "$minN",
        Arguments::Custom(ordered::parse_n),
        ordered::min_n,
    )),
    as_written(comparing(
        "$maxN",
        Arguments::Custom(ordered::parse_n),
        ordered::max_n,
    )),
    strict("$arrayToObject", Arguments::Exactly(1), entries::to_object),
    strict("$objectToArray", Arguments::Exactly(1), entries::to_array),
];

/// The element of an array that is found by an int32, where there is nothing to evaluate.
fn found_element<'a>(arguments: &'a [Node], env: Env<'a>) -> Option<Value<'a>> {
    let [array, index] = arguments else {
        return None;
    };
    let position = index.scalar(env)?.as_int32()?;
    let items = array.array(env)?;
    env.scope.offsets.at(env.scope.root, items, Place::of(position))
}

fn element_at<'a>(operator: &'static Operator, arguments: &'a [Node], env: Env<'a>) -> Result<Answer<'a>> {
    if let Some(element) = found_element(arguments, env) {
        return Ok(Answer::Borrowed(element));
    }
    evaluate_all(operator, arguments, env, |answers| element_of(answers, env.scope))
}

fn element_of(arguments: &[Answer<'_>], scope: &Scope<'_>) -> Result<Option<Owned>> {
    let [array, index] = arguments else {
        return Ok(None);
    };
    if array.is_nullish() || index.is_nullish() {
        return Ok(Some(Owned::Null));
    }
    let Some(Value::Array(items)) = array.value() else {
        return Err(Fault::new(
            28689,
            format!(
                "$arrayElemAt's first argument must be an array, but is {}",
                array.type_name()
            ),
        ));
    };
    let Some(number) = index.value().filter(Value::is_number) else {
        return Err(Fault::new(
            28690,
            format!(
                "$arrayElemAt's second argument must be a numeric value, but is {}",
                index.type_name()
            ),
        ));
    };
    let position = as_i32_exact(&number).ok_or_else(|| {
        Fault::new(
            28691,
            format!(
                "$arrayElemAt's second argument must be representable as a 32-bit integer: {}",
                print::double(as_f64(&number).unwrap_or(f64::NAN))
            ),
        )
    })?;
    let element = scope.offsets.at(scope.root, items, Place::of(position));
    Ok(element.map(Owned::from))
}

fn end<'a>(
    operator: &'static Operator,
    arguments: &'a [Node],
    env: Env<'a>,
    pick: for<'b> fn(Doc<'b>) -> Option<Value<'b>>,
) -> Result<Answer<'a>> {
    let [array] = arguments else {
        return Ok(Answer::Missing);
    };
    let array = array.evaluate(env)?;
    match &array {
        Answer::Borrowed(Value::Array(items)) => Ok(pick(*items).map_or(Answer::Missing, Answer::Borrowed)),
        array if array.is_nullish() => Ok(Answer::Owned(Owned::Null)),
        _ => match array.value() {
            Some(Value::Array(items)) => Ok(pick(items).map(Owned::from).into()),
            _ => Err(Fault::new(
                28689,
                format!(
                    "{}'s argument must be an array, but is {}",
                    operator.name,
                    array.type_name()
                ),
            )),
        },
    }
}

fn contains(_: &'static Operator, arguments: &[Answer<'_>], collation: &Collation) -> Result<Option<Owned>> {
    let [needle, array] = arguments else {
        return Ok(None);
    };
    let Some(Value::Array(items)) = array.value() else {
        return Err(Fault::new(
            40081,
            format!(
                "$in requires an array as a second argument, found: {}",
                array.type_name()
            ),
        ));
    };
    let needle = sought(needle);
    let found = items.values().any(|item| collation.equal(&item, &needle));
    Ok(Some(Owned::Bool(found)))
}

/// What is looked for: what is missing is found where an undefined value is.
fn sought<'a>(needle: &'a Answer<'a>) -> Value<'a> {
    needle.value().unwrap_or(Value::Undefined)
}

/// Reads a start or end of a search: an integer from zero.
pub(super) fn search_bound(operator: &str, which: &str, argument: &Answer<'_>) -> Result<usize> {
    let position = argument
        .value()
        .filter(Value::is_number)
        .and_then(|value| as_i32_exact(&value))
        .ok_or_else(|| {
            Fault::new(
                40096,
                format!(
                    "{operator}requires an integral {which} index, found a value of type: {}, with value: {}",
                    argument.type_name(),
                    print::answer(argument)
                ),
            )
        })?;
    usize::try_from(position).map_err(|_| {
        Fault::new(
            40097,
            format!("{operator} requires a nonnegative {which} index, found: {position}"),
        )
    })
}

/// Whether a call gives null whatever its other arguments are, by constants that are no array.
///
/// # Errors
/// The server's for constants with which a call can do nothing.
pub(super) fn is_null_by_constants(operator: &Operator, arguments: &[Node]) -> Result<bool> {
    let ("$indexOfArray", Some(array)) = (operator.name, arguments.first()) else {
        return Ok(false);
    };
    match array {
        Node::Remove | Node::Absent => Ok(true),
        Node::Constant(array) => match array.as_value() {
            Value::Array(_) => Ok(false),
            Value::Null | Value::Undefined => Ok(true),
            other => Err(Fault::new(
                50809,
                format!(
                    "First operand of $indexOfArray must be an array. First argument is of type: {}",
                    type_name(Some(other))
                ),
            )),
        },
        _ => Ok(false),
    }
}

fn index_of(
    operator: &'static Operator,
    arguments: &[Answer<'_>],
    collation: &Collation,
) -> Result<Option<Owned>> {
    let [array, needle, bounds @ ..] = arguments else {
        return Ok(None);
    };
    if array.is_nullish() {
        return Ok(Some(Owned::Null));
    }
    let Some(Value::Array(items)) = array.value() else {
        return Err(Fault::new(
            40090,
            format!(
                "$indexOfArray requires an array as a first argument, found: {}",
                array.type_name()
            ),
        ));
    };
    let start = bounds
        .first()
        .map_or(Ok(0), |bound| search_bound(operator.name, "starting", bound))?;
    let end = bounds.get(1).map_or(Ok(usize::MAX), |bound| {
        search_bound(operator.name, "ending", bound)
    })?;
    let found = match (sought(needle), items) {
        (Value::String(text), Doc::Raw(bytes)) if collation.is_simple() => {
            raw::position_of_text(bytes, text, start, end)
        }
        (needle, items) => {
            let mut items = items.values().enumerate().take(end).skip(start);
            items
                .find(|(_, item)| collation.equal(item, &needle))
                .map(|(index, _)| index)
        }
    };
    Ok(Some(Owned::Int32(found.map_or(-1, |index| index as i32))))
}

fn size(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    match arguments.first().and_then(Answer::value) {
        Some(Value::Array(items)) => Ok(Some(Owned::Int32(items.count() as i32))),
        other => Err(Fault::new(
            17124,
            format!(
                "The argument to $size must be an array, but was of type: {}",
                super::type_name(other)
            ),
        )),
    }
}

fn slice(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let [array, rest @ ..] = arguments else {
        return Ok(None);
    };
    if arguments[..2.min(arguments.len())].iter().any(Answer::is_nullish) {
        return Ok(Some(Owned::Null));
    }
    let Some(Value::Array(items)) = array.value() else {
        return Err(Fault::new(
            28724,
            format!(
                "First argument to $slice must be an array, but is of type: {}",
                array.type_name()
            ),
        ));
    };
    let first = slice_number(&rest[0], "Second", "a numeric value", 28725, 28726)?;
    let length = items.count() as i64;
    let (start, count) = match rest.get(1) {
        None if first >= 0 => (0, first),
        None => ((length + first).max(0), -first),
        Some(count) if count.is_nullish() => return Ok(Some(Owned::Null)),
        Some(count) => {
            let number = slice_number(count, "Third", "numeric", 28727, 28728)?;
            if number <= 0 {
                return Err(Fault::new(
                    28729,
                    format!("Third argument to $slice must be positive: {number}"),
                ));
            }
            let start = if first < 0 { (length + first).max(0) } else { first };
            (start, number)
        }
    };
    let part = items.elements().skip(start as usize).take(count as usize);
    Ok(Some(part.collect::<Items>().into_owned()))
}

fn slice_number(argument: &Answer<'_>, which: &str, what: &str, wrong: i32, large: i32) -> Result<i64> {
    let number = argument.value().filter(Value::is_number).ok_or_else(|| {
        Fault::new(
            wrong,
            format!(
                "{which} argument to $slice must be {what}, but is of type: {}",
                argument.type_name()
            ),
        )
    })?;
    as_i32_exact(&number)
        .filter(|_| !is_nan(&number))
        .map(i64::from)
        .ok_or_else(|| {
            Fault::new(
                large,
                format!(
                    "{which} argument to $slice can't be represented as a 32-bit integer: {}",
                    print::double(as_f64(&number).unwrap_or(f64::NAN))
                ),
            )
        })
}
