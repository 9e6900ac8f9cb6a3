//! Building indexes.

use bson::RawDocumentBuf;

use super::Draft;
use super::setters::runs;
use crate::backend::{self, IndexSpec};
use crate::codec::Raw;
use crate::collection::{Target, encode};
use crate::error::Result;
use crate::schema::IndexDeclaration;

/// Builds indexes, and creates the collection where it is missing. One round trip; none without indexes.
///
/// An index that exists as declared is left alone. One that exists by the same name or keys but with other
/// options is an error with code 85 or 86: [`sync_indexes`](crate::Collection::sync_indexes) can rebuild it.
#[derive(Clone, Debug)]
#[must_use = "an action does nothing until it is awaited"]
pub struct CreateIndexes {
    draft: Draft<backend::CreateIndexes>,
}

impl CreateIndexes {
    pub(crate) fn new(target: &Target, declared: &[IndexDeclaration]) -> CreateIndexes {
        let namespace = target.namespace().clone();
        let draft = Draft::new(
            target,
            backend::CreateIndexes {
                namespace,
                indexes: Vec::new(),
            },
        );
        let action = CreateIndexes { draft };
        declared
            .iter()
            .fold(action, |action, index| action.push(index.to_spec()))
    }

    /// Builds another index too, in MongoDB's words: `{key: {title: 1}, name: "title_1", unique: true}`.
    pub fn index_raw(self, spec: impl Into<Raw>) -> CreateIndexes {
        self.push(encode::raw(spec))
    }

    fn push(mut self, spec: Result<RawDocumentBuf>) -> CreateIndexes {
        if let Some(spec) = self.draft.keep(spec) {
            self.draft.operation.indexes.push(IndexSpec(spec));
        }
        self
    }

    async fn run(self) -> Result<()> {
        if self.draft.is_sound() && self.draft.operation.indexes.is_empty() {
            return self.draft.target.executor().check_running();
        }
        let (target, operation) = self.draft.ready()?;
        let answer = target.execute(operation).await?;
        answer.done()
    }
}

runs!([] CreateIndexes => ());
