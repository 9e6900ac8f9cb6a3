//! The catalog's records: one sealed BSON document per collection and one of counters.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Catalog, Collection, CollectionId, IndexEntry};
use crate::native::collation::KEYS;
use crate::native::document::doc::framed;
use crate::native::document::{Doc, Value, validate};
use crate::native::fault::Result;
use crate::native::index::IndexDefinition;
use crate::native::index::arrays::Arrays;
use crate::native::storage::format::{damaged, hex, seal, unseal};
use crate::native::storage::{ALL, Pending, TreeId, Trees};

/// The key of the counters.
const COUNTERS: &[u8] = b"n";

/// The first byte of a collection's key; its id (u32 BE) follows.
const COLLECTION: u8 = b"c"[0];

fn collection_key(id: CollectionId) -> [u8; 5] {
    let id = id.0.to_be_bytes();
    [COLLECTION, id[0], id[1], id[2], id[3]]
}

/// Reads the catalog of a store; every collection's next record id follows its last record.
///
/// # Errors
/// Class `Corrupt` when a record is damaged.
pub(crate) fn load(trees: &dyn Trees) -> Result<Catalog> {
    let mut catalog = Catalog::default();
    let (mut last_id, mut last_tree) = (0, 0);
    trees.scan(TreeId::CATALOG, ALL, false, &mut |key, stored| {
        let bytes = unseal(TreeId::CATALOG, key, stored)?;
        validate(bytes).map_err(|_| damaged("a catalog record is not BSON".to_owned()))?;
        let document = Doc::Raw(bytes);
        if key == COUNTERS {
            catalog
                .next_id
                .fetch_max(number(document, "collection")?, Ordering::Relaxed);
            catalog
                .next_tree
                .fetch_max(number(document, "tree")?, Ordering::Relaxed);
        } else {
            let collection = decode(document)?;
            last_id = last_id.max(collection.id.0);
            last_tree = collection.trees().map(TreeId::number).fold(last_tree, u32::max);
            catalog.insert(Arc::new(collection));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    catalog
        .next_id
        .fetch_max(last_id.saturating_add(1), Ordering::Relaxed);
    catalog
        .next_tree
        .fetch_max(last_tree.saturating_add(1), Ordering::Relaxed);
    let capped: Vec<Arc<Collection>> = catalog
        .all()
        .filter(|own| own.rules.capped.is_some())
        .cloned()
        .collect();
    for collection in capped {
        let (mut documents, mut bytes) = (0, 0);
        trees.scan(collection.records, ALL, false, &mut |key, stored| {
            documents += 1;
            // A damaged record is reported when it is read.
            bytes += unseal(collection.records, key, stored).map_or(0, |own| own.len() as i64);
            Ok(ControlFlow::Continue(()))
        })?;
        catalog.note_used(collection.id, documents, bytes)?;
    }
    for collection in catalog.all() {
        trees.scan(collection.records, ALL, true, &mut |key, _| {
            let record = key
                .try_into()
                .map_err(|_| damaged(format!("a record key of {} is damaged", collection.namespace())))?;
            collection.seen_record(u64::from_be_bytes(record));
            Ok(ControlFlow::Break(()))
        })?;
    }
    Ok(catalog)
}

/// Looks at every record of the catalog, those that [`load`] would stop at too; `problem` is told what is wrong.
///
/// # Errors
/// The records cannot be read.
pub(crate) fn inspect(trees: &dyn Trees, problem: &mut dyn FnMut(String)) -> Result<()> {
    let (mut names, mut used) = (BTreeSet::new(), BTreeSet::new());
    let (mut last_id, mut last_tree, mut counters) = (0, 0, None);
    trees.scan(TreeId::CATALOG, ALL, false, &mut |key, stored| {
        let what = hex(key);
        let record = unseal(TreeId::CATALOG, key, stored).and_then(|bytes| {
            validate(bytes).map_err(|_| damaged("a catalog record is not BSON".to_owned()))?;
            Ok(Doc::Raw(bytes))
        });
        let counted = |doc| -> Result<(u32, u32)> { Ok((number(doc, "collection")?, number(doc, "tree")?)) };
        match record {
            Err(fault) => problem(format!("catalog record {what}: {}", fault.message())),
            Ok(document) if key == COUNTERS => match counted(document) {
                Ok(found) => counters = Some(found),
                Err(fault) => problem(format!("the catalog's counters: {}", fault.message())),
            },
            Ok(document) => match decode(document) {
                Err(fault) => problem(format!("catalog record {what}: {}", fault.message())),
                Ok(collection) => {
                    let name = collection.namespace();
                    if key != collection_key(collection.id) {
                        problem(format!(
                            "catalog record {what}: it is of collection {}",
                            collection.id.0
                        ));
                    }
                    if collection
                        .indexes
                        .first()
                        .is_none_or(|index| !index.definition.is_id())
                        && collection.rules.view.is_none()
                        && collection.rules.series.is_none()
                    {
                        problem(format!("{name} has no index on _id"));
                    }
                    for tree in collection.trees() {
                        if !used.insert(tree) {
                            problem(format!("tree {} of {name} is used twice", tree.0));
                        }
                        last_tree = last_tree.max(tree.number());
                    }
                    last_id = last_id.max(collection.id.0);
                    if !names.insert(name.clone()) {
                        problem(format!("there are two collections {name}"));
                    }
                }
            },
        }
        Ok(ControlFlow::Continue(()))
    })?;
    match counters {
        None if names.is_empty() => {}
        None => problem("the catalog has no counters".to_owned()),
        Some((id, tree)) if id <= last_id || tree <= last_tree => {
            problem("the catalog's counters are behind what was given out".to_owned());
        }
        Some(_) => {}
    }
    Ok(())
}

/// Writes a collection's record.
pub(super) fn put(collection: &Collection, pending: &mut Pending) {
    let key = collection_key(collection.id);
    pending.put(
        TreeId::CATALOG,
        &key,
        &seal(TreeId::CATALOG, &key, &encode(collection)),
    );
}

/// Removes a collection's record.
pub(super) fn remove(id: CollectionId, pending: &mut Pending) {
    pending.remove(TreeId::CATALOG, &collection_key(id));
}

/// Writes the counters.
pub(super) fn put_counters(catalog: &Catalog, pending: &mut Pending) {
    let mut bytes = Vec::new();
    framed(&mut bytes, |out| {
        let next =
            |counter: &std::sync::atomic::AtomicU32| Value::Int64(i64::from(counter.load(Ordering::Relaxed)));
        next(&catalog.next_id).write_element(b"collection", out);
        next(&catalog.next_tree).write_element(b"tree", out);
    });
    pending.put(
        TreeId::CATALOG,
        COUNTERS,
        &seal(TreeId::CATALOG, COUNTERS, &bytes),
    );
}

fn encode(collection: &Collection) -> Vec<u8> {
    let mut bytes = Vec::new();
    framed(&mut bytes, |out| {
        Value::Int64(i64::from(collection.id.0)).write_element(b"id", out);
        Value::String(&collection.database).write_element(b"database", out);
        Value::String(&collection.name).write_element(b"name", out);
        Value::Int64(i64::from(collection.records.0)).write_element(b"records", out);
        let uuid = Value::Binary {
            subtype: 4,
            bytes: &collection.uuid,
        };
        uuid.write_element(b"uuid", out);
        Value::Document(Doc::Raw(&collection.options)).write_element(b"options", out);
        let mut indexes = Vec::new();
        framed(&mut indexes, |out| {
            for (at, index) in collection.indexes.iter().enumerate() {
                let entry = encode_index(index);
                Value::Document(Doc::Raw(&entry)).write_element(at.to_string().as_bytes(), out);
            }
        });
        Value::Array(Doc::Raw(&indexes)).write_element(b"indexes", out);
    });
    bytes
}

fn encode_index(index: &IndexEntry) -> Vec<u8> {
    let spec = index.definition.spec();
    let multikey: Vec<u8> = index.multikey.iter().map(|arrays| arrays.byte()).collect();
    let mut bytes = Vec::new();
    framed(&mut bytes, |out| {
        Value::Int64(i64::from(index.tree.0)).write_element(b"tree", out);
        Value::Document(Doc::Raw(spec)).write_element(b"spec", out);
        let multikey = Value::Binary {
            subtype: 0,
            bytes: &multikey,
        };
        multikey.write_element(b"multikey", out);
        if !index.definition.collation.is_simple() {
            let rules = if index.stale { "" } else { KEYS };
            Value::String(rules).write_element(b"rules", out);
        }
    });
    bytes
}

fn decode(document: Doc<'_>) -> Result<Collection> {
    let (
        Some(Value::Binary { bytes: uuid, .. }),
        Some(Value::Document(options)),
        Some(Value::Array(indexes)),
    ) = (
        document.get("uuid"),
        document.get("options"),
        document.get("indexes"),
    )
    else {
        return Err(missing("uuid, options or indexes"));
    };
    let uuid = uuid.try_into().map_err(|_| missing("uuid"))?;
    let indexes = indexes.values().map(decode_index).collect::<Result<_>>()?;
    Collection::new(
        CollectionId(number(document, "id")?),
        text(document, "database")?,
        text(document, "name")?,
        TreeId(number(document, "records")?),
        &options.to_bytes(),
        uuid,
        indexes,
    )
}

fn decode_index(value: Value<'_>) -> Result<IndexEntry> {
    let Value::Document(entry) = value else {
        return Err(missing("index"));
    };
    let (Some(Value::Document(spec)), Some(Value::Binary { bytes: multikey, .. })) =
        (entry.get("spec"), entry.get("multikey"))
    else {
        return Err(missing("spec or multikey"));
    };
    let mut index = IndexEntry::new(IndexDefinition::stored(spec)?, TreeId(number(entry, "tree")?));
    index.multikey = multikey.iter().map(|byte| Arrays::of_byte(*byte)).collect();
    index.stale = !index.definition.collation.is_simple()
        && entry.get("rules").and_then(|rules| rules.as_str()) != Some(KEYS);
    Ok(index)
}

fn number(document: Doc<'_>, name: &str) -> Result<u32> {
    match document.get(name) {
        Some(Value::Int64(number)) => u32::try_from(number).map_err(|_| missing(name)),
        _ => Err(missing(name)),
    }
}

fn text<'a>(document: Doc<'a>, name: &str) -> Result<&'a str> {
    match document.get(name) {
        Some(Value::String(text)) => Ok(text),
        _ => Err(missing(name)),
    }
}

fn missing(what: &str) -> crate::native::fault::Fault {
    damaged(format!("a catalog record lacks a valid {what}"))
}
