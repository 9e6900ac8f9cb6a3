//! Running a transaction again after a conflict.

use std::sync::Arc;
use std::time::Instant;

use super::backoff::Backoff;
use super::guard::{TRANSIENT, UNKNOWN_COMMIT};
use super::{Guard, Tx};
use crate::backend::TransactionOptions;
use crate::db::Db;
use crate::error::{Error, ErrorKind, Result};

const MAX_TIME_EXPIRED: i32 = 50;

const DOOMED: &str =
    "a part of the transaction failed, so that it can only be aborted; the failure was not passed on";

/// Runs `body` in a transaction and commits it; both again where the backend says that it can help.
///
/// The loop is that of MongoDB's convenient transaction API.
///
/// The body gives a future of one type, instead of being an `AsyncFnMut` that lends from itself: rustc cannot
/// show that the latter's futures are `Send` when they hold references (rust-lang/rust#110338).
pub(crate) async fn run<T, E, F, Fut>(db: &Db, options: TransactionOptions, mut body: F) -> Result<T, E>
where
    F: FnMut(Tx) -> Fut,
    Fut: Future<Output = Result<T, E>>,
    E: From<Error>,
{
    if let Some(guard) = db.guard() {
        return join(db, guard.clone(), body).await;
    }
    let deadline = Instant::now().checked_add(options.retry_for);
    let mut backoff = Backoff::new(deadline);
    loop {
        let tx = match db.begin_with(options.clone()).await {
            Ok(tx) => tx,
            Err(error) if error.has_label(TRANSIENT) && backoff.wait().await => continue,
            Err(error) => return Err(error.into()),
        };
        tx.guard().is_to_be_run();
        let value = match body(tx.clone()).await {
            Ok(value) => value,
            Err(error) => {
                tx.guard().abort().await;
                // The body may have committed it, or asked for that without being told whether it is.
                let again = tx.guard().is_aborted() && tx.guard().is_transient();
                if again && backoff.wait().await {
                    tx.guard().forget();
                    continue;
                }
                tx.guard().rolled_back().await;
                return Err(error);
            }
        };
        // The body may have ended the transaction itself.
        if tx.guard().is_over() {
            tx.guard().rolled_back().await;
            return Ok(value);
        }
        match commit(&tx, &mut backoff).await {
            Ok(()) => return Ok(value),
            Err(error) if error.has_label(TRANSIENT) && tx.guard().is_aborted() && backoff.wait().await => {
                tx.guard().forget();
            }
            Err(error) => {
                tx.guard().rolled_back().await;
                return Err(error.into());
            }
        }
    }
}

/// Runs `body` inside the transaction that is running already. The outer one commits and retries; when the
/// body fails, the outer one can only be aborted, even if the error is swallowed on the way.
async fn join<T, E, F, Fut>(db: &Db, guard: Arc<Guard>, mut body: F) -> Result<T, E>
where
    F: FnMut(Tx) -> Fut,
    Fut: Future<Output = Result<T, E>>,
    E: From<Error>,
{
    guard.check_running()?;
    let tx = Tx::new(db.clone(), guard.clone());
    let result = body(tx).await;
    if result.is_err() {
        guard.doom(doomed(&guard));
    }
    result
}

fn doomed(guard: &Guard) -> Error {
    match guard.cause().clone() {
        Some(cause) => cause.behind(DOOMED),
        None => Error::new(ErrorKind::InvalidArgument, DOOMED),
    }
}

async fn commit(tx: &Tx, backoff: &mut Backoff) -> Result<()> {
    loop {
        match tx.guard().commit().await {
            Err(error)
                if error.has_label(UNKNOWN_COMMIT)
                    && error.code() != Some(MAX_TIME_EXPIRED)
                    && backoff.wait().await => {}
            result => return result,
        }
    }
}
