//! Finding documents with what they refer to.

use std::fmt;

use bson::RawDocument;

use super::find_one::Wanted;
use super::setters::runs;
use super::{Find, LoadStream};
use crate::backend::Batch;
use crate::collection::Target;
use crate::cursor::{self, Decode};
use crate::error::Result;
use crate::model::Model;
use crate::relation::{Loads, Plan, Relation, Shelf, With, with_needed};

/// Finds documents and loads what belongs to them: `.await` gives a tuple for each document,
/// [`stream`](Load::stream) one after another.
///
/// Round trips: those of the find, and one query for each relation (one for each collection that a polymorphic one
/// refers to), however many documents there are; one more for each 50,000 different keys. Memory: the whole result,
/// as stored and decoded; for streams that of a batch.
#[must_use = "an action does nothing until it is awaited"]
pub struct Load<M, P, L> {
    find: Find<M, P>,
    relations: L,
}

impl<M: Model, P, L> Load<M, P, L> {
    pub(super) fn new(find: Find<M, P>, relations: L) -> Load<M, P, L> {
        Load { find, relations }
    }

    /// Loads what another field refers to, as one more element of the tuple.
    pub fn load<A: Relation<M>>(self, relation: impl FnOnce(M::Fields<M>) -> A) -> Load<M, P, L::Both>
    where
        L: With<A>,
    {
        self.with(relation(M::fields()))
    }

    /// Loads another relation, as one more element of the tuple.
    pub fn with<A: Relation<M>>(self, relation: A) -> Load<M, P, L::Both>
    where
        L: With<A>,
    {
        Load {
            find: self.find,
            relations: self.relations.and(relation),
        }
    }
}

impl<M: Model, P: Send + 'static, L: Loads<M>> Load<M, P, L> {
    /// The documents one after another; for each batch of the find, one query for each relation.
    pub fn stream(self) -> LoadStream<L::Row<P>> {
        LoadStream::new(self)
    }

    pub(super) async fn run(self) -> Result<Vec<L::Row<P>>> {
        let (source, mut cursor) = self.open().await?;
        let mut batches = Vec::new();
        while let Some(batch) = cursor::next_batch(&source.target, "find", &mut *cursor).await? {
            batches.push(batch);
        }
        source.rows(batches).await
    }

    pub(super) async fn run_first(self) -> Result<Option<L::Row<P>>> {
        Ok(self.run().await?.into_iter().next())
    }

    pub(super) fn wanted(&self) -> Wanted {
        Wanted::by(self.find.draft())
    }

    pub(super) async fn open(self) -> Result<(Source<P, L>, Box<dyn crate::backend::BatchCursor>)> {
        let decode = self.find.decode();
        let mut draft = self.find.into_draft();
        let plan = draft.keep(self.relations.plan()).unwrap_or_else(Plan::nothing);
        let mut needed = Vec::new();
        plan.needs(&mut needed);
        let projection = draft.operation.projection.take();
        draft.operation.projection = draft.keep(with_needed(projection, &needed)).flatten();
        let (target, operation) = draft.ready()?;
        let cursor = target.execute(operation).await?.cursor()?;
        let source = Source {
            target,
            plan,
            decode,
            relations: self.relations,
        };
        Ok((source, cursor))
    }
}

/// What makes rows of batches.
pub(super) struct Source<P, L> {
    pub(super) target: Target,
    plan: Plan,
    decode: Decode<P>,
    relations: L,
}

impl<P: Send + 'static, L> Source<P, L> {
    /// Loads what belongs to the documents of the batches.
    pub(super) async fn rows<M: Model>(&self, batches: Vec<Box<dyn Batch>>) -> Result<Vec<L::Row<P>>>
    where
        L: Loads<M>,
    {
        let documents: Vec<&RawDocument> = batches
            .iter()
            .flat_map(|batch| (0..batch.len()).filter_map(|index| batch.get(index)))
            .collect();
        let shelf = self.fetch(&documents).await?;
        let rows = documents.iter().map(|stored| {
            let document = (self.decode)(stored)?;
            self.relations.row(document, &shelf, stored)
        });
        rows.collect::<Result<Vec<_>>>()
            .map_err(|error| self.target.explain(error, "find"))
    }

    async fn fetch(&self, documents: &[&RawDocument]) -> Result<Shelf> {
        let fetched = self.plan.fetch(&self.target, documents).await;
        fetched.map_err(|error| self.target.explain(error, "find"))
    }
}

runs!([M: Model, P: Send + 'static, L: Loads<M>] Load<M, P, L> => Vec<L::Row<P>>);

impl<M, P, L> fmt::Debug for Load<M, P, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Load").field(&self.find).finish()
    }
}
