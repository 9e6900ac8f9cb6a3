//! Trigonometry, in doubles or in decimals.

use super::super::super::super::document::decimal::Decimal;
use super::super::super::super::document::number::{as_decimal, as_f64};
use super::super::super::super::document::{Owned, Value};
use super::super::super::super::fault::{Fault, Result};
use super::super::super::print;
use super::super::Answer;
use super::super::operator::{Arguments, Operator, strict};
use super::decimals::circular;
use super::hyperbolic;
use super::number;

/// A function with its domain, both ends included or not.
struct Domain {
    low: f64,
    high: f64,
    closed: bool,
}

impl Domain {
    fn has_decimal(&self, x: Decimal) -> bool {
        if !self.closed {
            return !x.is_infinite();
        }
        x.compare(&Decimal::from_f64(self.low)).is_ge() && x.compare(&Decimal::from_f64(self.high)).is_le()
    }
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
    ($name:literal, $domain:expr, $double:expr, $decimal:expr) => {
        strict($name, Arguments::Exactly(1), |operator, arguments| {
            number(operator, arguments, |value| {
                apply($name, value, $domain, $double, $decimal)
            })
        })
    };
}

pub(in super::super) static OPERATORS: &[Operator] = &[
    operator!("$sin", FINITE, f64::sin, circular::sin),
    operator!("$cos", FINITE, f64::cos, circular::cos),
    operator!("$tan", FINITE, f64::tan, circular::tan),
    operator!("$asin", UNIT, f64::asin, circular::asin),
    operator!("$acos", UNIT, f64::acos, circular::acos),
    operator!("$atan", ALL, f64::atan, circular::atan),
    operator!("$sinh", ALL, f64::sinh, circular::sinh),
    operator!("$cosh", ALL, f64::cosh, circular::cosh),
    operator!("$tanh", ALL, f64::tanh, circular::tanh),
    operator!("$asinh", ALL, hyperbolic::asinh, circular::asinh),
    operator!("$acosh", FROM_ONE, hyperbolic::acosh, circular::acosh),
    operator!("$atanh", UNIT, hyperbolic::atanh, circular::atanh),
    operator!("$degreesToRadians", ALL, f64::to_radians, circular::to_radians),
    operator!("$radiansToDegrees", ALL, f64::to_degrees, circular::to_degrees),
    strict("$atan2", Arguments::Exactly(2), atan2),
];

fn apply(
    name: &str,
    value: Value<'_>,
    domain: Domain,
    double: fn(f64) -> f64,
    decimal: fn(Decimal) -> Decimal,
) -> Result<Owned> {
    let x = as_f64(&value).unwrap_or(f64::NAN);
    let inside = match value {
        // A double may not tell it from the end of the domain, or from infinity.
        Value::Decimal128(bytes) => domain.has_decimal(Decimal::from_bytes(bytes)),
        _ if domain.closed => x >= domain.low && x <= domain.high,
        _ => x > domain.low && x < domain.high,
    };
    if !x.is_nan() && !inside {
        let (open, close) = if domain.closed { ('[', ']') } else { ('(', ')') };
        let shown = match value {
            Value::Decimal128(_) => print::value(&value),
            _ => print::double(x),
        };
        return Err(Fault::new(
            50989,
            format!(
                "cannot apply {name} to {shown}, value must be in {open}{},{}{close}",
                print::double(domain.low),
                print::double(domain.high)
            ),
        ));
    }
    Ok(match value {
        Value::Decimal128(bytes) => Owned::Decimal128(decimal(Decimal::from_bytes(bytes)).to_bytes()),
        _ => Owned::Double(double(x)),
    })
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
    if matches!(y, Value::Decimal128(_)) || matches!(x, Value::Decimal128(_)) {
        let angle = match (as_decimal(&y), as_decimal(&x)) {
            (Some(y), Some(x)) => circular::atan2(y, x),
            _ => Decimal::NAN,
        };
        return Ok(Some(Owned::Decimal128(angle.to_bytes())));
    }
    let angle = as_f64(&y)
        .unwrap_or(f64::NAN)
        .atan2(as_f64(&x).unwrap_or(f64::NAN));
    Ok(Some(Owned::Double(angle)))
}

fn coordinate<'a>(argument: &'a Answer<'a>, code: i32) -> Result<Value<'a>> {
    argument.value().filter(Value::is_number).ok_or_else(|| {
        Fault::new(
            code,
            format!("$atan2 only supports numeric types, not {}", argument.type_name()),
        )
    })
}
