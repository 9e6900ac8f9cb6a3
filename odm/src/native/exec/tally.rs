//! What an operation did to find its documents, added up for whoever asked to know.
//!
//! Nobody asks in the ordinary run: then a look at a flag of the thread is all that it costs.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::super::catalog::Collection;
use super::super::plan::{Access, Plan};
use super::Examined;

/// The plans of an operation, in short, and how much it looked at.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    keys: AtomicU64,
    documents: AtomicU64,
    plans: Mutex<Vec<String>>,
}

thread_local! {
    /// The tally of the operation that the thread is at.
    static CURRENT: RefCell<Option<Arc<Tally>>> = const { RefCell::new(None) };
}

/// How many plans are kept: an operation of many statements has many.
const MOST_PLANS: usize = 8;

impl Tally {
    /// How much was looked at so far.
    pub(crate) fn examined(&self) -> Examined {
        Examined {
            keys: self.keys.load(Ordering::Relaxed),
            documents: self.documents.load(Ordering::Relaxed),
        }
    }

    /// The plans so far, each once: `COLLSCAN`, `IXSCAN { a: 1 }`.
    pub(crate) fn plans(&self) -> String {
        let plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.join(", ")
    }
}

/// The tally of the operation that this thread is at.
pub(crate) fn current() -> Option<Arc<Tally>> {
    CURRENT.with_borrow(Clone::clone)
}

/// Runs something as a part of this operation.
pub(crate) fn within<T>(tally: Option<Arc<Tally>>, run: impl FnOnce() -> T) -> T {
    /// Puts back what was there, also when `run` panics.
    struct Restore(Option<Arc<Tally>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            let before = self.0.take();
            CURRENT.with_borrow_mut(|current| *current = before);
        }
    }
    let _restore = Restore(CURRENT.with_borrow_mut(|current| std::mem::replace(current, tally)));
    run()
}

/// Adds what was looked at since `before`.
pub(super) fn looked_at(before: Examined, after: Examined) {
    CURRENT.with_borrow(|current| {
        if let Some(tally) = current {
            tally.keys.fetch_add(after.keys - before.keys, Ordering::Relaxed);
            tally
                .documents
                .fetch_add(after.documents - before.documents, Ordering::Relaxed);
        }
    });
}

/// Notes a plan.
pub(super) fn planned(plan: &Plan, collection: &Collection) {
    CURRENT.with_borrow(|current| {
        let Some(tally) = current else { return };
        let mut plans = tally.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let own = match plan.by_id {
            true => "IDHACK".to_owned(),
            false => summary(&plan.access, collection),
        };
        if plans.len() < MOST_PLANS && !plans.contains(&own) {
            plans.push(own);
        }
    });
}

fn summary(access: &Access, collection: &Collection) -> String {
    match access {
        Access::Nothing => "EOF".to_owned(),
        Access::Collection { .. } => "COLLSCAN".to_owned(),
        Access::Index { index, .. } => match collection.indexes.get(*index) {
            Some(entry) => format!("IXSCAN {}", entry.definition.key_pattern()),
            None => "IXSCAN".to_owned(),
        },
        Access::Union(parts, _) => {
            let parts: Vec<String> = parts.iter().map(|part| summary(part, collection)).collect();
            parts.join(", ")
        }
        Access::Merge(streams) => {
            let parts = streams.iter().map(|stream| summary(&stream.access, collection));
            parts.collect::<Vec<_>>().join(", ")
        }
    }
}
