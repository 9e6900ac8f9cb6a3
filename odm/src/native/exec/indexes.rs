//! Creating, building, dropping and listing indexes.

mod beside;
mod proposed;

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use self::beside::{State, check_number, check_together, exists};
use self::proposed::propose;
use super::super::catalog::rules::encrypted;
use super::super::catalog::{Collection, IndexEntry};
use super::super::collation::Collation;
use super::super::document::{Doc, Value, equal};
use super::super::fault::{Fault, Result, code};
use super::super::index::arrays::{self, Arrays};
use super::super::index::{ID_INDEX, IndexDefinition, Proposal};
use super::super::key::types::Types;
use super::super::storage::{Read, Write, format};
use super::{Namespace, batch, record, series, view};

/// Creates indexes, and the collection where it is missing. One that exists already with the same options is left.
pub(crate) fn create(write: &mut dyn Write, ns: &Namespace, specs: &[Vec<u8>]) -> Result<()> {
    view::refuse_buckets(write.catalog(), ns)?;
    let stored_in = series::stored_in(write.catalog(), ns);
    let ns = &*stored_in;
    let found = write.catalog().collection(&ns.database, &ns.collection);
    let is_new = found.is_none_or(|own| write.has_made(own.id));
    let proposals = propose(write.catalog(), ns, specs)?;
    let definitions = || proposals.iter().map(|proposal| &proposal.definition);
    for field in found.iter().flat_map(|own| own.rules.encrypted.iter()) {
        let mut keys = definitions().flat_map(|definition| &definition.keys);
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
    let Some(collection) = batch::open_for(write, ns, true)? else {
        return Ok(());
    };
    let series = collection.rules.series.as_deref();
    let known = collection.indexes.iter().map(|entry| &*entry.definition);
    let mut new: Vec<Proposal> = Vec::new();
    for proposal in proposals {
        if !exists(known.clone(), &proposal.definition, series)? {
            check_number(ns, collection.indexes.len(), &proposal.definition)?;
            new.push(proposal);
        }
    }
    if !new.is_empty() && write.in_transaction() {
        refuse_in_transaction(write, &collection, ns)?;
    }
    let state = match is_new {
        true => State::New,
        false if has_documents(&*write, &collection)? => State::Filled,
        false => State::Empty,
    };
    check_together(&collection, ns, &new, state)?;
    for proposal in new {
        build(write, ns, proposal.definition)?;
    }
    Ok(())
}

/// What is said before the reason why the indexes of a collection could not be built.
fn build_failed(ns: &Namespace, collection: &Collection, build: bson::Uuid) -> String {
    let uuid = bson::Uuid::from_bytes(collection.uuid);
    format!("Index build failed: {build}: Collection {ns} ( {uuid} ) :: caused by :: ")
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
    let failed = |fault: Fault| fault.prefixed(&build_failed(ns, &collection, bson::Uuid::new()));
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
