//! Creating, dropping and listing collections.

use super::super::catalog::Catalog;
use super::super::catalog::rules::{self, Rules, encrypted};
use super::super::collation::Collation;
use super::super::document::owned::fields_of;
use super::super::document::{Doc, Fields, Owned, Value};
use super::super::fault::{Fault, Result, code};
use super::super::index::IndexDefinition;
use super::super::matcher::{Matcher, names};
use super::super::storage::{Read, TreeId, Write};
use super::{Namespace, change, series, view};

/// Creates a collection with its `_id` index, or a view.
pub(crate) fn create(write: &mut dyn Write, ns: &Namespace, options: Option<Doc<'_>>) -> Result<()> {
    ns.check()?;
    if !ns.is_of_server() {
        ns.check_writable()?;
    }
    write.claim(TreeId::CATALOG, &Catalog::claim_key(&ns.database, &ns.collection))?;
    let (options, version) = match options {
        Some(given) => {
            if let Some(on) = given.get("viewOn").filter(|on| on.as_str() != Some("")) {
                check_view(write.catalog(), ns, given)?;
                rules::view_on("create", on)?;
                view::check_output(given, &ns.database)?;
            }
            let options = rules::normalize(given, &ns.to_string())?;
            let version = id_version(given.get("idIndex"), &options)?;
            (options, version)
        }
        None => (Doc::empty().to_bytes(), 2),
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
    if let Some(Value::Document(series)) = Doc::Raw(&options).get("timeseries")
        && !ns.collection.starts_with(series::BUCKETS)
    {
        if ns.collection.starts_with("system.") && !view::list::is_list(ns) {
            return Err(reserved_series(ns, series));
        }
        return series::create(write, ns, &options);
    }
    if view_on {
        if write.in_transaction() {
            return Err(Fault::new(
                code::OPERATION_NOT_SUPPORTED_IN_TRANSACTION,
                "Cannot create a view in a multi-document transaction.",
            ));
        }
        // That there is a collection already is told before what it would stand on.
        if write.catalog().collection(&ns.database, &ns.collection).is_none() {
            view::refuse_cycle(write.catalog(), ns, Doc::Raw(&options))?;
        }
        view::list::ensure(write, &ns.database)?;
    }
    // That there is a collection already is told before.
    if write.catalog().collection(&ns.database, &ns.collection).is_none() {
        let given = Doc::Raw(&options);
        if given.get("validator").is_some() {
            refuse_validator(ns, bson::Uuid::new().bytes())?;
        }
        if given.get("encryptedFields").is_some() {
            encrypted::check_validation(given, &["validationLevel", "validationAction"])?;
        }
    }
    create_stored(write, ns, &options, version)
}

/// What is told of a view that would have a name of the server's own.
fn reserved_name(ns: &Namespace) -> Fault {
    let why = match view::list::is_list(ns) {
        true => "Cannot create a view called 'system.views': this is a reserved system namespace",
        false => "View name cannot start with 'system.', which is reserved for system namespaces",
    };
    Fault::new(code::INVALID_NAMESPACE, why)
}

/// The same of a time series: the server fails when it makes the view that it would have there.
fn reserved_series(ns: &Namespace, series: Doc<'_>) -> Fault {
    let buckets = series::buckets_of(ns);
    let unpacked = ["timeField", "metaField", "bucketMaxSpanSeconds"]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), series.get(name)?.into())));
    let stage = vec![(
        "$_internalUnpackBucket".to_owned(),
        Owned::Document(unpacked.collect()),
    )];
    let view: Fields = vec![
        ("viewOn".to_owned(), Owned::String(buckets.collection.clone())),
        ("pipeline".to_owned(), Owned::Array(vec![Owned::Document(stage)])),
    ];
    reserved_name(ns).prefixed(&format!(
        "Failed to create view on {buckets} for time-series collection {ns} with options {} :: caused by :: ",
        Doc::Fields(&view)
    ))
}

/// Refuses a validator of a collection of the server's own.
///
/// # Errors
/// Code 72.
pub(super) fn refuse_validator(ns: &Namespace, uuid: [u8; 16]) -> Result<()> {
    if !ns.collection.starts_with("system.") || ns.collection.starts_with(series::BUCKETS) {
        return Ok(());
    }
    Err(Fault::new(
        code::INVALID_OPTIONS,
        format!(
            "Document validators not allowed on system collection {ns} with UUID {}",
            bson::Uuid::from_bytes(uuid)
        ),
    ))
}

/// Refuses a view with options that it does not have, or whose name is taken or reserved, before it is looked at what it
/// would be of.
///
/// # Errors
/// Those of its other options; codes 48 and 73.
fn check_view(catalog: &Catalog, ns: &Namespace, given: Doc<'_>) -> Result<()> {
    let mut others = fields_of(given);
    for (name, value) in &mut others {
        match (name.as_str(), value.as_value()) {
            ("viewOn", Value::String(_)) => *value = Owned::String("c".to_owned()),
            ("pipeline", Value::Array(stages))
                if stages.values().all(|stage| matches!(stage, Value::Document(_))) =>
            {
                *value = Owned::Array(Vec::new());
            }
            _ => {}
        }
    }
    rules::normalize(Doc::Fields(&others), &ns.to_string())?;
    if ns.collection.starts_with("system.") {
        return Err(reserved_name(ns));
    }
    let Some(existing) = catalog.collection(&ns.database, &ns.collection) else {
        return Ok(());
    };
    Err(Fault::new(
        code::NAMESPACE_EXISTS,
        match &existing.rules.view {
            Some(_) => "Namespace already exists".to_owned(),
            None => format!("Cannot create collection {ns} - collection already exists."),
        },
    ))
}

/// Creates a collection of options that are those of another but for its bounds: it may be clustered, which `create`
/// refuses.
pub(super) fn create_capped(write: &mut dyn Write, ns: &Namespace, options: &[u8]) -> Result<()> {
    ns.check()?;
    write.claim(TreeId::CATALOG, &Catalog::claim_key(&ns.database, &ns.collection))?;
    create_stored(write, ns, options, 2)
}

/// The version of the index of `_id`, of which a command may say what it is.
///
/// # Errors
/// Code 2 for a collation that is not the collection's, 67 for one of an index of version 1.
fn id_version(given: Option<Value<'_>>, options: &[u8]) -> Result<i32> {
    let Some(Value::Document(given)) = given else {
        return Ok(2);
    };
    let index = IndexDefinition::parse(given)?;
    let collated = given.get("collation").is_some();
    if index.version() < 2 && collated {
        return Err(Fault::new(
            code::CANNOT_CREATE_INDEX,
            format!(
                "Invalid index specification {given}; cannot create an index with the 'collation' option and v={}",
                index.version()
            ),
        ));
    }
    if index.clustered {
        return Err(Fault::new(
            6_243_700,
            "Cannot create index with option 'clustered'",
        ));
    }
    // An index of version 2 that does not say takes the collection's.
    let own = Collation::of_options(Doc::Raw(options))?;
    match (collated || index.version() < 2) && index.collation != own {
        true => Err(Fault::new(
            code::BAD_VALUE,
            "'idIndex' must have the same collation as the collection.",
        )),
        false => Ok(index.version()),
    }
}

fn create_stored(write: &mut dyn Write, ns: &Namespace, options: &[u8], version: i32) -> Result<()> {
    let rules = Rules::parse(Doc::Raw(options))?;
    let id_index = match &rules.clustered {
        Some(clustered) => {
            IndexDefinition::clustered(Doc::Raw(&clustered.key), &clustered.name, &rules.collation)
        }
        None => IndexDefinition::id_of_version(&rules.collation, version),
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
    let actual = catalog
        .collections(&ns.database)
        .find(|collection| collection.uuid == expected);
    if actual.is_some_and(|actual| *actual.name == *ns.collection) {
        return Ok(());
    }
    let name = |name: &str| Owned::String(name.to_owned());
    let uuid = Owned::Binary {
        subtype: 4,
        bytes: expected.to_vec(),
    };
    let fields: Fields = vec![
        ("db".to_owned(), name(&ns.database)),
        ("collectionUUID".to_owned(), uuid),
        ("expectedCollection".to_owned(), name(&ns.collection)),
        (
            "actualCollection".to_owned(),
            actual.map_or(Owned::Null, |actual| name(&actual.name)),
        ),
    ];
    let fault = Fault::new(361, "Collection UUID does not match that specified");
    Err(fault.beside(Doc::Fields(&fields).to_bytes()))
}

/// Drops a collection; `false` when there is none. A time series goes with its documents, by whatever name.
pub(crate) fn drop(write: &mut dyn Write, ns: &Namespace) -> Result<bool> {
    if view::list::is_list(ns) {
        return view::list::drop_all(write, ns);
    }
    let catalog = write.catalog();
    let other = series::series_of(catalog, ns).or_else(|| series::lone_buckets(catalog, ns));
    let ns = other.as_ref().unwrap_or(ns);
    if series::is_series(write.catalog(), ns) {
        drop_one(write, &series::buckets_of(ns))?;
    }
    drop_one(write, ns)
}

pub(super) fn drop_one(write: &mut dyn Write, ns: &Namespace) -> Result<bool> {
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
        let ns = Namespace {
            database: database.to_owned(),
            collection: name,
        };
        match view::list::is_list(&ns) {
            true => drop_one(write, &ns)?,
            false => drop(write, &ns)?,
        };
    }
    if exists {
        change::database_dropped(write, database);
    }
    Ok(())
}

/// The filter of a listing.
///
/// # Errors
/// What is wrong with it; code 2 for what only a query may ask.
pub(crate) fn listing_filter(filter: Doc<'_>) -> Result<Matcher> {
    for operator in ["$where", "$text"] {
        if names(filter, operator) {
            return Err(Fault::new(
                code::BAD_VALUE,
                format!("{operator} is not allowed in this context"),
            ));
        }
    }
    Matcher::parse(filter)
}

/// Describes the collections that match, as `listCollections` does.
pub(crate) fn list(read: &dyn Read, database: &str, filter: Doc<'_>) -> Result<Vec<Vec<u8>>> {
    let matcher = listing_filter(filter)?;
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
