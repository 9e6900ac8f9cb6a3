//! Cursors: batches of packed documents, from one view or gathered in a transaction.

use std::fmt;
use std::sync::Arc;

use bson::RawDocument;
use futures_core::future::BoxFuture;

use super::super::engine::{Engine, View};
use super::super::exec::aggregate::AggregateCursor;
use super::super::exec::cursor::{FindCursor, IN_GET_MORE, Packed};
use super::super::exec::tail::TailCursor;
use super::super::fault::Result as Outcomes;
use super::response::translate;
use crate::backend::{Batch, BatchCursor};
use crate::error::Result;

/// The batch, whose fault tells that the cursor went on if it did.
fn told<T>(batch: Outcomes<T>, goes_on: bool) -> Outcomes<T> {
    batch.map_err(|fault| match goes_on {
        true => fault.rather_while_running(IN_GET_MORE),
        false => fault,
    })
}

/// A running pipeline over one view.
pub(super) struct PipelineCursor {
    pub(super) view: Arc<View>,
    pub(super) cursor: AggregateCursor,
    pub(super) name: &'static str,
}

impl fmt::Debug for PipelineCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PipelineCursor")
    }
}

impl BatchCursor for PipelineCursor {
    fn next_batch(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Batch>>>> {
        let goes_on = self.cursor.has_begun();
        let batch = told(self.cursor.next_batch(&*self.view), goes_on);
        let batch = batch.map(|batch| batch.map(|batch| Box::new(batch) as Box<dyn Batch>));
        Box::pin(std::future::ready(batch.map_err(|fault| {
            translate(fault, self.name).with_operation("aggregate")
        })))
    }
}

/// A cursor that follows the end of a capped collection: each batch is read from the newest state.
pub(super) struct FollowingCursor {
    pub(super) engine: Arc<Engine>,
    pub(super) cursor: TailCursor,
    pub(super) name: &'static str,
}

impl fmt::Debug for FollowingCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FollowingCursor")
    }
}

impl FollowingCursor {
    async fn follow(&mut self) -> Outcomes<Option<Packed>> {
        loop {
            // Taken before the view: a commit between the two is noticed.
            let commit = self.engine.next_commit();
            let batch = self.cursor.next_batch(&*self.engine.view()?)?;
            match batch {
                Some(batch) if batch.len() == 0 && self.cursor.awaits() => commit.await,
                batch => return Ok(batch),
            }
        }
    }
}

impl BatchCursor for FollowingCursor {
    fn next_batch(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Batch>>>> {
        Box::pin(async move {
            let name = self.name;
            let batch = self.follow().await;
            batch
                .map(|batch| batch.map(|batch| Box::new(batch) as Box<dyn Batch>))
                .map_err(|fault| translate(fault, name).with_operation("getMore"))
        })
    }
}

/// A cursor over one view.
pub(super) struct ViewCursor {
    pub(super) view: Arc<View>,
    pub(super) cursor: FindCursor,
    pub(super) name: &'static str,
}

impl fmt::Debug for ViewCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ViewCursor")
    }
}

impl BatchCursor for ViewCursor {
    fn next_batch(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Batch>>>> {
        let goes_on = self.cursor.has_begun();
        let batch = told(self.cursor.next_batch(&*self.view), goes_on);
        let batch = batch.map(|batch| batch.map(|batch| Box::new(batch) as Box<dyn Batch>));
        Box::pin(std::future::ready(
            batch.map_err(|fault| translate(fault, self.name).with_operation("find")),
        ))
    }
}

/// A cursor over batches that are there already.
#[derive(Debug)]
pub(super) struct GatheredCursor(pub(super) std::vec::IntoIter<Packed>);

impl BatchCursor for GatheredCursor {
    fn next_batch(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Batch>>>> {
        let batch = self.0.next().map(|batch| Box::new(batch) as Box<dyn Batch>);
        Box::pin(std::future::ready(Ok(batch)))
    }
}

/// A cursor over the one document that was found, if it was.
#[derive(Debug)]
pub(super) struct SingleCursor(pub(super) Option<Single>);

/// A batch of one document.
#[derive(Debug)]
pub(super) struct Single(pub(super) Vec<u8>);

impl BatchCursor for SingleCursor {
    fn next_batch(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Batch>>>> {
        let batch = self.0.take().map(|batch| Box::new(batch) as Box<dyn Batch>);
        Box::pin(std::future::ready(Ok(batch)))
    }
}

impl Batch for Single {
    fn len(&self) -> usize {
        1
    }

    fn get(&self, index: usize) -> Option<&RawDocument> {
        (index == 0).then(|| RawDocument::from_bytes(&self.0).ok())?
    }
}

impl Batch for Packed {
    fn len(&self) -> usize {
        self.len()
    }

    fn get(&self, index: usize) -> Option<&RawDocument> {
        RawDocument::from_bytes(self.get(index)?).ok()
    }
}
