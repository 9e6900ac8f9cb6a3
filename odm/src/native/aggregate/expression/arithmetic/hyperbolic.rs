//! Inverse hyperbolic functions of doubles, in the steps of the C library, which keep their last digits.

use std::f64::consts::LN_2;

/// Beyond it the square of a number hides one, and may be infinite.
const LARGE: f64 = (1_u32 << 28) as f64;

/// Below it a number is its own sine.
const SMALL: f64 = 1.0 / LARGE;

pub(super) fn asinh(x: f64) -> f64 {
    let size = x.abs();
    if size < SMALL || !size.is_finite() {
        return x;
    }
    let result = if size > LARGE {
        size.ln() + LN_2
    } else if size > 2.0 {
        (2.0 * size + 1.0 / ((size * size + 1.0).sqrt() + size)).ln()
    } else {
        let square = size * size;
        (size + square / (1.0 + (1.0 + square).sqrt())).ln_1p()
    };
    result.copysign(x)
}

pub(super) fn acosh(x: f64) -> f64 {
    if x >= LARGE {
        x.ln() + LN_2
    } else if x > 2.0 {
        (2.0 * x - 1.0 / (x + (x * x - 1.0).sqrt())).ln()
    } else {
        let above = x - 1.0;
        (above + (2.0 * above + above * above).sqrt()).ln_1p()
    }
}

pub(super) fn atanh(x: f64) -> f64 {
    let size = x.abs();
    let twice = size + size;
    let result = if size < SMALL {
        return x;
    } else if size < 0.5 {
        0.5 * (twice + twice * size / (1.0 - size)).ln_1p()
    } else {
        0.5 * (twice / (1.0 - size)).ln_1p()
    };
    result.copysign(x)
}
