//! Decimals as text, and doubles by way of their digits.

use std::fmt;

use super::wide::Wide;
use super::{DIGITS, Decimal, MAX_EXPONENT, MIN_EXPONENT, digits, finish};

/// Why a string is not a decimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParseError {
    /// Not a number's text.
    Syntax,
    /// Too large for a decimal128.
    Overflow,
    /// Too small for a decimal128, or for all of its digits.
    Underflow,
}

impl Decimal {
    /// Parses `[+-]digits[.digits][E[+-]digits]`, `Infinity`, `Inf` or `NaN` in any case. Digits beyond the
    /// 34th are dropped without rounding, as mongod does.
    pub(crate) fn parse(text: &str) -> Result<Decimal, ParseError> {
        let (negative, unsigned) = match text.as_bytes() {
            [b'-', ..] => (true, &text[1..]),
            [b'+', ..] => (false, &text[1..]),
            _ => (false, text),
        };
        if unsigned.eq_ignore_ascii_case("inf") || unsigned.eq_ignore_ascii_case("infinity") {
            return Ok(Decimal::Infinity { negative });
        }
        if unsigned.eq_ignore_ascii_case("nan") {
            return Ok(Decimal::Nan { negative, payload: 0 });
        }
        let mut coefficient = 0u128;
        let mut kept = 0;
        let mut exponent = 0i64;
        let (mut any, mut point) = (false, false);
        let mut rest = unsigned.as_bytes().iter();
        let mut explicit = None;
        while let Some(&byte) = rest.next() {
            match byte {
                b'0'..=b'9' => {
                    any = true;
                    if kept < DIGITS {
                        coefficient = coefficient * 10 + u128::from(byte - b'0');
                        kept += u32::from(coefficient != 0);
                        exponent -= i64::from(point);
                    } else {
                        exponent += i64::from(!point);
                    }
                }
                b'.' if !point => point = true,
                b'e' | b'E' if any => {
                    explicit = Some(parse_exponent(rest.as_slice())?);
                    break;
                }
                _ => return Err(ParseError::Syntax),
            }
        }
        if !any {
            return Err(ParseError::Syntax);
        }
        let exponent = exponent + explicit.unwrap_or(0);
        if coefficient == 0 {
            return Ok(Decimal::Finite {
                negative,
                coefficient,
                exponent: exponent.clamp(MIN_EXPONENT.into(), MAX_EXPONENT.into()) as i32,
            });
        }
        if exponent < i64::from(MIN_EXPONENT) {
            let drop = u32::try_from(i64::from(MIN_EXPONENT) - exponent).unwrap_or(u32::MAX);
            let (shorter, inexact) = Wide::from(coefficient).unscale(drop.min(2 * DIGITS));
            if inexact || shorter.low() == 0 {
                return Err(ParseError::Underflow);
            }
            return Ok(finish(negative, shorter, MIN_EXPONENT));
        }
        let exponent = i32::try_from(exponent)
            .ok()
            .filter(|exponent| *exponent <= MAX_EXPONENT + DIGITS as i32)
            .ok_or(ParseError::Overflow)?;
        match finish(negative, Wide::from(coefficient), exponent) {
            Decimal::Infinity { .. } => Err(ParseError::Overflow),
            decimal => Ok(decimal),
        }
    }
}

fn parse_exponent(text: &[u8]) -> Result<i64, ParseError> {
    let (negative, unsigned) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if unsigned.is_empty() || !unsigned.iter().all(u8::is_ascii_digit) {
        return Err(ParseError::Syntax);
    }
    let magnitude = unsigned.iter().fold(0i64, |sum, digit| {
        sum.saturating_mul(10)
            .saturating_add((digit - b'0').into())
            .min(1 << 40)
    });
    Ok(if negative { -magnitude } else { magnitude })
}

impl fmt::Display for Decimal {
    /// MongoDB's text: scientific when the exponent is positive or the number is below 1E-6.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_negative() && !self.is_nan() {
            f.write_str("-")?;
        }
        let (coefficient, exponent) = match self {
            Decimal::Nan { .. } => return f.write_str("NaN"),
            Decimal::Infinity { .. } => return f.write_str("Infinity"),
            Decimal::Finite {
                coefficient,
                exponent,
                ..
            } => (*coefficient, *exponent),
        };
        let text = coefficient.to_string();
        let adjusted = exponent + text.len() as i32 - 1;
        if exponent > 0 || adjusted < -6 {
            let (first, rest) = text.split_at(1);
            f.write_str(first)?;
            if !rest.is_empty() {
                write!(f, ".{rest}")?;
            }
            return write!(f, "E{adjusted:+}");
        }
        let fraction = exponent.unsigned_abs() as usize;
        if fraction == 0 {
            f.write_str(&text)
        } else if fraction < text.len() {
            let (whole, part) = text.split_at(text.len() - fraction);
            write!(f, "{whole}.{part}")
        } else {
            write!(f, "0.{text:0>fraction$}")
        }
    }
}

/// The double with `precision` significant digits; exact values of 34 digits lose their needless zeros.
pub(super) fn from_f64(value: f64, precision: usize) -> Decimal {
    let negative = value.is_sign_negative();
    if value.is_nan() {
        return Decimal::Nan { negative, payload: 0 };
    }
    if value.is_infinite() {
        return Decimal::Infinity { negative };
    }
    if value == 0.0 {
        return Decimal::Finite {
            negative,
            coefficient: 0,
            exponent: 0,
        };
    }
    // Rust prints the exact expansion, rounded half-even to the digits asked for.
    let text = format!("{:.*e}", precision - 1, value.abs());
    let (mantissa, scientific) = text.split_once('e').unwrap_or((&text, "0"));
    let coefficient = mantissa
        .bytes()
        .filter(u8::is_ascii_digit)
        .fold(0u128, |sum, digit| sum * 10 + u128::from(digit - b'0'));
    let exponent = scientific.parse::<i32>().unwrap_or(0) - (precision as i32 - 1);
    let (mut shorter, mut zeros) = (coefficient, 0);
    while precision == DIGITS as usize && exponent + zeros < 0 && shorter % 10 == 0 {
        shorter /= 10;
        zeros += 1;
    }
    // A number that was rounded keeps its zeros: it is known to as many digits.
    if exponent + zeros != -binary_places(value).max(0) {
        (shorter, zeros) = (coefficient, 0);
    }
    Decimal::Finite {
        negative,
        coefficient: shorter,
        exponent: exponent + zeros,
    }
}

/// The places behind the point of a double, in binary as in decimal; less than zero for an even integer.
fn binary_places(value: f64) -> i32 {
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7FF) as i32, bits & ((1 << 52) - 1));
    match exponent {
        0 => 1074 - fraction.trailing_zeros() as i32,
        _ => 1075 - exponent - (fraction | 1 << 52).trailing_zeros() as i32,
    }
}

/// The nearest double, ties to even.
pub(super) fn to_f64(decimal: Decimal) -> f64 {
    let magnitude = match decimal {
        Decimal::Nan { .. } => f64::NAN,
        Decimal::Infinity { .. } => f64::INFINITY,
        Decimal::Finite { coefficient: 0, .. } => 0.0,
        Decimal::Finite {
            coefficient,
            exponent,
            ..
        } => nearest(coefficient, exponent),
    };
    if decimal.is_negative() {
        -magnitude
    } else {
        magnitude
    }
}

/// The double nearest to `coefficient * 10^exponent`.
pub(super) fn nearest(coefficient: u128, exponent: i32) -> f64 {
    // Both operands are exact, so the one operation rounds correctly.
    if coefficient < 1 << 53 && (-22..=22).contains(&exponent) {
        let power = 10f64.powi(exponent.abs());
        let coefficient = coefficient as f64;
        return if exponent < 0 {
            coefficient / power
        } else {
            coefficient * power
        };
    }
    if exponent + digits(coefficient) as i32 > 310 {
        return f64::INFINITY;
    }
    if exponent + (digits(coefficient) as i32) < -330 {
        return 0.0;
    }
    format!("{coefficient}e{exponent}").parse().unwrap_or(0.0)
}
