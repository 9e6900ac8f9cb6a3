//! Joining documents of another model.

use std::fmt;
use std::marker::PhantomData;

use bson::raw::cstr;
use bson::{RawArrayBuf, RawDocumentBuf};

use super::Pipeline;
use crate::error::Result;
use crate::lifecycle::{conditions_of, narrow_stages, narrowed};
use crate::model::{ArrayType, Embedded, Field, Model, Path};

/// How documents of `F` are joined to those of `R`, and which array of `Out` they come into.
#[must_use]
pub struct Joining<R, F, Out> {
    local: Result<String>,
    foreign: Result<String>,
    into: Result<String>,
    marker: PhantomData<fn(R, F, Out)>,
}

impl<Out, A: ArrayType> Field<Out, A> {
    /// Gets the documents of the other model whose field is equal to the local one; an array's elements each.
    pub fn joins<R, L, F, K>(&self, local: &Field<R, L>, foreign: &Field<F, K>) -> Joining<R, F, Out> {
        Joining {
            local: local.query_path().map(|path| path.as_str().to_owned()),
            foreign: foreign.query_path().map(|path| path.as_str().to_owned()),
            into: self.query_path().map(|path| path.as_str().to_owned()),
            marker: PhantomData,
        }
    }
}

impl<T: Embedded, S> Pipeline<T, S> {
    /// Joins the documents of another model (`$lookup`): `Out` is `T` with an array of them.
    ///
    /// `books.aggregate().lookup::<Publisher, Whole>(|b, p, w| w.publishers.joins(&b.publisher, &p.id))`. Softly deleted
    /// documents of the other model are left out, and so are documents of other kinds.
    pub fn lookup<F: Model, Out: Embedded>(
        self,
        join: impl FnOnce(T::Fields<T>, F::Fields<F>, Out::Fields<Out>) -> Joining<T, F, Out>,
    ) -> Pipeline<Out, S> {
        self.lookup_with(join, |joined| joined)
    }

    /// As [`lookup`](Pipeline::lookup), with stages for what is joined to each document: a filter, an order, a limit, a
    /// projection.
    pub fn lookup_with<F: Model, Out: Embedded, G>(
        self,
        join: impl FnOnce(T::Fields<T>, F::Fields<F>, Out::Fields<Out>) -> Joining<T, F, Out>,
        refine: impl FnOnce(Pipeline<F>) -> Pipeline<G>,
    ) -> Pipeline<Out, S> {
        let join = join(
            T::fields_at(Path::root()),
            F::fields(),
            Out::fields_at(Path::root()),
        );
        let (stages, joins, ()) = refine(Pipeline::new()).into_parts();
        let argument = join.argument(stages);
        self.joining::<F>()
            .joining_all(joins)
            .then(cstr!("$lookup"), argument)
    }

    /// The documents, and behind them those of another model, made documents of `T` by stages of their own
    /// (`$unionWith`). Softly deleted documents of the other model are left out, and so are documents of
    /// other kinds.
    pub fn union_with<F: Model>(self, stages: impl FnOnce(Pipeline<F>) -> Pipeline<T>) -> Pipeline<T, S> {
        let (stages, joins, ()) = stages(Pipeline::new()).into_parts();
        let stages = stages.and_then(seen::<F>);
        let argument = stages.map(|stages| {
            let mut argument = RawDocumentBuf::new();
            argument.append(cstr!("coll"), F::DESCRIPTOR.collection);
            argument.append(cstr!("pipeline"), stages.into_iter().collect::<RawArrayBuf>());
            argument
        });
        self.joining::<F>()
            .joining_all(joins)
            .then(cstr!("$unionWith"), argument)
    }
}

impl<R, F: Model, Out> Joining<R, F, Out> {
    fn argument(self, stages: Result<Vec<RawDocumentBuf>>) -> Result<RawDocumentBuf> {
        let mut argument = RawDocumentBuf::new();
        argument.append(cstr!("from"), F::DESCRIPTOR.collection);
        argument.append(cstr!("localField"), self.local?);
        argument.append(cstr!("foreignField"), self.foreign?);
        let stages = stages.and_then(seen::<F>)?;
        if !stages.is_empty() {
            argument.append(cstr!("pipeline"), stages.into_iter().collect::<RawArrayBuf>());
        }
        argument.append(cstr!("as"), self.into?);
        Ok(argument)
    }
}

/// These stages over the documents of a model as its own collection shows them.
fn seen<F: Model>(mut stages: Vec<RawDocumentBuf>) -> Result<Vec<RawDocumentBuf>> {
    if let Some(condition) = living::<F>()? {
        narrow_stages(&mut stages, &condition)?;
    }
    Ok(stages)
}

/// What documents of a model as its own collection shows them have: they are of its kind, not softly deleted, and in its scope.
pub(super) fn living<F: Model>() -> Result<Option<RawDocumentBuf>> {
    let mut all = conditions_of(&F::LIFECYCLE)?.into_iter();
    let Some(first) = all.next() else { return Ok(None) };
    all.try_fold(first, |all, one| narrowed(&all, &one)).map(Some)
}

impl<R, F, Out> fmt::Debug for Joining<R, F, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Joining")
            .field("local", &self.local)
            .field("foreign", &self.foreign)
            .field("into", &self.into)
            .finish()
    }
}
