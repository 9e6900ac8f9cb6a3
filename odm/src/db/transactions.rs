//! Several operations as one.

use std::sync::Arc;

use super::{Db, Executor};
use crate::backend::TransactionOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::transaction::{self, Guard, Tx};

impl Db {
    /// Whether this is a part of a transaction: a [`Tx`], or made of one.
    pub fn in_transaction(&self) -> bool {
        self.executor.guard.is_some()
    }

    /// Runs `body` in a transaction and commits it. After a conflict, both again, for up to 120 seconds, with
    /// growing pauses: so `body` may run several times, and only its last run's writes are kept.
    ///
    /// Write `body` as `async |tx| ..`, without `move`: it borrows what it needs from around it. The future is
    /// `Send` if what it holds is.
    ///
    /// When `body` gives an error, the transaction is aborted and the error is given. Inside a transaction
    /// (when this is a [`Tx`]), `body` becomes a part of that transaction, which alone commits and retries; if
    /// such a part fails, the whole can only be aborted.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # use odm::bson::doc;
    /// # let db = odm::Db::open("memory:").await?;
    /// # let books = db.raw_collection("books");
    /// # books.insert_many([doc! {"_id": 1, "available": 1}, doc! {"_id": 2, "available": 0}]).await?;
    /// db.transaction(async |tx| {
    ///     let books = tx.raw_collection("books");
    ///     books.update_one(doc! {"_id": 1}, doc! {"$inc": {"available": -1}}).await?;
    ///     books.update_one(doc! {"_id": 2}, doc! {"$inc": {"available": 1}}).await?;
    ///     Ok(())
    /// })
    /// .await?;
    /// assert_eq!(books.find(doc! {"available": 1}).await?, [doc! {"_id": 2, "available": 1}]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Cancel safety: dropping the future aborts the transaction, unless its commit was under way. Two round
    /// trips at the most beyond those of `body`.
    ///
    /// # Errors
    /// Those of `body` and of the commit; `Unsupported` when the backend has no transactions.
    pub async fn transaction<T, F, Fut>(&self, body: F) -> Result<T>
    where
        F: FnMut(Tx) -> Fut,
        Fut: Future<Output = Result<T>>,
    {
        transaction::run(self, TransactionOptions::default(), body).await
    }

    /// As [`transaction`](Db::transaction), with options and any type of error.
    ///
    /// # Errors
    /// As [`transaction`](Db::transaction).
    pub async fn transaction_with<T, E, F, Fut>(&self, options: TransactionOptions, body: F) -> Result<T, E>
    where
        F: FnMut(Tx) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        E: From<Error>,
    {
        transaction::run(self, options, body).await
    }

    /// Starts a transaction to be committed by hand. Prefer [`transaction`](Db::transaction), which retries.
    ///
    /// # Errors
    /// `Unsupported` when the backend has no transactions, `InvalidArgument` inside a transaction.
    pub async fn begin(&self) -> Result<Tx> {
        self.begin_with(TransactionOptions::default()).await
    }

    /// As [`begin`](Db::begin), with options.
    ///
    /// # Errors
    /// As [`begin`](Db::begin).
    pub async fn begin_with(&self, options: TransactionOptions) -> Result<Tx> {
        if self.executor.guard.is_some() {
            let text = "a transaction cannot be started inside a transaction";
            let error = Error::new(ErrorKind::InvalidArgument, text);
            return Err(self.explain(error, "startTransaction"));
        }
        let begun = self.executor.backend.begin(options).await;
        let transaction = begun.map_err(|error| self.explain(error, "startTransaction"))?;
        let guard = Arc::new(Guard::new(transaction.clone(), self.clone()));
        let executor = Executor {
            backend: transaction,
            guard: Some(guard.clone()),
            clock: self.executor.clock.clone(),
            tenancy: self.executor.tenancy.clone(),
        };
        Ok(Tx::new(
            Db {
                executor,
                name: self.name.clone(),
            },
            guard,
        ))
    }

    /// Runs an action once what was written so far is there for good: when the transaction is committed; at once,
    /// before this is ready, outside of one. When a transaction is run again, what its earlier runs asked for is
    /// forgotten. Actions run in their order, after the commit and before the transaction's own future is ready.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # let db = odm::Db::open("memory:").await?;
    /// db.transaction(async |tx| {
    ///     tx.raw_collection("orders").insert(odm::bson::doc! {"_id": 1}).await?;
    ///     tx.after_commit(async || println!("ordered")).await;
    ///     Ok(())
    /// })
    /// .await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Not run when the process ends before.
    pub async fn after_commit<F>(&self, action: impl FnOnce() -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        match &self.executor.guard {
            Some(guard) => guard.after_commit(Box::pin(action())),
            None => action().await,
        }
    }

    /// Runs an action if the transaction is rolled back in the end: it is aborted, fails, or cannot be committed.
    /// Never outside of a transaction, where nothing is rolled back, and not when a transaction is only dropped, or it is
    /// not known whether it was committed. What runs in [`transaction`](Db::transaction) is rolled back once it is not run
    /// again, also where it was aborted in it.
    ///
    /// An action that holds the transaction, or a collection of it, keeps one that is only dropped from being aborted at
    /// once: take the database that it was begun on.
    pub fn after_rollback<F>(&self, action: impl FnOnce() -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if let Some(guard) = &self.executor.guard {
            guard.after_rollback(Box::pin(action()));
        }
    }
}
