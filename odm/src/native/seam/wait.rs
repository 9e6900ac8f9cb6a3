//! Waiting for what is committed next.

use std::pin::pin;
use std::time::Instant;

use futures_util::future::{Either, select};

use crate::clock::Sleep;

/// Whether it comes before this moment; without one it is waited for as long as that takes.
pub(super) async fn comes(commit: impl Future<Output = ()>, until: Option<Instant>) -> bool {
    let commit = pin!(commit);
    match until {
        None => {
            commit.await;
            true
        }
        Some(until) => matches!(select(commit, Sleep::until(until)).await, Either::Left(_)),
    }
}
