//! Change streams: the driver's, which resume by themselves, an event at a time.

use std::fmt;

use ::mongodb::change_stream::ChangeStream;
use ::mongodb::change_stream::event::ResumeToken;
use ::mongodb::options::{ChangeStreamOptions, FullDocumentBeforeChangeType, FullDocumentType};
use bson::RawDocumentBuf;
use futures_core::future::BoxFuture;

use super::{Attempt, MongoBackend, SharedSession, concerns, document, error, in_transaction, limit};
use crate::backend::{
    Batch, BatchCursor, FullDocument, FullDocumentBeforeChange, ReadConcern, Response, Watch, WatchScope,
};
use crate::error::{Error, ErrorKind, Result};

/// Opens a change stream.
pub(super) async fn watch(
    backend: &MongoBackend,
    watch: Watch,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    if in_transaction(session) {
        let text = "a change stream cannot be opened inside a transaction";
        return Err(Error::new(ErrorKind::InvalidArgument, text).with_code(263).into());
    }
    let mut options = ChangeStreamOptions::default();
    options.full_document = match watch.full_document {
        FullDocument::Off => None,
        FullDocument::UpdateLookup => Some(FullDocumentType::UpdateLookup),
        FullDocument::WhenAvailable => Some(FullDocumentType::WhenAvailable),
        FullDocument::Required => Some(FullDocumentType::Required),
    };
    options.full_document_before_change = match watch.full_document_before_change {
        FullDocumentBeforeChange::Off => None,
        FullDocumentBeforeChange::WhenAvailable => Some(FullDocumentBeforeChangeType::WhenAvailable),
        FullDocumentBeforeChange::Required => Some(FullDocumentBeforeChangeType::Required),
    };
    options.resume_after = watch.resume_after.as_ref().map(token).transpose()?;
    options.start_after = watch.start_after.as_ref().map(token).transpose()?;
    options.start_at_operation_time = watch.start_at_operation_time;
    options.batch_size = watch.batch_size;
    options.show_expanded_events = watch.expanded.then_some(true);
    options.max_await_time = limit::time(watch.max_await_time);
    options.comment = watch.comment.map(Into::into);
    // Changes are told when a majority has them, whatever else the handle or the URL reads.
    options.read_concern = Some(concerns::read(ReadConcern::Majority));
    // The client as a whole knows of no handle.
    options.selection_criteria = backend.concerns.read_preference.map(concerns::selection);
    let pipeline = document::decode_all(&watch.pipeline)?;
    let (stream, namespace) = match watch.scope {
        WatchScope::Collection(ns) => {
            let collection = backend.collection(&ns);
            let stream = collection
                .watch()
                .pipeline(pipeline)
                .with_options(options)
                .await?
                .with_type();
            (stream, Some(ns.to_string()))
        }
        WatchScope::Database(name) => {
            let database = backend.database(&name);
            let stream = database
                .watch()
                .pipeline(pipeline)
                .with_options(options)
                .await?
                .with_type();
            (stream, Some(name))
        }
        WatchScope::Everything => {
            let stream = backend
                .client
                .watch()
                .pipeline(pipeline)
                .with_options(options)
                .await?
                .with_type();
            (stream, None)
        }
    };
    Ok(Response::Cursor(Box::new(ChangeCursor {
        stream,
        namespace,
        was_asked: false,
    })))
}

/// The token, as the driver takes it.
fn token(raw: &RawDocumentBuf) -> Attempt<ResumeToken> {
    crate::codec::check_depth(raw.as_bytes())?;
    bson::deserialize_from_slice(raw.as_bytes()).map_err(|e| {
        Error::new(ErrorKind::InvalidArgument, "malformed resume token")
            .with_source(e)
            .into()
    })
}

struct ChangeCursor {
    stream: ChangeStream<RawDocumentBuf>,
    namespace: Option<String>,
    /// Whether the driver was asked before: the first time it gives what came with the opening, and asks nobody.
    was_asked: bool,
}

impl fmt::Debug for ChangeCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeCursor")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl BatchCursor for ChangeCursor {
    fn next_batch(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Batch>>>> {
        Box::pin(async move {
            let namespace = self.namespace.clone();
            let failed =
                |e: ::mongodb::error::Error| error::located(e.into(), "getMore", false, namespace.clone());
            let mut event = self.stream.next_if_any().await.map_err(failed)?;
            if event.is_none() && !std::mem::replace(&mut self.was_asked, true) && self.stream.is_alive() {
                event = self.stream.next_if_any().await.map_err(failed)?;
            }
            self.was_asked = true;
            if event.is_none() && !self.stream.is_alive() {
                return Ok(None);
            }
            let batch: Vec<RawDocumentBuf> = event.into_iter().collect();
            Ok(Some(Box::new(batch) as Box<dyn Batch>))
        })
    }

    fn resume_token(&self) -> Option<RawDocumentBuf> {
        bson::serialize_to_raw_document_buf(&self.stream.resume_token()?).ok()
    }
}
