//! How a job was not done.

use std::fmt;
use std::time::Duration;

/// How a job was not done, and what is to become of it. Any error is one: the job is tried again as its
/// [policy](super::Retry) says.
///
/// ```
/// use std::time::Duration;
/// use odm_patterns::queue::Failure;
///
/// fn send(to: &str) -> Result<(), Failure> {
///     if !to.contains('@') {
///         return Err(Failure::dead("this is no address"));
///     }
///     let _number: i32 = "7".parse()?;
///     Err(Failure::retry("the server is busy").after(Duration::from_secs(30)))
/// }
/// # assert!(send("ann").is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub(super) error: String,
    pub(super) then: Then,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Then {
    /// After this long; none as the policy says.
    Retry(Option<Duration>),
    Dead,
    Canceled,
    /// Not an attempt that counts.
    Snooze(Duration),
}

impl Failure {
    /// To be tried again.
    pub fn retry(error: impl fmt::Display) -> Failure {
        Failure {
            error: error.to_string(),
            then: Then::Retry(None),
        }
    }

    /// Never to be tried again.
    pub fn dead(error: impl fmt::Display) -> Failure {
        Failure {
            error: error.to_string(),
            then: Then::Dead,
        }
    }

    /// Stopped because it was called off.
    pub fn canceled() -> Failure {
        Failure {
            error: "canceled".to_owned(),
            then: Then::Canceled,
        }
    }

    /// Nothing went wrong, but it is too early: to be claimed again after this long. The attempt does not count.
    pub fn snooze(delay: Duration) -> Failure {
        Failure {
            error: String::new(),
            then: Then::Snooze(delay),
        }
    }

    /// Says how long to wait before the next attempt, instead of the policy. Has a meaning for
    /// [`retry`](Failure::retry) only.
    pub fn after(mut self, delay: Duration) -> Failure {
        if let Then::Retry(_) = self.then {
            self.then = Then::Retry(Some(delay));
        }
        self
    }

    /// What went wrong.
    pub fn message(&self) -> &str {
        &self.error
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        Failure::retry(text)
    }
}
