//! Buckets: measurements or messages, many to a document.
//!
//! # The problem
//! A sensor speaks once a second. A document for each measurement costs an index entry and a fetch each; one document for
//! all grows without end. So a document holds those of an hour, or a hundred messages, with their count, sum, minimum and
//! maximum beside them. The usual recipe, "push into the bucket of this sensor that has room, or upsert one", opens two
//! buckets when two writers find none, for ever after. Here the key of a bucket is its series **and its number**, and it is
//! the `_id`: of two that open one, one pushes into the other's.
//!
//! # Two kinds
//!
//! | | [`by_span`](Buckets::by_span) | [`by_count`](Buckets::by_count) |
//! |---|---|---|
//! | the number | the time, divided by the span | counted up as the last one is full |
//! | late data | goes where it belongs | goes into the newest bucket |
//! | order of reading | by time | by time within a range, by arrival in pages |
//! | size | as many as come: choose a span for hundreds, not for 100,000; an entry that there is no room for (16 MiB) is refused | bounded; a bucket that has no room for an entry is left for the next one |
//! | round trips of [`record`](Buckets::record) | 1 for each bucket, 1 more where all is there already, 2 where a part is, and 1 for keys that have text | 2 for each bucket, 1 more where a part is there already and the keys have text, 2 more where one is left for its size; 1 where all is there already |
//!
//! # The stored shape
//! `{_id: {series, number}, from, to, count, figures: {count, sum, squares, min, max}, entries: [..]}`. The figures are
//! those of [`computed`](crate::computed), and so is what is exact in them. `full: true` is in a bucket by count that was
//! full before an entry was taken out of it, or had no room for the size of one.
//!
//! # Guarantees
//!
//! | | |
//! |---|---|
//! | atomicity | an entry and the figures are one update. Several entries at once: one update for each bucket |
//! | concurrency | no bucket twice, no entry lost; a bucket by count never has more than its size |
//! | crash, lost reply | the entry is there or not. With [`unique`](Buckets::unique) it can be recorded again, by anyone and at the same time: it is there once. By count that holds as long as nobody deletes buckets of the series meanwhile, and all record with the same size |
//! | change of an entry | [`replace`](Buckets::replace) and [`remove`](Buckets::remove) are one update of one bucket, which computes the figures anew from its entries. Either can be done again |
//! | in a transaction | as outside |
//! | deletion by age | [`forget_before`](Buckets::forget_before) deletes buckets whose newest entry is older, one by one, each on that condition |
//! | sharded | writes name the whole `_id`. Shard by `_id`, ranged, so that the buckets of a series are together |
//!
//! # Example
//! ```
//! use std::time::Duration;
//!
//! use odm::bson::DateTime;
//! use odm::{Db, Embedded};
//! use odm_patterns::bucket::Buckets;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
//! struct Reading {
//!     at: DateTime,
//!     celsius: f64,
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> odm::Result<()> {
//! let db = Db::open("memory:").await?;
//! let weather = Buckets::<String, Reading>::by_span(&db, "weather", Duration::from_secs(3600), |r| r.at)
//!     .value(|r| r.celsius)
//!     .unique(|r| r.at);
//! weather.prepare().await?;
//!
//! let minute = |n: i64| DateTime::from_millis(n * 60_000);
//! let roof = "roof".to_owned();
//! for n in [0, 30, 60, 61, 30] {
//!     weather.record(&roof, [Reading { at: minute(n), celsius: n as f64 }]).await?;
//! }
//! let hours = weather.buckets(&roof, minute(0)..minute(1_000)).await?;
//! let figures = hours[1].figures.as_ref();
//! assert_eq!((hours.len(), figures.and_then(|f| f.mean())), (2, Some(60.5)));
//! assert_eq!(weather.range(&roof, minute(30)..minute(61)).await?.len(), 2);
//!
//! // The newest first, three to a page.
//! let page = weather.page(&roof, 3, None).await?;
//! assert_eq!(page.entries[0].at, minute(61));
//! let page = weather.page(&roof, 3, page.next).await?;
//! assert_eq!((page.entries[0].at, page.next), (minute(0), None));
//! # Ok(())
//! # }
//! ```

mod audit;
mod buckets;
mod encoded;
mod page;
mod record;
mod replace;
mod stored;

pub use self::audit::{BucketProblem, BucketProblemKind};
pub use self::buckets::{Buckets, NoKey};
pub use self::page::{BucketPage, BucketPlace};
pub use self::record::Recorded;
pub use self::stored::{Bucket, BucketKey};
