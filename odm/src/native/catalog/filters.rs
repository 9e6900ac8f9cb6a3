//! Index filters: which indexes queries of one shape may use. They are not stored, as on the server.

use std::sync::{PoisonError, RwLock};

use crate::native::document::Owned;

/// The indexes for queries of one shape.
#[derive(Clone, Debug)]
pub(crate) struct IndexFilter {
    /// What the queries have in common.
    pub(crate) shape: String,
    /// The query, order and projection that it was made of, and the collation if there was one.
    pub(crate) query: Vec<u8>,
    pub(crate) sort: Vec<u8>,
    pub(crate) projection: Vec<u8>,
    pub(crate) collation: Option<Vec<u8>>,
    /// Names and key patterns.
    pub(crate) indexes: Vec<Owned>,
}

/// The index filters of a collection.
#[derive(Debug, Default)]
pub(crate) struct IndexFilters {
    all: RwLock<Vec<IndexFilter>>,
}

impl IndexFilters {
    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.read().is_empty()
    }

    /// The indexes for queries of this shape, if it is said which.
    pub(crate) fn indexes_for(&self, shape: &str) -> Option<Vec<Owned>> {
        let all = self.read();
        let found = all.iter().find(|filter| filter.shape == shape)?;
        Some(found.indexes.clone())
    }

    /// Adds a filter in place of the one of its shape.
    pub(crate) fn set(&self, filter: IndexFilter) {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        match all.iter_mut().find(|own| own.shape == filter.shape) {
            Some(own) => *own = filter,
            None => all.push(filter),
        }
    }

    /// Takes away the filter of this shape, or all.
    pub(crate) fn clear(&self, shape: Option<&str>) {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|own| shape.is_some_and(|shape| own.shape != shape));
    }

    /// All filters.
    pub(crate) fn list(&self) -> Vec<IndexFilter> {
        self.read().clone()
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Vec<IndexFilter>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner)
    }
}
