//! Exchange.

use std::cmp::Ordering;

use odm::Embedded;
use odm::bson::DateTime;
use serde::{Deserialize, Serialize};

use super::amount::Money;
use super::currency::Currency;
use super::decimal::Decimal;
use super::error::MoneyError;
use super::form::Form;
use super::rounding::Rounding;

/// What one unit of a currency was worth in another, at a time. Stored with the rate as its exact text.
///
/// ```
/// use odm::bson::DateTime;
/// use odm_patterns::money::{Currency, Money, Rate, Rounding};
///
/// let rate = Rate::new(Currency::EUR, Currency::JPY, "161.235".parse()?, DateTime::from_millis(0))?;
/// let yen: Money = rate.exchange(&"9.99 EUR".parse::<Money>()?, Rounding::HalfEven)?;
/// assert_eq!(yen.to_string(), "1611 JPY");
/// let euros: Money = rate.exchange(&yen, Rounding::Down)?;
/// assert_eq!(euros.to_string(), "9.99 EUR");
/// # Ok::<(), odm_patterns::money::MoneyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Embedded)]
pub struct Rate {
    /// The currency whose one unit is priced.
    pub base: Currency,
    /// The currency of the price.
    pub quote: Currency,
    /// The price.
    pub rate: Decimal,
    /// When it was so.
    pub as_of: DateTime,
}

impl Rate {
    /// One unit of `base` is worth so many of `quote`.
    ///
    /// # Errors
    /// `NotPositive`.
    pub fn new(base: Currency, quote: Currency, rate: Decimal, as_of: DateTime) -> Result<Rate, MoneyError> {
        let rate = Rate {
            base,
            quote,
            rate,
            as_of,
        };
        rate.positive()?;
        Ok(rate)
    }

    /// The amount in the other of the two currencies, rounded once, as [`Money::rounded`] does: multiplied by the rate, or
    /// divided by it.
    ///
    /// # Errors
    /// `CurrencyMismatch` for money of a third currency; `NotPositive` for a rate that was read so; `Overflow`,
    /// `NoMinorUnit`.
    pub fn exchange<F: Form, G: Form>(
        &self,
        money: &Money<F>,
        rounding: Rounding,
    ) -> Result<Money<G>, MoneyError> {
        self.positive()?;
        if money.currency() == self.base {
            return Money::rounded(&money.amount().times(&self.rate)?, self.quote, rounding);
        }
        if money.currency() != self.quote {
            return Err(MoneyError::CurrencyMismatch {
                expected: self.base,
                found: money.currency(),
            });
        }
        let currency = self.base;
        let digits = match G::room(currency)? {
            Some(digits) => digits,
            None => currency.digits().ok_or(MoneyError::NoMinorUnit { currency })?,
        };
        Money::new(money.amount().over(&self.rate, digits, rounding)?, currency)
    }

    /// The rate from this one's base to the other's quote, exactly; as of the earlier of both.
    ///
    /// # Errors
    /// `CurrencyMismatch` when the other does not begin where this one ends.
    pub fn then(&self, other: &Rate) -> Result<Rate, MoneyError> {
        if self.quote != other.base {
            return Err(MoneyError::CurrencyMismatch {
                expected: self.quote,
                found: other.base,
            });
        }
        Rate::new(
            self.base,
            other.quote,
            self.rate.times(&other.rate)?,
            self.as_of.min(other.as_of),
        )
    }

    fn positive(&self) -> Result<(), MoneyError> {
        match self.rate.side() {
            Ordering::Greater => Ok(()),
            _ => Err(MoneyError::NotPositive),
        }
    }
}
