//! How money is stored.

use std::fmt;
use std::marker::PhantomData;

use odm::bson::{Bson, Decimal128, Document, doc};
use odm::{Field, Path};

use super::currency::Currency;
use super::decimal::Decimal;
use super::error::MoneyError;
use super::rounding::Rounding;

/// A way to store [`Money`](super::Money): [`Minor`], [`Arbitrary`] or [`Decimal34`].
#[diagnostic::on_unimplemented(
    message = "money is not stored as `{Self}`",
    label = "not a form of money",
    note = "the forms are `Minor`, `Arbitrary` and `Decimal34`"
)]
pub trait Form: sealed::Form {}

#[diagnostic::do_not_recommend]
impl<F: sealed::Form> Form for F {}

/// Exact precision: a whole number of units of a [`Scale`], `{amount: 999, currency: "USD"}`, 64 bits.
///
/// The form for amounts that are counted: `$inc`, ranges, sorts and sums are the database's own and exact.
pub struct Minor<S = Iso>(PhantomData<fn() -> S>);

/// Arbitrary precision: the exact text, and the nearest double to search and sort by,
/// `{display: "9.99", approx: 9.99, currency: "USD"}`.
#[derive(Clone, Copy, Debug)]
pub struct Arbitrary;

/// Decimal precision: a decimal128 of 34 digits, `{amount: Decimal128("9.99"), currency: "USD"}`.
#[derive(Clone, Copy, Debug)]
pub struct Decimal34;

/// How many decimals the unit has that [`Minor`] counts.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say how many decimals a unit has",
    label = "not a scale",
    note = "`Iso` and `Digits<N>` do; or write `impl odm_patterns::money::Scale for {Self}`"
)]
pub trait Scale: 'static {
    /// The decimals of amounts of this currency; none where there is no unit.
    fn digits(currency: Currency) -> Option<u32>;
}

/// The minor unit of ISO 4217: cents for `USD`, yen for `JPY`. Currencies that were withdrawn keep theirs
/// ([`Currency::digits`]).
#[derive(Clone, Copy, Debug)]
pub struct Iso;

/// So many decimals for every currency: `Minor<Digits<3>>` stores 9.99 USD as 9990, the MongoDB manual's tenths of a cent.
#[derive(Clone, Copy, Debug)]
pub struct Digits<const N: u32>;

impl Scale for Iso {
    fn digits(currency: Currency) -> Option<u32> {
        currency.digits()
    }
}

impl<const N: u32> Scale for Digits<N> {
    fn digits(_: Currency) -> Option<u32> {
        Some(N)
    }
}

impl<S> fmt::Debug for Minor<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Minor")
    }
}

/// A form whose amounts the database adds up: [`Minor`] and [`Decimal34`].
#[diagnostic::on_unimplemented(
    message = "the database does not add to money stored as `{Self}`",
    label = "only whole units and decimal128 can be incremented",
    note = "arbitrary precision is text: read it, compute, and set it"
)]
pub trait Counted: Form {}

impl<S: Scale> Counted for Minor<S> {}
impl Counted for Decimal34 {}

pub(super) mod sealed {
    use super::*;

    pub trait Form: Sized + 'static {
        /// The stored number that filters and sorts go by.
        type Amount: odm::Ordered + odm::FieldType + serde::Serialize + Clone + 'static;

        /// Its name.
        const AMOUNT: &'static str;

        /// The amount as this form holds it, or why it does not.
        fn fit(amount: Decimal, currency: Currency) -> Result<Decimal, MoneyError>;

        /// How many decimals there is room for; none where there is no limit.
        fn room(currency: Currency) -> Result<Option<u32>, MoneyError>;

        /// The number for an amount that fits.
        fn number(amount: &Decimal, currency: Currency) -> Result<Self::Amount, MoneyError>;

        /// The document for an amount that fits.
        fn store(amount: &Decimal, currency: Currency) -> Result<Document, MoneyError>;

        /// The amount of the stored fields.
        fn load(stored: &Document, currency: Currency) -> Result<Decimal, MoneyError>;

        /// The number as a decimal128 that the database can add up.
        fn summand(amount: &str, whole: &str) -> Document;

        /// The number as it is summed.
        fn summed_as(amount: &Decimal, _: Currency) -> Result<Decimal, MoneyError> {
            Ok(amount.clone())
        }

        /// The amount of a sum of such numbers.
        fn summed(sum: Decimal, currency: Currency) -> Result<Decimal, MoneyError>;

        /// The condition that what is stored at a path is of this form.
        fn shape(path: &str) -> Document;

        /// The exact text, where the number is not exact.
        fn text<R>(_whole: &Path) -> Option<Field<R, String>> {
            None
        }
    }
}

impl<S: Scale> Minor<S> {
    fn digits(currency: Currency) -> Result<u32, MoneyError> {
        S::digits(currency).ok_or(MoneyError::NoMinorUnit { currency })
    }

    fn units(amount: &Decimal, currency: Currency) -> Result<i64, MoneyError> {
        let digits = Self::digits(currency)?;
        let scaled = amount
            .exactly(digits.into())
            .ok_or(MoneyError::ExcessPrecision { digits })?;
        i64::try_from(scaled.coefficient()).map_err(|_| MoneyError::Overflow)
    }
}

impl<S: Scale> sealed::Form for Minor<S> {
    type Amount = i64;

    const AMOUNT: &'static str = "amount";

    fn fit(amount: Decimal, currency: Currency) -> Result<Decimal, MoneyError> {
        let units = Self::units(&amount, currency)?;
        Ok(Decimal::new(units, Self::digits(currency)?))
    }

    fn room(currency: Currency) -> Result<Option<u32>, MoneyError> {
        Self::digits(currency).map(Some)
    }

    fn number(amount: &Decimal, currency: Currency) -> Result<i64, MoneyError> {
        Self::units(amount, currency)
    }

    fn store(amount: &Decimal, currency: Currency) -> Result<Document, MoneyError> {
        Ok(doc! { "amount": Self::units(amount, currency)?, "currency": currency.code() })
    }

    fn load(stored: &Document, currency: Currency) -> Result<Decimal, MoneyError> {
        let units = match stored.get("amount") {
            Some(Bson::Int32(units)) => i64::from(*units),
            Some(Bson::Int64(units)) => *units,
            // The shell writes doubles; whole ones up to here are exact.
            Some(Bson::Double(units)) if units.fract() == 0.0 && units.abs() <= 9_007_199_254_740_992.0 => {
                *units as i64
            }
            other => return Err(unread(other)),
        };
        Ok(Decimal::new(units, Self::digits(currency)?))
    }

    fn summand(amount: &str, _: &str) -> Document {
        doc! { "$toDecimal": format!("${amount}") }
    }

    fn summed_as(amount: &Decimal, currency: Currency) -> Result<Decimal, MoneyError> {
        Self::units(amount, currency).map(Decimal::from)
    }

    fn summed(sum: Decimal, currency: Currency) -> Result<Decimal, MoneyError> {
        let digits = Self::digits(currency)?;
        let units = sum.exactly(0).ok_or(MoneyError::ExcessPrecision { digits })?;
        Ok(Decimal::of(units.coefficient().clone(), digits.into()))
    }

    fn shape(path: &str) -> Document {
        // Whole doubles are the shell's; a text beside them is the sign of another form.
        doc! {
            format!("{path}.amount"): { "$type": ["int", "long", "double"] },
            format!("{path}.display"): { "$exists": false },
        }
    }
}

impl sealed::Form for Arbitrary {
    type Amount = f64;

    const AMOUNT: &'static str = "approx";

    fn fit(amount: Decimal, _: Currency) -> Result<Decimal, MoneyError> {
        // Zeros in front of the point are written out, so that the text is plain.
        let amount = match amount.decimals() {
            ..0 => amount.rounded(0, Rounding::Down),
            _ => amount,
        };
        match amount.to_f64().is_finite() {
            true => Ok(amount),
            false => Err(MoneyError::Overflow),
        }
    }

    fn room(_: Currency) -> Result<Option<u32>, MoneyError> {
        Ok(None)
    }

    fn number(amount: &Decimal, _: Currency) -> Result<f64, MoneyError> {
        Ok(amount.to_f64())
    }

    fn store(amount: &Decimal, currency: Currency) -> Result<Document, MoneyError> {
        let (display, approx) = (amount.to_string(), amount.to_f64());
        Ok(doc! { "display": display, "approx": approx, "currency": currency.code() })
    }

    fn load(stored: &Document, _: Currency) -> Result<Decimal, MoneyError> {
        match stored.get("display") {
            Some(Bson::String(text)) => text.parse(),
            other => Err(unread(other)),
        }
    }

    fn summand(_: &str, whole: &str) -> Document {
        doc! { "$toDecimal": format!("${whole}.display") }
    }

    fn summed(sum: Decimal, _: Currency) -> Result<Decimal, MoneyError> {
        Ok(sum)
    }

    fn shape(path: &str) -> Document {
        doc! { format!("{path}.display"): { "$type": "string" } }
    }

    fn text<R>(whole: &Path) -> Option<Field<R, String>> {
        Some(Field::new(whole.child("display")))
    }
}

impl sealed::Form for Decimal34 {
    type Amount = Decimal128;

    const AMOUNT: &'static str = "amount";

    fn fit(amount: Decimal, _: Currency) -> Result<Decimal, MoneyError> {
        let stored = amount.to_decimal128(Rounding::Down)?;
        let fitting = Decimal::try_from(stored)?;
        match fitting == amount {
            true => Ok(fitting),
            false => Err(MoneyError::ExcessPrecision {
                digits: u32::try_from(fitting.decimals()).unwrap_or_default(),
            }),
        }
    }

    fn room(_: Currency) -> Result<Option<u32>, MoneyError> {
        Ok(None)
    }

    fn number(amount: &Decimal, _: Currency) -> Result<Decimal128, MoneyError> {
        amount.to_decimal128(Rounding::Down)
    }

    fn store(amount: &Decimal, currency: Currency) -> Result<Document, MoneyError> {
        Ok(doc! { "amount": amount.to_decimal128(Rounding::Down)?, "currency": currency.code() })
    }

    fn load(stored: &Document, _: Currency) -> Result<Decimal, MoneyError> {
        match stored.get("amount") {
            Some(Bson::Decimal128(amount)) => Decimal::try_from(*amount),
            Some(Bson::Int32(amount)) => Ok(Decimal::from(i64::from(*amount))),
            Some(Bson::Int64(amount)) => Ok(Decimal::from(*amount)),
            other => Err(unread(other)),
        }
    }

    fn summand(amount: &str, _: &str) -> Document {
        doc! { "$toDecimal": format!("${amount}") }
    }

    fn summed(sum: Decimal, _: Currency) -> Result<Decimal, MoneyError> {
        Ok(sum)
    }

    fn shape(path: &str) -> Document {
        doc! { format!("{path}.amount"): { "$type": "decimal" } }
    }
}

fn unread(value: Option<&Bson>) -> MoneyError {
    MoneyError::malformed(&value.map_or_else(|| "nothing".to_owned(), Bson::to_string))
}
