//! Creating, building, dropping and listing indexes.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use super::super::catalog::rules::{self, Series, encrypted};
use super::super::catalog::{Catalog, Collection, IndexEntry};
use super::super::collation::Collation;
use super::super::document::number::as_i64_exact;
use super::super::document::owned::fields_of;
use super::super::document::{Doc, Owned, Value, equal};
use super::super::fault::{Fault, Result, code};
use super::super::index::arrays::{self, Arrays};
use super::super::index::{ID_INDEX, IndexDefinition};
use super::super::key::types::Types;
use super::super::storage::{Read, Write, format};
use super::{Namespace, batch, record, series, view};

/// Creates indexes, and the collection where it is missing. One that exists already with the same options is left.
pub(crate) fn create(write: &mut dyn Write, ns: &Namespace, specs: &[Vec<u8>]) -> Result<()> {
    view::refuse_buckets(write.catalog(), ns)?;
    let stored_in = series::stored_in(write.catalog(), ns);
    let ns = &*stored_in;
    let found = write.catalog().collection(&ns.database, &ns.collection);
    let own = found
        .map(|collection| collection.rules.collation.clone())
        .unwrap_or_default();
    if let Some(series) = found.and_then(|collection| collection.rules.series.as_ref()) {
        for spec in specs {
            series::check_index(series, &own, Doc::Raw(spec))?;
        }
    }
    let is_series = found.is_some_and(|own| own.rules.series.is_some());
    // What is wrong with one by itself is told before what is wrong with another as a whole.
    for spec in specs.iter().filter(|_| specs.len() > 1 && !is_series) {
        refuse_pairs(Doc::Raw(spec))
            .and_then(|()| IndexDefinition::check_form(Doc::Raw(spec)))
            .map_err(|fault| of_view_first(write.catalog(), ns, Doc::Raw(spec), fault))?;
    }
    let definitions: Vec<IndexDefinition> = specs
        .iter()
        .map(|spec| {
            define(
                Doc::Raw(spec),
                &own,
                found.and_then(|own| own.rules.series.as_deref()),
            )
            .map_err(|fault| of_view_first(write.catalog(), ns, Doc::Raw(spec), fault))
        })
        .collect::<Result<_>>()?;
    let collection = write.catalog().collection(&ns.database, &ns.collection);
    for field in collection.iter().flat_map(|own| own.rules.encrypted.iter()) {
        let mut keys = definitions.iter().flat_map(|definition| &definition.keys);
        if keys.any(|key| encrypted::overlap(&key.path, &field.path)) {
            return Err(Fault::new(
                6_346_502,
                format!(
                    "Index not allowed on, or a prefix of, the encrypted field {}",
                    field.path
                ),
            ));
        }
    }
    let clustered = definitions.iter().find(|definition| definition.clustered);
    if clustered.is_some() && write.catalog().collection(&ns.database, &ns.collection).is_none() {
        return Err(Fault::new(
            6_100_900,
            "Cannot implicitly create a new collection with createIndex 'clustered' option",
        ));
    }
    let Some(collection) = batch::open_for(write, ns, true)? else {
        return Ok(());
    };
    if let Some(wanted) = clustered
        && !(collection.rules.clustered.is_some() && wanted.is_on_id())
    {
        return Err(Fault::new(
            6_243_700,
            "Cannot create index with option 'clustered' that does not match an existing clustered index",
        ));
    }
    if collection.rules.capped.is_some()
        && definitions
            .iter()
            .any(|definition| definition.expire_after_seconds.is_some())
    {
        return Err(Fault::new(
            code::CANNOT_CREATE_INDEX,
            "Cannot create TTL index on a capped collection",
        ));
    }
    let mut new: Vec<IndexDefinition> = Vec::new();
    let series = collection.rules.series.as_deref();
    for definition in definitions {
        let known = collection.indexes.iter().map(|entry| &*entry.definition);
        if exists(known, &definition, series)? {
            continue;
        }
        if exists(new.iter(), &definition, series)? {
            if has_documents(&*write, &collection)? {
                return Err(Fault::new(
                    96,
                    format!("Cannot build two identical indexes: {}", definition.name),
                ));
            }
            return Err(Fault::new(
                code::INDEX_ALREADY_EXISTS,
                format!("Identical index already exists: {}", definition.name),
            ));
        }
        new.push(definition);
    }
    if collection.indexes.len() + new.len() > 64 {
        return Err(Fault::new(
            code::CANNOT_CREATE_INDEX,
            format!("add index fails, too many indexes for {ns} key: a collection has at most 64"),
        ));
    }
    if !new.is_empty() && write.in_transaction() {
        refuse_in_transaction(write, &collection, ns)?;
    }
    for definition in new {
        build(write, ns, definition)?;
    }
    Ok(())
}

/// Of a view it is told that it has no indexes before some options are looked at.
fn of_view_first(catalog: &Catalog, ns: &Namespace, spec: Doc<'_>, fault: Fault) -> Fault {
    const LATE: &[&str] = &["collation", "expireAfterSeconds", "sparse", "unique"];
    let Err(refused) = view::refuse(catalog, ns) else {
        return fault;
    };
    let mut early = fields_of(spec);
    early.retain(|(name, _)| !LATE.contains(&name.as_str()));
    let is_late = fault.code() != code::TYPE_MISMATCH
        && refuse_pairs(spec).is_ok()
        && define(Doc::Fields(&early), &Collation::default(), None).is_ok();
    if is_late { refused } else { fault }
}

/// A transaction builds indexes only of collections that it has made, and put nothing into.
fn refuse_in_transaction(write: &dyn Write, collection: &Collection, ns: &Namespace) -> Result<()> {
    let what = match write.has_made(collection.id) {
        false => "existing",
        true if has_documents(write, collection)? => "non-empty",
        true => return Ok(()),
    };
    Err(Fault::new(
        code::OPERATION_NOT_SUPPORTED_IN_TRANSACTION,
        format!("Cannot create new indexes on {what} collection {ns} in a multi-document transaction."),
    ))
}

fn has_documents(read: &dyn Read, collection: &Collection) -> Result<bool> {
    let mut found = false;
    read.scan(
        collection.records,
        (Bound::Unbounded, Bound::Unbounded),
        false,
        &mut |_, _| {
            found = true;
            Ok(ControlFlow::Break(()))
        },
    )?;
    Ok(found)
}

/// Reads a specification; what says no collation has that of the collection.
fn define(spec: Doc<'_>, own: &Collation, series: Option<&Series>) -> Result<IndexDefinition> {
    refuse_pairs(spec)?;
    let definition = match (series, own.spec(), spec.get("collation")) {
        (None, _, _) => IndexDefinition::parse_for(spec, own)?,
        (Some(series), Some(inherited), None) if version(spec) != Some(1) => {
            let mut fields = fields_of(spec);
            fields.push(("collation".to_owned(), Owned::RawDocument(inherited.to_bytes())));
            series::define(series, Doc::Fields(&fields))?
        }
        (Some(series), _, _) => series::define(series, spec)?,
    };
    if definition.is_id() && definition.collation != *own {
        return Err(Fault::new(
            code::BAD_VALUE,
            format!(
                "The _id index must have the same collation as the collection. Index collation: {}, collection \
                 collation: {}",
                definition.collation.shown(),
                own.shown()
            ),
        ));
    }
    Ok(definition)
}

/// Refuses options that a new index does not have together.
fn refuse_pairs(spec: Doc<'_>) -> Result<()> {
    let refused = |first: &str, second: &str| {
        Err(Fault::new(
            code::CANNOT_CREATE_INDEX,
            format!(
                "Invalid index specification {spec}; cannot create an index with the '{first}' option and {second}"
            ),
        ))
    };
    let asks = |name: &str| {
        spec.get(name)
            .is_some_and(|value| rules::flag(name, value).unwrap_or(false))
    };
    if asks("unique") && asks("prepareUnique") {
        return refused("unique", "the 'prepareUnique' option");
    }
    if version(spec) == Some(1) && spec.get("collation").is_some() {
        return refused("collation", "v=1");
    }
    Ok(())
}

fn version(spec: Doc<'_>) -> Option<i64> {
    spec.get("v").and_then(|version| as_i64_exact(&version))
}

/// Whether the same index is there; another with its name or its keys is an error (86, 85).
fn exists<'a>(
    known: impl Iterator<Item = &'a IndexDefinition> + Clone,
    wanted: &IndexDefinition,
    series: Option<&Series>,
) -> Result<bool> {
    let mut other_text = None;
    let named = |own: &&IndexDefinition| own.clustered || own.name == wanted.name;
    // That of the name is asked first.
    for own in known.clone().filter(named).chain(known.filter(|own| !named(own))) {
        let same_name = own.name == wanted.name;
        let same_keys = equal(
            &Value::Document(own.key_pattern()),
            &Value::Document(wanted.key_pattern()),
        );
        if own.clustered && same_keys {
            return Ok(true);
        }
        if own.clustered && same_name {
            return Err(Fault::new(
                6_100_906,
                format!(
                    "Cannot create an index where the name matches the clusteredIndex but the key does not - indexSpec: {}, clusteredIndex: {}",
                    wanted.shown(),
                    own.shown()
                ),
            ));
        }
        if same_name && same_keys && same_options(own, wanted, series) {
            return Ok(true);
        }
        if same_keys && same_identity(own, wanted) {
            let message = if same_name {
                format!(
                    "An equivalent index already exists with the same name but different options. Requested index: {}, existing index: {}",
                    wanted.shown(),
                    own.shown()
                )
            } else if same_options(own, wanted, series) {
                format!("Index already exists with a different name: {}", own.name)
            } else {
                format!(
                    "An equivalent index already exists with a different name and options. Requested index: {}, existing index: {}",
                    wanted.shown(),
                    own.shown()
                )
            };
            return Err(Fault::new(code::INDEX_OPTIONS_CONFLICT, message));
        }
        if own.text.is_some() && wanted.text.is_some() {
            other_text = Some(own);
        }
        if same_name {
            return Err(Fault::new(
                code::INDEX_KEY_SPECS_CONFLICT,
                format!(
                    "An existing index has the same name as the requested index. When index names are not specified, they are auto generated and can cause conflicts. Please refer to our documentation. Requested index: {}, existing index: {}",
                    wanted.shown(),
                    own.shown()
                ),
            ));
        }
    }
    match other_text {
        None => Ok(false),
        Some(own) => Err(Fault::new(
            code::CANNOT_CREATE_INDEX,
            format!(
                "only one text index per collection allowed, found existing text index \"{}\"",
                own.name
            ),
        )),
    }
}

/// Two indexes with the same identity cannot stand beside each other, whatever their names.
fn same_identity(own: &IndexDefinition, other: &IndexDefinition) -> bool {
    let same_filter = match (&own.partial, &other.partial) {
        (None, None) => true,
        (Some(own), Some(other)) => own.root().is_same(other.root()),
        _ => false,
    };
    let same_fields = match (&own.wildcard, &other.wildcard) {
        (None, None) => true,
        (Some(own), Some(other)) => own.is_same(other),
        _ => false,
    };
    own.unique == other.unique
        && own.collation == other.collation
        && own.sparse == other.sparse
        && same_filter
        && same_fields
}

/// What of a specification does not matter to whether an index is there, or is part of its identity.
const APART: [&str; 15] = [
    "v",
    "key",
    "name",
    "ns",
    "background",
    "dropDups",
    "hidden",
    "unique",
    "sparse",
    "collation",
    "clustered",
    "partialFilterExpression",
    "wildcardProjection",
    "2dsphereIndexVersion",
    "textIndexVersion",
];

/// The options that are no part of the identity. Those of an index of measurements are all that was given, with its name.
fn same_options(own: &IndexDefinition, other: &IndexDefinition, series: Option<&Series>) -> bool {
    let is_measured = series.is_some_and(|series| series::is_measured(series, own.key_pattern()));
    let options = |definition: &IndexDefinition| {
        let mut options = fields_of(Doc::Raw(definition.spec()));
        options.retain(|(name, _)| is_measured || !APART.contains(&name.as_str()));
        options.sort_by(|(a, _), (b, _)| a.cmp(b));
        Owned::Document(options)
    };
    same_identity(own, other) && equal(&options(own).as_value(), &options(other).as_value())
}

/// Builds one index from the documents there are: all checks first, then the entries.
fn build(write: &mut dyn Write, ns: &Namespace, definition: IndexDefinition) -> Result<()> {
    let Some(collection) = write.catalog().collection(&ns.database, &ns.collection).cloned() else {
        return Ok(());
    };
    // When the build fails, so does the job, and the index is gone with it.
    let tree = write.catalog_mut().add_index(collection.id, definition.clone())?;
    let entry = IndexEntry {
        definition: Arc::new(definition),
        tree,
        multikey: Vec::new(),
        stale: false,
    };
    let uuid = collection.uuid;
    let failed = |fault: Fault| {
        let collection = bson::Uuid::from_bytes(uuid);
        fault.prefixed(&format!(
            "Index build failed: {}: Collection {ns} ( {collection} ) :: caused by :: ",
            bson::Uuid::new()
        ))
    };
    let mut stored: Vec<(Vec<u8>, Types)> = Vec::new();
    let mut multikey = vec![Arrays::NONE; entry.definition.keys.len()];
    let records = collection.records;
    write.scan(
        records,
        (Bound::Unbounded, Bound::Unbounded),
        false,
        &mut |place, value| {
            let document = format::unseal(records, place, value)?;
            let keys = match &collection.rules.series {
                None => entry.definition.keys(Doc::Raw(document)),
                Some(series) => series::keys(series, &entry.definition, Doc::Raw(document)),
            };
            let keys = keys.map_err(&failed)?;
            arrays::join(&mut multikey, &keys.multikey);
            for mut key in keys.keys {
                key.extend_from_slice(place);
                stored.push((key, keys.types));
            }
            Ok(ControlFlow::Continue(()))
        },
    )?;
    stored.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    if entry.definition.unique {
        for pair in stored.windows(2) {
            let (first, second) = (split(&pair[0].0), split(&pair[1].0));
            if first.0 == second.0 && first.1 != second.1 {
                let place = second.1;
                let document = write.get(records, place)?.unwrap_or_default();
                let document = format::unseal(records, place, &document)?.to_vec();
                return Err(failed(record::duplicate(ns, &entry, &document, second.0)));
            }
        }
    }
    for (key, types) in &stored {
        record::put_entry(write, &entry, key, types)?;
    }
    if entry.would_change(&multikey) {
        write.catalog_mut().set_multikey(collection.id, tree, &multikey)?;
    }
    Ok(())
}

/// Whether two documents have one key.
pub(super) fn has_duplicates(read: &dyn Read, entry: &IndexEntry) -> Result<bool> {
    let (mut last, mut found): (Option<Vec<u8>>, bool) = (None, false);
    let all = (Bound::Unbounded, Bound::Unbounded);
    read.scan(entry.tree, all, false, &mut |stored, _| {
        let key = split(stored).0;
        // A document has no key twice in an index, so that the same key is another document's.
        found = last.as_deref() == Some(key);
        last = Some(key.to_vec());
        Ok(if found {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    })?;
    Ok(found)
}

/// A stored key's order key and record id.
fn split(stored: &[u8]) -> (&[u8], &[u8]) {
    stored.split_at(stored.len().saturating_sub(super::scan::RECORD_BYTES))
}

/// The indexes of these keys.
pub(super) fn with_keys<'a>(
    collection: &'a Collection,
    keys: Doc<'a>,
) -> impl Iterator<Item = &'a IndexEntry> + 'a {
    collection.indexes.iter().filter(move |entry| {
        equal(
            &Value::Document(entry.definition.key_pattern()),
            &Value::Document(keys),
        )
    })
}

/// Drops indexes by name, by key pattern, by a list of names, or all but that of `_id` (`"*"`).
pub(crate) fn drop(write: &mut dyn Write, ns: &Namespace, which: &Value<'_>) -> Result<()> {
    if view::list::is_list(ns) {
        return Err(Fault::new(
            51070,
            format!("Modifications to {ns} must take an exclusive lock"),
        ));
    }
    view::refuse_buckets(write.catalog(), ns)?;
    let stored_in = series::stored_in(write.catalog(), ns);
    let ns = &*stored_in;
    view::refuse(write.catalog(), ns)?;
    let Some(collection) = write.catalog().collection(&ns.database, &ns.collection).cloned() else {
        return Err(Fault::new(
            code::NAMESPACE_NOT_FOUND,
            format!("ns not found {ns}"),
        ));
    };
    let mut names: Vec<String> = Vec::new();
    match which {
        Value::String("*") => {
            names.extend(all_but_id(&collection));
        }
        Value::String(name) => names.push(named(&collection, name)?),
        Value::Document(keys) => {
            let with_keys: Vec<&IndexEntry> = with_keys(&collection, *keys).collect();
            if with_keys.len() > 1 {
                let specs = with_keys.iter().take(2).map(|entry| entry.definition.shown());
                return Err(Fault::new(
                    181,
                    format!(
                        "{} indexes found for key: {keys}, identify by name instead. Conflicting indexes: {}",
                        with_keys.len(),
                        specs.collect::<Vec<_>>().join(", ")
                    ),
                ));
            }
            match with_keys.first() {
                Some(entry) => names.push(named(&collection, &entry.definition.name)?),
                None => {
                    return Err(Fault::new(
                        code::INDEX_NOT_FOUND,
                        format!("can't find index with key: {keys}"),
                    ));
                }
            }
        }
        // Whatever follows is not looked at.
        Value::Array(list) if list.at(0).is_some_and(|first| first.as_str() == Some("*")) => {
            names.extend(all_but_id(&collection));
        }
        Value::Array(list) => {
            for item in list.values() {
                match item {
                    // A name that comes twice is gone the second time.
                    Value::String(name) if names.iter().any(|own| own == name) => return Err(missing(name)),
                    Value::String(name) => names.push(named(&collection, name)?),
                    _ => return Err(bad_drop()),
                }
            }
        }
        _ => return Err(bad_drop()),
    }
    for name in names {
        if let Some(entry) = collection
            .indexes
            .iter()
            .find(|entry| entry.definition.name == name)
        {
            write.catalog_mut().drop_index(collection.id, entry.tree)?;
        }
    }
    Ok(())
}

fn bad_drop() -> Fault {
    Fault::new(
        code::TYPE_MISMATCH,
        "dropIndexes takes an index name, a key pattern or an array of names",
    )
}

fn all_but_id(collection: &Collection) -> impl Iterator<Item = String> + '_ {
    let others = collection
        .indexes
        .iter()
        .filter(|entry| !entry.definition.is_id());
    others.map(|entry| entry.definition.name.clone())
}

fn named(collection: &Collection, name: &str) -> Result<String> {
    match collection.index(name) {
        Some(entry) if entry.definition.clustered => {
            Err(Fault::new(5_979_800, "It is illegal to drop the clusteredIndex"))
        }
        Some(entry) if entry.definition.is_id() => {
            Err(Fault::new(code::INVALID_OPTIONS, "cannot drop _id index"))
        }
        Some(entry) => Ok(entry.definition.name.clone()),
        None if collection.rules.series.is_some() && name == ID_INDEX => {
            Err(Fault::new(5_979_800, "It is illegal to drop the clusteredIndex"))
        }
        None => Err(missing(name)),
    }
}

fn missing(name: &str) -> Fault {
    Fault::new(
        code::INDEX_NOT_FOUND,
        format!("index not found with name [{name}]"),
    )
}

/// The specifications of a collection's indexes; `None` when there is no such collection.
pub(crate) fn list(read: &dyn Read, ns: &Namespace) -> Option<Vec<Vec<u8>>> {
    let stored_in = series::stored_in(read.catalog(), ns);
    let found = read
        .catalog()
        .collection(&stored_in.database, &stored_in.collection);
    // An older file has views without the collection of them.
    if found.is_none() && view::list::is_list(ns) {
        let mut all = read.catalog().collections(&ns.database);
        let has_views = all.any(|collection| collection.rules.view.is_some());
        let id = IndexDefinition::id(&Collation::default());
        return has_views.then(|| vec![id.spec().to_vec()]);
    }
    let collection = found?;
    Some(
        collection
            .indexes_as_made()
            .into_iter()
            .map(|entry| entry.definition.spec().to_vec())
            .collect(),
    )
}
