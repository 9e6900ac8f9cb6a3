//! Exact decimal numbers.

mod text;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::ops::Neg;

use num_bigint::{BigInt, Sign};
use odm::bson::Decimal128;
use odm::{Field, FieldType};

use super::error::MoneyError;
use super::rounding::Rounding;

/// A decimal number of any size, exactly. It remembers its decimals: 1.50 prints as `1.50`, and equals 1.5.
///
/// ```
/// use odm_patterns::money::{Decimal, Rounding};
///
/// let price: Decimal = "9.995".parse()?;
/// assert_eq!(price.times(&"3".parse()?)?.to_string(), "29.985");
/// assert_eq!(price.rounded(2, Rounding::HalfEven).to_string(), "10.00");
/// # Ok::<(), odm_patterns::money::MoneyError>(())
/// ```
///
/// Stored as a string, which the database neither orders nor adds up: that is what [`Money`](super::Money) has its forms
/// for.
#[derive(Clone)]
pub struct Decimal {
    /// The value is this times ten to the power of minus the scale.
    coefficient: BigInt,
    scale: i64,
}

/// Decimals, before or behind the point, beyond which nothing is taken: what comes from outside must not fill the memory.
const MOST_DIGITS: i64 = 20_000;

/// The digits, and the least and greatest exponents, of a decimal128.
const DIGITS: usize = 34;
const LEAST_EXPONENT: i64 = -6176;
const GREATEST_EXPONENT: i64 = 6111;

impl Decimal {
    /// So many units of the last decimal: `Decimal::new(999, 2)` is 9.99.
    pub fn new(units: i64, decimals: u32) -> Decimal {
        Decimal::of(units.into(), decimals.into())
    }

    pub(super) fn of(coefficient: BigInt, scale: i64) -> Decimal {
        Decimal { coefficient, scale }
    }

    /// Nothing.
    pub fn zero() -> Decimal {
        Decimal::new(0, 0)
    }

    /// How many decimals it has behind the point; below 0 for what was written with a positive exponent.
    pub fn decimals(&self) -> i64 {
        self.scale
    }

    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        self.coefficient.sign() == Sign::NoSign
    }

    /// On which side of 0 it is.
    pub fn side(&self) -> Ordering {
        match self.coefficient.sign() {
            Sign::Minus => Ordering::Less,
            Sign::NoSign => Ordering::Equal,
            Sign::Plus => Ordering::Greater,
        }
    }

    /// The same without its sign.
    pub fn abs(&self) -> Decimal {
        Decimal::of(self.coefficient.magnitude().clone().into(), self.scale)
    }

    /// The sum, with the decimals of the one that has more.
    ///
    /// # Errors
    /// `Overflow` when it has more than 20,000 digits.
    pub fn plus(&self, other: &Decimal) -> Result<Decimal, MoneyError> {
        let scale = self.scale.max(other.scale);
        let sum = self.units_at(scale)? + other.units_at(scale)?;
        Decimal::of(sum, scale).bounded()
    }

    /// The difference, with the decimals of the one that has more.
    ///
    /// # Errors
    /// `Overflow` when it has more than 20,000 digits.
    pub fn minus(&self, other: &Decimal) -> Result<Decimal, MoneyError> {
        self.plus(&-other)
    }

    /// The product, with the decimals of both.
    ///
    /// # Errors
    /// `Overflow` when it has more than 20,000 digits.
    pub fn times(&self, other: &Decimal) -> Result<Decimal, MoneyError> {
        let scale = self.scale.saturating_add(other.scale);
        Decimal::of(&self.coefficient * &other.coefficient, scale).bounded()
    }

    /// The quotient, rounded to so many decimals.
    ///
    /// # Errors
    /// `NotPositive` by 0, `Overflow` when it has more than 20,000 digits.
    pub fn over(&self, other: &Decimal, decimals: u32, rounding: Rounding) -> Result<Decimal, MoneyError> {
        if other.is_zero() {
            return Err(MoneyError::NotPositive);
        }
        let places = i64::from(decimals)
            .saturating_add(other.scale)
            .saturating_sub(self.scale);
        let (mut dividend, mut divisor) = (self.coefficient.clone(), other.coefficient.clone());
        match places {
            0.. => dividend *= power(places)?,
            _ => divisor *= power(-places)?,
        }
        if divisor.sign() == Sign::Minus {
            (dividend, divisor) = (-dividend, -divisor);
        }
        Decimal::of(rounding.divide(&dividend, &divisor), decimals.into()).bounded()
    }

    /// The same number with exactly so many decimals; zeros are added where it has fewer.
    pub fn rounded(&self, decimals: i64, rounding: Rounding) -> Decimal {
        let decimals = decimals.clamp(-MOST_DIGITS, MOST_DIGITS);
        // Within the bounds that this number has itself, the power exists.
        let places = power(self.scale.abs_diff(decimals).cast_signed()).unwrap_or_default();
        Decimal::of(
            match self.scale.cmp(&decimals) {
                Ordering::Less => &self.coefficient * places,
                Ordering::Equal => self.coefficient.clone(),
                Ordering::Greater => rounding.divide(&self.coefficient, &places),
            },
            decimals,
        )
    }

    /// The same number with exactly so many decimals, if it has no more digits than that.
    pub fn exactly(&self, decimals: i64) -> Option<Decimal> {
        let rounded = self.rounded(decimals, Rounding::Down);
        (rounded == *self).then_some(rounded)
    }

    /// The nearest double; halves to the even one. Infinite beyond the greatest.
    pub fn to_f64(&self) -> f64 {
        let text = format!("{}E{}", self.coefficient, -self.scale);
        // Rust's own parsing is correctly rounded, whatever the length.
        text.parse().unwrap_or(f64::NAN)
    }

    /// As decimal128, of 34 digits.
    ///
    /// # Errors
    /// `Overflow` beyond the greatest.
    pub fn to_decimal128(&self, rounding: Rounding) -> Result<Decimal128, MoneyError> {
        let digits = self.digits();
        let excess = i64::try_from(digits.saturating_sub(DIGITS)).map_err(|_| MoneyError::Overflow)?;
        let mut value = self.clone();
        let scale = (self.scale - excess).min(-LEAST_EXPONENT);
        if scale < self.scale {
            value = self.rounded(scale, rounding);
            if value.digits() > DIGITS {
                // 99..9 became 100..0.
                value = value.rounded(scale - 1, rounding);
            }
        }
        if -value.scale > GREATEST_EXPONENT {
            let scale = -GREATEST_EXPONENT;
            value = match value.is_zero() {
                true => Decimal::of(BigInt::ZERO, scale),
                false if value.digits() > DIGITS => return Err(MoneyError::Overflow),
                false => value.rounded(scale, rounding),
            };
            if value.digits() > DIGITS {
                return Err(MoneyError::Overflow);
            }
        }
        let text = format!("{}E{}", value.coefficient, -value.scale);
        text.parse().map_err(|_| MoneyError::Overflow)
    }

    /// As decimal128, if its 34 digits hold it exactly.
    pub fn as_decimal128(&self) -> Option<Decimal128> {
        let stored = self.to_decimal128(Rounding::Down).ok()?;
        (Decimal::try_from(stored).ok()? == *self).then_some(stored)
    }

    pub(super) fn coefficient(&self) -> &BigInt {
        &self.coefficient
    }

    /// How many of its last decimals this is; the scale is not below the own one.
    fn units_at(&self, scale: i64) -> Result<BigInt, MoneyError> {
        match scale.saturating_sub(self.scale) {
            0 => Ok(self.coefficient.clone()),
            places => Ok(&self.coefficient * power(places)?),
        }
    }

    /// How many digits the coefficient has.
    fn digits(&self) -> usize {
        match self.coefficient.bits() {
            // 2^63 is less than 10^19.
            bits if bits < 64 => self
                .coefficient
                .magnitude()
                .iter_u64_digits()
                .next()
                .map_or(1, |n| n.max(1).ilog10() as usize + 1),
            _ => self.coefficient.magnitude().to_string().len(),
        }
    }

    fn bounded(self) -> Result<Decimal, MoneyError> {
        // Ten bits hold three digits.
        let digits = i64::try_from(self.coefficient.bits() / 10 * 3).unwrap_or(i64::MAX);
        match digits > MOST_DIGITS || self.scale.abs() > MOST_DIGITS {
            true => Err(MoneyError::Overflow),
            false => Ok(self),
        }
    }

    /// Digits before and behind the point, without zeros at the ends.
    pub(super) fn parts(&self) -> (String, String) {
        let text = self.abs().to_string();
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        (
            whole.trim_start_matches('0').to_owned(),
            fraction.trim_end_matches('0').to_owned(),
        )
    }

    /// The same number without zeros at its end.
    fn reduced(&self) -> (BigInt, i64) {
        let text = self.coefficient.to_string();
        let kept = text.trim_end_matches('0');
        if kept.is_empty() || self.is_zero() {
            return (BigInt::ZERO, 0);
        }
        let zeros = (text.len() - kept.len()) as i64;
        (kept.parse().unwrap_or_default(), self.scale - zeros)
    }
}

/// Ten to this power, which is not negative.
fn power(exponent: i64) -> Result<BigInt, MoneyError> {
    match u32::try_from(exponent) {
        Ok(small @ 0..=18) => Ok(BigInt::from(10_u64.pow(small))),
        Ok(exponent) if i64::from(exponent) <= 4 * MOST_DIGITS => Ok(BigInt::from(10).pow(exponent)),
        _ => Err(MoneyError::Overflow),
    }
}

impl Neg for &Decimal {
    type Output = Decimal;

    fn neg(self) -> Decimal {
        Decimal::of(-&self.coefficient, self.scale)
    }
}

impl Neg for Decimal {
    type Output = Decimal;

    fn neg(self) -> Decimal {
        -&self
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By value: 1.5 equals 1.50.
impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        if self.scale == other.scale {
            return self.coefficient.cmp(&other.coefficient);
        }
        if self.side() != other.side() || self.is_zero() {
            return self.side().cmp(&other.side());
        }
        let scale = self.scale.max(other.scale);
        match (self.units_at(scale), other.units_at(scale)) {
            (Ok(own), Ok(other)) => own.cmp(&other),
            // Not within the bounds of what can be made.
            _ => Ordering::Equal,
        }
    }
}

impl Hash for Decimal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.reduced().hash(state);
    }
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Decimal {
        Decimal::new(value, 0)
    }
}

impl TryFrom<Decimal128> for Decimal {
    type Error = MoneyError;

    /// Exact; infinities and NaN are `NotFinite`.
    fn try_from(value: Decimal128) -> Result<Decimal, MoneyError> {
        value.to_string().parse().map_err(|_| MoneyError::NotFinite)
    }
}

impl FieldType for Decimal {
    type Handle<R> = Field<R, Decimal>;
    type Optional<R> = Field<R, Option<Decimal>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    #[test]
    fn equal_numbers_hash_alike() {
        let hash = |value: &Decimal| {
            let mut state = std::hash::DefaultHasher::new();
            value.hash(&mut state);
            state.finish()
        };
        for (a, b) in [("1.5", "1.500"), ("0", "0E+9"), ("2E+3", "2000"), ("-10", "-1E1")] {
            assert_eq!(of(a), of(b));
            assert_eq!(hash(&of(a)), hash(&of(b)), "{a} {b}");
        }
        assert!(of("-2") < of("-1.99") && of("1E-9") > of("0") && of("9.99") < of("10"));
    }

    #[test]
    fn quotients_round_once() {
        let over = |a: &str, b: &str, decimals| {
            of(a)
                .over(&of(b), decimals, Rounding::HalfEven)
                .unwrap()
                .to_string()
        };
        assert_eq!(over("1", "3", 5), "0.33333");
        assert_eq!(over("-2", "3", 2), "-0.67");
        assert_eq!(over("2", "-3", 2), "-0.67");
        assert_eq!(over("0.0000001", "1000", 3), "0.000");
        assert_eq!(over("1E+10", "0.5", 0), "20000000000");
        assert_eq!(
            of("1").over(&of("0"), 2, Rounding::Up),
            Err(MoneyError::NotPositive)
        );
    }

    #[test]
    fn decimal128_holds_34_digits() {
        let many = "1.2345678901234567890123456789012345";
        assert!(of(many).as_decimal128().is_none());
        assert_eq!(
            of(many).to_decimal128(Rounding::Down).unwrap().to_string(),
            "1.234567890123456789012345678901234"
        );
        assert_eq!(
            of("1E+6144").to_decimal128(Rounding::Down).unwrap().to_string(),
            "1.000000000000000000000000000000000E+6144"
        );
        assert_eq!(
            of("1E+6145").to_decimal128(Rounding::Down),
            Err(MoneyError::Overflow)
        );
        assert!(Decimal::try_from("NaN".parse::<Decimal128>().unwrap()).is_err());
        assert_eq!(of("9.99").to_f64(), 9.99);
        assert!(of("1E+400").to_f64().is_infinite());
    }

    #[test]
    fn nothing_grows_without_bound() {
        let mut value = of("1E-5000");
        for _ in 0..2 {
            value = value.times(&value).unwrap();
        }
        assert_eq!(value.times(&value), Err(MoneyError::Overflow));
        assert!(of("1E+20000").plus(&of("1E-20000")).is_err());
        assert!(of("1E+20000") > of("1E-20000"));
    }
}
