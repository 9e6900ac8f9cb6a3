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
/// in what is given: it is no error, and the documents stay as they are, until they are written or migrated. So do those
/// whose [derived fields](crate::Derived) cannot be made, which [`migrate`](crate::Collection::migrate) names. Copies of
/// what the new shape changes follow.
///
/// In a transaction nothing is written back: a write that fails would end it.
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
        let writes = target.db().guard().is_none();
        while let Some(batch) = cursor::next_batch(&target, "find", &mut *cursor).await? {
            for stored in cursor::documents(&target, "find", &*batch) {
                let stored = stored?;
                let explain = |error| target.explain(error, "find");
                if let Some(versions) = M::LIFECYCLE.versions
                    && let Some(upgraded) = versions.upgraded(stored).map_err(explain)?
                {
                    all.push((self.decode)(&upgraded).map_err(explain)?);
                    if writes {
                        // Of what cannot be derived the document stays as it is.
                        let _ = replacements.push(&target, stored, upgraded);
                    }
                } else {
                    all.push((self.decode)(stored).map_err(explain)?);
                }
            }
        }
        // What was read is given, whatever becomes of this: a unique index may refuse the new shape of one, the user may not
        // write, the server may be gone. Copies that are not made then are marked.
        let _ = replacements.write(&target, &mut Vec::new()).await;
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
