//! Where an action goes, and what its errors say of it.

use std::fmt;
use std::sync::Arc;

use futures_util::future::Either;

use super::record::Record;
use crate::backend::{Namespace, Operation};
use crate::db::{Answer, Db, Executor, check_database_name};
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::{self, Confinement, Plan, Settings, Tenant};
use crate::schema::ModelDescriptor;

/// A collection without its type: all that an action needs to run. One allocation, shared by clones.
#[derive(Clone)]
pub(crate) struct Target(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    executor: Executor,
    namespace: Namespace,
    model: Option<&'static str>,
    plan: Option<&'static Plan>,
    /// Whether it was taken from a model, of which nothing may be left.
    is_of_model: bool,
    failure: Option<Error>,
    /// Where the documents are of tenants. What is taken for untyped documents stays theirs.
    owned: Option<Arc<Owned>>,
}

/// Whose documents are shown of those that are of tenants.
struct Owned {
    plan: &'static Plan,
    tenant: Tenant,
    confinement: Result<Option<Confinement>>,
    /// Whether the database is bound to a tenant, if of a type that is not theirs.
    is_bound: bool,
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
            owned: Owned::of(plan, db.executor()),
            executor: db.executor().clone(),
            namespace,
            model,
            plan,
            is_of_model: model.is_some(),
            failure,
        }))
    }

    fn with(&self, change: impl FnOnce(&mut Inner)) -> Target {
        let mut inner = (*self.0).clone();
        change(&mut inner);
        Target(Arc::new(inner))
    }

    /// The same collection in a transaction.
    pub(crate) fn within(&self, executor: &Executor) -> Target {
        self.with(|inner| {
            inner.executor = executor.clone();
            inner.owned = Owned::of(inner.owned.as_ref().map(|owned| owned.plan), executor);
        })
    }

    /// The same collection without its model.
    pub(crate) fn without_model(&self) -> Target {
        self.with(|inner| {
            inner.model = None;
            inner.plan = None;
            inner.failure = None;
        })
    }

    /// The same collection with another model.
    pub(crate) fn as_model<D: Record>(&self) -> Target {
        self.with(|inner| {
            inner.model = D::MODEL;
            inner.plan = D::plan();
            inner.is_of_model |= D::MODEL.is_some();
            inner.failure = D::verify().err().or(inner.failure.take());
            inner.owned = Owned::of(inner.plan, &inner.executor);
        })
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
            owned: Owned::of(D::plan(), &inner.executor),
            executor: inner.executor.clone(),
            namespace,
            model: D::MODEL,
            plan: D::plan(),
            is_of_model: D::MODEL.is_some(),
            failure: None,
        })))
    }

    /// The collection that a stored reference names.
    ///
    /// # Errors
    /// As [`sibling`](Target::sibling); `Tenant` where the database is bound to a tenant, and nobody knows whose the
    /// documents of that collection are.
    pub(crate) fn named<D: Record>(&self, database: Option<&str>, collection: &str) -> Result<Target> {
        let target = self.sibling::<D>(database, collection)?;
        let is_model = D::descriptor().is_some_and(|model| model.collection == collection);
        if is_model || target.is_owned() || !self.0.executor.tenancy.is_bound() {
            return Ok(target);
        }
        if D::MODEL.is_none() && self.0.is_of_model && *target.namespace() == *self.namespace() {
            return Ok(self.without_model());
        }
        let message = format!(
            "the reference names a collection (`{collection}`) whose documents may be those of other tenants: take a \
             reference to a model in its own collection, or `across_tenants()`"
        );
        Err(Error::new(ErrorKind::Tenant, message))
    }

    /// What keeps operations to one tenant's documents; nothing where the documents are of none, and where those of all
    /// are shown.
    ///
    /// # Errors
    /// `Tenant` where the database is bound to no tenant of theirs.
    pub(crate) fn confinement(&self) -> Result<Option<&Confinement>> {
        match &self.0.owned {
            None => Ok(None),
            Some(owned) => match &owned.confinement {
                Ok(confinement) => Ok(confinement.as_ref()),
                Err(error) => Err(error.clone()),
            },
        }
    }

    /// The field that says whose the documents are.
    pub(crate) fn tenant(&self) -> Option<Tenant> {
        self.0.owned.as_ref().map(|owned| owned.tenant)
    }

    /// Whether nothing was ever known of the documents: they are not those of a model, taken for untyped ones.
    pub(crate) fn is_untyped(&self) -> bool {
        !self.0.is_of_model
    }

    /// Whether the documents are of tenants.
    pub(crate) fn is_owned(&self) -> bool {
        self.0.owned.is_some()
    }

    /// That documents of all tenants are shown, where what is done with documents of no tenant means something for
    /// those of a model with tenants.
    ///
    /// # Errors
    /// `Tenant`, naming that model.
    pub(crate) fn check_reach(&self, affected: &'static ModelDescriptor) -> Result<()> {
        match self.is_owned() {
            true => Ok(()),
            false => self.check_beyond(affected),
        }
    }

    /// The same of documents that others, which are of no tenant, stand between.
    ///
    /// # Errors
    /// As [`check_reach`](Target::check_reach).
    pub(crate) fn check_beyond(&self, affected: &'static ModelDescriptor) -> Result<()> {
        let Some(field) = affected.tenant.filter(|_| self.0.executor.tenancy.is_bound()) else {
            return Ok(());
        };
        let message = format!(
            "tenants share the document, and this would be about the documents of `{}` of all of them: take \
             `across_tenants()`",
            affected.name
        );
        Err(Error::new(ErrorKind::Tenant, message).with_path(field))
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
        let mut operation = operation;
        let name = operation.name();
        let id = operation.written_id();
        let owned = self.0.owned.as_ref();
        let executing = match owned.and_then(|owned| owned.confine(&mut operation).err()) {
            None => self.0.executor.execute(operation),
            Some(error) => self.0.executor.refuse(name, error),
        };
        async move {
            match executing.await {
                Ok(answer) => Ok(answer
                    .of_document(id.as_ref())
                    .with_concern(|error| self.explain(error.of_document(id.as_ref()), name))),
                Err(error) => {
                    let error = lifecycle::explained(error.of_document(id.as_ref()));
                    Err(self.explain(error, name))
                }
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

impl Owned {
    fn of(plan: Option<&'static Plan>, executor: &Executor) -> Option<Arc<Owned>> {
        let plan = plan?;
        let tenant = plan.lifecycle.tenant?;
        Some(Arc::new(Owned {
            plan,
            tenant,
            confinement: Confinement::of(&tenant, &executor.tenancy),
            is_bound: executor.tenancy.is_bound(),
        }))
    }

    /// Keeps the operation to the documents that are shown.
    fn confine(&self, operation: &mut Operation) -> Result<()> {
        match &self.confinement {
            Ok(None) => Ok(()),
            Ok(Some(confinement)) => confinement.confine(operation),
            Err(error) if self.is_bound || operation.is_of_documents() => Err(error.clone()),
            Err(_) => Ok(()),
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("namespace", &format_args!("{}", self.0.namespace))
            .field("model", &self.0.model)
            .field("tenant", &self.0.owned.as_ref().map(|owned| owned.tenant.name))
            .field("executor", &self.0.executor)
            .finish()
    }
}
