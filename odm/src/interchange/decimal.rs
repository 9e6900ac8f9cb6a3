//! `rust_decimal::Decimal`, stored as decimal128.

use bson::Decimal128;
use rust_decimal::Decimal;

use super::leaf::{Leaf, leaves};
use crate::model::{Numeric, Ordered};
use crate::query::{Increment, Operand};

/// Exact: 96 bits are at most 29 digits, and decimal128 has 34.
fn stored(value: &Decimal) -> Result<Decimal128, String> {
    value
        .to_string()
        .parse()
        .map_err(|error: bson::error::Error| error.to_string())
}

/// Exact, or an error: decimal128 has values of more digits, larger and smaller ones, infinities and NaN.
fn loaded(stored: Decimal128) -> Result<Decimal, String> {
    let text = stored.to_string();
    let refused = || format!("`rust_decimal::Decimal` cannot hold {text}");
    let (digits, exponent) = match text.split_once('E') {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().map_err(|_| refused())?),
        None => (text.as_str(), 0),
    };
    let fraction = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let fraction = i32::try_from(fraction).map_err(|_| refused())?;
    let mut whole: i128 = digits.replace('.', "").parse().map_err(|_| refused())?;
    let mut scale = fraction - exponent;
    while scale < 0 && whole != 0 {
        whole = whole.checked_mul(10).ok_or_else(refused)?;
        scale += 1;
    }
    while scale > 28 && whole % 10 == 0 && whole != 0 {
        whole /= 10;
        scale -= 1;
    }
    let scale = match whole {
        0 => scale.clamp(0, 28),
        _ => scale,
    };
    let scale = u32::try_from(scale).map_err(|_| refused())?;
    Decimal::try_from_i128_with_scale(whole, scale).map_err(|_| refused())
}

impl Leaf for Decimal {
    type Stored = Decimal128;

    fn store(&self) -> Result<Decimal128, String> {
        stored(self)
    }

    fn load(stored: Decimal128) -> Result<Decimal, String> {
        loaded(stored)
    }

    fn text(&self) -> Option<String> {
        Some(self.to_string())
    }

    fn parse(text: &str) -> Option<Result<Decimal, String>> {
        Some(Decimal::from_str_exact(text).map_err(|error| error.to_string()))
    }
}

leaves!(Decimal);

impl Ordered for Decimal {}
impl Numeric for Decimal {}

/// Added and multiplied as decimal128, which is what is stored.
impl Increment for Decimal {
    type Step = Decimal128;

    fn from_step(step: &Decimal128) -> Option<Decimal> {
        loaded(*step).ok()
    }
}

#[diagnostic::do_not_recommend]
impl Operand<Decimal128> for Decimal {
    fn with_operand<O>(self, take: impl FnOnce(&Decimal128) -> O) -> O {
        // A decimal of 29 digits is one of 34; `Decimal128` itself can always be made.
        take(&stored(&self).unwrap_or_else(|_| Decimal128::from_bytes([0; 16])))
    }

    fn into_operand(self) -> Option<Decimal128> {
        stored(&self).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_go_there_and_back_exactly() {
        let numbers = [
            Decimal::ZERO,
            Decimal::new(-150, 2),
            Decimal::MAX,
            Decimal::MIN,
            Decimal::from_i128_with_scale(Decimal::MAX.mantissa(), 28),
            Decimal::new(1, 28),
        ];
        for number in numbers {
            let back = loaded(stored(&number).unwrap()).unwrap();
            assert_eq!((back, back.scale()), (number, number.scale()));
        }
        let read = |text: &str| loaded(text.parse().unwrap());
        assert_eq!(read("1.5E+3").unwrap(), Decimal::from(1500));
        assert_eq!(read("10E-29").unwrap(), Decimal::new(1, 28));
        assert_eq!(read("0E+100").unwrap(), Decimal::ZERO);
        for text in [
            "NaN",
            "Infinity",
            "-Infinity",
            "1E-29",
            "1E+29",
            "79228162514264337593543950336",
        ] {
            assert!(read(text).unwrap_err().contains("cannot hold"), "{text}");
        }
    }
}
