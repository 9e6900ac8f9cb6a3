//! Statements of a write and what they did.

use std::sync::Arc;

use super::super::document::{Doc, Owned};
use super::super::fault::{Fault, Result, code};
use super::super::update::{Now, Updater, changed_for_insert, has_empty_timestamp};
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
    /// A document that a time series takes as it was sent, and other collections do not.
    InsertAsSent {
        document: Vec<u8>,
        /// What other collections take in its place.
        otherwise: Result<Vec<u8>>,
    },
    Update(Arc<UpdateStatement>),
    Delete(Arc<DeleteStatement>),
    /// A statement that could not be parsed: it fails when its turn comes.
    Refused(Fault),
    /// The same of an update.
    RefusedUpdate(Box<RefusedUpdate>),
}

/// An update that could not be parsed.
#[derive(Clone, Debug)]
pub(crate) struct RefusedUpdate {
    pub(crate) fault: Fault,
    /// The filter's bytes, for collections that take few.
    pub(crate) filter: Vec<u8>,
    pub(crate) multi: bool,
    /// Of an upsert, the collection is made all the same, as on the server.
    pub(crate) upsert: bool,
    /// Whether it gives a whole document.
    pub(crate) replaces: bool,
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
    /// What an upsert inserts in place of what the update makes of the filter.
    pub(crate) supplied: Option<Updater>,
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
    /// The insertion of a document's own bytes.
    pub(crate) fn insert_unchanged(document: Vec<u8>) -> Statement {
        Statement::Insert {
            document,
            made_id: false,
        }
    }

    /// The insertion of a document that is not stored as it came; none of one that is.
    pub(crate) fn insert_changed(document: Doc<'_>, now: Now) -> Option<Statement> {
        let statement = match changed_for_insert(document, now) {
            Ok(None) => return None,
            Ok(Some(filled)) if has_empty_timestamp(document) => Statement::InsertAsSent {
                document: document.to_bytes(),
                otherwise: Ok(filled),
            },
            Ok(Some(changed)) => Statement::Insert {
                document: changed,
                made_id: document.get("_id").is_none(),
            },
            Err(fault) if is_of_id(&fault) => Statement::InsertAsSent {
                document: document.to_bytes(),
                otherwise: Err(fault),
            },
            Err(fault) => Statement::Refused(fault),
        };
        Some(statement)
    }

    /// Whether the statement is an insertion.
    pub(crate) fn inserts(&self) -> bool {
        matches!(self, Statement::Insert { .. } | Statement::InsertAsSent { .. })
    }

    /// Whether something may be in the way of the statement when it has written before: of one document all is checked
    /// first, but not of many, nor of a collection that is made.
    pub(crate) fn may_be_cut(&self, has_collection: bool) -> bool {
        match self {
            Statement::Update(update) if update.multi => true,
            Statement::Delete(deletion) if deletion.multi => true,
            _ => !has_collection && self.may_insert(),
        }
    }

    /// Whether the statement may bring a new document, so that its collection must exist.
    pub(crate) fn may_insert(&self) -> bool {
        match self {
            Statement::Insert { .. } => true,
            Statement::InsertAsSent { otherwise, .. } => otherwise.is_ok(),
            Statement::Update(update) => update.upsert,
            Statement::RefusedUpdate(update) => update.upsert,
            Statement::Delete(_) | Statement::Refused(_) => false,
        }
    }

    /// Whether it can run where there is no collection.
    ///
    /// # Errors
    /// As [`Query::check_without_collection`]; why it was refused.
    pub(crate) fn check_without_collection(&self, ns: &Namespace) -> Result<()> {
        match self {
            Statement::Update(update) => update.query.check_without_collection(ns),
            Statement::Delete(delete) => delete.query.check_without_collection(ns),
            Statement::RefusedUpdate(update) => Err(update.fault.clone()),
            Statement::Refused(fault)
            | Statement::InsertAsSent {
                otherwise: Err(fault),
                ..
            } => Err(fault.clone()),
            Statement::Insert { .. } | Statement::InsertAsSent { .. } => Ok(()),
        }
    }
}

/// Whether it is about what an `_id` may hold, which a time series does not ask.
fn is_of_id(fault: &Fault) -> bool {
    matches!(
        fault.code(),
        code::INVALID_ID_FIELD | code::DOLLAR_PREFIXED_FIELD_NAME
    )
}
