//! Whether the declared indexes serve a query.

use bson::{Document, RawDocumentBuf};

use super::setters::runs;
use super::{Draft, Explain, Find};
use crate::backend::plan::PlanReading;
use crate::backend::{self, Operation};
use crate::collection::Collection;
use crate::db::Db;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Model;
use crate::schema::suggested_index;

/// Asks how the indexes that the model declares would serve a find: `.await` gives an [`IndexUse`].
///
/// Nothing of the database is changed, and nothing asked but what conditions on related documents need: the query is
/// planned by an empty embedded engine in memory, with the declared indexes. A tenant's is planned as it is sent, with
/// the condition on the tenant. Meant for tests: needs the cargo feature `native`. MongoDB may plan differently, but has
/// the same indexes to choose from.
#[must_use = "an action does nothing until it is awaited"]
#[derive(Debug)]
pub struct IndexUseCheck<M> {
    draft: Draft<backend::Find>,
    must: bool,
    marker: std::marker::PhantomData<fn() -> M>,
}

/// How declared indexes would serve a query.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct IndexUse {
    /// The names of the indexes that are read.
    pub indexes: Vec<String>,
    /// Whether the whole collection, or a whole index, would be read: nothing bounds the search, and no limit ends it.
    pub reads_everything: bool,
    /// Whether the matches would be sorted in memory.
    pub sorts_in_memory: bool,
    /// The keys of an index that would help, where the query does not go by one: equalities, then the sort, then
    /// ranges.
    pub suggestion: Option<Document>,
    /// The plan, in MongoDB's words.
    pub plan: Document,
}

impl<M: Model, P> Find<M, P> {
    /// Which of the declared indexes would serve this find. See [`IndexUseCheck`].
    pub fn index_use(self) -> IndexUseCheck<M> {
        IndexUseCheck {
            draft: self.into_draft(),
            must: false,
            marker: std::marker::PhantomData,
        }
    }

    /// Fails when the declared indexes would leave this find to read the whole collection, for tests of every query that
    /// a program makes.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize, odm::Model)]
    /// struct Book {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     #[odm(index)]
    ///     title: String,
    ///     year: i32,
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// let books = odm::Db::open("memory:").await?.collection::<Book>();
    /// books.find(|b| b.title.eq("Emma")).must_use_index().await?;
    ///
    /// let error = books.find(|b| b.year.eq(1815)).sort(|b| b.title.asc()).must_use_index().await.unwrap_err();
    /// assert_eq!(error.kind(), odm::ErrorKind::Unindexed);
    /// assert!(error.message().contains("{ \"year\": 1, \"title\": 1 }"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Errors of `.await`: `Unindexed`, naming an index that would help; `Tenant` for documents of tenants where the
    /// database is bound to none; `Unsupported` without the cargo feature
    /// `native`, and for what the embedded engine cannot plan.
    pub fn must_use_index(self) -> IndexUseCheck<M> {
        IndexUseCheck {
            must: true,
            ..self.index_use()
        }
    }
}

impl<M: Model> IndexUseCheck<M> {
    async fn run(self) -> Result<IndexUse> {
        let (target, mut operation) = self.draft.asked().await?;
        // What a tenant's handle asks, it asks of the tenant's documents.
        let explain = |error| target.explain(error, "find");
        if let Some(confinement) = target.confinement().map_err(explain)? {
            confinement.confine(&mut operation).map_err(explain)?;
        }
        let Operation::Find(mut find) = operation else {
            return Err(Error::new(ErrorKind::InvalidArgument, "only finds are checked"));
        };
        let db = Db::open("memory:").await?.across_tenants();
        let empty: Collection<M> = db.collection();
        empty.create_indexes().await?;
        find.namespace = empty.target().namespace().clone();
        find.tail = None;
        // What an index serves is asked of the planner, not of who wrote the query.
        find.options.hint = None;
        let (filter, sort) = (find.filter.clone(), find.sort.clone());
        let is_bounded_by_limit = find.limit > 0 && filter.is_empty();
        let plan = Explain::new(Draft::new(empty.target(), Operation::Find(find))).await?;
        let found = IndexUse::read(plan, &filter, sort.as_ref(), is_bounded_by_limit)?;
        match (&found.suggestion, self.must && found.reads_everything) {
            (_, false) => Ok(found),
            (suggestion, true) => {
                let message = match suggestion {
                    Some(keys) => {
                        format!("the query reads the whole collection; an index on {keys} would help")
                    }
                    None => "the query reads the whole collection".to_owned(),
                };
                Err(target.explain(Error::new(ErrorKind::Unindexed, message), "find"))
            }
        }
    }
}

impl IndexUse {
    fn read(
        plan: Document,
        filter: &RawDocumentBuf,
        sort: Option<&RawDocumentBuf>,
        is_bounded_by_limit: bool,
    ) -> Result<IndexUse> {
        let PlanReading {
            indexes,
            reads_everything,
            sorts_in_memory,
        } = PlanReading::of(&plan);
        let mut found = IndexUse {
            indexes,
            reads_everything,
            sorts_in_memory,
            suggestion: None,
            plan,
        };
        found.reads_everything &= !is_bounded_by_limit || found.sorts_in_memory;
        if found.reads_everything || found.sorts_in_memory {
            found.suggestion = suggested_index(filter, sort.map(|sort| &**sort))?;
        }
        Ok(found)
    }
}

runs!([M: Model] IndexUseCheck<M> => IndexUse);
