//! One index against the documents.

use std::collections::HashSet;
use std::ops::ControlFlow;

use super::{Done, Finding, RepairReport, Wrong, readable, record_id};
use crate::native::catalog::{Collection, CollectionId, IndexEntry};
use crate::native::document::Owned;
use crate::native::engine::check::RECORD_ID_BYTES;
use crate::native::fault::Result;
use crate::native::index::arrays::{self, Arrays};
use crate::native::key::types::Types;
use crate::native::storage::format::{seal_entry, unseal_entry};
use crate::native::storage::{ALL, Read, TreeId, Write};

/// A stored key, and what it does not say of its values.
type Stored = (Vec<u8>, Types);

/// What makes an index right.
#[derive(Debug, Default)]
pub(super) struct Cure {
    unique: bool,
    /// Stored keys, with what they do not say of their values.
    add: Vec<Stored>,
    remove: Vec<Vec<u8>>,
    multikey: Option<Vec<Arrays>>,
}

impl Cure {
    /// Claims, then writes.
    ///
    /// # Errors
    /// Blocked while a running transaction holds a key that a unique index lacks or has too much.
    pub(super) fn apply(self, write: &mut dyn Write, id: CollectionId, tree: TreeId) -> Result<()> {
        if self.unique {
            // A transaction that did not see the key, or saw it, must not go by that.
            let added = self.add.iter().map(|(stored, _)| stored);
            for stored in added.chain(&self.remove) {
                write.claim(tree, split(stored).0)?;
            }
        }
        for stored in &self.remove {
            write.remove(tree, stored)?;
        }
        for (stored, types) in &self.add {
            write.put(tree, stored, &seal_entry(tree, stored, types))?;
        }
        match self.multikey {
            Some(flags) => write.catalog_mut().set_multikey(id, tree, &flags),
            None => Ok(()),
        }
    }
}

/// What the documents say that an index should have.
struct Expected {
    /// Stored keys, in order.
    keys: Vec<Stored>,
    multikey: Vec<Arrays>,
    /// Records whose keys are not known.
    unknown: HashSet<u64>,
}

/// Compares an index with the documents.
pub(super) fn examine(
    read: &dyn Read,
    collection: &Collection,
    entry: &IndexEntry,
) -> Result<(RepairReport, Cure)> {
    let mut found = Examining {
        read,
        collection,
        entry,
        report: RepairReport::default(),
        cure: Cure {
            unique: entry.definition.unique,
            ..Cure::default()
        },
    };
    let expected = found.expect()?;
    if entry.would_change(&expected.multikey) {
        found.note(None, Wrong::MultikeyFlags, Done::Corrected)?;
        found.cure.multikey = Some(expected.multikey.clone());
    }
    found.compare(&expected)?;
    if entry.definition.unique {
        found.clashes(&expected.keys)?;
    }
    Ok((found.report, found.cure))
}

struct Examining<'a> {
    read: &'a dyn Read,
    collection: &'a Collection,
    entry: &'a IndexEntry,
    report: RepairReport,
    cure: Cure,
}

impl Examining<'_> {
    fn expect(&mut self) -> Result<Expected> {
        let mut expected = Expected {
            keys: Vec::new(),
            multikey: vec![Arrays::NONE; self.entry.definition.keys.len()],
            unknown: HashSet::new(),
        };
        let mut refused = Vec::new();
        self.read
            .scan(self.collection.records, ALL, false, &mut |place, stored| {
                let Some(record) = record_id(place) else {
                    return Ok(ControlFlow::Continue(()));
                };
                let Ok(document) = readable(self.collection, place, stored) else {
                    expected.unknown.insert(record);
                    return Ok(ControlFlow::Continue(()));
                };
                match self.entry.definition.keys(document) {
                    Ok(keys) => {
                        arrays::join(&mut expected.multikey, &keys.multikey);
                        let types = keys.types;
                        expected.keys.extend(keys.keys.into_iter().map(|mut key| {
                            key.extend_from_slice(place);
                            (key, types)
                        }));
                    }
                    Err(fault) => {
                        expected.unknown.insert(record);
                        refused.push((record, fault.message().to_owned()));
                    }
                }
                Ok(ControlFlow::Continue(()))
            })?;
        expected.keys.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        for (record, why) in refused {
            self.note(Some(record), Wrong::NotIndexable(why), Done::Left)?;
        }
        Ok(expected)
    }

    /// Goes through entries and expected keys side by side: both are in order.
    fn compare(&mut self, expected: &Expected) -> Result<()> {
        let mut wanted = expected.keys.iter().peekable();
        let (mut missing, mut rewrite, mut extra) = (Vec::new(), Vec::new(), Vec::new());
        let mut entries = 0;
        let tree = self.entry.tree;
        self.read.scan(tree, ALL, false, &mut |stored, value| {
            entries += 1;
            while let Some(key) = wanted.next_if(|(key, _)| key.as_slice() < stored) {
                missing.push(key.clone());
            }
            if let Some((_, types)) = wanted.next_if(|(key, _)| key.as_slice() == stored) {
                // What is not told was not kept when it was written.
                let is_right = |told: &[u8]| told.is_empty() || told == &**types;
                if !unseal_entry(tree, stored, value).is_ok_and(is_right) {
                    rewrite.push((stored.to_vec(), *types));
                }
            } else if record_id(split(stored).1).is_none_or(|record| !expected.unknown.contains(&record)) {
                extra.push((stored.to_vec(), Types::UNKNOWN));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        missing.extend(wanted.cloned());
        self.report.index_entries += entries;
        for (keys, wrong, done) in [
            (&missing, Wrong::MissingEntry, Done::Added),
            (&rewrite, Wrong::DamagedEntry, Done::Rewritten),
            (&extra, Wrong::ExtraEntry, Done::Removed),
        ] {
            for (stored, _) in keys {
                self.note(record_id(split(stored).1), wrong.clone(), done)?;
            }
        }
        self.cure.add = missing;
        self.cure.add.append(&mut rewrite);
        self.cure.remove = extra.into_iter().map(|(stored, _)| stored).collect();
        Ok(())
    }

    /// Keys of a unique index that several documents have. All keep their entries, so that each is found.
    fn clashes(&mut self, keys: &[Stored]) -> Result<()> {
        for pair in keys.windows(2) {
            let (first, second) = (split(&pair[0].0), split(&pair[1].0));
            if first.0 == second.0 && first.1 != second.1 {
                let other = self.id_of(first.1)?;
                self.note(record_id(second.1), Wrong::UniqueClash(other), Done::Left)?;
            }
        }
        Ok(())
    }

    fn note(&mut self, record: Option<u64>, wrong: Wrong, done: Done) -> Result<()> {
        let id = match record {
            Some(record) if self.report.findings.len() < super::MAX_PROBLEMS => {
                self.id_of(&record.to_be_bytes())?
            }
            _ => None,
        };
        self.report.add(Finding {
            namespace: Some(self.collection.namespace()),
            index: Some(self.entry.definition.name.clone()),
            record,
            id,
            wrong,
            done,
        });
        Ok(())
    }

    /// The `_id` of a record that can be read.
    fn id_of(&self, place: &[u8]) -> Result<Option<Owned>> {
        let Some(stored) = self.read.get(self.collection.records, place)? else {
            return Ok(None);
        };
        let document = readable(self.collection, place, &stored).ok();
        Ok(document.and_then(|document| document.get("_id")).map(Owned::from))
    }
}

/// A stored key's order key and record id.
fn split(stored: &[u8]) -> (&[u8], &[u8]) {
    stored.split_at(stored.len().saturating_sub(RECORD_ID_BYTES))
}
