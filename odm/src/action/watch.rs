//! Watching what changes.

use std::fmt;
use std::time::Duration;

use bson::{Bson, Timestamp, doc, rawdoc};
use serde::de::DeserializeOwned;

use super::Draft;
use super::setters::runs;
use crate::backend::{self, FullDocument, FullDocumentBeforeChange, WatchScope};
use crate::change::{self, Change, ChangeKind, ResumeToken};
use crate::change_stream::ChangeStream;
use crate::codec::{self, Raw};
use crate::collection::{Record, Target, encode};
use crate::cursor::Decode;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Model;
use crate::query::Filter;

/// Opens a change stream: `.await` gives a [`ChangeStream`], which has every change that is committed after that.
///
/// ```no_run
/// # async fn example(db: odm::Db) -> odm::Result<()> {
/// use odm::{ChangeKind, backend::FullDocument};
///
/// let mut changes = db
///     .raw_collection("books")
///     .watch()
///     .only([ChangeKind::Insert, ChangeKind::Update])
///     .full_document(FullDocument::UpdateLookup)
///     .await?;
/// while let Some(change) = changes.try_next().await? {
///     println!("{:?}", change.event);
/// }
/// # Ok(())
/// # }
/// ```
///
/// MongoDB needs a replica set for it. The embedded engine begins to log changes with the first watch. One round
/// trip.
#[must_use = "an action does nothing until it is awaited"]
pub struct Watch<T> {
    draft: Draft<backend::Watch>,
    decode: Decode<T>,
}

impl<D: Record> Watch<Change<D>> {
    pub(crate) fn new(target: &Target, scope: WatchScope) -> Watch<Change<D>> {
        Watch {
            draft: Draft::new(target, backend::Watch::new(scope)),
            decode: change::decode::<D>,
        }
    }
}

impl<M: Model> Watch<Change<M>> {
    /// Gives only events whose full document matches: `|b| b.year.gt(1900)`. Updates have one where
    /// [`full_document`](Watch::full_document) asks for it; deletions have none, and are left out.
    pub fn filter(mut self, filter: impl FnOnce(M::Fields<M>) -> Filter<M>) -> Self {
        let stage = filter(M::fields()).into_node().and_then(|node| {
            if node.has_own_words() {
                return Err(Error::new(
                    ErrorKind::InvalidArgument,
                    "raw filters and expressions do not know that the document is inside of the event; use `pipeline`",
                ));
            }
            let there = rawdoc! { "fullDocument": { "$type": "object" } };
            Ok(rawdoc! { "$match": { "$and": [there, node.document_under("fullDocument")] } })
        });
        if let Some(stage) = self.draft.keep(stage) {
            self.draft.operation.pipeline.push(stage);
        }
        self
    }
}

impl<T> Watch<T> {
    /// Gives only events of these kinds. The stream ends with what it watches also when it does not say so.
    pub fn only(mut self, kinds: impl IntoIterator<Item = ChangeKind>) -> Self {
        let names: Vec<Bson> = kinds.into_iter().map(|kind| kind.name().into()).collect();
        let stage = doc! { "$match": { "operationType": { "$in": names } } };
        if let Some(stage) = self.draft.keep(encode::raw(stage)) {
            self.draft.operation.pipeline.push(stage);
        }
        self
    }

    /// Runs events through stages, in MongoDB's words: `$match`, `$project`, `$set`, `$unset`, `$replaceWith` and
    /// `$redact`. They must leave `_id` alone. Events that they reshape are read with [`decode`](Watch::decode).
    pub fn pipeline<I>(mut self, stages: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<Raw>,
    {
        for stage in stages {
            let Some(stage) = self.draft.keep(encode::raw(stage)) else {
                break;
            };
            self.draft.operation.pipeline.push(stage);
        }
        self
    }

    /// Decodes the events as another type, such as [`Document`](bson::Document).
    pub fn decode<U: DeserializeOwned>(self) -> Watch<U> {
        Watch {
            draft: self.draft,
            decode: codec::decode_document::<U>,
        }
    }

    /// How an update's event gets the document after the change.
    pub fn full_document(mut self, how: FullDocument) -> Self {
        self.draft.operation.full_document = how;
        self
    }

    /// How events get the document before the change.
    pub fn full_document_before_change(mut self, how: FullDocumentBeforeChange) -> Self {
        self.draft.operation.full_document_before_change = how;
        self
    }

    /// Begins after this point. The token of an [`Invalidate`](crate::ChangeEvent::Invalidate) is refused: what was
    /// watched then is gone.
    pub fn resume_after(mut self, token: &ResumeToken) -> Self {
        self.draft.operation.resume_after = self.draft.keep(token.encode());
        self
    }

    /// Begins after this point, also after an [`Invalidate`](crate::ChangeEvent::Invalidate).
    pub fn start_after(mut self, token: &ResumeToken) -> Self {
        self.draft.operation.start_after = self.draft.keep(token.encode());
        self
    }

    /// Begins with the changes of this [`cluster_time`](Change::cluster_time).
    pub fn start_at(mut self, time: Timestamp) -> Self {
        self.draft.operation.start_at_operation_time = Some(time);
        self
    }

    /// How many events one round trip brings at the most, where the backend lets one choose.
    pub fn batch_size(mut self, count: u32) -> Self {
        self.draft.operation.batch_size = Some(count);
        self
    }

    /// How long [`next_if_any`](ChangeStream::next_if_any) waits for an event; one second unless said otherwise.
    pub fn max_await_time(mut self, time: Duration) -> Self {
        self.draft.operation.max_await_time = Some(time);
        self
    }

    /// Gives changes of the schema too (`create`, `createIndexes`, `dropIndexes`, `modify`) and tells more of the others.
    /// Such events are read with [`decode`](Watch::decode). Unsupported by the embedded engine, which does not log them.
    pub fn expanded_events(mut self) -> Self {
        self.draft.operation.expanded = true;
        self
    }

    /// A text for the server's log and profiler.
    pub fn comment(mut self, comment: impl Into<String>) -> Self {
        self.draft.operation.comment = Some(comment.into());
        self
    }

    async fn run(self) -> Result<ChangeStream<T>> {
        let operation = &self.draft.operation;
        let start = operation.resume_after.as_ref().or(operation.start_after.as_ref());
        let start = start.and_then(|token| ResumeToken::read(token).ok());
        let is_of_collection = matches!(operation.scope, WatchScope::Collection(_));
        let (target, operation) = self.draft.ready()?;
        if !is_of_collection {
            target.db().check_whole("watch")?;
        }
        let cursor = target.execute(operation).await?.cursor()?;
        Ok(ChangeStream::new(target, cursor, self.decode, start))
    }
}

runs!([T: Send + 'static] Watch<T> => ChangeStream<T>);

impl<T> fmt::Debug for Watch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watch").field(&self.draft).finish()
    }
}
