//! Listing indexes.

use super::Draft;
use super::setters::runs;
use crate::backend;
use crate::collection::{IndexInfo, Target};
use crate::error::Result;

/// Lists the indexes of a collection, that of `_id` first; none when the collection does not exist. One round
/// trip.
#[derive(Clone, Debug)]
#[must_use = "an action does nothing until it is awaited"]
pub struct ListIndexes {
    draft: Draft<backend::ListIndexes>,
}

impl ListIndexes {
    pub(crate) fn new(target: &Target) -> ListIndexes {
        let namespace = target.namespace().clone();
        ListIndexes {
            draft: Draft::new(target, backend::ListIndexes { namespace }),
        }
    }

    pub(super) async fn run(self) -> Result<Vec<IndexInfo>> {
        let (target, operation) = self.draft.ready()?;
        let answer = target.execute(operation).await?;
        let specs = answer.documents()?;
        let read = |spec| IndexInfo::read(spec).map_err(|error| target.explain(error, "listIndexes"));
        specs.iter().map(|spec| read(spec)).collect()
    }
}

runs!([] ListIndexes => Vec<IndexInfo>);
