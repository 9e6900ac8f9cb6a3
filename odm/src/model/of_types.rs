//! What is found out once for each type.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Something for each of several types, found out at the first use of the type and kept as long as the process.
pub(crate) struct OfTypes<T>(Mutex<Option<HashMap<TypeId, T>>>);

impl<T: Clone> OfTypes<T> {
    pub(crate) const fn new() -> OfTypes<T> {
        OfTypes(Mutex::new(None))
    }

    /// What is known of the type, or is made and then kept.
    ///
    /// To make it may take functions of the program, which may come back here for another type: nothing is locked
    /// meanwhile. So several threads may make it at once, and what the first of them made is kept.
    pub(crate) fn get<K: 'static, Made>(&self, make: fn() -> Made, keep: fn(Made) -> T) -> T {
        let of = TypeId::of::<K>();
        if let Some(known) = self.lock().get_or_insert_default().get(&of) {
            return known.clone();
        }
        let made = make();
        let mut all = self.lock();
        let kept = all
            .get_or_insert_default()
            .entry(of)
            .or_insert_with(|| keep(made));
        kept.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<HashMap<TypeId, T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
