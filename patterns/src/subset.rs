//! Subset: the most useful of what belongs to a document in the document, all of it elsewhere.
//!
//! # The problem
//! A product has ten thousand reviews, and its page shows ten. They are in a collection of their own, and reading a page
//! takes a second query, with a sort. So the ten are in the product too, and whoever writes a review has to keep them in
//! step: the new one may be among the ten, the deleted one may make room for one that nobody has at hand.
//!
//! # The stored shape
//! The children in their own collection, whole. In the parent a list of the first N of them in an order, as a type with some
//! of their fields, and an [`InStep`] `{version, pending: [{token, at}]}`.
//!
//! # Guarantees
//! All writes of children go through [`write`](Subset::write), or the shorter forms of it.
//!
//! | | where there are transactions | where there are none |
//! |---|---|---|
//! | how | the children and the list are one transaction | a mark in the parent, the children, then the list with the mark taken away |
//! | readers | see both or neither | can see the children first |
//! | concurrency | two who write children of one parent conflict: one runs again | the list is written only if nobody has written it, or set a mark, since the children were read; otherwise they are read again |
//! | crash | nothing happened | the mark stays, and [`resume`](Subset::resume) brings the list into step |
//! | round trips | that of the writes, 3, and the commit | that of the writes, and 3 |
//!
//! | | |
//! |---|---|
//! | in a transaction | made of `&tx`, it is part of it |
//! | two lists of the same children | [`with`](Subset::with): one write brings both into step, with 3 round trips more. Each has an [`InStep`] of its own |
//! | soft deletion, kinds | a parent that is softly deleted, or of another kind, is [`NotFound`](odm::ErrorKind::NotFound): nothing is written. Its marks wait until it is restored |
//! | collation | children are those that refer to the parent's `_id` as it is stored, however callers spell it |
//! | index | on the reference and the order, so that the first N are a range |
//! | children that move | write both parents: [`refresh`](Subset::refresh) the other |
//! | what went around it | [`verify`](Subset::verify) finds it, [`repair`](Subset::repair) mends it |
//! | sharded | parents are written by `_id`; shard the children by the reference |
//!
//! # Example
//! ```
//! use odm::{Db, Embedded, Model, Ref};
//! use odm_patterns::subset::{InStep, Subset};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Model)]
//! struct Product {
//!     #[serde(rename = "_id")]
//!     id: i32,
//!     best: Vec<Brief>,
//!     #[serde(default)]
//!     in_step: InStep,
//! }
//!
//! #[derive(Clone, Serialize, Deserialize, Model)]
//! #[odm(index(keys(product, desc(stars))))]
//! struct Review {
//!     #[serde(rename = "_id")]
//!     id: i32,
//!     product: Ref<Product>,
//!     stars: i32,
//!     text: String,
//! }
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
//! struct Brief {
//!     #[serde(rename = "_id")]
//!     id: i32,
//!     stars: i32,
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> odm::Result<()> {
//! let db = Db::open("memory:").await?;
//! db.collection::<Product>().insert(Product { id: 1, best: vec![], in_step: InStep::default() }).await?;
//! let best = Subset::<Product, Review, Brief>::new(
//!     &db,
//!     2,
//!     |p| p.best,
//!     |p| p.in_step.path().clone(),
//!     |r| r.product.path().clone(),
//!     |r| r.stars.desc(),
//! );
//!
//! for (id, stars) in [(1, 3), (2, 5), (3, 4)] {
//!     let review = Review { id, product: Ref::new(1), stars, text: "..".into() };
//!     best.insert(1, &review).await?;
//! }
//! best.delete(1, 2).await?;
//! let product = db.collection::<Product>().get(1).required().await?;
//! assert_eq!(product.best, [Brief { id: 3, stars: 4 }, Brief { id: 1, stars: 3 }]);
//! assert!(best.verify().await?.is_empty());
//! # Ok(())
//! # }
//! ```

mod audit;
mod list;

use odm::Embedded;
use odm::bson::DateTime;
use odm::bson::oid::ObjectId;
use serde::{Deserialize, Serialize};

pub use self::audit::{SubsetProblem, SubsetProblemKind};
pub use self::list::Subset;

/// How far a parent's list is in step with its children. Each list has one of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Embedded)]
pub struct InStep {
    /// How often it was written.
    #[serde(default)]
    pub version: i64,
    /// Who was writing children, and has not brought the list into step yet.
    #[serde(default)]
    pub pending: Vec<Mark>,
}

/// Somebody who was writing children.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Embedded)]
pub struct Mark {
    /// Who.
    pub token: ObjectId,
    /// Since when.
    pub at: DateTime,
}
