//! A backend that counts what operations cost: round trips, documents examined, documents written.

use std::sync::{Arc, Mutex, PoisonError};

use bson::{Bson, Document};
use futures_util::future::BoxFuture;
use odm::backend::{Backend, Capabilities, Explain, Operation, Response, Transaction, TransactionOptions};
use odm::{Db, Result};

/// What was done so far. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Cost(Arc<Mutex<Figures>>);

/// What some operations cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Queries: finds, aggregations, counts, distinct values.
    pub reads: u64,
    /// Operations that write.
    pub writes: u64,
    /// Documents that queries looked at, as `explain` tells; those within a transaction are not asked.
    pub examined: u64,
    /// Documents inserted, changed or deleted.
    pub written: u64,
}

impl Cost {
    /// What was done since this was last asked.
    pub fn take(&self) -> Figures {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Figures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Any backend, with its costs counted.
#[derive(Debug)]
pub struct Counted<B: ?Sized> {
    inner: Arc<B>,
    cost: Cost,
    in_transaction: bool,
}

/// The database with its costs counted.
pub fn counted(db: &Db) -> (Db, Cost) {
    let cost = Cost::default();
    let backend = Counted {
        inner: db.backend().clone(),
        cost: cost.clone(),
        in_transaction: false,
    };
    (Db::from_backend(Arc::new(backend), db.name().to_owned()), cost)
}

impl<B: Backend + ?Sized> Counted<B> {
    async fn run(&self, operation: Operation) -> Result<Response> {
        let is_query = matches!(
            operation,
            Operation::Find(_) | Operation::Aggregate(_) | Operation::Count(_) | Operation::Distinct(_)
        );
        if is_query {
            self.cost.lock().reads += 1;
            if !self.in_transaction {
                let explain = Operation::Explain(Explain {
                    operation: Box::new(operation.clone()),
                    execute: true,
                });
                if let Response::Document(Some(plan)) = self.inner.execute(explain).await? {
                    let plan = Document::try_from(plan).expect("a plan decodes");
                    self.cost.lock().examined += examined(&plan);
                }
            }
        } else if operation.is_write() {
            self.cost.lock().writes += 1;
        }
        let single = matches!(operation, Operation::FindAndModify(_));
        let response = self.inner.execute(operation).await?;
        let written = match &response {
            Response::Write(result) => {
                let summary = &result.summary;
                summary.inserted + summary.modified + summary.upserted + summary.deleted
            }
            Response::Document(Some(_)) if single => 1,
            _ => 0,
        };
        self.cost.lock().written += written;
        Ok(response)
    }
}

/// The sum over a plan's parts. A stage that looks documents up in another collection, or in the same, tells them
/// apart from those of its input.
fn examined(plan: &Document) -> u64 {
    let number = |value: &Bson| match value {
        Bson::Int32(number) => u64::try_from(*number).unwrap_or_default(),
        Bson::Int64(number) => u64::try_from(*number).unwrap_or_default(),
        _ => 0,
    };
    let within = |value: &Bson| match value {
        Bson::Document(part) => examined(part),
        Bson::Array(parts) => parts.iter().filter_map(Bson::as_document).map(examined).sum(),
        _ => 0,
    };
    plan.iter()
        .map(|(name, value)| match name.as_str() {
            "totalDocsExamined" => number(value),
            "allPlansExecution" => 0,
            _ => within(value),
        })
        .sum()
}

impl<B: Backend + ?Sized> Backend for Counted<B> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn execute(&self, operation: Operation) -> BoxFuture<'_, Result<Response>> {
        Box::pin(self.run(operation))
    }

    fn begin(&self, options: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>> {
        Box::pin(async move {
            let counted = Counted {
                inner: self.inner.begin(options).await?,
                cost: self.cost.clone(),
                in_transaction: true,
            };
            Ok(Arc::new(counted) as Arc<dyn Transaction>)
        })
    }
}

impl Transaction for Counted<dyn Transaction> {
    fn commit(&self) -> BoxFuture<'_, Result<()>> {
        self.inner.commit()
    }

    fn abort(&self) -> BoxFuture<'_, ()> {
        self.inner.abort()
    }
}
