//! Creating, dropping and listing collections.

use super::super::catalog::Catalog;
use super::super::catalog::rules::{self, Rules};
use super::super::document::owned::fields_of;
use super::super::document::{Doc, Fields, Owned, Value};
use super::super::fault::{Fault, Result, code};
use super::super::index::IndexDefinition;
use super::super::matcher::Matcher;
use super::super::storage::{Read, TreeId, Write};
use super::{Namespace, change, series, view};

/// Creates a collection with its `_id` index, or a view.
pub(crate) fn create(write: &mut dyn Write, ns: &Namespace, options: Option<Doc<'_>>) -> Result<()> {
    ns.check()?;
    if !ns.is_of_server() {
        ns.check_writable()?;
    }
    write.claim(TreeId::CATALOG, &Catalog::claim_key(&ns.database, &ns.collection))?;
    let options = match options {
        Some(options) => rules::normalize(options, &ns.to_string())?,
        None => Doc::empty().to_bytes(),
    };
    let view_on = Doc::Raw(&options).get("viewOn").is_some();
    if let Some(existing) = write.catalog().collection(&ns.database, &ns.collection)
        && existing.rules.view.is_some()
    {
        let what = match &existing.rules.series {
            Some(_) => "timeseries collection",
            None => "view",
        };
        return Err(Fault::new(
            code::NAMESPACE_EXISTS,
            format!("A {what} already exists. NS: {ns}"),
        ));
    }
    if Doc::Raw(&options).get("timeseries").is_some() && !ns.collection.starts_with(series::BUCKETS) {
        return series::create(write, ns, &options);
    }
    if view_on {
        if ns.collection.starts_with("system.") {
            return Err(Fault::new(
                code::INVALID_NAMESPACE,
                format!(
                    "View name cannot start with 'system.', which is reserved for system namespaces: {ns}"
                ),
            ));
        }
        if write.in_transaction() {
            return Err(Fault::new(
                code::OPERATION_NOT_SUPPORTED_IN_TRANSACTION,
                "Cannot create a view in a multi-document transaction.",
            ));
        }
        view::refuse_cycle(write.catalog(), ns, Doc::Raw(&options))?;
    }
    create_stored(write, ns, &options)
}

/// Creates a capped collection of options that are those of another: it may be clustered, which `create` refuses.
pub(super) fn create_capped(write: &mut dyn Write, ns: &Namespace, mut options: Fields) -> Result<()> {
    let clustered = options.iter().position(|(name, _)| name == "clusteredIndex");
    let clustered = clustered.map(|at| options.remove(at));
    let life = options.iter().position(|(name, _)| name == "expireAfterSeconds");
    let life = life.filter(|_| clustered.is_some()).map(|at| options.remove(at));
    let checked = rules::normalize(Doc::Fields(&options), &ns.to_string())?;
    let mut stored = fields_of(Doc::Raw(&checked));
    stored.extend(clustered);
    stored.extend(life);
    rules::sort(&mut stored);
    ns.check()?;
    write.claim(TreeId::CATALOG, &Catalog::claim_key(&ns.database, &ns.collection))?;
    create_stored(write, ns, &Doc::Fields(&stored).to_bytes())
}

fn create_stored(write: &mut dyn Write, ns: &Namespace, options: &[u8]) -> Result<()> {
    let rules = Rules::parse(Doc::Raw(options))?;
    let id_index = match &rules.clustered {
        Some(clustered) => IndexDefinition::clustered(&clustered.name, &rules.collation),
        None => IndexDefinition::id(&rules.collation),
    };
    write
        .catalog_mut()
        .create_collection(&ns.database, &ns.collection, options, Some(id_index))
        .map(|_| ())
}

/// Refuses a collection that does not have this UUID, or is not there.
///
/// # Errors
/// Code 361.
pub(crate) fn check_uuid(catalog: &Catalog, ns: &Namespace, expected: Option<[u8; 16]>) -> Result<()> {
    let Some(expected) = expected else {
        return Ok(());
    };
    match catalog.collection(&ns.database, &ns.collection) {
        Some(own) if own.uuid == expected => Ok(()),
        _ => Err(Fault::new(361, "Collection UUID does not match that specified")),
    }
}

/// Drops a collection; `false` when there is none. A time series goes with its documents, by whatever name.
pub(crate) fn drop(write: &mut dyn Write, ns: &Namespace) -> Result<bool> {
    let catalog = write.catalog();
    let other = series::series_of(catalog, ns).or_else(|| series::lone_buckets(catalog, ns));
    let ns = other.as_ref().unwrap_or(ns);
    if series::is_series(write.catalog(), ns) {
        drop_one(write, &series::buckets_of(ns))?;
    }
    drop_one(write, ns)
}

fn drop_one(write: &mut dyn Write, ns: &Namespace) -> Result<bool> {
    if write.catalog().collection(&ns.database, &ns.collection).is_none() {
        return Ok(false);
    }
    write.claim(TreeId::CATALOG, &Catalog::claim_key(&ns.database, &ns.collection))?;
    let dropped = write.catalog_mut().drop_collection(&ns.database, &ns.collection);
    if let Some(collection) = &dropped
        && collection.rules.view.is_none()
    {
        change::dropped(write, collection);
    }
    Ok(dropped.is_some())
}

/// Drops a collection that another takes the name of: the log has only the other's new name.
pub(crate) fn make_way(write: &mut dyn Write, ns: &Namespace) -> Result<()> {
    write.claim(TreeId::CATALOG, &Catalog::claim_key(&ns.database, &ns.collection))?;
    write.catalog_mut().drop_collection(&ns.database, &ns.collection);
    Ok(())
}

/// Drops every collection of a database.
pub(crate) fn drop_database(write: &mut dyn Write, database: &str) -> Result<()> {
    let names: Vec<String> = write
        .catalog()
        .collections(database)
        .map(|own| own.name.to_string())
        .collect();
    let exists = !names.is_empty();
    for name in names {
        drop(
            write,
            &Namespace {
                database: database.to_owned(),
                collection: name,
            },
        )?;
    }
    if exists {
        change::database_dropped(write, database);
    }
    Ok(())
}

/// Describes the collections that match, as `listCollections` does.
pub(crate) fn list(read: &dyn Read, database: &str, filter: Doc<'_>) -> Result<Vec<Vec<u8>>> {
    let matcher = Matcher::parse(filter)?;
    let mut found = Vec::new();
    for collection in read.catalog().collections(database) {
        let id_index = collection
            .indexes
            .iter()
            .find(|entry| entry.definition.is_id() && !entry.definition.clustered)
            .map(|entry| Owned::RawDocument(entry.definition.spec().to_vec()));
        let is_front = collection.rules.view.is_some();
        let kind = match (is_front, &collection.rules.series) {
            (false, _) => "collection",
            (true, Some(_)) => "timeseries",
            (true, None) => "view",
        };
        let id_index = id_index.filter(|_| !is_front);
        let mut info = vec![("readOnly".to_owned(), Owned::Bool(kind == "view"))];
        if !is_front {
            let uuid = Owned::Binary {
                subtype: 4,
                bytes: collection.uuid.to_vec(),
            };
            info.push(("uuid".to_owned(), uuid));
        }
        let info = Owned::Document(info);
        let mut fields = vec![
            ("name".to_owned(), Owned::String(collection.name.to_string())),
            ("type".to_owned(), Owned::String(kind.to_owned())),
            (
                "options".to_owned(),
                Owned::Document(series::listed_options(collection)),
            ),
            ("info".to_owned(), info),
        ];
        if let Some(index) = id_index {
            fields.push(("idIndex".to_owned(), index));
        }
        let document = Owned::Document(fields);
        if let Value::Document(doc) = document.as_value()
            && matcher.matches(doc)?
        {
            found.push(doc.to_bytes());
        }
    }
    Ok(found)
}
