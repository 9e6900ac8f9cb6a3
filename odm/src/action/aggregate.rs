//! Running a pipeline in MongoDB's words.

use std::fmt;

use bson::{Document, RawDocumentBuf};
use serde::de::DeserializeOwned;

use super::setters::{runs, setters};
use super::{Draft, Explain};
use crate::backend::{self, Operation, ReadOptions};
use crate::codec::{self, Raw};
use crate::collection::{Collection, Target, encode};
use crate::cursor::{self, Cursor, Decode};
use crate::error::Result;
use crate::lifecycle::Joins;
use crate::model::Model;

/// Runs a pipeline: `.await` gives all results, [`stream`](Aggregate::stream) one after another. Round trips:
/// one per batch.
#[must_use = "an action does nothing until it is awaited"]
pub struct Aggregate<T = Document> {
    draft: Draft<backend::Aggregate>,
    decode: Decode<T>,
}

impl Aggregate {
    pub(crate) fn new<I>(target: &Target, pipeline: I) -> Aggregate
    where
        I: IntoIterator,
        I::Item: Into<Raw>,
    {
        let mut draft = Draft::new(
            target,
            backend::Aggregate {
                namespace: target.namespace().clone(),
                pipeline: Vec::new(),
                batch_size: None,
                allow_disk_use: false,
                options: ReadOptions::default(),
            },
        );
        draft.settings.joins = Some(Box::default());
        for stage in pipeline {
            let Some(stage) = draft.keep(encode::raw(stage)) else {
                break;
            };
            draft.operation.pipeline.push(stage);
        }
        Aggregate {
            draft,
            decode: codec::decode_untyped,
        }
    }
}

impl<T> Aggregate<T> {
    /// The collection.
    pub(super) fn target(&self) -> &Target {
        &self.draft.target
    }

    /// The same with these stages, behind those that are there.
    pub(super) fn with_stages(mut self, stages: Result<Vec<RawDocumentBuf>>, joins: Joins) -> Self {
        self.draft.settings.joins.get_or_insert_default().extend(joins);
        let stages = self.draft.keep(stages);
        self.draft.operation.pipeline.extend(stages.into_iter().flatten());
        self
    }

    /// Decodes the results as another type.
    pub fn decode<U: DeserializeOwned>(self) -> Aggregate<U> {
        Aggregate {
            draft: self.draft,
            decode: codec::decode_document::<U>,
        }
    }

    /// Gives the results as bytes.
    pub fn encoded(self) -> Aggregate<RawDocumentBuf> {
        Aggregate {
            draft: self.draft,
            decode: |document| Ok(document.to_owned()),
        }
    }

    /// Says of which model a collection's documents are that stages in MongoDB's words read or write.
    ///
    /// On the database of a tenant such stages can name only the collection itself, and those that are said so: of these
    /// the documents of the tenant alone are read and written. Elsewhere it says nothing.
    ///
    /// ```
    /// # use odm::{Db, ErrorKind, Model, bson::doc};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Model)]
    /// # struct Page { #[serde(rename = "_id")] id: i32 }
    /// # #[derive(Serialize, Deserialize, Model)]
    /// # struct Note { #[serde(rename = "_id")] id: i32, #[odm(tenant)] owner: Option<String> }
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// let all = Db::open("memory:").await?;
    /// let db = all.for_tenant("ann");
    /// let (pages, notes) = (db.collection::<Page>(), db.collection_named::<Note>("notes_2"));
    /// all.for_tenant("bob").collection_named::<Note>("notes_2").insert(Note { id: 1, owner: None }).await?;
    /// pages.insert(Page { id: 1 }).await?;
    ///
    /// let lookup = doc! { "$lookup": { "from": "notes_2", "localField": "_id", "foreignField": "_id", "as": "notes" } };
    /// let error = pages.aggregate_raw([lookup.clone()]).await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Tenant);
    /// let found = pages.aggregate_raw([lookup]).naming(&notes).await?;
    /// assert_eq!(found, [doc! { "_id": 1, "notes": [] }]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn naming<M: Model>(mut self, collection: &Collection<M>) -> Self {
        let joins = self.draft.settings.joins.get_or_insert_default();
        joins.add_elsewhere::<M>(collection.target().namespace());
        self
    }

    /// How many documents to fetch in one round trip, where the backend lets one choose.
    pub fn batch_size(mut self, count: u32) -> Self {
        self.draft.operation.batch_size = Some(count);
        self
    }

    /// Lets the server use temporary files for what does not fit in its memory.
    pub fn allow_disk_use(mut self) -> Self {
        self.draft.operation.allow_disk_use = true;
        self
    }

    /// The results one after another; nothing is asked before the first is.
    pub fn stream(self) -> Cursor<T> {
        Cursor::new(self.draft, "aggregate", self.decode)
    }

    /// How the pipeline would be executed.
    pub fn explain(self) -> Explain {
        Explain::new(self.draft.map(Operation::Aggregate))
    }

    async fn run(self) -> Result<Vec<T>> {
        let (target, operation) = self.draft.ready()?;
        let cursor = target.execute(operation).await?.cursor()?;
        cursor::collect(&target, "aggregate", cursor, self.decode).await
    }
}

setters!([T] Aggregate<T>: hint, comment, max_time, collation, variables, scope);
runs!([T: Send + 'static] Aggregate<T> => Vec<T>);

impl<T> Clone for Aggregate<T> {
    fn clone(&self) -> Self {
        Aggregate {
            draft: self.draft.clone(),
            decode: self.decode,
        }
    }
}

impl<T> fmt::Debug for Aggregate<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Aggregate").field(&self.draft).finish()
    }
}
