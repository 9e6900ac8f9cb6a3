//! `$round` and `$trunc`.

use super::super::super::super::document::decimal::{Decimal, Rounding};
use super::super::super::super::document::number::as_decimal;
use super::super::super::super::document::{Owned, Value};
use super::super::super::super::fault::{Fault, Result};
use super::super::super::print;
use super::super::Answer;
use super::super::operator::Operator;
use super::{as_i32_exact, decimals, to_long};

pub(super) fn round(operator: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let name = operator.name;
    let rounding = if name == "$trunc" {
        Rounding::Down
    } else {
        Rounding::HalfEven
    };
    let Some(argument) = arguments.first().filter(|argument| !argument.is_nullish()) else {
        return Ok(Some(Owned::Null));
    };
    let value = match argument.value() {
        Some(value) if value.is_number() => value,
        _ => {
            return Err(Fault::new(
                51081,
                format!("{name} only supports numeric types, not {}", argument.type_name()),
            ));
        }
    };
    let places = match arguments.get(1) {
        None => 0,
        Some(places) if places.is_nullish() => return Ok(Some(Owned::Null)),
        Some(places) => {
            to_long(places.value())?;
            let value = places.value().and_then(|places| as_i32_exact(&places));
            let Some(value) = value else {
                return Err(Fault::new(
                    51082,
                    format!("precision argument to  {name} must be a integral value"),
                ));
            };
            if !(-20..=100).contains(&value) {
                return Err(Fault::new(
                    51083,
                    format!("cannot apply {name} with precision value {value} value must be in [-20, 100]"),
                ));
            }
            value
        }
    };
    Ok(Some(match value {
        Value::Decimal128(bytes) => {
            Owned::Decimal128(decimals::to_exponent(Decimal::from_bytes(bytes), -places, rounding).to_bytes())
        }
        Value::Double(x) if places == 0 || !x.is_finite() => Owned::Double(match rounding {
            Rounding::Down => x.trunc(),
            _ => x.round_ties_even(),
        }),
        Value::Double(x) => {
            let rounded = decimals::to_exponent(Decimal::from_f64_exact(x), -places, rounding);
            Owned::Double(rounded.to_f64())
        }
        integer if places >= 0 => integer.into(),
        integer => {
            let rounded = as_decimal(&integer)
                .map(|x| decimals::to_exponent(x, -places, rounding))
                .and_then(Decimal::to_i64_exact)
                .ok_or_else(|| {
                    Fault::new(
                        51080,
                        format!(
                            "invalid conversion from Decimal128 result in {name} resulting from arguments: [{}, {places}]",
                            print::value(&integer)
                        ),
                    )
                })?;
            // As on the server, an int32 below the least one wraps around.
            match integer {
                Value::Int32(_) if rounded <= i32::MAX.into() => Owned::Int32(rounded as i32),
                _ => Owned::Int64(rounded),
            }
        }
    }))
}
