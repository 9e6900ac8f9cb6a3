//! Cursors of raw documents, a batch at a time.

use std::fmt;

use bson::RawDocument;
use futures_core::future::BoxFuture;

use super::Footprint;
use crate::error::Result;

/// Some raw documents, one after another in one buffer or in the backend's own.
pub trait Batch: Send + Sync + fmt::Debug {
    /// How many documents there are.
    fn len(&self) -> usize;

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The document at this position.
    fn get(&self, index: usize) -> Option<&RawDocument>;
}

/// The documents of a result, fetched batch by batch: one boxed future per batch, none per document.
///
/// Dropping a cursor releases what it holds on the backend.
pub trait BatchCursor: Send + fmt::Debug {
    /// The next batch, or `None` after the last. A batch may be empty (a tailable cursor waits so).
    fn next_batch(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Batch>>>>;

    /// For a cursor of changes: the resume token after the last batch, also of an empty one, or after the
    /// opening. What was given up to here is not given again when a stream is resumed after it, and nothing
    /// that comes later is missed.
    fn resume_token(&self) -> Option<bson::RawDocumentBuf> {
        None
    }

    /// What the whole operation did so far to find its documents, if it was begun by
    /// [`Backend::measure`](super::Backend::measure) and the backend knows.
    fn footprint(&self) -> Option<Footprint> {
        None
    }
}

impl Batch for Vec<bson::RawDocumentBuf> {
    fn len(&self) -> usize {
        self.len()
    }

    fn get(&self, index: usize) -> Option<&RawDocument> {
        <[bson::RawDocumentBuf]>::get(self, index).map(|document| document.as_ref())
    }
}
