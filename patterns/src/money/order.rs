//! The exact order of amounts that share their nearest double.

use std::collections::VecDeque;
use std::fmt;

use odm::{Cursor, Result};

use super::amount::Money;
use super::form::Arbitrary;

/// Documents in the exact order of a money of arbitrary precision, from a query sorted by it.
///
/// The database sorts by the doubles, and amounts with one double come in any order. This puts each such run right while
/// reading: it holds one run in memory at a time, and asks the database for nothing more. To take the first so many, stop
/// asking; a `limit` of the query might cut a run.
///
/// ```
/// use odm::{Db, Model};
/// use odm_patterns::money::{Arbitrary, Money, in_exact_order};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Model)]
/// struct Offer {
///     #[serde(rename = "_id")]
///     id: i32,
///     price: Money<Arbitrary>,
/// }
///
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// let offers = Db::open("memory:").await?.collection::<Offer>();
/// for (id, price) in [(1, "0.10000000000000000002 USD"), (2, "0.10000000000000000001 USD"), (3, "0.1 USD")] {
///     offers.insert(Offer { id, price: price.parse()? }).await?;
/// }
/// let mut sorted = in_exact_order(offers.find_all().sort(|o| o.price.asc()).stream(), |o: &Offer| &o.price);
/// let mut ids = Vec::new();
/// while let Some(offer) = sorted.try_next().await? {
///     ids.push(offer.id);
/// }
/// assert_eq!(ids, [3, 2, 1]);
/// # Ok(())
/// # }
/// ```
pub fn in_exact_order<M, K>(sorted: Cursor<M>, money: K) -> InExactOrder<M, K>
where
    K: Fn(&M) -> &Money<Arbitrary>,
{
    InExactOrder {
        sorted,
        money,
        is_descending: false,
        run: VecDeque::new(),
        next: None,
    }
}

/// See [`in_exact_order`].
pub struct InExactOrder<M, K> {
    sorted: Cursor<M>,
    money: K,
    is_descending: bool,
    run: VecDeque<M>,
    next: Option<M>,
}

impl<M, K: Fn(&M) -> &Money<Arbitrary>> InExactOrder<M, K> {
    /// For queries sorted by [`desc`](super::MoneyField::desc).
    #[must_use]
    pub fn descending(mut self) -> InExactOrder<M, K> {
        self.is_descending = true;
        self
    }

    /// The next document; none at the end.
    ///
    /// # Errors
    /// Those of the query.
    pub async fn try_next(&mut self) -> Result<Option<M>> {
        if self.run.is_empty() {
            self.fill().await?;
        }
        Ok(self.run.pop_front())
    }

    /// All that is left.
    ///
    /// # Errors
    /// Those of the query.
    pub async fn try_collect(mut self) -> Result<Vec<M>> {
        let mut all = Vec::new();
        while let Some(document) = self.try_next().await? {
            all.push(document);
        }
        Ok(all)
    }

    async fn fill(&mut self) -> Result<()> {
        let first = match self.next.take() {
            Some(first) => Some(first),
            None => self.sorted.try_next().await?,
        };
        let Some(first) = first else {
            return Ok(());
        };
        let approx = |money: &Money<Arbitrary>| (money.currency(), money.amount().to_f64());
        let key = approx((self.money)(&first));
        self.run.push_back(first);
        while let Some(document) = self.sorted.try_next().await? {
            if approx((self.money)(&document)) != key {
                self.next = Some(document);
                break;
            }
            self.run.push_back(document);
        }
        let (money, is_descending) = (&self.money, self.is_descending);
        self.run.make_contiguous().sort_by(|a, b| {
            let order = money(a).amount().cmp(money(b).amount());
            match is_descending {
                true => order.reverse(),
                false => order,
            }
        });
        Ok(())
    }
}

impl<M, K> fmt::Debug for InExactOrder<M, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InExactOrder")
            .field("is_descending", &self.is_descending)
            .field("waiting", &self.run.len())
            .finish_non_exhaustive()
    }
}
