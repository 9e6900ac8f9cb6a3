//! Making derived fields anew.

use std::fmt;
use std::future::IntoFuture;

use bson::oid::ObjectId;
use bson::{Bson, RawArrayBuf, RawBson, RawDocumentBuf, rawdoc};
use futures_core::future::BoxFuture;

use super::Draft;
use crate::backend::{self, ReadOptions};
use crate::collection::Target;
use crate::cursor;
use crate::error::{Error, Result};
use crate::lifecycle::{self, Scope};

/// Makes the derived fields of documents anew: `.await` says of how many.
///
/// Each batch is marked first and derived from what it holds then; a document that somebody changes meanwhile is left to
/// them, in step either way. A run that was interrupted leaves marks behind, and nothing else: start it again, with a
/// filter that finds what is left.
///
/// Softly deleted documents are among them.
///
/// Copies of the fields that other models hold follow, as of any change.
///
/// Cost: a read of all the `_id`s, and for each batch two writes and a read; where the fields are copied, what the copies
/// cost.
#[must_use = "an action does nothing until it is awaited"]
pub struct Rederive {
    draft: Draft<backend::Find>,
    batch: u32,
    progress: Option<Progress>,
}

type Progress = Box<dyn FnMut(&Rederived) + Send>;

/// What was derived anew.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Rederived {
    /// How many documents were looked at.
    pub examined: u64,
    /// How many were derived anew. Of the others somebody else changed the mark meanwhile, or they failed.
    pub derived: u64,
    /// The `_id`s of those that cannot be derived, and why. They stay marked.
    pub failed: Vec<(Bson, Error)>,
}

impl Rederive {
    pub(crate) fn new(target: &Target, filter: Result<RawDocumentBuf>) -> Rederive {
        let mut draft = Draft::with_filter(target, filter, |filter| backend::Find {
            namespace: target.namespace().clone(),
            filter,
            sort: Some(rawdoc! { "_id": 1 }),
            projection: Some(rawdoc! { "_id": 1 }),
            skip: 0,
            limit: 0,
            batch_size: None,
            tail: None,
            options: ReadOptions::default(),
        });
        draft.settings.scope = Scope::ALL;
        Rederive {
            draft,
            batch: 500,
            progress: None,
        }
    }

    /// How many documents go together: 500 unless said otherwise.
    pub fn batch_size(mut self, documents: u32) -> Rederive {
        self.batch = documents.max(1);
        self
    }

    /// Calls this after each batch.
    pub fn on_progress(mut self, progress: impl FnMut(&Rederived) + Send + 'static) -> Rederive {
        self.progress = Some(Box::new(progress));
        self
    }

    async fn run(mut self) -> Result<Rederived> {
        self.draft.operation.batch_size = Some(self.batch);
        let (target, operation) = self.draft.ready()?;
        let mut done = Rederived::default();
        let Some(plan) = target.plan() else {
            return Ok(done);
        };
        let Some(derived) = &plan.derived else {
            return Ok(done);
        };
        let copied = lifecycle::copied(plan, &target).filter(|copied| copied.has_derived());
        let mut cursor = target.execute(operation).await?.cursor()?;
        while let Some(batch) = cursor::next_batch(&target, "find", &mut *cursor).await? {
            let mut all = Vec::with_capacity(batch.len());
            for document in cursor::documents(&target, "find", &*batch) {
                let id = document?
                    .get("_id")
                    .map_err(|error| cursor::unreadable().with_source(error))?;
                all.extend(id.map(RawBson::from));
            }
            for some in all.chunks(self.batch as usize) {
                let mut ids = RawArrayBuf::new();
                for id in some {
                    ids.push(id.clone());
                }
                let token = ObjectId::new();
                lifecycle::mark(&target, ids.clone(), token).await?;
                let marked = rawdoc! { "_id": { "$in": ids.clone() }, "derived_pending": token };
                let copies = copied.map(|_| token);
                done.derived += derived
                    .renew(&target, token, marked, copies, &mut done.failed)
                    .await?;
                if let Some(copied) = copied {
                    let marked = rawdoc! { "_id": { "$in": ids }, "copies_pending": token };
                    copied.follow_reshaped(&target, marked).await?;
                }
                done.examined += some.len() as u64;
                if let Some(progress) = &mut self.progress {
                    progress(&done);
                }
            }
        }
        Ok(done)
    }
}

impl IntoFuture for Rederive {
    type Output = Result<Rederived>;
    type IntoFuture = BoxFuture<'static, Result<Rederived>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl fmt::Debug for Rederive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rederive")
            .field("draft", &self.draft)
            .field("batch", &self.batch)
            .finish_non_exhaustive()
    }
}
