//! Operators over strings.

mod part;
mod regex;
mod replace;
mod search;

use super::super::super::document::decimal::Decimal;
use super::super::super::document::size::check_text;
use super::super::super::document::{Owned, Value};
use super::super::super::fault::{Fault, Result};
use super::super::print;
use super::date::{coerced_date, timestamp_text};
use super::operator::{Arguments, Operator, at_run, strict};
use super::{Answer, type_name};

pub(super) static OPERATORS: &[Operator] = &[
    strict("$concat", Arguments::Any, concat),
    strict("$toLower", Arguments::Exactly(1), |_, arguments| {
        Ok(Some(Owned::String(first_text(arguments)?.to_ascii_lowercase())))
    }),
    strict("$toUpper", Arguments::Exactly(1), |_, arguments| {
        Ok(Some(Owned::String(first_text(arguments)?.to_ascii_uppercase())))
    }),
    strict("$strcasecmp", Arguments::Exactly(2), compare_ignoring_case),
    strict("$strLenBytes", Arguments::Exactly(1), |operator, arguments| {
        length(operator, arguments, 34473, str::len)
    }),
    strict("$strLenCP", Arguments::Exactly(1), |operator, arguments| {
        length(operator, arguments, 34471, |text| text.chars().count())
    }),
    strict("$substr", Arguments::Exactly(3), part::bytes),
    strict("$substrBytes", Arguments::Exactly(3), part::bytes),
    strict("$substrCP", Arguments::Exactly(3), part::characters),
    strict("$trim", Arguments::Custom(part::parse_trim), part::trim),
    strict("$ltrim", Arguments::Custom(part::parse_trim), part::trim),
    strict("$rtrim", Arguments::Custom(part::parse_trim), part::trim),
    strict("$split", Arguments::Exactly(2), replace::split),
    at_run(strict(
        "$replaceOne",
        Arguments::Custom(replace::parse),
        replace::replace,
    )),
    at_run(strict(
        "$replaceAll",
        Arguments::Custom(replace::parse),
        replace::replace,
    )),
    strict("$indexOfBytes", Arguments::Between(2, 4), search::bytes),
    strict("$indexOfCP", Arguments::Between(2, 4), search::characters),
    Operator {
        fold: Some(|arguments, known| regex::fold("$regexMatch", arguments, known)),
        ..strict("$regexMatch", Arguments::Custom(regex::parse), regex::is_match)
    },
    Operator {
        fold: Some(|arguments, known| regex::fold("$regexFind", arguments, known)),
        ..strict("$regexFind", Arguments::Custom(regex::parse), regex::find)
    },
    Operator {
        fold: Some(|arguments, known| regex::fold("$regexFindAll", arguments, known)),
        ..strict("$regexFindAll", Arguments::Custom(regex::parse), regex::find_all)
    },
];

/// The value as the string operators force it to a string: empty for null.
fn forced_text(value: Option<Value<'_>>) -> Result<String> {
    Ok(match value {
        None | Some(Value::Null | Value::Undefined) => String::new(),
        Some(Value::String(text) | Value::Symbol(text) | Value::Code(text)) => text.to_owned(),
        Some(Value::Int32(x)) => x.to_string(),
        Some(Value::Int64(x)) => x.to_string(),
        Some(Value::Double(x)) => print::double(x),
        Some(Value::Decimal128(bytes)) => Decimal::from_bytes(bytes).to_string(),
        Some(Value::DateTime(ms)) => coerced_date(ms)?,
        Some(Value::Timestamp { time, increment }) => timestamp_text(time, increment),
        other => {
            return Err(Fault::new(
                16007,
                format!("can't convert from BSON type {} to String", type_name(other)),
            ));
        }
    })
}

fn first_text(arguments: &[Answer<'_>]) -> Result<String> {
    forced_text(arguments.first().and_then(Answer::value))
}

pub(super) fn concat(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let mut result = String::new();
    for argument in arguments {
        match argument.value() {
            None | Some(Value::Null | Value::Undefined) => return Ok(Some(Owned::Null)),
            Some(Value::String(text)) => {
                check_text(result.len() + text.len())?;
                result.push_str(text);
            }
            Some(_) => {
                return Err(Fault::new(
                    16702,
                    format!("$concat only supports strings, not {}", argument.type_name()),
                ));
            }
        }
    }
    Ok(Some(Owned::String(result)))
}

fn compare_ignoring_case(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let [a, b] = arguments else {
        return Ok(None);
    };
    let a = forced_text(a.value())?.to_ascii_uppercase();
    let b = forced_text(b.value())?.to_ascii_uppercase();
    Ok(Some(Owned::Int32(a.cmp(&b) as i32)))
}

fn length(
    operator: &'static Operator,
    arguments: &[Answer<'_>],
    code: i32,
    count: fn(&str) -> usize,
) -> Result<Option<Owned>> {
    match arguments.first().and_then(Answer::value) {
        Some(Value::String(text)) => Ok(Some(Owned::Int32(count(text) as i32))),
        other => Err(Fault::new(
            code,
            format!(
                "{} requires a string argument, found: {}",
                operator.name,
                type_name(other)
            ),
        )),
    }
}
