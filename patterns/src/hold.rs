//! Checkout and inventory on one document: take, return, hold for a while, confirm, and an equation that always holds.
//!
//! # The problem
//! Sixty-four people want one of three copies. Who reads first and writes then lends the last copy twice. Here every
//! operation is **one conditional write on one document**: the condition and the change are one atomic step, and nobody
//! reads before writing.
//!
//! # The stored shape
//! That of the MongoDB manual, which existing data can be adopted from as it is:
//!
//! ```text
//! { _id: 1, title: "Emma", available: 2, checkout: [ { by: "joe", date: ISODate(..) } ] }
//! ```
//!
//! A hold is an element of the same array with an id and an end: `{ by, date, hold: "order-7", until: ISODate(..) }`,
//! and a `quantity` where that is not 1. Three more fields are there if the model declares them: `sold` counts what was
//! confirmed, `stock` how many there are in all, and `settled` remembers how the last holds ended, so that an operation
//! that is sent twice is answered as it was the first time.
//!
//! The equation is **available + held + sold = stock**, where held is the sum of the quantities in `checkout`.
//!
//! # Guarantees
//!
//! | operation | round trips | when it is sent twice | what a crash can do |
//! |---|---|---|---|
//! | [`take`](Shelf::take), [`give_back`](Shelf::give_back) | 1; refused 2 | a second copy: use a hold where that matters | it happened or not, never a part |
//! | [`hold`](Shelf::hold), [`confirm`](Shelf::confirm), [`confirm_part`](Shelf::confirm_part), [`release`](Shelf::release), [`extend`](Shelf::extend) | 1; repeated or refused 2 | the same answer, once | the same |
//! | [`expire`](Shelf::expire), [`sweep`](Shelf::sweep), [`restock`](Shelf::restock) | 1; refused `restock` 2 | `restock` adds again | the same for each document |
//! | [`stock`](Shelf::stock) | 1 | | |
//! | [`verify`](Shelf::verify), [`repair`](Shelf::repair) | 1 for each batch of documents; `repair` 1 for each problem | | |
//!
//! * **Never oversold**: `available` does not go below 0 by any of these, however many run at once.
//! * **Expiry** is by [`Db::now`](odm::Db::now). An expired hold can no longer be confirmed. Its copies come back with
//!   the next `take` or `hold` of the same document, in the same write, or with a sweep, whichever is first.
//! * **Loans**: a hold that became a loan and is given back is remembered as released, so that no late repeat makes it anew.
//! * **Memory**: `settled` keeps the last [`remember`](Shelf::remember) holds of a document (100 unless said otherwise).
//!   A hold id that is older than that is [`UnknownHold`](HoldError::UnknownHold), and could be used anew.
//! * **Softly deleted** items are no longer lent or held: they are [`NoItem`](HoldError::NoItem). What is out comes to its end
//!   all the same: it can be confirmed, released, given back, and expires, and [`stock`](Shelf::stock) tells the figures.
//! * **Ids** of holds, and who has copies, are told apart by their bytes, whatever the collation of the collection.
//! * **Size**: a hold is of 2,147,483,647 copies at the most, however many there are.
//! * **Growth**: `checkout` grows with what is out at one time. Declare `#[odm(max = ..)]` on it if that may be much.
//! * **Sharded**: every operation is an update by `_id` of one document, which MongoDB routes by the shard key if that is
//!   `_id`, and otherwise asks all shards for; a sweep asks all shards. Atomicity is that of one document in any case.
//!
//! # Example
//! ```
//! use odm::{Db, Model, bson::DateTime};
//! use odm_patterns::hold::{Checkout, HoldError, Inventory, Settled, Shelf, Stocked};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Model)]
//! struct Ticket {
//!     #[serde(rename = "_id")]
//!     id: String,
//!     available: i32,
//!     checkout: Vec<Checkout>,
//!     #[serde(default)]
//!     sold: i32,
//!     stock: i32,
//!     #[serde(default)]
//!     settled: Vec<Settled>,
//! }
//!
//! impl Stocked for Ticket {
//!     fn inventory(t: TicketFields) -> Inventory<Ticket> {
//!         Inventory::new(&t.available, &t.checkout).sold(&t.sold).stock(&t.stock).settled(&t.settled)
//!     }
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> odm::Result<()> {
//! let db = Db::open("memory:").await?;
//! let concert = "concert".to_owned();
//! let ticket = Ticket { id: concert.clone(), available: 2, checkout: vec![], sold: 0, stock: 2, settled: vec![] };
//! db.collection::<Ticket>().insert(ticket).await?;
//!
//! let shelf = Shelf::<Ticket>::new(&db);
//! let start = db.now().timestamp_millis();
//! let minutes = |minutes: i64| DateTime::from_millis(start + minutes * 60_000);
//! shelf.hold(&concert, "order-1", "ann", 2, minutes(10)).await?;
//! assert!(matches!(shelf.hold(&concert, "order-2", "joe", 1, minutes(10)).await, Err(HoldError::SoldOut { .. })));
//!
//! // Ten minutes later her hold is over, and joe's takes its place in one write.
//! let ten = minutes(10);
//! let later = Shelf::<Ticket>::new(&db.with_clock(move || ten));
//! later.hold(&concert, "order-2", "joe", 1, minutes(20)).await?;
//! assert!(matches!(later.confirm(&concert, "order-1").await, Err(HoldError::Expired)));
//! later.confirm(&concert, "order-2").await?;
//!
//! let stock = later.stock(&concert).await?;
//! assert_eq!((stock.available, stock.held, stock.sold), (1, 0, 1));
//! assert!(later.verify().await?.is_empty());
//! # Ok(())
//! # }
//! ```

#![allow(
    clippy::result_large_err,
    reason = "callers match on the fields; what fails is followed by a round trip, not by a loop"
)]

mod audit;
mod checkout;
mod error;
mod inventory;
mod seen;
mod shelf;
mod statement;

pub use self::audit::{StockProblem, StockProblemKind, StockRepair};
pub use self::checkout::{Checkout, Ending, Settled};
pub use self::error::HoldError;
pub use self::inventory::{Inventory, Stocked};
pub use self::seen::Stock;
pub use self::shelf::{Answered, Shelf};
