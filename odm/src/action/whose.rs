//! Actions on the documents whose related documents meet a condition.

use bson::Document;

use super::setters::time;
use super::{Count, Delete, Distinct, Draft, Exists, Find, FindOne, FindOneAnd, Update};
use crate::backend::ReadOptions;
use crate::collection::Collection;
use crate::error::Result;
use crate::model::{Field, Model};
use crate::query::{self, Filter};
use crate::relation::{Asked, Asking, RelatedFilter};

/// The documents of a collection whose related documents meet a condition: `.await` gives the [`Filter`] that says so, by
/// the related documents' keys, and the methods are the collection's actions on these documents alone.
///
/// Made by [`Collection::whose`](crate::Collection::whose).
#[must_use = "an action does nothing until it is awaited"]
#[derive(Clone)]
pub struct Whose<M> {
    collection: Collection<M>,
    condition: RelatedFilter<M>,
    draft: Draft<ReadOptions>,
}

/// A condition of an action on related documents, which are asked before the action runs.
#[derive(Clone, Debug)]
pub(super) struct Related {
    pub(super) asked: Asked,
    /// The collation that the model declares.
    pub(super) collation: Option<Document>,
}

impl Related {
    /// The condition as a filter.
    pub(super) async fn resolve(
        &self,
        target: &crate::collection::Target,
        options: &ReadOptions,
    ) -> Result<query::Node> {
        let stated = options.collation.as_ref();
        let stated = stated.map(crate::relation::said_collation).transpose()?;
        let is_stated = stated.as_ref().is_some_and(|stated| *stated != self.collation);
        let shared = super::load::shared(options);
        let asking = Asking {
            target,
            collation: stated.unwrap_or_else(|| self.collation.clone()),
            is_stated,
            options: &shared,
        };
        self.asked.resolve(&asking).await
    }
}

impl<M: Model> Whose<M> {
    pub(crate) fn new(collection: &Collection<M>, condition: RelatedFilter<M>) -> Whose<M> {
        Whose {
            collection: collection.clone(),
            condition,
            draft: Draft::new(collection.target(), ReadOptions::default()),
        }
    }

    /// A text for the server's log and profiler, for the queries of `.await`. An action takes its own.
    pub fn comment(mut self, comment: impl Into<String>) -> Self {
        self.draft.operation.comment = Some(comment.into());
        self
    }

    /// How long each query of `.await` may take on the server. An action takes its own.
    pub fn max_time(mut self, limit: std::time::Duration) -> Self {
        self.draft.operation.max_time = self.draft.keep(time(limit));
        self
    }

    /// Finds all of these documents.
    pub fn find_all(&self) -> Find<M> {
        self.narrow(self.collection.find_all())
    }

    /// Finds those of them that match.
    pub fn find(&self, filter: impl FnOnce(M::Fields<M>) -> Filter<M>) -> Find<M> {
        self.narrow(self.collection.find(filter))
    }

    /// Finds one of them that matches, or `None`.
    pub fn find_one(&self, filter: impl FnOnce(M::Fields<M>) -> Filter<M>) -> FindOne<M> {
        self.find(filter).first()
    }

    /// Counts those of them that match.
    pub fn count(&self, filter: impl FnOnce(M::Fields<M>) -> Filter<M>) -> Count {
        self.narrow(self.collection.count(filter))
    }

    /// Whether any of them matches.
    pub fn exists(&self, filter: impl FnOnce(M::Fields<M>) -> Filter<M>) -> Exists {
        self.narrow(self.collection.exists(filter))
    }

    /// The different values of a field in them.
    pub fn distinct<T>(&self, field: impl FnOnce(M::Fields<M>) -> Field<M, T>) -> Distinct<M, T> {
        self.narrow(self.collection.distinct(field))
    }

    /// Changes the first of them that matches. Takes no `upsert()`.
    pub fn update_one(
        &self,
        filter: impl FnOnce(M::Fields<M>) -> Filter<M>,
        update: impl FnOnce(M::Fields<M>) -> query::Update<M>,
    ) -> Update<M> {
        self.narrow(self.collection.update_one(filter, update))
    }

    /// Changes those of them that match; as [`Collection::update_many`].
    pub fn update_many(
        &self,
        filter: impl FnOnce(M::Fields<M>) -> Filter<M>,
        update: impl FnOnce(M::Fields<M>) -> query::Update<M>,
    ) -> Update<M> {
        self.narrow(self.collection.update_many(filter, update))
    }

    /// Deletes the first of them that matches.
    pub fn delete_one(&self, filter: impl FnOnce(M::Fields<M>) -> Filter<M>) -> Delete {
        self.narrow(self.collection.delete_one(filter))
    }

    /// Deletes those of them that match; as [`Collection::delete_many`].
    pub fn delete_many(&self, filter: impl FnOnce(M::Fields<M>) -> Filter<M>) -> Delete {
        self.narrow(self.collection.delete_many(filter))
    }

    /// Changes one of them and gives it, in one atomic step. Takes no `upsert()`.
    pub fn find_one_and_update(
        &self,
        filter: impl FnOnce(M::Fields<M>) -> Filter<M>,
        update: impl FnOnce(M::Fields<M>) -> query::Update<M>,
    ) -> FindOneAnd<M> {
        self.narrow(self.collection.find_one_and_update(filter, update))
    }

    /// Deletes one of them and gives it, in one atomic step.
    pub fn find_one_and_delete(&self, filter: impl FnOnce(M::Fields<M>) -> Filter<M>) -> FindOneAnd<M> {
        self.narrow(self.collection.find_one_and_delete(filter))
    }

    fn narrow<A: Narrowed>(&self, mut action: A) -> A {
        *action.related() = Some(Box::new(self.related()));
        action
    }

    fn related(&self) -> Related {
        Related {
            asked: self.condition.clone().into_asked(),
            collation: crate::relation::declared_collation(M::DESCRIPTOR),
        }
    }

    async fn run(self) -> Result<Filter<M>> {
        let related = self.related();
        let (target, options) = self.draft.parts()?;
        let node = related.resolve(&target, &options).await;
        node.map(Filter::from_node)
            .map_err(|error| target.explain(error, "find"))
    }
}

/// An action that takes a condition on related documents.
pub(super) trait Narrowed {
    fn related(&mut self) -> &mut Option<Box<Related>>;
}

super::setters::runs!([M: Model] Whose<M> => Filter<M>);

impl<M> std::fmt::Debug for Whose<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Whose")
            .field("target", &self.draft.target)
            .field("condition", &self.condition)
            .finish()
    }
}
