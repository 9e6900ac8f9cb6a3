//! Outliers: an array in the document, and where it is too long, the rest beside it.
//!
//! # The problem
//! A book has a dozen buyers, and belongs with them in one document. One book in ten thousand has a million, which no
//! document holds. Keeping all buyers elsewhere for its sake makes every read of every book a join. So the array stays where
//! it is, and a document that outgrows a threshold says so: then what comes goes into documents beside it, and reads of
//! that one document, and only of that, read these too.
//!
//! # The stored shape
//! The model's array, and a field [`Overflow`] `{is, epoch, pages, list, reopened}`, one for each such array. In
//! `{collection}_overflow`: `{_id: {of: {id, epoch, pages}, number}, list, items: [..]}`, filled one after another. `pages` is
//! a name that the document's list gets when it first goes on: no other list has these, and no later document of the same
//! `_id`. A page that had no room for an element has `full: true`.
//!
//! Pages of the older form `{of: {id, epoch}, number}` are of the list whose `Overflow` says `is`, and has no `pages`; the
//! list gets its name when it goes on the next time after a way back. Where two lists of a document say so, the older
//! version has mixed their elements: [`verify`](Outlier::verify) says [`Mixed`](OutlierProblemKind::Mixed). All programs that
//! write a list must be of the same form.
//!
//! # Guarantees
//!
//! | | |
//! |---|---|
//! | the switch | one update of one field of the document. What is embedded stays embedded |
//! | the way back | when no more than [`low`](Outlier::low) are left, [`settle`](Outlier::settle) closes the documents beside, then takes their elements over **and** switches back in one update. Whoever comes in between finishes it first |
//! | hysteresis | between low and threshold nothing changes, so that an array at the border does not go to and fro |
//! | concurrency | no element is lost or doubled, whoever adds, removes and settles at once |
//! | reads | [`items`](Outlier::items) gives all that were added before it began |
//! | crash | at any write: an element was added or not. A way back that was begun is finished by the next that comes by, or by [`repair`](Outlier::repair) |
//! | transactions | needs none; made of `&tx`, it is part of it |
//! | size | a document beside that has no room for an element is left for the next one, and so is the model's document; the way back is not begun where it would make the document larger than half of 16 MiB, and given up where others have made it too large meanwhile: then the documents beside are open again. An element that is larger than 16 MiB is refused |
//! | soft deletion, kinds | who is softly deleted, or of another kind, is [`NotFound`](odm::ErrorKind::NotFound), for reading too. Nothing beside it is touched: restored, it has all of it |
//! | deletion | leaves the documents beside, which a new document of the same `_id` does not get: [`forget`](Outlier::forget) them, in a hook before the deletion or after it |
//! | archives | move the document and not what is beside it, which [`verify`](Outlier::verify) calls [`Orphaned`](OutlierProblemKind::Orphaned) and [`repair`](Outlier::repair) leaves: restored, it has all of it |
//! | collation | what is beside a document has its `_id` as it is stored, however callers spell it |
//! | growth | each way back leaves the documents beside, empty, until [`sweep`](Outlier::sweep) |
//! | round trips | add 1, of an outlier 4, in a transaction the first 5; items 1, of an outlier 2, while it goes back 3 |
//! | sharded | writes name the whole `_id`. Shard the overflow by `_id`, ranged |
//!
//! # Example
//! ```
//! use odm::{Db, Model};
//! use odm_patterns::outlier::{Outlier, Overflow};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Model)]
//! struct Book {
//!     #[serde(rename = "_id")]
//!     id: i32,
//!     buyers: Vec<String>,
//!     #[serde(default)]
//!     overflow: Overflow,
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> odm::Result<()> {
//! let db = Db::open("memory:").await?;
//! db.collection::<Book>().insert(Book { id: 1, buyers: vec![], overflow: Overflow::default() }).await?;
//! let buyers = Outlier::<Book, String>::new(&db, |b| b.buyers, |b| b.overflow.path().clone()).threshold(3).low(2);
//!
//! for name in ["ann", "joe", "eve", "kim", "bob"] {
//!     buyers.add(1, &name.to_owned()).await?;
//! }
//! let book = db.collection::<Book>().get(1).required().await?;
//! assert_eq!((book.buyers.len(), book.overflow.is), (3, true));
//! assert_eq!(buyers.items(1).await?, ["ann", "joe", "eve", "kim", "bob"]);
//!
//! for name in ["kim", "ann", "joe"] {
//!     buyers.remove(1, &name.to_owned()).await?;
//! }
//! assert!(buyers.settle(1).await?);
//! let book = db.collection::<Book>().get(1).required().await?;
//! assert_eq!((book.buyers, book.overflow.is), (vec!["eve".to_owned(), "bob".to_owned()], false));
//! # Ok(())
//! # }
//! ```

mod audit;
mod forget;
mod head;
mod legacy;
mod list;
mod settle;

use odm::Embedded;
use odm::bson::oid::ObjectId;
use serde::{Deserialize, Serialize};

pub use self::audit::{OutlierProblem, OutlierProblemKind};
pub use self::list::Outlier;

/// Whether a document's array goes on elsewhere. Each array has one of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Embedded)]
pub struct Overflow {
    /// Whether it does.
    #[serde(default)]
    pub is: bool,
    /// How often it has come back.
    #[serde(default)]
    pub epoch: i64,
    /// The name of the documents beside, once there were some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<ObjectId>,
    /// The stored field of the array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// How often a way back was given up, since the document had become too large for it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reopened: i64,
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}
