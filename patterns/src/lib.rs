//! Schema-design patterns for `odm`: ready, crash-safe implementations on its public API. Each works on every backend.
//!
//! ```
//! use odm::{Db, Model};
//! use odm_patterns::tree::{DeleteMode, Tree, TreeOptions};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Model)]
//! struct Folder {
//!     #[serde(rename = "_id")]
//!     id: String,
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> odm::Result<()> {
//! let db = Db::open("memory:").await?;
//! let folders = Tree::<Folder>::open(&db, TreeOptions::new()).await?;
//! folders.insert_root(Folder { id: "mail".into() }).await?;
//! folders.insert_child("mail", Folder { id: "old".into() }).await?;
//! assert_eq!(folders.delete("mail", DeleteMode::Cascade).await?, 2);
//! # Ok(())
//! # }
//! ```
//!
//! # By problem
//!
//! | | |
//! |---|---|
//! | the last copy must not be sold twice; things are taken, held, returned | [`hold`] |
//! | a document is changed by code, and never over somebody else's change | [`version`] |
//! | counts, sums, means, extremes of what belongs to a document | [`computed`] |
//! | a counter that may be off by a percent | [`approximation`] |
//! | page views by minute, hour, day, month | [`counter`], by the calendar of [`period`] |
//! | numbers of invoices, orders, tickets | [`sequence`] |
//! | several effects that belong together and do not fit one transaction | [`saga`] |
//! | a request that is sent twice | [`idempotency`] |
//! | events that are published if, and only if, the change happened | [`outbox`] |
//! | work for later, for other processes, again and again | [`queue`] |
//! | nodes with parents: categories, folders, comments | [`tree`] |
//! | the newest N, or the best, in the document | [`recent`] |
//! | measurements or messages, many to a document | [`bucket`] |
//! | an array that is short, but for a few documents | [`outlier`] |
//! | the first ten of thousands in the document | [`subset`] |
//! | products of many types with attributes of their own | [`attributes`] |
//! | what a document said before | [`history`] |
//! | documents that are done with | [`archive`] |
//! | documents with an end, capped logs, a collection for each month | [`lifecycle`] |
//! | steps that change a database once | [`migration`] |
//! | files of any size | [`gridfs`] |
//! | texts searched by words, the best first | `search`, feature `search` |
//! | exact amounts of money, accounts | `money`, feature `money` |
//! | what the clock on the wall showed, or is to show | `time`, feature `time` |
//! | fields that only the program reads | `encryption`, feature `encryption` |
//! | clocks of machines that disagree | [`clock`] |
//!
//! The guide has a page for each of them, listed in `docs/guide/README.md` of the package `odm`.
//!
//! # Cargo features
//!
//! | feature | | |
//! |---|---|---|
//! | `search` | default | `search`: keyword search |
//! | `stemming` | | with it `search`: stems and stop words of languages |
//! | `cron` | | `queue::Schedule`: cron expressions with time zones |
//! | `zones` | | `period::Zone::named`: named time zones for counters and sequences |
//! | `time` | | `time`: local time; the time zone database is bundled |
//! | `money` | | `money`: exact amounts, accounts |
//! | `encryption` | | `encryption`: encrypted fields; no C compiler |
//!
//! The backends are features of `odm`: name that in your own `Cargo.toml` beside this crate.

pub mod approximation;
pub mod archive;
pub mod attributes;
mod beside;
pub mod bucket;
pub mod clock;
pub mod computed;
pub mod counter;
#[cfg(doctest)]
mod doctests;
mod dotted;
#[cfg(feature = "encryption")]
pub mod encryption;
mod exact;
#[allow(
    clippy::result_large_err,
    reason = "errors name the file by its id, and are rare"
)]
pub mod gridfs;
mod hexadecimal;
#[allow(
    clippy::result_large_err,
    reason = "errors name the document by its `_id`, and are rare"
)]
pub mod history;
pub mod hold;
pub mod idempotency;
mod identity;
mod keyed;
mod later;
mod length;
pub mod lifecycle;
pub mod migration;
#[cfg(feature = "money")]
pub mod money;
mod newest;
mod numbered;
pub mod outbox;
pub mod outlier;
mod own;
pub mod period;
pub mod queue;
pub mod recent;
pub mod saga;
#[cfg(feature = "search")]
pub mod search;
pub mod sequence;
mod still;
pub mod subset;
#[cfg(feature = "time")]
pub mod time;
pub mod tree;
mod value;
pub mod version;
