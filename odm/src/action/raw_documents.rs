//! The documents of a collection, one after another, as they are stored.

use bson::{RawDocument, RawDocumentBuf};

use crate::backend::{Aggregate, Batch, BatchCursor, Find, Operation, ReadOptions};
use crate::collection::Target;
use crate::cursor;
use crate::error::Result;

/// The documents of a collection, fetched a batch at a time, never decoded.
pub(super) struct Documents {
    target: Target,
    operation: &'static str,
    cursor: Box<dyn BatchCursor>,
    batch: Option<Box<dyn Batch>>,
    /// One more than the position of the current document.
    at: usize,
}

impl Documents {
    /// In the order in which they are stored.
    pub(super) async fn find(target: &Target, batch: u32) -> Result<Documents> {
        let find = Find {
            batch_size: Some(batch),
            ..Find::new(target.namespace().clone(), RawDocumentBuf::new())
        };
        Documents::open(target, find.into()).await
    }

    /// What these stages make of them.
    pub(super) async fn aggregate(
        target: &Target,
        pipeline: Vec<RawDocumentBuf>,
        batch: u32,
    ) -> Result<Documents> {
        let aggregate = Aggregate {
            namespace: target.namespace().clone(),
            pipeline,
            batch_size: Some(batch),
            allow_disk_use: true,
            options: ReadOptions::default(),
        };
        Documents::open(target, aggregate.into()).await
    }

    async fn open(target: &Target, operation: Operation) -> Result<Documents> {
        let name = operation.name();
        let cursor = target.execute(operation).await?.cursor()?;
        Ok(Documents {
            target: target.clone(),
            operation: name,
            cursor,
            batch: None,
            at: 0,
        })
    }

    /// Goes to the next document; `false` after the last.
    pub(super) async fn advance(&mut self) -> Result<bool> {
        loop {
            match &self.batch {
                Some(batch) if self.at < batch.len() => {
                    self.at += 1;
                    return Ok(true);
                }
                _ => {}
            }
            self.at = 0;
            self.batch = cursor::next_batch(&self.target, self.operation, &mut *self.cursor).await?;
            if self.batch.is_none() {
                return Ok(false);
            }
        }
    }

    /// The document that it went to.
    pub(super) fn current(&self) -> Result<&RawDocument> {
        let batch = self.batch.as_ref();
        let document = batch.and_then(|batch| batch.get(self.at.checked_sub(1)?));
        document.ok_or_else(|| self.target.explain(cursor::unreadable(), self.operation))
    }
}
