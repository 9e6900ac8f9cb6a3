//! Functions of decimals that their type does not have.

use super::super::super::super::document::decimal::{Decimal, Rounding};

/// The number with the given exponent, unless it would need too many digits.
pub(super) fn to_exponent(x: Decimal, exponent: i32, rounding: Rounding) -> Decimal {
    let rounded = x.quantize(exponent, rounding);
    if rounded.is_nan() { x } else { rounded }
}

pub(super) fn sqrt(x: Decimal) -> Decimal {
    Decimal::from_f64_exact(x.to_f64().sqrt())
}

pub(super) fn exp(x: Decimal) -> Decimal {
    Decimal::from_f64(x.to_f64().exp())
}

pub(super) fn ln(x: Decimal) -> Decimal {
    Decimal::from_f64(x.to_f64().ln())
}

pub(super) fn log10(x: Decimal) -> Decimal {
    Decimal::from_f64(x.to_f64().log10())
}

pub(super) fn pow(base: Decimal, exponent: Decimal) -> Decimal {
    Decimal::from_f64(base.to_f64().powf(exponent.to_f64()))
}
