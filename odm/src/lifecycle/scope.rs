//! Which documents an action sees: the living, the softly deleted, or both.

use bson::{DateTime, RawBson, RawBsonRef, RawDocument, RawDocumentBuf, rawdoc};

use super::document;
use super::joins::Joins;
use super::plan::{Lifecycle, Plan};
use crate::backend::{Operation, WriteStatement};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Model, Path};
use crate::query::{BuiltUpdate, Filter, without_distance};

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
    /// The models that the stages of a pipeline name, where a program made them.
    pub(crate) joins: Option<Box<Joins>>,
}

impl Settings {
    /// Keeps what an update says of variants, which its text does not.
    pub(crate) fn name_variants(&mut self, place: usize, update: &mut BuiltUpdate) {
        let paths = std::mem::take(&mut update.of_variants);
        self.of_variants
            .extend(paths.into_iter().map(|path| (place, path)));
    }
}

/// Which documents: those in a state of life, and of them those that the model's own scope shows.
///
/// What a program asks for is the default; what keeps documents in step is about those that are not shown too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scope {
    pub(crate) life: Life,
    /// Whether the model's own scope says nothing.
    pub(crate) is_lifted: bool,
}

/// In which state of life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Life {
    #[default]
    Living,
    All,
    Deleted,
}

impl Scope {
    /// All that live.
    pub(crate) const LIVING: Scope = Scope {
        life: Life::Living,
        is_lifted: true,
    };

    /// All.
    pub(crate) const ALL: Scope = Scope {
        life: Life::All,
        is_lifted: true,
    };

    /// The same of another state of life.
    pub(crate) fn of(self, life: Life) -> Scope {
        Scope { life, ..self }
    }
}

/// What a model's own scope asks of documents.
///
/// # Errors
/// As encoding the filter; `InvalidArgument` for one that searches texts or by distance, which not every operation can.
pub fn scope_of<M: Model>(scope: impl FnOnce(M::Fields<M>) -> Filter<M>) -> Result<RawDocumentBuf> {
    let filter = scope(M::fields()).to_document().and_then(without_distance)?;
    match has_text(&filter) {
        false => Ok(filter),
        true => Err(Error::new(
            ErrorKind::InvalidArgument,
            "the scope of a model does not search texts",
        )),
    }
}

/// Lets an operation see only the documents of the model's kind.
///
/// # Errors
/// `Unsupported` for watching: a deletion does not say which kind it took.
pub(crate) fn narrow_kind(plan: &Plan, operation: &mut Operation) -> Result<()> {
    let Some(condition) = kind(&plan.lifecycle)? else {
        return Ok(());
    };
    if let Operation::Watch(_) = operation {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "one kind of a collection's documents cannot be watched, as deletions do not say their kind; watch the \
             enum of all kinds, or `raw()`",
        ));
    }
    narrow_to(operation, &condition)
}

/// The condition on the name of the kind.
fn kind(lifecycle: &Lifecycle) -> Result<Option<RawDocumentBuf>> {
    let Some(kind) = lifecycle.kind else {
        return Ok(None);
    };
    let mut condition = RawDocumentBuf::new();
    condition.append(document::key(kind.tag)?, kind.name);
    Ok(Some(condition))
}

/// What documents must meet to be of the model's kind and of the scope.
pub(crate) fn conditions(plan: &Plan, scope: Scope) -> Result<Vec<RawDocumentBuf>> {
    let mut all = Vec::from_iter(kind(&plan.lifecycle)?);
    all.extend(life(&plan.lifecycle, scope.life)?);
    all.extend(own(plan, scope)?.cloned());
    Ok(all)
}

/// What documents of a model as its own collection shows them meet. Not taken from the model's plan: the functions that
/// tell of a model's options are asked for that, and they may be what asks here.
pub(crate) fn conditions_of(lifecycle: &Lifecycle) -> Result<Vec<RawDocumentBuf>> {
    let mut all = Vec::from_iter(kind(lifecycle)?);
    all.extend(life(lifecycle, Life::Living)?);
    all.extend(lifecycle.scope.map(|scope| scope()).transpose()?);
    Ok(all)
}

/// What the model's own scope asks.
fn own(plan: &Plan, scope: Scope) -> Result<Option<&RawDocumentBuf>> {
    match &plan.scope {
        Some(own) if !scope.is_lifted => own.as_ref().map(Some).map_err(Clone::clone),
        _ => Ok(None),
    }
}

/// Lets an operation see only the documents of the model's kind and of the scope.
pub(crate) fn narrow(plan: &Plan, operation: &mut Operation, scope: Scope) -> Result<()> {
    narrow_kind(plan, operation)?;
    if let Some(condition) = life(&plan.lifecycle, scope.life)? {
        narrow_to(operation, &condition)?;
    }
    match own(plan, scope)? {
        Some(condition) => narrow_unsown(operation, condition),
        None => Ok(()),
    }
}

/// As [`narrow_to`]; upserts store nothing of the condition.
fn narrow_unsown(operation: &mut Operation, condition: &RawDocumentBuf) -> Result<()> {
    match operation {
        Operation::Aggregate(_) => narrow_to(operation, condition),
        Operation::Explain(explain) => narrow_unsown(&mut explain.operation, condition),
        _ => each_filter(operation, &mut |filter, is_upsert| {
            *filter = match is_upsert {
                // The same condition, of which no value is taken.
                true => {
                    let not = |condition: RawDocumentBuf| rawdoc! { "$nor": [condition] };
                    document::narrowed(filter, &not(not(condition.clone())))?
                }
                false => document::narrowed(filter, condition)?,
            };
            Ok(())
        }),
    }
}

/// Whether a stored document is not softly deleted.
pub(crate) fn is_living(plan: &Plan, stored: &RawDocument) -> bool {
    let date = plan.lifecycle.soft_delete_field();
    let date = date.and_then(|name| stored.get(name).ok().flatten());
    matches!(date, None | Some(RawBsonRef::Null))
}

/// The condition on the date of deletion.
fn life(lifecycle: &Lifecycle, life: Life) -> Result<Option<RawDocumentBuf>> {
    let Some(stamp) = lifecycle.soft_delete else {
        return Ok(None);
    };
    let condition = match life {
        Life::All => return Ok(None),
        Life::Living => RawBson::Null,
        Life::Deleted => RawBson::Document(document::single(bson::cstr!("$ne"), RawBson::Null)),
    };
    let mut filter = RawDocumentBuf::new();
    filter.append(document::key(stamp.name)?, condition);
    Ok(Some(filter))
}

/// Lets an operation see only the documents that meet the condition.
pub(crate) fn narrow_to(operation: &mut Operation, condition: &RawDocumentBuf) -> Result<()> {
    match operation {
        Operation::Aggregate(aggregate) => narrow_stages(&mut aggregate.pipeline, condition),
        Operation::Explain(explain) => narrow_to(&mut explain.operation, condition),
        _ => each_filter(operation, &mut |filter, _| {
            *filter = document::narrowed(filter, condition)?;
            Ok(())
        }),
    }
}

/// Changes the filters of an operation that has some; told is whether a document may be inserted of what one asks for. A
/// count is exact then.
pub(super) fn each_filter(
    operation: &mut Operation,
    change: &mut dyn FnMut(&mut RawDocumentBuf, bool) -> Result<()>,
) -> Result<()> {
    match operation {
        Operation::Find(find) => change(&mut find.filter, false),
        Operation::Count(count) => {
            count.estimated = false;
            change(&mut count.filter, false)
        }
        Operation::Distinct(distinct) => change(&mut distinct.filter, false),
        Operation::FindAndModify(find) => change(&mut find.filter, find.upsert),
        Operation::Update(update) => update
            .statements
            .iter_mut()
            .try_for_each(|statement| change(&mut statement.filter, statement.upsert)),
        Operation::Delete(delete) => delete
            .statements
            .iter_mut()
            .try_for_each(|statement| change(&mut statement.filter, false)),
        Operation::BulkWrite(bulk) => bulk
            .statements
            .iter_mut()
            .try_for_each(|statement| match statement {
                WriteStatement::Update(statement) => change(&mut statement.filter, statement.upsert),
                WriteStatement::Delete(statement) => change(&mut statement.filter, false),
                WriteStatement::Insert(_) => Ok(()),
            }),
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
    if let Some(near) = stages.first().and_then(geo_near) {
        // Behind it a document has what the stage made of it.
        let filter = match near.get("query") {
            Ok(None) => condition.clone(),
            Ok(Some(RawBsonRef::Document(own))) => document::narrowed(own, condition)?,
            _ => {
                let message = "the query of a search by distance is a document";
                return Err(Error::new(ErrorKind::InvalidArgument, message));
            }
        };
        let near = document::with_field(near, "query", RawBson::Document(filter))?;
        stages[0] = document::single(bson::cstr!("$geoNear"), near);
        return Ok(());
    }
    if let Some(position) = stages.first().map_or(Some(0), position) {
        let stage = document::single(bson::cstr!("$match"), condition.clone());
        stages.insert(position, stage);
    }
    Ok(())
}

/// What a stage says that searches by distance.
pub(super) fn geo_near(stage: &RawDocumentBuf) -> Option<&RawDocument> {
    match stage.iter().next() {
        Some(Ok((name, RawBsonRef::Document(near)))) if name == "$geoNear" => Some(near),
        _ => None,
    }
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
            "$search" | "$searchMeta" | "$vectorSearch" => Some(1),
            "$collStats" | "$indexStats" | "$planCacheStats" | "$changeStream" | "$documents" => None,
            _ => Some(0),
        },
        _ => Some(0),
    }
}
