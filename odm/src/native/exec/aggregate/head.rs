//! What of a pipeline the read of a collection does: the filter at the beginning, and an order and bounds behind it.

use std::sync::Arc;

use super::super::super::aggregate::pipeline::Pipeline;
use super::super::super::catalog::Collection;
use super::super::super::fault::Result;
use super::super::super::sort::SortSpec;
use super::super::super::storage::Read;
use super::super::Deadline;
use super::super::query::Query;

/// A read of the documents that a pipeline begins with.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) query: Query,
    /// How many documents are passed over, and how many are wanted; all of them if 0.
    pub(super) skip: u64,
    pub(super) limit: u64,
    /// The order in which an index gives them.
    pub(super) sort: Option<SortSpec>,
    /// The first stage that is left to run.
    pub(super) first: usize,
}

impl Head {
    /// The read by this query, which has done the stages before `first`: an order is taken over where an index of the
    /// collection has it.
    pub(super) fn of(
        query: Query,
        read: &dyn Read,
        collection: Option<&Arc<Collection>>,
        (pipeline, first): (&Pipeline, usize),
        deadline: Deadline,
    ) -> Result<Head> {
        let mut head = Head {
            query,
            skip: 0,
            limit: 0,
            sort: None,
            first,
        };
        if let (Some(collection), Some((order, wanted))) = (collection, pipeline.sort_at(head.first)) {
            let sorted = head.query.sorted(order.clone());
            if sorted.plan(read, collection, wanted, deadline)?.sorted {
                head.sort = Some(order.clone());
                head.query = sorted;
                head.first += 1;
            }
        }
        if let Some(count) = pipeline.skip_at(head.first) {
            head.skip = count;
            head.first += 1;
        }
        if let Some(count) = pipeline.limit_at(head.first) {
            head.limit = count;
            head.first += 1;
        }
        Ok(head)
    }
}
