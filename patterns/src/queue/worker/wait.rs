//! Waiting.

use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;

/// How a worker waits. A closure from a length of time to a boxed future is one.
#[diagnostic::on_unimplemented(
    message = "a worker cannot wait by `{Self}`",
    label = "no way to wait",
    note = "give it a closure `|length: Duration| -> BoxFuture<'static, ()>`, or `impl odm_patterns::queue::Wait for ..`"
)]
pub trait Wait: Send + Sync {
    /// Ready after this long.
    fn wait(&self, length: Duration) -> BoxFuture<'static, ()>;
}

/// Waits by the system's clock, on any executor.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timer;

impl Wait for Timer {
    fn wait(&self, length: Duration) -> BoxFuture<'static, ()> {
        let now = Instant::now();
        // Further ahead than the clock can say is never.
        match now.checked_add(length) {
            Some(until) => Box::pin(odm::sleep_until(until)),
            None => Box::pin(std::future::pending()),
        }
    }
}

impl<F: Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync> Wait for F {
    fn wait(&self, length: Duration) -> BoxFuture<'static, ()> {
        self(length)
    }
}
