//! Writes on which everything is done that comes before the database, and what is to be done when they are written.

use bson::oid::ObjectId;
use bson::{Bson, DateTime, RawBsonRef, RawDocumentBuf};

use super::copies::{Copied, PENDING};
use super::deletion;
use super::derivation::DerivedFields;
use super::hooks::{HookContext, HookTable};
use super::plan::Plan;
use super::scope::Settings;
use super::stages::{Stages, Terms};
use super::unasked::unasked;
use super::validator::Validator;
use super::violation::{self, Violation};
use super::write::{Batch, Kind, Write};
use crate::backend::{Operation, WriteResult, WriteStatement};
use crate::collection::Target;
use crate::error::{Error, Result};
use crate::relation::Doom;

/// Writes with what hooks, dates, version, validation and soft deletion make of them.
pub(crate) struct Ready {
    pub(super) batch: Batch,
    /// For each write.
    pub(super) terms: Vec<Terms>,
    /// Whether the write was a deletion, and is an update now.
    pub(super) softly: Vec<bool>,
    /// Whether the write is a deletion that means something for documents that refer.
    pub(super) ruled: Vec<bool>,
    /// The time of the writes.
    pub(super) now: DateTime,
    pub(super) after: After,
    pub(super) refused: Refused,
}

/// What is to be done when writes are written.
#[derive(Clone)]
pub(crate) struct After {
    plan: &'static Plan,
    /// The writes as hooks left them.
    pub(super) asked: Vec<Write>,
    /// What was marked because its copies wait.
    pub(super) marked: Option<(&'static Copied, RawDocumentBuf)>,
    /// What was marked because its derived fields are not in step, and by what.
    pub(super) underived: Option<(&'static DerivedFields, ObjectId, RawDocumentBuf)>,
}

/// The writes that break rules of the model, where the others are made all the same.
#[derive(Default)]
pub(super) struct Refused {
    pub(super) errors: Vec<(usize, Error)>,
    /// The places of the others in the batch.
    pub(super) others: Vec<usize>,
}

impl Ready {
    /// Runs the hooks of `before` and the stages, for all writes or none.
    pub(crate) async fn make(
        plan: &'static Plan,
        target: &Target,
        operation: Operation,
        settings: &Settings,
    ) -> Result<Ready> {
        Ready::make_of(plan, target, operation, settings, false).await
    }

    /// The same; of a batch in no order without the writes that break rules, unless a transaction makes all or nothing.
    pub(super) async fn make_some(
        plan: &'static Plan,
        target: &Target,
        operation: Operation,
        settings: &Settings,
    ) -> Result<Ready> {
        Ready::make_of(plan, target, operation, settings, true).await
    }

    async fn make_of(
        plan: &'static Plan,
        target: &Target,
        mut operation: Operation,
        settings: &Settings,
        some: bool,
    ) -> Result<Ready> {
        let has_rules = has_rules(plan, target, settings);
        let copied = copied(plan, target);
        if let Some(confinement) = target.confinement()? {
            confinement.confine(&mut operation)?;
        }
        let mut batch = Batch::take(operation, &settings.of_variants)?;
        if let Some(hooks) = plan.lifecycle.hooks {
            let context = HookContext::new(target.db(), target.namespace().collection.clone());
            for write in &mut batch.writes {
                if let Err(error) = (hooks.before)(write, &context).await {
                    return Err(named(error, inserted_id(write)));
                }
            }
        }
        let mut asked = match plan.lifecycle.hooks {
            Some(_) => batch.writes.clone(),
            None => Vec::new(),
        };
        let mut validator = Validator::default();
        let mut stages = Stages::of(plan, target, settings, copied, &mut validator);
        let mut terms = Vec::with_capacity(batch.writes.len());
        let mut softly = Vec::with_capacity(batch.writes.len());
        let mut ruled = Vec::with_capacity(batch.writes.len());
        for (index, write) in batch.writes.iter_mut().enumerate() {
            let was_delete = matches!(write.kind, Kind::Delete);
            stages.validator.statement(index);
            terms.push(stages.apply(write)?);
            if let (Some(asked), Kind::Insert(document)) = (asked.get_mut(index), &write.kind) {
                asked.kind = Kind::Insert(document.clone());
            }
            ruled.push(was_delete && has_rules);
            softly.push(was_delete && !matches!(write.kind, Kind::Delete));
        }
        let (marks, has_marked) = (stages.marks, stages.has_marked);
        let (token, has_derived, now) = (stages.token, stages.has_derived, stages.now);
        let violations = validator.into_violations();
        let mut refused = Refused::default();
        if !violations.is_empty() {
            if !some || batch.is_ordered() || target.db().guard().is_some() {
                return Err(broken(violations, &batch));
            }
            refused = Refused::of(violations, &batch);
            let Refused { others, .. } = &refused;
            keep(&mut batch.writes, others);
            keep(&mut terms, others);
            keep(&mut softly, others);
            keep(&mut ruled, others);
            if !asked.is_empty() {
                keep(&mut asked, others);
            }
        }
        let marked = match (copied, marks) {
            (Some(copied), Some((_, token))) if has_marked => {
                copied.check_reach(target)?;
                Some((copied, Copied::marked_by(&batch.writes, token)))
            }
            _ => None,
        };
        let underived = match &plan.derived {
            Some(derived) if has_derived => {
                Some((derived, token, DerivedFields::marked_by(&batch.writes, token)))
            }
            _ => None,
        };
        Ok(Ready {
            batch,
            terms,
            softly,
            ruled,
            now,
            after: After {
                plan,
                asked,
                marked,
                underived,
            },
            refused,
        })
    }

    /// The documents of an insert.
    pub(crate) fn into_documents(self) -> Vec<RawDocumentBuf> {
        let writes = self.batch.writes.into_iter();
        let documents = writes.filter_map(|write| match write.kind {
            Kind::Insert(document) => Some(document),
            _ => None,
        });
        documents.collect()
    }

    /// The statements that a batch sends, and what is to be done when they are written.
    pub(crate) fn into_statements(mut self) -> Result<(Vec<WriteStatement>, After)> {
        let mut writes = std::mem::take(&mut self.batch.writes);
        unasked(self.after.plan, &mut writes, &self.terms)?;
        let statements = writes.into_iter().map(Write::into_statement);
        Ok((statements.collect::<Result<_>>()?, self.after))
    }
}

impl Refused {
    fn of(violations: Vec<Violation>, batch: &Batch) -> Refused {
        let mut refused = Refused::default();
        // In the order of the writes.
        let mut violations = violations.into_iter().peekable();
        for place in 0..batch.writes.len() {
            let own: Vec<Violation> =
                std::iter::from_fn(|| violations.next_if(|violation| violation.statement == place)).collect();
            match own.is_empty() {
                true => refused.others.push(place),
                false => refused.errors.push((place, broken(own, batch))),
            }
        }
        refused
    }

    /// What is told of the whole batch.
    pub(super) fn join(self, mut result: WriteResult) -> WriteResult {
        let place = |place: usize| self.others.get(place).copied().unwrap_or(place);
        for (index, _) in &mut result.errors {
            *index = place(*index);
        }
        for (index, _) in &mut result.upserted {
            *index = place(*index);
        }
        result.errors.extend(self.errors);
        result.errors.sort_by_key(|(index, _)| *index);
        result
    }
}

/// The error of broken rules, with the `_id` of the first document that breaks one.
fn broken(violations: Vec<Violation>, batch: &Batch) -> Error {
    let first = violations
        .first()
        .and_then(|first| batch.writes.get(first.statement));
    named(violation::error(violations), first.and_then(inserted_id))
}

/// The `_id` of the document that is written, where the write says it.
fn inserted_id(write: &Write) -> Option<Bson> {
    match &write.kind {
        Kind::Insert(document) | Kind::Replace(document) => Bson::try_from(document.get("_id").ok()??).ok(),
        Kind::Update(_) if !write.multi => match write.filter.get("_id").ok()?? {
            RawBsonRef::Document(equal) => Bson::try_from(equal.get("$eq").ok()??).ok(),
            RawBsonRef::RegularExpression(_) => None,
            id => Bson::try_from(id).ok(),
        },
        _ => None,
    }
}

fn named(error: Error, id: Option<Bson>) -> Error {
    match (error.id(), id) {
        (None, Some(id)) => error.with_id(id),
        _ => error,
    }
}

/// Keeps what stands at these places, which are in order.
fn keep<T>(all: &mut Vec<T>, places: &[usize]) {
    let mut place = 0;
    all.retain(|_| {
        place += 1;
        places.binary_search(&(place - 1)).is_ok()
    });
}

impl After {
    /// Documents that were made by an insert of their own, perhaps with more fields since, and are written together
    /// with these writes.
    ///
    /// # Errors
    /// `Validation`.
    pub(crate) fn inserted(&mut self, target: &Target, documents: Vec<RawDocumentBuf>) -> Result<()> {
        if self.plan.has_rules {
            let mut validator = Validator::default();
            for (index, document) in documents.iter().enumerate() {
                validator.statement(index);
                validator.at("");
                validator.node(self.plan.declared, RawBsonRef::Document(document))?;
            }
            validator.finish()?;
        }
        let writes: Vec<Write> = documents.into_iter().map(Write::insert).collect();
        let token = writes.iter().find_map(|write| match &write.kind {
            Kind::Insert(document) => match document.get(PENDING) {
                Ok(Some(RawBsonRef::ObjectId(token))) => Some(token),
                _ => None,
            },
            _ => None,
        });
        if let (Some(copied), Some(token), None) = (copied(self.plan, target), token, &self.marked) {
            self.marked = Some((copied, Copied::marked_by(&writes, token)));
        }
        if self.plan.lifecycle.hooks.is_some() {
            self.asked.extend(writes);
        }
        Ok(())
    }

    /// Lets copies follow, and runs the hooks of `after`: at once, or when the transaction is committed.
    pub(crate) async fn run(self, target: &Target) -> Result<()> {
        if let Some((derived, token, marked)) = self.underived {
            let copies = copies_mark(&self.marked);
            derived.follow(target, token, marked, copies).await?;
        }
        if let Some((copied, marked)) = self.marked {
            copied.follow(target, marked).await?;
        }
        match self.plan.lifecycle.hooks {
            Some(hooks) => run_hooks(hooks, target, self.asked).await,
            None => Ok(()),
        }
    }
}

/// Runs the hooks of `after` for what was written: at once, or when the transaction is committed.
pub(super) async fn run_hooks(hooks: HookTable, target: &Target, done: Vec<Write>) -> Result<()> {
    let collection = target.namespace().collection.clone();
    let db = target.db();
    let outer = db.outer();
    let after = async move {
        let context = HookContext::new(outer, collection);
        for write in &done {
            (hooks.after)(write, &context).await?;
        }
        Ok(())
    };
    match db.guard() {
        Some(guard) => {
            guard.after_commit(Box::pin(async move {
                // Nobody is left to be told of an error.
                let _: Result<()> = after.await;
            }));
            Ok(())
        }
        None => after.await,
    }
}

/// What the writes were marked with whose copies wait, where derived fields are copied.
pub(super) fn copies_mark(marked: &Option<(&'static Copied, RawDocumentBuf)>) -> Option<ObjectId> {
    let (copied, marked) = marked.as_ref()?;
    match marked.get(PENDING) {
        Ok(Some(RawBsonRef::ObjectId(token))) if copied.has_derived() => Some(token),
        _ => None,
    }
}

/// The copies of the model's fields, which are those of its own collection.
pub(crate) fn copied(plan: &'static Plan, target: &Target) -> Option<&'static Copied> {
    let own = target.namespace().collection == plan.model.collection;
    plan.copied.as_ref().filter(|_| own)
}

/// Whether deletions mean something for documents that refer; these refer to the model's own collection.
pub(super) fn has_rules(plan: &'static Plan, target: &Target, settings: &Settings) -> bool {
    plan.is_referred_to && !settings.carried_out && target.namespace().collection == plan.model.collection
}

/// What is asked of the rules of the references to documents, or done by them, where their deletion is a part of
/// something larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ruling {
    /// Whether nobody denies the deletion.
    Ask,
    /// Whether no reference with a rule is there at all.
    AskForNone,
    /// What the rules say, all but the deletion itself.
    CarryOut,
}

/// Applies the rules of the references to the documents that match.
pub(crate) async fn rule(
    plan: &'static Plan,
    target: &Target,
    filter: RawDocumentBuf,
    ruling: Ruling,
    purge: bool,
) -> Result<()> {
    if !has_rules(plan, target, &Settings::default()) {
        return Ok(());
    }
    let documents = deletion::found(plan, target, filter).await?;
    if ruling == Ruling::AskForNone {
        return Doom::ask_for_none(plan.model, target, documents).await;
    }
    let doom = Doom::of(plan.model, target, documents, purge).await?;
    match ruling {
        Ruling::CarryOut => doom.carry_out(target.executor().now()).await,
        _ => Ok(()),
    }
}
