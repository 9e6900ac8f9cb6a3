//! An amount of a currency.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Neg;
use std::str::FromStr;

use odm::FieldType;
use odm::bson::Document;
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::currency::Currency;
use super::decimal::Decimal;
use super::error::MoneyError;
use super::field::MoneyField;
use super::form::{Form, Minor, Scale};
use super::rounding::Rounding;

/// An amount of a currency, exactly, stored in the [`Form`] `F`: in minor units unless said otherwise.
///
/// What the form cannot hold is an error when the value is made, so that storing it cannot fail. Amounts of different
/// currencies do not add up, which is an error as well, and are neither equal nor ordered.
///
/// ```
/// use odm_patterns::money::{Currency, Money, MoneyError};
///
/// let price: Money = "9.99 USD".parse()?;
/// let fee: Money = Money::of_units(25, Currency::USD)?;
/// assert_eq!(price.plus(&fee)?.to_string(), "10.24 USD");
/// assert_eq!(price.plus(&"1 EUR".parse()?), Err(MoneyError::CurrencyMismatch { expected: Currency::USD, found: Currency::EUR }));
/// assert_eq!("9.995 USD".parse::<Money>(), Err(MoneyError::ExcessPrecision { digits: 2 }));
/// # Ok::<(), MoneyError>(())
/// ```
pub struct Money<F = Minor> {
    amount: Decimal,
    currency: Currency,
    form: PhantomData<fn() -> F>,
}

impl<F: Form> Money<F> {
    /// This amount of the currency.
    ///
    /// # Errors
    /// `ExcessPrecision`, `Overflow` and `NoMinorUnit`, by what the form can hold.
    pub fn new(amount: Decimal, currency: Currency) -> Result<Money<F>, MoneyError> {
        Ok(Money::fitting(F::fit(amount, currency)?, currency))
    }

    /// The amount rounded to what the form counts; where it has no unit, to the currency's minor unit.
    ///
    /// # Errors
    /// `Overflow`; `NoMinorUnit` where there is nothing to round to.
    pub fn rounded(amount: &Decimal, currency: Currency, rounding: Rounding) -> Result<Money<F>, MoneyError> {
        let digits = match F::room(currency)? {
            Some(digits) => digits,
            None => currency.digits().ok_or(MoneyError::NoMinorUnit { currency })?,
        };
        Money::new(amount.rounded(digits.into(), rounding), currency)
    }

    /// Nothing, in this currency.
    ///
    /// # Errors
    /// `NoMinorUnit` of a form that counts such units.
    pub fn zero(currency: Currency) -> Result<Money<F>, MoneyError> {
        Money::new(Decimal::zero(), currency)
    }

    pub(super) fn fitting(amount: Decimal, currency: Currency) -> Money<F> {
        Money {
            amount,
            currency,
            form: PhantomData,
        }
    }

    /// The same amount in another form.
    ///
    /// # Errors
    /// `ExcessPrecision`, `Overflow` and `NoMinorUnit`, by what that can hold.
    pub fn to_form<G: Form>(&self) -> Result<Money<G>, MoneyError> {
        Money::new(self.amount.clone(), self.currency)
    }
}

impl<F> Money<F> {
    /// How much.
    pub fn amount(&self) -> &Decimal {
        &self.amount
    }

    /// Of which currency.
    pub fn currency(&self) -> Currency {
        self.currency
    }

    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        self.amount.is_zero()
    }

    /// On which side of 0 it is.
    pub fn side(&self) -> Ordering {
        self.amount.side()
    }

    /// Which is more.
    ///
    /// # Errors
    /// `CurrencyMismatch`.
    pub fn compare(&self, other: &Money<F>) -> Result<Ordering, MoneyError> {
        self.same_currency(other.currency)?;
        Ok(self.amount.cmp(&other.amount))
    }

    pub(super) fn same_currency(&self, found: Currency) -> Result<(), MoneyError> {
        match self.currency == found {
            true => Ok(()),
            false => Err(MoneyError::CurrencyMismatch {
                expected: self.currency,
                found,
            }),
        }
    }
}

impl<S: Scale> Money<Minor<S>> {
    /// So many units: cents, for dollars by ISO 4217.
    ///
    /// # Errors
    /// `NoMinorUnit`.
    pub fn of_units(units: i64, currency: Currency) -> Result<Money<Minor<S>>, MoneyError> {
        let digits = S::digits(currency).ok_or(MoneyError::NoMinorUnit { currency })?;
        Money::new(Decimal::new(units, digits), currency)
    }

    /// How many units it is.
    pub fn units(&self) -> i64 {
        // It was checked when it was made.
        i64::try_from(self.amount.coefficient()).unwrap_or_default()
    }
}

impl<F: Form> Money<F> {
    /// The sum.
    ///
    /// # Errors
    /// `CurrencyMismatch`, `Overflow`; `ExcessPrecision` of decimal128, when the sum has more than 34 digits.
    pub fn plus(&self, other: &Money<F>) -> Result<Money<F>, MoneyError> {
        self.same_currency(other.currency)?;
        Money::new(self.amount.plus(&other.amount)?, self.currency)
    }

    /// The difference.
    ///
    /// # Errors
    /// As [`plus`](Money::plus).
    pub fn minus(&self, other: &Money<F>) -> Result<Money<F>, MoneyError> {
        self.same_currency(other.currency)?;
        Money::new(self.amount.minus(&other.amount)?, self.currency)
    }

    /// So many times as much, rounded once to the amount's own decimals.
    ///
    /// # Errors
    /// `Overflow`.
    pub fn times(&self, factor: &Decimal, rounding: Rounding) -> Result<Money<F>, MoneyError> {
        let product = self.amount.times(factor)?;
        Money::new(product.rounded(self.amount.decimals(), rounding), self.currency)
    }

    /// Rounded to so many decimals, of which the form must have room for.
    ///
    /// # Errors
    /// `Overflow`.
    pub fn round(&self, decimals: i64, rounding: Rounding) -> Result<Money<F>, MoneyError> {
        Money::new(self.amount.rounded(decimals, rounding), self.currency)
    }

    /// Rounded to a multiple of what can be paid in cash: 0.05 for Swiss francs. Without an increment it is the
    /// currency's own, see [`Currency::cash_increment`], or its minor unit.
    ///
    /// # Errors
    /// `NotPositive` for the increment, `NoMinorUnit` where there is nothing to round to, `Overflow`, `ExcessPrecision`.
    pub fn to_cash(&self, increment: Option<&Decimal>, rounding: Rounding) -> Result<Money<F>, MoneyError> {
        let currency = self.currency;
        let increment = match increment.cloned().or_else(|| currency.cash_increment()) {
            Some(increment) => increment,
            None => Decimal::new(1, currency.digits().ok_or(MoneyError::NoMinorUnit { currency })?),
        };
        if increment.side() != Ordering::Greater {
            return Err(MoneyError::NotPositive);
        }
        let times = self.amount.over(&increment, 0, rounding)?;
        Money::new(increment.times(&times)?, currency)
    }

    /// The sum of all; nothing in this currency when there are none.
    ///
    /// # Errors
    /// As [`plus`](Money::plus).
    pub fn sum<'a>(
        currency: Currency,
        all: impl IntoIterator<Item = &'a Money<F>>,
    ) -> Result<Money<F>, MoneyError> {
        all.into_iter()
            .try_fold(Money::zero(currency)?, |sum, money| sum.plus(money))
    }

    /// The amount without its sign.
    ///
    /// # Errors
    /// `Overflow`, of the one amount of 64 bits that has no opposite.
    pub fn abs(&self) -> Result<Money<F>, MoneyError> {
        Money::new(self.amount.abs(), self.currency)
    }

    /// The opposite.
    ///
    /// # Errors
    /// As [`abs`](Money::abs).
    pub fn negated(&self) -> Result<Money<F>, MoneyError> {
        Money::new((&self.amount).neg(), self.currency)
    }
}

impl<F> Clone for Money<F> {
    fn clone(&self) -> Self {
        Money {
            amount: self.amount.clone(),
            currency: self.currency,
            form: PhantomData,
        }
    }
}

/// By value: 1.5 USD equals 1.50 USD, and 1 USD is not 1 EUR.
impl<F> PartialEq for Money<F> {
    fn eq(&self, other: &Money<F>) -> bool {
        self.currency == other.currency && self.amount == other.amount
    }
}

impl<F> Eq for Money<F> {}

/// Amounts of different currencies have no order.
impl<F> PartialOrd for Money<F> {
    fn partial_cmp(&self, other: &Money<F>) -> Option<Ordering> {
        self.compare(other).ok()
    }
}

impl<F> Hash for Money<F> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.amount, self.currency).hash(state);
    }
}

impl<F> fmt::Display for Money<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} {}", self.amount, self.currency))
    }
}

impl<F> fmt::Debug for Money<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Money({self})")
    }
}

impl<F: Form> FromStr for Money<F> {
    type Err = MoneyError;

    /// The amount and the code with a space between them, in either order: `9.99 USD`, `USD -9.99`.
    fn from_str(text: &str) -> Result<Money<F>, MoneyError> {
        let (first, second) = text.split_once(' ').ok_or_else(|| MoneyError::malformed(text))?;
        let (amount, code) = match first.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            true => (second, first),
            false => (first, second),
        };
        Money::new(amount.parse()?, code.parse()?)
    }
}

impl<F: Form> Serialize for Money<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        F::store(&self.amount, self.currency)
            .map_err(S::Error::custom)?
            .serialize(serializer)
    }
}

impl<'de, F: Form> Deserialize<'de> for Money<F> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Money<F>, D::Error> {
        let stored = Document::deserialize(deserializer)?;
        Money::read(&stored).map_err(D::Error::custom)
    }
}

impl<F: Form> Money<F> {
    /// The money that is stored as this document.
    pub(super) fn read(stored: &Document) -> Result<Money<F>, MoneyError> {
        let currency = match stored.get("currency") {
            Some(code) => {
                Currency::deserialize(odm::bson::Deserializer::new(code.clone())).map_err(|_| {
                    MoneyError::UnknownCurrency {
                        code: code.as_str().unwrap_or_default().to_owned(),
                    }
                })?
            }
            None => {
                return Err(MoneyError::UnknownCurrency { code: String::new() });
            }
        };
        Money::new(F::load(stored, currency)?, currency)
    }
}

impl<F: Form> FieldType for Money<F> {
    type Handle<R> = MoneyField<R, F>;
    type Optional<R> = MoneyField<R, F, Option<Money<F>>>;
}
