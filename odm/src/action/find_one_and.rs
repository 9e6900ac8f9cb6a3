//! Changing or deleting one document and giving it back.

use std::fmt;
use std::marker::PhantomData;

use bson::Document;

use super::find::projection;
use super::find_one::Wanted;
use super::setters::{runs, setters};
use super::whose::{Narrowed, Related};
use super::{Draft, Explain, upserted_array, upserted_id};
use crate::backend::{self, Operation, ReadOptions};
use crate::codec::{self, Raw};
use crate::collection::encode::Asked;
use crate::collection::{Record, Target, encode, projected};
use crate::cursor::Decode;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Embedded, Model};
use crate::query::{BuiltUpdate, Sort};

/// Changes, replaces or deletes one document and gives it, as one atomic step: `.await` gives the document, or
/// `None` when none matched. One round trip.
///
/// A document of a later schema version than this program knows is neither changed nor deleted, as it could not be given: when
/// no other one matches, that is an error of kind `NewerVersion`. What is given [untyped](FindOneAnd::untyped) or by a
/// projection may be of any.
///
/// The document comes as it was before, unless [`return_new`](FindOneAnd::return_new). An upsert that inserted
/// gives `None` for the document before.
#[must_use = "an action does nothing until it is awaited"]
pub struct FindOneAnd<D, P = D> {
    draft: Draft<backend::FindAndModify>,
    /// See [`upserted_array`].
    seeded_arrays: Vec<String>,
    decode: Decode<P>,
    marker: PhantomData<fn() -> D>,
}

impl<D: Record> FindOneAnd<D> {
    /// Changes the document, or deletes it without an update.
    pub(crate) fn new(
        target: &Target,
        filter: Result<impl Into<Asked>>,
        update: Option<Result<BuiltUpdate>>,
    ) -> FindOneAnd<D> {
        let (filter, seeded_arrays) = match filter.map(Into::into) {
            Ok(asked) => (Ok(asked.filter), asked.seeded_arrays),
            Err(error) => (Err(error), Vec::new()),
        };
        let mut draft = Draft::with_filter(target, filter, |filter| filter);
        draft.settings.gives_model = true;
        let update = update.and_then(|update| draft.keep(update));
        let (modification, array_filters) = match update {
            Some(mut update) => {
                draft.settings.name_variants(0, &mut update);
                (Some(update.modification), update.array_filters)
            }
            None => (None, Vec::new()),
        };
        let draft = draft.map(|filter| backend::FindAndModify {
            namespace: target.namespace().clone(),
            filter,
            sort: None,
            projection: None,
            modification,
            return_new: false,
            upsert: false,
            array_filters,
            options: ReadOptions::default(),
        });
        FindOneAnd {
            draft,
            seeded_arrays,
            decode: D::decode,
            marker: PhantomData,
        }
    }
}

impl<D: Record, P> FindOneAnd<D, P> {
    /// Inserts a document when none matches. Has no meaning for a deletion. Its `_id` is as with
    /// [`Update::upsert`](crate::action::Update::upsert).
    pub fn upsert(mut self) -> Self {
        let operation = &mut self.draft.operation;
        operation.upsert = operation.modification.is_some();
        if let Some(modification) = &operation.modification {
            let checked = upserted_id::check::<D>(&operation.filter, modification)
                .and_then(|()| upserted_array::check(&self.seeded_arrays, modification));
            self.draft.keep(checked);
        }
        self
    }
}

impl<D, P> FindOneAnd<D, P> {
    /// Gives the document as it is after the change. Has no meaning for a deletion.
    pub fn return_new(mut self) -> Self {
        self.draft.operation.return_new = self.draft.operation.modification.is_some();
        self
    }

    /// A deletion takes the document out even where the model is deleted softly.
    ///
    /// Only the living are seen, unless the action says `with_deleted()` or `only_deleted()`.
    pub fn for_ever(mut self) -> Self {
        self.draft.settings.purge = true;
        self
    }

    /// Which document is taken when several match, in MongoDB's words.
    pub fn sort_raw(mut self, sort: impl Into<Raw>) -> Self {
        self.draft.operation.sort = self.draft.keep(encode::raw(sort));
        self
    }

    /// Gives only the stored fields of another type, decoded as that.
    pub fn project<Q: Embedded>(self) -> FindOneAnd<D, Q>
    where
        D: Record,
    {
        let mut action: FindOneAnd<D, Q> = self.decoded(projected::<D, Q>());
        action.draft.operation.projection = action.draft.keep(projection::<Q>()).flatten();
        action
    }

    /// Gives what a projection in MongoDB's words leaves, untyped.
    pub fn project_raw(self, projection: impl Into<Raw>) -> FindOneAnd<D, Document> {
        let mut action = self.untyped();
        action.draft.operation.projection = action.draft.keep(encode::raw(projection));
        action
    }

    /// Gives the document untyped.
    pub fn untyped(self) -> FindOneAnd<D, Document> {
        self.decoded(codec::decode_untyped)
    }

    /// Gives what need not be readable as the model.
    fn decoded<Q>(mut self, decode: Decode<Q>) -> FindOneAnd<D, Q> {
        self.draft.settings.gives_model = false;
        FindOneAnd {
            draft: self.draft,
            seeded_arrays: self.seeded_arrays,
            decode,
            marker: PhantomData,
        }
    }

    /// Takes a missing document for an error of kind `NotFound`, which carries the `_id` when it was asked by. An
    /// [`upsert`](FindOneAnd::upsert) needs [`return_new`](FindOneAnd::return_new) beside it: without it the document that
    /// it inserts would be missing, which is an error of kind `InvalidArgument`, before anything is written.
    pub fn required(self) -> FindOneAndRequired<D, P> {
        FindOneAndRequired { action: self }
    }

    /// How the document would be found. Nothing is changed.
    pub fn explain(self) -> Explain {
        Explain::new(self.draft.map(Operation::FindAndModify))
    }

    async fn run(self) -> Result<Option<P>> {
        let settings = self.draft.settings.clone();
        let (target, operation) = self.draft.asked().await?;
        let answer = target.write(operation, settings).await?;
        let Some(document) = answer.document()? else {
            return Ok(None);
        };
        match (self.decode)(&document) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(target.explain(error, "findAndModify")),
        }
    }
}

impl<M: Model, P> FindOneAnd<M, P> {
    /// Which document is taken when several match.
    pub fn sort(mut self, sort: impl FnOnce(M::Fields<M>) -> Sort<M>) -> Self {
        self.draft.operation.sort = self.draft.keep(sort(M::fields()).to_document());
        self
    }
}

setters!([D, P] FindOneAnd<D, P>: hint, comment, max_time, collation, variables, scope, timeless);
runs!([D: 'static, P: Send + 'static] FindOneAnd<D, P> => Option<P>);

impl<D, P> Narrowed for FindOneAnd<D, P> {
    fn related(&mut self) -> &mut Option<Box<Related>> {
        &mut self.draft.related
    }
}

/// Changes, replaces or deletes one document that must be there, and gives it. One round trip.
#[must_use = "an action does nothing until it is awaited"]
pub struct FindOneAndRequired<D, P = D> {
    action: FindOneAnd<D, P>,
}

impl<D, P> FindOneAndRequired<D, P> {
    async fn run(self) -> Result<P> {
        let draft = &self.action.draft;
        if draft.operation.upsert && !draft.operation.return_new {
            let text = "an upsert gives no document that it inserts: ask for the new one";
            let error = Error::new(ErrorKind::InvalidArgument, text);
            return Err(draft.target.explain(error, "findAndModify"));
        }
        let wanted = Wanted::matching(&draft.target, &draft.operation.filter);
        let found = self.action.run().await?;
        found.ok_or_else(|| wanted.missing_for("findAndModify"))
    }
}

runs!([D: 'static, P: Send + 'static] FindOneAndRequired<D, P> => P);

impl<D, P> fmt::Debug for FindOneAndRequired<D, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FindOneAndRequired").field(&self.action).finish()
    }
}

impl<D, P> Clone for FindOneAnd<D, P> {
    fn clone(&self) -> Self {
        FindOneAnd {
            draft: self.draft.clone(),
            seeded_arrays: self.seeded_arrays.clone(),
            decode: self.decode,
            marker: PhantomData,
        }
    }
}

impl<D, P> fmt::Debug for FindOneAnd<D, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FindOneAnd").field(&self.draft).finish()
    }
}
