//! How long a transaction may run: one that was forgotten must not block others for ever.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use super::transaction::State;
use crate::clock;

/// How long the transaction of a busy operation is left alone before it is looked at again.
const BUSY: Duration = Duration::from_millis(20);

/// The running transactions of an engine by the end of their time. The clock aborts those whose time is over.
#[derive(Debug)]
pub(super) struct Lifetimes {
    limit: Duration,
    running: Mutex<Running>,
}

#[derive(Debug, Default)]
struct Running {
    last: u64,
    by_end: BTreeMap<(Instant, u64), Weak<Mutex<State>>>,
    /// The clock is going to wake this.
    armed: bool,
}

/// A transaction's place among the running ones; dropping it gives the place up.
#[derive(Debug)]
pub(super) struct Lifetime {
    key: Option<(Instant, u64)>,
    of: Arc<Lifetimes>,
}

impl Lifetimes {
    pub(super) fn new(limit: Duration) -> Arc<Lifetimes> {
        Arc::new(Lifetimes {
            limit,
            running: Mutex::default(),
        })
    }

    /// Begins a transaction's time.
    pub(super) fn begin(self: &Arc<Self>, state: &Arc<Mutex<State>>) -> Lifetime {
        // A limit beyond what the clock can tell is none.
        let key = Instant::now().checked_add(self.limit).map(|end| {
            let mut running = self.running();
            running.last += 1;
            let key = (end, running.last);
            running.by_end.insert(key, Arc::downgrade(state));
            if !running.armed {
                running.armed = clock::wake_at(end, Waker::from(self.clone()));
            }
            key
        });
        Lifetime {
            key,
            of: self.clone(),
        }
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Lifetimes {
    /// Aborts the transactions whose time is over.
    fn wake(self: Arc<Self>) {
        let now = Instant::now();
        let over: Vec<_> = {
            let running = self.running();
            let over = running.by_end.range(..=(now, u64::MAX));
            over.map(|(key, state)| (*key, state.upgrade())).collect()
        };
        // Not under the lock: what a transaction held goes to those who wait for it.
        let mut ended = Vec::new();
        for (key, state) in over {
            if state.is_none_or(|state| expire(&state)) {
                ended.push(key);
            }
        }
        let mut running = self.running();
        for key in ended {
            running.by_end.remove(&key);
        }
        let next = running.by_end.first_key_value().map(|(key, _)| key.0);
        running.armed = next.is_some_and(|end| {
            let again = end.max(Instant::now() + BUSY);
            clock::wake_at(again, Waker::from(self.clone()))
        });
    }
}

/// Aborts a transaction, unless one of its operations is just running.
fn expire(state: &Mutex<State>) -> bool {
    let mut state = match state.try_lock() {
        Ok(state) => state,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return false,
    };
    if matches!(&*state, State::Running(_)) {
        *state = State::Aborted;
    }
    true
}

impl Lifetime {
    /// Whether the time is over.
    pub(super) fn is_over(&self) -> bool {
        self.key.is_some_and(|(end, _)| Instant::now() >= end)
    }
}

impl Drop for Lifetime {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.of.running().by_end.remove(&key);
        }
    }
}
