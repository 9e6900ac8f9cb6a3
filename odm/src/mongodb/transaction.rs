//! Multi-document transactions on a driver session.

use std::fmt;
use std::sync::Arc;

use ::mongodb::options::{
    Acknowledgment, ReadConcern as DriverReadConcern, ReadPreference as DriverReadPreference,
    SelectionCriteria, WriteConcern as DriverWriteConcern,
};
use ::mongodb::{Client, ClientSession};
use futures_core::future::BoxFuture;
use tokio::sync::Mutex;

use super::cursors::CursorSessions;
use super::{MongoBackend, SharedSession, error};
use crate::backend::{
    Backend, Capabilities, Operation, ReadConcern, ReadPreference, Response, Transaction, TransactionOptions,
    WriteConcern,
};
use crate::error::{Error, ErrorKind, Result};

/// A transaction: one session, used by one operation at a time.
pub(super) struct MongoTransaction {
    backend: MongoBackend,
    session: SharedSession,
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
    let mut start = session.start_transaction();
    if let Some(concern) = options.read_concern {
        start = start.read_concern(match concern {
            ReadConcern::Local => DriverReadConcern::local(),
            ReadConcern::Majority => DriverReadConcern::majority(),
            ReadConcern::Snapshot => DriverReadConcern::snapshot(),
        });
    }
    if let Some(concern) = options.write_concern {
        start = start.write_concern(write_concern(concern));
    }
    if let Some(preference) = options.read_preference {
        start = start.selection_criteria(SelectionCriteria::ReadPreference(read_preference(preference)));
    }
    if let Some(limit) = options.max_commit_time {
        start = start.max_commit_time(limit);
    }
    start.await.map_err(locate)?;
    Ok(MongoTransaction {
        backend: MongoBackend {
            client,
            cursors: CursorSessions::default(),
        },
        session: Arc::new(Mutex::new(session)),
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
            self.backend
                .run(operation, Some(&self.session))
                .await
                .map_err(|e| error::located(e, name, false, namespace))
        })
    }

    fn begin(&self, _options: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>> {
        Box::pin(async {
            Err(Error::new(ErrorKind::Unsupported, "transactions do not nest").with_backend(super::NAME))
        })
    }
}

impl Transaction for MongoTransaction {
    fn commit(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let mut session = self.session.lock().await;
            session
                .commit_transaction()
                .await
                .map_err(|e| error::located(e.into(), "commitTransaction", true, None))
        })
    }

    fn abort(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let mut session = self.session.lock().await;
            // A transaction that the server no longer knows is aborted already.
            let _ = session.abort_transaction().await;
        })
    }
}
