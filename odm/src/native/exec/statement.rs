//! Statements of a write and what they did.

use std::sync::Arc;

use super::super::document::Owned;
use super::super::fault::{Fault, Result};
use super::super::update::{Now, Updater};
use super::Namespace;
use super::query::Query;

/// One statement, parsed; it is run again as it is when a running transaction was in its way.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    /// A checked, complete document with `_id` first.
    Insert {
        document: Vec<u8>,
        /// Whether it came without an `_id`.
        made_id: bool,
    },
    Update(Arc<UpdateStatement>),
    Delete(Arc<DeleteStatement>),
    /// A statement that could not be parsed: it fails when its turn comes.
    Refused(Fault),
    /// The same of an upsert: its collection is made all the same, as on the server.
    RefusedUpsert(Fault),
}

/// A parsed update.
#[derive(Clone, Debug)]
pub(crate) struct UpdateStatement {
    pub(crate) query: Query,
    /// The filter's bytes, for upserts and for collections that take few.
    pub(crate) filter: Vec<u8>,
    pub(crate) updater: Updater,
    pub(crate) multi: bool,
    pub(crate) upsert: bool,
}

/// A parsed deletion.
#[derive(Clone, Debug)]
pub(crate) struct DeleteStatement {
    pub(crate) query: Query,
    /// The filter's bytes, for collections that take few.
    pub(crate) filter: Vec<u8>,
    pub(crate) multi: bool,
}

/// What statements did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) inserted: u64,
    pub(crate) matched: u64,
    pub(crate) modified: u64,
    pub(crate) deleted: u64,
    /// Index of the statement, and the new document's `_id`.
    pub(crate) upserted: Vec<(usize, Owned)>,
    pub(crate) errors: Vec<(usize, Fault)>,
}

impl Outcome {
    /// Adds what later statements did.
    pub(crate) fn absorb(&mut self, later: Outcome) {
        self.inserted += later.inserted;
        self.matched += later.matched;
        self.modified += later.modified;
        self.deleted += later.deleted;
        self.upserted.extend(later.upserted);
        self.errors.extend(later.errors);
    }
}

/// A list of statements on one collection.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    pub(crate) namespace: Namespace,
    /// The UUID that the collection must have.
    pub(crate) expected: Option<[u8; 16]>,
    pub(crate) statements: Vec<Statement>,
    pub(crate) ordered: bool,
    /// Whether the collection's validator is left aside.
    pub(crate) unvalidated: bool,
    pub(crate) now: Now,
    pub(crate) deadline: super::Deadline,
}

impl Statement {
    /// Whether the statement may bring a new document, so that its collection must exist.
    pub(crate) fn may_insert(&self) -> bool {
        match self {
            Statement::Insert { .. } => true,
            Statement::Update(update) => update.upsert,
            Statement::RefusedUpsert(_) => true,
            Statement::Delete(_) | Statement::Refused(_) => false,
        }
    }

    /// Whether it can run where there is no collection.
    ///
    /// # Errors
    /// As [`Query::check_without_collection`].
    pub(crate) fn check_without_collection(&self, ns: &Namespace) -> Result<()> {
        match self {
            Statement::Update(update) => update.query.check_without_collection(ns),
            Statement::Delete(delete) => delete.query.check_without_collection(ns),
            Statement::Insert { .. } | Statement::Refused(_) | Statement::RefusedUpsert(_) => Ok(()),
        }
    }
}
