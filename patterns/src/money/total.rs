//! Sums of a group.

use std::fmt;
use std::marker::PhantomData;

use odm::bson::{Bson, Decimal128};
use odm::{Field, FieldType, Ordered, expr};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::amount::Money;
use super::currency::Currency;
use super::decimal::Decimal;
use super::error::MoneyError;
use super::field::MoneyField;
use super::form::{Form, Minor};
use super::rounding::Rounding;

/// The sum of money of one form, as [`total`](super::MoneyField::total) gives it: a number without a currency.
///
/// A field of the result of a pipeline, beside the currency that the group goes by. Which [`Form`] was summed is in the type,
/// because the number alone does not say it: that of [`Minor`] counts units, cents for dollars.
///
/// ```
/// use odm::{Db, Embedded, Model};
/// use odm_patterns::money::{Currency, Money, Total};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Model)]
/// struct Payment {
///     #[serde(rename = "_id")]
///     id: i32,
///     amount: Money,
/// }
///
/// #[derive(Serialize, Deserialize, Embedded)]
/// struct Paid {
///     #[serde(rename = "_id")]
///     currency: Currency,
///     sum: Total,
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let payments = Db::open("memory:").await?.collection::<Payment>();
/// for (id, amount) in [(1, "5 EUR"), (2, "2.50 EUR"), (3, "1 USD")] {
///     payments.insert(Payment { id, amount: amount.parse()? }).await?;
/// }
/// let least = Total::of(&"2 USD".parse::<Money>()?)?;
/// let paid: Vec<Paid> = payments
///     .aggregate()
///     .group::<Paid>(|p, sums| sums.currency.by(&p.amount.currency) & sums.sum.is(p.amount.total()))
///     .filter(|sums| sums.sum.gte(least))
///     .await?;
/// assert_eq!(paid.len(), 1);
/// assert_eq!(paid[0].sum.money(paid[0].currency)?.to_string(), "7.50 EUR");
/// # Ok(())
/// # }
/// ```
pub struct Total<F = Minor> {
    number: Decimal128,
    form: PhantomData<fn() -> F>,
}

impl<F: Form> Total<F> {
    /// This money as such a sum, to compare sums with.
    ///
    /// # Errors
    /// `Overflow`, of arbitrary precision beyond decimal128; digits beyond its 34 are rounded as those of a sum are.
    pub fn of(money: &Money<F>) -> Result<Total<F>, MoneyError> {
        let summand = F::summed_as(money.amount(), money.currency())?;
        Ok(Total::from_number(summand.to_decimal128(Rounding::HalfEven)?))
    }

    /// The sum as money of the currency that the group went by.
    ///
    /// # Errors
    /// `Overflow` when the sum is more than the form can hold; `NotFinite`; `NoMinorUnit`.
    pub fn money(&self, currency: Currency) -> Result<Money<F>, MoneyError> {
        Money::new(self.exactly(currency)?, currency)
    }

    /// The sum as money of another form, where its own has no room for it.
    ///
    /// # Errors
    /// `Overflow`, `ExcessPrecision` and `NoMinorUnit`, by what that can hold; `NotFinite`.
    pub fn money_in<G: Form>(&self, currency: Currency) -> Result<Money<G>, MoneyError> {
        Money::new(self.exactly(currency)?, currency)
    }

    fn exactly(&self, currency: Currency) -> Result<Decimal, MoneyError> {
        F::summed(Decimal::try_from(self.number)?, currency)
    }
}

impl<F> Total<F> {
    /// A number that was summed in the database, of a pipeline in MongoDB's words. That of [`Minor`] counts units.
    pub fn from_number(number: Decimal128) -> Total<F> {
        Total {
            number,
            form: PhantomData,
        }
    }

    /// The number that the database gave. That of [`Minor`] counts units, cents for dollars.
    pub fn number(&self) -> Decimal128 {
        self.number
    }
}

/// What a field of money can hold of a group: the money of one of its documents.
#[diagnostic::on_unimplemented(
    message = "a field of money cannot hold `{Self}`",
    label = "this is not the money of one document",
    note = "a total is a `Total`: give the field this type, and make money of it by `total.money(currency)`"
)]
pub trait OneOfGroup<F> {}

impl<F: Form> OneOfGroup<F> for Money<F> {}
impl<F: Form> OneOfGroup<F> for Option<Money<F>> {}

impl<Out, F: Form, T> MoneyField<Out, F, T> {
    /// Gets the money of one document of the group: `t.last.is(last(&p.amount))`. What it [totals](MoneyField::total) is for
    /// a field of type [`Total`].
    pub fn is<R, V>(&self, money: expr::Accumulator<R, V>) -> expr::Grouping<R, Out>
    where
        V: OneOfGroup<F> + expr::Fits<T>,
    {
        (**self).is(money)
    }
}

impl<F> Clone for Total<F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Total<F> {}

/// By value.
impl<F> PartialEq for Total<F> {
    fn eq(&self, other: &Total<F>) -> bool {
        match (Decimal::try_from(self.number), Decimal::try_from(other.number)) {
            (Ok(one), Ok(other)) => one == other,
            _ => self.number == other.number,
        }
    }
}

impl<F> fmt::Debug for Total<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Total({})", self.number)
    }
}

impl<F> Serialize for Total<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.number.serialize(serializer)
    }
}

impl<'de, F> Deserialize<'de> for Total<F> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Total<F>, D::Error> {
        let number = match Bson::deserialize(deserializer)? {
            Bson::Decimal128(number) => number,
            // The sum of nothing.
            Bson::Int32(0) => Decimal::zero()
                .to_decimal128(Rounding::HalfEven)
                .map_err(D::Error::custom)?,
            other => {
                let kind = other.element_type();
                return Err(D::Error::custom(format!("a total is a decimal128, not {kind:?}")));
            }
        };
        Ok(Total::from_number(number))
    }
}

impl<F: Form> FieldType for Total<F> {
    type Handle<R> = Field<R, Total<F>>;
    type Optional<R> = Field<R, Option<Total<F>>>;
}

impl<F> Ordered for Total<F> {}
