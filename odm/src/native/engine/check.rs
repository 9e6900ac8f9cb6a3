//! Looking at everything that is stored.

pub(super) mod log;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::queue::Shared;
use super::view::shielded;
use crate::native::catalog::{self, Catalog, Collection, IndexEntry};
use crate::native::document::{Doc, validate};
use crate::native::fault::{Class, Result};
use crate::native::storage::format::{hex, unseal, unseal_entry};
use crate::native::storage::{ALL, TreeId, Trees};

/// What a check looked at and found.
#[derive(Clone, Debug, Default)]
pub(crate) struct CheckReport {
    pub(crate) collections: u64,
    /// Documents whose checksum and shape were looked at.
    pub(crate) records: u64,
    pub(crate) index_entries: u64,
    /// Empty when all is well. Of very many, the first.
    pub(crate) problems: Vec<Problem>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// `database.collection`; none for the store itself.
    pub(crate) namespace: Option<String>,
    pub(crate) message: String,
}

pub(super) const MAX_PROBLEMS: usize = 1_000;

/// The bytes of a record id, which is a record's key and ends an index entry's.
pub(super) const RECORD_ID_BYTES: usize = 8;

/// Checks the data as it is on disk; when the store itself is damaged, also what can still be read.
///
/// # Errors
/// Class `Io`: the file cannot be read or written.
pub(super) fn check(shared: &Arc<Shared>) -> Result<CheckReport> {
    let mut report = CheckReport::default();
    let inspected = shared.alone(|_| {
        shielded(|| {
            shared.store().inspect(&mut |trees| {
                check_trees(trees, &mut report);
                Ok(())
            })
        })
    });
    match inspected {
        Ok(()) => {}
        Err(fault) if fault.class() == Class::Corrupt => {
            report = CheckReport::default();
            report.problem(None, fault.message());
            match shielded(|| shared.store().snapshot()) {
                Ok(snapshot) => {
                    let checked = shielded(|| {
                        check_trees(&*snapshot, &mut report);
                        Ok(())
                    });
                    if let Err(fault) = checked {
                        report.problem(None, fault.message());
                    }
                }
                Err(fault) => report.problem(None, fault.message()),
            }
        }
        Err(fault) => return Err(fault),
    }
    Ok(report)
}

impl CheckReport {
    fn problem(&mut self, collection: Option<&Collection>, message: impl Into<String>) {
        let message = match self.problems.len() {
            ..MAX_PROBLEMS => message.into(),
            MAX_PROBLEMS => "there are more problems than are listed".to_owned(),
            _ => return,
        };
        let problem = Problem {
            namespace: collection.map(Collection::namespace),
            message,
        };
        if self.problems.last() != Some(&problem) {
            self.problems.push(problem);
        }
    }
}

fn check_trees(trees: &dyn Trees, report: &mut CheckReport) {
    let inspected = catalog::inspect(trees, &mut |message| report.problem(None, message));
    if let Err(fault) = inspected {
        report.problem(None, format!("the catalog: {}", fault.message()));
    }
    if let Err(fault) = log::check(trees, &mut |message| report.problem(None, message)) {
        report.problem(None, format!("the log of changes: {}", fault.message()));
    }
    let catalog = match catalog::load(trees) {
        Ok(catalog) => catalog,
        Err(fault) => return report.problem(None, format!("the catalog: {}", fault.message())),
    };
    for collection in catalog.all() {
        report.collections += 1;
        let expected = check_records(trees, collection, report);
        for (index, expected) in collection.indexes.iter().zip(expected) {
            check_index(trees, collection, index, expected, report);
        }
    }
    check_unused(trees, &catalog, report);
}

/// Checks the records and that each has its index entries; gives how many entries each index should have.
fn check_records(trees: &dyn Trees, collection: &Collection, report: &mut CheckReport) -> Vec<u64> {
    let mut expected = vec![0; collection.indexes.len()];
    let scanned = trees.scan(collection.records, ALL, false, &mut |record, stored| {
        report.records += 1;
        if record.len() != RECORD_ID_BYTES {
            report.problem(
                Some(collection),
                format!("record {}: not a record id", hex(record)),
            );
        }
        let bytes = match unseal(collection.records, record, stored) {
            Ok(bytes) if validate(bytes).is_ok() => bytes,
            Ok(_) => {
                report.problem(Some(collection), format!("record {}: not BSON", hex(record)));
                return Ok(ControlFlow::Continue(()));
            }
            Err(fault) => {
                report.problem(
                    Some(collection),
                    format!("record {}: {}", hex(record), fault.message()),
                );
                return Ok(ControlFlow::Continue(()));
            }
        };
        for (index, expected) in collection.indexes.iter().zip(&mut expected) {
            *expected += check_entries_of(trees, collection, index, record, Doc::Raw(bytes), report);
        }
        Ok(ControlFlow::Continue(()))
    });
    if let Err(fault) = scanned {
        report.problem(Some(collection), format!("the records: {}", fault.message()));
    }
    expected
}

/// Checks that one document has its entries in one index; gives how many it should have.
fn check_entries_of(
    trees: &dyn Trees,
    collection: &Collection,
    index: &IndexEntry,
    record: &[u8],
    document: Doc<'_>,
    report: &mut CheckReport,
) -> u64 {
    let name = &index.definition.name;
    let keys = match index.definition.keys(document) {
        Ok(keys) => keys,
        Err(fault) => {
            let message = format!(
                "index {name}: record {} has no keys: {}",
                hex(record),
                fault.message()
            );
            report.problem(Some(collection), message);
            return 0;
        }
    };
    if index.would_change(&keys.multikey) {
        let message = format!(
            "index {name}: record {} has an array, the index is not multikey",
            hex(record)
        );
        report.problem(Some(collection), message);
    }
    for key in &keys.keys {
        let entry = [key.as_slice(), record].concat();
        match trees.get(index.tree, &entry) {
            // Whether it is whole is asked of all entries.
            Ok(Some(stored)) => match unseal_entry(index.tree, &entry, &stored) {
                Ok(told) if !told.is_empty() && told != &*keys.types => {
                    let message = format!(
                        "index {name}: record {} has values of other types than the entry {}",
                        hex(record),
                        hex(key)
                    );
                    report.problem(Some(collection), message);
                }
                Ok(_) | Err(_) => {}
            },
            Ok(None) => {
                let message = format!(
                    "index {name}: record {} lacks the entry {}",
                    hex(record),
                    hex(key)
                );
                report.problem(Some(collection), message);
            }
            Err(fault) => report.problem(Some(collection), format!("index {name}: {}", fault.message())),
        }
    }
    keys.keys.len() as u64
}

/// Checks the entries of an index. When there are as many as there should be, and the documents' were all
/// found, then there is none too many; otherwise each is looked up.
fn check_index(
    trees: &dyn Trees,
    collection: &Collection,
    index: &IndexEntry,
    expected: u64,
    report: &mut CheckReport,
) {
    let name = &index.definition.name;
    let mut found = 0;
    let mut last: Option<Vec<u8>> = None;
    let scanned = trees.scan(index.tree, ALL, false, &mut |entry, stored| {
        found += 1;
        if let Err(fault) = unseal_entry(index.tree, entry, stored) {
            report.problem(Some(collection), format!("index {name}: {}", fault.message()));
        }
        if index.definition.unique
            && let Some(key) = entry.len().checked_sub(RECORD_ID_BYTES).map(|end| &entry[..end])
        {
            match &mut last {
                Some(last) if last.as_slice() == key => {
                    let message = format!("index {name}: unique, but two records have the key {}", hex(key));
                    report.problem(Some(collection), message);
                }
                Some(last) => {
                    last.clear();
                    last.extend_from_slice(key);
                }
                None => last = Some(key.to_vec()),
            }
        }
        Ok(ControlFlow::Continue(()))
    });
    report.index_entries += found;
    if let Err(fault) = scanned {
        return report.problem(Some(collection), format!("index {name}: {}", fault.message()));
    }
    if found == expected {
        return;
    }
    let looked_up = trees.scan(index.tree, ALL, false, &mut |entry, _| {
        if !belongs(trees, collection, index, entry)? {
            let message = format!("index {name}: no document has the entry {}", hex(entry));
            report.problem(Some(collection), message);
        }
        Ok(ControlFlow::Continue(()))
    });
    if let Err(fault) = looked_up {
        report.problem(Some(collection), format!("index {name}: {}", fault.message()));
    }
}

/// Whether the entry's document has this key.
fn belongs(trees: &dyn Trees, collection: &Collection, index: &IndexEntry, entry: &[u8]) -> Result<bool> {
    let Some((key, record)) = entry
        .len()
        .checked_sub(RECORD_ID_BYTES)
        .and_then(|at| entry.split_at_checked(at))
    else {
        return Ok(false);
    };
    let Some(stored) = trees.get(collection.records, record)? else {
        return Ok(false);
    };
    // A damaged record is reported once, as such.
    match unseal(collection.records, record, &stored) {
        Ok(bytes) if validate(bytes).is_ok() => {
            let keys = index.definition.keys(Doc::Raw(bytes))?;
            Ok(keys.keys.iter().any(|own| own == key))
        }
        _ => Ok(true),
    }
}

/// Trees that belong to no collection must be empty.
fn check_unused(trees: &dyn Trees, catalog: &Catalog, report: &mut CheckReport) {
    let used: BTreeSet<TreeId> = catalog.all().flat_map(|collection| collection.trees()).collect();
    for tree in catalog.given_trees().filter(|tree| !used.contains(tree)) {
        let scanned = trees.scan(tree, ALL, false, &mut |_, _| {
            report.problem(None, format!("tree {} belongs to no collection", tree.0));
            Ok(ControlFlow::Break(()))
        });
        if let Err(fault) = scanned {
            report.problem(None, format!("tree {}: {}", tree.0, fault.message()));
        }
    }
}
