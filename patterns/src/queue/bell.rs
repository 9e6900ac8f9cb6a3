//! Waking those who wait, inside of one process.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Rings for all who listen. Who listens after it rang hears the next ring only.
#[derive(Clone, Debug, Default)]
pub(super) struct Bell(Arc<Mutex<Rung>>);

#[derive(Debug, Default)]
struct Rung {
    times: u64,
    listeners: Vec<Waker>,
}

/// Ready when the bell has rung since it was made.
#[derive(Debug)]
#[must_use]
pub(super) struct Listening {
    bell: Bell,
    since: u64,
}

impl Bell {
    pub(super) fn ring(&self) {
        let listeners = {
            let mut rung = self.lock();
            rung.times += 1;
            std::mem::take(&mut rung.listeners)
        };
        // A waker may run anything, so no lock is held over it.
        for listener in listeners {
            listener.wake();
        }
    }

    /// How often it has rung.
    pub(super) fn times(&self) -> u64 {
        self.lock().times
    }

    pub(super) fn listen(&self) -> Listening {
        Listening {
            bell: self.clone(),
            since: self.times(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Rung> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Future for Listening {
    type Output = ();

    fn poll(self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<()> {
        let mut rung = self.bell.lock();
        if rung.times != self.since {
            return Poll::Ready(());
        }
        if !rung.listeners.iter().any(|known| known.will_wake(ctx.waker())) {
            rung.listeners.push(ctx.waker().clone());
        }
        Poll::Pending
    }
}
