//! Multi-document transactions on a driver session.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::mongodb::error::ErrorKind as DriverKind;
use ::mongodb::options::{
    Acknowledgment, ReadConcern as DriverReadConcern, ReadPreference as DriverReadPreference,
    SelectionCriteria, TransactionOptions as DriverTransactionOptions, WriteConcern as DriverWriteConcern,
};
use ::mongodb::{Client, ClientSession};
use bson::doc;
use futures_core::future::BoxFuture;
use tokio::sync::Mutex;

use super::cursors::CursorSessions;
use super::driver_parts::DriverParts;
use super::{MongoBackend, SharedSession, error, limit};
use crate::backend::{
    Backend, Capabilities, Operation, ReadConcern, ReadPreference, Response, Transaction, TransactionOptions,
    WriteConcern,
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
    /// Whether the server has answered in it.
    is_known: Arc<AtomicBool>,
}

/// Does it whether or not somebody still waits for it.
async fn to_its_end<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    match tokio::spawn(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => {
                let message = "the runtime ended before the operation did";
                Err(Error::new(ErrorKind::Network, message)
                    .with_backend(super::NAME)
                    .with_source(error))
            }
        },
    }
}

impl fmt::Debug for MongoTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MongoTransaction")
    }
}

/// Starts a session and a transaction on it; the server hears of it with the first operation.
pub(super) async fn begin(client: Client, options: TransactionOptions) -> Result<MongoTransaction> {
    let locate = |e: ::mongodb::error::Error| error::located(e.into(), "startTransaction", false, None);
    let mut session: ClientSession = client.start_session().await.map_err(locate)?;
    let mut own = DriverTransactionOptions::default();
    own.read_concern = options.read_concern.map(|concern| match concern {
        ReadConcern::Local => DriverReadConcern::local(),
        ReadConcern::Majority => DriverReadConcern::majority(),
        ReadConcern::Snapshot => DriverReadConcern::snapshot(),
    });
    own.write_concern = options.write_concern.map(write_concern);
    own.selection_criteria = options
        .read_preference
        .map(|preference| SelectionCriteria::ReadPreference(read_preference(preference)));
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
            client,
            cursors: CursorSessions::default(),
        }),
        session: Arc::new(Mutex::new(session)),
        is_known: Arc::default(),
    })
}

fn write_concern(concern: WriteConcern) -> DriverWriteConcern {
    let mut own = match concern.member_count() {
        None => DriverWriteConcern::majority(),
        Some(count) => DriverWriteConcern::from(Acknowledgment::Nodes(count)),
    };
    own.journal = concern.wants_journal();
    own.w_timeout = concern.wait();
    own
}

fn read_preference(preference: ReadPreference) -> DriverReadPreference {
    let options = None;
    match preference {
        ReadPreference::Primary => DriverReadPreference::Primary,
        ReadPreference::PrimaryPreferred => DriverReadPreference::PrimaryPreferred { options },
        ReadPreference::Secondary => DriverReadPreference::Secondary { options },
        ReadPreference::SecondaryPreferred => DriverReadPreference::SecondaryPreferred { options },
        ReadPreference::Nearest => DriverReadPreference::Nearest { options },
    }
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
            // Nothing of a transaction is in doubt before its commit.
            let locate = move |e| error::located(e, name, false, namespace);
            if self.is_known.load(Ordering::Relaxed) {
                return self
                    .backend
                    .run(operation, Some(&self.session))
                    .await
                    .map_err(locate);
            }
            let (backend, session) = (Arc::clone(&self.backend), Arc::clone(&self.session));
            let is_known = Arc::clone(&self.is_known);
            to_its_end(async move {
                let response = backend.run(operation, Some(&session)).await.map_err(locate)?;
                is_known.store(true, Ordering::Relaxed);
                Ok(response)
            })
            .await
        })
    }

    fn begin(&self, _options: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>> {
        Box::pin(async {
            Err(Error::new(ErrorKind::Unsupported, "transactions do not nest").with_backend(super::NAME))
        })
    }

    fn parts(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        DriverParts {
            client: self.backend.client.clone(),
            session: Some((Arc::clone(&self.session), Arc::clone(&self.is_known))),
        }
        .boxed()
    }
}

impl Transaction for MongoTransaction {
    fn commit(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let session = Arc::clone(&self.session);
            to_its_end(async move {
                let mut session = session.lock().await;
                let committed = session.commit_transaction().await;
                committed.map_err(|e| error::located(e.into(), "commitTransaction", true, None))
            })
            .await
        })
    }

    fn abort(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let session = Arc::clone(&self.session);
            // A transaction that the server no longer knows is aborted already.
            let _ = to_its_end(async move {
                let _ = session.lock().await.abort_transaction().await;
                Ok(())
            })
            .await;
        })
    }
}
