//! Giving a collection another name.

use super::Draft;
use super::setters::runs;
use crate::backend::{self, Namespace};
use crate::collection::Target;
use crate::error::Result;

/// Gives a collection another name, with its documents and indexes. One round trip, one atomic step.
///
/// ```no_run
/// # async fn example(db: odm::Db) -> odm::Result<()> {
/// db.raw_collection("books_new").rename("books").drop_target().await?;
/// # Ok(())
/// # }
/// ```
///
/// Fails with code 26 when there is no such collection, 48 when the name is taken, 263 inside a transaction.
#[derive(Clone, Debug)]
#[must_use = "an action does nothing until it is awaited"]
pub struct RenameCollection {
    target: Target,
    to: String,
    drop_target: bool,
}

impl RenameCollection {
    pub(crate) fn new(target: Target, to: String) -> RenameCollection {
        RenameCollection {
            target,
            to,
            drop_target: false,
        }
    }

    /// Drops the collection that has the name, in the same step.
    pub fn drop_target(mut self) -> RenameCollection {
        self.drop_target = true;
        self
    }

    async fn run(self) -> Result<()> {
        // A shared collection could take the place of the tenants' own.
        if !self.target.is_untyped() && !self.target.is_owned() {
            let whole = self.target.db().check_whole("renameCollection");
            whole.map_err(|error| self.target.explain(error, "renameCollection"))?;
        }
        let namespace = self.target.namespace().clone();
        let to = Namespace {
            database: namespace.database.clone(),
            collection: self.to,
        };
        let draft = Draft::new(
            &self.target,
            backend::RenameCollection {
                namespace,
                to,
                drop_target: self.drop_target,
            },
        );
        let (target, operation) = draft.ready()?;
        target.execute(operation).await?.done()
    }
}

runs!([] RenameCollection => ());
