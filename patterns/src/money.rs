//! Money: exact amounts of a currency, stored so that the database counts, compares and sorts them; shared out, exchanged
//! and moved without losing a cent.
//!
//! # The problem
//! A double holds no 0.1, and a thousand of them are not 100. Two numbers in two documents do not say that one is of euros.
//! And whoever reads a balance, subtracts and writes it back gives the same money away twice.
//!
//! # The stored shapes
//! One type, [`Money`], in three [forms](Form); the first two are the MongoDB manual's.
//!
//! | form | stored | in the database | holds |
//! |---|---|---|---|
//! | [`Minor`]: exact precision | `{amount: 999, currency: "USD"}` | `$inc`, ranges, sorts, sums | 64 bits of the currency's minor unit by ISO 4217, or of a [`Scale`] of one's own; [`beside`] for amount and currency in two fields of the document |
//! | [`Decimal34`]: decimal128 | `{amount: Decimal128("9.99"), currency: "USD"}` | `$inc`, ranges, sorts, sums | 34 digits |
//! | [`Arbitrary`]: arbitrary precision | `{display: "9.99", approx: 9.99, currency: "USD"}` | ranges and equality, exactly; sorts but for equal doubles | any number of decimals |
//!
//! A range over the last form goes by the double, one unit in the last place wider, and decides the neighbors by their
//! digits, in the same query. The order of amounts with one double is put right while reading, by [`in_exact_order`].
//!
//! # What is exact
//!
//! | | |
//! |---|---|
//! | arithmetic | exact, or a typed error: [`CurrencyMismatch`](MoneyError::CurrencyMismatch), [`Overflow`](MoneyError::Overflow), [`ExcessPrecision`](MoneyError::ExcessPrecision). What rounds takes a [`Rounding`] and rounds once |
//! | [`allocate`](Money::allocate) | the parts sum to the whole, always |
//! | [`total`](MoneyField::total) | exact up to 34 digits, by the database; never a double |
//! | [`inc`](MoneyField::inc) | exact; a sum beyond 64 bits is the database's error. Of [`Decimal34`] exact where the filter says [`adds_exactly`](MoneyField::adds_exactly), otherwise rounded to 34 digits |
//!
//! # Guarantees of accounts
//!
//! | operation | round trips | when it is sent twice | what a crash can do |
//! |---|---|---|---|
//! | [`transfer`](Accounts::transfer) | 4, one transaction | the same answer, once | it happened or not, never a part |
//! | [`open`](Accounts::open) | 1 | the same account | the same |
//! | [`balance`](Accounts::balance) | 1 | | |
//! | [`verify`](Accounts::verify) | 1 for each batch of accounts and transfers, at one point in time | | |
//!
//! * **Conserved**: the balances of a currency sum to 0 at every moment, however many transfers run at once.
//! * **Never below**: no account has less than its limit.
//! * **Idempotent for ever**: a transfer is the record of its key; there is nothing that expires. A refusal is not kept.
//! * **Contention**: an account is one document. Transfers of one account wait for each other, by conflicts that are run
//!   again; for an account that everybody pays to, open several and add them up.
//! * **Transactions** are needed, and an error of kind `Unsupported` where there are none.
//! * **Sharded**: shard both collections by `_id`; a transfer is then a transaction over shards.
//!
//! # Example
//! ```
//! use odm::{Db, Model};
//! use odm_patterns::money::{Allocation, Arbitrary, Money};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Model)]
//! #[odm(index(keys(price.currency, price.amount)))]
//! struct Book {
//!     #[serde(rename = "_id")]
//!     id: i32,
//!     price: Money,
//!     cost: Money<Arbitrary>,
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let books = Db::open("memory:").await?.collection::<Book>();
//! books.insert(Book { id: 1, price: "9.99 USD".parse()?, cost: "3.3333333333333333333333 USD".parse()? }).await?;
//!
//! let (one, ten): (Money, Money) = ("1 USD".parse()?, "10 USD".parse()?);
//! let raised = books.update_one(|b| b.id.eq(1) & b.price.within(one.clone()..ten), |b| b.price.inc(&one)).await?;
//! assert_eq!(raised.modified, 1);
//!
//! let costly = books.find(|b| b.cost.gt("3.3333333333333333333332 USD".parse::<Money<_>>().unwrap())).await?;
//! assert_eq!(costly[0].price.units(), 1099);
//! let shares = costly[0].price.split(2, Allocation::First)?;
//! assert_eq!([shares[0].units(), shares[1].units()], [550, 549]);
//! # Ok(())
//! # }
//! ```

mod account;
mod allocation;
mod amount;
mod convert;
mod currency;
mod decimal;
mod error;
mod exact;
mod field;
mod form;
mod format;
mod iso;
mod order;
mod rate;
mod rounding;
mod total;

pub use self::account::{Account, Accounts, LedgerProblem, Transfer, TransferError};
pub use self::allocation::Allocation;
pub use self::amount::Money;
pub use self::convert::{Conversion, convert};
pub use self::currency::Currency;
pub use self::decimal::Decimal;
pub use self::error::MoneyError;
pub use self::field::{MoneyField, beside};
pub use self::form::{Arbitrary, Counted, Decimal34, Digits, Form, Iso, Minor, Scale};
pub use self::format::Format;
pub use self::order::{InExactOrder, in_exact_order};
pub use self::rate::Rate;
pub use self::rounding::Rounding;
pub use self::total::{OneOfGroup, Total};
