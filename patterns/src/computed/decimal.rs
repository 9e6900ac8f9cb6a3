//! The little exact arithmetic of decimals that running figures need in the program; sums are the database's.

use std::cmp::Ordering;

use odm::bson::Decimal128;

/// The most digits that a decimal128 holds.
const DIGITS: u32 = 34;

/// Zero, as `0E+0`.
pub(super) fn zero() -> Decimal128 {
    Decimal128::from_bytes([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0x30])
}

/// The sum, if it can be held exactly.
pub(super) fn sum(a: Decimal128, b: Decimal128) -> Option<Decimal128> {
    let ((a, exponent_a), (b, exponent_b)) = (parts(a)?, parts(b)?);
    let exponent = exponent_a.min(exponent_b);
    let scaled = |coefficient: i128, own: i32| {
        if coefficient == 0 {
            return Some(0);
        }
        coefficient.checked_mul(10_i128.checked_pow(own.abs_diff(exponent))?)
    };
    whole(
        scaled(a, exponent_a)?.checked_add(scaled(b, exponent_b)?)?,
        exponent,
    )
}

/// The square, if it can be held exactly.
pub(super) fn square(a: Decimal128) -> Option<Decimal128> {
    let (coefficient, exponent) = parts(a)?;
    whole(coefficient.checked_mul(coefficient)?, exponent.checked_mul(2)?)
}

/// The same with the other sign.
pub(super) fn negative(a: Decimal128) -> Decimal128 {
    let mut bytes = a.bytes();
    bytes[15] ^= 0x80;
    Decimal128::from_bytes(bytes)
}

/// On which side of zero it is; `None` for what is no number.
pub(super) fn sign(a: Decimal128) -> Option<Ordering> {
    parts(a).map(|(coefficient, _)| coefficient.cmp(&0))
}

/// Coefficient and exponent; `None` for infinity and what is no number.
fn parts(a: Decimal128) -> Option<(i128, i32)> {
    let text = a.to_string();
    let (digits, exponent) = match text.split_once('E') {
        Some((digits, exponent)) => (digits, exponent.parse().ok()?),
        None => (text.as_str(), 0),
    };
    let (before, after) = digits.split_once('.').unwrap_or((digits, ""));
    let coefficient = format!("{before}{after}").parse().ok()?;
    Some((coefficient, exponent - i32::try_from(after.len()).ok()?))
}

fn whole(coefficient: i128, exponent: i32) -> Option<Decimal128> {
    match coefficient.unsigned_abs() < 10_u128.pow(DIGITS) {
        true => format!("{coefficient}E{exponent}").parse().ok(),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Decimal128 {
        text.parse().unwrap()
    }

    #[test]
    fn what_fits_is_exact() {
        for (a, b, expected) in [
            ("0.1", "0.2", "0.3"),
            ("1E+3", "-0.5", "999.5"),
            ("-7", "7", "0"),
            (
                "9999999999999999999999999999999999",
                "-1",
                "9999999999999999999999999999999998",
            ),
        ] {
            assert_eq!(sum(of(a), of(b)).unwrap().to_string(), expected, "{a} + {b}");
        }
        assert_eq!(square(of("-1.5")).unwrap().to_string(), "2.25");
        assert_eq!(negative(of("1.50")).to_string(), "-1.50");
        assert_eq!(zero().to_string(), "0");
        assert_eq!(sign(of("-0.1")), Some(Ordering::Less));
    }

    #[test]
    fn what_does_not_fit_is_none() {
        assert!(sum(of("1E+30"), of("1E-30")).is_none());
        assert!(sum(of("9999999999999999999999999999999999"), of("1")).is_none());
        assert!(square(of("999999999999999999")).is_none());
        assert!(sum(of("NaN"), of("1")).is_none() && square(of("Infinity")).is_none());
    }
}
