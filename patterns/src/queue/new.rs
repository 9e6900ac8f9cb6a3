//! A job that is to be enqueued.

use std::time::Duration;

use odm::bson::DateTime;

use super::job::Job;
use super::order;
use super::stored::State;

/// A job that is to be enqueued, with how. A bare job is one too: due now, of priority 0, not unique, in no group.
///
/// ```
/// use std::time::Duration;
/// use odm_patterns::queue::New;
///
/// let job = New::job("send the letter".to_owned())
///     .delay(Duration::from_secs(600))
///     .priority(5)
///     .group("customer 7");
/// # let _ = job;
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct New<J> {
    pub(super) job: J,
    pub(super) when: When,
    pub(super) priority: i8,
    pub(super) duplicates: Option<Duplicates>,
    pub(super) group: Option<String>,
    pub(super) attempts: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    Now,
    After(Duration),
    At(DateTime),
}

impl When {
    pub(super) fn time(self, now: DateTime) -> DateTime {
        match self {
            When::Now => now,
            When::After(delay) => order::later(now, delay),
            When::At(time) => time,
        }
    }
}

impl<J> New<J> {
    /// A job that is due now.
    pub fn job(job: J) -> New<J> {
        New {
            job,
            when: When::Now,
            priority: 0,
            duplicates: None,
            group: None,
            attempts: None,
        }
    }

    /// Not to be claimed before this time.
    pub fn at(self, time: DateTime) -> New<J> {
        New {
            when: When::At(time),
            ..self
        }
    }

    /// Not to be claimed before this long has passed.
    pub fn delay(self, delay: Duration) -> New<J> {
        New {
            when: When::After(delay),
            ..self
        }
    }

    /// Jobs of a greater priority are claimed first. 0 unless said otherwise.
    pub fn priority(self, priority: i8) -> New<J> {
        New { priority, ..self }
    }

    /// Not to be enqueued beside another one of this key that is not finished, which is kept: as
    /// [`duplicates`](New::duplicates) with [`Duplicates::of`].
    pub fn unique(self, key: impl Into<String>) -> New<J> {
        self.duplicates(Duplicates::of(key))
    }

    /// Says which jobs count as the same, and what happens then.
    pub fn duplicates(self, duplicates: Duplicates) -> New<J> {
        New {
            duplicates: Some(duplicates),
            ..self
        }
    }

    /// Puts the job into a group. Jobs of a group are claimed strictly in the order in which they were enqueued, and no more
    /// than [`group_limit`](super::Options::group_limit) of them are unfinished at a time: one that is delayed, or waits for
    /// its next attempt, keeps those behind it waiting. Their priority and time count against jobs of other groups only.
    pub fn group(self, group: impl Into<String>) -> New<J> {
        New {
            group: Some(group.into()),
            ..self
        }
    }

    /// How often this job is tried, instead of what its policy says.
    pub fn attempts(self, attempts: u32) -> New<J> {
        New {
            attempts: Some(attempts.clamp(1, i32::MAX as u32)),
            ..self
        }
    }
}

impl<J: Job> From<J> for New<J> {
    fn from(job: J) -> New<J> {
        New::job(job)
    }
}

/// Which jobs count as the same, and what happens to a second one. A unique index holds the key, so that it is true for
/// any number of programs that enqueue at once.
///
/// ```
/// use std::time::Duration;
/// use odm_patterns::queue::{Duplicates, Policy};
///
/// // At most one report an hour, whatever became of it.
/// let hourly = Duplicates::of("report").within(Duration::from_secs(3600));
/// // The search index is built two seconds after the last change.
/// let index = Duplicates::of("index").policy(Policy::Reschedule);
/// # let _ = (hourly, index);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Duplicates {
    pub(super) key: String,
    pub(super) window: Option<Duration>,
    pub(super) states: Vec<State>,
    pub(super) policy: Policy,
}

/// What happens when a job of the same key is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// It stays as it is.
    Keep,
    /// If it does not run yet, it gets the new one's message, time and priority, and all attempts anew, without the progress
    /// and the errors of earlier ones; otherwise it stays as it is.
    Replace,
    /// If it does not run yet, it gets the new one's time; otherwise it stays as it is.
    Reschedule,
}

impl Duplicates {
    /// Jobs of this key that are not finished.
    pub fn of(key: impl Into<String>) -> Duplicates {
        Duplicates {
            key: key.into(),
            window: None,
            states: State::UNFINISHED.to_vec(),
            policy: Policy::Keep,
        }
    }

    /// Only those of the same window of time, whatever their state: windows of this length follow each other from 1970 on.
    /// A job counts for as long as it is [kept](super::Options::keep_done).
    pub fn within(self, window: Duration) -> Duplicates {
        Duplicates {
            window: Some(window.max(Duration::from_millis(1))),
            states: State::ALL.to_vec(),
            ..self
        }
    }

    /// Only those in one of these states. Without `Running`, for example, a job is enqueued behind one that runs.
    pub fn states(self, states: impl IntoIterator<Item = State>) -> Duplicates {
        Duplicates {
            states: states.into_iter().collect(),
            ..self
        }
    }

    /// What happens then: [`Policy::Keep`] unless said otherwise.
    pub fn policy(self, policy: Policy) -> Duplicates {
        Duplicates { policy, ..self }
    }

    /// The key as it is stored.
    pub(super) fn stored(&self, now: DateTime) -> String {
        match self.window {
            None => self.key.clone(),
            Some(window) => {
                let length = order::millis(window).max(1);
                let start = now.timestamp_millis().div_euclid(length).saturating_mul(length);
                format!("{}@{start}", self.key)
            }
        }
    }
}
