//! A copy of one committed state in a directory of its own, while writers go on.

use std::ops::ControlFlow;
use std::path::Path;

use super::changes::new_id;
use super::view::{View, shielded};
use crate::native::catalog::Catalog;
use crate::native::fault::{Class, Fault, Result, code};
use crate::native::storage::file::aside::Aside;
use crate::native::storage::format::{self, LogHead};
use crate::native::storage::{ALL, Failure, Finish, Pending, Read, Store, Transaction, TreeId, Trees};

/// How far a backup has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copied {
    pub(crate) collections: u64,
    /// How many there are in all.
    pub(crate) of_collections: u64,
    pub(crate) records: u64,
    pub(crate) index_entries: u64,
    /// Of the log of changes.
    pub(crate) changes: u64,
    /// Bytes of keys and values.
    pub(crate) bytes: u64,
    /// Records and entries whose checksums do not fit, as they were found.
    pub(crate) damaged: Vec<String>,
    /// The size of the new file, when all is done.
    pub(crate) file_bytes: u64,
}

/// Looks at how far a backup is; breaks to end it.
pub(crate) type Watcher<'a> = dyn FnMut(&Copied) -> ControlFlow<()> + 'a;

/// About so many bytes are held in memory, and copied between two looks at the watcher.
const CHUNK: usize = 4 * 1024 * 1024;

/// The most damaged records that are told of.
const MAX_DAMAGED: usize = 1_000;

/// Copies the view to the directory. What is damaged ends it, or is copied as it is and told of; a damaged log of
/// changes is left out.
///
/// The log of changes goes along under a new identity: tokens of the old one are refused there, since what was
/// changed after the copy is not in it.
///
/// # Errors
/// Those of [`Aside::begin`]; class `Corrupt`; `Io`; class `Request` when the watcher broke it off.
pub(super) fn backup(
    view: &View,
    target: &Path,
    damaged_too: bool,
    watcher: &mut Watcher<'_>,
) -> Result<Copied> {
    shielded(|| {
        let aside = Aside::begin(target)?;
        let mut copied = copy(view, aside.store()?, damaged_too, watcher)?;
        copied.file_bytes = aside.finish()?;
        // Done all the same.
        let _ = watcher(&copied);
        Ok(copied)
    })
}

fn copy(view: &View, to: &dyn Store, damaged_too: bool, watcher: &mut Watcher<'_>) -> Result<Copied> {
    let mut copied = Copied {
        of_collections: view.catalog().all().count() as u64,
        ..Copied::default()
    };
    let written = to.write(&mut |transaction| {
        let mut copying = Copying {
            view,
            transaction,
            pending: Pending::default(),
            held: 0,
            damaged_too,
            changes_damaged: false,
            copied: &mut copied,
            watcher,
        };
        copying.everything(view.catalog())?;
        copying.flush()?;
        Ok(Finish::Durable)
    });
    match written {
        Ok(()) => Ok(copied),
        // A copy that may be whole or not is none.
        Err(Failure::Before(fault) | Failure::InDoubt(fault)) => Err(match fault.class() {
            Class::InDoubt => Fault::of(Class::Io, code::INTERNAL, fault.message().to_owned()),
            _ => fault,
        }),
    }
}

struct Copying<'a, 'w> {
    view: &'a View,
    transaction: &'a mut dyn Transaction,
    pending: Pending,
    /// Bytes in `pending`.
    held: usize,
    damaged_too: bool,
    changes_damaged: bool,
    copied: &'a mut Copied,
    watcher: &'a mut Watcher<'w>,
}

/// What the keys and values of a tree are.
#[derive(Clone, Copy)]
enum Content {
    Catalog,
    Changes,
    Records,
    Entries,
}

impl Copying<'_, '_> {
    fn everything(&mut self, catalog: &Catalog) -> Result<()> {
        self.tree(TreeId::CATALOG, Content::Catalog)?;
        for collection in catalog.all() {
            self.tree(collection.records, Content::Records)?;
            for index in &collection.indexes {
                self.tree(index.tree, Content::Entries)?;
            }
            self.copied.collections += 1;
        }
        self.tree(TreeId::CHANGES, Content::Changes)?;
        if self.changes_damaged {
            // A log with a gap would be no log; and its old tokens are refused in any case.
            self.pending.clear(TreeId::CHANGES);
            self.copied.changes = 0;
        }
        Ok(())
    }

    fn tree(&mut self, tree: TreeId, content: Content) -> Result<()> {
        let view = self.view;
        Trees::scan(view, tree, ALL, false, &mut |key, value| {
            self.check(tree, content, key, value)?;
            match content {
                Content::Changes if key == LogHead::KEY => match LogHead::unseal(value) {
                    Ok(head) => {
                        let head = LogHead { id: new_id(), ..head };
                        self.pending.put(tree, key, &head.seal());
                    }
                    Err(_) => self.pending.put(tree, key, value),
                },
                _ => self.pending.put(tree, key, value),
            }
            let bytes = key.len() + value.len();
            self.held += bytes;
            self.copied.bytes += bytes as u64;
            match content {
                Content::Catalog => {}
                Content::Changes => self.copied.changes += u64::from(key != LogHead::KEY),
                Content::Records => self.copied.records += 1,
                Content::Entries => self.copied.index_entries += 1,
            }
            if self.held >= CHUNK {
                self.flush()?;
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    fn check(&mut self, tree: TreeId, content: Content, key: &[u8], value: &[u8]) -> Result<()> {
        let found = match content {
            Content::Changes if key == LogHead::KEY => LogHead::unseal(value).map(drop),
            Content::Changes => format::unseal_change(key, value).map(drop),
            Content::Entries => format::unseal_entry(tree, key, value).map(drop),
            Content::Catalog | Content::Records => format::unseal(tree, key, value).map(drop),
        };
        match found {
            // Without a catalog there is no database.
            Err(fault) if self.damaged_too && !matches!(content, Content::Catalog) => {
                self.changes_damaged |= matches!(content, Content::Changes);
                if self.copied.damaged.len() < MAX_DAMAGED {
                    self.copied.damaged.push(fault.message().to_owned());
                }
                Ok(())
            }
            found => found,
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.held = 0;
        if !self.pending.is_empty() {
            self.transaction.apply(&mut self.pending)?;
        }
        match (self.watcher)(self.copied) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Fault::new(INTERRUPTED, "the backup was broken off")),
        }
    }
}

const INTERRUPTED: i32 = 11601;
