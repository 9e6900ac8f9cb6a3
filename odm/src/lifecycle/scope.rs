//! Which documents an action sees: the living, the softly deleted, or both.

use bson::{DateTime, RawBson, RawBsonRef, RawDocument, RawDocumentBuf};

use super::document;
use super::plan::Plan;
use crate::backend::Operation;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Path;
use crate::query::BuiltUpdate;

/// What an action asks of the life of documents.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) scope: Scope,
    /// Whether dates of creation and change are left alone.
    pub(crate) timeless: bool,
    /// Whether deletions are for ever.
    pub(crate) purge: bool,
    /// Whether the rules of the references to what is deleted were carried out already.
    pub(crate) carried_out: bool,
    /// Whether the document that is written is given as the model, so that it must be one that the model can read.
    pub(crate) gives_model: bool,
    /// The time of a larger write that this is a part of.
    pub(crate) at: Option<DateTime>,
    /// The paths of changes that name variants, each with the place of its write.
    pub(crate) of_variants: Vec<(usize, Path)>,
}

impl Settings {
    /// Keeps what an update says of variants, which its text does not.
    pub(crate) fn name_variants(&mut self, place: usize, update: &mut BuiltUpdate) {
        let paths = std::mem::take(&mut update.of_variants);
        self.of_variants
            .extend(paths.into_iter().map(|path| (place, path)));
    }
}

/// Which documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scope {
    #[default]
    Living,
    All,
    Deleted,
}

/// Lets an operation see only the documents of the model's kind.
///
/// # Errors
/// `Unsupported` for watching: a deletion does not say which kind it took.
pub(crate) fn narrow_kind(plan: &Plan, operation: &mut Operation) -> Result<()> {
    let Some(kind) = plan.lifecycle.kind else {
        return Ok(());
    };
    if let Operation::Watch(_) = operation {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "one kind of a collection's documents cannot be watched, as deletions do not say their kind; watch the \
             enum of all kinds, or `raw()`",
        ));
    }
    let mut condition = RawDocumentBuf::new();
    condition.append(document::key(kind.tag)?, kind.name);
    narrow_to(operation, &condition)
}

/// What documents must meet to be of the model's kind and of the scope.
pub(crate) fn conditions(plan: &Plan, scope: Scope) -> Result<Vec<RawDocumentBuf>> {
    let mut all = Vec::new();
    if let Some(kind) = plan.lifecycle.kind {
        let mut condition = RawDocumentBuf::new();
        condition.append(document::key(kind.tag)?, kind.name);
        all.push(condition);
    }
    all.extend(life(plan, scope)?);
    Ok(all)
}

/// Lets an operation see only the documents of the model's kind and of the scope.
pub(crate) fn narrow(plan: &Plan, operation: &mut Operation, scope: Scope) -> Result<()> {
    narrow_kind(plan, operation)?;
    match life(plan, scope)? {
        Some(condition) => narrow_to(operation, &condition),
        None => Ok(()),
    }
}

/// Whether a stored document is not softly deleted.
pub(crate) fn is_living(plan: &Plan, stored: &RawDocument) -> bool {
    let date = plan.lifecycle.soft_delete_field();
    let date = date.and_then(|name| stored.get(name).ok().flatten());
    matches!(date, None | Some(RawBsonRef::Null))
}

/// The condition on the date of deletion.
fn life(plan: &Plan, scope: Scope) -> Result<Option<RawDocumentBuf>> {
    let Some(stamp) = plan.lifecycle.soft_delete else {
        return Ok(None);
    };
    let condition = match scope {
        Scope::All => return Ok(None),
        Scope::Living => RawBson::Null,
        Scope::Deleted => RawBson::Document(document::single(bson::cstr!("$ne"), RawBson::Null)),
    };
    let mut filter = RawDocumentBuf::new();
    filter.append(document::key(stamp.name)?, condition);
    Ok(Some(filter))
}

/// Lets an operation see only the documents that meet the condition.
pub(crate) fn narrow_to(operation: &mut Operation, condition: &RawDocumentBuf) -> Result<()> {
    let narrow = |filter: &mut RawDocumentBuf| {
        *filter = document::narrowed(filter, condition)?;
        Ok(())
    };
    match operation {
        Operation::Find(find) => narrow(&mut find.filter),
        Operation::Count(count) => {
            count.estimated = false;
            narrow(&mut count.filter)
        }
        Operation::Distinct(distinct) => narrow(&mut distinct.filter),
        Operation::FindAndModify(find) => narrow(&mut find.filter),
        Operation::Update(update) => update
            .statements
            .iter_mut()
            .try_for_each(|statement| narrow(&mut statement.filter)),
        Operation::Delete(delete) => delete
            .statements
            .iter_mut()
            .try_for_each(|statement| narrow(&mut statement.filter)),
        Operation::BulkWrite(bulk) => bulk
            .statements
            .iter_mut()
            .try_for_each(|statement| match statement {
                crate::backend::WriteStatement::Update(statement) => narrow(&mut statement.filter),
                crate::backend::WriteStatement::Delete(statement) => narrow(&mut statement.filter),
                crate::backend::WriteStatement::Insert(_) => Ok(()),
            }),
        Operation::Aggregate(aggregate) => narrow_stages(&mut aggregate.pipeline, condition),
        Operation::Explain(explain) => narrow_to(&mut explain.operation, condition),
        _ => Ok(()),
    }
}

/// Lets the stages see only the documents that meet a condition.
pub(crate) fn narrow_stages(stages: &mut Vec<RawDocumentBuf>, condition: &RawDocumentBuf) -> Result<()> {
    if let Some(text) = stages.first().and_then(text_search) {
        // MongoDB searches texts in the first stage only.
        let filter = document::narrowed(text, condition)?;
        stages[0] = document::single(bson::cstr!("$match"), filter);
        return Ok(());
    }
    if let Some(position) = stages.first().map_or(Some(0), position) {
        let stage = document::single(bson::cstr!("$match"), condition.clone());
        stages.insert(position, stage);
    }
    Ok(())
}

/// The filter of a stage that searches texts.
fn text_search(stage: &RawDocumentBuf) -> Option<&RawDocument> {
    match stage.iter().next() {
        Some(Ok((name, RawBsonRef::Document(filter)))) if name == "$match" && has_text(filter) => {
            Some(filter)
        }
        _ => None,
    }
}

fn has_text(filter: &RawDocument) -> bool {
    filter
        .iter()
        .flatten()
        .any(|(name, value)| match (name.as_str(), value) {
            ("$text", _) => true,
            ("$and" | "$or" | "$nor", RawBsonRef::Array(parts)) => parts
                .into_iter()
                .flatten()
                .any(|part| part.as_document().is_some_and(has_text)),
            _ => false,
        })
}

/// Where the condition goes: before a stage that reads the collection's documents, behind one that must be the
/// first, nowhere where the first stage does not read documents.
fn position(first: &RawDocumentBuf) -> Option<usize> {
    match first.iter().next() {
        Some(Ok((name, _))) => match name.as_str() {
            "$geoNear" | "$search" | "$searchMeta" | "$vectorSearch" => Some(1),
            "$collStats" | "$indexStats" | "$planCacheStats" | "$changeStream" | "$documents" => None,
            _ => Some(0),
        },
        _ => Some(0),
    }
}
