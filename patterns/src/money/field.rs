//! Fields of money in filters, orders, updates and pipelines.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, Deref, RangeBounds};

use odm::bson::{Bson, Document, RawBson, bson, doc};
use odm::{Field, Filter, Handle, Increment, Operand, Path, Sort, Update, expr};

use super::amount::Money;
use super::currency::Currency;
use super::decimal::Decimal;
use super::error::MoneyError;
use super::exact::{Comparison, compares};
use super::form::sealed::Form as _;
use super::form::{Counted, Decimal34, Form, Minor, Scale};
use super::total::Total;
use crate::dotted::value_at;
use crate::still::still;

/// A field of [`Money`] in documents of the root `R`.
///
/// Comparisons are within the operand's currency: `b.price.gte(five_dollars)` matches no euros. They are conditions on
/// two fields, so that an index goes by both: `#[odm(index(keys(price.currency, price.amount)))]`. For money inside an
/// array say them in `elem_match`, or two elements may meet one condition each.
///
/// It derefs to the [`Field`] of the whole, for `set`, `exists`, `is_null`.
pub struct MoneyField<R, F: Form, T = Money<F>> {
    /// The stored number: `i64` units, a decimal128, or the `f64` beside the exact text.
    pub amount: Field<R, F::Amount>,
    /// The currency.
    pub currency: Field<R, Currency>,
    whole: Field<R, T>,
    /// The exact text, where the number is not exact.
    text: Option<Field<R, String>>,
    /// Whether amount and currency are no fields of the whole.
    is_apart: bool,
    form: PhantomData<fn() -> F>,
}

impl<R, F: Form, T> Handle for MoneyField<R, F, T> {
    fn at(path: Path) -> Self {
        MoneyField {
            amount: Field::new(path.child(F::AMOUNT)),
            currency: Field::new(path.child("currency")),
            text: F::text(&path),
            whole: Field::new(path),
            is_apart: false,
            form: PhantomData,
        }
    }
}

impl<R, F: Form, T> Deref for MoneyField<R, F, T> {
    type Target = Field<R, T>;

    fn deref(&self) -> &Field<R, T> {
        &self.whole
    }
}

/// Money in two fields side by side, as in the MongoDB manual: `{price: 9990, currency: "USD"}`.
///
/// ```
/// use odm::{Db, Model};
/// use odm_patterns::money::{Currency, Digits, Money, Minor, beside};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Model)]
/// struct Item {
///     #[serde(rename = "_id")]
///     id: i32,
///     price: i64,
///     currency: Currency,
/// }
///
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// type Tenths = Minor<Digits<3>>;
/// let items = Db::open("memory:").await?.collection::<Item>();
/// let price: Money<Tenths> = "9.99 USD".parse()?;
/// items.insert(Item { id: 1, price: price.units(), currency: price.currency() }).await?;
/// let cheap = items.find(|i| beside::<_, Digits<3>>(&i.price, &i.currency).lte(&price)).await?;
/// assert_eq!((cheap.len(), cheap[0].price), (1, 9990));
/// # Ok(())
/// # }
/// ```
///
/// The whole has no field of its own: `put` sets both, and what the [`Field`] of the whole could do is an error.
pub fn beside<R, S: Scale>(amount: &Field<R, i64>, currency: &Field<R, Currency>) -> MoneyField<R, Minor<S>> {
    MoneyField {
        amount: amount.clone(),
        currency: currency.clone(),
        whole: Field::with_codec(amount.path().clone(), |_| Err(no_whole())),
        text: None,
        is_apart: true,
        form: PhantomData,
    }
}

fn no_whole() -> odm::Error {
    let message = "money in two fields has no whole; use `put`, or its comparisons";
    odm::Error::new(odm::ErrorKind::InvalidArgument, message)
}

impl<R, F: Form, T> MoneyField<R, F, T> {
    /// Equal, by value and currency.
    pub fn eq(&self, money: impl Operand<Money<F>>) -> Filter<R> {
        self.compared(Comparison::Eq, money)
    }

    /// Not equal: the exact complement of [`eq`](MoneyField::eq), documents without the field included.
    pub fn ne(&self, money: impl Operand<Money<F>>) -> Filter<R> {
        !self.eq(money)
    }

    /// Equal to one of these.
    pub fn is_in<I>(&self, all: I) -> Filter<R>
    where
        I: IntoIterator<Item: Operand<Money<F>>>,
    {
        Filter::or(all.into_iter().map(|money| self.eq(money)))
    }

    /// More, in the same currency.
    pub fn gt(&self, money: impl Operand<Money<F>>) -> Filter<R> {
        self.compared(Comparison::Gt, money)
    }

    /// As much or more, in the same currency.
    pub fn gte(&self, money: impl Operand<Money<F>>) -> Filter<R> {
        self.compared(Comparison::Gte, money)
    }

    /// Less, in the same currency.
    pub fn lt(&self, money: impl Operand<Money<F>>) -> Filter<R> {
        self.compared(Comparison::Lt, money)
    }

    /// As much or less, in the same currency.
    pub fn lte(&self, money: impl Operand<Money<F>>) -> Filter<R> {
        self.compared(Comparison::Lte, money)
    }

    /// In a range, in the currency of its ends. A range without ends is every currency; one with ends of two currencies
    /// is an error of the query that uses it.
    pub fn within(&self, range: impl RangeBounds<Money<F>>) -> Filter<R> {
        let (start, end) = (range.start_bound(), range.end_bound());
        if let (Some(start), Some(end)) = (inner(start), inner(end))
            && start.currency() != end.currency()
        {
            return self.failing(|_| Err(two_currencies()));
        }
        let from = match start {
            Bound::Included(money) => self.gte(money),
            Bound::Excluded(money) => self.gt(money),
            Bound::Unbounded => Filter::all(),
        };
        let to = match end {
            Bound::Included(money) => self.lte(money),
            Bound::Excluded(money) => self.lt(money),
            Bound::Unbounded => Filter::all(),
        };
        from & to
    }

    /// The range on the stored number alone, widened by one unit in the last place of a double where that is not exact:
    /// every match of [`within`](MoneyField::within), and perhaps a neighbor. For where expressions cannot stand, such
    /// as `elem_match`: decide by comparing what was read.
    pub fn nearly_within(&self, range: impl RangeBounds<Money<F>>) -> Filter<R> {
        let near = |bound: Bound<&Money<F>>, comparison| match inner(bound) {
            Some(money) => self.currency.eq(money.currency()) & self.near(money, comparison),
            None => Filter::all(),
        };
        near(range.start_bound(), Comparison::Gte) & near(range.end_bound(), Comparison::Lte)
    }

    /// Of this currency.
    pub fn is_of(&self, currency: Currency) -> Filter<R> {
        self.currency.eq(currency)
    }

    /// By currency, and in each the least first.
    ///
    /// Amounts of arbitrary precision that share their nearest double come in any order:
    /// [`in_exact_order`](super::in_exact_order) puts them right while they are read.
    pub fn asc(&self) -> Sort<R> {
        self.currency.asc() & self.amount.asc()
    }

    /// By currency backwards, and in each the most first. See [`asc`](MoneyField::asc).
    pub fn desc(&self) -> Sort<R> {
        self.currency.desc() & self.amount.desc()
    }

    /// Sets both, amount and currency, wherever they stand.
    pub fn put(&self, money: impl Operand<Money<F>>) -> Update<R> {
        money.with_operand(|money| {
            let text = self
                .text
                .as_ref()
                .map(|text| text.set(money.amount().to_string()));
            let number = self.number(money);
            let both = number & self.currency.set(money.currency());
            match text {
                Some(text) => both & text,
                None => both,
            }
        })
    }

    /// The sum of a group, for a field of type [`Total`]: [`Total::money`] makes money of it. Group by the currency.
    ///
    /// Whole units are summed as decimals, since a sum of 64-bit integers silently turns into a double where it
    /// overflows. Exact up to 34 digits; of amounts of arbitrary precision with more digits each is rounded to 34.
    pub fn total(&self) -> expr::Accumulator<R, Total<F>> {
        let (amount, whole) = (self.amount.path().to_string(), self.whole.path().to_string());
        expr::Accumulator::raw(doc! { "$sum": F::summand(&amount, &whole) })
    }

    fn number(&self, money: &Money<F>) -> Update<R> {
        match F::number(money.amount(), money.currency()) {
            Ok(number) => self.amount.set(number),
            // It fitted when it was made.
            Err(_) => {
                Field::<R, Money<F>>::with_codec(self.amount.path().clone(), |_| Err(unfit())).set(money)
            }
        }
    }

    fn compared(&self, comparison: Comparison, money: impl Operand<Money<F>>) -> Filter<R> {
        money.with_operand(|money| {
            let currency = self.currency.eq(money.currency());
            let Some(text) = &self.text else {
                return currency & self.at(comparison, money.amount(), money.currency());
            };
            let exact = Filter::expr(compares(&text.path().to_string(), comparison, money.amount()));
            let near = self.near(money, comparison);
            let beyond = match comparison {
                Comparison::Eq => return currency & near & exact,
                Comparison::Gt | Comparison::Gte => {
                    self.amount_beyond("$gt", up(up(money.amount().to_f64())))
                }
                Comparison::Lt | Comparison::Lte => {
                    self.amount_beyond("$lt", down(down(money.amount().to_f64())))
                }
            };
            currency & near & (beyond | exact)
        })
    }

    /// The comparison on the number, widened where the number is not exact.
    fn near(&self, money: &Money<F>, comparison: Comparison) -> Filter<R> {
        if self.text.is_none() {
            return self.at(comparison, money.amount(), money.currency());
        }
        let approx = money.amount().to_f64();
        let least = self.amount_beyond("$gte", down(approx));
        let most = self.amount_beyond("$lte", up(approx));
        match comparison {
            Comparison::Eq => least & most,
            Comparison::Gt | Comparison::Gte => least,
            Comparison::Lt | Comparison::Lte => most,
        }
    }

    fn amount_beyond(&self, operator: &str, bound: f64) -> Filter<R> {
        Filter::raw(doc! { self.amount.path().to_string(): { operator: bound } })
    }

    fn at(&self, comparison: Comparison, amount: &Decimal, currency: Currency) -> Filter<R> {
        let Ok(number) = F::number(amount, currency) else {
            return self.failing(|_| Err(unfit()));
        };
        match comparison {
            Comparison::Eq => self.amount.eq(number),
            Comparison::Gt => self.amount.gt(number),
            Comparison::Gte => self.amount.gte(number),
            Comparison::Lt => self.amount.lt(number),
            Comparison::Lte => self.amount.lte(number),
        }
    }

    /// A filter that is an error where it is used.
    fn failing(&self, error: fn(&()) -> odm::Result<RawBson>) -> Filter<R> {
        Field::<R, ()>::with_codec(self.whole.path().clone(), error).eq(())
    }
}

/// What a conversion asks of the place where money is stored.
impl<R, F: Form, T> MoneyField<R, F, T> {
    /// The same place, with money in another form: for [`convert`](super::convert).
    pub fn in_form<G: Form>(&self) -> MoneyField<R, G> {
        Handle::at(self.whole.path().clone())
    }

    /// The path of the whole, or of the amount.
    pub(super) fn place(&self) -> String {
        self.whole.path().to_string()
    }

    pub(super) fn is_at<G: Form, U>(&self, other: &MoneyField<R, G, U>) -> bool {
        self.place() == other.place()
    }

    /// The condition that money of this form is stored here.
    pub(super) fn shape(&self) -> Document {
        match self.is_apart {
            true => doc! { self.place(): { "$type": ["int", "long", "double"] } },
            false => F::shape(&self.place()),
        }
    }

    /// The stored money of a document, as one.
    pub(super) fn parts_of(&self, document: &Document) -> Document {
        let at = |path: &Path| value_at(document, &path.to_string()).cloned();
        match self.is_apart {
            true => [
                (F::AMOUNT, at(self.amount.path())),
                ("currency", at(self.currency.path())),
            ]
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect(),
            false => match at(self.whole.path()) {
                Some(Bson::Document(whole)) => whole,
                _ => Document::new(),
            },
        }
    }

    /// The condition that the stored money is still that of the document.
    pub(super) fn unchanged(&self, document: &Document) -> Document {
        let mut paths = vec![self.place()];
        if self.is_apart {
            paths.push(self.currency.path().to_string());
        }
        let condition = |path: String| still(&path, value_at(document, &path).unwrap_or(&Bson::Null));
        let conditions: Vec<Document> = paths.into_iter().map(condition).collect();
        doc! { "$and": conditions }
    }

    /// The fields that store this money here.
    pub(super) fn stored(&self, money: &Money<F>) -> Result<Document, MoneyError> {
        let whole = F::store(money.amount(), money.currency())?;
        if !self.is_apart {
            return Ok(doc! { self.place(): whole });
        }
        let amount = whole.get(F::AMOUNT).cloned().unwrap_or(Bson::Null);
        Ok(doc! { self.place(): amount, self.currency.path().to_string(): money.currency().code() })
    }
}

impl<R, F: Counted, T> MoneyField<R, F, T>
where
    F::Amount: Increment<Step = F::Amount>,
{
    /// Adds this, atomically; a negative amount to subtract.
    ///
    /// An update cannot refuse: whether the stored money is of the same currency is for the filter, which says
    /// [`is_of`](MoneyField::is_of). So is whether a sum of [`Decimal34`] has room in its 34 digits, which the database
    /// rounds it to: [`adds_exactly`](MoneyField::adds_exactly).
    pub fn inc(&self, money: impl Operand<Money<F>>) -> Update<R> {
        money.with_operand(|money| match F::number(money.amount(), money.currency()) {
            Ok(number) => self.amount.inc(number),
            Err(_) => self.number(money),
        })
    }
}

impl<R, T> MoneyField<R, Decimal34, T> {
    /// That this can be [added](MoneyField::inc) to what is stored without a digit that is lost: the sum has 34 at the most.
    /// Money that is not stored counts as none.
    ///
    /// A condition that is computed: it stands beside those that find the document.
    ///
    /// ```
    /// use odm::{Db, Model};
    /// use odm_patterns::money::{Decimal34, Money};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize, Model)]
    /// struct Loan {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     interest: Money<Decimal34>,
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let loans = Db::open("memory:").await?.collection::<Loan>();
    /// loans.insert(Loan { id: 1, interest: "123456789012345678901234.5678901237 EUR".parse()? }).await?;
    /// let more: Money<Decimal34> = "0.00000000001 EUR".parse()?;
    /// let added = loans
    ///     .update_one(|l| l.id.eq(1) & l.interest.adds_exactly(&more), |l| l.interest.inc(&more))
    ///     .await?;
    /// assert_eq!(added.matched, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn adds_exactly(&self, money: impl Operand<Money<Decimal34>>) -> Filter<R> {
        money.with_operand(|money| {
            let Ok(step) = Decimal34::number(money.amount(), money.currency()) else {
                return self.failing(|_| Err(unfit()));
            };
            // A digit of one of the two that the sum has lost is missing in the difference to the other.
            let differs = |from: &str, by: Bson| bson!({ "$subtract": [from, by] });
            let exact = bson!({ "$and": [
                { "$eq": [differs("$$sum", "$$stored".into()), step] },
                { "$eq": [differs("$$sum", step.into()), "$$stored"] },
            ] });
            let summed = bson!({ "$let": {
                "vars": { "sum": { "$add": ["$$stored", step] } },
                "in": exact,
            } });
            let stored = bson!({ "$ifNull": [format!("${}", self.amount.path()), 0] });
            Filter::expr(doc! { "$let": { "vars": { "stored": stored }, "in": summed } })
        })
    }
}

fn inner<T>(bound: Bound<&T>) -> Option<&T> {
    match bound {
        Bound::Included(value) | Bound::Excluded(value) => Some(value),
        Bound::Unbounded => None,
    }
}

fn up(number: f64) -> f64 {
    number.next_up()
}

fn down(number: f64) -> f64 {
    number.next_down()
}

fn two_currencies() -> odm::Error {
    let message = "the ends of the range are of two currencies";
    odm::Error::new(odm::ErrorKind::InvalidArgument, message)
}

fn unfit() -> odm::Error {
    odm::Error::from(MoneyError::Overflow)
}

impl<R, F: Form, T> Clone for MoneyField<R, F, T> {
    fn clone(&self) -> Self {
        MoneyField {
            amount: self.amount.clone(),
            currency: self.currency.clone(),
            whole: self.whole.clone(),
            text: self.text.clone(),
            is_apart: self.is_apart,
            form: PhantomData,
        }
    }
}

impl<R, F: Form, T> fmt::Debug for MoneyField<R, F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MoneyField({})", self.whole.path())
    }
}
