//! Document history: every version of a document, what was different, what it was at a time, and back again.
//!
//! # The problem
//! A policy is changed, and a year later somebody has to know what it said in May. Keeping all versions in one collection
//! makes every query ask for the newest; keeping them in the document lets it grow for ever. So the current version stays
//! where it is, queried as ever, and each version that it replaces goes into a collection beside it.
//!
//! Works for any model with `#[odm(version)]`. Of a model that has `#[odm(updated)]` too, times are those of the
//! documents; otherwise they are those at which the versions were copied.
//!
//! # The stored shape
//! Documents stay as they are. `{collection}_history` has one entry for each version that was replaced or deleted:
//! `{_id: {of, version}, from, until, deleted, restored, document}`, and `refused` while the change that it was copied for was
//! refused. `of` is the `_id` as it is stored. Of one of several kinds in a collection, `document` says which it is.
//!
//! # Guarantees
//! Every change is two writes, **history first**: the current version is copied under its version; then the change is
//! made on the condition that the document still is of that version. An entry can therefore exist for the current version,
//! when a writer lost or died between the two; it is the same document, and no version of its own.
//!
//! | | |
//! |---|---|
//! | versions | none is lost, whoever dies where, as long as all changes go through the handle (or [`verify`](History::verify) says which are missing between those that are there) |
//! | other patterns | publishing from an [`Outbox`](crate::outbox::Outbox) is no change: it counts no version. Those that change documents themselves ([`Effect::apply`](crate::saga::Effect::apply), [`Shelf`](crate::hold::Shelf)) go around the handle, and leave gaps |
//! | refused changes | leave a copy of the current version, which is used by the next change, or made anew should the document be changed without its version until then. Migrations are no such change |
//! | kinds | each kind sees its own versions alone; an `_id` that another kind's history has is not inserted |
//! | concurrent writers | each change is of the version that its writer saw; who was slower tries again |
//! | crash | between the two writes: nothing was changed. After a lost reply: the change happened, and trying again is another change |
//! | in a transaction | made of `&tx`, both writes are part of it |
//! | round trips | a change 3: read, copy, write; after a refused one 4. [`versions`](History::versions) 2, [`as_of`](History::as_of) 4 at the most |
//! | times | with `#[odm(updated)]` exact. Without, a change counts from when the version before it was copied last: the moment of the change, unless its writer died or lost between the two writes and no other change of that version came after it |
//! | deletion | the last version stays, with its end. [`restore`](History::restore) goes on with the next version |
//! | soft deletion | is a deletion: what stays of the document is no version. `restore` keeps it in the history (with a field `gone`), where its number is skipped |
//! | sharded | writes name the whole `_id`. Shard the history by `_id`, ranged, so that the versions of a document are together |
//! | time | [`Db::now`](odm::Db::now) |
//!
//! # Example
//! ```
//! use odm::bson::DateTime;
//! use odm::{Db, Model};
//! use odm_patterns::history::History;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Model)]
//! struct Policy {
//!     #[serde(rename = "_id")]
//!     id: i32,
//!     holder: String,
//!     insured: i64,
//!     #[odm(version)]
//!     version: i64,
//!     #[odm(updated)]
//!     changed: DateTime,
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let may = DateTime::builder().year(2026).month(5).day(1).build()?;
//! let june = DateTime::builder().year(2026).month(6).day(1).build()?;
//! let db = Db::open("memory:").await?;
//!
//! let history = History::<Policy>::new(&db.with_clock(move || may));
//! let ann = Policy { id: 1, holder: "Ann".into(), insured: 100, version: 0, changed: may };
//! history.insert(&ann).await?;
//!
//! let history = History::<Policy>::new(&db.with_clock(move || june));
//! assert_eq!(history.update(1, |p| p.insured.inc(50)).await?, 1);
//!
//! // What it said in May, what has changed, and back again.
//! assert_eq!(history.as_of(1, may).await?.map(|policy| policy.insured), Some(100));
//! assert_eq!(history.diff(1, 0, 1).await?[0].path, "insured");
//! assert_eq!(history.revert(1, 0).await?, 2);
//! assert_eq!(history.get(1, 2).await?.insured, 100);
//! assert_eq!(history.versions(1).await?.len(), 3);
//! # Ok(())
//! # }
//! ```

mod difference;
mod error;
mod keep;
mod keeper;
mod read;
mod version_info;

pub use self::difference::Difference;
pub use self::error::HistoryError;
pub use self::keep::{HistoryProblem, HistoryProblemKind};
pub use self::keeper::History;
pub use self::version_info::VersionInfo;
