//! Time series: a view by which they are known, and the collection of their documents beside it, as on the server.

mod arrange;
mod index;
mod insert;
mod modify;
mod partial;
mod write;

use std::borrow::Cow;
use std::sync::Arc;

use super::super::catalog::rules::{self, Rules, series};
use super::super::catalog::{Catalog, Collection};
use super::super::document::owned::fields_of;
use super::super::document::{Doc, Fields, Owned};
use super::super::fault::{Fault, Result, code};
use super::super::storage::{TreeId, Write};
use super::{Namespace, view};

pub(super) use self::arrange::in_order;
pub(crate) use self::index::{check as check_index, define, is_measured, keys, shown_keys};
pub(super) use self::insert::insert;
pub(super) use self::modify::{modify, set_life};
pub(super) use self::write::{
    asks_for_source, check_delete, check_refused, check_update, refuse_in_transaction,
};

/// How the names of the collections begin that hold the documents of time series.
pub(crate) const BUCKETS: &str = "system.buckets.";

/// The name of the collection that holds the documents of this time series.
pub(crate) fn buckets_of(ns: &Namespace) -> Namespace {
    Namespace {
        database: ns.database.clone(),
        collection: format!("{BUCKETS}{}", ns.collection),
    }
}

/// The time series whose documents this collection holds.
pub(crate) fn series_of(catalog: &Catalog, ns: &Namespace) -> Option<Namespace> {
    let name = ns.collection.strip_prefix(BUCKETS)?;
    let front = Namespace {
        database: ns.database.clone(),
        collection: name.to_owned(),
    };
    is_series(catalog, &front).then_some(front)
}

/// The collection that was made for the buckets of a time series that is not there, which goes by the series' name too.
pub(crate) fn lone_buckets(catalog: &Catalog, ns: &Namespace) -> Option<Namespace> {
    let buckets = buckets_of(ns);
    let found = catalog.collection(&buckets.database, &buckets.collection)?;
    let is_alone = catalog.collection(&ns.database, &ns.collection).is_none();
    let has_series = Doc::Raw(&found.options).get("timeseries").is_some();
    (is_alone && has_series).then_some(buckets)
}

/// Whether the name is that of a time series.
pub(crate) fn is_series(catalog: &Catalog, ns: &Namespace) -> bool {
    catalog
        .collection(&ns.database, &ns.collection)
        .is_some_and(|found| is_front(&found.rules))
}

/// Whether the name is that of a time series, or of the collection of its documents.
pub(crate) fn has_series(catalog: &Catalog, ns: &Namespace) -> bool {
    catalog
        .collection(&ns.database, &ns.collection)
        .is_some_and(|found| found.rules.series.is_some())
}

fn is_front(rules: &Rules) -> bool {
    rules.series.is_some() && rules.view.is_some()
}

/// Where documents and indexes of this name are: beside it for a time series.
pub(crate) fn stored_in<'a>(catalog: &Catalog, ns: &'a Namespace) -> Cow<'a, Namespace> {
    match is_series(catalog, ns) {
        true => Cow::Owned(buckets_of(ns)),
        false => Cow::Borrowed(ns),
    }
}

/// The collection with the documents of the time series of this name; none when the name is another's.
pub(super) fn documents(catalog: &Catalog, ns: &Namespace) -> Option<Arc<Collection>> {
    if !is_series(catalog, ns) {
        return None;
    }
    let buckets = buckets_of(ns);
    catalog
        .collection(&buckets.database, &buckets.collection)
        .cloned()
}

/// Creates a time series; `options` are those of its listing.
pub(super) fn create(write: &mut dyn Write, ns: &Namespace, options: &[u8]) -> Result<()> {
    if write.in_transaction() {
        return Err(Fault::new(
            code::OPERATION_NOT_SUPPORTED_IN_TRANSACTION,
            "Cannot create a time-series collection in a multi-document transaction.",
        ));
    }
    view::refuse_other_above(write.catalog(), ns, Doc::Raw(options))?;
    view::list::ensure(write, &ns.database)?;
    let buckets = buckets_of(ns);
    write.claim(
        TreeId::CATALOG,
        &Catalog::claim_key(&buckets.database, &buckets.collection),
    )?;
    let catalog = write.catalog_mut();
    let (front, stored) = both(&buckets, fields_of(Doc::Raw(options)));
    catalog.create_collection(&ns.database, &ns.collection, &front, None)?;
    catalog.create_collection(&buckets.database, &buckets.collection, &stored, None)?;
    Ok(())
}

/// The options as the view keeps them, and as the collection of the documents does.
fn both(buckets: &Namespace, options: Fields) -> (Vec<u8>, Vec<u8>) {
    let mut front = options.clone();
    front.push(("viewOn".to_owned(), Owned::String(buckets.collection.clone())));
    front.push(("pipeline".to_owned(), Owned::Array(Vec::new())));
    rules::sort(&mut front);
    let mut stored = options;
    stored.push(("clusteredIndex".to_owned(), Owned::Bool(true)));
    rules::sort(&mut stored);
    (Doc::Fields(&front).to_bytes(), Doc::Fields(&stored).to_bytes())
}

/// Gives a time series other options.
pub(super) fn set_options(write: &mut dyn Write, ns: &Namespace, options: Fields) -> Result<()> {
    let buckets = buckets_of(ns);
    let (front, stored) = both(&buckets, options);
    for (own, options) in [(ns, front), (&buckets, stored)] {
        let found = write
            .catalog()
            .collection(&own.database, &own.collection)
            .cloned();
        if let Some(found) = found
            && options != *found.options
        {
            write.claim(
                TreeId::CATALOG,
                &Catalog::claim_key(&own.database, &own.collection),
            )?;
            write.catalog_mut().set_options(found.id, &options)?;
        }
    }
    Ok(())
}

/// The options as they are listed: those of a view that it is made with are not, and buckets show what they must be.
pub(super) fn listed_options(collection: &Collection) -> Fields {
    let mut options = fields_of(Doc::Raw(&collection.options));
    let Some(own) = &collection.rules.series else {
        return options;
    };
    if collection.rules.view.is_some() {
        options.retain(|(name, _)| !matches!(name.as_str(), "viewOn" | "pipeline"));
    } else {
        options.push(("validator".to_owned(), series::bucket_validator(&own.time)));
        rules::sort(&mut options);
    }
    options
}
