//! Computed values: count, sum, mean, variance, minimum and maximum, kept by the updates that change what they are of.
//!
//! # The problem
//! A film's page shows the mean of a million ratings. Asking for it each time reads a million documents; asking once a
//! night is wrong all day. Here the figures stand in the film, and the update that stores a rating (or, where ratings are
//! documents of their own, the transaction) carries the change of the figures along.
//!
//! # The stored shape
//! `{count, sum, squares, min, max, removed_min, removed_max}`, of a type `T`: `i64`, `f64` or `Decimal128`.
//!
//! # What is exact
//!
//! | | `i64` | `Decimal128` | `f64` |
//! |---|---|---|---|
//! | count, sum | exact; a sum beyond 64 bits is an error of the update | exact up to 34 digits, then rounded by the database | rounded at each step: the order of updates shows in the last digits |
//! | [`mean`](Running::mean) | one rounding | two | as the sum |
//! | [`variance`](Running::variance), by the sum of squares | exact before its one rounding; values beyond 3·10⁹ are an error, their squares beyond 64 bits | as `f64` from exact sums; a square of more than 34 digits is an error | cancels where the deviation is small against the mean: store differences from a typical value then |
//! | minimum, maximum | exact, until what was one is removed: then [`is_exact`](Extreme::is_exact) says so | the same | the same |
//!
//! Removal is exact for count, sum and squares (`f64`: rounded). The next smallest value cannot be known without the
//! others, so that after the removal of a minimum what is stored is a lower bound, until [`rebuild`](Figures::rebuild).
//!
//! # Guarantees
//!
//! | | |
//! |---|---|
//! | atomicity | the figures change with what they are of, in one update, however many at once; no reading |
//! | round trips | none of its own; [`verify`](Figures::verify) and [`rebuild`](Figures::rebuild) 1 to read, 1 to write, the commit, and those of the source |
//! | crash | as the update: all of it or nothing |
//! | contention | every value is a write of one document: where thousands arrive in a second, sum up in several and add them |
//! | sharded | nothing of its own. Figures in another document than their source need a transaction, which may span shards |
//!
//! # Example
//! ```
//! use odm::{Db, Model};
//! use odm_patterns::computed::{Accumulate, Running};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Model)]
//! struct Film {
//!     #[serde(rename = "_id")]
//!     id: i32,
//!     last: Vec<i64>,
//!     ratings: Running<i64>,
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> odm::Result<()> {
//! let films = Db::open("memory:").await?.collection::<Film>();
//! films.insert(Film { id: 1, last: vec![], ratings: Running::default() }).await?;
//! for stars in [4, 1, 4] {
//!     films
//!         .update_one(
//!             |f| f.id.eq(1),
//!             |f| f.last.push_each_with([stars], |p| p.slice(-10)) & f.ratings.record(stars),
//!         )
//!         .await?;
//! }
//! films.update_one(|f| f.id.eq(1), |f| f.last.pull(1) & f.ratings.remove(1)).await?;
//!
//! let ratings = films.get(1).required().await?.ratings;
//! assert_eq!((ratings.count, ratings.mean(), ratings.variance()), (2, Some(4.0), Some(0.0)));
//! // The one star is gone, and what comes after it is not known.
//! assert_eq!((ratings.minimum().value, ratings.minimum().is_exact), (Some(1), false));
//! assert_eq!((ratings.maximum().value, ratings.maximum().is_exact), (Some(4), true));
//! # Ok(())
//! # }
//! ```

mod accumulate;
mod amount;
mod decimal;
mod figures;
mod running;

pub use self::accumulate::Accumulate;
pub use self::amount::Amount;
pub use self::figures::{Difference, Figures};
pub use self::running::{Extreme, Running};
