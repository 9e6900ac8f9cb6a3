//! The one error of the crate.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use bson::{Bson, Document, RawBson, RawDocumentBuf};

use crate::backend::WriteSummary;
use crate::collection::Record;
use crate::lifecycle::Violation;
use crate::model::Model;
use crate::relation::Referring;

/// `Result` with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Anything that can go wrong in `odm`: opaque, one word wide, cheap to clone.
///
/// Ask [`kind`](Error::kind) (or a predicate) what the caller can do; the fields say where it happened.
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// use odm::{Db, ErrorKind, bson::doc};
///
/// let books = Db::open("memory:").await?.raw_collection("books");
/// books.insert(doc! {"_id": 1}).await?;
/// let error = books.insert(doc! {"_id": 1}).await.unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::DuplicateKey);
/// assert_eq!((error.code(), error.index()), (Some(11000), Some("_id_")));
/// assert_eq!(error.namespace(), Some("main.books"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Error(Arc<Inner>);

/// What the caller of a failed operation can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// What was asked for by id does not exist.
    NotFound,
    /// A unique index holds the key already.
    DuplicateKey,
    /// Another writer was first; the transaction can be run again.
    Conflict,
    /// The document breaks a rule of its model or collection.
    Validation,
    /// Other documents refer to what was to be deleted, and deny that: see [`Error::referring`].
    Referenced,
    /// A filter, update, pipeline, option, name or URL is wrong; the same call will fail again.
    InvalidArgument,
    /// The backend does not do this.
    Unsupported,
    /// A stored document does not fit the Rust type.
    Decode,
    /// A stored document has a newer schema version than this program knows.
    NewerVersion,
    /// A Rust value does not fit BSON.
    Encode,
    /// The documents are another tenant's, or the database is bound to no tenant, or to one of another type: see
    /// [`Db::for_tenant`](crate::Db::for_tenant).
    Tenant,
    /// The model's declaration disagrees with serde, with the database, or with itself.
    Schema,
    /// Stored bytes are damaged.
    Corrupt,
    /// The database is in use by another process, or the transaction is over.
    Locked,
    /// Whether the write took effect is not known.
    InDoubt,
    /// The changes that a change stream would begin with are no longer kept: read the data anew, then watch from
    /// now on.
    HistoryLost,
    /// The token of a page is damaged, of another version or of another sort: begin at the first page.
    PageToken,
    /// The round trips that [`Db::budget`](crate::Db::budget) allows are used up.
    Budget,
    /// A query would read a whole collection, where an index is asked for.
    Unindexed,
    /// The time limit was reached.
    Timeout,
    /// An operator or the server ended the operation or its cursor: begin it anew. What it wrote before stays.
    Interrupted,
    /// The disk failed or is full.
    Io,
    /// The server cannot be reached.
    Network,
    /// The server refuses the credentials or the action.
    Unauthorized,
    /// The server said something else; see [`Error::code`].
    Server,
}

impl ErrorKind {
    /// What MongoDB's error code means for the caller.
    pub(crate) fn of_code(code: i32) -> ErrorKind {
        match code {
            11000 | 11001 => ErrorKind::DuplicateKey,
            // Another writer, an old snapshot, and work on the same collection that goes on.
            112 | 117 | 239 | 246 | 251 | 12586 | 12587 => ErrorKind::Conflict,
            286 => ErrorKind::HistoryLost,
            121 => ErrorKind::Validation,
            // Waiting for locks, for other members, and the life of a transaction have limits too.
            24 | 46 | 50 | 107 | 202 | 262 | 290 => ErrorKind::Timeout,
            // Killed: the operation, its cursor, its plan by a drop, its index build. 136 and 43: the cursor is gone.
            43 | 136 | 175 | 237 | 276 | 11601 => ErrorKind::Interrupted,
            13 | 18 | 334 | 391 => ErrorKind::Unauthorized,
            115 | 303 => ErrorKind::Unsupported,
            26 | 27 => ErrorKind::NotFound,
            6 | 7 | 89 | 91 | 189 | 9001 | 10107 | 11600 | 11602 | 13435 | 13436 => ErrorKind::Network,
            // No member for the read preference, none with a majority yet, and what a moving shard says.
            63 | 133 | 134 | 150 | 234 | 249 | 282 | 13388 => ErrorKind::Network,
            // Written, but not as the write concern wants it.
            64 | 100 => ErrorKind::InDoubt,
            14031 => ErrorKind::Io,
            1 | 8 | 93 | 94 | 96 | 146 | 264 => ErrorKind::Server,
            // Almost every other code of a command says that its text is wrong.
            _ => ErrorKind::InvalidArgument,
        }
    }
}

#[derive(Clone, Default)]
struct Inner {
    kind: Option<ErrorKind>,
    message: Cow<'static, str>,
    code: Option<i32>,
    labels: Vec<String>,
    backend: Option<&'static str>,
    operation: Option<&'static str>,
    model: Option<&'static str>,
    namespace: Option<String>,
    path: Option<String>,
    id: Option<Bson>,
    notes: Vec<(&'static str, String)>,
    index: Option<String>,
    key_pattern: Option<Document>,
    key_value: Option<Document>,
    details: Option<Document>,
    violations: Vec<Violation>,
    referring: Option<Referring>,
    current: Option<Arc<RawDocumentBuf>>,
    partial: Option<PartialWrite>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// What happened of a batch of writes that failed in part.
///
/// The error that carries it has the kind, code and fields of the first failed write; of the write concern where that
/// alone failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PartialWrite {
    /// Counts of what took effect.
    pub summary: WriteSummary,
    /// The `_id` of each inserted document that is stored, with its index in the batch.
    pub inserted: Vec<(usize, Bson)>,
    /// The `_id` of each upserted document, with the index of its write in the batch.
    pub upserted: Vec<(usize, Bson)>,
    /// The writes that failed, in the order of their indexes. The writes after the failure of an ordered
    /// batch were not tried and are not here.
    pub errors: Vec<WriteError>,
    /// That what took effect did so on fewer members than the write concern wants: a failover may take it back. Kind
    /// [`InDoubt`](ErrorKind::InDoubt). Never on the embedded engine.
    pub concern: Option<Error>,
}

/// A write of a batch that failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WriteError {
    /// Which write, by its position in the batch.
    pub index: usize,
    /// Why.
    pub error: Error,
}

impl Error {
    /// An error of this kind. The message is lower-case, without a full stop; what varies goes in fields.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Error {
        Error(Arc::new(Inner {
            kind: Some(kind),
            message: message.into(),
            ..Inner::default()
        }))
    }

    /// What the caller can do.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind.unwrap_or(ErrorKind::Server)
    }

    /// The message, without the fields.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// MongoDB's error code, where there is one: 11000 for a duplicate key, 112 for a write conflict, ...
    pub fn code(&self) -> Option<i32> {
        self.0.code
    }

    /// Whether MongoDB labels the error so: `TransientTransactionError`, ...
    pub fn has_label(&self, label: &str) -> bool {
        self.0.labels.iter().any(|own| own == label)
    }

    /// The backend that answered.
    pub fn backend(&self) -> Option<&str> {
        self.0.backend
    }

    /// The operation that failed, in MongoDB's vocabulary.
    pub fn operation(&self) -> Option<&str> {
        self.0.operation
    }

    /// The model, by its Rust name.
    pub fn model(&self) -> Option<&str> {
        self.0.model
    }

    /// The `database.collection`.
    pub fn namespace(&self) -> Option<&str> {
        self.0.namespace.as_deref()
    }

    /// The dotted path of the field, by its stored names.
    pub fn path(&self) -> Option<&str> {
        self.0.path.as_deref()
    }

    /// The `_id` of the document.
    pub fn id(&self) -> Option<&Bson> {
        self.0.id.as_ref()
    }

    /// The index, by name.
    pub fn index(&self) -> Option<&str> {
        self.0.index.as_deref()
    }

    /// The key pattern of the unique index that refused a key.
    pub fn key_pattern(&self) -> Option<&Document> {
        self.0.key_pattern.as_ref()
    }

    /// The key that a unique index refused. Under a collation it is known of inserts alone: of other writes the database
    /// says only what the collation sorts texts by, which is not given.
    pub fn key_value(&self) -> Option<&Document> {
        self.0.key_value.as_ref()
    }

    /// Why a validator refused a document (code 121), in MongoDB's words: `failingDocumentId` and `details`, which
    /// names the conditions that do not hold.
    pub fn details(&self) -> Option<&Document> {
        self.0.details.as_ref()
    }

    /// The rules of the model that a document or an update breaks, all of them.
    pub fn violations(&self) -> &[Violation] {
        &self.0.violations
    }

    /// Whether an array cannot take what was added to it: it would have more elements than its `#[odm(max = N)]`.
    pub fn is_bound_reached(&self) -> bool {
        self.0
            .violations
            .iter()
            .any(|violation| violation.rule == "max_items")
    }

    /// What refers to the documents that were to be deleted, and denies it.
    pub fn referring(&self) -> Option<&Referring> {
        self.0.referring.as_ref()
    }

    /// The document as it is stored, when it is not the one that was to be written over: the conflict of a version.
    ///
    /// # Errors
    /// `Decode` when the document does not fit the model.
    pub fn current<M: Model>(&self) -> Result<Option<M>> {
        let current = self.0.current.as_ref();
        current.map(|current| <M as Record>::decode(current)).transpose()
    }

    /// What the error says beside its message and the other fields, by its name.
    pub fn note(&self, name: &str) -> Option<&str> {
        let note = self.0.notes.iter().find(|(known, _)| *known == name);
        note.map(|(_, note)| note.as_str())
    }

    /// What took effect and what failed, when this is the failure of a batch of writes, or of a write concern.
    pub fn partial_write(&self) -> Option<&PartialWrite> {
        self.0.partial.as_ref()
    }

    /// The failed writes of a batch, in the order of their indexes; none when this is not about a batch.
    pub fn write_errors(&self) -> &[WriteError] {
        self.0.partial.as_ref().map_or(&[], |partial| &partial.errors)
    }

    /// That the write concern of what took effect was not met, when this is the failure of writes.
    pub fn write_concern_error(&self) -> Option<&Error> {
        self.0.partial.as_ref()?.concern.as_ref()
    }

    /// Whether a unique index refused a key.
    pub fn is_duplicate_key(&self) -> bool {
        self.kind() == ErrorKind::DuplicateKey
    }

    /// Whether what was asked for by id does not exist.
    pub fn is_not_found(&self) -> bool {
        self.kind() == ErrorKind::NotFound
    }

    /// Whether another writer was first, so that running the transaction again can succeed.
    pub fn is_conflict(&self) -> bool {
        self.kind() == ErrorKind::Conflict
    }

    /// Whether the backend does not do this.
    pub fn is_unsupported(&self) -> bool {
        self.kind() == ErrorKind::Unsupported
    }

    /// Whether the documents are another tenant's, or the database is bound to no tenant of theirs.
    pub fn is_tenant(&self) -> bool {
        self.kind() == ErrorKind::Tenant
    }

    /// Whether the effect of the write is not known.
    pub fn is_in_doubt(&self) -> bool {
        self.kind() == ErrorKind::InDoubt
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Error {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Adds MongoDB's code.
    pub fn with_code(self, code: i32) -> Error {
        self.with(|inner| inner.code = Some(code))
    }

    /// Adds a label.
    pub fn with_label(self, label: impl Into<String>) -> Error {
        self.with(|inner| inner.labels.push(label.into()))
    }

    /// Says which backend answered.
    pub fn with_backend(self, backend: &'static str) -> Error {
        self.with(|inner| inner.backend = Some(backend))
    }

    /// Says which operation failed.
    pub fn with_operation(self, operation: &'static str) -> Error {
        self.with(|inner| inner.operation = Some(operation))
    }

    /// Says which model it is about.
    pub fn with_model(self, model: &'static str) -> Error {
        self.with(|inner| inner.model = Some(model))
    }

    /// Says which collection it is about.
    pub fn with_namespace(self, namespace: impl Into<String>) -> Error {
        self.with(|inner| inner.namespace = Some(namespace.into()))
    }

    /// Says which field it is about.
    pub fn with_path(self, path: impl Into<String>) -> Error {
        self.with(|inner| inner.path = Some(path.into()))
    }

    /// Says which document it is about.
    pub fn with_id(self, id: impl Into<Bson>) -> Error {
        self.with(|inner| inner.id = Some(id.into()))
    }

    /// Adds the `_id` where none is known.
    pub(crate) fn or_id(self, id: impl FnOnce() -> Option<Bson>) -> Error {
        match self.0.id {
            Some(_) => self,
            None => self.with(|inner| inner.id = id()),
        }
    }

    /// Says which index it is about.
    pub fn with_index(self, index: impl Into<String>) -> Error {
        self.with(|inner| inner.index = Some(index.into()))
    }

    /// Adds the key that a unique index refused.
    pub fn with_key(self, pattern: Document, value: Document) -> Error {
        self.with(|inner| {
            inner.key_pattern = Some(pattern);
            inner.key_value = Some(value);
        })
    }

    /// Adds the key pattern of the unique index that refused a key which is not known.
    pub(crate) fn with_key_pattern(self, pattern: Document) -> Error {
        self.with(|inner| inner.key_pattern = Some(pattern))
    }

    /// Adds why a validator refused the document.
    pub fn with_details(self, details: Document) -> Error {
        self.with(|inner| {
            inner.id = inner
                .id
                .take()
                .or_else(|| details.get("failingDocumentId").cloned());
            inner.details = Some(details);
        })
    }

    /// Adds the rules that are broken; the path is that of the first.
    pub fn with_violations(self, violations: Vec<Violation>) -> Error {
        self.with(|inner| {
            let first = violations.first().map(|violation| violation.path.clone());
            inner.path = first.filter(|path| !path.is_empty());
            inner.violations = violations;
        })
    }

    pub(crate) fn with_referring(self, referring: Referring) -> Error {
        self.with(|inner| inner.referring = Some(referring))
    }

    /// Says which document is stored, when it is not the one that was to be written over: see
    /// [`current`](Error::current).
    pub fn with_current(self, current: RawDocumentBuf) -> Error {
        self.with(|inner| inner.current = Some(Arc::new(current)))
    }

    /// Says one thing more than the message, under a name: `(_id: 7, limit: 3)`.
    pub fn with_note(self, name: &'static str, note: impl fmt::Display) -> Error {
        self.with(|inner| inner.notes.push((name, note.to_string())))
    }

    /// Says which document was to be written, if that is known, be it from the message, and was not said before.
    pub(crate) fn of_document(self, id: Option<&RawBson>) -> Error {
        if self.id().is_some() {
            return self;
        }
        let id = id.and_then(|id| Bson::try_from(id.as_raw_bson_ref()).ok());
        match id.or_else(|| named_id(self.message())) {
            Some(id) => self.with_id(id),
            None => self,
        }
    }

    /// The failure of a batch of writes: the first failed write's error, or that of the write concern, with what happened
    /// of the others.
    pub(crate) fn of_batch(partial: PartialWrite) -> Error {
        let first = partial.errors.first().map(|first| first.error.clone());
        let error = first
            .or_else(|| partial.concern.clone())
            .unwrap_or_else(|| Error::new(ErrorKind::Server, "the batch failed"));
        error.with(|inner| inner.partial = Some(partial))
    }

    /// Fills in where it happened, keeping what is known already.
    pub(crate) fn within(
        self,
        backend: &'static str,
        operation: &'static str,
        model: Option<&'static str>,
        namespace: impl FnOnce() -> Option<String>,
    ) -> Error {
        self.with(|inner| {
            inner.backend = inner.backend.or(Some(backend));
            inner.operation = inner.operation.or(Some(operation));
            inner.model = inner.model.or(model);
            if inner.namespace.is_none() {
                inner.namespace = namespace();
            }
        })
    }

    /// The failure that this error is the cause of. Kind, code, labels and fields stay, so that whoever asks for them
    /// need not look for the cause.
    pub(crate) fn behind(self, message: impl Into<Cow<'static, str>>) -> Error {
        let cause = self.clone();
        self.with(|inner| inner.message = message.into())
            .with_source(cause)
    }

    /// Adds the cause.
    pub fn with_source(self, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        self.with(|inner| inner.source = Some(Arc::new(source)))
    }
}

/// The `_id` that MongoDB names in the message of a failed update, where its type shows: `.. for document {_id: "x"}`.
fn named_id(message: &str) -> Option<Bson> {
    let shown = message.split_once("{_id: ")?.1;
    if let Some(hex) = shown.strip_prefix("ObjectId('") {
        return bson::oid::ObjectId::parse_str(hex.get(..24)?)
            .ok()
            .map(Bson::from);
    }
    let (text, rest) = shown.strip_prefix('"')?.split_once('"')?;
    rest.starts_with('}').then(|| text.into())
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        f.write_str(&inner.message)?;
        let mut separator = " (";
        let mut field = |f: &mut fmt::Formatter<'_>, name: &str, value: Option<&dyn fmt::Display>| {
            if let Some(value) = value {
                write!(f, "{separator}{name}: {value}")?;
                separator = ", ";
            }
            Ok::<_, fmt::Error>(())
        };
        field(f, "model", inner.model.as_ref().map(|v| v as _))?;
        field(f, "collection", inner.namespace.as_ref().map(|v| v as _))?;
        field(f, "field", inner.path.as_ref().map(|v| v as _))?;
        field(f, "_id", inner.id.as_ref().map(|v| v as _))?;
        for (name, note) in &inner.notes {
            field(f, name, Some(note))?;
        }
        field(f, "index", inner.index.as_ref().map(|v| v as _))?;
        field(f, "referred to by", inner.referring.as_ref().map(|v| v as _))?;
        field(f, "operation", inner.operation.as_ref().map(|v| v as _))?;
        field(f, "backend", inner.backend.as_ref().map(|v| v as _))?;
        field(f, "code", inner.code.as_ref().map(|v| v as _))?;
        let failed = inner.partial.as_ref().map(|partial| partial.errors.len());
        let failed = failed.filter(|count| *count > 0);
        field(f, "failed writes", failed.as_ref().map(|v| v as _))?;
        if separator == ", " {
            f.write_str(")")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({:?}: {self})", self.kind())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}
