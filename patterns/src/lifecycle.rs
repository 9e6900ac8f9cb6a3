//! The end of data: fields with an expiry, capped logs that can be followed, and a collection for each month.
//!
//! # The problem
//! What comes in every day has to go some day. Three ways, from the finest to the cheapest:
//!
//! | | [`Expiry`] | [`CappedLog`] | [`Periods`] |
//! |---|---|---|---|
//! | what goes | single documents, at a date of their own | the oldest, when the space is used up | whole months (years, days, hours) at once |
//! | when | within about a minute after the date | in the write that needs the room | when [`retain`](Periods::retain) runs |
//! | cost of going | a deletion and its index entries each | nothing | dropping a collection: nothing for each document |
//! | kept for sure | until the date | **nothing** | the periods that you say |
//! | read as | one collection | one collection, also as a stream that waits for more | a range over several, as one stream in order |
//! | transactions | yes | no (code 263) | inserts yes, dropping no |
//! | sharded | as any collection | never | each collection by itself: an index on the date as the shard key |
//!
//! # The stored shape
//! Plain documents. Periods are collections `logs_2026`, `logs_2026_11`, `logs_2026_11_21` or `logs_2026_11_21_07`, in UTC.
//!
//! # Guarantees
//!
//! | | |
//! |---|---|
//! | [`Expiry`] | the database deletes late: [`alive`](Expiry::alive) is the condition that holds to the millisecond, and [`extend`](Expiry::extend) never revives what has expired |
//! | [`Periods::insert`] | by the document's own date, into the collection of that period, however late it comes; a period that is not kept any more is an error, not a new collection |
//! | [`Periods::range`] | in the order of dates, one collection after the other. What is inserted behind the place where the stream is, is not seen |
//! | [`Periods::retain`], crash | one drop for each collection, the oldest first; run again, it goes on. Two at once are no harm |
//! | [`CappedLog::tail`] | each document once, in the order of insertion, for as long as the reader is not slower than the log is long: then it is an error, never a gap |
//! | time | [`Db::now`](odm::Db::now); the database's TTL monitor goes by its own clock |
//!
//! # Example
//! ```
//! use odm::bson::DateTime;
//! use odm::{Db, Model};
//! use odm_patterns::lifecycle::{Period, Periods};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Model)]
//! #[odm(collection = "logs")]
//! struct Entry {
//!     #[serde(rename = "_id")]
//!     id: i32,
//!     #[odm(index)]
//!     at: DateTime,
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let day = |month, day| DateTime::builder().year(2026).month(month).day(day).build();
//! let now = day(11, 21)?;
//! let db = Db::open("memory:").await?.with_clock(move || now);
//!
//! let logs = Periods::<Entry>::new(&db, Period::Month, |e| e.at).keep(3);
//! logs.prepare(1).await?; // this month and the next, with their indexes
//! for (id, at) in [(1, day(11, 3)?), (2, day(9, 30)?), (3, day(11, 1)?)] {
//!     logs.insert(&Entry { id, at }).await?;
//! }
//! assert_eq!(logs.name_of(now)?, "logs_2026_11");
//! assert!(logs.insert(&Entry { id: 4, at: day(8, 31)? }).await.is_err());
//!
//! let mut entries = logs.range(day(9, 1)?..now).await?;
//! let mut ids = Vec::new();
//! while let Some(entry) = entries.try_next().await? {
//!     ids.push(entry.id);
//! }
//! assert_eq!(ids, [2, 3, 1]);
//!
//! let later = day(12, 1)?;
//! let logs = Periods::<Entry>::new(&db.with_clock(move || later), Period::Month, |e| e.at).keep(3);
//! assert_eq!(logs.retain().await?, ["logs_2026_09"]);
//! # Ok(())
//! # }
//! ```

mod capped;
mod expiry;
mod period;
mod periods;
mod range;
mod tail;

pub use self::capped::CappedLog;
pub use self::expiry::{Expiry, ExpiryProblem};
pub use self::period::Period;
pub use self::periods::Periods;
pub use self::range::PeriodRange;
pub use self::tail::Tail;
