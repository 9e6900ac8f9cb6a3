//! Operators about how values are stored, and metadata of the search that found a document.

use super::super::super::document::compare::binary_length;
use super::super::super::document::size::check_buildable;
use super::super::super::document::{Owned, Value};
use super::super::super::fault::{Fault, Result};
use super::super::super::metadata::Kind;
use super::operator::{Arguments, Operator, lazy, strict};
use super::parse::Parser;
use super::{Answer, Env, Node};

pub(super) static OPERATORS: &[Operator] = &[
    strict("$bsonSize", Arguments::Exactly(1), bson_size),
    strict("$binarySize", Arguments::Exactly(1), binary_size),
    strict("$tsSecond", Arguments::Exactly(1), |operator, arguments| {
        timestamp_part(operator, arguments, 5687301, |time, _| time)
    }),
    strict("$tsIncrement", Arguments::Exactly(1), |operator, arguments| {
        timestamp_part(operator, arguments, 5687302, |_, increment| increment)
    }),
    Operator {
        is_pure: false,
        ..lazy("$meta", Arguments::Custom(parse_meta), meta)
    },
];

fn bson_size(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let Some(argument) = arguments.first().filter(|argument| !argument.is_nullish()) else {
        return Ok(Some(Owned::Null));
    };
    match argument.value() {
        Some(Value::Document(doc)) => {
            let bytes = doc.to_bytes();
            check_buildable(&bytes)?;
            Ok(Some(Owned::Int32(bytes.len() as i32)))
        }
        _ => Err(Fault::new(
            31393,
            format!(
                "$bsonSize requires a document input, found: {}",
                argument.type_name()
            ),
        )),
    }
}

fn binary_size(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let Some(argument) = arguments.first().filter(|argument| !argument.is_nullish()) else {
        return Ok(Some(Owned::Null));
    };
    match argument.value() {
        Some(Value::String(text)) => Ok(Some(Owned::Int32(text.len() as i32))),
        Some(Value::Binary { subtype, bytes }) => {
            Ok(Some(Owned::Int32(binary_length(subtype, bytes) as i32)))
        }
        _ => Err(Fault::new(
            51276,
            format!(
                "$binarySize requires a string or BinData argument, found: {}",
                argument.type_name()
            ),
        )),
    }
}

fn timestamp_part(
    operator: &'static Operator,
    arguments: &[Answer<'_>],
    code: i32,
    pick: fn(u32, u32) -> u32,
) -> Result<Option<Owned>> {
    let Some(argument) = arguments.first().filter(|argument| !argument.is_nullish()) else {
        return Ok(Some(Owned::Null));
    };
    match argument.value() {
        Some(Value::Timestamp { time, increment }) => Ok(Some(Owned::Int64(pick(time, increment).into()))),
        _ => Err(Fault::new(
            code,
            format!(
                " Argument to {} must be a timestamp, but is {}",
                operator.name,
                argument.type_name()
            ),
        )),
    }
}

fn parse_meta(_: &mut Parser<'_>, _: &'static Operator, value: &Value<'_>) -> Result<Vec<Node>> {
    let Value::String(name) = *value else {
        return Err(Fault::new(17307, "$meta only supports string arguments"));
    };
    match Kind::parse(name) {
        Some(_) => Ok(vec![Node::Constant(Owned::String(name.to_owned()))]),
        None => Err(Fault::new(
            17308,
            format!("Unsupported argument to $meta: {name}"),
        )),
    }
}

/// The metadata that the operator with these arguments asks for.
pub(super) fn kind(arguments: &[Node]) -> Option<Kind> {
    match arguments {
        [Node::Constant(Owned::String(name))] => Kind::parse(name),
        _ => None,
    }
}

fn meta<'a>(_: &'static Operator, arguments: &'a [Node], env: Env<'a>) -> Result<Answer<'a>> {
    let known = env.scope.metadata.zip(kind(arguments));
    Ok(match known.and_then(|(metadata, kind)| metadata.get(kind)) {
        Some(value) => Answer::Owned(value),
        None => Answer::Missing,
    })
}
