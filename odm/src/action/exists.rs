//! Whether a document is there.

use bson::{Document, RawDocument, RawDocumentBuf};

use super::setters::{runs, setters};
use super::whose::{Narrowed, Related};
use super::{Draft, Find};
use crate::backend;
use crate::collection::Target;
use crate::cursor;
use crate::error::Result;

/// Asks whether any document matches: fetches one `_id`. One round trip.
#[derive(Clone, Debug)]
#[must_use = "an action does nothing until it is awaited"]
pub struct Exists {
    draft: Draft<backend::Find>,
}

impl Exists {
    pub(crate) fn new(target: &Target, filter: Result<RawDocumentBuf>) -> Exists {
        let mut only_id = RawDocumentBuf::new();
        only_id.append(bson::cstr!("_id"), 1);
        let mut draft = Find::<Document>::new(target, filter).into_draft();
        draft.operation.limit = 1;
        draft.operation.projection = Some(only_id);
        Exists { draft }
    }

    async fn run(self) -> Result<bool> {
        let (target, operation) = self.draft.asked().await?;
        let cursor = target.execute(operation).await?.cursor()?;
        let found = cursor::first(&target, "find", cursor, |_: &RawDocument| Ok(())).await?;
        Ok(found.is_some())
    }
}

setters!([] Exists: hint, comment, max_time, collation, variables, scope);
runs!([] Exists => bool);

impl Narrowed for Exists {
    fn related(&mut self) -> &mut Option<Box<Related>> {
        &mut self.draft.related
    }
}
