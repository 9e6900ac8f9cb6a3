//! Deletions of documents that others refer to.

use std::sync::{Mutex, PoisonError};

use bson::RawDocumentBuf;

use super::document;
use super::pipeline::{Sending, merge, write};
use super::plan::Plan;
use super::scope::Settings;
use super::write::{Batch, Write};
use crate::backend::{self, Operation, ReadOptions, WriteResult, WriteStatement};
use crate::collection::Target;
use crate::cursor;
use crate::db::Answer;
use crate::error::{Error, Result};
use crate::relation::Doom;

/// Whether the operation deletes documents.
pub(super) fn deletes(operation: &Operation) -> bool {
    match operation {
        Operation::Delete(_) => true,
        Operation::FindAndModify(find) => find.modification.is_none(),
        Operation::BulkWrite(bulk) => {
            let mut statements = bulk.statements.iter();
            statements.any(|statement| matches!(statement, WriteStatement::Delete(_)))
        }
        _ => false,
    }
}

/// Whether the operation deletes, and is not in a transaction although it could be.
pub(super) fn wants_transaction(target: &Target, operation: &Operation) -> bool {
    let db = target.db();
    deletes(operation) && db.guard().is_none() && db.capabilities().transactions
}

/// Makes the writes in a transaction of their own: all of them or none.
pub(super) async fn in_transaction(
    plan: &'static Plan,
    target: &Target,
    operation: Operation,
    settings: Settings,
) -> Result<Answer> {
    let failed = Mutex::new(None);
    let failed = &failed;
    let answer = target
        .db()
        .transaction(|tx| {
            let (target, operation) = (target.within(tx.executor()), operation.clone());
            let settings = settings.clone();
            async move {
                let answer = write(plan, &target, operation, settings).await?;
                let Some((_, error)) = answer.as_write().and_then(|result| result.errors.first()) else {
                    return Ok(answer);
                };
                let error = error.clone();
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
                Err(error)
            }
        })
        .await;
    let failed = failed.lock().unwrap_or_else(PoisonError::into_inner).take();
    match (answer, failed) {
        (Err(error), Some(failed)) => Ok(rolled_back(failed, error)),
        (answer, _) => answer,
    }
}

/// What is said of a batch of which nothing took effect.
fn rolled_back(answer: Answer, error: Error) -> Answer {
    let mut errors = answer
        .as_write()
        .map_or_else(Vec::new, |result| result.errors.clone());
    if let Some((_, first)) = errors.first_mut() {
        *first = error;
    }
    answer.with_write(WriteResult {
        errors,
        ..WriteResult::default()
    })
}

impl Sending<'_> {
    /// Runs of other writes and each deletion, one after the other: what a deletion finds depends on what was
    /// written before it.
    pub(super) async fn send_deletions(&self, batch: &Batch, writes: Vec<Write>) -> Result<Answer> {
        let is_ordered = batch.is_ordered();
        let mut whole = WriteResult::default();
        let mut last = None;
        let mut start = 0;
        let mut writes = writes.into_iter().peekable();
        while let Some(write) = writes.next() {
            let mut run = vec![write];
            let is_ruled = self.ruled.get(start).copied().unwrap_or_default();
            while !is_ruled && self.ruled.get(start + run.len()) == Some(&false) {
                run.extend(writes.next());
            }
            let end = start + run.len();
            let (softly, terms) = (&self.softly[start..end], &self.terms[start..end]);
            let part = Sending {
                plan: self.plan,
                target: self.target,
                terms: terms.to_vec(),
                softly: softly.to_vec(),
                ruled: Vec::new(),
                purge: self.purge,
                now: self.now,
                variables: self.variables.clone(),
            };
            let (answer, failed) = match (is_ruled, run.as_slice()) {
                (true, [write]) => match part.delete(batch, write).await {
                    Ok(answer) => {
                        let failed = merge(&mut whole, answer.as_write(), start);
                        (Some(answer), failed)
                    }
                    Err(error) if matches!(batch.carrier, Operation::BulkWrite(_)) => {
                        whole.errors.push((start, error));
                        (None, true)
                    }
                    Err(error) => return Err(error),
                },
                _ => {
                    let answer = part.execute(batch.carry(run)?, softly.contains(&true)).await?;
                    let failed = merge(&mut whole, answer.as_write(), start);
                    (Some(answer), failed)
                }
            };
            last = answer.or(last);
            start = end;
            // A transaction in which something failed is over.
            if failed && (is_ordered || self.target.db().guard().is_some()) {
                break;
            }
        }
        match last {
            Some(answer) if answer.as_write().is_some() => Ok(answer.with_write(whole)),
            Some(answer) => Ok(answer),
            None => Ok(self.target.executor().answer(batch.carrier.name(), whole)),
        }
    }

    /// Finds what a deletion deletes, does to others what follows, and deletes exactly that.
    async fn delete(&self, batch: &Batch, write: &Write) -> Result<Answer> {
        let documents = self.doomed(batch, write).await?;
        let doom = Doom::of(self.plan.model, self.target, documents, self.purge).await?;
        let done = self.delete_all(batch, write, &doom).await;
        if let (Err(error), Some(guard)) = (&done, self.target.db().guard()) {
            // What refers may be written already.
            guard.fail(error.clone());
        }
        done
    }

    async fn delete_all(&self, batch: &Batch, write: &Write, doom: &Doom<'_>) -> Result<Answer> {
        doom.carry_out(self.now).await?;
        let softly = self.softly.contains(&true);
        let mut whole = WriteResult::default();
        let mut last = None;
        for filter in doom.filters()? {
            let mut part = write.clone();
            part.filter = document::narrowed(&write.filter, &filter)?;
            let answer = self.execute(batch.carry(vec![part])?, softly).await?;
            merge(&mut whole, answer.as_write(), 0);
            last = Some(answer);
        }
        match last {
            Some(answer) if answer.as_write().is_some() => Ok(answer.with_write(whole)),
            Some(answer) => Ok(answer),
            None => Ok(self.target.executor().answer(batch.carrier.name(), whole)),
        }
    }

    /// The documents that a deletion would delete, as far as references are about them.
    async fn doomed(&self, batch: &Batch, write: &Write) -> Result<Vec<RawDocumentBuf>> {
        let mut options = match &batch.carrier {
            Operation::Delete(delete) => delete.options.clone(),
            Operation::BulkWrite(bulk) => bulk.options.clone(),
            Operation::FindAndModify(find) => find.options.clone(),
            _ => ReadOptions::default(),
        };
        options.hint = write.hint.clone().or(options.hint);
        options.collation = write.collation.clone().or(options.collation);
        let sort = match &batch.carrier {
            Operation::FindAndModify(find) => find.sort.clone(),
            _ => None,
        };
        let mut find = find(self.plan, self.target, write.filter.clone())?;
        find.sort = sort;
        find.options = options;
        if !write.multi {
            (find.limit, find.batch_size) = (1, None);
        }
        collect(self.target, find).await
    }
}

/// All documents that match, as far as references are about them.
pub(super) async fn found(
    plan: &'static Plan,
    target: &Target,
    filter: RawDocumentBuf,
) -> Result<Vec<RawDocumentBuf>> {
    collect(target, find(plan, target, filter)?).await
}

fn find(plan: &'static Plan, target: &Target, filter: RawDocumentBuf) -> Result<backend::Find> {
    Ok(backend::Find {
        projection: Some(Doom::projection(plan.model)?),
        batch_size: Some(50_000),
        ..backend::Find::new(target.namespace().clone(), filter)
    })
}

async fn collect(target: &Target, find: backend::Find) -> Result<Vec<RawDocumentBuf>> {
    let cursor = target.execute(Operation::Find(find)).await?.cursor()?;
    cursor::collect(target, "find", cursor, |document| Ok(document.to_owned())).await
}
