//! Operators about how values are stored, and metadata of the search that found a document.

use super::super::super::document::compare::binary_length;
use super::super::super::document::{Owned, Value};
use super::super::super::fault::{Fault, Result};
use super::operator::{Arguments, Operator, lazy, strict};
use super::parse::Parser;
use super::variable::random;
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
        Some(Value::Document(doc)) => Ok(Some(Owned::Int32(doc.to_bytes().len() as i32))),
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
                "Argument to {} must be a timestamp, but is {}",
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
    match name {
        "randVal" | "textScore" | "searchScore" | "searchHighlights" | "indexKey" | "sortKey"
        | "recordId" => Ok(vec![Node::Constant(Owned::String(name.to_owned()))]),
        "geoNearDistance" | "geoNearPoint" => Err(Fault::new(
            40218,
            "query requires $geoNear distance metadata, but it is not available",
        )),
        _ => Err(Fault::new(
            17308,
            format!("Unsupported argument to $meta: {name}"),
        )),
    }
}

/// The variable that carries a document's score; no variable of a user has such a name.
pub(super) const TEXT_SCORE: &str = "$textScore";

/// The variable of a document's score.
pub(crate) fn score_variable(score: Option<f64>) -> Option<(String, Option<Owned>)> {
    score.map(|score| (TEXT_SCORE.to_owned(), Some(Owned::Double(score))))
}

/// The variable of how a document was found, by the name of its metadata.
pub(crate) fn found_variable(name: &str, value: Owned) -> (String, Option<Owned>) {
    (format!("${name}"), Some(value))
}

/// Of metadata there are a random value, the score of a text search, and how a find came to the document.
fn meta<'a>(_: &'static Operator, arguments: &'a [Node], env: Env<'a>) -> Result<Answer<'a>> {
    Ok(match arguments {
        [Node::Constant(Owned::String(name))] if name == "randVal" => Answer::Owned(Owned::Double(random())),
        [Node::Constant(Owned::String(name))] if name == "textScore" => {
            let mut variables = env.scope.variables.iter().rev();
            let score = variables.find(|(name, _)| name == TEXT_SCORE);
            Answer::from(score.and_then(|(_, score)| score.as_ref()).map(Owned::as_value))
        }
        [Node::Constant(Owned::String(name))] if matches!(name.as_str(), "recordId" | "indexKey") => {
            let mut variables = env.scope.variables.iter().rev();
            let found = variables.find(|(own, _)| own.strip_prefix('$') == Some(name));
            Answer::from(found.and_then(|(_, value)| value.as_ref()).map(Owned::as_value))
        }
        _ => Answer::Missing,
    })
}
