//! A backend that lets operations through one at a time.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use futures_util::future::BoxFuture;
use odm::backend::{Backend, Capabilities, Operation, Response, Transaction, TransactionOptions};
use odm::{Error, Result};

#[derive(Default)]
pub(super) struct Gate {
    waits: AtomicBool,
    open: AtomicBool,
    /// An operation is under way: it may wait for the other one.
    inside: AtomicBool,
    /// What is waited for begins a transaction.
    begins: AtomicBool,
    /// A transaction is open, which others may wait for.
    holds: AtomicBool,
    /// The last transaction met what the other one wrote, who has not done anything since: it would meet it again.
    in_vain: AtomicBool,
}

impl Gate {
    /// Whether somebody stands before an operation.
    pub(super) fn is_waited_at(&self) -> bool {
        self.waits.load(Ordering::SeqCst)
    }

    /// Lets one operation through.
    pub(super) fn open(&self) {
        self.waits.store(false, Ordering::SeqCst);
        self.open.store(true, Ordering::SeqCst);
    }

    /// Whether what is waited for can only fail again until the other one goes on.
    pub(super) fn is_in_vain(&self) -> bool {
        self.begins.load(Ordering::SeqCst) && self.in_vain.load(Ordering::SeqCst)
    }

    /// The other one went on.
    pub(super) fn hope(&self) {
        self.in_vain.store(false, Ordering::SeqCst);
    }

    /// Whether nothing is asked: who is not done pauses before another try.
    pub(super) fn is_idle(&self) -> bool {
        !self.is_waited_at() && !self.inside.load(Ordering::SeqCst)
    }

    /// Whether an operation is under way.
    pub(super) fn is_inside(&self) -> bool {
        self.inside.load(Ordering::SeqCst)
    }

    /// Whether the other one may have to wait for this one.
    pub(super) fn holds(&self) -> bool {
        self.holds.load(Ordering::SeqCst)
    }

    fn note<T>(&self, result: Result<T>) -> Result<T> {
        self.inside.store(false, Ordering::SeqCst);
        let conflict = result.as_ref().is_err_and(Error::is_conflict);
        self.in_vain.fetch_or(conflict, Ordering::SeqCst);
        result
    }

    async fn pass(&self, begins: bool) {
        std::future::poll_fn(|_| {
            self.begins.store(begins, Ordering::SeqCst);
            let is_open = self.open.swap(false, Ordering::SeqCst);
            self.waits.store(!is_open, Ordering::SeqCst);
            self.inside.store(is_open, Ordering::SeqCst);
            match is_open {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }
}

/// `inner` behind a gate: a backend, or one of its transactions.
pub(super) struct Gated<B: ?Sized> {
    inner: Arc<B>,
    gate: Arc<Gate>,
}

impl<B: ?Sized> Gated<B> {
    pub(super) fn new(inner: Arc<B>, gate: Arc<Gate>) -> Gated<B> {
        Gated { inner, gate }
    }
}

impl<B: ?Sized> fmt::Debug for Gated<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gated")
    }
}

impl<B: Backend + ?Sized> Backend for Gated<B> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn execute(&self, operation: Operation) -> BoxFuture<'_, Result<Response>> {
        Box::pin(async move {
            self.gate.pass(false).await;
            self.gate.note(self.inner.execute(operation).await)
        })
    }

    fn begin(&self, options: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>> {
        Box::pin(async move {
            self.gate.pass(true).await;
            let transaction = self.gate.note(self.inner.begin(options).await)?;
            self.gate.holds.store(true, Ordering::SeqCst);
            let gated: Arc<dyn Transaction> = Arc::new(Gated::new(transaction, self.gate.clone()));
            Ok(gated)
        })
    }
}

impl Transaction for Gated<dyn Transaction> {
    fn commit(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.gate.pass(false).await;
            let committed = self.inner.commit().await;
            self.gate.holds.store(false, Ordering::SeqCst);
            self.gate.note(committed)
        })
    }

    fn abort(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.gate.pass(false).await;
            self.inner.abort().await;
            self.gate.holds.store(false, Ordering::SeqCst);
            self.gate.inside.store(false, Ordering::SeqCst);
        })
    }
}
