//! A backend without transactions, for what is promised where there are none.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use odm::backend::{Backend, Capabilities, Operation, Response, Transaction, TransactionOptions};
use odm::{Db, Error, ErrorKind, Result};

/// Any backend, without its transactions.
#[derive(Debug)]
pub struct Plain(Arc<dyn Backend>);

impl Plain {
    /// The database without transactions.
    pub fn db(db: &Db) -> Db {
        Db::from_backend(Arc::new(Plain(db.backend().clone())), db.name().to_owned())
    }
}

impl Backend for Plain {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = self.0.capabilities();
        capabilities.transactions = false;
        capabilities
    }

    fn execute(&self, operation: Operation) -> BoxFuture<'_, Result<Response>> {
        self.0.execute(operation)
    }

    fn begin(&self, _options: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>> {
        Box::pin(async {
            let text = "this backend has no transactions";
            Err(Error::new(ErrorKind::Unsupported, text))
        })
    }
}
