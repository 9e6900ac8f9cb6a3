//! A changed document that is asked for, where what follows the write changes it too.

use bson::RawDocumentBuf;

use super::document;
use super::ready::After;
use crate::backend::{self, Operation};
use crate::collection::Target;
use crate::cursor;
use crate::db::Answer;
use crate::error::Result;

/// A changed document that is asked for, and changed once more by what follows the write: it is read behind that.
pub(super) struct Again {
    projection: Option<RawDocumentBuf>,
}

impl Again {
    /// Lets the operation give the `_id`, by which the document is found again.
    pub(super) fn of(carrier: &mut Operation, after: &After) -> Option<Again> {
        let Operation::FindAndModify(find) = carrier else {
            return None;
        };
        let follows =
            after.underived.is_some() || (after.marked.as_ref()).is_some_and(|(copied, _)| copied.comes_back);
        if !follows || !find.return_new {
            return None;
        }
        let projection = find.projection.clone();
        find.projection = projection
            .as_deref()
            .map(|projection| document::without(projection, "_id"))
            .filter(|projection| !projection.is_empty());
        Some(Again { projection })
    }

    pub(super) async fn read(self, target: &Target, answer: Answer) -> Result<Answer> {
        let Some(Some(id)) = answer.as_document().map(|found| found.get("_id").ok().flatten()) else {
            return Ok(answer);
        };
        let filter = document::single(bson::cstr!("_id"), document::single(bson::cstr!("$eq"), id));
        let operation = Operation::Find(backend::Find {
            projection: self.projection,
            limit: 1,
            ..backend::Find::new(target.namespace().clone(), filter)
        });
        let cursor = target.execute(operation).await?.cursor()?;
        let stored = cursor::first(target, "find", cursor, |document| Ok(document.to_owned())).await?;
        Ok(answer.with_document(stored))
    }
}
