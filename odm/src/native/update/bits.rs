//! `$bit`.

use super::super::document::{Owned, Value};
use super::super::fault::{Fault, Result, code};
use super::apply::{Context, Outcome};
use super::path::Location;

/// One of the operations of a `$bit`; they apply in the order written.
#[derive(Clone, Debug)]
pub(super) struct BitStep {
    rule: Rule,
    /// An `Int32` or `Int64`.
    operand: Owned,
}

#[derive(Clone, Copy, Debug)]
enum Rule {
    And,
    Or,
    Xor,
}

fn bad(message: String) -> Fault {
    Fault::new(code::BAD_VALUE, message)
}

pub(super) fn parse(value: &Value<'_>) -> Result<Vec<BitStep>> {
    const FORMAT: &str = "The format is: {$bit: {field: {and/or/xor: #}}";
    let Value::Document(steps) = value else {
        return Err(bad(format!(
            "The $bit modifier is not compatible with a {}. You must pass in an embedded document: {{$bit: {{field: \
             {{and/or/xor: #}}}}",
            value.kind().alias()
        )));
    };
    let mut parsed = Vec::new();
    for element in steps.elements() {
        let (name, value) = (element.name_str(), element.value());
        let rule = match name {
            "and" => Rule::And,
            "or" => Rule::Or,
            "xor" => Rule::Xor,
            _ => {
                return Err(bad(format!(
                    "The $bit modifier only supports 'and', 'or', and 'xor', not '{name}' which is an unknown \
                     operator: {{{name}: {value}}}"
                )));
            }
        };
        if !matches!(value, Value::Int32(_) | Value::Int64(_)) {
            return Err(bad(format!(
                "The $bit modifier field must be an Integer(32/64 bit); a '{}' is not supported here: {{{name}: \
                 {value}}}",
                value.kind().alias()
            )));
        }
        parsed.push(BitStep {
            rule,
            operand: value.into(),
        });
    }
    if parsed.is_empty() {
        return Err(bad(format!(
            "You must pass in at least one bitwise operation. {FORMAT}"
        )));
    }
    Ok(parsed)
}

pub(super) fn change(
    steps: &[BitStep],
    value: &Value<'_>,
    at: &Location<'_>,
    context: &Context<'_>,
) -> Result<Outcome> {
    if !matches!(value, Value::Int32(_) | Value::Int64(_)) {
        return Err(bad(format!(
            "Cannot apply $bit to a value of non-integral type.{} has the field {} of non-integer type {}",
            context.id_text(),
            at.name(),
            value.kind().alias()
        )));
    }
    let result = fold((*value).into(), steps);
    let same = matches!(
        (value, &result),
        (Value::Int32(a), Owned::Int32(b)) if a == b
    ) || matches!((value, &result), (Value::Int64(a), Owned::Int64(b)) if a == b);
    Ok(match same {
        true => Outcome::Keep,
        false => Outcome::Set(result),
    })
}

/// A missing number counts as 0.
pub(super) fn create(steps: &[BitStep]) -> Owned {
    fold(Owned::Int32(0), steps)
}

fn fold(start: Owned, steps: &[BitStep]) -> Owned {
    steps
        .iter()
        .fold(start, |value, step| match (&value, &step.operand) {
            (Owned::Int32(a), Owned::Int32(b)) => Owned::Int32(match step.rule {
                Rule::And => a & b,
                Rule::Or => a | b,
                Rule::Xor => a ^ b,
            }),
            (a, b) => {
                let (a, b) = (widened(a), widened(b));
                Owned::Int64(match step.rule {
                    Rule::And => a & b,
                    Rule::Or => a | b,
                    Rule::Xor => a ^ b,
                })
            }
        })
}

fn widened(value: &Owned) -> i64 {
    match value {
        Owned::Int32(x) => (*x).into(),
        Owned::Int64(x) => *x,
        _ => 0,
    }
}
