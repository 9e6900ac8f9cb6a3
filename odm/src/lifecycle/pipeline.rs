//! The one way of every write of a typed collection: hooks, the stages, the database, what it says, hooks.
//!
//! Whatever is to see every change belongs between the stages and the database, where [`Batch::writes`] is what will
//! be sent and the target's executor is the running transaction's: as the rules of references do in [`deletion`].

use bson::{DateTime, RawDocumentBuf};
use futures_core::future::BoxFuture;

use super::again::Again;
use super::condition::{GUARD, NOT_STORED};
use super::deletion;
use super::document;
use super::place::{Place, Tags};
use super::plan::Plan;
use super::ready::{Ready, copied, copies_mark, has_rules, run_hooks};
use super::scope::Settings;
use super::stages::{INSERTED, Terms};
use super::unasked::unasked;
use super::versions::with_id;
use super::violation::{self, Violation};
use super::write::{Batch, Write};
use crate::backend::{self, Operation, ReadOptions, WriteResult, WriteSummary};
use crate::collection::Target;
use crate::cursor;
use crate::db::Answer;
use crate::error::{Error, ErrorKind, Result};

const CHANGED: &str = "the document was changed since it was loaded";

const DELETED: &str = "the document is gone, and its version says that it was stored before";

/// Makes the writes of an operation.
pub(crate) fn write<'a>(
    plan: &'static Plan,
    target: &'a Target,
    operation: Operation,
    settings: Settings,
) -> BoxFuture<'a, Result<Answer>> {
    let name = operation.name();
    let run = run(plan, target, operation, settings);
    Box::pin(async move { run.await.map_err(|error| target.explain(error, name)) })
}

async fn run(
    plan: &'static Plan,
    target: &Target,
    operation: Operation,
    settings: Settings,
) -> Result<Answer> {
    let has_rules = has_rules(plan, target, &settings);
    let copied = copied(plan, target);
    let hooked = plan.lifecycle.hooks.is_some();
    if (has_rules && deletion::wants_transaction(target, &operation))
        || copied.is_some_and(|copied| copied.wants_transaction(target, &operation, hooked))
        || (plan.derived.as_ref())
            .is_some_and(|derived| derived.wants_transaction(target, &operation, hooked))
    {
        return deletion::in_transaction(plan, target, operation, settings).await;
    }
    let ready = Ready::make_some(plan, target, operation, &settings).await?;
    let Ready {
        mut batch,
        terms,
        softly,
        ruled,
        now,
        after,
        refused,
    } = ready;
    if batch.writes.is_empty() && !refused.errors.is_empty() {
        let result = refused.join(WriteResult::default());
        return Ok(target.executor().answer(batch.carrier.name(), result));
    }
    let again = Again::of(&mut batch.carrier, &after);
    let sending = Sending {
        plan,
        target,
        terms,
        softly,
        ruled,
        purge: settings.purge,
        now,
        variables: variables(&batch.carrier).cloned(),
    };
    let mut answer = sending.send(&mut batch).await?;
    // A transaction in which something failed is over.
    let failed = answer.as_write().filter(|result| !result.errors.is_empty());
    let is_over = target.db().guard().is_some() && failed.is_some();
    if let (Some(guard), Some(result)) = (target.db().guard(), failed)
        && result.summary != WriteSummary::default()
        && let Some((_, error)) = result.errors.first()
    {
        guard.fail(error.clone());
    }
    if let (Some((derived, token, marked)), false) = (after.underived, is_over) {
        let copies = copies_mark(&after.marked);
        derived.follow(target, token, marked, copies).await?;
    }
    if let (Some((copied, marked)), false) = (after.marked, is_over) {
        copied.follow(target, marked).await?;
    }
    if let Some(again) = again {
        answer = again.read(target, answer).await?;
    }
    if let Some(hooks) = plan.lifecycle.hooks {
        let done = written(&answer, &batch.carrier, after.asked);
        run_hooks(hooks, target, done).await?;
    }
    match answer.as_write() {
        Some(result) if !refused.errors.is_empty() => {
            let whole = refused.join(result.clone());
            Ok(answer.with_write(whole))
        }
        _ => Ok(answer),
    }
}

/// The writes that took effect. Of several that met no document nobody knows which.
fn written(answer: &Answer, carrier: &Operation, asked: Vec<Write>) -> Vec<Write> {
    // An upsert that gives what there was before gives nothing where it inserted.
    let may_insert = matches!(carrier, Operation::FindAndModify(find) if find.upsert);
    if asked.len() == 1 && !may_insert && found_nothing(answer) {
        return Vec::new();
    }
    let Some(result) = answer.as_write() else {
        return asked;
    };
    let ordered = match carrier {
        Operation::Insert(insert) => insert.ordered,
        Operation::Update(update) => update.ordered,
        Operation::Delete(delete) => delete.ordered,
        Operation::BulkWrite(bulk) => bulk.ordered,
        _ => true,
    };
    let stop = result.errors.iter().map(|(index, _)| *index).min();
    let failed = |index: usize| match stop {
        None => false,
        Some(stop) if ordered => index >= stop,
        Some(_) => result.errors.iter().any(|(failed, _)| *failed == index),
    };
    let asked = asked.into_iter().enumerate();
    asked
        .filter(|(index, _)| !failed(*index))
        .map(|(_, write)| write)
        .collect()
}

/// Prepared writes on their way to the database.
pub(super) struct Sending<'a> {
    pub(super) plan: &'static Plan,
    pub(super) target: &'a Target,
    /// For each write.
    pub(super) terms: Vec<Terms>,
    /// Whether the write was a deletion, and is an update now.
    pub(super) softly: Vec<bool>,
    /// Whether the write is a deletion that means something for documents that refer.
    pub(super) ruled: Vec<bool>,
    pub(super) purge: bool,
    /// The time of the writes, and of what they mean for others.
    pub(super) now: DateTime,
    /// Those of the writes' expressions.
    pub(super) variables: Option<RawDocumentBuf>,
}

impl Sending<'_> {
    async fn send(&self, batch: &mut Batch) -> Result<Answer> {
        let mut writes = std::mem::take(&mut batch.writes);
        let several = writes.len() > 1;
        match writes.as_mut_slice() {
            [only] => {
                // Whether it was found, it is asked.
                let was_stored = self.terms.iter().any(|terms| terms.was_stored.is_some());
                only.upsert &= !was_stored;
            }
            _ => unasked(self.plan, &mut writes, &self.terms)?,
        }
        let is_open = writes.iter().any(|write| write.multi || write.upsert);
        let has_many = writes.iter().any(|write| write.multi);
        if self.ruled.contains(&true) {
            let answer = self.send_deletions(batch, writes).await?;
            let answer = self.with_newer(answer, batch, has_many).await?;
            return self.understood(answer, several || is_open).await;
        }
        if let ([terms], [write]) = (self.terms.as_slice(), writes.as_slice())
            && write.upsert
            && self.is_in_steps(terms)
        {
            return self.upsert_in_steps(batch, write.clone(), terms).await;
        }
        if matches!(batch.carrier, Operation::BulkWrite(_)) && self.softly.contains(&true) {
            let answer = self.send_runs(batch, writes).await?;
            return self.with_newer(answer, batch, has_many).await;
        }
        let operation = batch.carry(writes)?;
        let answer = self.execute(operation, self.softly.contains(&true)).await?;
        let answer = self.with_newer(answer, batch, has_many).await?;
        self.understood(answer, several || is_open).await
    }

    /// Executes; the errors of an upsert on a document that did not meet its terms say so.
    pub(super) async fn execute(&self, operation: Operation, softly: bool) -> Result<Answer> {
        let answer = match self.target.execute(operation).await {
            Ok(answer) => answer,
            Err(error) => return Err(self.translated(0, error).await),
        };
        let Some(result) = answer.as_write() else {
            return Ok(answer);
        };
        let mut result = result.clone();
        for (index, error) in &mut result.errors {
            *error = self.translated(*index, error.clone()).await;
        }
        if softly {
            count_deletions(&mut result);
        }
        Ok(answer.with_write(result))
    }

    /// Runs of soft deletions and of other writes, one after the other, so that each can be counted as what it is.
    async fn send_runs(&self, batch: &Batch, writes: Vec<Write>) -> Result<Answer> {
        let ordered = matches!(&batch.carrier, Operation::BulkWrite(bulk) if bulk.ordered);
        let mut whole = WriteResult::default();
        let mut last = None;
        let mut start = 0;
        let mut writes = writes.into_iter().peekable();
        while writes.peek().is_some() {
            let softly = self.softly.get(start).copied().unwrap_or_default();
            let end = (start..self.softly.len())
                .find(|index| self.softly[*index] != softly)
                .unwrap_or(self.softly.len());
            let run: Vec<Write> = writes.by_ref().take(end - start).collect();
            let part = Sending {
                plan: self.plan,
                target: self.target,
                terms: self.terms[start..end].to_vec(),
                softly: Vec::new(),
                ruled: Vec::new(),
                purge: self.purge,
                now: self.now,
                variables: self.variables.clone(),
            };
            let answer = part.execute(batch.carry(run)?, softly).await?;
            let failed = merge(&mut whole, answer.as_write(), start);
            last = Some(answer);
            start = end;
            if failed && ordered {
                break;
            }
        }
        match last {
            Some(answer) => Ok(answer.with_write(whole)),
            None => self.target.execute(batch.carry(Vec::new())?).await,
        }
    }

    /// Whether an upsert is made by more than one operation: where several documents can match its filter, where it can
    /// only update, and where one that fails because of a document that is there would end the transaction.
    fn is_in_steps(&self, terms: &Terms) -> bool {
        let fails = self.target.db().guard().is_some() && !terms.is_empty();
        let refuses = !terms.insertion.is_empty() || terms.computes;
        let depends = !terms.conditions.is_empty() || terms.not_newer;
        fails || refuses || (depends && !names_id(&terms.filter))
    }

    /// An upsert for which a document that does not meet its terms is an error, not a reason to insert another; or that
    /// would insert what its model refuses.
    async fn upsert_in_steps(&self, batch: &Batch, mut write: Write, terms: &Terms) -> Result<Answer> {
        let mut first = write.clone();
        first.upsert = false;
        let answer = self.execute(batch.carry(vec![first.clone()])?, false).await?;
        if !found_nothing(&answer) {
            return Ok(answer);
        }
        match self.stored(terms, &terms.filter).await? {
            Some(stored) => {
                if let Some(unmet) = self.unmet(terms, stored)? {
                    return Err(unmet);
                }
                // It came after it was looked for, so that it is found now. What may not be inserted, or not so, is not
                // sent, should it be gone again.
                if !terms.insertion.is_empty() || terms.computes {
                    return self.execute(batch.carry(vec![first])?, false).await;
                }
            }
            None => violation::finish(terms.insertion.clone())?,
        }
        if terms.computes {
            // It only inserts: of a document that came since then nobody knows whether it meets the conditions.
            let exists = document::single(bson::cstr!("$exists"), true);
            write.filter = document::narrowed(&terms.filter, &document::single(INSERTED, exists))?;
        }
        self.execute(batch.carry(vec![write])?, false).await
    }

    /// Says why a single write found nothing, if the reason is its terms.
    async fn understood(&self, answer: Answer, open: bool) -> Result<Answer> {
        let [terms] = self.terms.as_slice() else {
            return Ok(answer);
        };
        if open || terms.is_empty() || !found_nothing(&answer) {
            return Ok(answer);
        }
        match self.stored(terms, &terms.filter).await? {
            Some(stored) => match self.unmet(terms, stored)? {
                Some(unmet) => Err(unmet),
                None => Ok(answer),
            },
            None => match &terms.was_stored {
                Some(id) => Err(deleted(id)),
                None => Ok(answer),
            },
        }
    }

    /// The error of a write that met the `_id` of a document that it did not find, or the guard of a pipeline.
    async fn translated(&self, index: usize, error: Error) -> Error {
        if error.message().contains(GUARD) {
            let (path, message) = self.too_long(error.message());
            let violation = Violation {
                path,
                rule: "max_items",
                message: message.into(),
                statement: index,
            };
            return match violation::finish(vec![violation]) {
                Err(broken) => broken.with_source(error),
                Ok(()) => error,
            };
        }
        let Some(terms) = self.terms.get(index).filter(|terms| !terms.is_empty()) else {
            return error;
        };
        if let (Some(id), true) = (&terms.was_stored, error.message().contains(NOT_STORED)) {
            // The error has ended the transaction, if there was one: nothing can be read in it.
            let stored = match self.target.db().guard() {
                Some(_) => {
                    return Error::new(ErrorKind::Conflict, CHANGED)
                        .with_id(id.clone())
                        .with_source(error);
                }
                None => self.stored(terms, &terms.filter).await,
            };
            let unmet = match stored {
                Ok(Some(stored)) => self.unmet(terms, stored),
                Ok(None) => Ok(Some(deleted(id))),
                Err(unreadable) => Err(unreadable),
            };
            return match unmet {
                Ok(Some(unmet)) => unmet.with_source(error),
                Ok(None) => error,
                Err(unreadable) => unreadable,
            };
        }
        if !error.is_duplicate_key() || error.index() != Some("_id_") || !names_id(&terms.filter) {
            return error;
        }
        // The error has ended the transaction, if there was one: nothing can be read in it.
        if self.target.db().guard().is_some() {
            return match terms.version {
                Some(_) => Error::new(ErrorKind::Conflict, CHANGED).with_source(error),
                None => error,
            };
        }
        match self.stored(terms, &terms.filter).await {
            Ok(Some(stored)) => match self.unmet(terms, stored) {
                Ok(Some(unmet)) => unmet.with_source(error),
                Ok(None) => error,
                Err(unreadable) => unreadable,
            },
            _ => error,
        }
    }

    /// Which array a pipeline made too long, as the error of the guard says it.
    fn too_long(&self, text: &str) -> (String, String) {
        let said = text.split_once(GUARD).map_or("", |(_, said)| said);
        let said = said.split('\'').next().unwrap_or_default().rsplit_once(": ");
        let bound = |path: &str| Place::find(self.plan.declared, path, Tags::Unknown)?.bound();
        match said.and_then(|(path, items)| Some((path, items, bound(path)?))) {
            Some((path, items, bound)) => (
                path.to_owned(),
                format!("must have at most {bound} elements, and has {items}"),
            ),
            None => (String::new(), "an array is longer than its bound".to_owned()),
        }
    }

    /// Which of its terms a document does not meet. `None` where it meets them all by now, and nothing was asked but that
    /// it is of no later schema version.
    fn unmet(&self, terms: &Terms, stored: RawDocumentBuf) -> Result<Option<Error>> {
        let versions = self.plan.lifecycle.versions.filter(|_| terms.not_newer);
        if let Some(newer) = versions.and_then(|versions| versions.refusal(&stored)) {
            return Ok(Some(newer));
        }
        if terms.is_only_not_newer() {
            return Ok(None);
        }
        if terms.version.is_some() {
            return Ok(Some(conflict(CHANGED, stored)));
        }
        let mut violations = Vec::new();
        for condition in &terms.conditions {
            for (path, message) in condition.broken(&stored)? {
                violations.push(Violation {
                    path,
                    rule: message.rule,
                    message: message.text,
                    statement: 0,
                });
            }
        }
        Ok(Some(match violation::finish(violations) {
            Err(error) => with_id(error, &stored),
            // It has changed between the write and the look at it.
            Ok(()) => conflict("the document was changed while it was written", stored),
        }))
    }

    /// A document that the filter matches, as a write of these terms compares.
    pub(super) async fn stored(
        &self,
        terms: &Terms,
        filter: &RawDocumentBuf,
    ) -> Result<Option<RawDocumentBuf>> {
        let options = ReadOptions {
            collation: terms.collation.clone(),
            variables: self.variables.clone(),
            ..ReadOptions::default()
        };
        find(self.target, filter, options).await
    }
}

/// The error of a replacement of a document that was deleted since.
fn deleted(id: &bson::Bson) -> Error {
    let error = Error::new(ErrorKind::Conflict, DELETED);
    match id {
        bson::Bson::Null => error,
        id => error.with_id(id.clone()),
    }
}

/// The variables of an operation's expressions.
fn variables(carrier: &Operation) -> Option<&RawDocumentBuf> {
    let options = match carrier {
        Operation::Update(update) => &update.options,
        Operation::Delete(delete) => &delete.options,
        Operation::BulkWrite(bulk) => &bulk.options,
        Operation::FindAndModify(find) => &find.options,
        _ => return None,
    };
    options.variables.as_ref()
}

/// A document that a filter matches, as it is stored.
pub(super) async fn find_one(target: &Target, filter: &RawDocumentBuf) -> Result<Option<RawDocumentBuf>> {
    find(target, filter, ReadOptions::default()).await
}

async fn find(
    target: &Target,
    filter: &RawDocumentBuf,
    options: ReadOptions,
) -> Result<Option<RawDocumentBuf>> {
    let operation = Operation::Find(backend::Find {
        namespace: target.namespace().clone(),
        filter: filter.clone(),
        sort: None,
        projection: None,
        skip: 0,
        limit: 1,
        batch_size: None,
        tail: None,
        options,
    });
    let cursor = target.execute(operation).await?.cursor()?;
    cursor::first(target, "find", cursor, |document| Ok(document.to_owned())).await
}

/// The error of a write to a document that is another one by now.
pub(super) fn conflict(text: &'static str, stored: RawDocumentBuf) -> Error {
    let error = with_id(Error::new(ErrorKind::Conflict, text), &stored);
    error.with_current(stored)
}

/// Whether only one document can match, because the filter has its `_id`.
pub(super) fn names_id(filter: &RawDocumentBuf) -> bool {
    backend::id_of(filter).is_some()
}

fn found_nothing(answer: &Answer) -> bool {
    match answer.as_write() {
        Some(result) => {
            result.errors.is_empty()
                && result.summary.matched == 0
                && result.upserted.is_empty()
                && result.summary.deleted == 0
                && result.summary.inserted == 0
        }
        None => answer.is_no_document(),
    }
}

fn count_deletions(result: &mut WriteResult) {
    result.summary.deleted += result.summary.modified;
    result.summary.matched = 0;
    result.summary.modified = 0;
}

/// Adds the result of a later run; whether something of it failed.
pub(super) fn merge(whole: &mut WriteResult, part: Option<&WriteResult>, start: usize) -> bool {
    let Some(part) = part else { return false };
    whole.summary.inserted += part.summary.inserted;
    whole.summary.matched += part.summary.matched;
    whole.summary.modified += part.summary.modified;
    whole.summary.upserted += part.summary.upserted;
    whole.summary.deleted += part.summary.deleted;
    let upserted = part.upserted.iter();
    whole
        .upserted
        .extend(upserted.map(|(index, id)| (index + start, id.clone())));
    let errors = part.errors.iter();
    whole
        .errors
        .extend(errors.map(|(index, error)| (index + start, error.clone())));
    whole.concern = whole.concern.take().or_else(|| part.concern.clone());
    !part.errors.is_empty()
}
