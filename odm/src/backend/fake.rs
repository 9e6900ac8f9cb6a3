//! A backend for unit tests that answers what it is told to.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use bson::{Document, RawDocument, RawDocumentBuf};
use futures_core::future::BoxFuture;

use super::{
    Backend, Batch, BatchCursor, Capabilities, Operation, Response, Transaction, TransactionOptions,
    WriteResult, WriteSummary,
};
use crate::db::Db;
use crate::error::{Error, ErrorKind, Result};

/// Answers operations with scripted responses, in order, and keeps the operations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fake(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    script: VecDeque<Result<Response>>,
    asked: Vec<Operation>,
    commits: VecDeque<Result<()>>,
    begun: usize,
    committed: usize,
    aborted: usize,
}

impl Fake {
    pub(crate) fn db(&self) -> Db {
        Db::from_backend(Arc::new(self.clone()), "test")
    }

    pub(crate) fn answer(&self, response: Response) -> &Fake {
        self.0.lock().unwrap().script.push_back(Ok(response));
        self
    }

    pub(crate) fn fail(&self, error: Error) -> &Fake {
        self.0.lock().unwrap().script.push_back(Err(error));
        self
    }

    /// A cursor of these batches.
    pub(crate) fn batches<const N: usize>(&self, batches: [Vec<Document>; N]) -> &Fake {
        let batches = batches.map(|batch| {
            batch
                .iter()
                .map(|d| RawDocumentBuf::try_from(d).unwrap())
                .collect()
        });
        self.answer(Response::Cursor(Box::new(FakeCursor {
            batches: VecDeque::from(batches.map(Ok)),
        })))
    }

    /// A cursor of one batch, which has one more document, behind these, that cannot be read.
    pub(crate) fn unreadable_behind(&self, batch: &[Document]) -> &Fake {
        let batch = batch.iter().map(|d| RawDocumentBuf::try_from(d).unwrap());
        self.answer(Response::Cursor(Box::new(DamagedCursor(Some(Damaged(
            batch.collect(),
        ))))))
    }

    /// A cursor of one batch and then an error.
    pub(crate) fn batch_then(&self, batch: Vec<Document>, error: Error) -> &Fake {
        let batch = batch
            .iter()
            .map(|document| RawDocumentBuf::try_from(document).unwrap())
            .collect();
        self.answer(Response::Cursor(Box::new(FakeCursor {
            batches: VecDeque::from([Ok(batch), Err(error)]),
        })))
    }

    pub(crate) fn written(&self, change: impl FnOnce(&mut WriteSummary)) -> &Fake {
        let mut result = WriteResult::default();
        change(&mut result.summary);
        self.answer(Response::Write(result))
    }

    pub(crate) fn commit_answers(&self, result: Result<()>) -> &Fake {
        self.0.lock().unwrap().commits.push_back(result);
        self
    }

    /// The operations asked so far.
    pub(crate) fn asked(&self) -> Vec<Operation> {
        self.0.lock().unwrap().asked.clone()
    }

    /// The last operation, which must be there.
    pub(crate) fn last(&self) -> Operation {
        self.asked().pop().expect("nothing was asked")
    }

    /// How many transactions began, were committed, were aborted.
    pub(crate) fn transactions(&self) -> (usize, usize, usize) {
        let state = self.0.lock().unwrap();
        (state.begun, state.committed, state.aborted)
    }
}

impl Backend for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::minimal()
    }

    fn execute(&self, operation: Operation) -> BoxFuture<'_, Result<Response>> {
        Box::pin(async move {
            // Pending once, so that nothing relies on being ready at the first poll.
            let mut polled = false;
            std::future::poll_fn(|ctx| {
                if std::mem::replace(&mut polled, true) {
                    return Poll::Ready(());
                }
                ctx.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
            let mut state = self.0.lock().unwrap();
            state.asked.push(operation);
            let answer = state.script.pop_front();
            answer.unwrap_or_else(|| Err(Error::new(ErrorKind::Server, "the script is at its end")))
        })
    }

    fn begin(&self, _options: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>> {
        self.0.lock().unwrap().begun += 1;
        Box::pin(async move { Ok(Arc::new(self.clone()) as Arc<dyn Transaction>) })
    }
}

impl Transaction for Fake {
    fn commit(&self) -> BoxFuture<'_, Result<()>> {
        let mut state = self.0.lock().unwrap();
        let result = state.commits.pop_front().unwrap_or(Ok(()));
        state.committed += usize::from(result.is_ok());
        Box::pin(async move { result })
    }

    fn abort(&self) -> BoxFuture<'_, ()> {
        self.0.lock().unwrap().aborted += 1;
        Box::pin(async {})
    }
}

#[derive(Debug)]
struct FakeCursor {
    batches: VecDeque<Result<Vec<RawDocumentBuf>>>,
}

impl BatchCursor for FakeCursor {
    fn next_batch(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Batch>>>> {
        let batch = self.batches.pop_front().transpose();
        Box::pin(async move { Ok(batch?.map(|batch| Box::new(batch) as Box<dyn Batch>)) })
    }
}

/// A batch whose last document cannot be read.
#[derive(Debug)]
struct Damaged(Vec<RawDocumentBuf>);

impl Batch for Damaged {
    fn len(&self) -> usize {
        self.0.len() + 1
    }

    fn get(&self, index: usize) -> Option<&RawDocument> {
        self.0.get(index).map(AsRef::as_ref)
    }
}

#[derive(Debug)]
struct DamagedCursor(Option<Damaged>);

impl BatchCursor for DamagedCursor {
    fn next_batch(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Batch>>>> {
        let batch = self.0.take();
        Box::pin(async move { Ok(batch.map(|batch| Box::new(batch) as Box<dyn Batch>)) })
    }
}

/// Runs a future on this thread.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut ctx = Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut ctx) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}
