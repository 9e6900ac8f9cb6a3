//! Sums and differences of decimals, without rounding.

use bson::Decimal128;

/// A finite decimal: the coefficient times ten to the exponent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decimal {
    coefficient: i128,
    exponent: i32,
}

/// What the coefficient of a stored decimal is less than.
const LIMIT: u128 = 10_u128.pow(34);

/// Whether a decimal is neither infinite nor none: the bits behind the sign say so.
pub(super) fn is_finite(stored: Decimal128) -> bool {
    stored.bytes()[15] & 0x78 != 0x78
}

/// The least and the greatest finite decimal: 34 nines with the greatest exponent.
pub(super) fn ends() -> (Decimal128, Decimal128) {
    let with_sign = |sign: u8| {
        let coefficient = LIMIT - 1;
        let exponent = 6111 + 6176;
        let bits = (exponent << 113) | coefficient;
        let mut bytes = bits.to_le_bytes();
        bytes[15] |= sign;
        Decimal128::from_bytes(bytes)
    };
    (with_sign(0x80), with_sign(0))
}

impl Decimal {
    pub(super) fn read(stored: Decimal128) -> Option<Decimal> {
        let text = stored.to_string();
        let (digits, exponent) = text.split_once('E').unwrap_or((&text, "0"));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        Some(Decimal {
            coefficient: format!("{whole}{fraction}").parse().ok()?,
            exponent: exponent.parse::<i32>().ok()? - i32::try_from(fraction.len()).ok()?,
        })
    }

    pub(super) fn is_zero(self) -> bool {
        self.coefficient == 0
    }

    /// The difference, if it is a decimal without rounding.
    pub(super) fn minus(self, other: Decimal) -> Option<Decimal> {
        self.plus(Decimal {
            coefficient: -other.coefficient,
            ..other
        })
    }

    /// The sum, if it is a decimal without rounding.
    pub(super) fn plus(self, other: Decimal) -> Option<Decimal> {
        if other.coefficient == 0 {
            return Some(self);
        }
        let exponent = self.exponent.min(other.exponent);
        let mut sum = Decimal {
            coefficient: self.at(exponent)?.checked_add(other.at(exponent)?)?,
            exponent,
        };
        while sum.coefficient.unsigned_abs() >= LIMIT {
            if sum.coefficient % 10 != 0 {
                return None;
            }
            sum.coefficient /= 10;
            sum.exponent += 1;
        }
        Some(sum)
    }

    /// The coefficient for a smaller exponent.
    fn at(self, exponent: i32) -> Option<i128> {
        if self.coefficient == 0 {
            return Some(0);
        }
        let factor = 10_i128.checked_pow(u32::try_from(self.exponent - exponent).ok()?)?;
        self.coefficient.checked_mul(factor)
    }

    pub(super) fn write(self) -> Option<Decimal128> {
        let text = format!("{}E{}", self.coefficient, self.exponent);
        text.parse().ok()
    }
}
