//! Idempotency keys: a request that is sent twice is done once, and answered twice.
//!
//! # The problem
//! The reply to "pay 30" was lost. The client sends it again, with the same key. Was it done? Is it being done just now,
//! by another process? Is it the same request at all?
//!
//! # The stored shape
//! One document for a key, in the collection `idempotency_keys`: see [`KeyRecord`]. The `_id` is the scope (a tenant, an
//! endpoint) and the key; the fingerprint is the SHA-256 of the request as BSON, whatever the order of its fields.
//!
//! # Guarantees
//!
//! | | |
//! |---|---|
//! | [`Keys::run`] | the effect, and the stored result, are one transaction: once, or not at all. A refusal is stored too, in one write with its key, and what was written before it is rolled back |
//! | [`Keys::begin`] and [`Permit::complete`] by themselves | one permit at a time; a permit whose time is over can be taken over, and its holder then cannot store a result. What it did outside of the database meanwhile, it did: pass [`Permit::token`] on as a fence |
//! | inside your transaction | [`Keys::on`]`(&tx)`: the key is stored with what you write, or not at all. A refusal in it is given, and can only end it: see [`Keys::run`] |
//! | crash | the key is free again when the lease is over; with `run` at once |
//! | same key, other request | [`Begin::Mismatch`], always |
//! | forgetting | results are kept for [`keep`](Keys::keep) (24 hours), then a TTL index deletes them, and the key is fresh. Until it does, they are treated as gone |
//! | round trips | `begin` 1, taking over 2; `complete`, `renew`, `abandon` 1; `run` 3 beside the effect's |
//! | sharded | by `_id`: every operation names it |
//! | time | [`Db::now`](odm::Db::now). A permit that was given by a clock that was ahead ends as much later by the others' |
//!
//! # Example
//! ```
//! use odm::{Db, Model};
//! use odm_patterns::idempotency::{Keys, Ran};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Model)]
//! struct Payment {
//!     #[serde(rename = "_id")]
//!     id: odm::Id<Payment>,
//!     amount: i64,
//! }
//!
//! #[derive(Serialize)]
//! struct Request {
//!     amount: i64,
//! }
//!
//! async fn pay(keys: &Keys, key: &str, request: &Request) -> odm::Result<Ran<i64, String>> {
//!     keys.run("payments", key, request, async |tx| {
//!         if request.amount > 100 {
//!             return Ok(Err("too much".to_owned()));
//!         }
//!         let payments = tx.collection::<Payment>();
//!         payments.insert(Payment { id: odm::Id::new(), amount: request.amount }).await?;
//!         Ok(Ok(request.amount))
//!     })
//!     .await
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> odm::Result<()> {
//! let db = Db::open("memory:").await?;
//! let keys = Keys::new(&db);
//! let request = Request { amount: 30 };
//! assert_eq!(pay(&keys, "k1", &request).await?, Ran::Now(Ok(30)));
//! assert_eq!(pay(&keys, "k1", &request).await?, Ran::Replayed(Ok(30)));
//! assert_eq!(db.collection::<Payment>().find_all().await?.len(), 1);
//!
//! assert_eq!(pay(&keys, "k1", &Request { amount: 31 }).await?, Ran::Mismatch);
//! assert_eq!(pay(&keys, "k2", &Request { amount: 101 }).await?, Ran::Now(Err("too much".into())));
//! # Ok(())
//! # }
//! ```

mod fingerprint;
mod keys;
mod permit;
mod record;

pub use self::fingerprint::fingerprint;
pub use self::keys::{Begin, Keys, Ran};
pub use self::permit::Permit;
pub use self::record::{KeyId, KeyRecord};
