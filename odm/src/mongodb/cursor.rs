//! Driver cursors as batches of raw documents: nothing is copied, no future is boxed per document.

use std::fmt;

use ::mongodb::ClientSession;
use ::mongodb::raw_batch_cursor::{RawBatch, RawBatchCursor, SessionRawBatchCursor};
use bson::RawDocument;
use futures_core::future::BoxFuture;
use futures_util::StreamExt;

use super::task::Task;
use super::{Attempt, SharedSession, error};
use crate::backend::{Batch, BatchCursor, Namespace};
use crate::error::Result;

/// Where the batches come from.
enum Source {
    Plain(Box<RawBatchCursor>),
    /// A cursor of a session, which each fetch borrows.
    Session(Box<SessionRawBatchCursor>, SharedSession),
    /// A fetch in a session is under way.
    Fetch(Task<Fetched>),
    /// The last one is read.
    Nowhere,
}

/// What a fetch in a session gives back, with what it found.
type Fetched = (
    Box<SessionRawBatchCursor>,
    SharedSession,
    Attempt<Option<RawBatch>>,
);

async fn fetch(mut cursor: Box<SessionRawBatchCursor>, session: SharedSession) -> Fetched {
    let next = fetched(&mut cursor, &session).await;
    (cursor, session, next)
}

async fn fetched(cursor: &mut SessionRawBatchCursor, session: &SharedSession) -> Attempt<Option<RawBatch>> {
    let mut session = session.enter().await?;
    Ok(cursor.stream(&mut session).next().await.transpose()?)
}

/// A cursor on the server.
pub(super) struct MongoCursor {
    /// The first batch, until it is read.
    first: Option<RawBatch>,
    source: Source,
    namespace: Namespace,
}

impl MongoCursor {
    /// A cursor without a session.
    pub(super) async fn plain(
        mut cursor: RawBatchCursor,
        namespace: Namespace,
    ) -> ::mongodb::error::Result<MongoCursor> {
        // It came with the cursor.
        let first = cursor.next().await.transpose()?;
        let source = || Source::Plain(Box::new(cursor));
        Ok(MongoCursor::opened(first, source, namespace))
    }

    /// A cursor of a session, which is held.
    pub(super) async fn of_session(
        mut cursor: SessionRawBatchCursor,
        shared: &SharedSession,
        held: &mut ClientSession,
        namespace: Namespace,
    ) -> ::mongodb::error::Result<MongoCursor> {
        let first = cursor.stream(held).next().await.transpose()?;
        let source = || Source::Session(Box::new(cursor), shared.clone());
        Ok(MongoCursor::opened(first, source, namespace))
    }

    /// One whose first batch is all there is ends here: the driver has tasks that wait for its end, and they are woken
    /// together with those of its session.
    fn opened(first: Option<RawBatch>, source: impl FnOnce() -> Source, namespace: Namespace) -> MongoCursor {
        let source = match first.as_ref().is_none_or(is_last) {
            true => Source::Nowhere,
            false => source(),
        };
        MongoCursor {
            first,
            source,
            namespace,
        }
    }

    /// Whether it is open, and its first batch is empty.
    pub(super) fn waits_at_once(&self) -> bool {
        let has_documents = |first: &RawBatch| first.doc_slices().is_ok_and(|items| !items.is_empty());
        !matches!(self.source, Source::Nowhere) && !self.first.as_ref().is_some_and(has_documents)
    }

    /// The same with its first batch alone: the server's cursor is closed.
    pub(super) fn ended(self) -> MongoCursor {
        MongoCursor {
            source: Source::Nowhere,
            ..self
        }
    }

    async fn next(&mut self) -> Attempt<Option<ReplyBatch>> {
        let next = match self.first.take() {
            Some(first) => Some(first),
            None => self.ask().await?,
        };
        Ok(next.map(ReplyBatch::new).transpose()?)
    }

    async fn ask(&mut self) -> Attempt<Option<RawBatch>> {
        let source = std::mem::replace(&mut self.source, Source::Nowhere);
        self.source = match source {
            Source::Session(cursor, session) => Source::Fetch(Task::of(fetch(cursor, session))),
            other => other,
        };
        match &mut self.source {
            Source::Plain(cursor) => Ok(cursor.next().await.transpose()?),
            Source::Fetch(task) => {
                let fetched = task.await;
                self.source = Source::Nowhere;
                let (cursor, session, next) = fetched?;
                if !matches!(&next, Ok(batch) if batch.as_ref().is_none_or(is_last)) {
                    self.source = Source::Session(cursor, session);
                }
                next
            }
            Source::Session(..) | Source::Nowhere => Ok(None),
        }
    }
}

/// Whether the server has no more than this.
fn is_last(batch: &RawBatch) -> bool {
    let cursor = batch.as_raw_document().get_document("cursor");
    cursor.is_ok_and(|cursor| cursor.get_i64("id").is_ok_and(|id| id == 0))
}

impl fmt::Debug for MongoCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MongoCursor({})", self.namespace)
    }
}

impl BatchCursor for MongoCursor {
    fn next_batch(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Batch>>>> {
        Box::pin(async move {
            let next = self.next().await.map_err(|failure| {
                error::located(failure, "getMore", false, Some(self.namespace.to_string()))
            })?;
            Ok(next.map(|batch| Box::new(batch) as Box<dyn Batch>))
        })
    }
}

/// The documents of one reply, by their places in it.
struct ReplyBatch {
    reply: RawBatch,
    /// Start and length of each document in the reply's bytes.
    places: Vec<(u32, u32)>,
}

impl ReplyBatch {
    fn new(reply: RawBatch) -> ::mongodb::error::Result<ReplyBatch> {
        let base = reply.as_raw_document().as_bytes().as_ptr() as usize;
        let mut places = Vec::new();
        for item in reply.doc_slices()? {
            if let Some(document) = item?.as_document() {
                let bytes = document.as_bytes();
                places.push(((bytes.as_ptr() as usize - base) as u32, bytes.len() as u32));
            }
        }
        Ok(ReplyBatch { reply, places })
    }
}

impl fmt::Debug for ReplyBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReplyBatch({})", self.places.len())
    }
}

impl Batch for ReplyBatch {
    fn len(&self) -> usize {
        self.places.len()
    }

    fn get(&self, index: usize) -> Option<&RawDocument> {
        let (start, length) = *self.places.get(index)?;
        let bytes = self.reply.as_raw_document().as_bytes();
        RawDocument::from_bytes(bytes.get(start as usize..(start + length) as usize)?).ok()
    }
}
