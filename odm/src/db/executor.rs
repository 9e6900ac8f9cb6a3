//! What runs operations for a database: a backend, perhaps inside a transaction.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bson::{Bson, DateTime, RawBson, RawDocumentBuf};
use futures_core::future::BoxFuture;

use super::tenancy::Tenancy;
use crate::backend::{
    Backend, BackupReport, BatchCursor, CheckReport, CollectionStatistics, CompactReport, Operation,
    RepairReport, Response, StoreStatistics, WriteResult,
};
use crate::error::{Error, ErrorKind, PartialWrite, Result};
use crate::transaction::Guard;

/// A backend, with the guard of the transaction that the operations are part of, if they are.
#[derive(Clone)]
pub(crate) struct Executor {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) guard: Option<Arc<Guard>>,
    /// What time it is, if not the system's.
    pub(crate) clock: Option<Arc<dyn WallClock>>,
    /// Whose documents are shown.
    pub(crate) tenancy: Tenancy,
}

/// Says what time it is.
pub(crate) trait WallClock: Send + Sync {
    fn now(&self) -> DateTime;
}

impl<F: Fn() -> DateTime + Send + Sync> WallClock for F {
    fn now(&self) -> DateTime {
        self()
    }
}

impl Executor {
    /// Executes one operation unless the transaction is over.
    ///
    /// Not an `async fn`: the future of such a one would keep room for the operation, which is large.
    pub(crate) fn execute(&self, operation: Operation) -> Executing<'_> {
        let name = operation.name();
        let state = self.check_running().map(|()| self.backend.execute(operation));
        Executing {
            executor: self,
            operation: name,
            state: state.map_err(Some),
        }
    }

    /// An operation that is not executed, because of an error.
    pub(crate) fn refuse(&self, operation: &'static str, error: Error) -> Executing<'_> {
        Executing {
            executor: self,
            operation,
            state: Err(Some(error)),
        }
    }

    /// The answer that the backend would give to a write with this outcome.
    pub(crate) fn answer(&self, operation: &'static str, result: WriteResult) -> Answer {
        Answer {
            response: Response::Write(result),
            operation,
            backend: self.backend.name(),
        }
    }

    /// What time it is.
    pub(crate) fn now(&self) -> DateTime {
        self.clock
            .as_ref()
            .map_or_else(DateTime::now, |clock| clock.now())
    }

    /// An error when the transaction is over.
    pub(crate) fn check_running(&self) -> Result<()> {
        match &self.guard {
            Some(guard) => guard.check_running(),
            None => Ok(()),
        }
    }

    /// A transaction in which a write failed is over, as it is on the server.
    fn check(&self, response: &Response) {
        if let (Some(guard), Response::Write(result)) = (&self.guard, response)
            && let Some((_, error)) = result.errors.first()
        {
            guard.fail(error.clone());
        }
    }

    /// The same; an error that only says that the transaction is over gets what ended it as its source.
    fn noticed(&self, error: Error) -> Error {
        self.notice(&error);
        match &self.guard {
            Some(guard) => guard.explained(error),
            None => error,
        }
    }

    /// Tells the transaction's guard of an error, so that it knows whether running it again may help.
    pub(crate) fn notice(&self, error: &Error) {
        if let Some(guard) = &self.guard {
            guard.notice(error);
        }
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor")
            .field("backend", &self.backend.name())
            .field("transaction", &self.guard.is_some())
            .finish()
    }
}

/// An operation under way.
#[must_use]
pub(crate) struct Executing<'a> {
    executor: &'a Executor,
    operation: &'static str,
    state: Result<BoxFuture<'a, Result<Response>>, Option<Error>>,
}

impl Future for Executing<'_> {
    type Output = Result<Answer>;

    fn poll(mut self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<Result<Answer>> {
        let (executor, operation) = (self.executor, self.operation);
        match &mut self.state {
            Ok(response) => {
                let response = ready!(response.as_mut().poll(ctx));
                let response = response.map_err(|error| executor.noticed(error))?;
                executor.check(&response);
                let backend = executor.backend.name();
                Poll::Ready(Ok(Answer {
                    response,
                    operation,
                    backend,
                }))
            }
            // Polled again after its error, it is as good as never ready.
            Err(error) => error
                .take()
                .map_or(Poll::Pending, |error| Poll::Ready(Err(error))),
        }
    }
}

/// A backend's response, to be taken apart by the one shape that its operation answers with.
#[derive(Debug)]
pub(crate) struct Answer {
    response: Response,
    operation: &'static str,
    backend: &'static str,
}

impl Answer {
    pub(crate) fn done(self) -> Result<()> {
        match self.response {
            Response::Done => Ok(()),
            other => Err(unexpected(self.operation, self.backend, &other)),
        }
    }

    /// The same; failures of its only write say which document that is.
    pub(crate) fn of_document(mut self, id: Option<&RawBson>) -> Answer {
        if let Response::Write(result) = &mut self.response {
            for (_, error) in &mut result.errors {
                *error = error.clone().of_document(id);
            }
        }
        self
    }

    /// The same; that a write concern was not met is told so.
    pub(crate) fn with_concern(mut self, tell: impl FnOnce(Error) -> Error) -> Answer {
        if let Response::Write(result) = &mut self.response {
            result.concern = result.concern.take().map(tell);
        }
        self
    }

    /// The outcome, if it is that of writes.
    pub(crate) fn as_write(&self) -> Option<&WriteResult> {
        match &self.response {
            Response::Write(result) => Some(result),
            _ => None,
        }
    }

    /// Whether it is a document that was not there.
    pub(crate) fn is_no_document(&self) -> bool {
        matches!(self.response, Response::Document(None))
    }

    /// The same with another outcome.
    pub(crate) fn with_write(self, result: WriteResult) -> Answer {
        Answer {
            response: Response::Write(result),
            ..self
        }
    }

    /// The document, if it is one that was there.
    pub(crate) fn as_document(&self) -> Option<&RawDocumentBuf> {
        match &self.response {
            Response::Document(document) => document.as_ref(),
            _ => None,
        }
    }

    /// The same with another document.
    pub(crate) fn with_document(self, document: Option<RawDocumentBuf>) -> Answer {
        Answer {
            response: Response::Document(document),
            ..self
        }
    }

    /// The outcome of writes, where their write concern was met; else that error, with what they did, unless one of them
    /// failed by itself.
    pub(crate) fn write(self) -> Result<WriteResult> {
        let result = self.outcome()?;
        if !result.errors.is_empty() || result.concern.is_none() {
            return Ok(result);
        }
        Err(Error::of_batch(PartialWrite {
            summary: result.summary,
            inserted: Vec::new(),
            upserted: upserted(&result),
            errors: Vec::new(),
            concern: result.concern,
        }))
    }

    /// The same, whether or not the write concern was met.
    pub(crate) fn outcome(self) -> Result<WriteResult> {
        match self.response {
            Response::Write(result) => Ok(result),
            other => Err(unexpected(self.operation, self.backend, &other)),
        }
    }

    pub(crate) fn cursor(self) -> Result<Box<dyn BatchCursor>> {
        match self.response {
            Response::Cursor(cursor) => Ok(cursor),
            other => Err(unexpected(self.operation, self.backend, &other)),
        }
    }

    pub(crate) fn document(self) -> Result<Option<RawDocumentBuf>> {
        match self.response {
            Response::Document(document) => Ok(document),
            other => Err(unexpected(self.operation, self.backend, &other)),
        }
    }

    pub(crate) fn documents(self) -> Result<Vec<RawDocumentBuf>> {
        match self.response {
            Response::Documents(documents) => Ok(documents),
            other => Err(unexpected(self.operation, self.backend, &other)),
        }
    }

    pub(crate) fn count(self) -> Result<u64> {
        match self.response {
            Response::Count(count) => Ok(count),
            other => Err(unexpected(self.operation, self.backend, &other)),
        }
    }

    pub(crate) fn values(self) -> Result<Vec<RawBson>> {
        match self.response {
            Response::Values(values) => Ok(values),
            other => Err(unexpected(self.operation, self.backend, &other)),
        }
    }

    pub(crate) fn statistics(self) -> Result<CollectionStatistics> {
        match self.response {
            Response::Statistics(statistics) => Ok(statistics),
            other => Err(unexpected(self.operation, self.backend, &other)),
        }
    }

    pub(crate) fn check(self) -> Result<CheckReport> {
        match self.response {
            Response::Check(report) => Ok(report),
            other => Err(unexpected(self.operation, self.backend, &other)),
        }
    }

    pub(crate) fn repair(self) -> Result<RepairReport> {
        match self.response {
            Response::Repair(report) => Ok(report),
            other => Err(unexpected(self.operation, self.backend, &other)),
        }
    }

    pub(crate) fn backup(self) -> Result<BackupReport> {
        match self.response {
            Response::Backup(report) => Ok(report),
            other => Err(unexpected(self.operation, self.backend, &other)),
        }
    }

    pub(crate) fn compact(self) -> Result<CompactReport> {
        match self.response {
            Response::Compact(report) => Ok(report),
            other => Err(unexpected(self.operation, self.backend, &other)),
        }
    }

    pub(crate) fn store(self) -> Result<StoreStatistics> {
        match self.response {
            Response::Store(statistics) => Ok(*statistics),
            other => Err(unexpected(self.operation, self.backend, &other)),
        }
    }
}

/// The `_id` of each upserted document that can be read.
pub(crate) fn upserted(result: &WriteResult) -> Vec<(usize, Bson)> {
    let upserted = result.upserted.iter();
    upserted
        .filter_map(|(index, id)| Some((*index, Bson::try_from(id.clone()).ok()?)))
        .collect()
}

fn unexpected(operation: &'static str, backend: &'static str, response: &Response) -> Error {
    let shape = match response {
        Response::Done => "nothing",
        Response::Write(_) => "a write's outcome",
        Response::Cursor(_) => "a cursor",
        Response::Document(_) => "a document",
        Response::Documents(_) => "documents",
        Response::Count(_) => "a count",
        Response::Values(_) => "values",
        Response::Statistics(_) => "statistics",
        Response::Check(_) => "a check's report",
        Response::Repair(_) => "a repair's report",
        Response::Backup(_) => "a backup's report",
        Response::Compact(_) => "a compaction's report",
        Response::Store(_) => "figures of a store",
    };
    Error::new(
        ErrorKind::Server,
        format!("the backend broke its contract: it answered with {shape}"),
    )
    .with_operation(operation)
    .with_backend(backend)
}
