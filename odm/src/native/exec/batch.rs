//! Running a batch of statements as one job of the writer.

use std::sync::Arc;

use super::super::catalog::Collection;
use super::super::fault::{Class, Fault, Result};
use super::super::storage::Write;
use super::statement::{Batch, Outcome, Statement};
use super::{Namespace, collections, delete, record, series, update, view};

/// Runs statements from `start` on, adding to `outcome`; gives the index of the first that did not run.
///
/// A statement that a running transaction blocks ends the run: as an error of the job when nothing was done yet
/// (the engine runs the job again later), otherwise by returning its index. It is run again from its beginning, so
/// that nothing of it stays.
pub(crate) fn run(
    write: &mut dyn Write,
    batch: &Batch,
    start: usize,
    outcome: &mut Outcome,
) -> Result<usize> {
    batch.namespace.check_writable()?;
    view::refuse_buckets(write.catalog(), &batch.namespace)?;
    series::refuse_in_transaction(write, batch)?;
    let mut collection = None;
    let mut index = start;
    while let Some(statement) = batch.statements.get(index) {
        let failed = outcome.errors.len();
        // The first statement is taken back with the job.
        let is_part = index > start && statement.may_be_cut(collection.is_some());
        if is_part {
            write.begin_part();
        }
        let done = one(write, batch, statement, index, &mut collection, outcome);
        if is_part {
            write.end_part(!is_blocked(&done));
        }
        match done {
            Ok(count) => index += count,
            Err(fault) if is_fatal(&fault) => {
                return match fault.class() {
                    Class::Blocked if index > start => Ok(index),
                    _ => Err(fault),
                };
            }
            Err(fault) => {
                outcome.errors.push((index, fault));
                index += 1;
            }
        }
        // The first error ends a transaction, and with it the batch.
        if (batch.ordered || write.in_transaction()) && outcome.errors.len() > failed {
            break;
        }
    }
    Ok(batch.statements.len())
}

fn is_blocked<T>(done: &Result<T>) -> bool {
    matches!(done, Err(fault) if fault.class() == Class::Blocked)
}

/// Faults that are not a statement's own: they end the whole job.
pub(crate) fn is_fatal(fault: &Fault) -> bool {
    match fault.class() {
        Class::Request | Class::Unsupported => false,
        Class::Conflict
        | Class::Corrupt
        | Class::Io
        | Class::InDoubt
        | Class::Locked
        | Class::Timeout
        | Class::Blocked => true,
    }
}

/// Runs a statement, and those behind it that run with it; gives how many these are.
fn one(
    write: &mut dyn Write,
    batch: &Batch,
    statement: &Statement,
    index: usize,
    open: &mut Option<Arc<Collection>>,
    outcome: &mut Outcome,
) -> Result<usize> {
    if let Statement::Refused(fault) = statement {
        return Err(fault.clone());
    }
    let collection = match open {
        Some(collection) => collection.clone(),
        None => {
            collections::check_uuid(write.catalog(), &batch.namespace, batch.expected)?;
            let found = match series::documents(write.catalog(), &batch.namespace) {
                Some(documents) => Some(documents),
                None => open_for(write, &batch.namespace, statement.may_insert())?,
            };
            open.clone_from(&found);
            match found {
                Some(collection) => collection,
                None => {
                    statement.check_without_collection(&batch.namespace)?;
                    return Ok(1);
                }
            }
        }
    };
    let collection = unvalidated(collection, batch.unvalidated);
    if statement.inserts()
        && let Some(own) = &collection.rules.series
    {
        let count = series::insert(write, batch, index, (&collection, own), outcome)?;
        refresh(write, &collection, open);
        return Ok(count);
    }
    match statement {
        Statement::Insert { document, .. }
        | Statement::InsertAsSent {
            otherwise: Ok(document),
            ..
        } => {
            record::insert(write, &batch.namespace, &collection, document)?;
            outcome.inserted += 1;
            refresh(write, &collection, open);
        }
        Statement::Update(statement) => {
            let done = update::run(write, batch, &collection, statement, index, outcome);
            refresh(write, &collection, open);
            done?;
        }
        Statement::Delete(statement) => delete::run(write, batch, &collection, statement, outcome)?,
        Statement::RefusedUpdate(update) => {
            if let Some(own) = &collection.rules.series {
                series::check_refused(own, update)?;
            }
            return Err(update.fault.clone());
        }
        Statement::Refused(fault)
        | Statement::InsertAsSent {
            otherwise: Err(fault),
            ..
        } => return Err(fault.clone()),
    }
    Ok(1)
}

/// The collection, for `bypass` without its validator.
pub(crate) fn unvalidated(collection: Arc<Collection>, bypass: bool) -> Arc<Collection> {
    if !bypass || (collection.rules.validator.is_none() && collection.rules.encrypted.is_empty()) {
        return collection;
    }
    let mut own = (*collection).clone();
    own.rules.validator = None;
    own.rules.encrypted = Arc::default();
    Arc::new(own)
}

/// Looks the collection up again when a write changed what the catalog says of it (multikey flags).
fn refresh(write: &dyn Write, seen: &Arc<Collection>, open: &mut Option<Arc<Collection>>) {
    let now = write.catalog().by_id(seen.id);
    if now.is_none_or(|now| !Arc::ptr_eq(now, seen)) {
        *open = now.cloned();
    }
}

/// The collection; created first when it is missing and `create`.
pub(crate) fn open_for(
    write: &mut dyn Write,
    ns: &Namespace,
    create: bool,
) -> Result<Option<Arc<Collection>>> {
    let found = write.catalog().collection(&ns.database, &ns.collection).cloned();
    view::refuse(write.catalog(), ns)?;
    ns.check_writable()?;
    if found.is_some() || !create {
        return Ok(found);
    }
    collections::create(write, ns, None)?;
    Ok(write.catalog().collection(&ns.database, &ns.collection).cloned())
}
