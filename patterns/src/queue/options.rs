//! How a queue behaves.

use std::collections::HashMap;
use std::time::Duration;

use super::order::MAX_LANES;
use super::retry::Retry;

/// How a queue behaves. All processes that use a queue should say the same.
///
/// ```
/// use std::time::Duration;
/// use odm_patterns::queue::{Options, Retry};
///
/// let options = Options::new()
///     .lease(Duration::from_secs(30))
///     .retry(Retry::times(3))
///     .retry_for("mail", Retry::times(10).at_most(Duration::from_secs(600)))
///     .keep_done(Duration::from_secs(3600));
/// # let _ = options;
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Options {
    pub(super) lease: Duration,
    pub(super) retry: Retry,
    pub(super) retries: HashMap<String, Retry>,
    pub(super) keep_done: Option<Duration>,
    pub(super) keep_dead: Option<Duration>,
    pub(super) errors: u32,
    pub(super) group_limit: u32,
    pub(super) lanes: u8,
    pub(super) rate: Option<Rate>,
    pub(super) control_age: Duration,
    pub(super) batch: u32,
}

/// So many in a length of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rate {
    pub count: u32,
    pub per: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            lease: Duration::from_secs(60),
            retry: Retry::default(),
            retries: HashMap::new(),
            keep_done: Some(Duration::from_secs(24 * 3600)),
            keep_dead: None,
            errors: 10,
            group_limit: 1,
            lanes: 1,
            rate: None,
            control_age: Duration::from_secs(1),
            batch: 1_000,
        }
    }
}

impl Options {
    /// The defaults, which each method's page names.
    pub fn new() -> Options {
        Options::default()
    }

    /// How long a claim lasts without a heartbeat, and so how long a job waits when its worker dies: 60 seconds unless
    /// said otherwise.
    pub fn lease(self, length: Duration) -> Options {
        Options {
            lease: length.max(Duration::from_millis(1)),
            ..self
        }
    }

    /// How often jobs are tried, and when: [`Retry::default`] unless said otherwise. The number of attempts is stored with
    /// the job when it is enqueued.
    pub fn retry(self, retry: Retry) -> Options {
        Options { retry, ..self }
    }

    /// The same for one kind of jobs.
    pub fn retry_for(mut self, kind: impl Into<String>, retry: Retry) -> Options {
        self.retries.insert(kind.into(), retry);
        self
    }

    /// How long jobs that are done, or were called off, stay to be looked at, with their results: a day unless said
    /// otherwise. With zero an acknowledgement deletes the job, and one that comes too late is not told from one that is
    /// [said again](super::Queue::ack).
    pub fn keep_done(self, length: Duration) -> Options {
        Options {
            keep_done: Some(length),
            ..self
        }
    }

    /// Keeps jobs that are done until somebody deletes them.
    pub fn keep_done_for_ever(self) -> Options {
        Options {
            keep_done: None,
            ..self
        }
    }

    /// How long dead jobs stay to be looked at and redriven: for ever unless said otherwise.
    pub fn keep_dead(self, length: Duration) -> Options {
        Options {
            keep_dead: Some(length),
            ..self
        }
    }

    /// How many errors of a job's attempts are kept, the latest: 10 unless said otherwise.
    pub fn errors(self, count: u32) -> Options {
        Options {
            errors: count,
            ..self
        }
    }

    /// How many jobs of one group may be unfinished at its head at a time: 1 unless said otherwise, which is strict order
    /// within the group. All programs should say the same. A lower one holds as soon as the jobs are done that a higher one
    /// has let go.
    pub fn group_limit(self, count: u32) -> Options {
        Options {
            group_limit: count.max(1),
            ..self
        }
    }

    /// Spreads the jobs over lanes, 1 to 64, so that workers do not meet at one and the same first job. Each worker takes
    /// from a lane of its own while there is something in it, and then from those behind it. Priorities and times order
    /// the jobs of one lane, not those of different lanes. 1 unless said otherwise.
    pub fn lanes(self, count: u8) -> Options {
        Options {
            lanes: count.clamp(1, MAX_LANES),
            ..self
        }
    }

    /// How many jobs may be claimed in a length of time, by all workers together; so many at once after a rest. Each claim
    /// then costs one more round trip.
    pub fn rate_limit(self, count: u32, per: Duration) -> Options {
        let rate = Rate {
            count: count.max(1),
            per: per.max(Duration::from_millis(1)),
        };
        Options {
            rate: Some(rate),
            ..self
        }
    }

    /// How old what is known of [`pause`](super::Queue::pause) may be, by the database handle's clock: a second unless said
    /// otherwise. Asking costs one round trip, in the claim that finds it too old.
    pub fn control_age(self, age: Duration) -> Options {
        Options {
            control_age: age,
            ..self
        }
    }

    /// How many jobs [`tend`](super::Queue::tend) moves in one round trip: 1,000 unless said otherwise.
    pub fn batch(self, count: u32) -> Options {
        Options {
            batch: count.max(1),
            ..self
        }
    }

    /// The policy for a kind.
    pub(super) fn policy(&self, kind: &str) -> &Retry {
        self.retries.get(kind).unwrap_or(&self.retry)
    }
}
