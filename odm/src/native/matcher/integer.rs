//! Numbers of any type taken as 64-bit integers.

use super::super::document::Value;
use super::super::document::decimal::{Decimal, Rounding};
use super::super::document::number::as_i64_exact;
use super::super::fault::{Fault, Result, code};

/// 2^63: the first double above the integers.
const ABOVE: f64 = 9_223_372_036_854_775_808.0;

/// The number without its fraction; `None` when it is not a number or does not fit.
pub(super) fn truncated(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Int32(x) => Some(i64::from(*x)),
        Value::Int64(x) => Some(*x),
        Value::Double(x) if *x >= -ABOVE && *x < ABOVE => Some(x.trunc() as i64),
        Value::Decimal128(bytes) => Decimal::from_bytes(*bytes).to_i64_truncated(),
        _ => None,
    }
}

/// The number whose bits are tested. The server rounds decimals, and takes those that do not fit for the
/// lowest integer.
pub(super) fn bits(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Decimal128(bytes) => Some(
            Decimal::from_bytes(*bytes)
                .quantize(0, Rounding::HalfEven)
                .to_i64_truncated()
                .unwrap_or(i64::MIN),
        ),
        other => as_i64_exact(other),
    }
}

/// Reads an integer operand with the server's complaints (code 9).
pub(crate) fn parse(name: &str, value: &Value<'_>) -> Result<i64> {
    let complain = |what: &str| Fault::new(code::FAILED_TO_PARSE, format!("{what}: {name}: {value}"));
    match value {
        Value::Double(x) if x.is_nan() => Err(complain("Expected an integer, but found NaN in")),
        Value::Double(x) if !(*x >= -ABOVE && *x < ABOVE) => {
            Err(complain("Cannot represent as a 64-bit integer"))
        }
        Value::Double(_) => as_i64_exact(value).ok_or_else(|| complain("Expected an integer")),
        value if value.is_number() => {
            as_i64_exact(value).ok_or_else(|| complain("Cannot represent as a 64-bit integer"))
        }
        _ => Err(complain("Expected a number in")),
    }
}

/// Like [`parse`], but not below zero.
pub(super) fn parse_non_negative(name: &str, value: &Value<'_>) -> Result<i64> {
    let number = parse(name, value)?;
    if number < 0 {
        return Err(Fault::new(
            code::FAILED_TO_PARSE,
            format!("Expected a non-negative number in: {name}: {value}"),
        ));
    }
    Ok(number)
}

/// Like [`parse_non_negative`], but an integer of 32 bits.
pub(super) fn parse_non_negative_int(name: &str, value: &Value<'_>) -> Result<i32> {
    let number = i32::try_from(parse(name, value)?).map_err(|_| {
        Fault::new(
            code::FAILED_TO_PARSE,
            format!("Cannot represent {name}: {value} in an int"),
        )
    })?;
    parse_non_negative(name, value)?;
    Ok(number)
}
