//! Whose documents a database shows.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::Db;
use crate::error::{Error, ErrorKind, Result};

/// Whose documents a database shows.
#[derive(Clone, Debug, Default)]
pub(crate) enum Tenancy {
    /// Nobody said: those of models with tenants are not to be touched.
    #[default]
    Unbound,
    /// Those of all tenants.
    Across,
    /// Those of one tenant.
    Of(Arc<BoundTenant>),
}

/// A tenant that a database is bound to.
pub(crate) struct BoundTenant {
    value: Box<dyn Any + Send + Sync>,
    type_name: &'static str,
}

impl Tenancy {
    pub(crate) fn is_bound(&self) -> bool {
        matches!(self, Tenancy::Of(_))
    }
}

impl BoundTenant {
    pub(crate) fn value(&self) -> &dyn Any {
        &*self.value
    }

    pub(crate) fn type_name(&self) -> &'static str {
        self.type_name
    }
}

impl fmt::Debug for BoundTenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Whose it is may be nobody's business.
        f.debug_tuple("BoundTenant").field(&self.type_name).finish()
    }
}

impl Db {
    /// The same database for one tenant: of models with a field that says `#[odm(tenant)]` it shows, changes and deletes
    /// the documents of this tenant alone, and stores documents as theirs. Other models are not concerned.
    ///
    /// ```
    /// use odm::{Db, ErrorKind, Id, Model};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Debug, Serialize, Deserialize, Model)]
    /// struct Invoice {
    ///     #[serde(rename = "_id")]
    ///     id: Id<Invoice>,
    ///     #[odm(tenant)]
    ///     company: String,
    ///     total: i64,
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// let db = Db::open("memory:").await?;
    /// let acme = db.for_tenant("acme").collection::<Invoice>();
    /// acme.insert(Invoice { id: Id::new(), company: "acme".into(), total: 7 }).await?;
    /// let wayne = db.for_tenant("wayne").collection::<Invoice>();
    /// assert_eq!(wayne.delete_many(|i| i.total.gt(0)).await?.deleted, 0);
    /// assert_eq!(acme.find_all().await?.len(), 1);
    ///
    /// let error = db.collection::<Invoice>().find_all().await.unwrap_err();
    /// assert_eq!((error.kind(), error.path()), (ErrorKind::Tenant, Some("company")));
    /// assert_eq!(db.across_tenants().collection::<Invoice>().find_all().await?.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Whatever is given this `Db` is given the tenant's: collections, relations, patterns, hooks, transactions. A
    /// transaction that runs already becomes the tenant's likewise: `tx.for_tenant(..)`. On a handle of another tenant it
    /// gives that of this one. The tenant is of the field's own type: `for_tenant(company.id)` for a field `Id<Company>`, and
    /// for one of `Ref<Company>`; a text may be a literal. Where it does not fit, and where a model with tenants is used
    /// without one, the actions on the model's collection fail with the kind [`Tenant`](ErrorKind::Tenant).
    ///
    /// No round trip; the handle shares all with this one. Commands ([`run_command`](Db::run_command)), the
    /// [`backend`](Db::backend) and collections without a model ([`raw_collection`](Db::raw_collection)) know no tenants.
    pub fn for_tenant<T: Send + Sync + 'static>(&self, tenant: T) -> Db {
        self.with_tenancy(Tenancy::Of(Arc::new(BoundTenant {
            value: Box::new(tenant),
            type_name: std::any::type_name::<T>(),
        })))
    }

    /// The same database for all tenants, as administration needs it: models with tenants are read and written as if they
    /// had none. Who writes says whose a document is: one without a tenant no tenant sees.
    pub fn across_tenants(&self) -> Db {
        self.with_tenancy(Tenancy::Across)
    }

    fn with_tenancy(&self, tenancy: Tenancy) -> Db {
        let mut executor = self.executor.clone();
        executor.tenancy = tenancy;
        Db {
            executor,
            name: self.name.clone(),
        }
    }

    /// That the database is not bound to a tenant, for what is about all of it.
    pub(crate) fn check_whole(&self, operation: &'static str) -> Result<()> {
        match self.executor.tenancy.is_bound() {
            false => Ok(()),
            true => {
                let message = "this is about the documents of all tenants, and the database is bound to one: take \
                               `across_tenants()`";
                Err(self.explain(Error::new(ErrorKind::Tenant, message), operation))
            }
        }
    }
}
