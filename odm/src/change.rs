//! What changed: the events of a change stream.

use std::fmt;
use std::str::FromStr;

use bson::{Bson, DateTime, Document, RawBsonRef, RawDocument, RawDocumentBuf, Timestamp};
use serde::{Deserialize, Serialize};

use crate::backend::Namespace;
use crate::codec;
use crate::collection::Record;
use crate::error::{Error, ErrorKind, Result};

/// Where a change stream is: opaque, to be kept and given to
/// [`resume_after`](crate::action::Watch::resume_after).
///
/// It serializes as the document that the database gave, and prints as its text, which
/// [`parse`](str::parse) reads. A token belongs to the database that gave it.
///
/// ```
/// let token: odm::ResumeToken = "826B0157AA000000032B0229296E04".parse()?;
/// assert_eq!(token.to_string(), "826B0157AA000000032B0229296E04");
/// # Ok::<_, odm::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResumeToken(Document);

const DATA: &str = "_data";

impl ResumeToken {
    pub(crate) fn read(token: &RawDocument) -> Result<ResumeToken> {
        codec::decode_document(token).map(ResumeToken)
    }

    pub(crate) fn encode(&self) -> Result<RawDocumentBuf> {
        codec::encode_document(&self.0)
    }
}

impl fmt::Display for ResumeToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.get(DATA) {
            Some(Bson::String(text)) => f.write_str(text),
            _ => write!(f, "{}", self.0),
        }
    }
}

impl FromStr for ResumeToken {
    type Err = Error;

    /// Reads the text of a token.
    ///
    /// # Errors
    /// `InvalidArgument` when it is not hexadecimal. Whether the token is known is found out by watching.
    fn from_str(text: &str) -> Result<ResumeToken> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let message = "the text of a resume token is hexadecimal";
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        Ok(ResumeToken(bson::doc! { DATA: text }))
    }
}

/// A change, and when and where it happened.
#[derive(Clone)]
#[non_exhaustive]
pub struct Change<D: Record = Document> {
    /// What happened.
    pub event: ChangeEvent<D>,
    /// The place in the stream after this change.
    pub token: ResumeToken,
    /// In which database; none for [`Invalidate`](ChangeEvent::Invalidate).
    pub database: Option<String>,
    /// In which collection; none where it is about a database.
    pub collection: Option<String>,
    /// When it was committed, as the database orders it. Streams can begin
    /// [there](crate::action::Watch::start_at).
    pub cluster_time: Option<Timestamp>,
    /// When it was committed, by the clock.
    pub wall_time: Option<DateTime>,
    /// The transaction that it was part of. The changes of a transaction come one after another.
    pub transaction: Option<ChangeTransaction>,
}

/// Tells the changes of one transaction from those of others.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChangeTransaction {
    /// The session, in MongoDB's words (`lsid`). The embedded engine gives each transaction one of its own.
    pub session: Document,
    /// Which transaction of the session.
    pub number: i64,
}

/// What happened.
#[derive(Clone)]
#[non_exhaustive]
pub enum ChangeEvent<D: Record = Document> {
    /// A document was inserted, also by an upsert.
    #[non_exhaustive]
    Insert {
        /// Its `_id`.
        key: D::Key,
        /// The document.
        document: D,
    },
    /// A document was changed by operators or by a pipeline.
    #[non_exhaustive]
    Update {
        /// Its `_id`.
        key: D::Key,
        /// What changed.
        description: UpdateDescription,
        /// The document after the change, where [`full_document`](crate::action::Watch::full_document) asks for
        /// it and it is to be had.
        full_document: Option<D>,
        /// The document before the change, where
        /// [`full_document_before_change`](crate::action::Watch::full_document_before_change) asks for it and it
        /// is to be had.
        before: Option<D>,
    },
    /// Another document took a document's place.
    #[non_exhaustive]
    Replace {
        /// The `_id` of both.
        key: D::Key,
        /// The new document.
        document: D,
        /// The old one, as for an update.
        before: Option<D>,
    },
    /// A document was deleted.
    #[non_exhaustive]
    Delete {
        /// Its `_id`.
        key: D::Key,
        /// The document, as for an update.
        before: Option<D>,
    },
    /// The collection was dropped.
    Drop,
    /// The collection got another name.
    #[non_exhaustive]
    Rename {
        /// Its new name.
        to: Namespace,
    },
    /// The database was dropped.
    DropDatabase,
    /// The stream ends here, because what it watches is gone. To go on after it, watch with
    /// [`start_after`](crate::action::Watch::start_after).
    Invalidate,
    /// Something that this version of `odm` has no name for: the whole event.
    Other(Document),
}

/// What an update changed.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct UpdateDescription {
    /// New values by dotted path: `{"address.city": "Bern"}`. A part that was missing comes as a whole.
    pub updated: Document,
    /// Dotted paths of fields that are gone.
    pub removed: Vec<String>,
    /// Arrays that lost items at their end.
    pub truncated: Vec<TruncatedArray>,
}

/// An array that lost items at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TruncatedArray {
    /// Its dotted path.
    pub path: String,
    /// How many items it has now.
    pub len: usize,
}

/// The kinds of events, to [choose](crate::action::Watch::only) from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChangeKind {
    /// [`ChangeEvent::Insert`].
    Insert,
    /// [`ChangeEvent::Update`].
    Update,
    /// [`ChangeEvent::Replace`].
    Replace,
    /// [`ChangeEvent::Delete`].
    Delete,
    /// [`ChangeEvent::Drop`].
    Drop,
    /// [`ChangeEvent::Rename`].
    Rename,
    /// [`ChangeEvent::DropDatabase`].
    DropDatabase,
    /// [`ChangeEvent::Invalidate`].
    Invalidate,
}

impl ChangeKind {
    /// MongoDB's name: `insert`, `update`, ...
    pub fn name(self) -> &'static str {
        match self {
            ChangeKind::Insert => "insert",
            ChangeKind::Update => "update",
            ChangeKind::Replace => "replace",
            ChangeKind::Delete => "delete",
            ChangeKind::Drop => "drop",
            ChangeKind::Rename => "rename",
            ChangeKind::DropDatabase => "dropDatabase",
            ChangeKind::Invalidate => "invalidate",
        }
    }
}

impl<D: Record> ChangeEvent<D> {
    /// Which kind it is; none for [`Other`](ChangeEvent::Other).
    pub fn kind(&self) -> Option<ChangeKind> {
        Some(match self {
            ChangeEvent::Insert { .. } => ChangeKind::Insert,
            ChangeEvent::Update { .. } => ChangeKind::Update,
            ChangeEvent::Replace { .. } => ChangeKind::Replace,
            ChangeEvent::Delete { .. } => ChangeKind::Delete,
            ChangeEvent::Drop => ChangeKind::Drop,
            ChangeEvent::Rename { .. } => ChangeKind::Rename,
            ChangeEvent::DropDatabase => ChangeKind::DropDatabase,
            ChangeEvent::Invalidate => ChangeKind::Invalidate,
            ChangeEvent::Other(_) => return None,
        })
    }

    /// The `_id` of the document that it is about.
    pub fn key(&self) -> Option<&D::Key> {
        match self {
            ChangeEvent::Insert { key, .. }
            | ChangeEvent::Update { key, .. }
            | ChangeEvent::Replace { key, .. }
            | ChangeEvent::Delete { key, .. } => Some(key),
            _ => None,
        }
    }

    /// The document after the change, where the event has it.
    pub fn document(&self) -> Option<&D> {
        match self {
            ChangeEvent::Insert { document, .. } | ChangeEvent::Replace { document, .. } => Some(document),
            ChangeEvent::Update { full_document, .. } => full_document.as_ref(),
            _ => None,
        }
    }
}

impl<D: Record + fmt::Debug> fmt::Debug for Change<D>
where
    D::Key: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Change")
            .field("event", &self.event)
            .field("database", &self.database)
            .field("collection", &self.collection)
            .field("cluster_time", &self.cluster_time)
            .field("transaction", &self.transaction)
            .finish_non_exhaustive()
    }
}

impl<D: Record + fmt::Debug> fmt::Debug for ChangeEvent<D>
where
    D::Key: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            ChangeEvent::Insert { .. } => "Insert",
            ChangeEvent::Update { .. } => "Update",
            ChangeEvent::Replace { .. } => "Replace",
            ChangeEvent::Delete { .. } => "Delete",
            ChangeEvent::Drop => "Drop",
            ChangeEvent::Rename { .. } => "Rename",
            ChangeEvent::DropDatabase => "DropDatabase",
            ChangeEvent::Invalidate => "Invalidate",
            ChangeEvent::Other(event) => return f.debug_tuple("Other").field(event).finish(),
        };
        let mut out = f.debug_struct(name);
        if let Some(key) = self.key() {
            out.field("key", key);
        }
        match self {
            ChangeEvent::Insert { document, .. } => {
                out.field("document", document);
            }
            ChangeEvent::Update {
                description,
                full_document,
                before,
                ..
            } => {
                out.field("description", description)
                    .field("full_document", full_document)
                    .field("before", before);
            }
            ChangeEvent::Replace { document, before, .. } => {
                out.field("document", document).field("before", before);
            }
            ChangeEvent::Delete { before, .. } => {
                out.field("before", before);
            }
            ChangeEvent::Rename { to } => {
                out.field("to", to);
            }
            _ => {}
        }
        out.finish()
    }
}

/// Reads an event of the database.
pub(crate) fn decode<D: Record>(event: &RawDocument) -> Result<Change<D>> {
    codec::check_depth(event.as_bytes())?;
    let ns = document(event, "ns");
    Ok(Change {
        event: decode_event(event)?,
        token: match document(event, "_id") {
            Some(token) => ResumeToken::read(token)?,
            None => return Err(missing("_id")),
        },
        database: ns.and_then(|ns| text(ns, "db")),
        collection: ns.and_then(|ns| text(ns, "coll")),
        cluster_time: match get(event, "clusterTime") {
            Some(RawBsonRef::Timestamp(time)) => Some(time),
            _ => None,
        },
        wall_time: match get(event, "wallTime") {
            Some(RawBsonRef::DateTime(time)) => Some(time),
            _ => None,
        },
        transaction: match (document(event, "lsid"), get(event, "txnNumber")) {
            (Some(session), Some(RawBsonRef::Int64(number))) => Some(ChangeTransaction {
                session: codec::decode_document(session)?,
                number,
            }),
            _ => None,
        },
    })
}

fn decode_event<D: Record>(event: &RawDocument) -> Result<ChangeEvent<D>> {
    let kind = match get(event, "operationType") {
        Some(RawBsonRef::String(kind)) => kind,
        _ => return Err(missing("operationType")),
    };
    let key = || -> Result<D::Key> {
        match document(event, "documentKey").and_then(|key| get(key, "_id")) {
            Some(id) => D::read_key(id).map_err(|error| {
                let id = codec::decode_untyped_value(id).unwrap_or(Bson::Null);
                error.with_path("_id").with_id(id)
            }),
            None => Err(missing("documentKey")),
        }
    };
    let full = || document(event, "fullDocument").map(D::decode).transpose();
    let whole = || full().and_then(|document| document.ok_or_else(|| missing("fullDocument")));
    let before = || {
        document(event, "fullDocumentBeforeChange")
            .map(D::decode)
            .transpose()
    };
    Ok(match kind {
        "insert" => ChangeEvent::Insert {
            key: key()?,
            document: whole()?,
        },
        "update" => ChangeEvent::Update {
            key: key()?,
            description: match document(event, "updateDescription") {
                Some(description) => describe(description)?,
                None => UpdateDescription::default(),
            },
            full_document: full()?,
            before: before()?,
        },
        "replace" => ChangeEvent::Replace {
            key: key()?,
            document: whole()?,
            before: before()?,
        },
        "delete" => ChangeEvent::Delete {
            key: key()?,
            before: before()?,
        },
        "drop" => ChangeEvent::Drop,
        "rename" => {
            let to = document(event, "to").ok_or_else(|| missing("to"))?;
            ChangeEvent::Rename {
                to: Namespace {
                    database: text(to, "db").unwrap_or_default(),
                    collection: text(to, "coll").unwrap_or_default(),
                },
            }
        }
        "dropDatabase" => ChangeEvent::DropDatabase,
        "invalidate" => ChangeEvent::Invalidate,
        _ => ChangeEvent::Other(codec::decode_untyped(event)?),
    })
}

fn describe(raw: &RawDocument) -> Result<UpdateDescription> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Described {
        #[serde(default)]
        updated_fields: Document,
        #[serde(default)]
        removed_fields: Vec<String>,
        truncated_arrays: Option<Vec<Truncated>>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Truncated {
        field: String,
        new_size: i64,
    }
    let described: Described = codec::decode_document(raw)?;
    let truncated = described.truncated_arrays.unwrap_or_default();
    Ok(UpdateDescription {
        updated: described.updated_fields,
        removed: described.removed_fields,
        truncated: truncated
            .into_iter()
            .map(|array| TruncatedArray {
                path: array.field,
                len: usize::try_from(array.new_size).unwrap_or_default(),
            })
            .collect(),
    })
}

fn get<'a>(document: &'a RawDocument, name: &str) -> Option<RawBsonRef<'a>> {
    document.get(name).ok().flatten()
}

fn document<'a>(outer: &'a RawDocument, name: &str) -> Option<&'a RawDocument> {
    get(outer, name)?.as_document()
}

fn text(document: &RawDocument, name: &str) -> Option<String> {
    Some(get(document, name)?.as_str()?.to_owned())
}

fn missing(field: &'static str) -> Error {
    Error::new(
        ErrorKind::Decode,
        "the event lacks a field; after a pipeline that reshapes events, read them with `decode`",
    )
    .with_path(field)
}
