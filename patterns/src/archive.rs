//! Archive: documents that are done with, moved to another collection or database, and back.
//!
//! # The problem
//! Orders of 2019 slow down what is asked of those of this year. The obvious two commands, copy what is older than a date,
//! then delete what is older than that date, lose every document that came to match in between, and every change made in
//! between. Here a document is deleted by its `_id` **and the state in which it was copied**, never by the predicate.
//!
//! # The stored shape
//! The documents as they were, byte by byte, under the same `_id`. While one is moved it has a field `_moving`, an
//! `ObjectId`, behind the others at both sides. A model with `#[serde(deny_unknown_fields)]` could not be read then, and is
//! refused.
//!
//! # Guarantees
//!
//! | | |
//! |---|---|
//! | loss | none: what is deleted was stored at the other side before, as it was, and still is what was marked for it |
//! | a change between copy and deletion | is kept: the document stays where it is, and its copy is taken out of the archive again. Where it was replaced as a whole, and others of its batch were moved, [`verify`](Archive::verify) lists the copy: it may be that of a document that was moved, and made anew |
//! | crash | at any write: run it again with the same predicate. Until then a document can be in both places, or have a mark; [`verify`](Archive::verify) lists the first, [`repair`](Archive::repair) takes the copies away, and the originals count, and takes marks off |
//! | two at once | move each document once. Who moves it back meanwhile, or repairs, loses nothing either: one of them is first, or both leave it where it is |
//! | round trips | 1 to find, then for each batch 5: mark, see what is there, copy, delete, take the marks off; 2 more where copies are replaced, and up to 7 where documents were changed meanwhile |
//! | the state | the whole document as the database compares documents (where 1 and 1.0 are the same; strings by their bytes, whatever the collation of the collection), and its version where the model has `#[odm(version)]` |
//! | events | a document with events in its [`Outbox`](crate::outbox::Outbox) stays until they are published, and is counted as [`waiting`](Moved::waiting): a relay does not look into the archive |
//! | hooks, rules | what the model declares for deletions and insertions does not happen: nothing is created or deleted. Documents that refer to an archived one refer to nothing, until it is restored |
//! | beside it | what an [`Outlier`](crate::outlier::Outlier) has put beside a document stays where it is, and is there when the document is restored |
//! | the mark | models that refuse unknown fields do not read a document while it is moved; a validator that does refuses the move, and nothing is changed |
//! | in a transaction | made of `&tx` at both sides, all of it is part of the transaction: for some batches, not for millions. With the other side in it alone nothing is moved, since it could be rolled back there, and is `InvalidArgument` |
//! | sharded | writes name `_id` and state; with a shard key other than `_id` they ask all shards |
//!
//! # Example
//! ```
//! use odm::{Db, Model};
//! use odm_patterns::archive::Archive;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Model)]
//! struct Order {
//!     #[serde(rename = "_id")]
//!     id: i32,
//!     year: i32,
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> odm::Result<()> {
//! let db = Db::open("memory:").await?;
//! let orders = db.collection::<Order>();
//! orders.insert_many((0..10).map(|id| Order { id, year: 2017 + id })).await?;
//!
//! let archive = Archive::<Order>::new(&db, &db.database("old")?);
//! let moved = archive.store(|o| o.year.lt(2020)).progress(|so_far| println!("{}", so_far.moved)).await?;
//! assert_eq!((moved.moved, moved.kept), (3, 0));
//! assert_eq!(archive.archived().find_all().await?.len(), 3);
//!
//! archive.restore(|o| o.id.eq(1)).await?;
//! assert_eq!(orders.find_all().await?.len(), 8);
//! assert!(archive.verify().await?.is_empty());
//! # Ok(())
//! # }
//! ```

mod audit;
mod mark;
mod state;
mod transfer;

use std::fmt;

use odm::{Collection, Db, Error, ErrorKind, Filter, Model, Result};

pub use self::audit::ArchiveProblem;
pub use self::transfer::{Moved, Transfer};

/// A collection, and where its documents go. Cheap to clone.
pub struct Archive<M> {
    live: Collection<M>,
    archived: Collection<M>,
}

impl<M: Model> Archive<M> {
    /// The model's collection, and the one of the same name in the other database. Where the databases are called the same,
    /// the archive has `_archive` behind the name. They can be of different backends.
    pub fn new(db: &Db, to: &Db) -> Archive<M> {
        let name = M::DESCRIPTOR.collection;
        // Two connections to one server do not know of each other.
        let archived = match db.name() == to.name() {
            true => to.collection_named(&format!("{name}_archive")),
            false => to.collection(),
        };
        Archive::between(db.collection(), archived)
    }

    /// Two collections. They must not be the same: what is moved would be gone.
    pub fn between(live: Collection<M>, archived: Collection<M>) -> Archive<M> {
        Archive { live, archived }
    }

    /// What is not archived.
    pub fn live(&self) -> &Collection<M> {
        &self.live
    }

    /// What is archived, to be read; build the indexes that are needed there.
    pub fn archived(&self) -> &Collection<M> {
        &self.archived
    }

    /// Moves documents into the archive. A copy of the same `_id` that is there already, of an interrupted run or of
    /// an earlier document, makes room. Documents with events that wait to be published stay: see
    /// [`waiting`](Moved::waiting).
    pub fn store(&self, filter: impl FnOnce(M::Fields<M>) -> Filter<M>) -> Transfer<M> {
        Transfer::new(&self.live, &self.archived, true, filter(M::fields()))
    }

    /// Moves documents back. Where a document of the same `_id` is there by now, that stays and the archived one too:
    /// it is counted as [`kept`](Moved::kept).
    pub fn restore(&self, filter: impl FnOnce(M::Fields<M>) -> Filter<M>) -> Transfer<M> {
        Transfer::new(&self.archived, &self.live, false, filter(M::fields()))
    }
}

/// That what is deleted at one side, because it is at the other, cannot be rolled back there alone.
///
/// # Errors
/// `InvalidArgument`.
fn deletes_with<M: Model>(deleted: &Collection<M>, stays: &Collection<M>) -> Result<()> {
    match !stays.in_transaction() || stays.shares_transaction(deleted) {
        true => Ok(()),
        false => {
            let text = "what is moved into a transaction is deleted in the same one: make the archive of it at both sides";
            Err(Error::new(ErrorKind::InvalidArgument, text)
                .with_model(M::DESCRIPTOR.name)
                .with_namespace(stays.namespace())
                .with_note("from", deleted.namespace()))
        }
    }
}

impl<M> Clone for Archive<M> {
    fn clone(&self) -> Archive<M> {
        Archive {
            live: self.live.clone(),
            archived: self.archived.clone(),
        }
    }
}

impl<M> fmt::Debug for Archive<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Archive")
            .field("live", &self.live)
            .field("archived", &self.archived)
            .finish()
    }
}
