//! The jobs of one commit: those that are there, and those that come while they run.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use super::{Shared, lock};
use crate::native::engine::job::Job;

/// Where the jobs of a commit come from.
pub(super) trait Jobs {
    /// The next one; none when the commit is to end.
    fn next(&mut self) -> Option<&mut dyn Job>;
}

/// A job of the caller's own.
pub(super) struct One<'j>(pub(super) Option<&'j mut dyn Job>);

impl Jobs for One<'_> {
    fn next(&mut self) -> Option<&mut dyn Job> {
        match self.0.take() {
            Some(job) => Some(job),
            None => None,
        }
    }
}

/// Queued jobs, and who joins them.
pub(super) struct Arrivals<'s> {
    shared: &'s Shared,
    pub(super) jobs: Vec<Box<dyn Job>>,
    next: usize,
    /// As many as could share the commit, and how long they are waited for.
    crowd: usize,
    until: Instant,
    /// How long the commit waited for them.
    pub(super) waited: Duration,
}

/// Into so many parts those who are waited for are divided: the first run while the last are on their way.
const PARTS: usize = 16;

/// How many jobs to wait for at once, of so many.
pub(super) fn part_of(crowd: usize) -> usize {
    crowd.div_ceil(PARTS).max(1)
}

impl<'s> Arrivals<'s> {
    pub(super) fn new(
        shared: &'s Shared,
        jobs: Vec<Box<dyn Job>>,
        crowd: usize,
        until: Instant,
    ) -> Arrivals<'s> {
        let mut arrivals = Arrivals {
            shared,
            jobs: Vec::new(),
            next: 0,
            crowd,
            until,
            waited: Duration::ZERO,
        };
        arrivals.admit(jobs);
        arrivals
    }

    fn admit(&mut self, jobs: impl IntoIterator<Item = Box<dyn Job>>) {
        self.jobs
            .extend(jobs.into_iter().filter(|job| !job.is_abandoned()));
    }

    /// Waits for some of those who are missing; `false` when the commit need not wait any longer.
    fn fetch(&mut self) -> bool {
        if self.jobs.len() >= self.crowd {
            return false;
        }
        let start = Instant::now();
        let mut queue = lock(&self.shared.queue);
        while queue.jobs.is_empty() {
            let left = self.until.saturating_duration_since(Instant::now());
            if left.is_zero() || queue.closing {
                break;
            }
            queue.wanted = part_of(self.crowd - self.jobs.len());
            queue = self
                .shared
                .wake
                .wait_timeout(queue, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        // Nobody need wake a thread that is at work.
        queue.wanted = usize::MAX;
        let came = std::mem::take(&mut queue.jobs);
        drop(queue);
        self.waited += start.elapsed();
        self.admit(came);
        self.next < self.jobs.len()
    }
}

impl Jobs for Arrivals<'_> {
    fn next(&mut self) -> Option<&mut dyn Job> {
        if self.next >= self.jobs.len() && !self.fetch() {
            return None;
        }
        self.next += 1;
        match self.jobs.get_mut(self.next - 1) {
            Some(job) => Some(&mut **job),
            None => None,
        }
    }
}
