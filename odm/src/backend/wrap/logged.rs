//! A log of what a backend is asked, with a limit of how much that may be.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bson::RawDocumentBuf;
use futures_core::future::BoxFuture;

use crate::backend::{
    Backend, Batch, BatchCursor, Capabilities, Namespace, Operation, Response, Transaction,
    TransactionOptions,
};
use crate::error::{Error, ErrorKind, Result};

/// What a [`Logged`] backend was asked, in order. Clones share the log.
#[derive(Clone, Debug, Default)]
pub struct Log {
    entries: Arc<Mutex<Vec<LogEntry>>>,
    budget: Option<usize>,
}

/// One round trip to the backend.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogEntry {
    /// The operation in MongoDB's vocabulary; `getMore` for a cursor's batch after the first,
    /// `commitTransaction` and `abortTransaction` for the end of a transaction.
    pub operation: &'static str,
    /// The collection it was about, if it was about one.
    pub namespace: Option<Namespace>,
    /// Whether it was part of a transaction.
    pub in_transaction: bool,
}

impl Log {
    /// A log that takes so many entries: what is asked beyond fails, and is not asked.
    pub fn with_budget(round_trips: usize) -> Log {
        Log {
            budget: Some(round_trips),
            ..Log::default()
        }
    }

    /// What was asked so far.
    pub fn entries(&self) -> Vec<LogEntry> {
        self.lock().clone()
    }

    /// How many round trips there were in all.
    ///
    /// A cursor's first batch comes with its operation; each further batch is one more. Whether the backend
    /// needed one more round trip to learn that a cursor is exhausted is not seen here.
    pub fn round_trips(&self) -> usize {
        self.lock().len()
    }

    /// How many round trips were this operation, in MongoDB's vocabulary: `find`, `getMore`, `insert`, ...
    pub fn count(&self, operation: &str) -> usize {
        self.lock()
            .iter()
            .filter(|entry| entry.operation == operation)
            .count()
    }

    /// Each operation's name with how often it was asked, in the order of first use.
    pub fn counts(&self) -> Vec<(&'static str, usize)> {
        let mut counts: Vec<(&'static str, usize)> = Vec::new();
        for entry in self.lock().iter() {
            match counts.iter_mut().find(|(name, _)| *name == entry.operation) {
                Some((_, count)) => *count += 1,
                None => counts.push((entry.operation, 1)),
            }
        }
        counts
    }

    /// Forgets what was asked so far and gives it.
    pub fn take(&self) -> Vec<LogEntry> {
        std::mem::take(&mut *self.lock())
    }

    fn push(
        &self,
        operation: &'static str,
        namespace: Option<Namespace>,
        in_transaction: bool,
    ) -> Result<()> {
        let entry = LogEntry {
            operation,
            namespace,
            in_transaction,
        };
        let mut entries = self.lock();
        match self.budget {
            Some(budget) if entries.len() >= budget => Err(overspent(budget, &entries, &entry)),
            _ => {
                entries.push(entry);
                Ok(())
            }
        }
    }

    // Entries are pushed whole, so a panic elsewhere leaves the log usable.
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<LogEntry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn overspent(budget: usize, done: &[LogEntry], next: &LogEntry) -> Error {
    let mut text = format!("the budget of round trips ({budget}) is used up at {next}, after ");
    for (position, entry) in done.iter().enumerate() {
        if position > 0 {
            text.push_str(", ");
        }
        text.push_str(&entry.to_string());
    }
    if done.is_empty() {
        text.push_str("none");
    }
    Error::new(ErrorKind::Budget, text)
}

impl fmt::Display for LogEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.operation)?;
        match &self.namespace {
            Some(namespace) => write!(f, " {namespace}"),
            None => Ok(()),
        }
    }
}

/// A backend that logs what it is asked.
pub struct Logged<B: ?Sized> {
    inner: Arc<B>,
    log: Log,
    in_transaction: bool,
}

impl<B: ?Sized> Logged<B> {
    /// Logs what `inner` is asked into `log`.
    pub fn new(inner: Arc<B>, log: Log) -> Logged<B> {
        Logged {
            inner,
            log,
            in_transaction: false,
        }
    }

    fn around<I: ?Sized>(&self, inner: Arc<I>) -> Logged<I> {
        Logged::new(inner, self.log.clone())
    }
}

impl<B: Backend + ?Sized> Backend for Logged<B> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn execute(&self, operation: Operation) -> BoxFuture<'_, Result<Response>> {
        Box::pin(async move {
            let namespace = operation.namespace().cloned();
            self.log
                .push(operation.name(), namespace.clone(), self.in_transaction)?;
            let response = self.inner.execute(operation).await?;
            Ok(match response {
                Response::Cursor(inner) => Response::Cursor(Box::new(LoggedCursor {
                    inner,
                    log: self.log.clone(),
                    namespace,
                    in_transaction: self.in_transaction,
                    batches: 0,
                })),
                other => other,
            })
        })
    }

    super::passes_on!();

    fn begin(&self, options: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>> {
        Box::pin(async move {
            let inner = self.inner.begin(options).await?;
            let logged = Logged {
                in_transaction: true,
                ..self.around(inner)
            };
            Ok(Arc::new(logged) as Arc<dyn Transaction>)
        })
    }

    fn parts(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.inner.parts()
    }
}

super::session_around!(Logged);

impl Transaction for Logged<dyn Transaction> {
    fn commit(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.log.push("commitTransaction", None, true)?;
            self.inner.commit().await
        })
    }

    fn abort(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // An abort cannot fail; one too many is not counted.
            self.log.push("abortTransaction", None, true).ok();
            self.inner.abort().await;
        })
    }
}

impl<B: Backend + ?Sized> fmt::Debug for Logged<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Logged").field(&&*self.inner).finish()
    }
}

#[derive(Debug)]
struct LoggedCursor {
    inner: Box<dyn BatchCursor>,
    log: Log,
    namespace: Option<Namespace>,
    in_transaction: bool,
    batches: u64,
}

impl BatchCursor for LoggedCursor {
    fn next_batch(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Batch>>>> {
        Box::pin(async move {
            let batch = self.inner.next_batch().await;
            let answered = !matches!(batch, Ok(None));
            if answered && self.batches > 0 {
                self.log
                    .push("getMore", self.namespace.clone(), self.in_transaction)?;
            }
            self.batches += 1;
            batch
        })
    }

    fn resume_token(&self) -> Option<RawDocumentBuf> {
        self.inner.resume_token()
    }
}
