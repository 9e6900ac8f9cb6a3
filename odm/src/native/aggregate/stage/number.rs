//! `$skip`, `$limit`, `$count`.

use super::super::super::document::number::as_i64_exact;
use super::super::super::document::{Owned, Value};
use super::super::super::fault::{Fault, Result};
use super::{Row, Rows, print, write};

/// Reads the argument of `$skip`.
pub(super) fn skip(value: &Value<'_>) -> Result<u64> {
    count_argument("$skip", 5107200, value)
}

/// Reads the argument of `$limit`.
pub(super) fn limit(value: &Value<'_>) -> Result<u64> {
    match count_argument("$limit", 5107201, value)? {
        0 => Err(Fault::new(15958, "the limit must be positive")),
        count => Ok(count),
    }
}

fn count_argument(name: &str, code: i32, value: &Value<'_>) -> Result<u64> {
    let wrong = |what: &str| {
        Fault::new(
            code,
            format!(
                "invalid argument to {name} stage: {what} {name}: {}",
                print::bson_value(value)
            ),
        )
    };
    if !value.is_number() {
        return Err(wrong("Expected a number in:"));
    }
    match as_i64_exact(value) {
        Some(count) => u64::try_from(count).map_err(|_| wrong("Expected a non-negative number in:")),
        None => Err(match value {
            Value::Double(x) if x.abs() < 9_223_372_036_854_775_808.0 => wrong("Expected an integer:"),
            Value::Double(x) if x.is_nan() => wrong("Expected an integer, but found NaN in:"),
            _ => wrong("Cannot represent as a 64-bit integer:"),
        }),
    }
}

/// Reads the name of the field that `$count` fills.
pub(super) fn count_field(value: &Value<'_>) -> Result<String> {
    let (code, message) = match *value {
        Value::String("") => (40157, "the count field must be a non-empty string"),
        Value::String(name) if name.starts_with('$') => {
            (40158, "the count field cannot be a $-prefixed path")
        }
        Value::String(name) if name.contains('\0') => (40159, "the count field cannot contain a null byte"),
        Value::String(name) if name.contains('.') => (40160, "the count field cannot contain '.'"),
        Value::String("_id") => (15948, "a group's _id may only be specified once"),
        Value::String(name) => return Ok(name.to_owned()),
        _ => (40156, "the count field must be a non-empty string"),
    };
    Err(Fault::new(code, message))
}

/// One document with the count, none for no input.
pub(super) fn count<'a>(input: Rows<'a>, name: &str) -> Result<Rows<'a>> {
    let mut count: i64 = 0;
    for row in input {
        row?;
        count += 1;
    }
    if count == 0 {
        return Ok(Box::new(std::iter::empty()));
    }
    let number = i32::try_from(count).map_or(Owned::Int64(count), Owned::Int32);
    let row = write(Owned::Document(vec![(name.to_owned(), number)])).map(Row::from);
    Ok(Box::new(std::iter::once(row)))
}
