//! Telling a handler that it should stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::bell::Bell;

/// Why a handler should stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The job was called off: [`Queue::cancel`](super::Queue::cancel).
    Canceled,
    /// Somebody else has the job by now; nothing that the handler says of it has an effect.
    LeaseLost,
    /// The worker is shutting down, and gives the job back when its time for that is over.
    ShuttingDown,
}

/// Tells a handler that it should stop, and why. Clones are the same signal.
#[derive(Clone, Debug, Default)]
pub struct Signal {
    stop: Arc<Mutex<Option<Stop>>>,
    completing: Arc<AtomicBool>,
    bell: Bell,
}

impl Signal {
    /// Why to stop; none while there is no reason.
    pub fn reason(&self) -> Option<Stop> {
        *self.stop.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is a reason to stop.
    pub fn is_raised(&self) -> bool {
        self.reason().is_some()
    }

    /// Waits for a reason to stop. Cancel safety: dropping the future forgets it.
    pub async fn raised(&self) -> Stop {
        loop {
            let listening = self.bell.listen();
            if let Some(stop) = self.reason() {
                return stop;
            }
            listening.await;
        }
    }

    /// Notes that the handler ends the job in a transaction of its own: a job that is done by then is its doing.
    pub(super) fn completes(&self) {
        self.completing.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_completing(&self) -> bool {
        self.completing.load(Ordering::SeqCst)
    }

    /// Says why to stop. A lost lease is never replaced by another reason.
    pub(super) fn raise(&self, stop: Stop) {
        {
            let mut reason = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
            if *reason == Some(Stop::LeaseLost) {
                return;
            }
            *reason = Some(stop);
        }
        self.bell.ring();
    }
}
