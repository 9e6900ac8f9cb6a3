//! Keeping what the stages of a pipeline read and write elsewhere to the documents of one tenant.
//!
//! Stages name collections, not models. A typed pipeline remembers which models its stages were made of.

use bson::{RawArrayBuf, RawBson, RawBsonRef, RawDocument, RawDocumentBuf};

use super::confinement::Confinement;
use super::document;
use super::merge;
use super::scope::narrow_stages;
use super::tenant::Tenant;
use super::validator::malformed;
use crate::backend::{Namespace, Operation};
use crate::collection::Target;
use crate::db::Tenancy;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Model;

/// The collections that typed stages name, and whose documents are in them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Joins(Vec<Joined>);

#[derive(Clone, Debug)]
struct Joined {
    model: &'static str,
    /// That of the pipeline when absent.
    database: Option<String>,
    collection: String,
    tenant: Option<Tenant>,
}

impl Joins {
    /// Remembers a model, of which a stage names a collection.
    pub(crate) fn add<M: Model>(&mut self, collection: &str) {
        self.0.push(Joined {
            model: M::DESCRIPTOR.name,
            database: None,
            collection: collection.to_owned(),
            tenant: M::LIFECYCLE.tenant,
        });
    }

    /// The same of a collection of any database.
    pub(crate) fn add_elsewhere<M: Model>(&mut self, namespace: &Namespace) {
        self.add::<M>(&namespace.collection);
        if let Some(added) = self.0.last_mut() {
            added.database = Some(namespace.database.clone());
        }
    }

    /// With those of a part of the pipeline.
    pub(crate) fn extend(&mut self, other: Joins) {
        self.0.extend(other.0);
    }

    /// Lets the stages of a pipeline over the target read and write only documents of the tenant elsewhere.
    ///
    /// # Errors
    /// `Tenant` for a stage whose documents nobody knows, or that would write those of others; where the database is bound
    /// to no tenant, for a model with tenants.
    pub(crate) fn confine(&self, target: &Target, operation: &mut Operation) -> Result<()> {
        let aggregate = match operation {
            Operation::Aggregate(aggregate) => aggregate,
            Operation::Explain(explain) => return self.confine(target, &mut explain.operation),
            _ => return Ok(()),
        };
        let tenancy = &target.executor().tenancy;
        match tenancy {
            Tenancy::Across => return Ok(()),
            Tenancy::Unbound => {
                for joined in &self.0 {
                    if let Some(tenant) = &joined.tenant {
                        let value = tenant.value(tenancy);
                        value.map_err(|error| error.with_model(joined.model))?;
                    }
                }
                return Ok(());
            }
            // Without a model it shows everything, but for what is said to have one.
            Tenancy::Of(_) if target.is_untyped() && self.0.is_empty() => return Ok(()),
            Tenancy::Of(_) => {}
        }
        let confining = Confining {
            joins: self,
            target,
            collates: aggregate.options.collation.is_some()
                || target.plan().is_some_and(|plan| plan.is_collated),
        };
        confining.stages(&mut aggregate.pipeline)
    }
}

struct Confining<'a> {
    joins: &'a Joins,
    target: &'a Target,
    /// Whether strings compare by a collation.
    collates: bool,
}

impl Confining<'_> {
    fn stages(&self, stages: &mut Vec<RawDocumentBuf>) -> Result<()> {
        let mut all = Vec::with_capacity(stages.len());
        for stage in std::mem::take(stages) {
            self.stage(stage, &mut all)?;
        }
        *stages = all;
        Ok(())
    }

    fn stage(&self, stage: RawDocumentBuf, all: &mut Vec<RawDocumentBuf>) -> Result<()> {
        let Some((name, argument)) = stage.iter().next().transpose().map_err(malformed)? else {
            all.push(stage);
            return Ok(());
        };
        let made = match (name.as_str(), argument) {
            ("$lookup", RawBsonRef::Document(lookup)) => self.lookup(lookup, "from")?,
            ("$unionWith", RawBsonRef::Document(union)) => self.lookup(union, "coll")?,
            ("$unionWith", RawBsonRef::String(collection)) => {
                let union = document::single(bson::cstr!("coll"), collection);
                self.lookup(&union, "coll")?
            }
            ("$graphLookup", RawBsonRef::Document(lookup)) => self.graph_lookup(lookup)?,
            ("$facet", RawBsonRef::Document(facets)) => {
                let mut made = RawDocumentBuf::new();
                for facet in facets {
                    let (path, stages) = facet.map_err(malformed)?;
                    match stages {
                        RawBsonRef::Array(stages) => {
                            let mut stages = listed(stages)?;
                            self.stages(&mut stages)?;
                            made.append(path, stages.into_iter().collect::<RawArrayBuf>());
                        }
                        other => made.append(path, other),
                    }
                }
                made
            }
            ("$planCacheStats", _) => {
                let message = "plans in the cache tell what all tenants asked for: take `across_tenants()`";
                return Err(Error::new(ErrorKind::Tenant, message));
            }
            ("$merge", argument) => return self.merge(argument, all),
            ("$out", argument) => {
                if self.confinement(argument, "$out")?.is_some() {
                    let message = "the results would take the place of the documents of all tenants: take \
                                   `across_tenants()`, or merge them";
                    return Err(Error::new(ErrorKind::Tenant, message));
                }
                all.push(stage);
                return Ok(());
            }
            _ => {
                all.push(stage);
                return Ok(());
            }
        };
        let mut whole = RawDocumentBuf::new();
        whole.append(name, made);
        all.push(whole);
        Ok(())
    }

    /// A stage that reads another collection by stages of its own.
    fn lookup(&self, lookup: &RawDocument, from: &str) -> Result<RawDocumentBuf> {
        let mut stages = match lookup.get("pipeline").map_err(malformed)? {
            Some(RawBsonRef::Array(stages)) => listed(stages)?,
            _ => Vec::new(),
        };
        self.stages(&mut stages)?;
        if let Some(collection) = lookup.get(from).map_err(malformed)?
            && let Some(confinement) = self.confinement(collection, from)?
        {
            narrow_stages(&mut stages, confinement.condition())?;
        }
        match stages.is_empty() {
            true => Ok(lookup.to_owned()),
            false => {
                let stages = stages.into_iter().collect::<RawArrayBuf>();
                document::with_field(lookup, "pipeline", RawBson::Array(stages))
            }
        }
    }

    fn graph_lookup(&self, lookup: &RawDocument) -> Result<RawDocumentBuf> {
        let Some(collection) = lookup.get("from").map_err(malformed)? else {
            return Ok(lookup.to_owned());
        };
        let Some(confinement) = self.confinement(collection, "from")? else {
            return Ok(lookup.to_owned());
        };
        let mut condition = confinement.condition().clone();
        if let Some(RawBsonRef::Document(own)) = lookup.get("restrictSearchWithMatch").map_err(malformed)? {
            condition = document::narrowed(own, &condition)?;
        }
        document::with_field(lookup, "restrictSearchWithMatch", RawBson::Document(condition))
    }

    /// Results that are written: the tenant's, and over the tenant's alone.
    fn merge(&self, argument: RawBsonRef<'_>, all: &mut Vec<RawDocumentBuf>) -> Result<()> {
        let (into, merge) = match argument {
            RawBsonRef::Document(merge) => (merge.get("into").map_err(malformed)?, merge.to_owned()),
            name => {
                let mut merge = RawDocumentBuf::new();
                merge.append(bson::cstr!("into"), name);
                (Some(name), merge)
            }
        };
        let confinement = match into {
            Some(into) => self.confinement(into, "into")?,
            None => None,
        };
        let Some(confinement) = confinement else {
            all.push(document::single(bson::cstr!("$merge"), merge));
            return Ok(());
        };
        all.push(confinement.last_stage()?);
        let merge = merge::confined(merge, &confinement, self.collates)?;
        all.push(document::single(bson::cstr!("$merge"), merge));
        Ok(())
    }

    /// What keeps to the tenant what a stage does with a collection; nothing of one whose documents are of no tenant.
    fn confinement(&self, collection: RawBsonRef<'_>, place: &str) -> Result<Option<Confinement>> {
        let own = self.target.namespace();
        let (database, name) = match collection {
            RawBsonRef::String(name) => (None, Some(name)),
            RawBsonRef::Document(named) => {
                let text = |field: &str| named.get(field).ok().flatten().and_then(|name| name.as_str());
                (text("db"), text("coll"))
            }
            _ => (None, None),
        };
        let database = database.unwrap_or(&own.database);
        let is_own = database == own.database && name == Some(&own.collection);
        let joined = self.joins.0.iter().filter(|joined| {
            let in_database = joined.database.as_deref().unwrap_or(&own.database);
            in_database == database && name == Some(&joined.collection)
        });
        let itself = is_own.then(|| self.target.tenant());
        let tenants: Vec<Option<Tenant>> = itself
            .into_iter()
            .chain(joined.map(|joined| joined.tenant))
            .collect();
        if tenants.is_empty() {
            if self.target.is_untyped() {
                return Ok(None);
            }
            let message = format!(
                "a stage in MongoDB's words names a collection (`{place}`: {}) whose documents may be those of other \
                 tenants: take the typed stage, `raw_collection`, or `across_tenants()`",
                name.unwrap_or("of no name")
            );
            return Err(Error::new(ErrorKind::Tenant, message));
        }
        match tenants.into_iter().flatten().next() {
            Some(tenant) => Confinement::of(&tenant, &self.target.executor().tenancy),
            None => Ok(None),
        }
    }
}

pub(super) fn listed(stages: &bson::RawArray) -> Result<Vec<RawDocumentBuf>> {
    let stages = stages.into_iter().map(|stage| match stage.map_err(malformed)? {
        RawBsonRef::Document(stage) => Ok(stage.to_owned()),
        _ => Err(Error::new(
            ErrorKind::InvalidArgument,
            "a stage of a pipeline is a document",
        )),
    });
    stages.collect()
}
