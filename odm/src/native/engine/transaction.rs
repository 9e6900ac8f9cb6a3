//! A transaction: writes over a snapshot, applied as one batch at commit.

use std::sync::Arc;

use super::Engine;
use super::changes::Logged;
use super::claims::{Claim, TransactionId};
use super::view::View;
use super::writer::{Writer, next_record};
use crate::native::catalog::{Catalog, CollectionId};
use crate::native::fault::{Fault, Result};
use crate::native::storage::{Pending, Range, Read, TreeId, Visitor, Write};

/// A transaction in progress. Snapshot isolation: it reads the state at its begin and its own writes; of two
/// that write the same key the first one wins. Dropping it forgets its writes and releases its claims.
#[derive(Debug)]
pub(crate) struct Overlay {
    engine: Engine,
    view: Arc<View>,
    pending: Pending,
    changed: Option<Catalog>,
    id: TransactionId,
    held: Vec<Claim>,
    /// Whether changes were logged when it began.
    logging: bool,
    logged: Logged,
}

impl Overlay {
    pub(super) fn begin(engine: Engine) -> Result<Overlay> {
        let (view, id) = {
            // Under one lock: no commit between the view and its registration can go unnoticed.
            let mut claims = engine.0.shared.claims();
            let view = engine.0.shared.view()?;
            let id = claims.begin(view.sequence);
            (view, id)
        };
        let logging = engine.0.shared.changes.is_on();
        let transaction = logging.then(|| bson::Uuid::new().bytes());
        Ok(Overlay {
            logging,
            logged: Logged {
                bodies: Vec::new(),
                transaction,
            },
            engine,
            view,
            pending: Pending::default(),
            changed: None,
            id,
            held: Vec::new(),
        })
    }

    /// Whether a commit would change nothing.
    pub(super) fn is_unchanged(&self) -> bool {
        self.pending.is_empty() && self.changed_catalog().is_none()
    }

    /// Moves the writes to the writer, which commits them.
    pub(super) fn move_into(&mut self, writer: &mut Writer<'_>) -> Result<()> {
        if self.is_unchanged() {
            return Ok(());
        }
        if !self.logging && writer.is_logging() {
            // The log began meanwhile and would miss these changes: run again, the transaction logs them.
            return Err(Fault::conflict());
        }
        let base = self.view.catalog();
        let own = self.changed_catalog();
        let merged = if own.is_none() && base.same(writer.catalog()) {
            None
        } else {
            let pending = &self.pending;
            let uses = |collection: &crate::native::catalog::Collection| {
                collection.trees().any(|tree| pending.touches(tree))
            };
            Some(own.unwrap_or(base).merged(base, writer.catalog(), uses)?)
        };
        writer.adopt(
            std::mem::take(&mut self.pending),
            merged,
            &self.held,
            std::mem::take(&mut self.logged),
        );
        Ok(())
    }

    fn changed_catalog(&self) -> Option<&Catalog> {
        self.changed
            .as_ref()
            .filter(|changed| !changed.same(self.view.catalog()))
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        let shared = &self.engine.0.shared;
        let jobs = shared.claims().end(self.id, self.view.sequence, &self.held);
        if !jobs.is_empty() {
            shared.enqueue(jobs);
        }
    }
}

impl Read for Overlay {
    fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.pending.get(&*self.view, tree, key)
    }

    fn scan(&self, tree: TreeId, range: Range<'_>, reverse: bool, visit: &mut Visitor<'_>) -> Result<()> {
        self.pending.scan(&*self.view, tree, range, reverse, visit)
    }

    fn entries(&self, tree: TreeId) -> Result<u64> {
        self.pending.entries(&*self.view, tree)
    }

    fn catalog(&self) -> &Catalog {
        self.changed.as_ref().unwrap_or_else(|| self.view.catalog())
    }
}

impl Write for Overlay {
    fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        self.pending.put(tree, key, value);
        Ok(())
    }

    fn remove(&mut self, tree: TreeId, key: &[u8]) -> Result<()> {
        self.pending.remove(tree, key);
        Ok(())
    }

    fn claim(&mut self, tree: TreeId, key: &[u8]) -> Result<()> {
        let claim = Claim::new(tree, key);
        let mut claims = self.engine.0.shared.claims();
        if claims.claim(self.id, self.view.sequence, claim, &mut self.held) {
            Ok(())
        } else {
            Err(Fault::conflict())
        }
    }

    fn next_record(&mut self, collection: CollectionId) -> Result<u64> {
        next_record(self.catalog(), collection)
    }

    fn in_transaction(&self) -> bool {
        true
    }

    fn has_made(&self, collection: CollectionId) -> bool {
        self.view.catalog().by_id(collection).is_none()
    }

    fn catalog_mut(&mut self) -> &mut Catalog {
        self.changed.get_or_insert_with(|| self.view.catalog().clone())
    }

    fn begin_log(&mut self) -> Result<()> {
        Err(Fault::unsupported(
            "a transaction cannot begin the log of changes",
        ))
    }

    fn is_logging(&self) -> bool {
        self.logging
    }

    fn log(&mut self, change: Vec<u8>) {
        if self.logging {
            self.logged.bodies.push(change);
        }
    }

    fn logged(&self) -> usize {
        self.logged.bodies.len()
    }

    fn forget_logged(&mut self, count: usize) {
        self.logged.bodies.truncate(count);
    }
}
