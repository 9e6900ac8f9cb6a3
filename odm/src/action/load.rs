//! Finding documents with what they refer to.

use std::collections::HashMap;
use std::fmt;

use bson::{RawDocument, RawDocumentBuf};

use super::find_one::Wanted;
use super::page_projection::Added;
use super::setters::{loads_more, runs};
use super::{Find, LoadStream};
use crate::backend::{Batch, ReadOptions};
use crate::collection::Target;
use crate::cursor::{self, Decode};
use crate::error::Result;
use crate::lifecycle::Versions;
use crate::model::Model;
use crate::relation::{Loads, Plan, Relation, Shelf, With};

/// Finds documents and loads what belongs to them: `.await` gives a tuple for each document,
/// [`stream`](Load::stream) one after another.
///
/// Round trips: those of the find, and one query for each relation (one for each collection that a polymorphic one
/// refers to), however many documents there are; one more for each 50,000 different keys. Memory: the whole result,
/// as stored and decoded; for streams that of a batch.
///
/// The find's [`comment`](Find::comment) and [`max_time`](Find::max_time) hold for each query; its hint and its
/// collation are about its own collection. Targets that are softly deleted count as missing, unless the relation says
/// [`with_deleted`](crate::Field::with_deleted).
#[must_use = "an action does nothing until it is awaited"]
pub struct Load<M, P, L> {
    find: Find<M, P>,
    relations: L,
}

impl<M: Model, P, L> Load<M, P, L> {
    pub(super) fn new(find: Find<M, P>, relations: L) -> Load<M, P, L> {
        Load { find, relations }
    }
}

loads_more!(Load, find, Relation, load, with, "Loads");

impl<M: Model, P: Send + 'static, L: Loads<M>> Load<M, P, L> {
    /// The documents one after another; for each batch of the find, one query for each relation.
    pub fn stream(self) -> LoadStream<L::Row<P>> {
        LoadStream::new(self)
    }

    pub(super) async fn run(self) -> Result<Vec<L::Row<P>>> {
        let (source, cursor) = self.open().await?;
        let batches = cursor::batches(&source.target, "find", cursor).await?;
        source.rows(batches).await
    }

    pub(super) async fn run_first(self) -> Result<Option<L::Row<P>>> {
        Ok(self.run().await?.into_iter().next())
    }

    pub(super) fn wanted(&self) -> Wanted {
        Wanted::by(self.find.draft())
    }

    pub(super) async fn open(self) -> Result<(Source<P, L>, Box<dyn crate::backend::BatchCursor>)> {
        let (find, plan) = self.find.planned(self.relations.plan());
        let decode = find.decode();
        let options = shared(&find.draft().operation.options);
        let versions = find.versions();
        let (target, operation) = find.into_draft().asked().await?;
        let cursor = target.execute(operation).await?.cursor()?;
        let source = Source {
            target,
            plan,
            options,
            decode,
            added: Added::default(),
            versions,
            relations: self.relations,
        };
        Ok((source, cursor))
    }
}

/// What the queries of a load take over from the find: the rest is about its own collection.
pub(super) fn shared(options: &ReadOptions) -> ReadOptions {
    ReadOptions {
        comment: options.comment.clone(),
        max_time: options.max_time,
        ..ReadOptions::default()
    }
}

/// What makes rows of batches.
pub(super) struct Source<P, L> {
    pub(super) target: Target,
    pub(super) plan: Plan,
    pub(super) options: ReadOptions,
    pub(super) decode: Decode<P>,
    /// What is read for the tokens of pages and not asked for.
    pub(super) added: Added,
    /// The shapes of the model's documents, where whole ones are read.
    pub(super) versions: Option<Versions>,
    pub(super) relations: L,
}

/// What documents of older shapes are read as, by where they are in memory.
pub(super) struct Upgraded(HashMap<usize, RawDocumentBuf>);

impl Upgraded {
    fn of<'d>(&'d self, stored: &'d RawDocument) -> &'d RawDocument {
        match self.0.is_empty() {
            true => stored,
            false => self.0.get(&place(stored)).map_or(stored, AsRef::as_ref),
        }
    }
}

fn place(stored: &RawDocument) -> usize {
    stored.as_bytes().as_ptr() as usize
}

impl<P: Send + 'static, L> Source<P, L> {
    /// Loads what belongs to the documents of the batches.
    pub(super) async fn rows<M: Model>(&self, batches: Vec<Box<dyn Batch>>) -> Result<Vec<L::Row<P>>>
    where
        L: Loads<M>,
    {
        let documents = batches
            .iter()
            .flat_map(|batch| cursor::documents(&self.target, "find", &**batch));
        let documents: Vec<&RawDocument> = documents.collect::<Result<_>>()?;
        let (shelf, upgraded) = self.fetch(&documents).await?;
        let rows = documents
            .iter()
            .map(|stored| self.row::<M>(stored, &shelf, &upgraded));
        rows.collect::<Result<Vec<_>>>()
            .map_err(|error| self.target.explain(error, "find"))
    }

    /// A document with its share.
    pub(super) fn row<M: Model>(
        &self,
        stored: &RawDocument,
        shelf: &Shelf,
        upgraded: &Upgraded,
    ) -> Result<L::Row<P>>
    where
        L: Loads<M>,
    {
        let document = (self.decode)(&self.added.without(stored))?;
        self.relations.row(document, shelf, upgraded.of(stored))
    }

    /// What belongs to documents, by what they are read as.
    pub(super) async fn fetch(&self, documents: &[&RawDocument]) -> Result<(Shelf, Upgraded)> {
        let upgraded = self.upgraded(documents);
        let upgraded = upgraded.map_err(|error| self.target.explain(error, "find"))?;
        let read: Vec<&RawDocument> = documents.iter().map(|stored| upgraded.of(stored)).collect();
        let fetched = self.plan.fetch(&self.target, &read, &self.options).await;
        let shelf = fetched.map_err(|error| self.target.explain(error, "find"))?;
        Ok((shelf, upgraded))
    }

    fn upgraded(&self, documents: &[&RawDocument]) -> Result<Upgraded> {
        let mut all = HashMap::new();
        if let Some(versions) = &self.versions {
            for stored in documents {
                if let Some(upgraded) = versions.upgraded(stored)? {
                    all.insert(place(stored), upgraded);
                }
            }
        }
        Ok(Upgraded(all))
    }
}

runs!([M: Model, P: Send + 'static, L: Loads<M>] Load<M, P, L> => Vec<L::Row<P>>);

impl<M, P, L> fmt::Debug for Load<M, P, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Load").field(&self.find).finish()
    }
}
