//! Trigonometry, in doubles; a decimal in gives a decimal of a double's precision out.

use super::super::super::super::document::decimal::Decimal;
use super::super::super::super::document::number::as_f64;
use super::super::super::super::document::{Owned, Value};
use super::super::super::super::fault::{Fault, Result};
use super::super::super::print;
use super::super::Answer;
use super::super::operator::{Arguments, Operator, strict};
use super::number;

/// A function with its domain, both ends included or not.
struct Domain {
    low: f64,
    high: f64,
    closed: bool,
}

const ALL: Domain = Domain {
    low: f64::NEG_INFINITY,
    high: f64::INFINITY,
    closed: true,
};
const FINITE: Domain = Domain {
    low: f64::NEG_INFINITY,
    high: f64::INFINITY,
    closed: false,
};
const UNIT: Domain = Domain {
    low: -1.0,
    high: 1.0,
    closed: true,
};
const FROM_ONE: Domain = Domain {
    low: 1.0,
    high: f64::INFINITY,
    closed: true,
};

macro_rules! operator {
    ($name:literal, $domain:expr, $function:expr) => {
        strict($name, Arguments::Exactly(1), |operator, arguments| {
            number(operator, arguments, |value| {
                apply($name, value, $domain, $function)
            })
        })
    };
}

pub(in super::super) static OPERATORS: &[Operator] = &[
    operator!("$sin", FINITE, f64::sin),
    operator!("$cos", FINITE, f64::cos),
    operator!("$tan", FINITE, f64::tan),
    operator!("$asin", UNIT, f64::asin),
    operator!("$acos", UNIT, f64::acos),
    operator!("$atan", ALL, f64::atan),
    operator!("$sinh", ALL, f64::sinh),
    operator!("$cosh", ALL, f64::cosh),
    operator!("$tanh", ALL, f64::tanh),
    operator!("$asinh", ALL, f64::asinh),
    operator!("$acosh", FROM_ONE, f64::acosh),
    operator!("$atanh", UNIT, f64::atanh),
    operator!("$degreesToRadians", ALL, f64::to_radians),
    operator!("$radiansToDegrees", ALL, f64::to_degrees),
    strict("$atan2", Arguments::Exactly(2), atan2),
];

fn result(x: f64, decimal: bool) -> Owned {
    if decimal {
        Owned::Decimal128(Decimal::from_f64(x).to_bytes())
    } else {
        Owned::Double(x)
    }
}

fn apply(name: &str, value: Value<'_>, domain: Domain, function: fn(f64) -> f64) -> Result<Owned> {
    let x = as_f64(&value).unwrap_or(f64::NAN);
    let inside = if domain.closed {
        x >= domain.low && x <= domain.high
    } else {
        x > domain.low && x < domain.high
    };
    if !x.is_nan() && !inside {
        let (open, close) = if domain.closed { ('[', ']') } else { ('(', ')') };
        return Err(Fault::new(
            50989,
            format!(
                "cannot apply {name} to {}, value must be in {open}{},{}{close}",
                print::value(&value),
                print::double(domain.low),
                print::double(domain.high)
            ),
        ));
    }
    Ok(result(function(x), matches!(value, Value::Decimal128(_))))
}

fn atan2(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let [y, x] = arguments else {
        return Ok(None);
    };
    if y.is_nullish() {
        return Ok(Some(Owned::Null));
    }
    let y = coordinate(y, 51044)?;
    if x.is_nullish() {
        return Ok(Some(Owned::Null));
    }
    let x = coordinate(x, 51045)?;
    let decimal = matches!(y, Value::Decimal128(_)) || matches!(x, Value::Decimal128(_));
    let angle = as_f64(&y)
        .unwrap_or(f64::NAN)
        .atan2(as_f64(&x).unwrap_or(f64::NAN));
    Ok(Some(result(angle, decimal)))
}

fn coordinate<'a>(argument: &'a Answer<'a>, code: i32) -> Result<Value<'a>> {
    argument.value().filter(Value::is_number).ok_or_else(|| {
        Fault::new(
            code,
            format!("$atan2 only supports numeric types, not {}", argument.type_name()),
        )
    })
}
