//! What operations did, for whoever asked.

use std::fmt;
use std::sync::Arc;

use futures_core::future::BoxFuture;

use super::super::tally::{self, Tally};
use crate::backend::{Batch, BatchCursor, Footprint, Response};
use crate::error::Result;

/// What was done so far.
pub(super) fn of(tally: &Tally) -> Footprint {
    let examined = tally.examined();
    Footprint::new(tally.plans(), examined.keys, examined.documents)
}

/// The answer; a cursor goes on adding to the tally.
pub(super) fn followed(response: Response, tally: &Arc<Tally>) -> Response {
    match response {
        Response::Cursor(inner) => Response::Cursor(Box::new(Followed {
            inner,
            tally: tally.clone(),
        })),
        other => other,
    }
}

/// A cursor whose work is added up.
struct Followed {
    inner: Box<dyn BatchCursor>,
    tally: Arc<Tally>,
}

impl fmt::Debug for Followed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl BatchCursor for Followed {
    fn next_batch(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Batch>>>> {
        // The engine's cursors read when they are asked, those that wait for others when they are polled.
        let tally = &self.tally;
        let mut batch = tally::within(Some(tally.clone()), || self.inner.next_batch());
        Box::pin(std::future::poll_fn(move |context| {
            tally::within(Some(tally.clone()), || batch.as_mut().poll(context))
        }))
    }

    fn resume_token(&self) -> Option<bson::RawDocumentBuf> {
        self.inner.resume_token()
    }

    fn footprint(&self) -> Option<Footprint> {
        Some(of(&self.tally))
    }
}
