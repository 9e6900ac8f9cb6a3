//! The writer for whoever needs it for longer than a commit.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::{Shared, WriterState, lock};

/// Who writes gives way to who waits for the writer: the lock alone would let those who write without pause take it
/// again and again.
#[derive(Debug, Default)]
pub(in super::super) struct Turns {
    wanted: AtomicUsize,
    turn: Mutex<()>,
}

/// Counts for as long as it lives.
struct Wanted<'a>(&'a AtomicUsize);

impl Turns {
    fn want(&self) -> Wanted<'_> {
        // Whoever queues a job and does not see this any more finds the writer free; who still sees it has queued
        // the job before the queue is looked at for the last time.
        self.wanted.fetch_add(1, Ordering::AcqRel);
        Wanted(&self.wanted)
    }

    /// How many wait for the writer or have it.
    pub(in super::super) fn wanted(&self) -> usize {
        self.wanted.load(Ordering::Acquire)
    }

    /// Lets somebody who waits go first.
    pub(super) fn give_way(&self) {
        if self.wanted() > 0 {
            drop(lock(&self.turn));
        }
    }
}

impl Drop for Wanted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Shared {
    /// Runs what nobody may write beside. What others queue meanwhile runs afterwards.
    pub(in super::super) fn alone<T>(self: &Arc<Self>, body: impl FnOnce(&mut WriterState) -> T) -> T {
        let ran = {
            let _wanted = self.turns.want();
            let _turn = lock(&self.turns.turn);
            let mut writer = lock(&self.writer);
            body(&mut writer)
        };
        self.drain();
        ran
    }
}
