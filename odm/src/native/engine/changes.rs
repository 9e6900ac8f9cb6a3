//! The log of changes: what change streams read.
//!
//! It begins with the first watch and is written by the commits themselves: a change is in the log exactly
//! when its data is committed, in the order of the commits. What leaves the window is removed by later
//! commits, a few changes for each one that is added.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::ops::{Bound, ControlFlow};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::native::fault::{Fault, Result};
use crate::native::storage::format::{self, ChangeKey, LogHead, StoredChange};
use crate::native::storage::{ALL, Pending, TreeId, Trees};

/// How much of the log is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChangeWindow {
    /// Whether changes may be logged at all.
    pub(crate) enabled: bool,
    /// At about how many bytes the oldest changes go.
    pub(crate) bytes: u64,
    /// At which age they go.
    pub(crate) age: Option<Duration>,
}

impl Default for ChangeWindow {
    fn default() -> ChangeWindow {
        ChangeWindow {
            enabled: true,
            bytes: 64 * 1024 * 1024,
            age: Some(Duration::from_secs(24 * 60 * 60)),
        }
    }
}

/// The changes of one job, in order.
#[derive(Debug, Default)]
pub(super) struct Logged {
    pub(super) bodies: Vec<Vec<u8>>,
    /// The id of the transaction, if they are one's.
    pub(super) transaction: Option<[u8; 16]>,
}

/// The log's place among what an engine shares.
#[derive(Debug)]
pub(super) struct ChangeLog {
    window: ChangeWindow,
    /// Set under the writer's lock.
    on: AtomicBool,
    /// Only the writer looks at it.
    state: Mutex<Option<State>>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    head: LogHead,
    /// The first change that is there.
    first: Option<ChangeKey>,
    /// Bytes logged before the first change that is there, and in all.
    start: u64,
    end: u64,
}

/// Removals for each change that is added, while there is too much.
const REMOVALS: usize = 2;
/// And for each job.
const REMOVALS_OF_JOB: usize = 8;

impl ChangeLog {
    /// Finds the log of a store. Where none is wanted but there is one, it must be cleared: `true`. What is in that
    /// one is not looked at: it may be damaged.
    pub(super) fn open(trees: &dyn Trees, window: ChangeWindow) -> Result<(ChangeLog, bool)> {
        let state = load_wanted(trees, window)?;
        let unwanted = !window.enabled && is_there(trees)?;
        let log = ChangeLog {
            window,
            on: AtomicBool::new(state.is_some()),
            state: Mutex::new(state),
        };
        Ok((log, unwanted))
    }

    /// Whether changes are logged.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.on.load(Ordering::Acquire)
    }

    /// Begins the log, as part of a job's writes; nothing happens when it has begun.
    pub(super) fn begin(&self, pending: &mut Pending) -> Result<()> {
        if !self.window.enabled {
            return Err(Fault::unsupported(
                "this database was opened without a log of changes, which change streams read",
            ));
        }
        let mut state = self.state();
        if state.is_some() {
            return Ok(());
        }
        let start = ChangeKey {
            seconds: seconds_of(now()),
            ..ChangeKey::default()
        };
        let head = LogHead {
            id: new_id(),
            floor: start,
            last: start,
        };
        pending.put(TreeId::CHANGES, LogHead::KEY, &head.seal());
        *state = Some(State {
            head,
            first: None,
            start: 0,
            end: 0,
        });
        self.on.store(true, Ordering::Release);
        Ok(())
    }

    /// Adds a job's changes to its writes, each of them moved, and removes what has left the window.
    pub(super) fn append(&self, trees: &dyn Trees, pending: &mut Pending, logged: Logged) -> Result<()> {
        let mut guard = self.state();
        let Some(state) = guard.as_mut() else {
            return Ok(());
        };
        let wall = now();
        let count = logged.bodies.len();
        for (at, body) in logged.bodies.into_iter().enumerate() {
            let key = match (logged.transaction, at) {
                (Some(_), 1..) => ChangeKey {
                    position: state.head.last.position.saturating_add(1),
                    ..state.head.last
                },
                _ => after(state.head.last, seconds_of(wall)),
            };
            let change = StoredChange {
                before: state.end,
                wall,
                transaction: logged.transaction.unwrap_or_default(),
                body: &body,
            };
            let stored = format::seal_change(key, change);
            state.end += (stored.len() + ChangeKey::BYTES) as u64;
            state.head.last = key;
            state.first.get_or_insert(key);
            pending.put(TreeId::CHANGES, &key.to_bytes(), &stored);
        }
        if self.has_too_much(state, wall) {
            let most = REMOVALS * count + REMOVALS_OF_JOB;
            self.remove_oldest(state, trees, pending, wall, most)?;
        }
        Ok(())
    }

    /// Takes the state from the store again, after a commit that did not happen.
    pub(super) fn reload(&self, trees: &dyn Trees) -> Result<()> {
        let state = load_wanted(trees, self.window)?;
        let mut own = self.state();
        self.on.store(state.is_some(), Ordering::Release);
        *own = state;
        Ok(())
    }

    fn has_too_much(&self, state: &State, wall: i64) -> bool {
        let over_age = |first: ChangeKey| {
            self.window.age.is_some_and(|age| {
                u64::from(first.seconds).saturating_add(age.as_secs()) < wall as u64 / 1000
            })
        };
        state.end - state.start > self.window.bytes || state.first.is_some_and(over_age)
    }

    /// Removes up to `most` changes that earlier commits logged.
    fn remove_oldest(
        &self,
        state: &mut State,
        trees: &dyn Trees,
        pending: &mut Pending,
        wall: i64,
        most: usize,
    ) -> Result<()> {
        let floor = state.head.floor.to_bytes();
        let mut removed = 0;
        trees.scan(
            TreeId::CHANGES,
            (Bound::Excluded(&floor), Bound::Unbounded),
            false,
            &mut |key, stored| {
                let (key, change) = format::unseal_change(key, stored)?;
                state.first = Some(key);
                state.start = change.before;
                if removed == most || !self.has_too_much(state, wall) {
                    return Ok(ControlFlow::Break(()));
                }
                pending.remove(TreeId::CHANGES, &key.to_bytes());
                state.head.floor = key;
                removed += 1;
                Ok(ControlFlow::Continue(()))
            },
        )?;
        if removed > 0 {
            pending.put(TreeId::CHANGES, LogHead::KEY, &state.head.seal());
        }
        Ok(())
    }

    /// What is kept of the log, if it has begun: its head and its bytes.
    pub(super) fn window(&self) -> Option<(LogHead, u64)> {
        self.state()
            .as_ref()
            .map(|state| (state.head, state.end - state.start))
    }

    fn state(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn load_wanted(trees: &dyn Trees, window: ChangeWindow) -> Result<Option<State>> {
    match window.enabled {
        true => load(trees),
        false => Ok(None),
    }
}

/// Whether there is anything of a log.
fn is_there(trees: &dyn Trees) -> Result<bool> {
    let mut found = false;
    trees.scan(TreeId::CHANGES, ALL, false, &mut |_, _| {
        found = true;
        Ok(ControlFlow::Break(()))
    })?;
    Ok(found)
}

/// The log's state out of a store.
fn load(trees: &dyn Trees) -> Result<Option<State>> {
    let Some(stored) = trees.get(TreeId::CHANGES, LogHead::KEY)? else {
        return Ok(None);
    };
    let mut state = State {
        head: LogHead::unseal(&stored)?,
        first: None,
        start: 0,
        end: 0,
    };
    let changes = (Bound::Excluded(LogHead::KEY), Bound::Unbounded);
    trees.scan(TreeId::CHANGES, changes, false, &mut |key, stored| {
        let (key, change) = format::unseal_change(key, stored)?;
        state.first = Some(key);
        state.start = change.before;
        Ok(ControlFlow::Break(()))
    })?;
    trees.scan(TreeId::CHANGES, changes, true, &mut |key, stored| {
        let (key, change) = format::unseal_change(key, stored)?;
        state.head.last = state.head.last.max(key);
        state.end = change.before + (stored.len() + ChangeKey::BYTES) as u64;
        Ok(ControlFlow::Break(()))
    })?;
    Ok(Some(state))
}

/// What tells the tokens of a new log from those of others.
pub(super) fn new_id() -> [u8; 8] {
    RandomState::new().hash_one(now()).to_be_bytes()
}

/// The key of the next commit: times grow, whatever the clock does.
fn after(last: ChangeKey, seconds: u32) -> ChangeKey {
    let (seconds, increment) = if seconds > last.seconds {
        (seconds, 1)
    } else {
        match last.increment.checked_add(1) {
            Some(increment) => (last.seconds, increment),
            None => (last.seconds.saturating_add(1), 1),
        }
    };
    ChangeKey {
        seconds,
        increment,
        position: 0,
    }
}

/// Milliseconds since the epoch.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn seconds_of(wall: i64) -> u32 {
    u32::try_from(wall / 1000).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_grow_whatever_the_clock_does() {
        let last = ChangeKey {
            seconds: 10,
            increment: 4,
            position: 2,
        };
        let expected = |seconds, increment| ChangeKey {
            seconds,
            increment,
            position: 0,
        };
        assert_eq!(after(last, 11), expected(11, 1));
        assert_eq!(after(last, 10), expected(10, 5));
        assert_eq!(after(last, 3), expected(10, 5));
        let full = ChangeKey {
            increment: u32::MAX,
            ..last
        };
        assert_eq!(after(full, 10), expected(11, 1));
    }
}
