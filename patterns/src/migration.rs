//! Migrations: named steps that change a database, each run once, in their order, by whoever starts first.
//!
//! # The problem
//! A release needs its collections to look as it expects: a field is split, an index takes the place of another, prices
//! move into a collection of their own. Several processes start at once, one of them is killed half way, and the next
//! release brings more. What a document's own shape says is a [schema version](odm::Model): documents are brought into
//! their present shape when they are read, one by one. Migrations are for all the rest.
//!
//! # The stored shape
//! One document for a step, in the collection `migrations`: see [`StepRecord`]. One document for who is migrating, in
//! `migrations.lease`: see [`MigrationLease`].
//!
//! # How it runs
//! * [`Migrations::run`] looks what is done. Where something is left, it takes the **lease**, which gets the next **token**,
//!   a counter that never goes back; who finds it taken waits, and then finds everything done.
//! * A step's **intent** is written into the lease, and then into its record, before it begins. Its end is written only if the
//!   record still has the token. Whoever takes over puts the next token into the record of the step that was announced
//!   before anything is read, so that what the one before writes late changes nothing.
//! * While a step runs, signs of life make the lease last. When it is lost all the same, the step is dropped where it waits,
//!   and the error is [`LeaseLost`](MigrationErrorKind::LeaseLost).
//! * Where the lease's document is deleted, its next token is one more than the highest that is recorded.
//! * A step that fails stops the run, and is the first of the next one. So is one whose process died.
//!
//! # Guarantees
//!
//! | step | happens | after a crash |
//! |---|---|---|
//! | [`Step::new`] | at least once: it must be idempotent | from its beginning |
//! | [`transactional`](Step::transactional) | once: its writes and its record are one transaction | not at all, or it was all |
//! | [`Step::each`] | at least once for each document, of the last batch alone more than once | behind the last batch |
//! | [`Step::each`], transactional | once for each document: each batch and its position are one transaction | behind the last batch |
//! | [`Step::resumable`] | at least once from each position that it saves | from the position that it saved last |
//!
//! | | |
//! |---|---|
//! | order | that of the list; no step begins before the one before it is recorded as done |
//! | round trips | 1 where nothing is to be done; else 4, and 3 for each step beside its own; a sign of life each 20 seconds |
//! | batches | one write for each document that is different; in a transaction one for all of them |
//! | a zombie | may go on with its plain step until it waits the next time; it records nothing, and begins nothing more |
//! | changes of others | each document of [`Step::each`] is written only if it is what was read, or read again |
//! | growth | one small document for each step, for ever |
//! | time | [`Db::now`](odm::Db::now). Clocks that disagree cost a lease, never order: tokens decide; see [`ServerClock`](crate::clock::ServerClock) |
//! | failover | leases and records are as safe as the write concern of the URL: `majority`, unless it says otherwise |
//! | sharded | each write names its `_id`; the records need no sharding |
//!
//! # Example
//! ```
//! use odm::bson::doc;
//! use odm::{Db, Model};
//! use odm_patterns::migration::{Migrations, Progress, Step};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, Serialize, Deserialize, Model)]
//! struct Person {
//!     #[serde(rename = "_id")]
//!     id: i32,
//!     #[odm(index)]
//!     first: String,
//!     last: String,
//! }
//!
//! fn migrations() -> Migrations {
//!     Migrations::new()
//!         .version("1.4.0")
//!         // Documents, batch by batch.
//!         .step(
//!             Step::each::<Person>("2026_11_01_split_names", |p| p.first.missing(), |person| {
//!                 let name = person.get_str("name")?.to_owned();
//!                 let (first, last) = name.split_once(' ').unwrap_or(("", &name));
//!                 person.insert("first", first);
//!                 person.insert("last", last);
//!                 person.remove("name");
//!                 Ok(())
//!             })
//!             .describe("first and last names instead of one"),
//!         )
//!         // Anything else that can be done again.
//!         .step(
//!             Step::new("2026_11_02_indexes", async |db: Db| {
//!                 db.collection::<Person>().sync_indexes().await?;
//!                 Ok(())
//!             })
//!             .down(async |db: Db| Ok(db.collection::<Person>().drop_index("first_1").await?)),
//!         )
//!         // What cannot be done again is a transaction.
//!         .step(
//!             Step::new("2026_11_03_bonus", async |db: Db| {
//!                 let people = db.collection::<Person>().raw();
//!                 people.update_many(doc! {}, doc! {"$inc": {"bonus": 10}}).await?;
//!                 Ok(())
//!             })
//!             .transactional(),
//!         )
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let db = Db::open("memory:").await?;
//! let people = db.collection::<Person>();
//! people.raw().insert(doc! {"_id": 1, "name": "Ann Lee"}).await?;
//!
//! // Any number of processes may do the same.
//! let report = migrations().run(&db).await?;
//! assert_eq!(report.ids(), ["2026_11_01_split_names", "2026_11_02_indexes", "2026_11_03_bonus"]);
//! assert_eq!(people.get(1).required().await?.last, "Lee");
//!
//! // Once.
//! assert!(migrations().run(&db).await?.steps.is_empty());
//! println!("{}", migrations().status(&db).await?);
//! # Ok(())
//! # }
//! ```

mod definition;
mod each;
mod error;
mod hold;
mod id;
mod lease;
mod ledger;
mod mark;
mod progress;
mod record;
mod report;
mod revert;
mod run;
mod status;
mod step;
mod term;

pub use self::definition::Migrations;
pub use self::error::{MigrationError, MigrationErrorKind, StepError};
pub use self::lease::MigrationLease;
pub use self::progress::Progress;
pub use self::record::{StepKind, StepRecord, StepState};
pub use self::report::{MigrationEvent, MigrationReport, RanStep};
pub use self::status::{MigrationStatus, PlannedStep, Standing, StepStatus};
pub use self::step::Step;
