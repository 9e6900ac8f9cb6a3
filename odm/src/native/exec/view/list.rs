//! `system.views`: the views of a database as documents.
//!
//! The collection is in the catalog and holds nothing: its documents are made of the views when they are read, so that
//! nothing can tell of other views than there are.

use super::super::super::catalog::rules::series;
use super::super::super::catalog::{Catalog, Collection};
use super::super::super::document::{Doc, Owned};
use super::super::super::fault::{Fault, Result};
use super::super::super::storage::Write;
use super::super::query::Query;
use super::super::{Namespace, collections};

/// The name of the collection of views.
const VIEWS: &str = "system.views";

/// Whether this is the collection of a database's views.
pub(crate) fn is_list(ns: &Namespace) -> bool {
    ns.collection == VIEWS
}

/// The same of a collection.
pub(crate) fn is_list_of(collection: &Collection) -> bool {
    &*collection.name == VIEWS
}

/// The documents of the views, in the order in which these were made.
pub(crate) fn documents(catalog: &Catalog, database: &str) -> Vec<Vec<u8>> {
    let mut views: Vec<_> = catalog
        .collections(database)
        .filter(|own| own.rules.view.is_some())
        .collect();
    views.sort_by_key(|own| own.id);
    views.into_iter().map(|own| document(own)).collect()
}

/// The documents that a query finds; nothing where the name is that of another collection.
pub(crate) fn found(catalog: &Catalog, ns: &Namespace, query: &Query) -> Result<Option<Vec<Vec<u8>>>> {
    if !is_list(ns) {
        return Ok(None);
    }
    let query = query.settled()?;
    let mut found = Vec::new();
    for document in documents(catalog, &ns.database) {
        if query.matcher.matches(Doc::Raw(&document))? {
            found.push(document);
        }
    }
    Ok(Some(found))
}

/// Makes the collection of views where it is missing.
pub(crate) fn ensure(write: &mut dyn Write, database: &str) -> Result<()> {
    let ns = list_of(database);
    match write.catalog().collection(&ns.database, &ns.collection) {
        Some(_) => Ok(()),
        None => collections::create(write, &ns, None),
    }
}

/// Drops all views with their collection; `false` when there is none.
///
/// # Errors
/// Code 125 where there are time series.
pub(crate) fn drop_all(write: &mut dyn Write, ns: &Namespace) -> Result<bool> {
    let all = write.catalog().collections(&ns.database);
    let views: Vec<_> = all.filter(|own| own.rules.view.is_some()).cloned().collect();
    let is_there = write.catalog().collection(&ns.database, &ns.collection).is_some();
    if views.iter().any(|own| own.rules.series.is_some()) {
        return Err(Fault::new(
            125,
            format!("cannot drop collection {ns} when time-series collections are present."),
        ));
    }
    let is_empty = views.is_empty();
    for view in views {
        let view = Namespace {
            database: ns.database.clone(),
            collection: view.name.to_string(),
        };
        collections::drop_one(write, &view)?;
    }
    collections::drop_one(write, ns)?;
    Ok(is_there || !is_empty)
}

fn list_of(database: &str) -> Namespace {
    Namespace {
        database: database.to_owned(),
        collection: VIEWS.to_owned(),
    }
}

fn document(view: &Collection) -> Vec<u8> {
    let mut fields = vec![("_id".to_owned(), Owned::String(view.namespace()))];
    for name in ["viewOn", "pipeline", "collation"] {
        if let Some(value) = Doc::Raw(&view.options).get(name) {
            fields.push((name.to_owned(), value.into()));
        }
    }
    if let Some(series) = &view.rules.series {
        let stage = ("$_internalUnpackBucket".to_owned(), series::unpacked(series));
        fields.retain(|(name, _)| name != "pipeline");
        fields.insert(
            2,
            (
                "pipeline".to_owned(),
                Owned::Array(vec![Owned::Document(vec![stage])]),
            ),
        );
    }
    Doc::Fields(&fields).to_bytes()
}
