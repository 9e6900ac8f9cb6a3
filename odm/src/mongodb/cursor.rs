//! Driver cursors as batches of raw documents: nothing is copied, no future is boxed per document.

use std::fmt;

use ::mongodb::raw_batch_cursor::{RawBatch, RawBatchCursor, SessionRawBatchCursor};
use bson::RawDocument;
use futures_core::future::BoxFuture;
use futures_util::StreamExt;

use super::{SharedSession, error};
use crate::backend::{Batch, BatchCursor};
use crate::error::Result;

/// Where the batches come from.
pub(super) enum Source {
    Plain(Box<RawBatchCursor>),
    /// A cursor of a transaction: each fetch borrows the transaction's session.
    Session(Box<SessionRawBatchCursor>, SharedSession),
}

/// A cursor on the server.
pub(super) struct MongoCursor {
    pub(super) source: Source,
    pub(super) namespace: String,
}

impl fmt::Debug for MongoCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MongoCursor({})", self.namespace)
    }
}

impl BatchCursor for MongoCursor {
    fn next_batch(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Batch>>>> {
        Box::pin(async move {
            let next = match &mut self.source {
                Source::Plain(cursor) => cursor.next().await,
                Source::Session(cursor, session) => {
                    let mut session = session.lock().await;
                    cursor.stream(&mut session).next().await
                }
            };
            let locate = |e| error::located(e, "getMore", false, Some(self.namespace.clone()));
            match next {
                None => Ok(None),
                Some(batch) => {
                    let batch = batch.map_err(|e| locate(e.into()))?;
                    Ok(Some(
                        Box::new(ReplyBatch::new(batch).map_err(|e| locate(e.into()))?) as Box<dyn Batch>,
                    ))
                }
            }
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
