//! A range over several collections, as one stream.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::Stream;
use odm::bson::{DateTime, Document, doc};
use odm::{Collection, Cursor, Filter, Model, Result};

/// The documents of several periods, one after another, in the order of their dates. Each collection is asked when the one
/// before it is at its end.
#[must_use = "nothing is read before the first document is asked for"]
pub struct PeriodRange<M> {
    collections: VecDeque<Collection<M>>,
    running: Option<Cursor<M>>,
    date: String,
    times: Range<DateTime>,
    filter: Filter<M>,
    newest_first: bool,
}

impl<M: Model> PeriodRange<M> {
    pub(super) fn new(
        collections: VecDeque<Collection<M>>,
        date: String,
        times: Range<DateTime>,
        filter: Filter<M>,
    ) -> PeriodRange<M> {
        PeriodRange {
            collections,
            running: None,
            date,
            times,
            filter,
            newest_first: false,
        }
    }

    /// The newest first. To be said before the first document is asked for.
    pub fn newest_first(mut self) -> PeriodRange<M> {
        self.newest_first = true;
        self
    }

    /// The next document, or `None` after the last.
    ///
    /// # Errors
    /// As a query of the collection.
    pub async fn try_next(&mut self) -> Result<Option<M>> {
        std::future::poll_fn(|ctx| self.poll_document(ctx))
            .await
            .transpose()
    }

    /// All documents that are left.
    ///
    /// # Errors
    /// The first error.
    pub async fn try_collect(mut self) -> Result<Vec<M>> {
        let mut all = Vec::new();
        while let Some(document) = self.try_next().await? {
            all.push(document);
        }
        Ok(all)
    }

    fn poll_document(&mut self, ctx: &mut Context<'_>) -> Poll<Option<Result<M>>> {
        loop {
            if let Some(running) = &mut self.running {
                match ready!(Pin::new(running).poll_next(ctx)) {
                    None => self.running = None,
                    document => return Poll::Ready(document),
                }
            }
            let next = match self.newest_first {
                true => self.collections.pop_back(),
                false => self.collections.pop_front(),
            };
            match next {
                None => return Poll::Ready(None),
                Some(collection) => self.running = Some(self.ask(&collection)),
            }
        }
    }

    fn ask(&self, collection: &Collection<M>) -> Cursor<M> {
        let of_times = doc! { &self.date: { "$gte": self.times.start, "$lt": self.times.end } };
        let filter = Filter::raw(of_times) & self.filter.clone();
        let mut order = Document::new();
        order.insert(&self.date, if self.newest_first { -1 } else { 1 });
        collection.find(|_| filter).sort_raw(order).stream()
    }
}

impl<M> Unpin for PeriodRange<M> {}

impl<M: Model> Stream for PeriodRange<M> {
    type Item = Result<M>;

    fn poll_next(self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<Option<Result<M>>> {
        self.get_mut().poll_document(ctx)
    }
}

impl<M> fmt::Debug for PeriodRange<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeriodRange")
            .field("collections", &self.collections)
            .field("date", &self.date)
            .field("times", &self.times)
            .field("newest_first", &self.newest_first)
            .finish_non_exhaustive()
    }
}
