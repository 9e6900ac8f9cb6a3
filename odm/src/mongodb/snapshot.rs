//! Reads of one moment.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use bson::{RawDocumentBuf, Timestamp, doc};
use futures_core::future::BoxFuture;

use super::{Attempt, MongoBackend, SharedSession, error};
use crate::backend::{
    Backend, Capabilities, Concerns, Operation, ReadConcern, Response, Session, Transaction,
    TransactionOptions,
};
use crate::error::{Error, ErrorKind, Result};

/// A collection that is asked for the time; that there is none is fine.
const NOTHING: &str = "odm_snapshot";

/// Reads what a majority had at one moment. Each operation has a session of its own.
pub(super) struct MongoSnapshot {
    backend: MongoBackend,
    time: Timestamp,
}

/// A snapshot of now, or of the time that was seen elsewhere, if that is later.
pub(super) async fn take(
    backend: MongoBackend,
    database: &str,
    seen: Option<Timestamp>,
) -> Result<MongoSnapshot> {
    let concerns = Concerns {
        // The driver keeps to what is said here, or else to what the URL says.
        read_concern: Some(ReadConcern::Snapshot),
        read_preference: backend.concerns.read_preference,
        ..Concerns::default()
    };
    let backend = MongoBackend { concerns, ..backend };
    let locate = |e: ::mongodb::error::Error| error::located(e.into(), "snapshot", false, None);
    let mut session = backend
        .client
        .start_session()
        .snapshot(true)
        .await
        .map_err(locate)?;
    let nothing = backend.database(database).collection::<RawDocumentBuf>(NOTHING);
    // A find of a collection that is not there does not tell the time.
    let asked = nothing
        .aggregate([doc! { "$limit": 1 }])
        .session(&mut session)
        .await;
    asked.map_err(locate)?;
    match session.snapshot_time().max(seen) {
        Some(time) => Ok(MongoSnapshot { backend, time }),
        None => Err(refused("the server did not say of which time its snapshot is")),
    }
}

impl MongoSnapshot {
    /// Whether an operation reads what was; `None` for one that does not read.
    fn is_of_the_past(operation: &mut Operation) -> Option<bool> {
        match operation {
            Operation::Find(find) if find.tail.is_none() => Some(true),
            Operation::Aggregate(own) if !own.is_write() => Some(true),
            Operation::Distinct(_) => Some(true),
            Operation::Count(count) => {
                // The server estimates of now alone.
                count.estimated = false;
                Some(true)
            }
            // What they tell of is not versioned.
            Operation::Explain(_) | Operation::ListIndexes(_) | Operation::ListCollections(_) => Some(false),
            _ => None,
        }
    }

    async fn begin_read(&self) -> Attempt<SharedSession> {
        let session = self.backend.client.start_session();
        let session = session.snapshot(true).snapshot_time(self.time).await?;
        Ok(SharedSession::of(session))
    }
}

fn refused(text: &'static str) -> Error {
    Error::new(ErrorKind::Unsupported, text).with_backend(super::NAME)
}

impl fmt::Debug for MongoSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MongoSnapshot")
    }
}

impl Backend for MongoSnapshot {
    fn name(&self) -> &'static str {
        super::NAME
    }

    fn capabilities(&self) -> Capabilities {
        self.backend.capabilities()
    }

    fn execute(&self, operation: Operation) -> BoxFuture<'_, Result<Response>> {
        Box::pin(async move {
            let mut operation = operation;
            let session = match MongoSnapshot::is_of_the_past(&mut operation) {
                Some(true) => self.begin_read().await.map(Some),
                Some(false) => Ok(None),
                None => Err(refused("a snapshot is read, and nothing else").into()),
            };
            match session {
                Ok(session) => self.backend.execute_in(operation, session.as_ref()).await,
                Err(failure) => {
                    let namespace = operation.namespace().map(ToString::to_string);
                    Err(error::located(failure, operation.name(), false, namespace))
                }
            }
        })
    }

    fn snapshot<'a>(&'a self, _database: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Backend>>>> {
        let same = MongoSnapshot {
            backend: self.backend.clone(),
            time: self.time,
        };
        Box::pin(std::future::ready(Ok(Some(Arc::new(same) as Arc<dyn Backend>))))
    }

    fn session(&self) -> BoxFuture<'_, Result<Option<Arc<dyn Session>>>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn begin(&self, _options: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>> {
        Box::pin(std::future::ready(Err(refused("a snapshot has no transactions"))))
    }

    fn connection(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.backend.connection()
    }

    fn parts(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.backend.parts()
    }
}
