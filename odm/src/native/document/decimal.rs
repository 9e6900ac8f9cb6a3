//! Decimal128: decoding, encoding, arithmetic of 34 digits.
//!
//! The arithmetic is IEEE 754-2008's (and the General Decimal Arithmetic specification's): results are
//! rounded half-even to 34 digits, exponents follow the ideal-exponent rules, so `1.20 + 1` is `2.20`.

use std::cmp::Ordering;

use self::wide::Wide;

mod exact;
mod text;
mod wide;

pub(crate) use self::exact::{compare_with_double, magnitude_toward_zero};
pub(crate) use self::text::ParseError;

/// The most digits a coefficient has.
pub(crate) const DIGITS: u32 = 34;
/// The largest coefficient: 34 nines.
pub(crate) const MAX_COEFFICIENT: u128 = 10u128.pow(DIGITS) - 1;
/// The smallest exponent of a coefficient's last digit.
pub(crate) const MIN_EXPONENT: i32 = -6176;
/// The largest exponent of a coefficient's last digit.
pub(crate) const MAX_EXPONENT: i32 = 6111;

const SIGN: u128 = 1 << 127;
const NAN_BYTE: u128 = 0x7C << 120;
/// The most that may come with NaN: 33 nines.
const MAX_PAYLOAD: u128 = 10u128.pow(DIGITS - 1) - 1;
const INFINITY_BYTE: u128 = 0x78 << 120;

/// A decoded decimal128.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Decimal {
    /// `coefficient * 10^exponent`; the coefficient has at most 34 digits and the exponent is between
    /// [`MIN_EXPONENT`] and [`MAX_EXPONENT`].
    Finite {
        negative: bool,
        coefficient: u128,
        exponent: i32,
    },
    /// An infinity.
    Infinity { negative: bool },
    /// Not a number, with a sign and a payload that operations hand on; none signals.
    Nan { negative: bool, payload: u128 },
}

/// How [`Decimal::quantize`] drops digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To the nearest, ties to the even digit.
    HalfEven,
    /// Toward zero.
    Down,
    /// Toward negative infinity.
    Floor,
    /// Toward positive infinity.
    Ceiling,
}

impl Decimal {
    /// Zero with exponent zero.
    pub(crate) const ZERO: Decimal = Decimal::Finite {
        negative: false,
        coefficient: 0,
        exponent: 0,
    };

    /// NaN as operations make it.
    pub(crate) const NAN: Decimal = Decimal::Nan {
        negative: false,
        payload: 0,
    };

    /// Decodes the little-endian BID encoding. Coefficients beyond 34 digits are zero, as IEEE 754 says.
    pub(crate) fn from_bytes(bytes: [u8; 16]) -> Decimal {
        let bits = u128::from_le_bytes(bytes);
        let negative = bits & SIGN != 0;
        match (bits >> 122) as u8 & 0x1F {
            0x1F => {
                let payload = bits & ((1 << 110) - 1);
                Decimal::Nan {
                    negative,
                    payload: if payload > MAX_PAYLOAD { 0 } else { payload },
                }
            }
            0x1E => Decimal::Infinity { negative },
            top => {
                let (biased, coefficient) = if top >= 0x18 {
                    // The long form only holds coefficients beyond 34 digits.
                    ((bits >> 111) as u32 & 0x3FFF, 0)
                } else {
                    ((bits >> 113) as u32 & 0x3FFF, bits & ((1 << 113) - 1))
                };
                Decimal::Finite {
                    negative,
                    coefficient: if coefficient > MAX_COEFFICIENT {
                        0
                    } else {
                        coefficient
                    },
                    exponent: biased as i32 + MIN_EXPONENT,
                }
            }
        }
    }

    /// The little-endian BID encoding.
    pub(crate) fn to_bytes(self) -> [u8; 16] {
        let bits = match self {
            Decimal::Nan { negative, payload } => NAN_BYTE | sign_bit(negative) | payload,
            Decimal::Infinity { negative } => INFINITY_BYTE | sign_bit(negative),
            Decimal::Finite {
                negative,
                coefficient,
                exponent,
            } => sign_bit(negative) | (((exponent - MIN_EXPONENT) as u128) << 113) | coefficient,
        };
        bits.to_le_bytes()
    }

    /// The integer, with exponent zero.
    pub(crate) fn from_i64(value: i64) -> Decimal {
        Decimal::Finite {
            negative: value < 0,
            coefficient: value.unsigned_abs().into(),
            exponent: 0,
        }
    }

    /// The double rounded to 15 significant digits: how MongoDB mixes doubles into decimal arithmetic.
    pub(crate) fn from_f64(value: f64) -> Decimal {
        text::from_f64(value, 15)
    }

    /// The double rounded to 34 significant digits, without needless zeros: how MongoDB's `$sum` and `$add`
    /// see a double.
    pub(crate) fn from_f64_exact(value: f64) -> Decimal {
        text::from_f64(value, 34)
    }

    /// The nearest double.
    pub(crate) fn to_f64(self) -> f64 {
        text::to_f64(self)
    }

    /// The integer part, if it fits.
    pub(crate) fn to_i64_truncated(self) -> Option<i64> {
        let Decimal::Finite {
            negative,
            coefficient,
            exponent,
        } = self
        else {
            return None;
        };
        let whole = if exponent <= 0 {
            power(exponent.unsigned_abs()).map_or(0, |divisor| coefficient / divisor)
        } else if coefficient == 0 {
            0
        } else {
            coefficient.checked_mul(power(exponent.unsigned_abs())?)?
        };
        let signed = if negative {
            -i128::try_from(whole).ok()?
        } else {
            i128::try_from(whole).ok()?
        };
        i64::try_from(signed).ok()
    }

    /// The integer, if it is one and fits.
    pub(crate) fn to_i64_exact(self) -> Option<i64> {
        let whole = self.to_i64_truncated()?;
        (self.compare(&Decimal::from_i64(whole)) == Ordering::Equal).then_some(whole)
    }

    /// The nearest integer, of two the even one, if it fits.
    pub(crate) fn to_i64_rounded(self) -> Option<i64> {
        match self {
            Decimal::Finite { exponent, .. } if exponent < 0 => {
                self.quantize(0, Rounding::HalfEven).to_i64_exact()
            }
            _ => self.to_i64_exact(),
        }
    }

    /// Whether it is NaN.
    pub(crate) fn is_nan(&self) -> bool {
        matches!(self, Decimal::Nan { .. })
    }

    /// Whether it is an infinity.
    pub(crate) fn is_infinite(&self) -> bool {
        matches!(self, Decimal::Infinity { .. })
    }

    /// Whether it is a zero of any sign and exponent.
    pub(crate) fn is_zero(&self) -> bool {
        matches!(self, Decimal::Finite { coefficient: 0, .. })
    }

    /// Whether the sign is negative (-0's is, and -NaN's).
    pub(crate) fn is_negative(&self) -> bool {
        match self {
            Decimal::Finite { negative, .. }
            | Decimal::Infinity { negative }
            | Decimal::Nan { negative, .. } => *negative,
        }
    }

    /// The same magnitude with the other sign.
    pub(crate) fn negate(self) -> Decimal {
        match self {
            Decimal::Nan { negative, payload } => Decimal::Nan {
                negative: !negative,
                payload,
            },
            Decimal::Infinity { negative } => Decimal::Infinity { negative: !negative },
            Decimal::Finite {
                negative,
                coefficient,
                exponent,
            } => Decimal::Finite {
                negative: !negative,
                coefficient,
                exponent,
            },
        }
    }

    /// The magnitude.
    pub(crate) fn abs(self) -> Decimal {
        if self.is_negative() { self.negate() } else { self }
    }

    /// The order MongoDB gives decimals: NaN below everything and equal to itself, -0 equal to 0,
    /// representations of the same number equal.
    pub(crate) fn compare(&self, other: &Decimal) -> Ordering {
        match (self, other) {
            (Decimal::Nan { .. }, Decimal::Nan { .. }) => Ordering::Equal,
            (Decimal::Nan { .. }, _) => Ordering::Less,
            (_, Decimal::Nan { .. }) => Ordering::Greater,
            (a, b) => {
                let (left, right) = (a.signum(), b.signum());
                if left != right || left == 0 {
                    return left.cmp(&right);
                }
                let order = compare_magnitudes(a, b);
                if left < 0 { order.reverse() } else { order }
            }
        }
    }

    /// -1, 0 or 1; 0 for NaN.
    pub(crate) fn signum(&self) -> i32 {
        match self {
            Decimal::Nan { .. } | Decimal::Finite { coefficient: 0, .. } => 0,
            other if other.is_negative() => -1,
            _ => 1,
        }
    }

    /// `self + other`.
    pub(crate) fn add(self, other: Decimal) -> Decimal {
        match (self, other) {
            (nan @ Decimal::Nan { .. }, _) | (_, nan @ Decimal::Nan { .. }) => nan,
            (Decimal::Infinity { negative: a }, Decimal::Infinity { negative: b }) if a != b => Decimal::NAN,
            (infinite @ Decimal::Infinity { .. }, _) | (_, infinite @ Decimal::Infinity { .. }) => infinite,
            (
                Decimal::Finite {
                    negative: sa,
                    coefficient: ca,
                    exponent: ea,
                },
                Decimal::Finite {
                    negative: sb,
                    coefficient: cb,
                    exponent: eb,
                },
            ) => {
                if ea >= eb {
                    add_aligned((sa, ca, ea), (sb, cb, eb))
                } else {
                    add_aligned((sb, cb, eb), (sa, ca, ea))
                }
            }
        }
    }

    /// `self - other`.
    pub(crate) fn subtract(self, other: Decimal) -> Decimal {
        match (self, other) {
            // A subtraction turns the sign of a number alone.
            (_, Decimal::Nan { .. }) => self.add(other),
            _ => self.add(other.negate()),
        }
    }

    /// `self * other`.
    pub(crate) fn multiply(self, other: Decimal) -> Decimal {
        let negative = self.is_negative() != other.is_negative();
        match (self, other) {
            (nan @ Decimal::Nan { .. }, _) | (_, nan @ Decimal::Nan { .. }) => nan,
            (Decimal::Infinity { .. }, b) if b.is_zero() => Decimal::NAN,
            (a, Decimal::Infinity { .. }) if a.is_zero() => Decimal::NAN,
            (Decimal::Infinity { .. }, _) | (_, Decimal::Infinity { .. }) => Decimal::Infinity { negative },
            (
                Decimal::Finite {
                    coefficient: ca,
                    exponent: ea,
                    ..
                },
                Decimal::Finite {
                    coefficient: cb,
                    exponent: eb,
                    ..
                },
            ) => finish(negative, Wide::product(ca, cb), ea + eb),
        }
    }

    /// `self / other`; division by zero gives an infinity, 0/0 NaN.
    pub(crate) fn divide(self, other: Decimal) -> Decimal {
        let negative = self.is_negative() != other.is_negative();
        match (self, other) {
            (nan @ Decimal::Nan { .. }, _) | (_, nan @ Decimal::Nan { .. }) => nan,
            (Decimal::Infinity { .. }, Decimal::Infinity { .. }) => Decimal::NAN,
            (Decimal::Infinity { .. }, _) => Decimal::Infinity { negative },
            (_, Decimal::Infinity { .. }) => Decimal::Finite {
                negative,
                coefficient: 0,
                exponent: MIN_EXPONENT,
            },
            (a, b) if b.is_zero() => {
                if a.is_zero() {
                    Decimal::NAN
                } else {
                    Decimal::Infinity { negative }
                }
            }
            (
                Decimal::Finite {
                    coefficient: ca,
                    exponent: ea,
                    ..
                },
                Decimal::Finite {
                    coefficient: cb,
                    exponent: eb,
                    ..
                },
            ) => divide_finite(negative, (ca, ea), (cb, eb)),
        }
    }

    /// What a division truncated to an integer leaves, exact, with the sign of `self` (C's `fmod`).
    pub(crate) fn remainder(self, other: Decimal) -> Decimal {
        match (self, other) {
            (nan @ Decimal::Nan { .. }, _) | (_, nan @ Decimal::Nan { .. }) => nan,
            (Decimal::Infinity { .. }, _) => Decimal::NAN,
            (_, b) if b.is_zero() => Decimal::NAN,
            (a, Decimal::Infinity { .. }) => a,
            (
                Decimal::Finite {
                    negative,
                    coefficient: ca,
                    exponent: ea,
                },
                Decimal::Finite {
                    coefficient: cb,
                    exponent: eb,
                    ..
                },
            ) => {
                let coefficient = if ea >= eb {
                    let scale = wide::power_modulo((ea - eb).unsigned_abs(), cb);
                    Wide::product(ca % cb, scale).remainder(cb)
                } else {
                    // A divisor beyond 34 digits at the dividend's exponent exceeds the dividend.
                    power((eb - ea).unsigned_abs())
                        .and_then(|scale| cb.checked_mul(scale))
                        .map_or(ca, |divisor| ca % divisor)
                };
                Decimal::Finite {
                    negative,
                    coefficient,
                    exponent: ea.min(eb),
                }
            }
        }
    }

    /// The number with exactly this exponent, rounded; NaN if it would need more than 34 digits.
    pub(crate) fn quantize(self, exponent: i32, rounding: Rounding) -> Decimal {
        let Decimal::Finite {
            negative,
            coefficient,
            exponent: from,
        } = self
        else {
            return self;
        };
        if !(MIN_EXPONENT..=MAX_EXPONENT).contains(&exponent) {
            return Decimal::NAN;
        }
        let coefficient = if from >= exponent {
            let scale = if coefficient == 0 {
                Some(1)
            } else {
                power((from - exponent).unsigned_abs())
            };
            match scale.and_then(|scale| coefficient.checked_mul(scale)) {
                Some(scaled) if scaled <= MAX_COEFFICIENT => scaled,
                _ => return Decimal::NAN,
            }
        } else {
            shorten(
                negative,
                Wide::from(coefficient),
                (exponent - from).unsigned_abs(),
                rounding,
            )
        };
        if coefficient > MAX_COEFFICIENT {
            return Decimal::NAN;
        }
        Decimal::Finite {
            negative,
            coefficient,
            exponent,
        }
    }
}

fn sign_bit(negative: bool) -> u128 {
    if negative { SIGN } else { 0 }
}

/// `10^exponent`, if it fits.
pub(crate) fn power(exponent: u32) -> Option<u128> {
    10u128.checked_pow(exponent)
}

/// How many decimal digits the number has; 1 for zero.
pub(crate) fn digits(coefficient: u128) -> u32 {
    coefficient.checked_ilog10().unwrap_or(0) + 1
}

fn compare_magnitudes(a: &Decimal, b: &Decimal) -> Ordering {
    match (a, b) {
        (Decimal::Infinity { .. }, Decimal::Infinity { .. }) => Ordering::Equal,
        (Decimal::Infinity { .. }, _) => Ordering::Greater,
        (_, Decimal::Infinity { .. }) => Ordering::Less,
        (
            Decimal::Finite {
                coefficient: ca,
                exponent: ea,
                ..
            },
            Decimal::Finite {
                coefficient: cb,
                exponent: eb,
                ..
            },
        ) => {
            let (da, db) = (digits(*ca) as i32, digits(*cb) as i32);
            (da + ea).cmp(&(db + eb)).then_with(|| {
                // Of the same magnitude, so the exponents differ by less than 34.
                let (left, right) = if ea >= eb {
                    (scaled(*ca, ea - eb), *cb)
                } else {
                    (*ca, scaled(*cb, eb - ea))
                };
                left.cmp(&right)
            })
        }
        _ => Ordering::Equal,
    }
}

fn scaled(coefficient: u128, by: i32) -> u128 {
    power(by.unsigned_abs()).map_or(u128::MAX, |scale| coefficient.saturating_mul(scale))
}

/// Digits that the shifted operand of an addition may take; with the other's 34 and a sticky digit the sum
/// stays within 256 bits.
const ADDITION_DIGITS: u32 = 72;

/// Adds two finite numbers, the one with the larger exponent first.
fn add_aligned(high: (bool, u128, i32), low: (bool, u128, i32)) -> Decimal {
    let (high_sign, high_coefficient, high_exponent) = high;
    let (low_sign, low_coefficient, low_exponent) = low;
    let gap = (high_exponent - low_exponent).unsigned_abs();
    let shift = if high_coefficient == 0 {
        gap
    } else {
        gap.min(ADDITION_DIGITS - digits(high_coefficient))
    };
    let mut left = Wide::from(high_coefficient);
    if high_coefficient != 0 {
        left = left.scale(shift);
    }
    let mut right = Wide::from(low_coefficient);
    let mut exponent = high_exponent - shift as i32;
    let dropped = gap - shift;
    if dropped > 0 {
        // The sum has far more than 34 digits, so one digit stands for all that are dropped.
        let (quotient, sticky) = right.unscale(dropped);
        left = left.scale(1);
        right = quotient.scale(1);
        if sticky {
            right = right.plus(Wide::from(1));
        }
        exponent -= 1;
    }
    if high_sign == low_sign {
        return finish(high_sign, left.plus(right), exponent);
    }
    match left.cmp(&right) {
        Ordering::Greater => finish(high_sign, left.minus(right), exponent),
        Ordering::Less => finish(low_sign, right.minus(left), exponent),
        Ordering::Equal => finish(false, Wide::from(0), exponent),
    }
}

fn divide_finite(negative: bool, dividend: (u128, i32), divisor: (u128, i32)) -> Decimal {
    let (ca, ea) = dividend;
    let (cb, eb) = divisor;
    let ideal = ea - eb;
    if ca == 0 {
        return finish(negative, Wide::from(0), ideal);
    }
    // Enough digits for a quotient of at least 35, plus one that stands for the remainder.
    let scale = DIGITS + 1 + digits(cb) - digits(ca).min(DIGITS + 1 + digits(cb));
    let (mut quotient, rest) = Wide::from(ca).scale(scale).divide(cb);
    let mut exponent = ideal - scale as i32;
    if rest != 0 {
        return finish(negative, quotient.scale(1).plus(Wide::from(1)), exponent - 1);
    }
    while exponent < ideal {
        let (shorter, inexact) = quotient.unscale(1);
        if inexact {
            break;
        }
        quotient = shorter;
        exponent += 1;
    }
    finish(negative, quotient, exponent)
}

/// Drops `count` digits.
fn shorten(negative: bool, coefficient: Wide, count: u32, rounding: Rounding) -> u128 {
    if count == 0 {
        return coefficient.low();
    }
    // One digit more is kept to tell below, at and above half.
    let (kept, sticky) = coefficient.unscale(count - 1);
    let (quotient, last) = kept.divide(10);
    let quotient = quotient.low();
    let up = match rounding {
        Rounding::Down => false,
        Rounding::Floor => negative && (last != 0 || sticky),
        Rounding::Ceiling => !negative && (last != 0 || sticky),
        Rounding::HalfEven => last > 5 || (last == 5 && (sticky || quotient % 2 == 1)),
    };
    quotient + u128::from(up)
}

/// Rounds to 34 digits and brings the exponent into range.
fn finish(negative: bool, coefficient: Wide, exponent: i32) -> Decimal {
    let surplus = coefficient.digits().saturating_sub(DIGITS) as i32;
    let drop = surplus.max(MIN_EXPONENT - exponent).max(0);
    let mut exponent = exponent + drop;
    let mut coefficient = shorten(negative, coefficient, drop.unsigned_abs(), Rounding::HalfEven);
    if coefficient > MAX_COEFFICIENT {
        coefficient /= 10;
        exponent += 1;
    }
    if exponent > MAX_EXPONENT {
        if coefficient != 0 {
            let pad = (exponent - MAX_EXPONENT).unsigned_abs();
            if pad + digits(coefficient) > DIGITS {
                return Decimal::Infinity { negative };
            }
            coefficient = scaled(coefficient, pad as i32);
        }
        exponent = MAX_EXPONENT;
    }
    Decimal::Finite {
        negative,
        coefficient,
        exponent,
    }
}

#[cfg(test)]
mod tests;
