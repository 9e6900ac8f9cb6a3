//! How an operation would be executed.

use bson::Document;

use super::Draft;
use super::setters::runs;
use crate::backend::{self, Operation};
use crate::codec;
use crate::error::Result;

/// Asks how an action would be executed: `.await` gives the plan in MongoDB's words, `queryPlanner` with the filter as it is
/// planned (`parsedQuery`) and the stages of the `winningPlan`. One round trip; nothing is read or changed unless
/// [`executed`](Explain::executed).
#[derive(Clone, Debug)]
#[must_use = "an action does nothing until it is awaited"]
pub struct Explain {
    draft: Draft<backend::Explain>,
}

impl Explain {
    pub(crate) fn new(draft: Draft<Operation>) -> Explain {
        Explain {
            draft: draft.map(|operation| backend::Explain {
                operation: Box::new(operation),
                execute: false,
            }),
        }
    }

    /// Runs it too, without its writes, and adds `executionStats`: how many keys and documents were examined, in all and by
    /// each stage. Costs what the operation costs to find its documents.
    pub fn executed(mut self) -> Explain {
        self.draft.operation.execute = true;
        self
    }

    async fn run(self) -> Result<Document> {
        let (target, operation) = self.draft.asked().await?;
        let answer = target.execute(operation).await?;
        match answer.document()? {
            Some(plan) => codec::decode_untyped(&plan).map_err(|error| target.explain(error, "explain")),
            None => Ok(Document::new()),
        }
    }
}

runs!([] Explain => Document);
