//! Splitting and replacing.

use super::super::super::super::document::size::check_text;
use super::super::super::super::document::{Items, Owned, Value};
use super::super::super::super::fault::{Fault, Result};
use super::super::super::print;
use super::super::operator::Operator;
use super::super::parse::{Parser, required};
use super::super::{Answer, Node};

pub(super) fn split(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let [text, separator] = arguments else {
        return Ok(None);
    };
    if text.is_nullish() || separator.is_nullish() {
        return Ok(Some(Owned::Null));
    }
    let wrong = |code, which: &str, argument: &Answer<'_>| {
        Fault::new(
            code,
            format!(
                "$split requires an expression that evaluates to a string as a {which} argument, found: {}",
                argument.type_name()
            ),
        )
    };
    let Some(Value::String(input)) = text.value() else {
        return Err(wrong(40085, "first", text));
    };
    let Some(Value::String(by)) = separator.value() else {
        return Err(wrong(40086, "second", separator));
    };
    if by.is_empty() {
        return Err(Fault::new(40087, "$split requires a non-empty separator"));
    }
    // One character is looked for byte by byte, many at a time; a text in all its places by preparing for it.
    let mut characters = by.chars();
    let parts: Items = match (characters.next(), characters.next()) {
        (Some(one), None) => input.split(one).map(Value::String).collect(),
        _ => input.split(by).map(Value::String).collect(),
    };
    Ok(Some(parts.into_owned()))
}

/// The arguments of `$replaceOne` and `$replaceAll`: `input`, `find`, `replacement`.
pub(super) fn parse(
    parser: &mut Parser<'_>,
    operator: &'static Operator,
    value: &Value<'_>,
) -> Result<Vec<Node>> {
    let name = operator.name;
    let Value::Document(doc) = *value else {
        return Err(Fault::new(
            51751,
            format!(
                "{name} requires an object as an argument, found: {}",
                value.kind().alias()
            ),
        ));
    };
    let arguments = parser.named(doc, &["input", "find", "replacement"], |other| {
        Fault::new(51750, format!("{name} found an unknown argument: {other}"))
    })?;
    let all = [
        (&arguments[0], "input", 51749),
        (&arguments[1], "find", 51748),
        (&arguments[2], "replacement", 51747),
    ];
    required(all, |argument| {
        format!("{name} requires '{argument}' to be specified")
    })?;
    Ok(arguments)
}

pub(super) fn replace(operator: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let name = operator.name;
    let [input, find, replacement] = arguments else {
        return Ok(None);
    };
    for (argument, which, code) in [
        (input, "input", 51746),
        (find, "find", 51745),
        (replacement, "replacement", 51744),
    ] {
        if !argument.is_nullish() && !matches!(argument.value(), Some(Value::String(_))) {
            return Err(Fault::new(
                code,
                format!(
                    "{name} requires that '{which}' be a string, found: {}",
                    print::answer(argument)
                ),
            ));
        }
    }
    let (Some(Value::String(input)), Some(Value::String(find)), Some(Value::String(replacement))) =
        (input.value(), find.value(), replacement.value())
    else {
        return Ok(Some(Owned::Null));
    };
    let most = if name == "$replaceOne" { 1 } else { usize::MAX };
    if replacement.len() > find.len() {
        let times = input.matches(find).take(most).count();
        check_text(input.len() + times * (replacement.len() - find.len()))?;
    }
    Ok(Some(Owned::String(input.replacen(find, replacement, most))))
}
