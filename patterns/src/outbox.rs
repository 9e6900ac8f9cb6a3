//! Outbox and inbox: events that are published if, and only if, the change happened; and are handled once.
//!
//! # The problem
//! "Store the order, then publish `ordered`" loses the event when the process dies in between; the other way round
//! publishes what never happened. So the event is stored **with** the change, and a relay publishes it afterwards. The
//! relay publishes at least once, so that whoever consumes has to know what it had already.
//!
//! # Two places for events
//!
//! | | [`Outbox`], a field of your model | [`EventLog`], two collections |
//! |---|---|---|
//! | written by | the same update as the change: no transaction, no more round trips | the caller's transaction: 2 round trips |
//! | sequence | for each document, from 1, without gaps: its place in the array plus how many were pruned | for each source (any text), from 1, without gaps: a counter in the same transaction |
//! | bounded | by a [condition of the same update](Emit::has_room) | no |
//! | after publishing | taken out of the array | kept until [pruned](EventLog::prune), so that it can be read again |
//! | source | `orders/1/6562..`: the collection, the `_id`, and the id of the outbox's first event | what the caller says |
//! | stored | `{pruned, lease, events: [{id, at, kind, data}], first}` | `outbox_sources`, `outbox_events` |
//!
//! # Guarantees
//!
//! | | |
//! |---|---|
//! | published | **at least once**, and only what was committed: what is published is what the claim of the document or source found, and on MongoDB a claim is acknowledged by a majority. Not so with a write concern below that (`w=1` in the URL): then a failover can take back what was published, whose sequence the next event gets, which an [`Inbox`] takes for seen |
//! | order | that of the sequence, for each document or source. A relay that was stopped while it published, and goes on when another has taken over, can repeat old events late: the sequence shows it, and an [`Inbox`] refuses them |
//! | failures | a document or source whose event cannot be published has a pause, which grows from a second to ten minutes ([`Relay::pauses`], [`EventLog::pauses`]), so that others come first; its own events stay in order |
//! | two relays | one lease for each document or source; its token is the condition of taking events out |
//! | crash of a relay | what it published since it took the lease is published again when the lease is over |
//! | consumer | [`Inbox::receive`]: the effect and the sequence are one transaction. [`Receive`]: they are one update. Either way once, in order, and a gap is found |
//! | deletion | softly deleted documents are published from like others. One that is deleted for good takes its waiting events with it; one of the same `_id` after it is another source, whose sequence begins at 1. [`Archive::store`](crate::archive::Archive::store) leaves documents with events where they are |
//! | versions | publishing changes nothing that users of a document see: it counts no `#[odm(version)]`, moves no `#[odm(updated)]`, and is no version of a [`History`](crate::history::History). Adding an event is a change |
//! | round trips | relay: 1 to find (2 where failures fill the first), and 2 for each document (3 for each source) with events; inbox 2 beside the effect's, refused 1 more |
//! | sharded | writes name `_id`; finding what is to be published asks all shards. Shard `outbox_events` by `_id`: ranged, so that a source's events are together |
//! | memory | an inbox has a document for each consumer and source, until [`Inbox::forget`] or [`Inbox::prune`] |
//! | time | [`Db::now`](odm::Db::now). A lease or pause that was written by a clock that was ahead is waited for by relays of right clocks; events are only late |
//!
//! A relay changes the document by updates. Do not store such a document whole with what was read before
//! (`save`, `replace`), unless the model has a version. With one, what was published since then is at the most published
//! again, under the same sequences; without one, events that were added since are lost and sequences go back.
//!
//! # Adding an outbox to a model
//! Give the field `#[serde(default)]`. Documents that are stored without it get one by their first event.
//!
//! # Giving an event up
//! [`Delivery::attempt`] says which try of an event it is. Whoever publishes decides how many there are: put the event
//! elsewhere then, and say that it went well.
//!
//! ```
//! # use odm::{Db, Error, bson::doc};
//! # use odm_patterns::outbox::Delivery;
//! async fn send(event: &Delivery) -> Result<(), Error> {
//! #   let _ = event;
//!     // ..
//! #   Ok(())
//! }
//!
//! async fn send_or_give_up(db: &Db, event: Delivery) -> Result<(), Error> {
//!     match send(&event).await {
//!         Err(error) if event.attempt >= 20 => {
//!             let id = doc! { "source": event.source, "sequence": event.sequence };
//!             let letter = doc! { "_id": id, "kind": event.kind, "data": event.data, "error": error.to_string() };
//!             let letters = db.raw_collection("dead_letters");
//!             letters.insert(letter).await.map(drop)
//!         }
//!         result => result,
//!     }
//! }
//! ```
//!
//! # Example
//! ```
//! use odm::{Db, Model};
//! use odm_patterns::outbox::{Delivery, Emit, Inbox, Message, Outbox, Received, Relay};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Model)]
//! struct Order {
//!     #[serde(rename = "_id")]
//!     id: i32,
//!     paid: bool,
//!     outbox: Outbox,
//! }
//!
//! #[derive(Serialize, Deserialize, Model)]
//! struct Bill {
//!     #[serde(rename = "_id")]
//!     order: i32,
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> odm::Result<()> {
//! let db = Db::open("memory:").await?;
//! let orders = db.collection::<Order>();
//! orders.insert(Order { id: 1, paid: false, outbox: Outbox::default() }).await?;
//!
//! // The change and its event are one update.
//! let paid = Message::new(&db, "paid", &1)?;
//! orders.update_one(|o| o.id.eq(1) & o.paid.eq(false), |o| o.paid.set(true) & o.outbox.emit(paid)).await?;
//!
//! // The consumer's effect and what it has seen are one transaction.
//! let inbox = Inbox::new(&db, "billing");
//! let bill = async |event: Delivery| {
//!     let order = event.data::<i32>()?;
//!     let received = inbox
//!         .receive(&event.source, event.sequence, async |tx| {
//!             tx.collection::<Bill>().insert(Bill { order }).await.map(drop)
//!         })
//!         .await?;
//!     assert_eq!(received, Received::Now(()));
//!     Ok::<(), odm::Error>(())
//! };
//! let relay = Relay::new(&db, orders.clone(), |o| o.outbox);
//! assert_eq!(relay.run(bill).await?.delivered, 1);
//! assert_eq!(relay.run(bill).await?.delivered, 0);
//! assert_eq!(db.collection::<Bill>().find_all().await?.len(), 1);
//! # Ok(())
//! # }
//! ```

mod delivery;
mod emit;
mod event_log;
mod inbox;
mod log_relay;
mod message;
mod pauses;
mod place;
mod receive;
mod relay;

pub use self::delivery::{Delivery, Relayed};
pub use self::emit::Emit;
pub use self::event_log::{EventKey, EventLog, EventProblem, EventProblemKind, SourceRecord, StoredEvent};
pub use self::inbox::{Inbox, InboxKey, InboxRecord, Received};
pub use self::message::{Lease, Message, Outbox};
pub(crate) use self::place::outboxes_of;
pub use self::receive::Receive;
pub use self::relay::Relay;
