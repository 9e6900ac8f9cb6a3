//! `$inc` and `$mul`.

use std::cmp::Ordering;

use super::super::document::{Kind, Owned, Value, number};
use super::super::fault::{Fault, Result, code};
use super::apply::{Context, Outcome};
use super::path::Location;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Increment,
    Multiply,
}

impl Arithmetic {
    fn operator(self) -> &'static str {
        match self {
            Arithmetic::Increment => "$inc",
            Arithmetic::Multiply => "$mul",
        }
    }
}

/// Checks an operand.
pub(super) fn operand(arithmetic: Arithmetic, path: &str, value: &Value<'_>) -> Result<Owned> {
    if value.is_number() {
        return Ok((*value).into());
    }
    let verb = match arithmetic {
        Arithmetic::Increment => "increment",
        Arithmetic::Multiply => "multiply",
    };
    Err(Fault::new(
        code::TYPE_MISMATCH,
        format!("Cannot {verb} with non-numeric argument: {{{path}: {value}}}"),
    ))
}

pub(super) fn change(
    arithmetic: Arithmetic,
    value: &Value<'_>,
    operand: &Owned,
    at: &Location<'_>,
    context: &Context<'_>,
) -> Result<Outcome> {
    let operator = arithmetic.operator();
    if !value.is_number() {
        return Err(Fault::new(
            code::TYPE_MISMATCH,
            format!(
                "Cannot apply {operator} to a value of non-numeric type. {{{}}} has the field '{}' of non-numeric \
                 type {}",
                context.id_text(),
                at.name(),
                value.kind().alias()
            ),
        ));
    }
    let result = match arithmetic {
        Arithmetic::Increment => number::add(value, &operand.as_value()),
        Arithmetic::Multiply => number::multiply(value, &operand.as_value()),
    };
    let result = result.ok_or_else(|| {
        let kind = match value.kind() {
            Kind::Int32 => "NumberInt",
            _ => "NumberLong",
        };
        Fault::new(
            code::BAD_VALUE,
            format!(
                "Failed to apply {operator} operations to current value (({kind}){value}) for document {{{}}}",
                context.id_text()
            ),
        )
    })?;
    // NaN counts as changed, and 1.0 to 1.00 does not, as on the server.
    let new = result.as_value();
    let same = new.kind() == value.kind()
        && !number::is_nan(&new)
        && number::compare(&new, value) == Ordering::Equal;
    Ok(match same {
        true => Outcome::Keep,
        false => Outcome::Set(result),
    })
}

/// A missing number counts as 0 of the operand's type.
pub(super) fn create(arithmetic: Arithmetic, operand: &Owned) -> Owned {
    match (arithmetic, operand) {
        (Arithmetic::Increment, _) => operand.clone(),
        // Zero times the operand: its type, its sign, its exponent.
        (Arithmetic::Multiply, operand) => {
            number::multiply(&Value::Int32(0), &operand.as_value()).unwrap_or(Owned::Int32(0))
        }
    }
}
