//! Unwrapped keys, for a while.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use odm::bson::{DateTime, Uuid};

use super::{KeyMaterial, KeyRef};

/// Unwrapped keys by their ids and names. What is older than it may be is dropped when something else is put there.
#[derive(Default)]
pub(super) struct Cache(Mutex<Cached>);

#[derive(Default)]
struct Cached {
    keys: HashMap<Uuid, Entry>,
    names: HashMap<String, Uuid>,
    /// How often keys were forgotten.
    forgotten: u64,
}

struct Entry {
    material: KeyMaterial,
    names: Vec<String>,
    since: DateTime,
}

impl Entry {
    /// A clock that goes back makes a key old: it is better asked for once more.
    fn is_fresh(&self, now: DateTime, keep: Duration) -> bool {
        let age = now.timestamp_millis().checked_sub(self.since.timestamp_millis());
        let age = age.and_then(|age| u128::try_from(age).ok());
        age.is_some_and(|age| age < keep.as_millis())
    }
}

impl Cached {
    fn remove(&mut self, id: &Uuid) {
        for name in self.keys.remove(id).into_iter().flat_map(|entry| entry.names) {
            if self.names.get(&name) == Some(id) {
                self.names.remove(&name);
            }
        }
    }
}

impl Cache {
    fn cached(&self) -> std::sync::MutexGuard<'_, Cached> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The key, if it is there and young enough.
    pub(super) fn get(&self, key: &KeyRef, now: DateTime, keep: Duration) -> Option<(Uuid, KeyMaterial)> {
        let cached = self.cached();
        let id = match key {
            KeyRef::Id(id) => id,
            KeyRef::Name(name) => cached.names.get(name)?,
        };
        let entry = cached.keys.get(id).filter(|entry| entry.is_fresh(now, keep))?;
        Some((*id, entry.material.clone()))
    }

    /// What to give to [`put`](Cache::put) with keys that are asked for from now on.
    pub(super) fn ticket(&self) -> u64 {
        self.cached().forgotten
    }

    /// Puts keys there, unless one was forgotten since the ticket was drawn: it may be among these. What is too old goes.
    pub(super) fn put(
        &self,
        ticket: u64,
        keys: impl IntoIterator<Item = (Uuid, Vec<String>, KeyMaterial)>,
        (since, keep): (DateTime, Duration),
    ) {
        let mut cached = self.cached();
        if cached.forgotten != ticket {
            return;
        }
        let old = cached
            .keys
            .iter()
            .filter(|(_, entry)| !entry.is_fresh(since, keep));
        for old in old.map(|(id, _)| *id).collect::<Vec<_>>() {
            cached.remove(&old);
        }
        for (id, names, material) in keys {
            cached.remove(&id);
            if keep.is_zero() {
                continue;
            }
            for name in &names {
                cached.names.insert(name.clone(), id);
            }
            let entry = Entry {
                material,
                names,
                since,
            };
            cached.keys.insert(id, entry);
        }
    }

    /// Drops one key, or all.
    pub(super) fn forget(&self, id: Option<&Uuid>) {
        let mut cached = self.cached();
        cached.forgotten += 1;
        match id {
            Some(id) => cached.remove(id),
            None => {
                cached.keys.clear();
                cached.names.clear();
            }
        }
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cache({} keys)", self.cached().keys.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEEP: Duration = Duration::from_secs(60);

    fn at(seconds: i64) -> DateTime {
        DateTime::from_millis(seconds * 1000)
    }

    #[test]
    fn keys_are_kept_for_their_time_and_no_longer() {
        let cache = Cache::default();
        let id = Uuid::from_bytes([1; 16]);
        let material = KeyMaterial::from([7; 96]);
        cache.put(0, [(id, vec!["a".into()], material.clone())], (at(100), KEEP));
        for key in [KeyRef::from("a"), KeyRef::from(id)] {
            for (now, is_there) in [(100, true), (159, true), (160, false), (99, false)] {
                assert_eq!(
                    cache.get(&key, at(now), KEEP).is_some(),
                    is_there,
                    "{key} at {now}"
                );
            }
        }
        // Another key has the name by now.
        let other = Uuid::from_bytes([2; 16]);
        cache.put(0, [(other, vec!["a".into()], material.clone())], (at(120), KEEP));
        assert_eq!(cache.get(&"a".into(), at(120), KEEP).unwrap().0, other);
        cache.put(0, [(id, vec![], material.clone())], (at(130), KEEP));
        assert_eq!(cache.get(&"a".into(), at(130), KEEP).unwrap().0, other);
        // Old ones are dropped by new ones.
        cache.put(0, [(id, vec![], material.clone())], (at(200), KEEP));
        assert_eq!(format!("{cache:?}"), "Cache(1 keys)");
        assert!(cache.get(&"a".into(), at(120), KEEP).is_none());
    }

    #[test]
    fn what_was_forgotten_is_not_put_back_by_who_asked_before() {
        let cache = Cache::default();
        let id = Uuid::from_bytes([1; 16]);
        let ticket = cache.ticket();
        cache.forget(Some(&id));
        cache.put(ticket, [(id, vec![], KeyMaterial::from([7; 96]))], (at(0), KEEP));
        assert!(cache.get(&id.into(), at(0), KEEP).is_none());
    }
}
