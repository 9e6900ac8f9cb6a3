//! Running a pipeline in MongoDB's words.

use std::fmt;

use bson::{Document, RawDocumentBuf};
use serde::de::DeserializeOwned;

use super::setters::{runs, setters};
use super::{Draft, Explain};
use crate::backend::{self, Operation, ReadOptions};
use crate::codec::{self, Raw};
use crate::collection::{Target, encode};
use crate::cursor::{self, Cursor, Decode};
use crate::error::Result;

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
    pub(super) fn with_stages(mut self, stages: Result<Vec<RawDocumentBuf>>) -> Self {
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
