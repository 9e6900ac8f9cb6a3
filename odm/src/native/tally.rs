//! What an operation did to find its documents, added up for whoever asked to know.
//!
//! Nobody asks in the ordinary run: then a look at a flag of the thread is all that it costs.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How much an operation looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Examined {
    pub(crate) keys: u64,
    pub(crate) documents: u64,
}

/// The plans of an operation, in short, and how much it looked at.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    keys: AtomicU64,
    documents: AtomicU64,
    scans: AtomicU64,
    plans: Mutex<Vec<String>>,
    indexes: Mutex<BTreeSet<String>>,
    /// That of which this one is a part: it has all of it too.
    whole: Option<Arc<Tally>>,
}

thread_local! {
    /// The tally of the operation that the thread is at.
    static CURRENT: RefCell<Option<Arc<Tally>>> = const { RefCell::new(None) };
}

/// How many plans are kept: an operation of many statements has many.
const MOST_PLANS: usize = 8;

/// What is noted of a plan.
#[derive(Debug)]
pub(crate) struct Noted {
    /// `COLLSCAN`, `IXSCAN { a: 1 }`.
    pub(crate) summary: String,
    /// The names of the indexes that it reads.
    pub(crate) indexes: Vec<String>,
}

impl Tally {
    /// One for a part of the operation that this thread is at.
    pub(crate) fn of_part() -> Tally {
        Tally {
            whole: current(),
            ..Tally::default()
        }
    }

    /// How much was looked at so far.
    pub(crate) fn examined(&self) -> Examined {
        Examined {
            keys: self.keys.load(Ordering::Relaxed),
            documents: self.documents.load(Ordering::Relaxed),
        }
    }

    /// How many times all of a collection was read.
    pub(crate) fn scans(&self) -> u64 {
        self.scans.load(Ordering::Relaxed)
    }

    /// The plans so far, each once: `COLLSCAN`, `IXSCAN { a: 1 }`.
    pub(crate) fn plans(&self) -> String {
        let plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.join(", ")
    }

    /// The names of the indexes that were read, each once.
    pub(crate) fn indexes(&self) -> Vec<String> {
        let indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        indexes.iter().cloned().collect()
    }

    fn add(&self, examined: Examined) {
        self.keys.fetch_add(examined.keys, Ordering::Relaxed);
        self.documents.fetch_add(examined.documents, Ordering::Relaxed);
        if let Some(whole) = &self.whole {
            whole.add(examined);
        }
    }

    fn add_scan(&self) {
        self.scans.fetch_add(1, Ordering::Relaxed);
        if let Some(whole) = &self.whole {
            whole.add_scan();
        }
    }

    fn note(&self, noted: &Noted) {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if plans.len() < MOST_PLANS && !plans.contains(&noted.summary) {
            plans.push(noted.summary.clone());
        }
        let mut indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        indexes.extend(noted.indexes.iter().cloned());
        if let Some(whole) = &self.whole {
            whole.note(noted);
        }
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
pub(crate) fn looked_at(before: Examined, after: Examined) {
    CURRENT.with_borrow(|current| {
        if let Some(tally) = current {
            tally.add(Examined {
                keys: after.keys - before.keys,
                documents: after.documents - before.documents,
            });
        }
    });
}

/// Counts a run through all of a collection.
pub(crate) fn scans() {
    CURRENT.with_borrow(|current| {
        if let Some(tally) = current {
            tally.add_scan();
        }
    });
}

/// Notes a plan, if somebody asked.
pub(crate) fn planned(note: impl FnOnce() -> Noted) {
    CURRENT.with_borrow(|current| {
        if let Some(tally) = current {
            tally.note(&note());
        }
    });
}
