//! Powers, roots and logarithms: doubles, or decimals where a decimal goes in.

use super::super::super::super::document::decimal::Decimal;
use super::super::super::super::document::number::{as_decimal, as_f64, as_i64_exact, is_nan};
use super::super::super::super::document::{Owned, Value};
use super::super::super::super::fault::{Fault, Result};
use super::super::super::print;
use super::super::Answer;
use super::super::operator::Operator;
use super::decimals;

fn decimal(value: Decimal) -> Owned {
    Owned::Decimal128(value.to_bytes())
}

/// As on the server, a decimal NaN has a double for its logarithm.
fn logarithm(value: &Value<'_>, double: fn(f64) -> f64, exact: fn(Decimal) -> Decimal) -> Owned {
    match *value {
        Value::Decimal128(_) if is_nan(value) => Owned::Double(as_f64(value).unwrap_or(f64::NAN)),
        _ => apply(value, double, exact),
    }
}

fn apply(value: &Value<'_>, double: fn(f64) -> f64, exact: fn(Decimal) -> Decimal) -> Owned {
    match *value {
        Value::Decimal128(bytes) => decimal(exact(Decimal::from_bytes(bytes))),
        _ => Owned::Double(double(as_f64(value).unwrap_or(f64::NAN))),
    }
}

/// As messages about what is no argument of a function show it: a double, which a decimal is turned into.
fn shown(value: &Value<'_>) -> String {
    print::double(as_f64(value).unwrap_or(f64::NAN))
}

/// Below zero, or zero; NaN is neither.
fn is_positive(value: &Value<'_>) -> bool {
    match *value {
        Value::Decimal128(bytes) => {
            let x = Decimal::from_bytes(bytes);
            x.is_nan() || x.signum() > 0
        }
        _ => as_f64(value).is_some_and(|x| x.is_nan() || x > 0.0),
    }
}

pub(super) fn exp(value: Value<'_>) -> Result<Owned> {
    Ok(apply(&value, f64::exp, decimals::exp))
}

pub(super) fn ln(value: Value<'_>) -> Result<Owned> {
    if !is_positive(&value) {
        return Err(Fault::new(
            28766,
            format!(
                "$ln's argument must be a positive number, but is {}",
                shown(&value)
            ),
        ));
    }
    Ok(logarithm(&value, f64::ln, decimals::ln))
}

pub(super) fn log10(value: Value<'_>) -> Result<Owned> {
    if !is_positive(&value) {
        return Err(Fault::new(
            28761,
            format!(
                "$log10's argument must be a positive number, but is {}",
                shown(&value)
            ),
        ));
    }
    Ok(logarithm(&value, f64::log10, decimals::log10))
}

pub(super) fn sqrt(value: Value<'_>) -> Result<Owned> {
    let negative = match value {
        Value::Decimal128(bytes) => Decimal::from_bytes(bytes).signum() < 0,
        _ => as_f64(&value).is_some_and(|x| x < 0.0),
    };
    if negative {
        return Err(Fault::new(
            28714,
            "$sqrt's argument must be greater than or equal to 0",
        ));
    }
    Ok(apply(&value, f64::sqrt, decimals::sqrt))
}

pub(super) fn log(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let [argument, base] = arguments else {
        return Ok(None);
    };
    if argument.is_nullish() || base.is_nullish() {
        return Ok(Some(Owned::Null));
    }
    let x = argument.value().filter(Value::is_number).ok_or_else(|| {
        Fault::new(
            28756,
            format!("$log's argument must be numeric, not {}", argument.type_name()),
        )
    })?;
    let b = base.value().filter(Value::is_number).ok_or_else(|| {
        Fault::new(
            28757,
            format!("$log's base must be numeric, not {}", base.type_name()),
        )
    })?;
    if (is_decimal(&x) || is_decimal(&b))
        && let (Some(x), Some(b)) = (as_decimal(&x), as_decimal(&b))
        && x.signum() > 0
        && b.signum() > 0
        && b.compare(&Decimal::from_i64(1)).is_ne()
    {
        return Ok(Some(decimal(decimals::log(x, b))));
    }
    // Other decimals count as doubles, which may be zero or one where they are not.
    let wrong =
        |code, what: &str, value| Fault::new(code, format!("{what}, but is {}", print::double(value)));
    let [x, b] = [x, b].map(|value| as_f64(&value).unwrap_or(f64::NAN));
    if x <= 0.0 {
        return Err(wrong(28758, "$log's argument must be a positive number", x));
    }
    if b <= 0.0 || b == 1.0 {
        return Err(wrong(
            28759,
            "$log's base must be a positive number not equal to 1",
            b,
        ));
    }
    Ok(Some(Owned::Double(x.ln() / b.ln())))
}

fn is_decimal(value: &Value<'_>) -> bool {
    matches!(value, Value::Decimal128(_))
}

pub(super) fn pow(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let [base, exponent] = arguments else {
        return Ok(None);
    };
    if base.is_nullish() || exponent.is_nullish() {
        return Ok(Some(Owned::Null));
    }
    let b = base.value().filter(Value::is_number).ok_or_else(|| {
        Fault::new(
            28762,
            format!("$pow's base must be numeric, not {}", base.type_name()),
        )
    })?;
    let e = exponent.value().filter(Value::is_number).ok_or_else(|| {
        Fault::new(
            28763,
            format!("$pow's exponent must be numeric, not {}", exponent.type_name()),
        )
    })?;
    // A decimal may be too small for a double and still no zero.
    let zero = match b {
        Value::Decimal128(bytes) => Decimal::from_bytes(bytes).is_zero(),
        _ => as_f64(&b) == Some(0.0),
    };
    // As on the server, a decimal zero with a sign is; and beside a decimal all are decimals.
    let below_zero = match is_decimal(&b) || is_decimal(&e) {
        true => as_decimal(&e).is_some_and(|e| e.is_negative()),
        false => as_f64(&e).is_some_and(|e| e < 0.0),
    };
    if zero && below_zero {
        return Err(Fault::new(
            28764,
            "$pow cannot take a base of 0 and a negative exponent",
        ));
    }
    Ok(Some(match (b, e) {
        (Value::Decimal128(_), _) | (_, Value::Decimal128(_)) => match (as_decimal(&b), as_decimal(&e)) {
            (Some(b), Some(e)) => decimal(decimals::pow(b, e)),
            _ => Owned::Null,
        },
        (Value::Double(_), _) | (_, Value::Double(_)) => double_power(&b, &e),
        _ => integer_power(&b, &e),
    }))
}

fn double_power(b: &Value<'_>, e: &Value<'_>) -> Owned {
    Owned::Double(as_f64(b).unwrap_or(f64::NAN).powf(as_f64(e).unwrap_or(f64::NAN)))
}

/// Integers stay integers while they fit.
fn integer_power(b: &Value<'_>, e: &Value<'_>) -> Owned {
    let (Some(base), Some(exponent)) = (as_i64_exact(b), as_i64_exact(e)) else {
        return Owned::Null;
    };
    let power = match base {
        0 | 1 => Some(if exponent == 0 { 1 } else { base }),
        -1 => Some(if exponent % 2 == 0 { 1 } else { -1 }),
        _ => u32::try_from(exponent).ok().and_then(|e| base.checked_pow(e)),
    };
    let Some(power) = power else {
        return double_power(b, e);
    };
    match (b, e, i32::try_from(power)) {
        (Value::Int32(_), Value::Int32(_), Ok(power)) => Owned::Int32(power),
        _ => Owned::Int64(power),
    }
}
