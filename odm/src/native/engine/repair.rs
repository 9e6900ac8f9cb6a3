//! Rebuilding what follows from the documents: index entries, multikey flags, counts.
//!
//! A document is never written to. Each index is mended by one job, so that it is as before or right; what the
//! job leaves is what the documents say. Entries of records that cannot be read stay: whether they are right is
//! not known.

mod index;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use self::index::examine;
use super::check::{self, MAX_PROBLEMS, RECORD_ID_BYTES};
use super::view::View;
use super::{Engine, wait};
use crate::native::catalog::{self, Catalog, Collection, CollectionId};
use crate::native::document::{Doc, Owned, validate};
use crate::native::fault::{Class, Result};
use crate::native::storage::format::unseal;
use crate::native::storage::{ALL, Read, TreeId, Write};

/// What is to be repaired.
#[derive(Clone, Debug, Default)]
pub(crate) struct RepairScope {
    /// All when absent.
    pub(crate) database: Option<String>,
    /// All of the database when absent.
    pub(crate) collection: Option<String>,
    /// Only say what would be done.
    pub(crate) dry_run: bool,
}

/// What a repair looked at and found.
#[derive(Clone, Debug, Default)]
pub(crate) struct RepairReport {
    pub(crate) collections: u64,
    pub(crate) records: u64,
    pub(crate) index_entries: u64,
    /// Of very many, the first.
    pub(crate) findings: Vec<Finding>,
    /// How many more there are.
    pub(crate) unlisted: u64,
    /// How many findings, listed or not, were not mended.
    pub(crate) left: u64,
}

/// One thing that was wrong.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// `database.collection`; none for the store itself.
    pub(crate) namespace: Option<String>,
    pub(crate) index: Option<String>,
    pub(crate) record: Option<u64>,
    /// The document's `_id`, where it can be read.
    pub(crate) id: Option<Owned>,
    pub(crate) wrong: Wrong,
    pub(crate) done: Done,
}

/// What was wrong.
#[derive(Clone, Debug)]
pub(crate) enum Wrong {
    MissingEntry,
    ExtraEntry,
    DamagedEntry,
    MultikeyFlags,
    /// A capped collection's count of its documents and bytes.
    Count,
    /// The `_id` of the other document with the key.
    UniqueClash(Option<Owned>),
    /// What the record's checksum or shape is found to be.
    DamagedRecord(String),
    /// Why the document has no keys.
    NotIndexable(String),
    /// Entries of a tree that no index has.
    UnusedTree(String),
    Catalog(String),
    Changes(String),
    Store(String),
}

/// What was done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    Added,
    Removed,
    Rewritten,
    Corrected,
    /// It is as it was.
    Left,
}

impl RepairReport {
    fn add(&mut self, finding: Finding) {
        self.left += u64::from(finding.done == Done::Left);
        if self.findings.len() < MAX_PROBLEMS {
            self.findings.push(finding);
        } else {
            self.unlisted += 1;
        }
    }

    fn add_of_store(&mut self, wrong: Wrong, done: Done) {
        self.add(Finding {
            namespace: None,
            index: None,
            record: None,
            id: None,
            wrong,
            done,
        });
    }

    fn absorb(&mut self, other: RepairReport) {
        self.records += other.records;
        self.index_entries += other.index_entries;
        self.unlisted += other.unlisted;
        // Findings that do not fit any more are counted by `add`.
        self.left += other.left;
        for finding in other.findings {
            self.left -= u64::from(finding.done == Done::Left);
            self.add(finding);
        }
    }
}

/// Repairs; blocks the thread. `go_on` is asked between two indexes.
///
/// # Errors
/// Class `Io` and `InDoubt` as for any write. Damage is in the report.
pub(super) fn repair(
    engine: &Engine,
    scope: &RepairScope,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<RepairReport> {
    let mut report = RepairReport::default();
    let view = engine.view()?;
    let mut wrong = Vec::new();
    if let Err(fault) = catalog::inspect(&*view, &mut |text| wrong.push(Wrong::Catalog(text))) {
        wrong.push(Wrong::Catalog(fault.message().to_owned()));
    }
    if let Err(fault) = check::log::check(&*view, &mut |text| wrong.push(Wrong::Changes(text))) {
        wrong.push(Wrong::Changes(fault.message().to_owned()));
    }
    for wrong in wrong {
        report.add_of_store(wrong, Done::Left);
    }
    let chosen: Vec<Arc<Collection>> = view
        .catalog()
        .all()
        .filter(|own| scope.covers(own))
        .cloned()
        .collect();
    for collection in chosen {
        report.collections += 1;
        let looked = records(&view, &collection);
        report.absorb(looked);
        for entry in &collection.indexes {
            if !go_on() {
                return Ok(report);
            }
            let (id, tree) = (collection.id, entry.tree);
            let part = if scope.dry_run {
                guarded(&collection, index(&*view, id, tree).map(|(report, _)| report))?
            } else {
                let job = move |write: &mut dyn Write| mend(write, id, tree);
                guarded(&collection, wait(engine.write(job)))?
            };
            report.absorb(part);
        }
        if collection.rules.capped.is_some() {
            let id = collection.id;
            let part = if scope.dry_run {
                count(&*view, id).map(|(report, _)| report)
            } else {
                wait(engine.write(move |write: &mut dyn Write| correct(write, id)))
            };
            report.absorb(guarded(&collection, part)?);
        }
    }
    if scope.collection.is_none() {
        drop(view);
        unused(engine, scope.dry_run, &mut report)?;
    }
    Ok(report)
}

/// Makes the keys of indexes anew whose collations' rules have changed since.
///
/// # Errors
/// Those of a write.
pub(super) fn renew_keys(engine: &Engine) -> Result<()> {
    let stale: Vec<(CollectionId, TreeId)> = engine
        .view()?
        .catalog()
        .all()
        .flat_map(|collection| {
            let indexes = collection.indexes.iter().filter(|entry| entry.stale);
            indexes.map(|entry| (collection.id, entry.tree))
        })
        .collect();
    for (id, tree) in stale {
        wait(engine.write(move |write: &mut dyn Write| {
            mend(write, id, tree)?;
            let definition = write
                .catalog()
                .by_id(id)
                .and_then(|collection| collection.indexes.iter().find(|entry| entry.tree == tree))
                .map(|entry| (*entry.definition).clone());
            match definition {
                Some(definition) => write.catalog_mut().replace_index(id, tree, definition),
                None => Ok(()),
            }
        }))?;
    }
    Ok(())
}

impl RepairScope {
    fn covers(&self, collection: &Collection) -> bool {
        let is = |wanted: &Option<String>, name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
        collection.rules.view.is_none()
            && is(&self.database, &collection.database)
            && is(&self.collection, &collection.name)
    }
}

/// A tree that cannot be read is a finding, not the end.
fn guarded(collection: &Collection, result: Result<RepairReport>) -> Result<RepairReport> {
    match result {
        Err(fault) if fault.class() == Class::Corrupt => {
            let mut report = RepairReport::default();
            report.add(Finding {
                namespace: Some(collection.namespace()),
                index: None,
                record: None,
                id: None,
                wrong: Wrong::Store(fault.message().to_owned()),
                done: Done::Left,
            });
            Ok(report)
        }
        result => result,
    }
}

/// Looks for records that cannot be read.
fn records(view: &View, collection: &Collection) -> RepairReport {
    let mut report = RepairReport::default();
    let finding = |record, wrong| Finding {
        namespace: Some(collection.namespace()),
        index: None,
        record,
        id: None,
        wrong,
        done: Done::Left,
    };
    let scanned = Read::scan(view, collection.records, ALL, false, &mut |place, stored| {
        report.records += 1;
        let why = if place.len() != RECORD_ID_BYTES {
            Some("its key is no record id".to_owned())
        } else {
            readable(collection, place, stored).err()
        };
        if let Some(why) = why {
            report.add(finding(record_id(place), Wrong::DamagedRecord(why)));
        }
        Ok(ControlFlow::Continue(()))
    });
    if let Err(fault) = scanned {
        report.add(finding(None, Wrong::Store(fault.message().to_owned())));
    }
    report
}

/// The document of a record, or why it cannot be read.
fn readable<'a>(collection: &Collection, place: &[u8], stored: &'a [u8]) -> Result<Doc<'a>, String> {
    let bytes = unseal(collection.records, place, stored).map_err(|fault| fault.message().to_owned())?;
    validate(bytes).map_err(|_| "it is not BSON".to_owned())?;
    Ok(Doc::Raw(bytes))
}

fn record_id(place: &[u8]) -> Option<u64> {
    place.try_into().ok().map(u64::from_be_bytes)
}

/// What is wrong with one index, and how to mend it; nothing when it was dropped meanwhile.
fn index(read: &dyn Read, id: CollectionId, tree: TreeId) -> Result<(RepairReport, index::Cure)> {
    let found = read.catalog().by_id(id).cloned();
    let entry = found
        .as_deref()
        .and_then(|own| own.indexes.iter().find(|own| own.tree == tree));
    match (&found, entry) {
        (Some(collection), Some(entry)) => examine(read, collection, entry),
        _ => Ok(Default::default()),
    }
}

fn mend(write: &mut dyn Write, id: CollectionId, tree: TreeId) -> Result<RepairReport> {
    let (report, cure) = index(write, id, tree)?;
    cure.apply(write, id, tree)?;
    Ok(report)
}

/// By how much a capped collection's count is wrong.
fn count(read: &dyn Read, id: CollectionId) -> Result<(RepairReport, Option<(i64, i64)>)> {
    let mut report = RepairReport::default();
    let Some(collection) = read.catalog().by_id(id) else {
        return Ok((report, None));
    };
    let (mut documents, mut bytes) = (0u64, 0u64);
    read.scan(collection.records, ALL, false, &mut |place, stored| {
        documents += 1;
        bytes += unseal(collection.records, place, stored).map_or(0, |own| own.len() as u64);
        Ok(ControlFlow::Continue(()))
    })?;
    let used = collection.used;
    if (used.documents, used.bytes) == (documents, bytes) {
        return Ok((report, None));
    }
    report.add(Finding {
        namespace: Some(collection.namespace()),
        index: None,
        record: None,
        id: None,
        wrong: Wrong::Count,
        done: Done::Corrected,
    });
    let off = (
        documents.wrapping_sub(used.documents) as i64,
        bytes.wrapping_sub(used.bytes) as i64,
    );
    Ok((report, Some(off)))
}

fn correct(write: &mut dyn Write, id: CollectionId) -> Result<RepairReport> {
    let (report, off) = count(write, id)?;
    if let Some((documents, bytes)) = off {
        write.catalog_mut().note_used(id, documents, bytes)?;
    }
    Ok(report)
}

/// Empties trees of entries that no index has. Records that no collection has are documents: they stay.
fn unused(engine: &Engine, dry_run: bool, report: &mut RepairReport) -> Result<()> {
    let view = engine.view()?;
    for tree in trees_not_in_use(view.catalog()) {
        let mut any = false;
        let scanned = Read::scan(&*view, tree, ALL, false, &mut |_, _| {
            any = true;
            Ok(ControlFlow::Break(()))
        });
        if let Err(fault) = scanned {
            report.add_of_store(Wrong::Store(fault.message().to_owned()), Done::Left);
            return Ok(());
        }
        if !any {
            continue;
        }
        let text = format!("tree {} belongs to no collection", tree.0);
        if tree.is_records() {
            report.add_of_store(Wrong::UnusedTree(text), Done::Left);
            continue;
        }
        if !dry_run {
            wait(engine.write(move |write: &mut dyn Write| empty(write, tree)))?;
        }
        report.add_of_store(Wrong::UnusedTree(text), Done::Removed);
    }
    Ok(())
}

fn trees_not_in_use(catalog: &Catalog) -> Vec<TreeId> {
    let used: BTreeSet<TreeId> = catalog.all().flat_map(|collection| collection.trees()).collect();
    catalog
        .given_trees()
        .filter(|tree| !used.contains(tree))
        .collect()
}

/// Empties a tree, unless it was given to an index by now.
fn empty(write: &mut dyn Write, tree: TreeId) -> Result<()> {
    if !trees_not_in_use(write.catalog()).contains(&tree) {
        return Ok(());
    }
    let mut keys = Vec::new();
    write.scan(tree, ALL, false, &mut |key, _| {
        keys.push(key.to_vec());
        Ok(ControlFlow::Continue(()))
    })?;
    keys.iter().try_for_each(|key| write.remove(tree, key))
}
