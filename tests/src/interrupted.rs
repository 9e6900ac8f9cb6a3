//! A backend in which something else happens at a chosen moment.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use odm::backend::{Backend, Capabilities, Operation, Response, Transaction, TransactionOptions};
use odm::{Db, Result};

/// Something that is done once, before the nth operation outside of transactions; the begin of one counts.
#[derive(Clone)]
pub struct Moment(Arc<Mutex<Pending>>);

struct Pending {
    left: u64,
    action: Option<BoxFuture<'static, ()>>,
}

impl Moment {
    /// Whether it came.
    pub fn has_come(&self) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .action
            .is_none()
    }

    fn next(&self) -> Option<BoxFuture<'static, ()>> {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pending.left = pending.left.saturating_sub(1);
        match pending.left {
            0 => pending.action.take(),
            _ => None,
        }
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Moment").field(&self.has_come()).finish()
    }
}

/// Any backend, interrupted.
#[derive(Debug)]
pub struct Interrupted {
    inner: Arc<dyn Backend>,
    moment: Moment,
}

/// The database in which `action` is done before the `nth` operation, counted from 1.
pub fn interrupted(db: &Db, nth: u64, action: impl Future<Output = ()> + Send + 'static) -> (Db, Moment) {
    let moment = Moment(Arc::new(Mutex::new(Pending {
        left: nth,
        action: Some(Box::pin(action)),
    })));
    let backend = Interrupted {
        inner: db.backend().clone(),
        moment: moment.clone(),
    };
    (Db::from_backend(Arc::new(backend), db.name().to_owned()), moment)
}

impl Backend for Interrupted {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn execute(&self, operation: Operation) -> BoxFuture<'_, Result<Response>> {
        Box::pin(async move {
            if let Some(action) = self.moment.next() {
                action.await;
            }
            self.inner.execute(operation).await
        })
    }

    fn begin(&self, options: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>> {
        Box::pin(async move {
            if let Some(action) = self.moment.next() {
                action.await;
            }
            self.inner.begin(options).await
        })
    }
}
