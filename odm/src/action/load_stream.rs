//! Streams of documents with what they refer to.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use futures_core::future::BoxFuture;

use super::Load;
use super::load::Source;
use crate::backend::BatchCursor;
use crate::cursor::next_batch;
use crate::error::Result;
use crate::model::Model;
use crate::relation::Loads;

/// Documents with what was loaded for them, one after another, fetched a batch at a time.
///
/// Nothing is asked before the first poll. Cost: for each batch one round trip, and one query for each relation;
/// memory for one batch. After an error the stream is exhausted. Cancel safety: no document is lost when the future of
/// [`next`](LoadStream::next) is dropped.
#[must_use = "a stream does nothing until it is read"]
pub struct LoadStream<T> {
    ready: VecDeque<T>,
    next: Option<Step<T>>,
}

/// A step gives rows and the step after it.
type Step<T> = BoxFuture<'static, Result<Given<T>>>;

/// Rows and how to go on; nothing when there are no more.
struct Given<T> {
    rows: Vec<T>,
    next: Option<Step<T>>,
}

impl<T: Send + 'static> LoadStream<T> {
    pub(super) fn new<M: Model, P: Send + 'static, L: Loads<M, Row<P> = T>>(
        load: Load<M, P, L>,
    ) -> LoadStream<T> {
        let first = async move {
            let (source, cursor) = load.open().await?;
            step::<M, P, L>(source, cursor).await
        };
        LoadStream {
            ready: VecDeque::new(),
            next: Some(Box::pin(first)),
        }
    }
}

fn step<M: Model, P: Send + 'static, L: Loads<M>>(
    source: Source<P, L>,
    mut cursor: Box<dyn BatchCursor>,
) -> Step<L::Row<P>> {
    Box::pin(async move {
        let Some(batch) = next_batch(&source.target, "find", &mut *cursor).await? else {
            return Ok(Given {
                rows: Vec::new(),
                next: None,
            });
        };
        let rows = source.rows(vec![batch]).await?;
        Ok(Given {
            rows,
            next: Some(Box::pin(async move { step::<M, P, L>(source, cursor).await })),
        })
    })
}

impl<T> LoadStream<T> {
    /// The next document, or `None` after the last.
    pub async fn next(&mut self) -> Option<Result<T>> {
        std::future::poll_fn(|ctx| self.poll_row(ctx)).await
    }

    /// The next document, or `None` after the last, with the error outside.
    ///
    /// # Errors
    /// As the find and the loads, and `Decode` for a document that does not fit its type.
    pub async fn try_next(&mut self) -> Result<Option<T>> {
        self.next().await.transpose()
    }

    /// All that are left.
    ///
    /// # Errors
    /// The first error.
    pub async fn try_collect<C: Default + Extend<T>>(mut self) -> Result<C> {
        let mut all = C::default();
        while let Some(row) = self.try_next().await? {
            all.extend(Some(row));
        }
        Ok(all)
    }

    fn poll_row(&mut self, ctx: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        loop {
            if let Some(row) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(row)));
            }
            let Some(step) = &mut self.next else {
                return Poll::Ready(None);
            };
            let given = ready!(step.as_mut().poll(ctx));
            self.next = None;
            match given {
                Ok(given) => {
                    self.ready = given.rows.into();
                    self.next = given.next;
                }
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
    }
}

// Nothing is pinned structurally: the steps are boxed, and rows are only handed on.
impl<T> Unpin for LoadStream<T> {}

impl<T> Stream for LoadStream<T> {
    type Item = Result<T>;

    fn poll_next(self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        self.get_mut().poll_row(ctx)
    }
}

impl<T> fmt::Debug for LoadStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadStream")
            .field("ready", &self.ready.len())
            .field("exhausted", &self.next.is_none())
            .finish()
    }
}
