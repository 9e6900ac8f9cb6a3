//! Where an action goes, and what its errors say of it.

use std::fmt;
use std::sync::Arc;

use futures_util::future::Either;

use super::record::Record;
use crate::backend::{Namespace, Operation};
use crate::db::{Answer, Db, Executor, check_database_name};
use crate::error::{Error, Result};
use crate::lifecycle::{self, Plan, Settings};

/// A collection without its type: all that an action needs to run. One allocation, shared by clones.
#[derive(Clone)]
pub(crate) struct Target(Arc<Inner>);

struct Inner {
    executor: Executor,
    namespace: Namespace,
    model: Option<&'static str>,
    plan: Option<&'static Plan>,
    failure: Option<Error>,
}

impl Target {
    /// A collection of a record type; a wrong declaration of the model is kept for the actions.
    pub(crate) fn of<D: Record>(db: &Db, name: &str) -> Target {
        Target::new(db, name, D::MODEL, D::plan(), D::verify().err())
    }

    pub(crate) fn untyped(db: &Db, name: &str) -> Target {
        Target::new(db, name, None, None, None)
    }

    fn new(
        db: &Db,
        name: &str,
        model: Option<&'static str>,
        plan: Option<&'static Plan>,
        failure: Option<Error>,
    ) -> Target {
        let namespace = Namespace {
            database: db.name().into(),
            collection: name.into(),
        };
        Target(Arc::new(Inner {
            executor: db.executor().clone(),
            namespace,
            model,
            plan,
            failure,
        }))
    }

    /// The same collection in a transaction.
    pub(crate) fn within(&self, executor: &Executor) -> Target {
        let inner = &*self.0;
        Target(Arc::new(Inner {
            executor: executor.clone(),
            namespace: inner.namespace.clone(),
            model: inner.model,
            plan: inner.plan,
            failure: inner.failure.clone(),
        }))
    }

    /// The same collection without its model.
    pub(crate) fn without_model(&self) -> Target {
        let inner = &*self.0;
        Target(Arc::new(Inner {
            executor: inner.executor.clone(),
            namespace: inner.namespace.clone(),
            model: None,
            plan: None,
            failure: None,
        }))
    }

    /// The same collection with another model.
    pub(crate) fn as_model<D: Record>(&self) -> Target {
        let inner = &*self.0;
        Target(Arc::new(Inner {
            executor: inner.executor.clone(),
            namespace: inner.namespace.clone(),
            model: D::MODEL,
            plan: D::plan(),
            failure: D::verify().err().or_else(|| inner.failure.clone()),
        }))
    }

    /// Another collection of the same server or engine, in the same transaction.
    ///
    /// # Errors
    /// `InvalidArgument` for a database's name that cannot be one; a wrong declaration of the model.
    pub(crate) fn sibling<D: Record>(&self, database: Option<&str>, collection: &str) -> Result<Target> {
        let inner = &*self.0;
        D::verify()?;
        let mut namespace = inner.namespace.clone();
        if let Some(database) = database {
            check_database_name(database)?;
            namespace.database = database.to_owned();
        }
        namespace.collection = collection.to_owned();
        Ok(Target(Arc::new(Inner {
            executor: inner.executor.clone(),
            namespace,
            model: D::MODEL,
            plan: D::plan(),
            failure: None,
        })))
    }

    pub(crate) fn namespace(&self) -> &Namespace {
        &self.0.namespace
    }

    /// What makes every action fail: the model's declaration is wrong.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.0.failure.clone()
    }

    pub(crate) fn executor(&self) -> &Executor {
        &self.0.executor
    }

    /// Executes an operation; errors say where they come from.
    pub(crate) fn execute(&self, operation: Operation) -> impl Future<Output = Result<Answer>> + Send + '_ {
        let name = operation.name();
        let id = operation.written_id();
        let executing = self.0.executor.execute(operation);
        async move {
            match executing.await {
                Ok(answer) => Ok(answer.of_document(id.as_ref())),
                Err(error) => Err(self.explain(error.of_document(id.as_ref()), name)),
            }
        }
    }

    /// What writes go through; none where the model declares nothing.
    pub(crate) fn plan(&self) -> Option<&'static Plan> {
        self.0.plan
    }

    /// The database that the collection was taken from.
    pub(crate) fn db(&self) -> Db {
        Db::of(self.0.executor.clone(), self.namespace().database.as_str())
    }

    /// Executes a write with all that the model declares of it.
    pub(crate) fn write(
        &self,
        operation: Operation,
        settings: Settings,
    ) -> impl Future<Output = Result<Answer>> + Send + '_ {
        match self.0.plan.filter(|plan| plan.concerns(&operation)) {
            None => Either::Left(self.execute(match self.0.model {
                Some(_) => operation.with_any_names(),
                None => operation,
            })),
            Some(plan) => Either::Right(lifecycle::write(plan, self, operation, settings)),
        }
    }

    /// Adds to an error what it does not say yet: backend, operation, model and collection.
    pub(crate) fn explain(&self, error: Error, operation: &'static str) -> Error {
        let backend = self.0.executor.backend.name();
        error.within(backend, operation, self.0.model, || {
            let namespace = &self.0.namespace;
            Some(match namespace.collection.as_str() {
                "" => namespace.database.clone(),
                _ => namespace.to_string(),
            })
        })
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("namespace", &format_args!("{}", self.0.namespace))
            .field("model", &self.0.model)
            .field("executor", &self.0.executor)
            .finish()
    }
}
