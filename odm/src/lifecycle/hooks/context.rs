//! Where a hook runs.

use std::fmt;

use crate::db::Db;

/// Where a hook runs: the database, inside the transaction if there is one.
pub struct HookContext {
    db: Db,
    collection: String,
}

impl HookContext {
    pub(crate) fn new(db: Db, collection: String) -> HookContext {
        HookContext { db, collection }
    }

    /// The database. For a `before` hook it is the transaction's, when the write is part of one: what the hook writes
    /// is committed or rolled back with it.
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// The name of the collection that is written to.
    pub fn collection(&self) -> &str {
        &self.collection
    }

    /// Whether the write is part of a running transaction.
    pub fn is_in_transaction(&self) -> bool {
        self.db.guard().is_some()
    }
}

impl fmt::Debug for HookContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookContext")
            .field("db", &self.db)
            .field("collection", &self.collection)
            .finish()
    }
}
