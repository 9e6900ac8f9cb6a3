//! The last N: a list of the newest, or the best, kept in the document by the update that adds to it.
//!
//! # The problem
//! A product's page shows its ten newest reviews, a game its hundred best scores, a user the last places where they were.
//! Reading the list, adding, sorting, cutting and writing it back loses what somebody else adds meanwhile. The database does
//! it in one update: `$push` with `$each`, `$sort` and `$slice`; or, where each key may be in the list once, a pipeline.
//!
//! # The stored shape
//! An array of the model's own. Nothing else.
//!
//! # Which ones, in which order
//!
//! | | stored | keeps |
//! |---|---|---|
//! | [`Recent::new`] | as they came | the last N |
//! | [`.newest_first()`](Recent::newest_first) | the other way round | the last N, which are the first |
//! | [`.by(\|r\| r.stars.desc())`](Recent::by) | in this order | the first N of it |
//! | [`.by(\|r\| r.at.asc()).keep_end()`](Recent::keep_end) | in this order | the last N of it |
//! | [`.ascending()`](Recent::ascending), [`.descending()`](Recent::descending) | plain values in their order | the first N of it; with `keep_end` the last |
//! | [`.unique_by(\|r\| r.user)`](Recent::unique_by) | any of these | of each key the one that was added last; those without one all |
//!
//! # Guarantees
//!
//! | | |
//! |---|---|
//! | atomicity | adding, sorting and cutting are one update of one document, together with whatever else it changes (a pipeline, where keys are unique, stands alone) |
//! | concurrency | none is lost that belongs into the list |
//! | crash, lost reply | added or not. With `unique_by`, adding again changes nothing |
//! | round trips | 1, and no reading |
//! | cost | the server rewrites the array: keep N in the hundreds |
//! | sharded | nothing of its own |
//!
//! # Example
//! ```
//! use odm::{Db, Embedded, Model};
//! use odm_patterns::recent::Recent;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
//! struct Score {
//!     player: String,
//!     points: i64,
//! }
//!
//! #[derive(Serialize, Deserialize, Model)]
//! struct Game {
//!     #[serde(rename = "_id")]
//!     id: i32,
//!     plays: i64,
//!     best: Vec<Score>,
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> odm::Result<()> {
//! let games = Db::open("memory:").await?.collection::<Game>();
//! games.insert(Game { id: 1, plays: 0, best: vec![] }).await?;
//!
//! let best = Recent::<Game, _>::new(2, |g| g.best).by(|s| s.points.desc());
//! for (player, points) in [("ann", 30), ("joe", 10), ("eve", 20)] {
//!     let score = Score { player: player.into(), points };
//!     games.update_one(|g| g.id.eq(1), |g| best.add([score]) & g.plays.inc(1)).await?;
//! }
//! let game = games.get(1).required().await?;
//! let players: Vec<_> = game.best.iter().map(|score| score.player.as_str()).collect();
//! assert_eq!((players, game.plays), (vec!["ann", "eve"], 3));
//! assert!(best.verify(&games).await?.is_empty());
//! # Ok(())
//! # }
//! ```

mod audit;
mod list;

pub use self::audit::{RecentProblem, RecentProblemKind};
pub use self::list::Recent;
