//! Change streams: parsing a watch, and waiting for what comes.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bson::RawDocumentBuf;
use futures_core::future::BoxFuture;

use super::super::document::Doc;
use super::super::engine::Engine;
use super::super::exec::Namespace;
use super::super::exec::cursor::{IN_GET_MORE, Packed};
use super::super::exec::watch::{After, Before, Scope, Setting, Start, WatchCursor, WatchRequest, stages};
use super::super::fault::{Fault, Result as Outcomes};
use super::request::{gate, now};
use super::response::translate;
use super::wait::comes;
use crate::backend::{Batch, BatchCursor, FullDocument, FullDocumentBeforeChange, Watch, WatchScope};
use crate::error::Result;

/// Checks and parses a watch.
pub(super) fn request(watch: Watch) -> Outcomes<WatchRequest> {
    if watch.expanded {
        return Err(Fault::unsupported(
            "the embedded engine has no expanded events: it does not log changes of the schema",
        ));
    }
    let pipeline: Vec<Doc<'_>> = watch.pipeline.iter().map(gate).collect::<Outcomes<_>>()?;
    let setting = Setting::at(now().millis);
    Ok(WatchRequest {
        pipeline: stages(&pipeline, &setting)?,
        start: start(&watch)?,
        scope: match watch.scope {
            WatchScope::Collection(ns) => Scope::Collection(Namespace {
                database: ns.database,
                collection: ns.collection,
            }),
            WatchScope::Database(database) => Scope::Database(database),
            WatchScope::Everything => Scope::Everything,
        },
        after: match watch.full_document {
            FullDocument::Off => After::Nothing,
            FullDocument::UpdateLookup => After::Lookup,
            FullDocument::WhenAvailable => After::WhenAvailable,
            FullDocument::Required => After::Required,
        },
        before: match watch.full_document_before_change {
            FullDocumentBeforeChange::Off => Before::Nothing,
            FullDocumentBeforeChange::WhenAvailable => Before::WhenAvailable,
            FullDocumentBeforeChange::Required => Before::Required,
        },
        batch_size: watch.batch_size,
        setting,
    })
}

fn start(watch: &Watch) -> Outcomes<Start> {
    let at = watch.start_at_operation_time;
    Start::of(
        watch.resume_after.as_ref().map(gate).transpose()?,
        watch.start_after.as_ref().map(gate).transpose()?,
        at.map(|time| (time.time, time.increment)),
    )
}

/// A change stream of the engine. While it waits it holds no thread: a commit wakes it, or the clock.
pub(super) struct ChangeCursor {
    engine: Arc<Engine>,
    cursor: WatchCursor,
    patience: Duration,
    name: &'static str,
}

impl ChangeCursor {
    pub(super) fn new(
        engine: Arc<Engine>,
        cursor: WatchCursor,
        patience: Duration,
        name: &'static str,
    ) -> ChangeCursor {
        ChangeCursor {
            engine,
            cursor,
            patience,
            name,
        }
    }

    async fn next(&mut self) -> Outcomes<Option<Packed>> {
        if self.cursor.is_over() {
            return Ok(None);
        }
        // Too far away to be counted is forever.
        let until = Instant::now().checked_add(self.patience);
        loop {
            // Taken before the view: a commit between the two is noticed.
            let commit = self.engine.next_commit();
            let events = {
                let view = self.engine.view()?;
                self.cursor.next_batch(&*view)?
            };
            if events.batch.len() > 0 || events.more {
                return Ok(Some(events.batch));
            }
            if self.cursor.is_over() {
                return Ok(None);
            }
            if !comes(commit, until).await {
                return Ok(Some(events.batch));
            }
        }
    }
}

impl fmt::Debug for ChangeCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ChangeCursor").field(&self.cursor).finish()
    }
}

impl BatchCursor for ChangeCursor {
    fn next_batch(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Batch>>>> {
        Box::pin(async move {
            let name = self.name;
            let batch = self.next().await;
            batch
                .map_err(|fault| fault.rather_while_running(IN_GET_MORE))
                .map(|batch| batch.map(|batch| Box::new(batch) as Box<dyn Batch>))
                .map_err(|fault| translate(fault, name).with_operation("getMore"))
        })
    }

    fn resume_token(&self) -> Option<RawDocumentBuf> {
        RawDocumentBuf::from_bytes(self.cursor.token()).ok()
    }
}
