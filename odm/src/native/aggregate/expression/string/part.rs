//! Parts of a string.

use super::super::super::super::document::{Owned, Value};
use super::super::super::super::fault::{Fault, Result};
use super::super::super::print;
use super::super::arithmetic::{as_i32_exact, to_long};
use super::super::operator::Operator;
use super::super::parse::Parser;
use super::super::{Answer, Node};
use super::forced_text;

pub(super) fn bytes(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let [text, start, count] = arguments else {
        return Ok(None);
    };
    let text = forced_text(text.value())?;
    let check = |argument: &Answer<'_>, code, which: &str| {
        if argument.value().is_some_and(|value| value.is_number()) {
            return Ok(());
        }
        Err(Fault::new(
            code,
            format!(
                "$substrBytes:  {which} must be a numeric type (is BSON type {})",
                argument.type_name()
            ),
        ))
    };
    check(start, 16034, "starting index")?;
    check(count, 16035, "length")?;
    let start = to_long(start.value())?;
    let start = usize::try_from(start).map_err(|_| {
        Fault::new(
            50752,
            format!("$substrBytes:  starting index must be non-negative (got: {start})"),
        )
    })?;
    let count = to_long(count.value())?;
    let end = usize::try_from(count)
        .map_or(usize::MAX, |count| start.saturating_add(count))
        .min(text.len());
    if start < text.len() && !text.is_char_boundary(start) {
        return Err(Fault::new(
            28656,
            "$substrBytes:  Invalid range, starting index is a UTF-8 continuation byte.",
        ));
    }
    if end < text.len() && !text.is_char_boundary(end) {
        return Err(Fault::new(
            28657,
            "$substrBytes:  Invalid range, ending index is in the middle of a UTF-8 character.",
        ));
    }
    Ok(Some(Owned::String(
        text.get(start..end).unwrap_or_default().to_owned(),
    )))
}

pub(super) fn characters(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let [text, start, count] = arguments else {
        return Ok(None);
    };
    let text = forced_text(text.value())?;
    let number = |argument: &Answer<'_>, codes: (i32, i32), which: &str| {
        let value = argument.value().filter(Value::is_number).ok_or_else(|| {
            Fault::new(
                codes.0,
                format!(
                    "$substrCP: {which} must be a numeric type (is BSON type {})",
                    argument.type_name()
                ),
            )
        })?;
        as_i32_exact(&value).ok_or_else(|| {
            Fault::new(
                codes.1,
                format!(
                    "$substrCP: {which} cannot be represented as a 32-bit integral value: {}",
                    print::value(&value)
                ),
            )
        })
    };
    let start = number(start, (34450, 34451), "starting index")?;
    let count = number(count, (34452, 34453), "length")?;
    let count = usize::try_from(count)
        .map_err(|_| Fault::new(34454, "$substrCP: length must be a nonnegative integer."))?;
    let start = usize::try_from(start).map_err(|_| {
        Fault::new(
            34455,
            "$substrCP: the starting index must be nonnegative integer.",
        )
    })?;
    Ok(Some(Owned::String(
        text.chars().skip(start).take(count).collect(),
    )))
}

/// The arguments of the trimming operators: `input`, `chars`.
pub(super) fn parse_trim(
    parser: &mut Parser<'_>,
    operator: &'static Operator,
    value: &Value<'_>,
) -> Result<Vec<Node>> {
    let name = operator.name;
    let Value::Document(doc) = *value else {
        return Err(Fault::new(
            50696,
            format!(
                "{name} only supports an object as an argument, found {}",
                value.kind().alias()
            ),
        ));
    };
    let arguments = parser.named(doc, &["input", "chars"], |other| {
        Fault::new(50694, format!("{name} found an unknown argument: {other}"))
    })?;
    if matches!(arguments[0], Node::Absent) {
        return Err(Fault::new(50695, format!("{name} requires an 'input' field")));
    }
    Ok(arguments)
}

pub(super) fn trim(operator: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let [input, chars] = arguments else {
        return Ok(None);
    };
    let name = operator.name;
    if input.is_nullish() {
        return Ok(Some(Owned::Null));
    }
    let Some(Value::String(text)) = input.value() else {
        return Err(Fault::new(
            50699,
            format!(
                "{name} requires its input to be a string, got {} (of type {}) instead.",
                print::answer(input),
                input.type_name()
            ),
        ));
    };
    let set: Option<Vec<char>> = match (chars.is_absent(), chars.value()) {
        (true, _) => None,
        (_, Some(Value::String(chars))) => Some(chars.chars().collect()),
        (_, None | Some(Value::Null | Value::Undefined)) => return Ok(Some(Owned::Null)),
        _ => {
            return Err(Fault::new(
                50700,
                format!(
                    "{name} requires 'chars' to be a string, got {} (of type {}) instead.",
                    print::answer(chars),
                    chars.type_name()
                ),
            ));
        }
    };
    let trimmed = |c: char| set.as_ref().map_or_else(|| is_blank(c), |set| set.contains(&c));
    let text = match name {
        "$ltrim" => text.trim_start_matches(trimmed),
        "$rtrim" => text.trim_end_matches(trimmed),
        _ => text.trim_matches(trimmed),
    };
    Ok(Some(Owned::String(text.to_owned())))
}

/// What is trimmed when no characters are given.
fn is_blank(c: char) -> bool {
    matches!(c, '\0' | '\t'..='\r' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}')
}
