//! The same database through another handle.

use std::sync::Arc;

use futures_core::future::BoxFuture;

use super::{Db, Executor};
use crate::backend::{
    Backend, Capabilities, Concerns, Operation, Response, Session, Transaction, TransactionOptions,
};
use crate::error::{Error, ErrorKind, Result};

impl Db {
    /// This database through another handle of the same server or engine, whichever of its databases that is: in its
    /// transaction, with its clock, its log, its tenant. For what keeps a handle, and is to take part in a caller's
    /// transaction. No round trip.
    ///
    /// Of another engine, and in a transaction of another connection, all that is asked of it is `InvalidArgument`, with the
    /// names of both databases.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # use odm::bson::doc;
    /// let db = odm::Db::open("memory:?database=mails").await?;
    /// let shop = db.database("shop")?;
    /// shop.transaction(async |tx| {
    ///     tx.raw_collection("orders").insert(doc! {"_id": 1}).await?;
    ///     db.through(&tx).raw_collection("letters").insert(doc! {"_id": 1}).await
    /// })
    /// .await?;
    /// assert_eq!(db.raw_collection("letters").count(doc! {}).await?, 1);
    ///
    /// let other = odm::Db::open("memory:").await?;
    /// let error = db.through(&other).raw_collection("letters").count(doc! {}).await.unwrap_err();
    /// assert!(error.to_string().contains("database: mails, handle: main"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn through(&self, handle: &Db) -> Db {
        let through = Db {
            executor: handle.executor.clone(),
            name: self.name.clone(),
        };
        match self.can_go_through(handle) {
            true => through,
            false => {
                let text = "the handle is of another server or engine, or its transaction of another connection to it";
                let error = Error::new(ErrorKind::InvalidArgument, text)
                    .with_note("database", &self.name)
                    .with_note("handle", &handle.name);
                let refused = Refused {
                    backend: handle.executor.backend.clone(),
                    error,
                };
                Db {
                    executor: Executor {
                        backend: Arc::new(refused),
                        guard: None,
                        ..through.executor
                    },
                    ..through
                }
            }
        }
    }

    /// Whether what is done by both takes effect together: as parts of one transaction, or of none. No round trip.
    pub fn shares_transaction(&self, other: &Db) -> bool {
        match (&self.executor.guard, &other.executor.guard) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        }
    }

    fn can_go_through(&self, handle: &Db) -> bool {
        let (own, others) = (&self.executor.backend, &handle.executor.backend);
        if own.name() != others.name() {
            return false;
        }
        match (own.connection(), others.connection()) {
            // An engine is opened once. A server has any number of connections.
            (Some(own_connection), Some(other)) => {
                Arc::ptr_eq(&own_connection, &other) || (own.name() == "mongodb" && !handle.in_transaction())
            }
            _ => true,
        }
    }
}

/// Gives one error, whatever is asked.
#[derive(Debug)]
struct Refused {
    backend: Arc<dyn Backend>,
    error: Error,
}

impl Refused {
    fn error<T: Send + 'static>(&self) -> BoxFuture<'_, Result<T>> {
        Box::pin(std::future::ready(Err(self.error.clone())))
    }
}

impl Backend for Refused {
    fn name(&self) -> &'static str {
        self.backend.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.backend.capabilities()
    }

    fn execute(&self, _: Operation) -> BoxFuture<'_, Result<Response>> {
        self.error()
    }

    fn concerned(&self, _: Concerns) -> Result<Option<Arc<dyn Backend>>> {
        Ok(None)
    }

    fn session(&self) -> BoxFuture<'_, Result<Option<Arc<dyn Session>>>> {
        self.error()
    }

    fn snapshot<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Backend>>>> {
        self.error()
    }

    fn begin(&self, _: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>> {
        self.error()
    }
}
