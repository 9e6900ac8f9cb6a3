//! Approximation: numbers that are right enough, for a fraction of the writes.
//!
//! # The problem
//! A page is seen ten thousand times a minute, and nobody needs its counter to the last digit. Writing each view is ten
//! thousand updates of one document, one after the other. Two ways to write less:
//!
//! | | [`Sampled`] | [`Batched`] |
//! |---|---|---|
//! | how | one view in n is written, as n | views are summed up here, and written when they are so many, or so old |
//! | writes | 1/n, and none to lose in a crash | 1 for each threshold |
//! | error | of chance: right on average; the standard deviation after k views is √(k·(n-1)), [`relative_error`](Sampled::relative_error) | none but what was not written yet: at the most the threshold for each key and process |
//! | crash | as without it | loses what was not written |
//! | state | none | in memory, in each process |
//!
//! # Guarantees
//!
//! | | |
//! |---|---|
//! | atomicity | each write is one `$inc` of one document, together with what else the update says |
//! | round trips | [`Sampled`] 1/n for each view; [`Batched`] one for each flush of a key |
//! | a failed write | [`Batched`] keeps the amount and writes it with the next, unless the database may have written it: then what to do is [said](Batched::when_in_doubt) |
//! | a dropped future | [`Batched`] keeps what was not tried; the one sum that is being written is in doubt, as above |
//! | sharded | nothing of its own |
//!
//! # Example
//! ```
//! use odm::{Db, Model};
//! use odm_patterns::approximation::{Batched, Sampled};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Model)]
//! struct Page {
//!     #[serde(rename = "_id")]
//!     id: i32,
//!     views: i64,
//!     bytes: i64,
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> odm::Result<()> {
//! let db = Db::open("memory:").await?;
//! let pages = db.collection::<Page>();
//! pages.insert(Page { id: 1, views: 0, bytes: 0 }).await?;
//!
//! let views = Sampled::one_in(100);
//! let bytes = Batched::<Page>::new(&db, |p| p.bytes, 10_000);
//! for _ in 0..1_000 {
//!     if let Some(amount) = views.hit() {
//!         pages.update_one(|p| p.id.eq(1), |p| p.views.inc(amount)).await?;
//!     }
//!     bytes.add(1, 512).await?;
//! }
//! bytes.flush().await?; // when the program ends, and now and then
//! let page = pages.get(1).required().await?;
//! assert_eq!((page.bytes, page.views % 100), (512_000, 0));
//! println!("{} views, ± {:.0} %", page.views, 100.0 * views.relative_error(page.views));
//! # Ok(())
//! # }
//! ```

mod batched;
mod sampled;

pub use self::batched::{Batched, InDoubt};
pub use self::sampled::Sampled;
