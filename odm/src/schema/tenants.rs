//! What of declared indexes and shard keys does not go with tenants.

use std::fmt;

use super::{ModelDescriptor, Models};

/// An index or a shard key of a model with tenants that does not go with them: see [`Models::tenant_findings`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TenantFinding {
    /// The model, by its Rust name.
    pub model: &'static str,
    /// Its collection.
    pub collection: &'static str,
    /// The stored name of the field that says whose a document is.
    pub field: &'static str,
    /// What is found.
    pub kind: TenantFindingKind,
}

/// What does not go with tenants.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TenantFindingKind {
    /// A unique index of this name without the field: it holds all tenants to it together, so that one is refused what
    /// another has, and learns that it is there.
    UniqueAcrossTenants(String),
    /// The shard key, of these fields, does not begin with the field: what is asked of one tenant is asked of all shards.
    ShardKey(Vec<String>),
    /// No index begins with the field: what is asked of one tenant reads the documents of all, unless another index is
    /// chosen.
    NoIndex,
}

impl fmt::Display for TenantFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TenantFinding {
            model,
            collection,
            field,
            kind,
        } = self;
        write!(f, "{model} ({collection}): ")?;
        match kind {
            TenantFindingKind::UniqueAcrossTenants(index) => {
                write!(
                    f,
                    "the unique index {index} is without the tenant's field {field}, and holds all tenants together"
                )
            }
            TenantFindingKind::ShardKey(fields) => {
                let fields = fields.join(", ");
                write!(
                    f,
                    "the shard key ({fields}) does not begin with the tenant's field {field}"
                )
            }
            TenantFindingKind::NoIndex => write!(f, "no index begins with the tenant's field {field}"),
        }
    }
}

impl Models {
    /// The indexes and shard keys of models with tenants that do not go with them, and the models that have no index for
    /// them. No error: an e-mail address may be unique for all tenants on purpose. Nothing is asked of a database.
    ///
    /// ```
    /// use odm::{Id, Model, Models, TenantFindingKind};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize, Model)]
    /// struct Invoice {
    ///     #[serde(rename = "_id")]
    ///     id: Id<Invoice>,
    ///     #[odm(tenant, index)]
    ///     company: String,
    ///     #[odm(unique)]
    ///     number: i64,
    /// }
    ///
    /// let found = Models::new().with::<Invoice>().tenant_findings();
    /// assert_eq!(found[0].kind, TenantFindingKind::UniqueAcrossTenants("number_1".into()));
    /// ```
    pub fn tenant_findings(&self) -> Vec<TenantFinding> {
        self.descriptors()
            .flat_map(ModelDescriptor::tenant_findings)
            .collect()
    }
}

impl ModelDescriptor {
    fn tenant_findings(&self) -> Vec<TenantFinding> {
        // Of a document that is the tenant itself there is one.
        let Some(field) = self.tenant.filter(|field| *field != "_id") else {
            return Vec::new();
        };
        let mut kinds = Vec::new();
        let shard = self.declared_options().shard_fields();
        let mut is_indexed = shard.first().is_some_and(|first| first == field);
        if !shard.is_empty() && !is_indexed {
            kinds.push(TenantFindingKind::ShardKey(shard));
        }
        for index in self.all_indexes() {
            let mut fields = index.keys().iter().map(|(path, _)| path.to_string());
            is_indexed |= index
                .keys()
                .first()
                .is_some_and(|(path, _)| path.to_string() == field);
            if index.is_unique() && !fields.any(|own| own == field) {
                kinds.push(TenantFindingKind::UniqueAcrossTenants(index.name()));
            }
        }
        if !is_indexed {
            kinds.push(TenantFindingKind::NoIndex);
        }
        let findings = kinds.into_iter().map(|kind| TenantFinding {
            model: self.name,
            collection: self.collection,
            field,
            kind,
        });
        findings.collect()
    }
}
