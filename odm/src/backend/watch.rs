//! Watching what changes.

use std::time::Duration;

use bson::{RawDocumentBuf, Timestamp};

use super::Namespace;

/// Opens a change stream.
#[derive(Clone, Debug)]
pub struct Watch {
    /// What is watched.
    pub scope: WatchScope,
    /// Stages that filter or reshape the events. They may not change `_id`.
    pub pipeline: Vec<RawDocumentBuf>,
    /// How an update's event gets the document after the change.
    pub full_document: FullDocument,
    /// How an event gets the document before the change.
    pub full_document_before_change: FullDocumentBeforeChange,
    /// A resume token: the stream begins after it. At most one of the three is given.
    pub resume_after: Option<RawDocumentBuf>,
    /// A resume token, possibly that of a stream's end: the stream begins after it.
    pub start_after: Option<RawDocumentBuf>,
    /// The stream begins with the changes of this time.
    pub start_at_operation_time: Option<Timestamp>,
    /// How many events a batch carries at the most; the backend's choice when absent.
    pub batch_size: Option<u32>,
    /// After which time without an event an empty batch is given; the backend's choice when absent.
    pub max_await_time: Option<Duration>,
    /// Whether changes of the schema are events too, and more fields are told (MongoDB 6.0).
    pub expanded: bool,
    /// A text for the server's log and profiler.
    pub comment: Option<String>,
}

/// What a change stream watches.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchScope {
    /// One collection. The stream ends when it is dropped or gets another name.
    Collection(Namespace),
    /// Every collection of a database. The stream ends when it is dropped.
    Database(String),
    /// Every database of the server or engine.
    Everything,
}

/// How an update's event gets the document after the change. Inserts and replacements always have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FullDocument {
    /// Not at all: the event says only what changed.
    #[default]
    Off,
    /// As the document is when the event is read, which may be later; nothing when it is gone by then.
    UpdateLookup,
    /// As it was right after the change, where the collection keeps such images.
    WhenAvailable,
    /// As it was right after the change; an error where the collection keeps no such images.
    Required,
}

/// How the event of an update, a replacement or a deletion gets the document before the change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FullDocumentBeforeChange {
    /// Not at all.
    #[default]
    Off,
    /// As it was right before the change, where the collection keeps such images.
    WhenAvailable,
    /// As it was right before the change; an error where the collection keeps no such images.
    Required,
}

impl Watch {
    /// Watches from now on, everything as it comes.
    pub fn new(scope: WatchScope) -> Watch {
        Watch {
            scope,
            pipeline: Vec::new(),
            full_document: FullDocument::default(),
            full_document_before_change: FullDocumentBeforeChange::default(),
            resume_after: None,
            start_after: None,
            start_at_operation_time: None,
            batch_size: None,
            max_await_time: None,
            expanded: false,
            comment: None,
        }
    }
}
