//! Counting documents.

use bson::RawDocumentBuf;

use super::setters::{runs, setters};
use super::whose::{Narrowed, Related};
use super::{Draft, Explain};
use crate::backend::{self, Operation, ReadOptions};
use crate::collection::Target;
use crate::error::Result;
use crate::query::without_distance;

/// Counts documents. One round trip.
///
/// Exact unless estimated: an exact count reads the index or the documents that match, an estimate only what
/// the collection says of itself.
#[derive(Clone, Debug)]
#[must_use = "an action does nothing until it is awaited"]
pub struct Count {
    draft: Draft<backend::Count>,
}

impl Count {
    pub(crate) fn new(target: &Target, filter: Result<RawDocumentBuf>, estimated: bool) -> Count {
        let namespace = target.namespace().clone();
        let filter = filter.and_then(without_distance);
        let draft = Draft::with_filter(target, filter, |filter| backend::Count {
            namespace,
            filter,
            skip: 0,
            limit: 0,
            estimated,
            options: ReadOptions::default(),
        });
        Count { draft }
    }

    /// How many documents to pass over. Makes an estimate exact.
    pub fn skip(mut self, count: u64) -> Self {
        self.draft.operation.skip = count;
        self.draft.operation.estimated &= count == 0;
        self
    }

    /// At how many to stop counting; 0 is no limit. Makes an estimate exact.
    pub fn limit(mut self, count: u64) -> Self {
        self.draft.operation.limit = count;
        self.draft.operation.estimated &= count == 0;
        self
    }

    /// How the documents would be counted.
    pub fn explain(self) -> Explain {
        Explain::new(self.draft.map(Operation::Count))
    }

    async fn run(self) -> Result<u64> {
        let (target, operation) = self.draft.asked().await?;
        let answer = target.execute(operation).await?;
        answer.count()
    }
}

setters!([] Count: hint, comment, max_time, collation, variables, scope);
runs!([] Count => u64);

impl Narrowed for Count {
    fn related(&mut self) -> &mut Option<Box<Related>> {
        &mut self.draft.related
    }
}
