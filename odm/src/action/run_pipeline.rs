//! Running typed pipelines.

use std::future::IntoFuture;

use bson::Document;
use futures_core::future::BoxFuture;
use serde::de::DeserializeOwned;

use super::setters::Hint;
use super::{Aggregate, Explain};
use crate::codec::Raw;
use crate::collection::Collection;
use crate::cursor::Cursor;
use crate::error::Result;
use crate::model::Model;
use crate::query::Pipeline;

/// What a pipeline runs over, and how.
#[derive(Clone, Debug)]
pub struct PipelineSource {
    pub(super) aggregate: Aggregate<Document>,
}

impl PipelineSource {
    pub(crate) fn pipeline<M: Model>(aggregate: Aggregate<Document>) -> Pipeline<M, PipelineSource> {
        Pipeline::with_source(PipelineSource { aggregate })
    }
}

impl<T> Pipeline<T, PipelineSource> {
    fn refined(self, change: impl FnOnce(Aggregate<Document>) -> Aggregate<Document>) -> Self {
        self.map_source(|source| source.aggregate = change(source.aggregate.clone()))
    }

    /// How many documents to fetch in one round trip, where the backend lets one choose.
    pub fn batch_size(self, count: u32) -> Self {
        self.refined(|aggregate| aggregate.batch_size(count))
    }

    /// Lets the server use temporary files for what does not fit in its memory.
    pub fn allow_disk_use(self) -> Self {
        self.refined(Aggregate::allow_disk_use)
    }

    /// Makes the backend use this index, given by its name or its keys.
    pub fn hint(self, hint: impl Into<Hint>) -> Self {
        self.refined(|aggregate| aggregate.hint(hint))
    }

    /// A text for the server's log and profiler.
    pub fn comment(self, comment: impl Into<String>) -> Self {
        self.refined(|aggregate| aggregate.comment(comment))
    }

    /// How long the operation may take on the server, in milliseconds, of which a part counts for a whole one. When
    /// there is no time left, as a deadline in the past gives it, it ends with the kind `Timeout` before anything is
    /// sent. More than 24 days are no limit.
    pub fn max_time(self, time: std::time::Duration) -> Self {
        self.refined(|aggregate| aggregate.max_time(time))
    }

    /// How strings compare, in MongoDB's words: `{locale: "en", strength: 2}`.
    pub fn collation(self, collation: impl Into<Raw>) -> Self {
        self.refined(|aggregate| aggregate.collation(collation))
    }

    /// Variables for expressions, as `$$name`: MongoDB's `let`.
    pub fn variables(self, variables: impl Into<Raw>) -> Self {
        self.refined(|aggregate| aggregate.variables(variables))
    }

    /// Says of which model a collection's documents are that stages in MongoDB's words name: as
    /// [`Aggregate::naming`](super::Aggregate::naming).
    pub fn naming<M: Model>(self, collection: &Collection<M>) -> Self {
        self.refined(|aggregate| aggregate.naming(collection))
    }

    /// Softly deleted documents too. Says nothing where the model has no `#[odm(soft_delete)]`.
    pub fn with_deleted(self) -> Self {
        self.refined(Aggregate::with_deleted)
    }

    /// Only softly deleted documents. Says nothing where the model has no `#[odm(soft_delete)]`.
    pub fn only_deleted(self) -> Self {
        self.refined(Aggregate::only_deleted)
    }

    /// Also documents that the model's `#[odm(scope = ..)]` leaves out. Says nothing where the model has none.
    pub fn unscoped(self) -> Self {
        self.refined(Aggregate::unscoped)
    }

    /// How the pipeline would be executed.
    pub fn explain(self) -> Explain {
        self.aggregate().explain()
    }

    /// How many documents come out (`$count`); 0 where none does. One round trip.
    ///
    /// # Errors
    /// As running the pipeline.
    pub async fn count(self) -> Result<u64> {
        #[derive(serde::Deserialize)]
        struct Counted {
            count: u64,
        }
        let counted = self.raw(bson::doc! { "$count": "count" }).into::<Counted>();
        let counted: Vec<Counted> = counted.aggregate().decode().await?;
        Ok(counted.first().map_or(0, |counted| counted.count))
    }

    pub(super) fn aggregate(self) -> Aggregate<Document> {
        let (stages, joins, source) = self.into_parts();
        source.aggregate.with_stages(stages, joins)
    }
}

impl<T: DeserializeOwned + Send + 'static> Pipeline<T, PipelineSource> {
    /// The results one after another; nothing is asked before the first is.
    pub fn stream(self) -> Cursor<T> {
        self.aggregate().decode::<T>().stream()
    }

    /// The first result, or `None`: with a `$limit` of 1. One round trip.
    ///
    /// # Errors
    /// As running the pipeline.
    pub async fn first(self) -> Result<Option<T>> {
        let found = self.limit(1).await?;
        Ok(found.into_iter().next())
    }
}

/// Runs it: `.await` gives all results. One round trip for each batch.
impl<T: DeserializeOwned + Send + 'static> IntoFuture for Pipeline<T, PipelineSource> {
    type Output = Result<Vec<T>>;
    type IntoFuture = BoxFuture<'static, Result<Vec<T>>>;

    fn into_future(self) -> Self::IntoFuture {
        self.aggregate().decode::<T>().into_future()
    }
}
