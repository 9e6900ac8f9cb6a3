//! Inserting many documents.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::fmt;

use bson::{Bson, RawDocumentBuf};

use super::Draft;
use super::insert_one::prepare;
use super::setters::runs;
use crate::backend::{self, Operation, WriteResult};
use crate::codec;
use crate::collection::{Record, Target};
use crate::db::upserted;
use crate::error::{Error, PartialWrite, Result, WriteError};
use crate::lifecycle::{Ready, copied};

/// Inserts documents. One round trip, or as many as the backend's message limits need; none without documents.
///
/// In order and up to the first failure, unless [`unordered`](InsertMany::unordered). Not all or nothing: when
/// some fail, the error's [`partial_write`](Error::partial_write) says which, and which are stored.
#[must_use = "an action does nothing until it is awaited"]
pub struct InsertMany<D: Record> {
    draft: Draft<backend::Insert>,
    ids: Vec<D::Key>,
    ignores_duplicates: bool,
}

/// What inserting documents did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InsertManyResult<K> {
    /// The `_id` of each document that was stored, in their order.
    pub ids: Vec<K>,
}

impl<D: Record> InsertMany<D> {
    pub(crate) fn new<I>(target: &Target, documents: I) -> InsertMany<D>
    where
        I: IntoIterator,
        I::Item: Borrow<D>,
    {
        let documents = documents.into_iter();
        let count = documents.size_hint().0;
        let mut draft = Draft::new(
            target,
            backend::Insert {
                namespace: target.namespace().clone(),
                documents: Vec::with_capacity(count),
                ordered: true,
                bypass_validation: false,
                comment: None,
            },
        );
        let mut ids = Vec::with_capacity(count);
        for document in documents {
            let Some((encoded, id)) = draft.keep(prepare::<D>(document.borrow())) else {
                break;
            };
            draft.operation.documents.push(encoded);
            ids.push(id);
        }
        InsertMany {
            draft,
            ids,
            ignores_duplicates: false,
        }
    }

    /// Tries every document, even after a failure. Faster on a sharded collection.
    pub fn unordered(mut self) -> Self {
        self.draft.operation.ordered = false;
        self
    }

    /// Leaves out the documents whose key a unique index holds already (the one of `_id` too), which is no error then: the
    /// result has the `_id`s of those that were stored. The batch is [`unordered`](InsertMany::unordered).
    ///
    /// In a transaction a taken key is an error all the same, as it ends the transaction. Where the model's copies are made
    /// with the insert in a transaction of its own, a taken key takes that back, and each document is inserted by itself
    /// then: a round trip or more for each.
    pub fn ignore_duplicates(mut self) -> Self {
        self.ignores_duplicates = true;
        self.unordered()
    }

    /// Leaves the dates of `#[odm(created)]` and `#[odm(updated)]` as the document has them.
    pub fn without_timestamps(mut self) -> Self {
        self.draft.settings.timeless = true;
        self
    }

    /// A text for the server's log and profiler.
    pub fn comment(mut self, comment: impl Into<String>) -> Self {
        self.draft.operation.comment = Some(comment.into());
        self
    }

    /// Gives the documents as they would be stored, and stores nothing: with their `_id`, and with what the model's
    /// hooks, dates, version and kind make of them, held against its rules. For code that stores them together with
    /// other writes. Hooks that run after a write are not run.
    ///
    /// # Errors
    /// Those of inserting that need no round trip: `Validation`, `Encode`, and what hooks give.
    pub async fn prepared(self) -> Result<Vec<RawDocumentBuf>> {
        let settings = self.draft.settings.clone();
        let (target, operation) = self.draft.ready()?;
        let made = match (target.plan(), operation) {
            (None, Operation::Insert(insert)) => Ok(insert.documents),
            (Some(plan), operation) => {
                let ready = Ready::make(plan, &target, operation, &settings).await;
                ready.map(Ready::into_documents)
            }
            (None, _) => Ok(Vec::new()),
        };
        let owned = made.and_then(|documents| match target.confinement()? {
            Some(confinement) => documents.into_iter().map(|own| confinement.owned(own)).collect(),
            None => Ok(documents),
        });
        owned.map_err(|error| target.explain(error, "insert"))
    }

    async fn run(self) -> Result<InsertManyResult<D::Key>> {
        let ordered = self.draft.operation.ordered;
        let again =
            (self.ignores_duplicates && may_be_taken_back(&self.draft.target)).then(|| self.draft.clone());
        let mut failed = insert(self.draft).await?;
        if let (Some(draft), Some((target, result))) = (again, &failed)
            && is_of_duplicates(target, result)
            && result.summary.inserted == 0
            && result.errors.len() < self.ids.len()
        {
            failed = insert_each(draft).await?;
        }
        match failed {
            None => Ok(InsertManyResult { ids: self.ids }),
            Some((target, mut failed)) if self.ignores_duplicates && is_of_duplicates(&target, &failed) => {
                let taken: HashSet<usize> = failed.errors.drain(..).map(|(index, _)| index).collect();
                let ids = self.ids.into_iter().enumerate();
                if failed.concern.is_some() {
                    let ids = ids.filter(|(index, _)| !taken.contains(index));
                    let ids = ids.filter_map(|(index, id)| Some((index, key_to_bson::<D>(&id)?)));
                    return Err(partial(&target, "insert", ordered, failed, ids.collect()));
                }
                let stored = ids.filter(|(index, _)| !taken.contains(index));
                Ok(InsertManyResult {
                    ids: stored.map(|(_, id)| id).collect(),
                })
            }
            Some((target, failed)) => {
                let ids = self.ids.iter().enumerate();
                let ids = ids
                    .filter_map(|(index, id)| Some((index, key_to_bson::<D>(id)?)))
                    .collect();
                Err(partial(&target, "insert", ordered, failed, ids))
            }
        }
    }
}

runs!([D: Record] InsertMany<D> => InsertManyResult<D::Key>);

/// Sends the documents; gives the result when some failed, or their write concern was not met.
async fn insert(draft: Draft<backend::Insert>) -> Result<Option<(Target, WriteResult)>> {
    if draft.is_sound() && draft.operation.documents.is_empty() {
        draft.target.executor().check_running()?;
        return Ok(None);
    }
    let settings = draft.settings.clone();
    let (target, operation) = draft.ready()?;
    let answer = target.write(operation, settings).await?;
    let result = answer.outcome()?;
    let is_well = result.errors.is_empty() && result.concern.is_none();
    Ok((!is_well).then_some((target, result)))
}

/// Whether an insert of the model's documents may be a transaction of its own.
fn may_be_taken_back(target: &Target) -> bool {
    (target.plan()).is_some_and(|plan| copied(plan, target).is_some() || plan.derived.is_some())
}

/// Sends each document by itself, where all of them were taken back because of one; gives the result when some failed.
/// What fails as a whole, as without a server, ends it: the rest fails likewise.
async fn insert_each(mut draft: Draft<backend::Insert>) -> Result<Option<(Target, WriteResult)>> {
    let documents = std::mem::take(&mut draft.operation.documents);
    let target = draft.target.clone();
    let mut whole = WriteResult::default();
    let mut end = None;
    for (index, document) in documents.into_iter().enumerate() {
        if let Some(error) = &end {
            whole.errors.push((index, Error::clone(error)));
            continue;
        }
        let mut one = draft.clone();
        one.operation.documents.push(document);
        match insert(one).await {
            Ok(None) => whole.summary.inserted += 1,
            Ok(Some((_, failed))) => {
                whole.summary.inserted += failed.summary.inserted;
                whole.concern = whole.concern.or(failed.concern);
                let error = failed.errors.into_iter().next();
                whole.errors.extend(error.map(|(_, error)| (index, error)));
            }
            Err(error) => {
                whole.errors.push((index, error.clone()));
                end = Some(error);
            }
        }
    }
    let is_well = whole.errors.is_empty() && whole.concern.is_none();
    Ok((!is_well).then_some((target, whole)))
}

/// Whether nothing failed but for taken keys, and nothing else comes of that.
fn is_of_duplicates(target: &Target, failed: &WriteResult) -> bool {
    let mut errors = failed.errors.iter();
    target.db().guard().is_none() && errors.all(|(_, error)| error.is_duplicate_key())
}

pub(super) fn key_to_bson<D: Record>(key: &D::Key) -> Option<Bson> {
    D::encode_key(key)
        .unwrap_or_else(|| codec::encode_value(key))
        .ok()
        .and_then(|id| Bson::try_from(id).ok())
}

/// The error of a batch of which some writes failed. `inserts` are the batch's inserted documents by index.
pub(super) fn partial(
    target: &Target,
    operation: &'static str,
    ordered: bool,
    result: WriteResult,
    inserts: Vec<(usize, Bson)>,
) -> Error {
    let upserted = upserted(&result);
    let mut errors = result.errors;
    errors.sort_by_key(|(index, _)| *index);
    let stop = errors.first().map_or(usize::MAX, |(index, _)| *index);
    // Where one of them took the others back, none is.
    let is_any_stored = result.summary.inserted > 0;
    let stored = |index: usize| {
        if !is_any_stored {
            false
        } else if ordered {
            index < stop
        } else {
            errors
                .binary_search_by_key(&index, |(failed, _)| *failed)
                .is_err()
        }
    };
    let (inserted, failed): (Vec<_>, Vec<_>) = inserts.into_iter().partition(|(index, _)| stored(*index));
    let mut failed = failed.into_iter().peekable();
    let errors = errors.into_iter();
    let errors = errors.map(|(index, error)| {
        target.executor().notice(&error);
        while failed.next_if(|(other, _)| *other < index).is_some() {}
        let id = || failed.next_if(|(other, _)| *other == index).map(|(_, id)| id);
        WriteError {
            index,
            error: target.explain(error.or_id(id), operation),
        }
    });
    Error::of_batch(PartialWrite {
        summary: result.summary,
        inserted,
        upserted,
        errors: errors.collect(),
        concern: result.concern.map(|error| target.explain(error, operation)),
    })
}

impl<D: Record> fmt::Debug for InsertMany<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InsertMany").field(&self.draft).finish()
    }
}
