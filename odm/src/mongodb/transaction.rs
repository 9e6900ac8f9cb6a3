//! Multi-document transactions on a driver session.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::mongodb::ClientSession;
use ::mongodb::error::ErrorKind as DriverKind;
use ::mongodb::options::TransactionOptions as DriverTransactionOptions;
use bson::doc;
use futures_core::future::BoxFuture;

use super::driver_parts::DriverParts;
use super::task::{Task, to_its_end};
use super::{MongoBackend, SharedSession, concerns, error, limit, session};
use crate::backend::{
    Backend, Capabilities, Concerns, Operation, ReadPreference, Response, Transaction, TransactionOptions,
};
use crate::error::{Error, ErrorKind, Result};

/// A transaction: one session, used by one operation at a time.
///
/// Whoever waits may go away at any time. The driver aborts a dropped transaction only when it knows that the server has
/// heard of it, so what makes it known, and what ends it, goes on to its end by itself: else the server would keep an open
/// transaction, and its locks, until that is too old.
pub(super) struct MongoTransaction {
    backend: Arc<MongoBackend>,
    session: SharedSession,
    /// The session that it was begun in, which sees its writes afterwards.
    after: Option<SharedSession>,
    /// Whether the server has answered in it.
    is_known: Arc<AtomicBool>,
}

impl fmt::Debug for MongoTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MongoTransaction")
    }
}

/// Starts a session and a transaction on it, which sees what another session has seen; the server hears of it with the
/// first operation.
pub(super) async fn begin(
    backend: &MongoBackend,
    options: TransactionOptions,
    after: Option<SharedSession>,
) -> Result<MongoTransaction> {
    let client = backend.client.clone();
    let locate = |e: ::mongodb::error::Error| error::located(e.into(), "startTransaction", false, None);
    let mut session: ClientSession = client.start_session().await.map_err(locate)?;
    if let Some(after) = &after {
        session::follow(&mut session, &*after.lock().await);
    }
    let mut own = DriverTransactionOptions::default();
    let level = backend.concerns().read_concern.map(concerns::in_transaction);
    let concerns = Concerns {
        read_concern: options.read_concern.or(level),
        write_concern: options.write_concern,
        // Nothing else is allowed, whatever the handle or the URL prefers.
        read_preference: Some(options.read_preference.unwrap_or(ReadPreference::Primary)),
    };
    let concerns = concerns.or(backend.concerns);
    own.read_concern = concerns.read_concern.map(concerns::read);
    own.write_concern = concerns.write_concern.map(concerns::write);
    own.selection_criteria = concerns.read_preference.map(concerns::selection);
    own.max_commit_time = limit::time(options.max_commit_time);
    let mut started = session.start_transaction().with_options(own.clone()).await;
    if matches!(&started, Err(error) if matches!(*error.kind, DriverKind::Transaction { .. })) {
        // So the driver says too while it knows no server at all.
        let admin = client.database("admin");
        admin.run_command(doc! { "ping": 1 }).await.map_err(locate)?;
        started = session.start_transaction().with_options(own).await;
    }
    started.map_err(locate)?;
    Ok(MongoTransaction {
        backend: Arc::new(MongoBackend {
            concerns: Concerns::default(),
            ..backend.clone()
        }),
        session: SharedSession::of_transaction(session),
        after,
        is_known: Arc::default(),
    })
}

impl Backend for MongoTransaction {
    fn name(&self) -> &'static str {
        super::NAME
    }

    fn capabilities(&self) -> Capabilities {
        self.backend.capabilities()
    }

    fn execute(&self, operation: Operation) -> BoxFuture<'_, Result<Response>> {
        Box::pin(async move {
            let name = operation.name();
            let namespace = operation.namespace().map(ToString::to_string);
            let (backend, session) = (Arc::clone(&self.backend), self.session.clone());
            let is_known = Arc::clone(&self.is_known);
            let work = async move {
                let response = backend.run(operation, Some(&session)).await;
                // Nothing of a transaction is in doubt before its commit.
                let response = response.map_err(|e| error::located(e, name, false, namespace))?;
                is_known.store(true, Ordering::Relaxed);
                Ok::<_, Error>(response)
            };
            match self.is_known.load(Ordering::Relaxed) {
                true => Task::of(work).await?,
                false => to_its_end(work).await?,
            }
        })
    }

    fn begin(&self, _options: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>> {
        Box::pin(async {
            Err(Error::new(ErrorKind::Unsupported, "transactions do not nest").with_backend(super::NAME))
        })
    }

    fn connection(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.backend.connection()
    }

    fn parts(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        DriverParts {
            client: self.backend.client.clone(),
            session: Some(self.session.clone()),
        }
        .boxed()
    }
}

impl Transaction for MongoTransaction {
    fn commit(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let (session, after) = (self.session.clone(), self.after.clone());
            let committed = to_its_end(async move {
                let mut session = session.end("the transaction was committed").await;
                let committed = session.commit_transaction().await;
                // Whatever came of it: it may be stored, and what it read was seen.
                if let Some(after) = after {
                    session::follow(&mut *after.lock().await, &session);
                }
                committed.map_err(|e| error::located(e.into(), "commitTransaction", true, None))
            });
            committed.await.map_err(|unfinished| {
                let text = "whether the transaction was committed is not known";
                Error::new(ErrorKind::InDoubt, text).with_source(unfinished)
            })?
        })
    }

    fn abort(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let (session, after) = (self.session.clone(), self.after.clone());
            let _ = to_its_end(async move {
                let mut session = session.end("the transaction was aborted").await;
                // A transaction that the server no longer knows is aborted already.
                let _ = session.abort_transaction().await;
                if let Some(after) = after {
                    session::follow(&mut *after.lock().await, &session);
                }
            })
            .await;
        })
    }
}
