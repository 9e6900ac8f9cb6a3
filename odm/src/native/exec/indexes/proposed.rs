//! What specifications of new indexes mean for their collection.

use std::sync::Arc;

use super::super::super::catalog::rules::Series;
use super::super::super::catalog::{Catalog, Collection};
use super::super::super::collation::Collation;
use super::super::super::document::number::as_i64_exact;
use super::super::super::document::owned::fields_of;
use super::super::super::document::{Doc, Owned};
use super::super::super::fault::{Fault, Result, code};
use super::super::super::index::{Form, IndexDefinition, Proposal};
use super::super::{Namespace, series, view};

/// What the specifications mean; what says no collation has that of the collection.
pub(super) fn propose(catalog: &Catalog, ns: &Namespace, specs: &[Vec<u8>]) -> Result<Vec<Proposal>> {
    let found = catalog.collection(&ns.database, &ns.collection);
    let own = found.map_or_else(Collation::default, |own| own.rules.collation.clone());
    let specs = specs.iter().map(|spec| Doc::Raw(spec));
    let proposals: Vec<Proposal> = match found.and_then(|own| own.rules.series.as_deref()) {
        Some(series) => {
            for spec in specs.clone() {
                series::check_index(series, &own, spec)?;
            }
            let defined = specs.map(|spec| define_for_series(spec, &own, series));
            defined.collect::<Result<_>>()?
        }
        None => {
            // What is wrong with one by itself is told before what is wrong with another as a whole.
            let forms: Vec<Form<'_>> = specs.map(IndexDefinition::form).collect::<Result<_>>()?;
            view::refuse(catalog, ns)?;
            check_rules(found.map(Arc::as_ref), &forms)?;
            for form in &forms {
                form.expiry()?;
            }
            for form in &forms {
                form.check_locale()?;
            }
            let defined = forms.into_iter().map(|form| {
                check_clustered(found.map(Arc::as_ref), &form)?;
                form.define(&own)
            });
            defined.collect::<Result<_>>()?
        }
    };
    for proposal in &proposals {
        check_collation_of_id(&proposal.definition, &own)?;
    }
    Ok(proposals)
}

/// Refuses indexes that a collection of its kind does not have.
fn check_rules(found: Option<&Collection>, forms: &[Form<'_>]) -> Result<()> {
    if found.is_none() && forms.iter().any(Form::is_clustered) {
        return Err(Fault::new(
            6_100_900,
            "Cannot implicitly create a new collection with createIndex 'clustered' option",
        ));
    }
    if found.is_some_and(|own| own.rules.capped.is_some()) && forms.iter().any(Form::expires) {
        return Err(Fault::new(
            code::CANNOT_CREATE_INDEX,
            "Cannot create TTL index on a capped collection",
        ));
    }
    Ok(())
}

/// The index of a clustered collection is made with it.
fn check_clustered(found: Option<&Collection>, form: &Form<'_>) -> Result<()> {
    let has = found.is_some_and(|own| own.rules.clustered.is_some());
    if !form.is_clustered() || (has && form.is_on_id()) {
        return Ok(());
    }
    Err(form.refused(Fault::new(
        6_243_700,
        "Cannot create index with option 'clustered' that does not match an existing clustered index",
    )))
}

/// Reads a specification; what says no collation has that of the series.
fn define_for_series(spec: Doc<'_>, own: &Collation, series: &Series) -> Result<Proposal> {
    let version = spec.get("v").and_then(|version| as_i64_exact(&version));
    match (own.spec(), spec.get("collation")) {
        (Some(inherited), None) if version != Some(1) => {
            let mut fields = fields_of(spec);
            fields.push(("collation".to_owned(), Owned::RawDocument(inherited.to_bytes())));
            series::define(series, Doc::Fields(&fields))
        }
        _ => series::define(series, spec),
    }
}

/// The index of `_id` compares as its collection does.
fn check_collation_of_id(definition: &IndexDefinition, own: &Collation) -> Result<()> {
    if !definition.is_id() || definition.collation == *own {
        return Ok(());
    }
    Err(Fault::new(
        code::BAD_VALUE,
        format!(
            "The _id index must have the same collation as the collection. Index collation: {}, collection \
             collation: {}",
            definition.collation.shown(),
            own.shown()
        ),
    ))
}
