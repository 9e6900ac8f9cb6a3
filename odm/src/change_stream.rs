//! Streams of changes.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bson::{RawDocument, RawDocumentBuf};
use futures_core::Stream;
use futures_core::future::BoxFuture;

use crate::backend::{Batch, BatchCursor};
use crate::change::ResumeToken;
use crate::collection::Target;
use crate::cursor::{Decode, document};
use crate::error::{Error, Result};

/// What changes, as it changes: [`Collection::watch`](crate::Collection::watch) and
/// [`Db::watch`](crate::Db::watch) give it.
///
/// It is a [`Stream`] of [`Change`](crate::Change)s, and has [`next`](ChangeStream::next) of its own, so that no
/// stream library is needed. It waits for changes for as long as it is read, and ends only after
/// [`Invalidate`](crate::ChangeEvent::Invalidate), or with an error. An event that does not fit its type is an
/// error too, but the events after it can still be read.
///
/// Keep the [`resume_token`](ChangeStream::resume_token) with what you did with the events: after a restart,
/// [`resume_after`](crate::action::Watch::resume_after) goes on there, without a gap and without a repetition. How
/// far back that can be is MongoDB's oplog, or the embedded engine's [`ChangeLog`](crate::ChangeLog); later than
/// that it is an error of kind [`HistoryLost`](crate::ErrorKind::HistoryLost), never a silent gap.
///
/// ```
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Debug, Serialize, Deserialize, odm::Model)]
/// # struct Book { #[serde(rename = "_id")] id: i32, title: String }
/// # async fn example() -> odm::Result<()> {
/// use odm::{ChangeEvent, Collection, Db};
///
/// let db = Db::open("memory:").await?;
/// let books: Collection<Book> = db.collection();
/// let mut changes = books.watch().await?;
/// books.insert(Book { id: 1, title: "Moby-Dick".into() }).await?;
/// if let Some(change) = changes.next().await {
///     match change?.event {
///         ChangeEvent::Insert { document, .. } => assert_eq!(document.title, "Moby-Dick"),
///         other => panic!("{other:?}"),
///     }
/// }
/// let token = changes.resume_token().cloned();
/// # let _ = token;
/// # Ok(())
/// # }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(example()).unwrap();
/// ```
///
/// Cost: one round trip per batch. Cancel safety: no event is lost when the future of `next` is dropped. Dropping
/// the stream releases what it holds on the backend.
#[must_use = "a change stream does nothing until it is read"]
pub struct ChangeStream<T> {
    target: Target,
    decode: Decode<T>,
    source: Source,
    batch: VecDeque<RawDocumentBuf>,
    /// After the last event that was given.
    token: Option<ResumeToken>,
    /// After the batch.
    token_of_batch: Option<ResumeToken>,
}

/// A cursor that was asked for its next batch, and what it gave.
type Asked = (Box<dyn BatchCursor>, Result<Option<Vec<RawDocumentBuf>>>);
enum Source {
    Asked(BoxFuture<'static, Asked>),
    Idle(Box<dyn BatchCursor>),
    Over,
}

impl<T> ChangeStream<T> {
    pub(crate) fn new(
        target: Target,
        cursor: Box<dyn BatchCursor>,
        decode: Decode<T>,
        start: Option<ResumeToken>,
    ) -> ChangeStream<T> {
        let token = token_of(&*cursor).or(start);
        ChangeStream {
            target,
            decode,
            source: Source::Idle(cursor),
            batch: VecDeque::new(),
            token_of_batch: token.clone(),
            token,
        }
    }

    /// The next change; waits until there is one. `None` after the end.
    pub async fn next(&mut self) -> Option<Result<T>> {
        std::future::poll_fn(|ctx| self.poll_change(ctx)).await
    }

    /// The next change, or `None` after the end, with the error outside.
    ///
    /// # Errors
    /// `HistoryLost` when the reader is so late that changes are gone; `Decode` for an event that does not fit its
    /// type; as any operation.
    pub async fn try_next(&mut self) -> Result<Option<T>> {
        self.next().await.transpose()
    }

    /// The next change if there is one within [`max_await_time`](crate::action::Watch::max_await_time), asking at
    /// most once. Afterwards [`resume_token`](ChangeStream::resume_token) is up to date also when nothing happened.
    ///
    /// # Errors
    /// As [`try_next`](ChangeStream::try_next).
    pub async fn next_if_any(&mut self) -> Result<Option<T>> {
        if self.batch.is_empty() {
            std::future::poll_fn(|ctx| self.poll_batch(ctx)).await?;
        }
        self.take().transpose()
    }

    /// Where the stream is: after the last change that it gave, or later when no change came since that it would
    /// have given.
    pub fn resume_token(&self) -> Option<&ResumeToken> {
        self.token.as_ref()
    }

    /// Whether the stream has ended.
    pub fn is_over(&self) -> bool {
        self.batch.is_empty() && matches!(self.source, Source::Over)
    }

    fn poll_change(&mut self, ctx: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        // A stream that looks at much and gives little lets others run now and then.
        for _ in 0..16 {
            if let Some(change) = self.take() {
                return Poll::Ready(Some(change));
            }
            if matches!(self.source, Source::Over) {
                return Poll::Ready(None);
            }
            if let Err(error) = ready!(self.poll_batch(ctx)) {
                return Poll::Ready(Some(Err(error)));
            }
        }
        ctx.waker().wake_by_ref();
        Poll::Pending
    }

    fn take(&mut self) -> Option<Result<T>> {
        let event = self.batch.pop_front()?;
        let own = || {
            let id = event.get("_id").ok().flatten()?.as_document()?;
            ResumeToken::read(id).ok()
        };
        let token = match self.batch.is_empty() {
            true => self.token_of_batch.take().or_else(own),
            false => own(),
        };
        self.token = token.or(self.token.take());
        Some((self.decode)(&event).map_err(|error| self.explain(error)))
    }

    /// Gets the next batch, which may be empty.
    fn poll_batch(&mut self, ctx: &mut Context<'_>) -> Poll<Result<()>> {
        loop {
            match std::mem::replace(&mut self.source, Source::Over) {
                Source::Over => return Poll::Ready(Ok(())),
                Source::Idle(cursor) => self.source = Source::Asked(Box::pin(fetch(cursor))),
                Source::Asked(mut asked) => {
                    let Poll::Ready((cursor, batch)) = asked.as_mut().poll(ctx) else {
                        self.source = Source::Asked(asked);
                        return Poll::Pending;
                    };
                    let batch = match batch {
                        Ok(batch) => batch,
                        Err(error) => return Poll::Ready(Err(self.explain(error))),
                    };
                    let token = token_of(&*cursor);
                    if let Some(batch) = batch {
                        self.batch.extend(batch);
                        self.source = Source::Idle(cursor);
                    }
                    if self.batch.is_empty() {
                        self.token = token.or(self.token.take());
                    } else {
                        self.token_of_batch = token;
                    }
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }

    fn explain(&self, error: Error) -> Error {
        self.target.explain(error, "watch")
    }
}

async fn fetch(
    mut cursor: Box<dyn BatchCursor>,
) -> (Box<dyn BatchCursor>, Result<Option<Vec<RawDocumentBuf>>>) {
    let batch = cursor.next_batch().await;
    let owned = |batch: Box<dyn Batch>| {
        (0..batch.len())
            .map(|index| document(&*batch, index).map(RawDocument::to_owned))
            .collect()
    };
    let batch = batch.and_then(|batch| batch.map(owned).transpose());
    (cursor, batch)
}

fn token_of(cursor: &dyn BatchCursor) -> Option<ResumeToken> {
    ResumeToken::read(&cursor.resume_token()?).ok()
}

// Nothing in a stream is pinned structurally: the futures are boxed, and `T` is only made.
impl<T> Unpin for ChangeStream<T> {}

impl<T> Stream for ChangeStream<T> {
    type Item = Result<T>;

    fn poll_next(self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        self.get_mut().poll_change(ctx)
    }
}

impl<T> fmt::Debug for ChangeStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeStream")
            .field("target", &self.target)
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}
