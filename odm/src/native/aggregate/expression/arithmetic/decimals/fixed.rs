//! Fixed-point numbers of 64 bits before and 192 after the point: enough for 34 digits and then some.

use std::cmp::Ordering;

/// A number from zero to 2^64; limbs from the least significant. Results beyond wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fixed([u64; 4]);

impl Fixed {
    pub(super) const ZERO: Fixed = Fixed([0; 4]);
    /// The natural logarithm of ten.
    pub(super) const LN_10: Fixed = Fixed([
        0x8a3f_b3e7_6977_e43a,
        0xa95b_58ae_0b4c_28a3,
        0x4d76_3776_aaa2_b05b,
        0x0000_0000_0000_0002,
    ]);
    /// One over the natural logarithm of ten.
    pub(super) const PER_LN_10: Fixed = Fixed([
        0x1f71_a301_22e4_d101,
        0x9aad_d557_d699_ee19,
        0x6f2d_ec54_9b94_38ca,
        0x0000_0000_0000_0000,
    ]);

    /// Half a turn.
    pub(super) const PI: Fixed = Fixed([
        0xa409_3822_299f_31d0,
        0x1319_8a2e_0370_7344,
        0x243f_6a88_85a3_08d3,
        0x0000_0000_0000_0003,
    ]);

    /// A whole number.
    pub(super) fn whole(x: u64) -> Fixed {
        Fixed([0, 0, 0, x])
    }

    /// `coefficient * 10^exponent`, truncated; `None` from 2^64 on.
    pub(super) fn decimal(coefficient: u128, exponent: i32) -> Option<Fixed> {
        let mut limbs = [0, 0, 0, coefficient as u64, (coefficient >> 64) as u64];
        let mut left = exponent.unsigned_abs();
        while left > 0 && limbs != [0; 5] {
            let step = left.min(19);
            let factor = 10u64.pow(step);
            left -= step;
            if exponent < 0 {
                divide(&mut limbs, factor);
            } else if multiply(&mut limbs, factor) != 0 {
                return None;
            }
        }
        let [a, b, c, d, 0] = limbs else {
            return None;
        };
        Some(Fixed([a, b, c, d]))
    }

    /// A double from 0 to 2048, to 52 places.
    pub(super) fn double(x: f64) -> Fixed {
        let bits = u128::from((x * (1u64 << 52) as f64) as u64) << 12;
        Fixed([0, 0, bits as u64, (bits >> 64) as u64])
    }

    pub(super) fn to_f64(self) -> f64 {
        const UNIT: f64 = 18_446_744_073_709_551_616.0;
        let [_, b, c, d] = self.0;
        d as f64 + (c as f64 + b as f64 / UNIT) / UNIT
    }

    pub(super) fn plus(self, other: Fixed) -> Fixed {
        let mut result = [0; 4];
        let mut carry = false;
        for (limb, (a, b)) in result.iter_mut().zip(self.0.into_iter().zip(other.0)) {
            let (sum, first) = a.overflowing_add(b);
            let (sum, second) = sum.overflowing_add(carry.into());
            *limb = sum;
            carry = first || second;
        }
        Fixed(result)
    }

    /// The difference; `other` must not be greater.
    pub(super) fn minus(self, other: Fixed) -> Fixed {
        let mut result = [0; 4];
        let mut borrow = false;
        for (limb, (a, b)) in result.iter_mut().zip(self.0.into_iter().zip(other.0)) {
            let (difference, first) = a.overflowing_sub(b);
            let (difference, second) = difference.overflowing_sub(borrow.into());
            *limb = difference;
            borrow = first || second;
        }
        Fixed(result)
    }

    pub(super) fn times(mut self, factor: u64) -> Fixed {
        multiply(&mut self.0, factor);
        self
    }

    pub(super) fn over(mut self, divisor: u64) -> Fixed {
        divide(&mut self.0, divisor);
        self
    }

    pub(super) fn multiply(self, other: Fixed) -> Fixed {
        let mut product = [0u64; 8];
        for (i, a) in self.0.into_iter().enumerate() {
            let mut carry = 0u128;
            for (j, b) in other.0.into_iter().enumerate() {
                let sum = u128::from(a) * u128::from(b) + u128::from(product[i + j]) + carry;
                product[i + j] = sum as u64;
                carry = sum >> 64;
            }
            product[i + 4] = carry as u64;
        }
        Fixed([product[3], product[4], product[5], product[6]])
    }

    /// The quotient, of a number below 2^63 that the quotient does not take beyond 2^64.
    pub(super) fn divided_by(self, other: Fixed) -> Fixed {
        let (mut quotient, mut rest) = (Fixed::ZERO, Fixed::ZERO);
        // The bits of the number, and then those behind it, which are zeros.
        for place in (0..256).rev().map(Some).chain([None; 192]) {
            rest = rest.plus(rest);
            if place.is_some_and(|place| self.has_bit(place)) {
                rest.0[0] |= 1;
            }
            quotient = quotient.plus(quotient);
            if rest >= other {
                rest = rest.minus(other);
                quotient.0[0] |= 1;
            }
        }
        quotient
    }

    fn has_bit(self, place: usize) -> bool {
        self.0[place / 64] >> (place % 64) & 1 == 1
    }

    /// The square root.
    pub(super) fn sqrt(self) -> Fixed {
        if self == Fixed::ZERO {
            return self;
        }
        // Brought near one, where the estimate is good.
        let (mut scaled, mut halvings, mut doublings) = (self, 0, 0);
        while scaled < Fixed::whole(1) {
            scaled = scaled.times(4);
            halvings += 1;
        }
        while scaled >= Fixed::whole(4) {
            scaled = scaled.over(4);
            doublings += 1;
        }
        let mut root = Fixed::double(scaled.to_f64().sqrt());
        for _ in 0..3 {
            root = root.plus(scaled.divided_by(root)).over(2);
        }
        let root = (0..doublings).fold(root, |root, _| root.times(2));
        (0..halvings).fold(root, |root, _| root.over(2))
    }

    /// Rounded to as many binary digits as the server's library computes with.
    pub(super) fn in_binary(self) -> Fixed {
        const DIGITS: usize = 113;
        let Some(first) = (0..256).rev().find(|place| self.has_bit(*place)) else {
            return self;
        };
        let Some(half) = first.checked_sub(DIGITS) else {
            return self;
        };
        let mut one = Fixed::ZERO;
        one.0[half / 64] = 1 << (half % 64);
        let mut rounded = self.plus(one);
        for (index, limb) in rounded.0.iter_mut().enumerate() {
            let below = (half + 1).saturating_sub(index * 64).min(64);
            *limb = limb.checked_shr(below as u32).map_or(0, |kept| kept << below);
        }
        rounded
    }

    /// e to this power, by its series: for small numbers.
    pub(super) fn exp(self) -> Fixed {
        debug_assert!(self <= Fixed::LN_10, "the series comes to an end");
        let mut sum = Fixed::whole(1);
        let mut term = Fixed::whole(1);
        let mut index = 1;
        while term != Fixed::ZERO {
            term = term.multiply(self).over(index);
            sum = sum.plus(term);
            index += 1;
        }
        sum
    }

    /// The first 34 significant digits, rounded, and the exponent of the last.
    pub(super) fn digits(self) -> (u128, i32) {
        let mut coefficient = u128::from(self.0[3]);
        let mut fraction = Fixed([self.0[0], self.0[1], self.0[2], 0]);
        let mut exponent = 0;
        while coefficient < 10u128.pow(33) && exponent > -70 {
            fraction = fraction.times(10);
            coefficient = coefficient * 10 + u128::from(fraction.0[3]);
            fraction.0[3] = 0;
            exponent -= 1;
        }
        if fraction.times(10).0[3] >= 5 {
            coefficient += 1;
        }
        (coefficient, exponent)
    }
}

/// Multiplies in place; gives what does not fit.
fn multiply(limbs: &mut [u64], factor: u64) -> u64 {
    let mut carry = 0u128;
    for limb in limbs {
        let product = u128::from(*limb) * u128::from(factor) + carry;
        *limb = product as u64;
        carry = product >> 64;
    }
    carry as u64
}

fn divide(limbs: &mut [u64], divisor: u64) {
    let mut remainder = 0u128;
    for limb in limbs.iter_mut().rev() {
        let value = remainder << 64 | u128::from(*limb);
        *limb = (value / u128::from(divisor)) as u64;
        remainder = value % u128::from(divisor);
    }
}

impl PartialOrd for Fixed {
    fn partial_cmp(&self, other: &Fixed) -> Option<Ordering> {
        Some(self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}
