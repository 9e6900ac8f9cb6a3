//! Decimals against doubles without rounding: both sides are brought to integers.

use std::cmp::Ordering;

use super::{Decimal, digits, text};

/// Enough 64-bit limbs for either side: `2^53 * 10^360` and `10^34 * 2^1076` stay below `2^1344`.
const LIMBS: usize = 21;

/// An unsigned integer on the stack, least significant limb first; `used` limbs are not known to be zero.
struct Big {
    limbs: [u64; LIMBS],
    used: usize,
}

impl Big {
    fn new(value: u128) -> Big {
        let mut limbs = [0; LIMBS];
        limbs[0] = value as u64;
        limbs[1] = (value >> 64) as u64;
        Big { limbs, used: 2 }
    }

    fn times(&mut self, factor: u64) {
        let mut carry = 0u128;
        for limb in &mut self.limbs[..self.used] {
            let sum = u128::from(*limb) * u128::from(factor) + carry;
            *limb = sum as u64;
            carry = sum >> 64;
        }
        if carry != 0
            && let Some(limb) = self.limbs.get_mut(self.used)
        {
            *limb = carry as u64;
            self.used += 1;
        }
    }

    fn scale(&mut self, mut count: u32) {
        while count > 0 {
            let step = count.min(19);
            self.times(10u64.pow(step));
            count -= step;
        }
    }

    fn shift(&mut self, mut bits: u32) {
        while bits > 0 {
            let step = bits.min(63);
            self.times(1 << step);
            bits -= step;
        }
    }
}

/// Compares a positive finite decimal with a positive finite double.
fn compare_positive(coefficient: u128, exponent: i32, double: f64) -> Ordering {
    // The decimal lies in [10^(magnitude-1), 10^magnitude); the double's decimal exponent is within one of
    // its logarithm.
    let magnitude = exponent + digits(coefficient) as i32;
    let logarithm = double.log10();
    if f64::from(magnitude) < logarithm - 0.5 {
        return Ordering::Less;
    }
    if f64::from(magnitude - 1) > logarithm + 0.5 {
        return Ordering::Greater;
    }
    let bits = double.to_bits();
    let biased = (bits >> 52) as i32 & 0x7FF;
    let fraction = bits & ((1 << 52) - 1);
    let (mantissa, binary) = if biased == 0 {
        (fraction, -1074)
    } else {
        (fraction | 1 << 52, biased - 1075)
    };
    let mut left = Big::new(coefficient);
    let mut right = Big::new(mantissa.into());
    let side = if exponent >= 0 { &mut left } else { &mut right };
    side.scale(exponent.unsigned_abs());
    let side = if binary >= 0 { &mut right } else { &mut left };
    side.shift(binary.unsigned_abs());
    left.limbs.iter().rev().cmp(right.limbs.iter().rev())
}

/// Compares a decimal with a double exactly, NaN below everything and equal to itself.
pub(crate) fn compare_with_double(decimal: &Decimal, double: f64) -> Ordering {
    let (negative, coefficient, exponent) = match *decimal {
        Decimal::Nan { .. } => {
            return if double.is_nan() {
                Ordering::Equal
            } else {
                Ordering::Less
            };
        }
        _ if double.is_nan() => return Ordering::Greater,
        Decimal::Infinity { negative } => {
            let infinity = if negative {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            };
            return infinity.partial_cmp(&double).unwrap_or(Ordering::Equal);
        }
        Decimal::Finite {
            negative,
            coefficient,
            exponent,
        } => (negative, coefficient, exponent),
    };
    let sign = if double > 0.0 {
        1
    } else if double < 0.0 {
        -1
    } else {
        0
    };
    let order = decimal.signum().cmp(&sign);
    if order != Ordering::Equal || sign == 0 {
        return order;
    }
    if double.is_infinite() {
        return if negative {
            Ordering::Greater
        } else {
            Ordering::Less
        };
    }
    let order = compare_positive(coefficient, exponent, double.abs());
    if negative { order.reverse() } else { order }
}

/// The largest double not above `coefficient * 10^exponent`, and whether it is that number exactly.
pub(crate) fn magnitude_toward_zero(coefficient: u128, exponent: i32) -> (f64, bool) {
    if coefficient == 0 {
        return (0.0, true);
    }
    let near = text::nearest(coefficient, exponent);
    if near.is_infinite() {
        return (f64::MAX, false);
    }
    if near == 0.0 {
        return (0.0, false);
    }
    match compare_positive(coefficient, exponent, near) {
        Ordering::Equal => (near, true),
        Ordering::Greater => (near, false),
        Ordering::Less => (f64::from_bits(near.to_bits() - 1), false),
    }
}
