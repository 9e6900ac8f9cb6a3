//! 256-bit unsigned integers: what products and aligned sums of 34-digit coefficients need.

use std::cmp::Ordering;

/// An unsigned integer of 256 bits, least significant limb first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wide([u64; 4]);

/// The largest power of ten in a limb.
const CHUNK: u32 = 19;

impl From<u128> for Wide {
    fn from(value: u128) -> Wide {
        Wide([value as u64, (value >> 64) as u64, 0, 0])
    }
}

impl Ord for Wide {
    fn cmp(&self, other: &Wide) -> Ordering {
        self.0.iter().rev().cmp(other.0.iter().rev())
    }
}

impl PartialOrd for Wide {
    fn partial_cmp(&self, other: &Wide) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Wide {
    /// The product of two integers.
    pub(super) fn product(a: u128, b: u128) -> Wide {
        let (a, b) = (Wide::from(a).0, Wide::from(b).0);
        let mut out = [0u64; 4];
        for i in 0..2 {
            let mut carry = 0u128;
            for j in 0..2 {
                let sum = u128::from(a[i]) * u128::from(b[j]) + u128::from(out[i + j]) + carry;
                out[i + j] = sum as u64;
                carry = sum >> 64;
            }
            out[i + 2] = carry as u64;
        }
        Wide(out)
    }

    /// The lower 128 bits.
    pub(super) fn low(self) -> u128 {
        u128::from(self.0[0]) | u128::from(self.0[1]) << 64
    }

    fn is_narrow(self) -> bool {
        self.0[2] == 0 && self.0[3] == 0
    }

    pub(super) fn plus(self, other: Wide) -> Wide {
        let mut out = [0u64; 4];
        let mut carry = false;
        for (i, limb) in out.iter_mut().enumerate() {
            let (sum, first) = self.0[i].overflowing_add(other.0[i]);
            let (sum, second) = sum.overflowing_add(carry.into());
            *limb = sum;
            carry = first || second;
        }
        Wide(out)
    }

    /// `self - other`; `other` is not larger.
    pub(super) fn minus(self, other: Wide) -> Wide {
        let mut out = [0u64; 4];
        let mut borrow = false;
        for (i, limb) in out.iter_mut().enumerate() {
            let (difference, first) = self.0[i].overflowing_sub(other.0[i]);
            let (difference, second) = difference.overflowing_sub(borrow.into());
            *limb = difference;
            borrow = first || second;
        }
        Wide(out)
    }

    fn times(self, factor: u64) -> Wide {
        let mut out = [0u64; 4];
        let mut carry = 0u128;
        for (i, limb) in out.iter_mut().enumerate() {
            let sum = u128::from(self.0[i]) * u128::from(factor) + carry;
            *limb = sum as u64;
            carry = sum >> 64;
        }
        Wide(out)
    }

    fn divide_small(self, divisor: u64) -> (Wide, u64) {
        let mut out = [0u64; 4];
        let mut rest = 0u128;
        for i in (0..4).rev() {
            let part = rest << 64 | u128::from(self.0[i]);
            out[i] = (part / u128::from(divisor)) as u64;
            rest = part % u128::from(divisor);
        }
        (Wide(out), rest as u64)
    }

    /// `self * 10^count`; the caller knows that it fits.
    pub(super) fn scale(mut self, mut count: u32) -> Wide {
        while count > 0 {
            let step = count.min(CHUNK);
            self = self.times(10u64.pow(step));
            count -= step;
        }
        self
    }

    /// `self / 10^count`, and whether anything but zeros was dropped.
    pub(super) fn unscale(mut self, mut count: u32) -> (Wide, bool) {
        let mut sticky = false;
        while count > 0 {
            if self.is_narrow() && self.low() == 0 {
                break;
            }
            let step = count.min(CHUNK);
            let (quotient, rest) = self.divide_small(10u64.pow(step));
            self = quotient;
            sticky |= rest != 0;
            count -= step;
        }
        (self, sticky)
    }

    /// Quotient and remainder; the divisor is not zero and below 2^127.
    pub(super) fn divide(self, divisor: u128) -> (Wide, u128) {
        if self.is_narrow() {
            return (Wide::from(self.low() / divisor), self.low() % divisor);
        }
        if let Ok(small) = u64::try_from(divisor) {
            let (quotient, rest) = self.divide_small(small);
            return (quotient, rest.into());
        }
        let mut quotient = [0u64; 4];
        let mut rest = 0u128;
        for bit in (0..256).rev() {
            rest = rest << 1 | u128::from(self.0[bit / 64] >> (bit % 64) & 1);
            if rest >= divisor {
                rest -= divisor;
                quotient[bit / 64] |= 1 << (bit % 64);
            }
        }
        (Wide(quotient), rest)
    }

    pub(super) fn remainder(self, divisor: u128) -> u128 {
        self.divide(divisor).1
    }

    /// How many decimal digits the number has; 1 for zero.
    pub(super) fn digits(mut self) -> u32 {
        let mut count = 0;
        while !self.is_narrow() {
            self = self.divide_small(10u64.pow(CHUNK)).0;
            count += CHUNK;
        }
        count + super::digits(self.low())
    }
}

/// `10^exponent mod modulus`.
pub(super) fn power_modulo(mut exponent: u32, modulus: u128) -> u128 {
    let mut base = 10 % modulus;
    let mut result = 1 % modulus;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = Wide::product(result, base).remainder(modulus);
        }
        base = Wide::product(base, base).remainder(modulus);
        exponent >>= 1;
    }
    result
}
