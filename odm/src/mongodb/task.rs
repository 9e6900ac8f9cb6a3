//! Operations in tasks of their own.
//!
//! What waits for an operation may be put aside: a stream that nobody reads on, a future that is raced against another.
//! The operations of a session run one after another, so that one that is put aside would hold up all that come after it.
//! In a task it goes on, and gives its session back.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::task::{JoinError, JoinHandle};

use crate::error::{Error, ErrorKind, Result};

/// An operation in a task of its own, which ends when nobody waits for it any more.
pub(super) struct Task<T>(JoinHandle<T>);

impl<T: Send + 'static> Task<T> {
    pub(super) fn of(work: impl Future<Output = T> + Send + 'static) -> Task<T> {
        Task(tokio::spawn(work))
    }
}

impl<T> Future for Task<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<Result<T>> {
        Poll::Ready(ready!(Pin::new(&mut self.0).poll(ctx)).map_err(unfinished))
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Does it whether or not somebody still waits for it.
pub(super) async fn to_its_end<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T> {
    tokio::spawn(work).await.map_err(unfinished)
}

fn unfinished(error: JoinError) -> Error {
    match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(error) => {
            let message = "the runtime ended before the operation did";
            Error::new(ErrorKind::Network, message)
                .with_backend(super::NAME)
                .with_source(error)
        }
    }
}
