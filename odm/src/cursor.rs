//! Streams of typed documents.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bson::RawDocument;
use futures_core::Stream;
use futures_core::future::BoxFuture;

use crate::action::Draft;
use crate::backend::{Batch, BatchCursor, Operation};
use crate::collection::Target;
use crate::error::{Error, ErrorKind, Result};

/// How a stored document becomes a value.
pub(crate) type Decode<T> = fn(&RawDocument) -> Result<T>;

/// The documents of a result, one after another, fetched a batch at a time.
///
/// Nothing is asked before the first poll. The cursor is a [`Stream`], and has [`next`](Cursor::next) and
/// [`try_collect`](Cursor::try_collect) of its own, so that no stream library is needed. A document that does
/// not fit its type is an error that names its `_id`; the documents after it can still be read. After any
/// other error the cursor is exhausted.
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// # use odm::bson::doc;
/// # let db = odm::Db::open("memory:").await?;
/// # db.raw_collection("books").insert(doc! {"year": 1851}).await?;
/// let mut books = db.raw_collection("books").find(doc! {"year": {"$gt": 1850}}).stream();
/// while let Some(book) = books.next().await {
///     println!("{}", book?);
/// }
/// # Ok(())
/// # }
/// ```
///
/// Cost: one round trip per batch; memory for one batch. Cancel safety: no document is lost when the future of
/// `next` is dropped. Dropping the cursor releases what it holds on the backend.
#[must_use = "a cursor does nothing until it is read"]
pub struct Cursor<T> {
    target: Target,
    operation: &'static str,
    decode: Decode<T>,
    source: Source,
    batch: Option<Box<dyn Batch>>,
    position: usize,
}

enum Source {
    /// Being asked for the first or the next batch.
    Asked(BoxFuture<'static, Result<Fetched>>),
    /// Has more batches, perhaps.
    Idle(Box<dyn BatchCursor>),
    Exhausted,
}

struct Fetched {
    cursor: Box<dyn BatchCursor>,
    batch: Option<Box<dyn Batch>>,
}

impl<T> Cursor<T> {
    pub(crate) fn new<O>(draft: Draft<O>, operation: &'static str, decode: Decode<T>) -> Cursor<T>
    where
        O: Into<Operation> + Send + 'static,
    {
        let target = draft.target.clone();
        let asked = Box::pin(async move {
            let (target, operation) = draft.asked().await?;
            let answer = target.execute(operation).await?;
            fetch(answer.cursor()?).await
        });
        Cursor {
            target,
            operation,
            decode,
            source: Source::Asked(asked),
            batch: None,
            position: 0,
        }
    }

    /// The next document, or `None` after the last.
    pub async fn next(&mut self) -> Option<Result<T>> {
        std::future::poll_fn(|ctx| self.poll_document(ctx)).await
    }

    /// The next document, or `None` after the last, with the error outside.
    ///
    /// # Errors
    /// As the operation, and `Decode` for a document that does not fit its type.
    pub async fn try_next(&mut self) -> Result<Option<T>> {
        self.next().await.transpose()
    }

    /// All documents that are left.
    ///
    /// # Errors
    /// The first error.
    pub async fn try_collect<C: Default + Extend<T>>(mut self) -> Result<C> {
        let mut all = C::default();
        while let Some(document) = self.try_next().await? {
            all.extend(Some(document));
        }
        Ok(all)
    }

    fn poll_document(&mut self, ctx: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        loop {
            if let Some(batch) = self.batch.as_ref().filter(|batch| self.position < batch.len()) {
                let value = document(&**batch, self.position).and_then(self.decode);
                self.position += 1;
                return Poll::Ready(Some(
                    value.map_err(|error| self.target.explain(error, self.operation)),
                ));
            }
            self.batch = None;
            match ready!(self.poll_batch(ctx)) {
                Ok(true) => {}
                Ok(false) => return Poll::Ready(None),
                Err(error) => return Poll::Ready(Some(Err(self.fail(error)))),
            }
        }
    }

    /// Gets the next batch; `false` when there is none.
    fn poll_batch(&mut self, ctx: &mut Context<'_>) -> Poll<Result<bool>> {
        loop {
            match std::mem::replace(&mut self.source, Source::Exhausted) {
                Source::Exhausted => return Poll::Ready(Ok(false)),
                Source::Idle(cursor) => {
                    self.target.executor().check_running()?;
                    self.source = Source::Asked(Box::pin(fetch(cursor)));
                }
                Source::Asked(mut asked) => match asked.as_mut().poll(ctx) {
                    Poll::Pending => {
                        self.source = Source::Asked(asked);
                        return Poll::Pending;
                    }
                    Poll::Ready(fetched) => {
                        let Fetched { cursor, batch } = fetched?;
                        let Some(batch) = batch else {
                            return Poll::Ready(Ok(false));
                        };
                        self.source = Source::Idle(cursor);
                        self.batch = Some(batch);
                        self.position = 0;
                        return Poll::Ready(Ok(true));
                    }
                },
            }
        }
    }

    fn fail(&self, error: Error) -> Error {
        self.target.executor().notice(&error);
        self.target.explain(error, self.operation)
    }
}

async fn fetch(mut cursor: Box<dyn BatchCursor>) -> Result<Fetched> {
    let batch = cursor.next_batch().await?;
    Ok(Fetched { cursor, batch })
}

// Nothing in a cursor is pinned structurally: the futures are boxed, and `T` is only made.
impl<T> Unpin for Cursor<T> {}

impl<T> Stream for Cursor<T> {
    type Item = Result<T>;

    fn poll_next(self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        self.get_mut().poll_document(ctx)
    }
}

impl<T> fmt::Debug for Cursor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cursor")
            .field("target", &self.target)
            .field("exhausted", &matches!(self.source, Source::Exhausted))
            .finish_non_exhaustive()
    }
}

/// Reads a whole result: no stream state, no allocation per document but the documents' own.
pub(crate) async fn collect<T>(
    target: &Target,
    operation: &'static str,
    mut cursor: Box<dyn BatchCursor>,
    decode: Decode<T>,
) -> Result<Vec<T>> {
    let mut all = Vec::new();
    while let Some(batch) = next_batch(target, operation, &mut *cursor).await? {
        all.reserve(batch.len());
        for index in 0..batch.len() {
            let value = document(&*batch, index).and_then(decode);
            all.push(value.map_err(|error| target.explain(error, operation))?);
        }
    }
    Ok(all)
}

/// Reads the first document of a result.
pub(crate) async fn first<T>(
    target: &Target,
    operation: &'static str,
    mut cursor: Box<dyn BatchCursor>,
    decode: Decode<T>,
) -> Result<Option<T>> {
    while let Some(batch) = next_batch(target, operation, &mut *cursor).await? {
        if !batch.is_empty() {
            let value = document(&*batch, 0).and_then(decode);
            return value.map(Some).map_err(|error| target.explain(error, operation));
        }
    }
    Ok(None)
}

/// A document that a batch is to have.
pub(crate) fn document(batch: &dyn Batch, index: usize) -> Result<&RawDocument> {
    batch.get(index).ok_or_else(unreadable)
}

/// The error of a document that cannot be read.
pub(crate) fn unreadable() -> Error {
    Error::new(ErrorKind::Corrupt, "malformed bson")
}

/// The documents of a batch, each in its place; an error for one that cannot be read.
pub(crate) fn documents<'b>(
    target: &'b Target,
    operation: &'static str,
    batch: &'b dyn Batch,
) -> impl Iterator<Item = Result<&'b RawDocument>> {
    (0..batch.len())
        .map(move |index| document(batch, index).map_err(|error| target.explain(error, operation)))
}

/// All batches of a result, whose documents can all be read.
pub(crate) async fn batches(
    target: &Target,
    operation: &'static str,
    mut cursor: Box<dyn BatchCursor>,
) -> Result<Vec<Box<dyn Batch>>> {
    let mut all = Vec::new();
    while let Some(batch) = next_batch(target, operation, &mut *cursor).await? {
        documents(target, operation, &*batch).try_for_each(|document| document.map(drop))?;
        all.push(batch);
    }
    Ok(all)
}

pub(crate) async fn next_batch(
    target: &Target,
    operation: &'static str,
    cursor: &mut dyn BatchCursor,
) -> Result<Option<Box<dyn Batch>>> {
    cursor.next_batch().await.map_err(|error| {
        target.executor().notice(&error);
        target.explain(error, operation)
    })
}
