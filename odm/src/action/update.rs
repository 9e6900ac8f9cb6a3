//! Changing documents.

use std::fmt;
use std::marker::PhantomData;

use bson::{RawBson, RawDocumentBuf};

use super::setters::{runs, setters};
use super::whose::{Narrowed, Related};
use super::{Draft, Explain, upserted_array, upserted_id};
use crate::backend::{self, Operation, ReadOptions, UpdateStatement, WriteResult};
use crate::collection::encode::Asked;
use crate::collection::{Record, Target};
use crate::error::{Error, ErrorKind, Result};
use crate::query::BuiltUpdate;

/// Changes one document or many, or replaces one. One round trip.
#[must_use = "an action does nothing until it is awaited"]
pub struct Update<D> {
    draft: Draft<backend::Update>,
    /// See [`upserted_array`].
    seeded_arrays: Vec<String>,
    marker: PhantomData<fn() -> D>,
}

/// What changing documents did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpdateResult<K> {
    /// How many documents matched; 0 when one was upserted.
    pub matched: u64,
    /// How many of them are different now.
    pub modified: u64,
    /// The `_id` of the document that was inserted because none matched.
    pub upserted_id: Option<K>,
}

impl<D: Record> Update<D> {
    pub(crate) fn new(
        target: &Target,
        filter: Result<impl Into<Asked>>,
        update: Result<BuiltUpdate>,
        multi: bool,
    ) -> Update<D> {
        let (filter, seeded_arrays) = match filter.map(Into::into) {
            Ok(asked) => (Ok(asked.filter), asked.seeded_arrays),
            Err(error) => (Err(error), Vec::new()),
        };
        let mut draft = Draft::with_filter(target, filter, |filter| filter);
        let mut statement = draft.keep(update);
        if let Some(update) = &mut statement {
            draft.settings.name_variants(0, update);
        }
        let draft = draft.map(|filter| backend::Update {
            namespace: target.namespace().clone(),
            statements: statement
                .map(|update| update_statement(filter, update, multi))
                .into_iter()
                .collect(),
            ordered: true,
            options: ReadOptions::default(),
        });
        Update {
            draft,
            seeded_arrays,
            marker: PhantomData,
        }
    }

    /// Inserts a document when none matches: the filter's equalities with the update applied.
    ///
    /// Where neither says which `_id` it gets, the database gives it an ObjectId; an upsert of a model with another type of
    /// `_id` is refused then, with the kind `InvalidArgument`. So is one whose filter says what an element of an array is
    /// equal to (`has`, `any`, `at`) and whose update does not set the array: the element would be stored in its place.
    pub fn upsert(mut self) -> Self {
        let mut checked = Ok(());
        for statement in &mut self.draft.operation.statements {
            statement.upsert = true;
            checked = checked
                .and_then(|()| upserted_id::check::<D>(&statement.filter, &statement.modification))
                .and_then(|()| upserted_array::check(&self.seeded_arrays, &statement.modification));
        }
        self.draft.keep(checked);
        self
    }

    /// How the documents would be found and changed. Nothing is changed.
    pub fn explain(self) -> Explain {
        Explain::new(self.draft.map(Operation::Update))
    }

    async fn run(self) -> Result<UpdateResult<D::Key>> {
        let (target, result) = send(self.draft).await?;
        let upserted_id = match result.upserted.into_iter().next() {
            Some((_, id)) => Some(decode_key::<D>(&target, "update", id)?),
            None => None,
        };
        Ok(UpdateResult {
            matched: result.summary.matched,
            modified: result.summary.modified,
            upserted_id,
        })
    }
}

setters!([D: Record] Update<D>: hint in statement, collation in statement, comment, max_time, variables, scope, timeless);
runs!([D: Record] Update<D> => UpdateResult<D::Key>);

impl<D> Narrowed for Update<D> {
    fn related(&mut self) -> &mut Option<Box<Related>> {
        &mut self.draft.related
    }
}

async fn send(draft: Draft<backend::Update>) -> Result<(Target, WriteResult)> {
    let settings = draft.settings.clone();
    let (target, operation) = draft.asked().await?;
    let answer = target.write(operation, settings).await?;
    let result = check_single(&target, "update", answer.write()?)?;
    Ok((target, result))
}

pub(super) fn update_statement(filter: RawDocumentBuf, update: BuiltUpdate, multi: bool) -> UpdateStatement {
    UpdateStatement {
        filter,
        modification: update.modification,
        multi,
        upsert: false,
        array_filters: update.array_filters,
        hint: None,
        collation: None,
    }
}

/// The result of a batch of one write, whose failure is the action's own.
pub(super) fn check_single(
    target: &Target,
    operation: &'static str,
    mut result: WriteResult,
) -> Result<WriteResult> {
    if result.errors.is_empty() {
        return Ok(result);
    }
    let (_, error) = result.errors.swap_remove(0);
    target.executor().notice(&error);
    Err(target.explain(error, operation))
}

/// The `_id`, in the way that the model reads it.
pub(super) fn decode_key<D: Record>(target: &Target, operation: &'static str, id: RawBson) -> Result<D::Key> {
    D::read_key(id.as_raw_bson_ref()).map_err(|error| target.explain(error.with_path("_id"), operation))
}

/// The error of a write that the backend says went well although there was nothing to write.
pub(super) fn nothing_written(target: &Target, operation: &'static str) -> Error {
    let text = "the backend broke its contract: it wrote a document that it was not given";
    target.explain(Error::new(ErrorKind::Server, text), operation)
}

impl<D> fmt::Debug for Update<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Update").field(&self.draft).finish()
    }
}
