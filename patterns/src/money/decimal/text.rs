//! Decimals as texts.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use num_bigint::BigInt;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Decimal, MOST_DIGITS};
use crate::money::error::MoneyError;

impl FromStr for Decimal {
    type Err = MoneyError;

    /// Digits with one point, a sign and an exponent: `-1.50`, `.5`, `2E+3`. Nothing else, no spaces.
    fn from_str(text: &str) -> Result<Decimal, MoneyError> {
        let malformed = || MoneyError::malformed(text);
        let (number, exponent) = match text.split_once(['E', 'e']) {
            Some((number, exponent)) => {
                let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
                if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(malformed());
                }
                (number, exponent.parse::<i64>().map_err(|_| MoneyError::Overflow)?)
            }
            None => (text, 0),
        };
        let (is_negative, number) = match number.strip_prefix('-') {
            Some(number) => (true, number),
            None => (false, number.strip_prefix('+').unwrap_or(number)),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let all = whole.bytes().chain(fraction.bytes());
        if number.len() <= usize::from(number.contains('.')) || !all.clone().all(|byte| byte.is_ascii_digit())
        {
            return Err(malformed());
        }
        if number.len() as i64 > MOST_DIGITS {
            return Err(MoneyError::Overflow);
        }
        let digits: Vec<u8> = all.collect();
        let coefficient = BigInt::parse_bytes(&digits, 10).ok_or_else(malformed)?;
        let scale = (fraction.len() as i64).saturating_sub(exponent);
        Decimal::of(if is_negative { -coefficient } else { coefficient }, scale).bounded()
    }
}

/// Plain digits, never an exponent.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.coefficient.magnitude().to_string();
        let text = match usize::try_from(self.scale) {
            Ok(0) => digits,
            Ok(scale) => {
                let digits = format!("{digits:0>width$}", width = scale + 1);
                let (whole, fraction) = digits.split_at(digits.len() - scale);
                format!("{whole}.{fraction}")
            }
            Err(_) if self.is_zero() => digits,
            Err(_) => digits + &"0".repeat(self.scale.unsigned_abs() as usize),
        };
        f.pad_integral(self.side() != Ordering::Less, "", &text)
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decimal({self})")
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Decimal, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    #[test]
    fn texts_go_there_and_back() {
        for (text, shown) in [
            ("0", "0"),
            ("-0", "0"),
            ("+1.50", "1.50"),
            (".5", "0.5"),
            ("5.", "5"),
            ("-0.005", "-0.005"),
            ("2E+3", "2000"),
            ("2e-3", "0.002"),
            ("0E+3", "0"),
            (
                "123456789012345678901234567890.123456789",
                "123456789012345678901234567890.123456789",
            ),
        ] {
            assert_eq!(of(text).to_string(), shown, "{text}");
        }
        for text in [
            "", ".", "-", "1,5", "1 ", " 1", "1.2.3", "E5", "1E", "1E+", "NaN", "Infinity", "0x1", "--1",
            "+-1", "1E1.0", "١",
        ] {
            assert!(
                matches!(text.parse::<Decimal>(), Err(MoneyError::Malformed { .. })),
                "{text}"
            );
        }
        for text in [
            "1E99999",
            "1E-99999",
            "1E99999999999999999999",
            &"9".repeat(30_000),
        ] {
            assert_eq!(text.parse::<Decimal>(), Err(MoneyError::Overflow));
        }
    }
}
