//! Sequences: numbers of invoices, orders, tickets.
//!
//! # The problem
//! "The next number" is a promise about what happens when programs crash and transactions are rolled back, and a stronger
//! promise costs more. There are four kinds; choose the weakest that will do.
//!
//! # Guarantees
//!
//! | | [`Loose`] | [`Blocks`] | [`GapFree`] | [`Ledger`] |
//! |---|---|---|---|---|
//! | unique | yes | yes | yes | yes |
//! | ordered | by the time of asking | within one handle | by the commits | by the time of reserving |
//! | gap-free | no | no: up to a block for each program that ends | yes | every number is used, void with a reason, or known to be open |
//! | after a rollback of the caller's transaction | the number is gone | gone | the next transaction gets it | it is open, then [void](Ledger::void) |
//! | after a crash of the caller | gone | the rest of the block is gone | the next transaction gets it | it is open, until [settled](Ledger::settle) |
//! | when the reply is lost | a number is gone | a block is gone | as the transaction: it knows | the [key](Ledger::reserve) gets the same number |
//! | round trips | 1 | 1 for each block | 1 in the transaction | 2: reserve, use; 1 more for reserving with [periods](Sequence::per) |
//! | many at once | writes of one document | as many as blocks | one transaction after another; those that meet run again | writes of one document, of at most [`most_open`](Ledger::most_open) entries |
//! | without transactions | yes | yes | no: `Unsupported` | all but `void` and `settle` |
//!
//! Each sequence can have [scopes](Sequence::scope) and begin anew with each [period](Sequence::per). The period is that of
//! [`Db::now`](odm::Db::now) when the number is taken; a number knows it.
//!
//! # The stored shape
//! `{_id: "invoices:shop 1:2026", kind: "gap_free", first: 1, given: 41}`; a ledger has `open: [{n, key, since}]` too, and
//! documents `{_id: .., sequence, n, reason, at}` for void numbers. Sharded by `_id`: every operation but
//! `settle`, and `reserve` with periods, names it.
//!
//! # Example
//! ```
//! use odm::Db;
//! use odm::bson::doc;
//! use odm_patterns::period::{Unit, Zone};
//! use odm_patterns::sequence::Sequence;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let db = Db::open("memory:").await?;
//!
//! let tickets = Sequence::new(&db, "tickets").loose();
//! assert_eq!((tickets.next().await?.value, tickets.next().await?.value), (1, 2));
//!
//! let invoices = Sequence::new(&db, "invoices").scope("shop 1").per(Unit::Year, Zone::UTC).gap_free();
//! let number = db
//!     .transaction(async |tx| {
//!         let number = invoices.next(&tx).await?;
//!         tx.raw_collection("invoices").insert(doc! { "_id": number.to_string() }).await?;
//!         Ok(number)
//!     })
//!     .await?;
//! assert_eq!(number.value, 1);
//!
//! let checks = Sequence::new(&db, "checks").first(1000).ledger();
//! let number = checks.reserve("order 7").await?;
//! assert_eq!(checks.reserve("order 7").await?, number);
//! checks.void(&number, "torn").await?;
//! assert!(checks.audit(None, []).await?.is_empty());
//! # Ok(())
//! # }
//! ```

mod blocks;
mod definition;
mod error;
mod gap_free;
mod ledger;
mod loose;

pub use self::blocks::Blocks;
pub use self::definition::{Number, Sequence};
pub use self::error::LedgerError;
pub use self::gap_free::GapFree;
pub use self::ledger::{Ledger, LedgerProblem, Reservation, Void};
pub use self::loose::Loose;
