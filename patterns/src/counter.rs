//! Counters: page views and the like, by the minute, hour, day, month and year, in documents that are made for reading.
//!
//! # The problem
//! Every request is an event; every chart sums up millions of them. Here each event is one update of a document that holds
//! the figures of a period, and a chart reads a few documents.
//!
//! # The stored shape
//! As in the manual: a document for each key and period, `{_id: "month:2026-11:page=/", by: {page: "/"}, from: date, total: 31,
//! days: {"1": 7, "2": 24}}`, with the levels and field names of a [`Layout`]. Measures of events stand beside, in the same
//! places: `bytes: {total: {n, sum, min, max, h}, days: {"1": {n, sum, ..}}}`.
//!
//! # Guarantees
//!
//! | | |
//! |---|---|
//! | granularities | all figures of a [`Layout`] are in one document, and change by one update: day and month never disagree. With [several layouts](Shape::also) the documents change in one transaction |
//! | atomicity | `$inc`, `$min`, `$max`: nothing is read before it is written, no two writers wait for each other's reading |
//! | acknowledged | is counted. What was not acknowledged is in doubt: counted or not, never twice; send it again under its [id](Event::id) |
//! | sent twice | counted once, if it has an id and is among the last [`remember`](Shape::remember) of its document: 100 ids, 2 KB or so. Rolled up, or retired, a document is forgotten with its ids: set [`closed_after`](Shape::closed_after), so that what comes again after that is left out. What comes again after [`shards`](Shape::shards) grew may be counted again |
//! | late events | go where they belong, however late, unless [`closed_after`](Shape::closed_after) |
//! | pre-allocation | adds zeros by `$inc`: it can come before, between and after counts, and changes none |
//! | reports | equal a recount of the events, as of the time of the reading; holes are zeros |
//! | days of 23 and 25 hours | hours are counted from the day's beginning: no two share a figure |
//! | minimum, maximum | of all values; after an event with a value was taken back they say that they may not be exact |
//! | sums | exact for `i64` (an overflow is an error) and `Decimal128` of up to 34 digits; `f64` rounds |
//! | hot keys | [`shards`](Shape::shards): n documents for one, added up when they are read |
//! | [`roll_up`](Counters::roll_up), [`retire`](Counters::retire) | can be stopped and run again anywhere; a document is moved by one transaction |
//! | [`Coalescer`] | adds up in memory; loses what was not flushed, and nothing else |
//! | round trips | `record` 1; a report 1 for each 500 documents |
//! | sharded collections | by `_id`, hashed: every operation but `by_key`, `roll_up`, `retire` and `verify` names it |
//! | time | [`Db::now`](odm::Db::now), where an event does not say when it happened |
//!
//! # Example
//! ```
//! use odm::Db;
//! use odm::bson::DateTime;
//! use odm_patterns::counter::{Counters, Event, Key, Layout, Measure, Shape};
//! use odm_patterns::period::Unit;
//!
//! # #[tokio::main]
//! # async fn main() -> odm::Result<()> {
//! let db = Db::open("memory:").await?;
//! let day = |day| DateTime::builder().year(2026).month(11).day(day).build().expect("a date");
//! let shape = Shape::new(Layout::per(Unit::Month).by(Unit::Day)).measure(Measure::new("bytes").extremes());
//! let views = Counters::new(&db, "page_views", shape)?;
//!
//! let home = Key::of("page", "/");
//! views.preallocate(&home, day(1)).await?;
//! views.record(Event::of(home.clone()).at(day(2)).value("bytes", 512)).await?;
//! views.record(Event::of(home.clone()).at(day(4)).value("bytes", 90).id("request 7")).await?;
//! views.record(Event::of(home.clone()).at(day(4)).value("bytes", 90).id("request 7")).await?;
//!
//! let report = views.report(&home, day(1)..day(5), Unit::Day).await?;
//! assert_eq!(report.counts(), [0, 1, 0, 1]);
//! assert_eq!(report.total()?.values["bytes"].sum, 602);
//! let november = views.report(&home, day(1)..day(2), Unit::Month).await?;
//! assert_eq!(november.counts(), [2]);
//! # Ok(())
//! # }
//! ```

mod change;
mod coalesce;
mod counters;
mod event;
mod key;
mod layout;
mod read;
mod report;
mod shape;
mod tend;
mod verify;

pub use self::coalesce::{Coalesced, Coalescer};
pub use self::counters::{Counters, Recorded};
pub use self::event::Event;
pub use self::key::Key;
pub use self::layout::Layout;
pub use self::report::{Cell, Report, Summary};
pub use self::shape::{Measure, Shape};
pub use self::tend::{Retired, RolledUp};
pub use self::verify::{CounterProblem, CounterProblemKind};
