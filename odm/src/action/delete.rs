//! Deleting documents.

use bson::RawDocumentBuf;

use super::setters::{runs, setters};
use super::update::check_single;
use super::whose::{Narrowed, Related};
use super::{Draft, Explain};
use crate::backend::{self, DeleteStatement, Operation, ReadOptions};
use crate::collection::Target;
use crate::error::Result;

/// Deletes one document or many. One round trip.
#[derive(Clone, Debug)]
#[must_use = "an action does nothing until it is awaited"]
pub struct Delete {
    draft: Draft<backend::Delete>,
}

/// What deleting documents did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeleteResult {
    /// How many documents are gone.
    pub deleted: u64,
}

impl Delete {
    pub(crate) fn new(target: &Target, filter: Result<RawDocumentBuf>, multi: bool) -> Delete {
        let namespace = target.namespace().clone();
        let draft = Draft::with_filter(target, filter, |filter| backend::Delete {
            namespace,
            statements: vec![DeleteStatement {
                filter,
                multi,
                hint: None,
                collation: None,
            }],
            ordered: true,
            options: ReadOptions::default(),
        });
        Delete { draft }
    }

    /// Takes the documents out even where the model is deleted softly.
    ///
    /// Only the living are seen, unless the action says `with_deleted()` or `only_deleted()`.
    pub fn for_ever(mut self) -> Self {
        self.draft.settings.purge = true;
        self
    }

    /// How the documents would be found. Nothing is deleted.
    pub fn explain(self) -> Explain {
        Explain::new(self.draft.map(Operation::Delete))
    }

    async fn run(self) -> Result<DeleteResult> {
        let settings = self.draft.settings.clone();
        let (target, operation) = self.draft.asked().await?;
        let answer = target.write(operation, settings).await?;
        let result = check_single(&target, "delete", answer.write()?)?;
        Ok(DeleteResult {
            deleted: result.summary.deleted,
        })
    }
}

setters!([] Delete: hint in statement, collation in statement, comment, max_time, variables, scope);
runs!([] Delete => DeleteResult);

impl Narrowed for Delete {
    fn related(&mut self) -> &mut Option<Box<Related>> {
        &mut self.draft.related
    }
}
