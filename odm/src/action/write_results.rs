//! Writing the results of typed pipelines into collections.

use std::future::IntoFuture;

use bson::Document;
use futures_core::future::BoxFuture;

use super::{Explain, PipelineSource};
use crate::collection::{Collection, Target};
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::Joins;
use crate::model::{Embedded, Model};
use crate::query::Pipeline;
use crate::query::pipeline::Merge;

/// Puts the results of a pipeline in place of a collection: `.await` runs it.
#[must_use = "a pipeline does nothing until it is awaited"]
#[derive(Clone, Debug)]
pub struct Out {
    pipeline: Pipeline<(), PipelineSource>,
}

impl<T: Embedded> Pipeline<T, PipelineSource> {
    /// Writes the results into a collection, each by itself (`$merge`): where none of the same `_id` is there it is
    /// inserted, and else its fields are put into the document that is. [`on`](Merge::on),
    /// [`when_matched`](Merge::when_matched), [`update`](Merge::update) and
    /// [`when_not_matched`](Merge::when_not_matched) say it otherwise.
    ///
    /// ```
    /// use odm::expr::sum;
    /// # use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Debug, Serialize, Deserialize, odm::Model)]
    /// struct Sale {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     year: i32,
    ///     sold: i64,
    /// }
    ///
    /// #[derive(Debug, PartialEq, Serialize, Deserialize, odm::Model)]
    /// struct Total {
    ///     #[serde(rename = "_id")]
    ///     year: i32,
    ///     sold: i64,
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// let db = odm::Db::open("memory:").await?;
    /// let (sales, totals) = (db.collection::<Sale>(), db.collection::<Total>());
    /// totals.insert(Total { year: 2023, sold: 1 }).await?;
    /// sales.insert_many((0..4).map(|id| Sale { id, year: 2023 + id % 2, sold: 10 })).await?;
    /// sales
    ///     .aggregate()
    ///     .group::<Total>(|s, t| t.year.by(s.year) & t.sold.is(sum(&s.sold)))
    ///     .merge_into(&totals)
    ///     .update(|total, new| total.sold.of((total.sold.value() + &new.sold).to_i64()))
    ///     .await?;
    /// let totals = totals.find_all().sort(|t| t.year.asc()).await?;
    /// assert_eq!(totals, [Total { year: 2023, sold: 21 }, Total { year: 2024, sold: 20 }]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The server writes what the pipeline makes: the model's hooks, dates, versions, derived fields, validators, bounds
    /// and copies are not looked at, as by [`raw`](Collection::raw); the database's own validator and its indexes are.
    /// Results that are to be read as `M` have all that `M` needs: [`into`](Pipeline::into) does not check it.
    ///
    /// One round trip. Each document is written by itself: what was written before an error stays. Not in a transaction.
    ///
    /// # Errors
    /// `DuplicateKey` for a result that a unique index of the collection does not take. `InvalidArgument` for a collection
    /// of another connection or of a transaction.
    pub fn merge_into<M: Model>(self, collection: &Collection<M>) -> Merge<T, M, PipelineSource> {
        let (pipeline, target) = self.to(collection);
        let namespace = target.namespace();
        Merge::new(pipeline, &namespace.database, &namespace.collection)
    }
}

impl<M: Model> Pipeline<M, PipelineSource> {
    /// Puts the results in place of all documents of a collection (`$out`). Where the type of the results is not the
    /// collection's model, [`into`](Pipeline::into) says that they are.
    ///
    /// The collection keeps its options and indexes. It is replaced at once, when all results are there, and stays as it
    /// was after an error. The model's hooks, dates, versions, derived fields, validators, bounds and copies are not looked
    /// at, as by [`raw`](Collection::raw); the database's own validator and its indexes are.
    ///
    /// One round trip. Not in a transaction.
    ///
    /// # Errors
    /// `DuplicateKey` for results that a unique index of the collection does not take. `InvalidArgument` for a collection
    /// of another connection or of a transaction.
    pub fn out(self, collection: &Collection<M>) -> Out {
        let (pipeline, target) = self.to(collection);
        let namespace = target.namespace();
        Out {
            pipeline: pipeline.into_out(&namespace.database, &namespace.collection),
        }
    }
}

impl<T> Pipeline<T, PipelineSource> {
    /// With what is wrong with where the results are to go.
    fn to<M: Model>(self, collection: &Collection<M>) -> (Self, Target) {
        let target = collection.target();
        let mut joins = Joins::default();
        joins.add_elsewhere::<M>(target.namespace());
        let pipeline = self.map_source(|source| {
            let check = check(source.aggregate.target(), target);
            source.aggregate = source
                .aggregate
                .clone()
                .with_stages(check.map(|()| Vec::new()), joins);
        });
        (pipeline, target.clone())
    }

    async fn write(self) -> Result<()> {
        // No result comes back.
        let none: Vec<Document> = self.aggregate().await?;
        drop(none);
        Ok(())
    }
}

fn check(from: &Target, to: &Target) -> Result<()> {
    if let Some(failure) = to.failure() {
        return Err(failure);
    }
    if let Some(tenant) = to.tenant()
        && tenant.value(&to.executor().tenancy)? != tenant.value(&from.executor().tenancy)?
    {
        return Err(
            tenant.problem("the results of a pipeline go into a collection of the same tenant's database")
        );
    }
    let (from, to) = (from.db(), to.db());
    let is_same = from.shares_connection(&to) && from.in_transaction() == to.in_transaction();
    match is_same {
        true => Ok(()),
        false => Err(Error::new(
            ErrorKind::InvalidArgument,
            "the results of a pipeline go into a collection of the same connection, outside of transactions",
        )),
    }
}

impl<T: Embedded, M: Model> Merge<T, M, PipelineSource> {
    /// How the pipeline would be executed. Nothing is written.
    pub fn explain(self) -> Explain {
        self.into_pipeline().aggregate().explain()
    }
}

impl Out {
    /// How the pipeline would be executed. Nothing is written.
    pub fn explain(self) -> Explain {
        self.pipeline.aggregate().explain()
    }
}

/// Runs it: `.await` gives nothing back. One round trip.
impl<T: Embedded, M: Model> IntoFuture for Merge<T, M, PipelineSource> {
    type Output = Result<()>;
    type IntoFuture = BoxFuture<'static, Result<()>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.into_pipeline().write())
    }
}

/// Runs it: `.await` gives nothing back. One round trip.
impl IntoFuture for Out {
    type Output = Result<()>;
    type IntoFuture = BoxFuture<'static, Result<()>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.pipeline.write())
    }
}
