//! A backend that reads one view.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use futures_core::future::BoxFuture;

use super::super::command::Cursors;
use super::super::engine::View;
use super::super::fault::{Fault, Result as Outcomes};
use super::request::{self, Request};
use super::response::located;
use super::{aggregated, capabilities, done, found};
use crate::backend::{Backend, Capabilities, Operation, Response, Session, Transaction, TransactionOptions};
use crate::error::{Error, ErrorKind, Result};

/// What one commit left, of all databases.
pub(super) struct Snapshot {
    view: Arc<View>,
    /// Of the engine's backend: what it is known by.
    cursors: Arc<Cursors>,
    name: &'static str,
}

impl Snapshot {
    pub(super) fn new(view: Arc<View>, cursors: Arc<Cursors>, name: &'static str) -> Snapshot {
        Snapshot { view, cursors, name }
    }

    fn read(&self, operation: Operation) -> Outcomes<Response> {
        match request::prepare(operation, self.name)? {
            Request::Find(find) if find.tail.is_none() => found(self.view.clone(), find, self.name),
            Request::Aggregate(aggregate) => aggregated(self.view.clone(), &aggregate, self.name),
            Request::Read(read) => read(&*self.view),
            _ => Err(Fault::unsupported("a snapshot is read, and nothing else")),
        }
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Snapshot({})", self.name)
    }
}

impl Backend for Snapshot {
    fn name(&self) -> &'static str {
        self.name
    }

    fn capabilities(&self) -> Capabilities {
        capabilities(self.name)
    }

    fn execute(&self, operation: Operation) -> BoxFuture<'_, Result<Response>> {
        let (name, namespace) = (operation.name(), operation.namespace().map(ToString::to_string));
        let read = self.read(operation);
        done(read.map_err(|fault| located(fault, self.name, name, namespace)))
    }

    fn connection(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(self.cursors.clone())
    }

    fn session(&self) -> BoxFuture<'_, Result<Option<Arc<dyn Session>>>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn snapshot<'a>(&'a self, _database: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Backend>>>> {
        let same = Snapshot::new(self.view.clone(), self.cursors.clone(), self.name);
        Box::pin(std::future::ready(Ok(Some(Arc::new(same) as Arc<dyn Backend>))))
    }

    fn begin(&self, _options: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>> {
        let text = "a snapshot has no transactions";
        let error = Error::new(ErrorKind::Unsupported, text).with_backend(self.name);
        Box::pin(std::future::ready(Err(error)))
    }
}
