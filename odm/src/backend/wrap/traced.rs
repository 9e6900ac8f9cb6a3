//! A backend that tells `tracing` what it is asked.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_core::future::BoxFuture;
use tracing::field::Empty;
use tracing::{Instrument, Level, Span};

use crate::backend::{
    Backend, Batch, BatchCursor, Capabilities, Footprint, Operation, Response, Transaction,
    TransactionOptions,
};
use crate::error::Result;

/// A backend with a span for each round trip. [`OpenOptions::open`](crate::OpenOptions::open) wraps every backend so;
/// wrap one that was made in another way yourself.
///
/// A span `operation` of level `DEBUG` holds the operation in MongoDB's vocabulary, the backend, the database and the
/// collection, at its end the number of documents, and the kind of the error if there was one. Values of documents,
/// filters and updates are never in it. An operation that takes as long as the threshold is an event of level `WARN`, which also holds the
/// filter's [shape](Operation::filter_shape) and, of the embedded engine, the plan and how many index entries and
/// documents it read: of a cursor's batch, those of the whole operation so far.
///
/// Cost: a look at a flag where nobody listens and there is no threshold; else one more box for each operation.
pub struct Traced<B: ?Sized> {
    inner: Arc<B>,
    slow: Option<Duration>,
    in_transaction: bool,
}

impl<B: ?Sized> Traced<B> {
    /// Spans around `inner`; with a threshold also events for what is slow.
    pub fn new(inner: Arc<B>, slow: Option<Duration>) -> Traced<B> {
        Traced {
            inner,
            slow,
            in_transaction: false,
        }
    }
}

/// One round trip.
struct Trip {
    span: Span,
    about: About,
    started: Instant,
}

/// What spans and events of slow operations say.
#[derive(Clone)]
struct About {
    operation: &'static str,
    /// The filter without its values.
    filter: Option<String>,
    backend: &'static str,
    database: String,
    collection: String,
    in_transaction: bool,
    slow: Option<Duration>,
}

impl About {
    fn start(self) -> Trip {
        let span = tracing::debug_span!(
            target: "odm",
            "operation",
            operation = self.operation,
            backend = self.backend,
            database = %self.database,
            collection = %self.collection,
            in_transaction = self.in_transaction,
            documents = Empty,
            error = Empty,
            milliseconds = Empty,
        );
        Trip {
            span,
            about: self,
            started: Instant::now(),
        }
    }
}

impl Trip {
    /// Runs the operation inside the span.
    async fn run<T>(
        self,
        future: impl Future<Output = Result<T>> + Send,
        count: fn(&T) -> Option<u64>,
    ) -> Result<T> {
        let measured = async { (future.await, None) };
        self.run_measured(measured, count).await
    }

    /// The same with what was done to find documents, which is told of what is slow.
    async fn run_measured<T>(
        self,
        future: impl Future<Output = (Result<T>, Option<Footprint>)> + Send,
        count: fn(&T) -> Option<u64>,
    ) -> Result<T> {
        let (result, footprint) = future.instrument(self.span.clone()).await;
        let taken = self.started.elapsed();
        let milliseconds = taken.as_secs_f64() * 1_000.0;
        let documents = result.as_ref().ok().and_then(count);
        self.span.record("milliseconds", milliseconds);
        if let Some(documents) = documents {
            self.span.record("documents", documents);
        }
        if let Err(error) = &result {
            self.span.record("error", tracing::field::debug(error.kind()));
        }
        if self.about.slow.is_some_and(|slow| taken >= slow) {
            let about = &self.about;
            let plan = footprint
                .as_ref()
                .map(|own| own.plan.as_str())
                .filter(|plan| !plan.is_empty());
            tracing::warn!(
                target: "odm",
                parent: &self.span,
                operation = about.operation,
                backend = about.backend,
                database = %about.database,
                collection = %about.collection,
                in_transaction = about.in_transaction,
                filter = about.filter.as_deref(),
                plan,
                keys_examined = footprint.as_ref().map(|own| own.keys_examined),
                documents_examined = footprint.as_ref().map(|own| own.documents_examined),
                documents,
                milliseconds,
                "slow operation"
            );
        }
        result
    }
}

impl<B: Backend + ?Sized> Traced<B> {
    fn around<I: ?Sized>(&self, inner: Arc<I>) -> Traced<I> {
        Traced {
            inner,
            slow: self.slow,
            in_transaction: false,
        }
    }

    fn about(&self, operation: &'static str) -> About {
        About {
            operation,
            filter: None,
            backend: self.inner.name(),
            database: String::new(),
            collection: String::new(),
            in_transaction: self.in_transaction,
            slow: self.slow,
        }
    }

    /// Whether anybody wants to know.
    fn is_heard(&self) -> bool {
        self.slow.is_some() || tracing::enabled!(target: "odm", Level::DEBUG)
    }
}

impl<B: Backend + ?Sized> Backend for Traced<B> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn execute(&self, operation: Operation) -> BoxFuture<'_, Result<Response>> {
        if !self.is_heard() {
            return self.inner.execute(operation);
        }
        let mut about = self.about(operation.name());
        if let Some(namespace) = operation.namespace() {
            about.database.clone_from(&namespace.database);
            about.collection.clone_from(&namespace.collection);
        }
        if self.slow.is_some() {
            about.filter = operation.filter_shape();
        }
        Box::pin(async move {
            let trip = about.clone().start();
            let response = match self.slow {
                Some(_) => {
                    trip.run_measured(self.inner.measure(operation), documents)
                        .await?
                }
                None => trip.run(self.inner.execute(operation), documents).await?,
            };
            Ok(match response {
                Response::Cursor(inner) => Response::Cursor(Box::new(TracedCursor {
                    inner,
                    about,
                    is_first: true,
                })),
                other => other,
            })
        })
    }

    super::passes_on!();

    fn begin(&self, options: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>> {
        Box::pin(async move {
            let inner = self.inner.begin(options).await?;
            let traced = Traced {
                in_transaction: true,
                ..self.around(inner)
            };
            Ok(Arc::new(traced) as Arc<dyn Transaction>)
        })
    }

    fn parts(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.inner.parts()
    }
}

super::session_around!(Traced);

impl Transaction for Traced<dyn Transaction> {
    fn commit(&self) -> BoxFuture<'_, Result<()>> {
        let trip = self.about("commitTransaction").start();
        Box::pin(trip.run(self.inner.commit(), |()| None))
    }

    fn abort(&self) -> BoxFuture<'_, ()> {
        let span = self.about("abortTransaction").start().span;
        Box::pin(self.inner.abort().instrument(span))
    }
}

impl<B: Backend + ?Sized> fmt::Debug for Traced<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Traced").field(&&*self.inner).finish()
    }
}

/// How many documents an operation was about, where its answer says it.
fn documents(response: &Response) -> Option<u64> {
    Some(match response {
        Response::Write(result) => {
            let all = &result.summary;
            all.inserted + all.matched + all.upserted + all.deleted
        }
        Response::Document(document) => document.iter().count() as u64,
        Response::Documents(documents) => documents.len() as u64,
        Response::Values(values) => values.len() as u64,
        Response::Count(count) => *count,
        Response::Done
        | Response::Cursor(_)
        | Response::Statistics(_)
        | Response::Check(_)
        | Response::Repair(_)
        | Response::Backup(_)
        | Response::Compact(_)
        | Response::Store(_) => return None,
    })
}

struct TracedCursor {
    inner: Box<dyn BatchCursor>,
    about: About,
    is_first: bool,
}

impl BatchCursor for TracedCursor {
    fn next_batch(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Batch>>>> {
        let mut about = self.about.clone();
        // The first batch came with the operation; its documents are told as a span of their own all the same.
        about.operation = match std::mem::take(&mut self.is_first) {
            true => "firstBatch",
            false => "getMore",
        };
        let count =
            |batch: &Option<Box<dyn Batch>>| Some(batch.as_ref().map_or(0, |batch| batch.len() as u64));
        Box::pin(async move {
            let inner = &mut self.inner;
            let next = async move {
                let batch = inner.next_batch().await;
                (batch, inner.footprint())
            };
            about.start().run_measured(next, count).await
        })
    }

    fn resume_token(&self) -> Option<bson::RawDocumentBuf> {
        self.inner.resume_token()
    }
}

impl fmt::Debug for TracedCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TracedCursor").field(&self.inner).finish()
    }
}

#[cfg(test)]
mod tests;
