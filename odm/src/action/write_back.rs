//! Finding documents, and storing the outdated ones in the present shape.

use std::fmt;
use std::future::IntoFuture;

use bson::RawDocument;
use futures_core::future::BoxFuture;

use super::draft::Draft;
use super::migrate::Replacements;
use crate::backend;
use crate::collection::Record;
use crate::cursor;
use crate::error::Result;
use crate::model::Model;

/// As [`Find`](super::Find), and documents of older schema versions are replaced by what they were read as, each only
/// if it is still what was read.
///
/// Cost: one write more where outdated documents were found. A write that fails, or comes too late, changes nothing
/// in what is given. Copies of what the new shape changes follow.
#[must_use = "an action does nothing until it is awaited"]
pub struct WriteBack<M> {
    draft: Draft<backend::Find>,
    decode: fn(&RawDocument) -> Result<M>,
}

impl<M: Model> WriteBack<M> {
    pub(super) fn new(draft: Draft<backend::Find>) -> WriteBack<M> {
        WriteBack {
            draft,
            decode: <M as Record>::decode,
        }
    }

    async fn run(self) -> Result<Vec<M>> {
        let (target, operation) = self.draft.asked().await?;
        let mut cursor = target.execute(operation).await?.cursor()?;
        let (mut all, mut replacements) = (Vec::new(), Replacements::default());
        while let Some(batch) = cursor::next_batch(&target, "find", &mut *cursor).await? {
            for stored in (0..batch.len()).filter_map(|index| batch.get(index)) {
                let explain = |error| target.explain(error, "find");
                if let Some(versions) = M::LIFECYCLE.versions
                    && let Some(upgraded) = versions.upgraded(stored).map_err(explain)?
                {
                    all.push((self.decode)(&upgraded).map_err(explain)?);
                    replacements.push(&target, stored, upgraded).map_err(explain)?;
                } else {
                    all.push((self.decode)(stored).map_err(explain)?);
                }
            }
        }
        // A unique index may refuse the new shape; the document stays as it is, and was read all the same.
        replacements.write(&target, &mut Vec::new()).await?;
        Ok(all)
    }
}

impl<M: Model> IntoFuture for WriteBack<M> {
    type Output = Result<Vec<M>>;
    type IntoFuture = BoxFuture<'static, Result<Vec<M>>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl<M> fmt::Debug for WriteBack<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteBack")
            .field("draft", &self.draft)
            .finish_non_exhaustive()
    }
}
