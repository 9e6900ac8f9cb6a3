//! Functions of decimals that their type does not have.
//!
//! Results are the nearest decimals; the server computes in binary and may be off in the last digit.

pub(super) mod circular;
mod fixed;

use super::super::super::super::document::decimal::{Decimal, MIN_EXPONENT, Rounding};
use fixed::Fixed;

/// What is left of a number that is too small.
const LEAST_ZERO: Decimal = Decimal::Finite {
    negative: false,
    coefficient: 0,
    exponent: MIN_EXPONENT,
};

/// The number with the given exponent, or with all 34 digits where it would need more.
pub(super) fn to_exponent(x: Decimal, exponent: i32, rounding: Rounding) -> Decimal {
    match (x.quantize(exponent, rounding), x) {
        (
            Decimal::Nan { .. },
            Decimal::Finite {
                coefficient,
                exponent,
                ..
            },
        ) => {
            let digits = coefficient.checked_ilog10().map_or(1, |digits| digits as i32 + 1);
            x.quantize(exponent - (34 - digits), rounding)
        }
        (Decimal::Nan { .. }, _) => x,
        (rounded, _) => rounded,
    }
}

/// A whole number; NaN where that would need more than 34 digits, and for infinities.
pub(super) fn whole(x: Decimal, rounding: Rounding) -> Decimal {
    if x.is_infinite() {
        Decimal::NAN
    } else {
        x.quantize(0, rounding)
    }
}

/// The square root; exact roots keep half of the exponent.
pub(super) fn sqrt(x: Decimal) -> Decimal {
    let Decimal::Finite {
        negative,
        coefficient,
        exponent,
    } = x
    else {
        return match x {
            Decimal::Infinity { negative: true } => Decimal::NAN,
            _ => x,
        };
    };
    if coefficient == 0 {
        return Decimal::Finite {
            negative,
            coefficient,
            exponent: exponent.div_euclid(2),
        };
    }
    if negative {
        return Decimal::NAN;
    }
    let (coefficient, exponent) = if exponent % 2 == 0 {
        (coefficient, exponent)
    } else {
        (coefficient * 10, exponent - 1)
    };
    let root = coefficient.isqrt();
    if root * root == coefficient {
        return Decimal::Finite {
            negative,
            coefficient: root,
            exponent: exponent / 2,
        };
    }
    // Scaled to a root of 34 digits, found digit by digit; the remainder decides the rounding.
    let mut root = root;
    let mut remainder = coefficient - root * root;
    let mut exponent = exponent / 2;
    while root < 10u128.pow(33) {
        // (10r + d + 1)^2 - (10r + d)^2 = 20r + 2d + 1
        remainder *= 100;
        let mut digit = 0;
        while remainder > 20 * root + 2 * digit {
            remainder -= 20 * root + 2 * digit + 1;
            digit += 1;
        }
        root = root * 10 + digit;
        exponent -= 1;
    }
    // The root lies above the middle of two digits.
    if remainder > root {
        root += 1;
    }
    Decimal::Finite {
        negative,
        coefficient: root,
        exponent,
    }
}

pub(super) fn exp(x: Decimal) -> Decimal {
    match x {
        Decimal::Nan { .. } => x,
        Decimal::Infinity { negative: true } => Decimal::ZERO,
        Decimal::Infinity { negative: false } => x,
        _ if x.is_zero() => Decimal::from_i64(1),
        _ => match Signed::of(x) {
            Some(x) if x.magnitude < Fixed::whole(32) => shortest(x.in_binary().exp()),
            Some(x) if x.magnitude < Fixed::whole(15_000) => shortest(x.exp()),
            _ if x.is_negative() => LEAST_ZERO,
            _ => Decimal::Infinity { negative: false },
        },
    }
}

pub(super) fn ln(x: Decimal) -> Decimal {
    if x.compare(&Decimal::from_i64(1)).is_eq() {
        return Decimal::ZERO;
    }
    match Signed::ln(x) {
        Some(result) => shortest(result.to_decimal(0)),
        None if x.is_negative() && !x.is_nan() => Decimal::NAN,
        None => x,
    }
}

pub(super) fn log10(x: Decimal) -> Decimal {
    if x.compare(&Decimal::from_i64(1)).is_eq() {
        return Decimal::ZERO;
    }
    match Signed::ln(x) {
        Some(result) => shortest(result.times(Fixed::PER_LN_10).to_decimal(0)),
        None if x.is_negative() && !x.is_nan() => Decimal::NAN,
        None => x,
    }
}

/// What the server gives as the logarithm to a base: for bases other than 2 and 10 it divides the natural one by the base
/// itself.
pub(super) fn log(x: Decimal, base: Decimal) -> Decimal {
    let is = |number| base.compare(&Decimal::from_i64(number)).is_eq();
    if is(10) {
        log10(x)
    } else if is(2) && x.compare(&Decimal::from_i64(1)).is_eq() {
        Decimal::ZERO
    } else if is(2) {
        shortest(ln(x).divide(ln(base)))
    } else {
        ln(x).divide(base)
    }
}

/// The power with all 34 digits, as the server's library gives it.
///
/// Where it is too large or too small it has no sign, whatever the base has.
pub(crate) fn pow(base: Decimal, exponent: Decimal) -> Decimal {
    let one = Decimal::from_i64(1).quantize(-33, Rounding::HalfEven);
    // Of ten alone the library gives zero for the power of zero.
    if exponent.is_zero() && base.compare(&Decimal::from_i64(10)).is_eq() {
        return LEAST_ZERO;
    }
    if exponent.is_zero() || base.compare(&Decimal::from_i64(1)).is_eq() {
        return one;
    }
    if let (nan @ Decimal::Nan { .. }, _) | (_, nan @ Decimal::Nan { .. }) = (base, exponent) {
        return nan;
    }
    let whole = is_odd(exponent);
    let negative = base.is_negative() && whole == Some(true);
    let signed = |result: Decimal| if negative { result.negate() } else { result };
    if base.is_zero() {
        return match exponent.is_negative() {
            true => signed(Decimal::Infinity { negative: false }),
            false => LEAST_ZERO,
        };
    }
    if base.is_negative() && whole.is_none() && !base.is_infinite() {
        return Decimal::NAN;
    }
    let size = base.abs().compare(&Decimal::from_i64(1));
    if size.is_eq() {
        return signed(one);
    }
    if base.is_infinite() || exponent.is_infinite() {
        return match exponent.is_negative() == size.is_lt() {
            true => signed(Decimal::Infinity { negative: false }),
            false => LEAST_ZERO,
        };
    }
    let result = Signed::ln(base.abs())
        .and_then(|log| log.times_decimal(exponent))
        .map(Signed::exp);
    match result {
        Some(result) if !result.is_infinite() && !result.is_zero() => signed(result),
        _ if exponent.is_negative() == size.is_lt() => Decimal::Infinity { negative: false },
        _ => LEAST_ZERO,
    }
}

/// Whether a whole number is odd; infinity is not, and what has a fraction is no whole number.
fn is_odd(x: Decimal) -> Option<bool> {
    match x {
        Decimal::Infinity { .. } => Some(false),
        Decimal::Finite { exponent: 1.., .. } => Some(false),
        Decimal::Finite { .. } => match x.quantize(0, Rounding::Down) {
            whole @ Decimal::Finite { coefficient, .. } if whole.compare(&x).is_eq() => {
                Some(coefficient % 2 == 1)
            }
            _ => None,
        },
        Decimal::Nan { .. } => None,
    }
}

/// Without a fraction that is all zeros.
fn shortest(x: Decimal) -> Decimal {
    match x {
        Decimal::Finite { exponent, .. } if exponent < 0 => {
            let whole = x.quantize(0, Rounding::Down);
            if whole.compare(&x).is_eq() { whole } else { x }
        }
        _ => x,
    }
}

/// A fixed-point number with its sign.
#[derive(Clone, Copy, Debug)]
struct Signed {
    negative: bool,
    magnitude: Fixed,
}

impl Signed {
    /// The number to 57 places; `None` beyond 2^63.
    fn of(x: Decimal) -> Option<Signed> {
        let Decimal::Finite {
            negative,
            coefficient,
            exponent,
        } = x
        else {
            return None;
        };
        Some(Signed {
            negative,
            magnitude: Fixed::decimal(coefficient, exponent)?,
        })
    }

    fn plus(self, other: Signed) -> Signed {
        if self.negative == other.negative {
            return Signed {
                negative: self.negative,
                magnitude: self.magnitude.plus(other.magnitude),
            };
        }
        if self.magnitude >= other.magnitude {
            Signed {
                negative: self.negative,
                magnitude: self.magnitude.minus(other.magnitude),
            }
        } else {
            Signed {
                negative: other.negative,
                magnitude: other.magnitude.minus(self.magnitude),
            }
        }
    }

    fn times(self, other: Fixed) -> Signed {
        Signed {
            negative: self.negative,
            magnitude: self.magnitude.multiply(other),
        }
    }

    /// The product with a decimal; `None` where no exponential would be finite or above zero.
    fn times_decimal(self, x: Decimal) -> Option<Signed> {
        let estimate = self.magnitude.to_f64() * x.to_f64().abs();
        if estimate > 15_000.0 {
            return None;
        }
        let Decimal::Finite {
            negative,
            coefficient,
            exponent,
        } = x
        else {
            return None;
        };
        // Brought below 10^18 for the product and back after it.
        let places = coefficient.checked_ilog10().map_or(0, |places| places as i32);
        let shift = (places + exponent - 17).max(0);
        let mut product = self
            .magnitude
            .multiply(Fixed::decimal(coefficient, exponent - shift)?);
        for _ in 0..shift {
            product = product.times(10);
        }
        Some(Signed {
            negative: self.negative != negative,
            magnitude: product,
        })
    }

    fn in_binary(self) -> Signed {
        Signed {
            magnitude: self.magnitude.in_binary(),
            ..self
        }
    }

    /// e to this power, with 34 digits.
    fn exp(self) -> Decimal {
        // x = n ln 10 + r with 0 <= r < ln 10: e^x = e^r 10^n.
        let mut n = (self.magnitude.to_f64() / std::f64::consts::LN_10).floor() as u32;
        while Fixed::LN_10.times(n.into()) > self.magnitude {
            n -= 1;
        }
        // A double may have rounded it down.
        while Fixed::LN_10.times(u64::from(n) + 1) <= self.magnitude {
            n += 1;
        }
        let mut rest = self.magnitude.minus(Fixed::LN_10.times(n.into()));
        let mut tens = n as i32;
        if self.negative {
            tens = -tens;
            if rest > Fixed::ZERO {
                rest = Fixed::LN_10.minus(rest);
                tens -= 1;
            }
        }
        Signed {
            negative: false,
            magnitude: rest.exp(),
        }
        .to_decimal(tens)
    }

    /// The natural logarithm of a finite number above zero.
    fn ln(x: Decimal) -> Option<Signed> {
        let Decimal::Finite {
            negative: false,
            coefficient,
            exponent,
        } = x
        else {
            return None;
        };
        let places = coefficient.checked_ilog10()? as i32;
        // x = m 10^n with 1 <= m < 10.
        let mantissa = Fixed::decimal(coefficient, -places)?;
        let tens = exponent + places;
        // y0 is close; m e^-y0 = 1 + d, and ln(1 + d) is a short series.
        let estimate = Fixed::double(mantissa.to_f64().ln().clamp(0.0, std::f64::consts::LN_10 - 1e-15));
        let scaled = mantissa.multiply(Fixed::LN_10.minus(estimate).exp()).over(10);
        let one = Fixed::whole(1);
        let d = Signed {
            negative: scaled < one,
            magnitude: if scaled < one {
                one.minus(scaled)
            } else {
                scaled.minus(one)
            },
        };
        let mut log = Signed {
            negative: false,
            magnitude: estimate,
        };
        let mut power = d;
        for term in 1..=4u64 {
            log = log.plus(Signed {
                negative: power.negative != (term % 2 == 0),
                magnitude: power.magnitude.over(term),
            });
            power = Signed {
                negative: power.negative != d.negative,
                magnitude: power.magnitude.multiply(d.magnitude),
            };
        }
        Some(log.plus(Signed {
            negative: tens < 0,
            magnitude: Fixed::LN_10.times(u64::from(tens.unsigned_abs())),
        }))
    }

    /// The number times a power of ten, rounded to 34 digits.
    fn to_decimal(self, tens: i32) -> Decimal {
        let (coefficient, exponent) = self.magnitude.digits();
        if coefficient == 0 {
            return Decimal::ZERO;
        }
        let digits = Decimal::Finite {
            negative: self.negative,
            coefficient,
            exponent: 0,
        };
        // Multiplying rounds, and handles exponents out of range.
        let scale = |exponent: i32| Decimal::Finite {
            negative: false,
            coefficient: 1,
            exponent,
        };
        let exponent = exponent + tens;
        digits
            .multiply(scale(exponent / 2))
            .multiply(scale(exponent - exponent / 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn powers_near_those_of_ten_come_to_an_end() {
        for tens in 1..=30 {
            for places in 1..=33 {
                let base = decimal(&format!("1E+{tens}"));
                let above = base.multiply(Decimal::from_i64(1).add(decimal(&format!("1E-{places}"))));
                for exponent in [-1, -3, -41, 1, 2] {
                    let exponents = Decimal::from_i64(exponent.into());
                    let (power, whole) = (pow(above, exponents), pow(base, exponents));
                    let ratio = power.divide(whole).to_f64();
                    let expected = (1.0 + 10f64.powi(-places)).powi(exponent);
                    assert!(
                        (ratio / expected - 1.0).abs() < 1e-12,
                        "{above}^{exponent} is {power}"
                    );
                }
            }
        }
    }

    /// A series that does not come to an end fails an assertion.
    #[test]
    fn functions_of_any_numbers_come_to_an_end() {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut below = |bound: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % bound
        };
        let mut number = || Decimal::Finite {
            negative: below(2) == 0,
            coefficient: match below(3) {
                0 => 10u128.pow(below(34) as u32) + u128::from(below(3)),
                _ => (u128::from(below(u64::MAX)) << 48) >> below(112),
            },
            exponent: match below(3) {
                0 => below(12_287) as i32 + MIN_EXPONENT,
                _ => below(50) as i32 - 34,
            },
        };
        for _ in 0..2_000 {
            let (a, b) = (number(), number());
            for function in [
                sqrt,
                exp,
                ln,
                log10,
                circular::sinh,
                circular::cosh,
                circular::tanh,
            ] {
                function(a);
            }
            for function in [pow, log] {
                function(a, b);
            }
        }
    }

    #[test]
    fn functions_give_34_digits() {
        for (got, expected) in [
            (exp(decimal("1")), "2.718281828459045235360287471352662"),
            (exp(decimal("100")), "2.688117141816135448412625551580014E+43"),
            (exp(decimal("-1.5")), "0.2231301601484298289332804707640125"),
            (exp(decimal("0")), "1"),
            (exp(decimal("1E-40")), "1"),
            (exp(decimal("1E+10")), "Infinity"),
            (ln(decimal("10")), "2.302585092994045684017991454684364"),
            (ln(decimal("1")), "0"),
            (log10(decimal("2")), "0.3010299956639811952137388947244930"),
            (log10(decimal("0.001")), "-3"),
            (log(decimal("8"), decimal("2")), "3"),
            (sqrt(decimal("2")), "1.414213562373095048801688724209698"),
            (sqrt(decimal("4.00")), "2.0"),
            (sqrt(decimal("1E-7")), "0.0003162277660168379331998893544432719"),
            (
                pow(decimal("2"), decimal("10")),
                "1024.000000000000000000000000000000",
            ),
            (
                pow(decimal("1.1"), decimal("10")),
                "2.593742460100000000000000000000000",
            ),
            (
                pow(decimal("-2"), decimal("3")),
                "-8.000000000000000000000000000000000",
            ),
            (
                pow(decimal("10"), decimal("-2")),
                "0.01000000000000000000000000000000000",
            ),
            (
                pow(decimal("2"), decimal("0.5")),
                "1.414213562373095048801688724209698",
            ),
            (pow(decimal("-2"), decimal("0.5")), "NaN"),
        ] {
            assert_eq!(got.to_string(), expected);
        }
    }
}
