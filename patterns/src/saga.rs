//! Sagas: several effects that belong together, each undone if a later one cannot be done.
//!
//! # The problem
//! Money leaves one account and must arrive in another, a seat is booked and then a room. Where one transaction can hold
//! all of it, use one: [`Db::transaction`](odm::Db::transaction). A saga is for what it cannot hold: calls of other
//! systems, work that takes long, documents on several clusters, servers without transactions.
//!
//! The manual's two-phase commit does this with a state field and pending lists. A worker that is only slow, and not dead,
//! breaks it: of the 924 ways in which such a zombie and the worker that took over can interleave, 104 leave wrong
//! balances. Here every write is fenced.
//!
//! # The stored shape
//! One document for a saga, in the collection `sagas`: see [`SagaRecord`]. In documents that steps change by
//! [`Effect::apply`]: a list of [`Mark`]s.
//!
//! # How it runs
//! * [`Sagas::start`] stores the saga. With [`on`](Sagas::on)`(&tx)` it is a part of your transaction.
//! * A worker **claims** it: the lease gets the next **token**, a counter that never goes back. Every later write has the
//!   token as its condition, so that what a worker writes whose lease somebody else took changes nothing.
//! * The **intent** of a step is stored before its effect, by the same write that stores the end of the step before. After
//!   a crash the next worker does the step again, with the same [key](Effect::key).
//! * A step that fails is tried again after a pause. When tries are used up, or it fails for good, the saga **turns
//!   around**: what was done, or may have been, is undone in reverse order.
//! * Behind the **pivot** there is no way back: its step and those behind it are tried again, and then wait for somebody.
//! * Whoever is asked [`retry`](Sagas::retry)s, [`skip`](Sagas::skip)s or [`abort`](Sagas::abort)s.
//!
//! # Guarantees
//!
//! | effect of a step | happens | zombies | how |
//! |---|---|---|---|
//! | [`Step::atomic`], through [`Effect::db`] | once | abort | effect, token and progress are one transaction |
//! | [`Effect::apply`], [`Effect::undo`] on one document | once | change nothing | effect and mark are one write; an undone effect leaves a mark that keeps late workers out |
//! | anything else | at least once | may repeat it | give [`Effect::key`] along as its idempotency key, or [`Effect::token`] as a fence |
//!
//! | | |
//! |---|---|
//! | round trips | start 1; claim 1; each step 1 beside its own (atomic: the commit too); turning around 1; [`work`](Sagas::work) 1 more |
//! | crash | before or after any write: the saga is due again when the lease is over, and goes on from there |
//! | isolation | none: others see what is done so far. Where they must not, let steps [hold](crate::hold) instead of take |
//! | soft deletion | a deleted document gets no effect; what it got before is found and undone all the same |
//! | deletion | what was done to a document that is gone cannot be undone: the saga waits for somebody |
//! | growth | the history keeps the last 100 events; marks stay until [pruned](Effect::prune_marks), sagas until [pruned](Sagas::prune) |
//! | time | [`Db::now`](odm::Db::now). Clocks that disagree cost time, never correctness: tokens decide. By one that is ahead, a lease is over early; what one has written that is set back, the end of a lease or of a pause, is waited for by the others, as long as it was ahead and the lease or pause |
//! | sharded | shard `sagas` by `_id`: each write names it; looking for due sagas asks all shards |
//!
//! # Example: a transfer, beside the same as a transaction
//! ```
//! use odm::{Db, Model};
//! use odm_patterns::saga::{Definition, Effect, Mark, Outcome, Sagas, Step, StepError};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Model)]
//! struct Account {
//!     #[serde(rename = "_id")]
//!     id: String,
//!     balance: i64,
//!     #[serde(default)]
//!     marks: Vec<Mark>,
//! }
//!
//! #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
//! struct Transfer {
//!     from: String,
//!     to: String,
//!     amount: i64,
//! }
//!
//! async fn debit(effect: Effect, t: Transfer) -> Result<Transfer, StepError> {
//!     let accounts = effect.db().collection::<Account>();
//!     let enough = |a: AccountFields| a.balance.gte(t.amount);
//!     effect.apply(&accounts, &t.from, |a| a.marks, enough, |a| a.balance.inc(-t.amount)).await?;
//!     Ok(t)
//! }
//!
//! async fn give_back(effect: Effect, t: Transfer) -> Result<Transfer, StepError> {
//!     let accounts = effect.db().collection::<Account>();
//!     effect.undo(&accounts, &t.from, |a| a.marks, |a| a.balance.inc(t.amount)).await?;
//!     Ok(t)
//! }
//!
//! async fn credit(effect: Effect, t: Transfer) -> Result<Transfer, StepError> {
//!     let accounts = effect.db().collection::<Account>();
//!     let any = |_| odm::Filter::all();
//!     effect.apply(&accounts, &t.to, |a| a.marks, any, |a| a.balance.inc(t.amount)).await?;
//!     Ok(t)
//! }
//!
//! /// The same where one transaction can hold it: no marks, no record, nothing to resume.
//! async fn transfer(db: &Db, t: &Transfer) -> odm::Result<bool> {
//!     db.transaction(async |tx| {
//!         let accounts = tx.collection::<Account>();
//!         let paid = accounts
//!             .update_one(|a| a.id.eq(&t.from) & a.balance.gte(t.amount), |a| a.balance.inc(-t.amount))
//!             .await?;
//!         if paid.modified == 1 {
//!             accounts.update_one(|a| a.id.eq(&t.to), |a| a.balance.inc(t.amount)).await?;
//!         }
//!         Ok(paid.modified == 1)
//!     })
//!     .await
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let db = Db::open("memory:").await?;
//! let accounts = db.collection::<Account>();
//! for (id, balance) in [("ann", 100), ("joe", 0)] {
//!     accounts.insert(Account { id: id.into(), balance, marks: vec![] }).await?;
//! }
//! let definition = Definition::new("transfer")
//!     .step(Step::new("debit", debit).compensate(give_back))
//!     .step(Step::new("credit", credit).pivot());
//! let sagas = Sagas::new(&db, definition)?;
//!
//! let t = Transfer { from: "ann".into(), to: "joe".into(), amount: 70 };
//! sagas.start("transfer-1", &t).await?;
//! assert_eq!(sagas.run("transfer-1").await?, Outcome::Completed(t.clone()));
//! assert_eq!(accounts.get("joe").required().await?.balance, 70);
//!
//! // The second is refused, and nothing is left of it.
//! sagas.start("transfer-2", &t).await?;
//! assert!(matches!(sagas.run("transfer-2").await?, Outcome::Compensated { .. }));
//! assert!(!transfer(&db, &t).await?);
//! assert_eq!(accounts.get("ann").required().await?.balance, 30);
//! # Ok(())
//! # }
//! ```

mod audit;
mod definition;
mod drive;
mod effect;
mod error;
mod mark;
mod operate;
mod record;
mod sagas;

pub use self::audit::{SagaProblem, SagaProblemKind};
pub use self::definition::{Definition, Retry, Step};
pub use self::effect::{Effect, Undone};
pub use self::error::{SagaError, StepError};
pub use self::mark::{Mark, MarkState};
pub use self::record::{Event, EventKind, Lease, SagaRecord, SagaStatus, StepRecord, StepState};
pub use self::sagas::{Outcome, Sagas, Started};
