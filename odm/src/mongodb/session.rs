//! Causally consistent sessions.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use ::mongodb::{Client, ClientSession, ClusterTime};
use bson::{Document, RawDocumentBuf, Timestamp, doc};
use futures_core::future::BoxFuture;

use super::task::Task;
use super::{Attempt, MongoBackend, SharedSession, error, snapshot, transaction};
use crate::backend::{
    Backend, Capabilities, Concerns, Operation, Response, Session, Transaction, TransactionOptions,
};
use crate::error::{Error, ErrorKind, Result};

/// The time of the last operation, in a token.
const OPERATION: &str = "operationTime";

/// The newest time of the cluster that was heard of, with the server's signature, in a token.
const CLUSTER: &str = "$clusterTime";

/// A session, used by one operation at a time.
pub(super) struct MongoSession {
    backend: MongoBackend,
    session: SharedSession,
}

pub(super) async fn start(backend: MongoBackend) -> Result<MongoSession> {
    let session = backend.client.start_session().causal_consistency(true).await;
    let session = session.map_err(|e| error::located(e.into(), "startSession", false, None))?;
    Ok(MongoSession {
        backend: backend.causal(),
        session: SharedSession::of(session),
    })
}

/// A session beside another one, which begins where that one is.
pub(super) async fn behind(client: &Client, other: &SharedSession) -> Attempt<SharedSession> {
    let mut session = client.start_session().causal_consistency(true).await?;
    follow(&mut session, &*other.lock().await);
    Ok(SharedSession::of(session))
}

/// Has a session see what another one has seen.
pub(super) fn follow(session: &mut ClientSession, other: &ClientSession) {
    if let Some(time) = other.cluster_time() {
        session.advance_cluster_time(time);
    }
    if let Some(time) = other.operation_time() {
        session.advance_operation_time(time);
    }
}

fn token_of(session: &ClientSession) -> Result<Option<RawDocumentBuf>> {
    let Some(time) = session.operation_time() else {
        return Ok(None);
    };
    let mut token = doc! { OPERATION: time };
    if let Some(time) = session.cluster_time() {
        let time = bson::serialize_to_document(time).map_err(malformed)?;
        token.insert(CLUSTER, time);
    }
    RawDocumentBuf::try_from(&token).map(Some).map_err(malformed)
}

fn times_of(token: &RawDocumentBuf) -> Result<(Timestamp, Option<ClusterTime>)> {
    crate::codec::check_depth(token.as_bytes())?;
    let token = Document::try_from(token.as_ref()).map_err(malformed)?;
    let operation = token.get_timestamp(OPERATION).map_err(malformed)?;
    let cluster = match token.get_document(CLUSTER) {
        Ok(time) => Some(bson::deserialize_from_document(time.clone()).map_err(malformed)?),
        Err(_) => None,
    };
    Ok((operation, cluster))
}

fn malformed(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::InvalidArgument, "malformed token of a session")
        .with_backend(super::NAME)
        .with_source(error)
}

impl fmt::Debug for MongoSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MongoSession")
    }
}

impl Backend for MongoSession {
    fn name(&self) -> &'static str {
        super::NAME
    }

    fn capabilities(&self) -> Capabilities {
        self.backend.capabilities()
    }

    fn execute(&self, operation: Operation) -> BoxFuture<'_, Result<Response>> {
        // Changes are waited for, and none of them is from before.
        if matches!(operation, Operation::Watch(_)) {
            return self.backend.execute_in(operation, None);
        }
        let (backend, session) = (self.backend.clone(), self.session.clone());
        Box::pin(async move {
            Task::of(async move { backend.execute_in(operation, Some(&session)).await }).await?
        })
    }

    fn concerns(&self) -> Concerns {
        self.backend.concerns()
    }

    /// Of the same session.
    fn concerned(&self, concerns: Concerns) -> Result<Option<Arc<dyn Backend>>> {
        Ok(Some(Arc::new(MongoSession {
            backend: self.backend.asking(concerns)?.causal(),
            session: self.session.clone(),
        })))
    }

    /// One that begins where this one is.
    fn session(&self) -> BoxFuture<'_, Result<Option<Arc<dyn Session>>>> {
        Box::pin(async move {
            let session = start(self.backend.clone()).await?;
            follow(&mut *session.session.lock().await, &*self.session.lock().await);
            Ok(Some(Arc::new(session) as Arc<dyn Session>))
        })
    }

    fn snapshot<'a>(&'a self, database: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Backend>>>> {
        Box::pin(async move {
            let seen = self.session.lock().await.operation_time();
            let snapshot = snapshot::take(self.backend.clone(), database, seen).await?;
            Ok(Some(Arc::new(snapshot) as Arc<dyn Backend>))
        })
    }

    fn begin(&self, options: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>> {
        Box::pin(async move {
            let transaction = transaction::begin(&self.backend, options, Some(self.session.clone())).await?;
            Ok(Arc::new(transaction) as Arc<dyn Transaction>)
        })
    }

    fn connection(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.backend.connection()
    }

    fn parts(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.backend.parts()
    }
}

impl Session for MongoSession {
    fn token(&self) -> BoxFuture<'_, Result<Option<RawDocumentBuf>>> {
        Box::pin(async move { token_of(&*self.session.lock().await) })
    }

    fn advance<'a>(&'a self, token: &'a RawDocumentBuf) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let (operation, cluster) = times_of(token)?;
            let mut session = self.session.lock().await;
            if let Some(time) = cluster {
                session.advance_cluster_time(&time);
            }
            session.advance_operation_time(operation);
            Ok(())
        })
    }
}
