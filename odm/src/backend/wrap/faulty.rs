//! Failures on demand.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_core::future::BoxFuture;

use crate::backend::{Backend, Capabilities, Operation, Response, Transaction, TransactionOptions};
use crate::error::{Error, ErrorKind, Result};

/// When a [`Faulty`] backend fails. Build it from what it counts, then say how it fails.
///
/// ```
/// # use odm::backend::wrap::Fault;
/// # use odm::{Error, ErrorKind};
/// let lost_reply = Fault::nth_write(2).after(Error::new(ErrorKind::Network, "connection reset"));
/// let crash = Fault::nth_write(3).crash();
/// # let _ = (lost_reply, crash);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Fault {
    counted: Counted,
    nth: u64,
    times: u64,
    moment: Moment,
    error: Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    Operations,
    Writes,
    Named(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    Before,
    After,
}

impl Fault {
    /// At the `nth` operation from now, counted from 1.
    pub fn nth_operation(nth: u64) -> Fault {
        Fault::counting(Counted::Operations, nth)
    }

    /// At the `nth` write from now, counted from 1. A commit counts as a write, an abort does not.
    pub fn nth_write(nth: u64) -> Fault {
        Fault::counting(Counted::Writes, nth)
    }

    /// At the `nth` operation of this name from now, in MongoDB's vocabulary; `startTransaction` and
    /// `commitTransaction` are names too.
    pub fn nth(operation: &'static str, nth: u64) -> Fault {
        Fault::counting(Counted::Named(operation), nth)
    }

    fn counting(counted: Counted, nth: u64) -> Fault {
        Fault {
            counted,
            nth,
            times: 1,
            moment: Moment::Before,
            error: Error::new(ErrorKind::Network, "the connection was lost (injected)"),
        }
    }

    /// Fails with this error and without executing: nothing happened.
    pub fn before(self, error: Error) -> Fault {
        Fault {
            moment: Moment::Before,
            error,
            ..self
        }
    }

    /// Executes and then fails with this error: it happened, but the caller does not know.
    pub fn after(self, error: Error) -> Fault {
        Fault {
            moment: Moment::After,
            error,
            ..self
        }
    }

    /// Fails this many times in a row. 1 unless said otherwise.
    pub fn times(self, times: u64) -> Fault {
        Fault { times, ..self }
    }

    /// Fails from here on, as if the process had died before the operation was executed.
    pub fn crash(self) -> Fault {
        Fault {
            times: u64::MAX,
            ..self
        }
    }
}

/// The failures planned for a [`Faulty`] backend, and how many operations it saw. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<Mutex<Plan>>);

#[derive(Debug, Default)]
struct Plan {
    armed: Vec<Armed>,
    operations: u64,
    writes: u64,
    failures: u64,
}

#[derive(Debug)]
struct Armed {
    fault: Fault,
    seen: u64,
}

impl Faults {
    /// Plans a failure; it counts from now on.
    pub fn add(&self, fault: Fault) {
        self.lock().armed.push(Armed { fault, seen: 0 });
    }

    /// Forgets the failures that were planned: from now on all goes well.
    pub fn clear(&self) {
        self.lock().armed.clear();
    }

    /// How many operations were asked, with begins and commits.
    pub fn operations(&self) -> u64 {
        self.lock().operations
    }

    /// How many writes were asked, with commits.
    pub fn writes(&self) -> u64 {
        self.lock().writes
    }

    /// How many operations were made to fail.
    pub fn failures(&self) -> u64 {
        self.lock().failures
    }

    fn meet(&self, operation: &'static str, is_write: bool) -> Option<(Moment, Error)> {
        let mut plan = self.lock();
        plan.operations += 1;
        plan.writes += u64::from(is_write);
        let mut hit = None;
        for armed in &mut plan.armed {
            let counts = match armed.fault.counted {
                Counted::Operations => true,
                Counted::Writes => is_write,
                Counted::Named(name) => name == operation,
            };
            if !counts {
                continue;
            }
            armed.seen += 1;
            let first = armed.fault.nth.max(1);
            if armed.seen >= first && armed.seen - first < armed.fault.times && hit.is_none() {
                hit = Some((armed.fault.moment, armed.fault.error.clone()));
            }
        }
        plan.failures += u64::from(hit.is_some());
        hit
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Plan> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A backend that fails where it is told to.
pub struct Faulty<B: ?Sized> {
    inner: Arc<B>,
    faults: Faults,
}

impl<B: ?Sized> Faulty<B> {
    /// Makes `inner` fail as `faults` plans.
    pub fn new(inner: Arc<B>, faults: Faults) -> Faulty<B> {
        Faulty { inner, faults }
    }

    fn around<I: ?Sized>(&self, inner: Arc<I>) -> Faulty<I> {
        Faulty::new(inner, self.faults.clone())
    }

    /// Runs `action` unless a failure is due before it, and hides its success when one is due after it.
    async fn run<T>(
        &self,
        operation: &'static str,
        is_write: bool,
        action: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        match self.faults.meet(operation, is_write) {
            None => action.await,
            Some((Moment::Before, error)) => Err(error),
            Some((Moment::After, error)) => {
                action.await?;
                Err(error)
            }
        }
    }
}

impl<B: Backend + ?Sized> Backend for Faulty<B> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn execute(&self, operation: Operation) -> BoxFuture<'_, Result<Response>> {
        let (name, is_write) = (operation.name(), operation.is_write());
        Box::pin(self.run(name, is_write, async { self.inner.execute(operation).await }))
    }

    super::passes_on!();

    fn begin(&self, options: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>> {
        Box::pin(async move {
            let begin = async { self.inner.begin(options).await };
            let inner = self.run("startTransaction", false, begin).await?;
            Ok(Arc::new(self.around(inner)) as Arc<dyn Transaction>)
        })
    }

    fn parts(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.inner.parts()
    }
}

super::session_around!(Faulty);

impl Transaction for Faulty<dyn Transaction> {
    fn commit(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.run("commitTransaction", true, async { self.inner.commit().await }))
    }

    fn abort(&self) -> BoxFuture<'_, ()> {
        self.inner.abort()
    }
}

impl<B: Backend + ?Sized> fmt::Debug for Faulty<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Faulty").field(&&*self.inner).finish()
    }
}
