//! Waiting for a future on a thread that may wait.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::{Thread, current, park};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future to its end. Not for threads of an async runtime.
pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    let waker = Arc::new(Unpark(current())).into();
    let mut ctx = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut ctx) {
            Poll::Ready(output) => return output,
            Poll::Pending => park(),
        }
    }
}
