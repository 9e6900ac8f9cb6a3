//! What a writer changed in the catalog: written with its data, and merged with what others committed.

use std::sync::Arc;

use super::{Catalog, Collection, stored};
use crate::native::fault::{Fault, Result};
use crate::native::storage::Pending;

impl Catalog {
    /// Whether this is the other catalog, unchanged.
    pub(crate) fn same(&self, other: &Catalog) -> bool {
        self.by_id.ptr_eq(&other.by_id) && self.dropped.is_empty()
    }

    /// Adds to `pending` what makes the stored catalog `self` when it was `before`; trees that are no
    /// longer in use are cleared.
    pub(crate) fn store_changes(&mut self, before: &Catalog, pending: &mut Pending) {
        self.dropped.drain(..).for_each(|tree| pending.clear(tree));
        if self.same(before) {
            return;
        }
        for collection in self.by_id.values() {
            match before.by_id(collection.id) {
                Some(old) if Arc::ptr_eq(old, collection) => {}
                Some(old) => {
                    for tree in old
                        .trees()
                        .filter(|tree| collection.trees().all(|other| other != *tree))
                    {
                        pending.clear(tree);
                    }
                    stored::put(collection, pending);
                }
                None => stored::put(collection, pending),
            }
        }
        for old in before.by_id.values() {
            if self.by_id(old.id).is_none() {
                old.trees().for_each(|tree| pending.clear(tree));
                stored::remove(old.id, pending);
            }
        }
        stored::put_counters(self, pending);
    }

    /// The catalog after a transaction's commit: `current` with what `self` changed since `base`, its
    /// snapshot. `uses` says whether the transaction wrote to a collection.
    ///
    /// # Errors
    /// A conflict when a collection that the transaction changed or wrote to was changed since, or a name
    /// it gave is taken. Multikey flags never conflict: both sides' flags are set.
    pub(crate) fn merged(
        &self,
        base: &Catalog,
        current: &Catalog,
        uses: impl Fn(&Collection) -> bool,
    ) -> Result<Catalog> {
        let mut merged = current.clone();
        merged.dropped.clone_from(&self.dropped);
        for old in base.by_id.values() {
            let own = self.by_id(old.id);
            let changed = own.is_none_or(|own| !Arc::ptr_eq(own, old));
            if !changed && !uses(old) {
                continue;
            }
            let now = current
                .by_id(old.id)
                .filter(|now| now.version == old.version)
                .ok_or_else(Fault::conflict)?;
            if !changed {
                continue;
            }
            match own {
                None => merged.forget(now),
                Some(own) => {
                    merged.forget(now);
                    let mut own = (**own).clone();
                    for index in &now.indexes {
                        own.set_multikey(index.tree, &index.multikey);
                    }
                    merged.insert_new(own)?;
                }
            }
        }
        for own in self.by_id.values().filter(|own| base.by_id(own.id).is_none()) {
            merged.insert_new((**own).clone())?;
        }
        Ok(merged)
    }

    fn insert_new(&mut self, collection: Collection) -> Result<()> {
        if self.collection(&collection.database, &collection.name).is_some()
            || self.check_database_case(&collection.database).is_err()
        {
            return Err(Fault::conflict());
        }
        self.insert(Arc::new(collection));
        Ok(())
    }
}
