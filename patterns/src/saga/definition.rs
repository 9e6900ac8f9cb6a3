//! What a saga does.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::effect::Effect;
use super::error::{SagaError, StepError};

/// A step's function, or its compensation's.
pub(super) type Action<S> = Arc<dyn Fn(Effect, S) -> BoxFuture<'static, Result<S, StepError>> + Send + Sync>;

/// The steps of a saga with the state `S` that they hand on.
#[must_use]
pub struct Definition<S> {
    pub(super) name: String,
    pub(super) steps: Vec<Step<S>>,
}

impl<S> Definition<S> {
    /// A definition without steps. The name is stored with every saga: a definition with other steps needs another name,
    /// such as `transfer.v2`, as long as there are sagas of the old one.
    pub fn new(name: impl Into<String>) -> Definition<S> {
        Definition {
            name: name.into(),
            steps: Vec::new(),
        }
    }

    /// One step more.
    pub fn step(mut self, step: Step<S>) -> Definition<S> {
        self.steps.push(step);
        self
    }

    /// The step after which the saga only goes forward.
    pub(super) fn pivot(&self) -> Option<usize> {
        self.steps.iter().position(|step| step.is_pivot)
    }

    pub(super) fn check(&self) -> Result<(), SagaError> {
        let mut names: Vec<&str> = self.steps.iter().map(|step| step.name.as_str()).collect();
        names.sort_unstable();
        if names.is_empty() {
            return Err(SagaError::BadDefinition("a saga has at least one step"));
        }
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(SagaError::BadDefinition("two steps of a saga have the same name"));
        }
        if self.steps.iter().filter(|step| step.is_pivot).count() > 1 {
            return Err(SagaError::BadDefinition("a saga has at most one pivot"));
        }
        Ok(())
    }
}

/// A step: what is done, how it is undone, and how often either is tried.
#[must_use]
pub struct Step<S> {
    pub(super) name: String,
    pub(super) action: Action<S>,
    pub(super) compensation: Option<Action<S>>,
    pub(super) retry: Retry,
    pub(super) is_pivot: bool,
    pub(super) is_atomic: bool,
}

impl<S> Step<S> {
    /// A step. The function gets what it needs to be idempotent, and the state, and gives the state for the next step.
    ///
    /// A function, an async closure that captures nothing, or a closure that gives an `async move` block.
    ///
    /// Its intent is stored before it is called. After a crash it is called again, with the same key: it happens at
    /// least once, and [`Effect::apply`] makes that once.
    pub fn new<F, Fut>(name: impl Into<String>, action: F) -> Step<S>
    where
        F: Fn(Effect, S) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<S, StepError>> + Send + 'static,
    {
        Step {
            name: name.into(),
            action: Arc::new(move |effect, state| Box::pin(action(effect, state))),
            compensation: None,
            retry: Retry::default(),
            is_pivot: false,
            is_atomic: false,
        }
    }

    /// How the step is undone. It is called for every step that was done, and for one that may have been: when it is not
    /// known ([`Effect::is_certain`]), it must go well where there is nothing to undo. A step without it leaves nothing
    /// that has to be undone.
    pub fn compensate<F, Fut>(mut self, compensation: F) -> Step<S>
    where
        F: Fn(Effect, S) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<S, StepError>> + Send + 'static,
    {
        self.compensation = Some(Arc::new(move |effect, state| {
            Box::pin(compensation(effect, state))
        }));
        self
    }

    /// Runs the step, and its compensation, in a transaction that also stores the saga's progress: whatever they do
    /// through [`Effect::db`] happens exactly once. The function may run several times, as in any transaction.
    pub fn atomic(mut self) -> Step<S> {
        self.is_atomic = true;
        self
    }

    /// Makes it the pivot: once it is done, the saga only goes forward. Steps behind it are tried again, and wait for
    /// somebody when that does not help. So does a pivot without a compensation whose tries are used up, since it may have
    /// happened; unless it is atomic, or says that it never will ([`StepError::Fatal`]). Until then nobody can
    /// [`abort`](super::Sagas::abort) it either.
    pub fn pivot(mut self) -> Step<S> {
        self.is_pivot = true;
        self
    }

    /// Whether it is a pivot of which a try may have happened, whatever became of it, and cannot be undone.
    pub(super) fn is_final(&self) -> bool {
        self.is_pivot && !self.is_atomic && self.compensation.is_none()
    }

    /// How often it is tried, and with which pauses.
    pub fn retry(mut self, retry: Retry) -> Step<S> {
        self.retry = retry;
        self
    }
}

/// How often a step is tried, with pauses that grow. 5 times unless said otherwise, after 1, 2, 4 and 8 seconds.
///
/// A try that ends with the process counts: a step that kills its worker does not do so for ever.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Retry {
    pub(super) attempts: u32,
    first: Duration,
    longest: Duration,
}

impl Default for Retry {
    fn default() -> Retry {
        Retry {
            attempts: 5,
            first: Duration::from_secs(1),
            longest: Duration::from_secs(300),
        }
    }
}

impl Retry {
    /// So many tries in all, at least 1.
    pub fn times(attempts: u32) -> Retry {
        Retry {
            attempts: attempts.max(1),
            ..Retry::default()
        }
    }

    /// The first pause; each further one is twice as long.
    pub fn first_pause(self, first: Duration) -> Retry {
        Retry { first, ..self }
    }

    /// The longest pause: 5 minutes unless said otherwise.
    pub fn longest_pause(self, longest: Duration) -> Retry {
        Retry { longest, ..self }
    }

    /// The pause after this try, counted from 1.
    pub(super) fn pause(&self, attempt: u32) -> Duration {
        let factor = 1_u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
        self.first.saturating_mul(factor.max(1)).min(self.longest)
    }
}

impl<S> fmt::Debug for Definition<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Definition")
            .field("name", &self.name)
            .field("steps", &self.steps)
            .finish()
    }
}

impl<S> fmt::Debug for Step<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step")
            .field("name", &self.name)
            .field("has_compensation", &self.compensation.is_some())
            .field("retry", &self.retry)
            .field("is_pivot", &self.is_pivot)
            .field("is_atomic", &self.is_atomic)
            .finish()
    }
}
