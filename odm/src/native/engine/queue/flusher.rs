//! A second thread, which brings what was committed lately to where the store reads it fastest: in time before there
//! is too much of it, and when nobody has written for a while.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{Shared, lock};
use crate::native::engine::view::shielded;
use crate::native::storage::Due;

/// Nobody writes any more when nobody has written for so long.
const QUIET: Duration = Duration::from_millis(100);

/// The thread, and what it is told.
#[derive(Debug, Default)]
pub(super) struct Flusher {
    /// It is time.
    asked: AtomicBool,
    /// There is something for a quiet time.
    armed: AtomicBool,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct State {
    closing: bool,
    /// Started when it is first needed.
    thread: Option<JoinHandle<()>>,
}

impl Flusher {
    /// Ends the thread.
    pub(super) fn close(&self) {
        let thread = {
            let mut state = lock(&self.state);
            state.closing = true;
            state.thread.take()
        };
        self.wake.notify_one();
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            // The thread catches panics; there is nobody to tell of one.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Notes what the store has to do; costs next to nothing unless it is news.
    pub(super) fn note_recent(self: &Arc<Self>, due: Due) {
        let flusher = &self.flusher;
        let flag = match due {
            Due::Never => return,
            Due::Later => &flusher.armed,
            Due::Now => &flusher.asked,
        };
        if flag.load(Ordering::Relaxed) {
            return;
        }
        let mut state = lock(&flusher.state);
        if state.closing {
            return;
        }
        flag.store(true, Ordering::Relaxed);
        if state.thread.is_none() {
            let shared = self.clone();
            let started = std::thread::Builder::new()
                .name("odm-flusher".to_owned())
                .spawn(move || shared.flush_in_time());
            // Without it the writer does its work.
            state.thread = started.ok();
        }
        drop(state);
        flusher.wake.notify_one();
    }

    fn flush_in_time(self: Arc<Self>) {
        while self.wait_for_flush() {
            // Whoever needs what a failure is about is told of it.
            if shielded(|| self.store().flush()).is_ok() {
                self.renew_view();
            }
        }
    }

    /// Waits until it is time; `false` when the engine closes.
    fn wait_for_flush(&self) -> bool {
        let flusher = &self.flusher;
        let mut state = lock(&flusher.state);
        loop {
            if state.closing {
                return false;
            }
            if flusher.asked.swap(false, Ordering::Relaxed) {
                return true;
            }
            if !flusher.armed.load(Ordering::Relaxed) {
                state = flusher.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let before = self.counts.commits();
            let (waited, timeout) = flusher
                .wake
                .wait_timeout(state, QUIET)
                .unwrap_or_else(PoisonError::into_inner);
            state = waited;
            if timeout.timed_out() && before == self.counts.commits() {
                flusher.armed.store(false, Ordering::Relaxed);
                return !state.closing;
            }
        }
    }
}
