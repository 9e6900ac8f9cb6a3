//! One document and its index entries: put, replace, remove. All checks come before the first write.

use std::ops::{Bound, ControlFlow};

use super::super::catalog::{Collection, IndexEntry};
use super::super::document::Doc;
use super::super::document::doc::Element;
use super::super::fault::{Fault, Result};
use super::super::index::IndexKeys;
use super::super::key::types::Types;
use super::super::storage::{Read, Write, format};
use super::super::update::{Description, Updater};
use super::scan::RECORD_BYTES;
use super::{Namespace, capped, change, validate};

/// Adds a document under a new record id.
pub(crate) fn insert(
    write: &mut dyn Write,
    ns: &Namespace,
    collection: &Collection,
    document: &[u8],
) -> Result<()> {
    capped::refuse_in_transaction(write, collection)?;
    validate::inserted(collection, document)?;
    // Index by index, as on the server: a key that is taken is found before what is wrong with a later index.
    let mut keys = Vec::with_capacity(collection.indexes.len());
    for entry in &collection.indexes {
        let own = entry.definition.keys(Doc::Raw(document))?;
        if entry.definition.clustered {
            check_clustered(&own)?;
        }
        if entry.definition.guards() {
            check_unique(write, ns, entry, document, &own.keys, &[], None)?;
        }
        keys.push(own);
    }
    let record = write.next_record(collection.id)?;
    put_new(write, collection, record, document, &keys)
}

/// Puts a document and its keys, which have been checked.
pub(super) fn put_new(
    write: &mut dyn Write,
    collection: &Collection,
    record: u64,
    document: &[u8],
    keys: &[IndexKeys],
) -> Result<()> {
    let place = record.to_be_bytes();
    let sealed = format::seal(collection.records, &place, document);
    write.put(collection.records, &place, &sealed)?;
    for (entry, own) in collection.indexes.iter().zip(keys) {
        for key in &own.keys {
            with_stored_key(key, record, |stored| put_entry(write, entry, stored, &own.types))?;
        }
    }
    if let Some((entry, own)) = collection.indexes.first().zip(keys.first())
        && let ([key], true) = (&own.keys[..], entry.definition.is_id())
    {
        write.note_place(entry.tree, key, record);
    }
    change::inserted(write, collection, document);
    for (entry, own) in collection.indexes.iter().zip(keys) {
        note_multikey(write, collection, entry, own)?;
    }
    capped::note(write, collection, 1, document.len() as i64)?;
    capped::make_room(write, collection, record)
}

/// The most bytes that the key of a clustered collection's document has.
const LARGEST_CLUSTERED: usize = 8 << 20;

fn check_clustered(keys: &IndexKeys) -> Result<()> {
    // The end of the key is not the value's.
    let longest = keys.keys.iter().map(|key| key.len().saturating_sub(1)).max();
    match longest.filter(|bytes| *bytes > LARGEST_CLUSTERED) {
        None => Ok(()),
        Some(bytes) => Err(Fault::new(
            5_894_900,
            format!("Size of RecordId ({bytes}) is above limit of {LARGEST_CLUSTERED} bytes"),
        )),
    }
}

/// Puts what an update made of the document of a record; `matched` is the array position that `$` stood for, and no fields
/// but the `touched` are changed, if these are known.
pub(crate) fn update(
    write: &mut dyn Write,
    ns: &Namespace,
    collection: &Collection,
    (record, old, matched): (u64, &[u8], Option<usize>),
    new: &[u8],
    (updater, touched): (&Updater, Option<&[&[u8]]>),
) -> Result<()> {
    let found = match touched {
        None => changed_fields(old, new),
        Some(_) => None,
    };
    let changed = touched.or(found.as_deref());
    put(write, ns, collection, (record, old, new), changed)?;
    change::updated(write, collection, old, new, updater, matched)
}

/// Replaces the document of a record; the log has the description of what changed, if there is one.
pub(crate) fn replace(
    write: &mut dyn Write,
    ns: &Namespace,
    collection: &Collection,
    (record, old): (u64, &[u8]),
    new: &[u8],
    description: Option<&Description>,
) -> Result<()> {
    let changed = changed_fields(old, new);
    put(write, ns, collection, (record, old, new), changed.as_deref())?;
    change::changed(write, collection, old, new, description);
    Ok(())
}

/// Puts another document of a record; fields that are not among the `changed` are the same, if these are given.
fn put(
    write: &mut dyn Write,
    ns: &Namespace,
    collection: &Collection,
    (record, old, new): (u64, &[u8], &[u8]),
    changed: Option<&[&[u8]]>,
) -> Result<()> {
    let place = record.to_be_bytes();
    capped::refuse_in_transaction(write, collection)?;
    validate::replaced(collection, old, new)?;
    write.claim(collection.records, &place)?;
    let mut entries = Vec::with_capacity(collection.indexes.len());
    // Index by index, as new documents are looked at.
    for entry in &collection.indexes {
        if changed.is_none_or(|changed| entry.definition.depends_on(changed)) {
            let before = entry.definition.keys(Doc::Raw(old))?;
            let after = entry.definition.keys(Doc::Raw(new))?;
            if entry.definition.guards() {
                check_unique(write, ns, entry, new, &after.keys, &before.keys, Some(record))?;
            }
            entries.push((entry, before, after));
        }
    }
    let sealed = format::seal(collection.records, &place, new);
    write.put(collection.records, &place, &sealed)?;
    for (entry, before, after) in &entries {
        for key in before
            .keys
            .iter()
            .filter(|key| after.keys.binary_search(key).is_err())
        {
            with_stored_key(key, record, |stored| write.remove(entry.tree, stored))?;
        }
        // The same key can be that of a value of another type.
        let is_other = before.types != after.types;
        for key in after
            .keys
            .iter()
            .filter(|key| is_other || before.keys.binary_search(key).is_err())
        {
            with_stored_key(key, record, |stored| {
                put_entry(write, entry, stored, &after.types)
            })?;
        }
    }
    for (entry, _, after) in &entries {
        note_multikey(write, collection, entry, after)?;
    }
    capped::note(write, collection, 0, new.len() as i64 - old.len() as i64)
}

/// Removes a record.
pub(crate) fn remove(write: &mut dyn Write, collection: &Collection, record: u64, old: &[u8]) -> Result<()> {
    let place = record.to_be_bytes();
    capped::refuse_removal(write, collection)?;
    write.claim(collection.records, &place)?;
    let keys = collection.indexes.iter();
    let keys = keys.map(|entry| entry.definition.keys(Doc::Raw(old)));
    let keys = keys.collect::<Result<Vec<IndexKeys>>>()?;
    for (entry, own) in collection.indexes.iter().zip(&keys) {
        if entry.definition.guards() {
            for key in &own.keys {
                write.claim(entry.tree, key)?;
            }
        }
    }
    write.remove(collection.records, &place)?;
    for (entry, own) in collection.indexes.iter().zip(&keys) {
        for key in &own.keys {
            with_stored_key(key, record, |stored| write.remove(entry.tree, stored))?;
        }
    }
    change::removed(write, collection, old);
    capped::note(write, collection, -1, -(old.len() as i64))
}

/// Calls `body` with a stored key, which need not be allocated unless it is long.
fn with_stored_key<T>(key: &[u8], record: u64, body: impl FnOnce(&[u8]) -> T) -> T {
    const INLINE: usize = 120;
    if key.len() > INLINE {
        return body(&stored_key(key, record));
    }
    let mut stored = [0; INLINE + RECORD_BYTES];
    stored[..key.len()].copy_from_slice(key);
    stored[key.len()..key.len() + RECORD_BYTES].copy_from_slice(&record.to_be_bytes());
    body(&stored[..key.len() + RECORD_BYTES])
}

/// The key an index tree stores: the order key, then the record id.
pub(crate) fn stored_key(key: &[u8], record: u64) -> Vec<u8> {
    let mut stored = Vec::with_capacity(key.len() + RECORD_BYTES);
    stored.extend_from_slice(key);
    stored.extend_from_slice(&record.to_be_bytes());
    stored
}

/// Stores an entry of an index under its stored key, with what that does not say of its values.
pub(crate) fn put_entry(
    write: &mut dyn Write,
    entry: &IndexEntry,
    stored: &[u8],
    types: &Types,
) -> Result<()> {
    format::with_sealed_entry(entry.tree, stored, types, |value| {
        write.put(entry.tree, stored, value)
    })
}

/// The record that holds a key of an index, another than `except`.
pub(crate) fn holder(
    read: &dyn Read,
    entry: &IndexEntry,
    key: &[u8],
    except: Option<u64>,
) -> Result<Option<u64>> {
    with_stored_key(key, 0, |from| {
        with_stored_key(key, u64::MAX, |to| {
            holder_between(read, entry, (key, from, to), except)
        })
    })
}

fn holder_between(
    read: &dyn Read,
    entry: &IndexEntry,
    (key, from, to): (&[u8], &[u8], &[u8]),
    except: Option<u64>,
) -> Result<Option<u64>> {
    let mut found = None;
    read.scan(
        entry.tree,
        (Bound::Included(from), Bound::Included(to)),
        false,
        &mut |stored, _| {
            let record = stored
                .get(key.len()..)
                .and_then(|id| id.try_into().ok())
                .map(u64::from_be_bytes);
            if record.is_some() && record != except {
                found = record;
                return Ok(ControlFlow::Break(()));
            }
            Ok(ControlFlow::Continue(()))
        },
    )?;
    Ok(found)
}

/// Of so many fields it is worked out which changed.
const MOST_FIELDS: usize = 64;

/// The names of the document's own fields that two versions of it do not share; `None` when that is not worked out.
fn changed_fields<'d>(old: &'d [u8], new: &'d [u8]) -> Option<Vec<&'d [u8]>> {
    let (mut left, mut right) = (Doc::Raw(old).elements(), Doc::Raw(new).elements());
    let mut changed = Vec::new();
    loop {
        let rest = (left.clone(), right.clone());
        match (left.next(), right.next()) {
            (None, None) => return Some(changed),
            (Some(one), Some(other)) if one.name() == other.name() => {
                if !is_same(&one, &other) {
                    changed.push(one.name());
                }
            }
            // From here on they have other names in other places.
            _ => {
                let (left, right): (Vec<_>, Vec<_>) = (rest.0.collect(), rest.1.collect());
                if left.len().max(right.len()) > MOST_FIELDS {
                    return None;
                }
                let named = |all: &[Element<'d>], name: &[u8]| {
                    all.iter().find(|element| element.name() == name).copied()
                };
                for one in &left {
                    if named(&right, one.name()).is_none_or(|other| !is_same(one, &other)) {
                        changed.push(one.name());
                    }
                }
                let added = right.iter().filter(|other| named(&left, other.name()).is_none());
                changed.extend(added.map(|other| other.name()));
                return Some(changed);
            }
        }
    }
}

fn is_same(one: &Element<'_>, other: &Element<'_>) -> bool {
    match (one, other) {
        (
            Element::Raw { kind, payload, .. },
            Element::Raw {
                kind: other_kind,
                payload: other_payload,
                ..
            },
        ) => kind == other_kind && payload == other_payload,
        _ => false,
    }
}

/// Reserves every key of a unique index that the document brings or gives up, and looks the new ones up.
fn check_unique(
    write: &mut dyn Write,
    ns: &Namespace,
    entry: &IndexEntry,
    document: &[u8],
    new: &[Vec<u8>],
    old: &[Vec<u8>],
    record: Option<u64>,
) -> Result<()> {
    for key in old.iter().filter(|key| new.binary_search(key).is_err()) {
        write.claim(entry.tree, key)?;
    }
    for key in new.iter().filter(|key| old.binary_search(key).is_err()) {
        write.claim(entry.tree, key)?;
        if !write.is_absent(entry.tree, key)? && holder(write, entry, key, record)?.is_some() {
            return Err(duplicate(ns, entry, document, key));
        }
    }
    Ok(())
}

/// The fault of a unique index that holds a key already.
pub(crate) fn duplicate(ns: &Namespace, entry: &IndexEntry, document: &[u8], key: &[u8]) -> Fault {
    entry
        .definition
        .duplicate(&ns.to_string(), Doc::Raw(document), key)
}

/// Remembers that an index holds several keys of one document, where it does.
fn note_multikey(
    write: &mut dyn Write,
    collection: &Collection,
    entry: &IndexEntry,
    keys: &IndexKeys,
) -> Result<()> {
    match entry.would_change(&keys.multikey) {
        true => write
            .catalog_mut()
            .set_multikey(collection.id, entry.tree, &keys.multikey),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::document::Owned;
    use super::*;

    fn document(fields: &[(&str, i32)]) -> Vec<u8> {
        let fields: Vec<(String, Owned)> = fields
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Owned::Int32(*value)))
            .collect();
        Doc::Fields(&fields).to_bytes()
    }

    #[test]
    fn changed_fields_are_those_that_two_versions_do_not_share() {
        let old = [("_id", 1), ("a", 1), ("b", 2), ("c", 3)];
        type Fields = [(&'static str, i32)];
        let cases: [(&Fields, &[&str]); 8] = [
            (&old, &[]),
            (&[("_id", 1), ("a", 1), ("b", 5), ("c", 3)], &["b"]),
            (&[("_id", 1), ("a", 1), ("c", 3)], &["b"]),
            (&[("_id", 1), ("a", 9), ("c", 4)], &["a", "b", "c"]),
            (&[("_id", 1), ("a", 1), ("b", 2), ("c", 3), ("d", 4)], &["d"]),
            (&[("_id", 1), ("c", 3), ("b", 2), ("a", 1)], &[]),
            (&[("_id", 1), ("x", 1), ("b", 2), ("c", 3)], &["a", "x"]),
            (&[("_id", 1)], &["a", "b", "c"]),
        ];
        for (new, expected) in cases {
            let (old, new) = (document(&old), document(new));
            let changed = changed_fields(&old, &new).unwrap();
            let mut changed: Vec<&str> = changed
                .into_iter()
                .map(|name| std::str::from_utf8(name).unwrap())
                .collect();
            changed.sort_unstable();
            assert_eq!(changed, expected);
        }
        let many: Vec<(String, i32)> = (0..100).map(|n| (format!("f{n}"), n)).collect();
        let many: Vec<(&str, i32)> = many.iter().map(|(name, n)| (name.as_str(), *n)).collect();
        assert_eq!(changed_fields(&document(&many), &document(&many)), Some(vec![]));
        assert_eq!(changed_fields(&document(&many), &document(&many[1..])), None);
    }
}
