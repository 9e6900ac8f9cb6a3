//! Statements of one kind in few commands.

use bson::raw::{CStr, cstr};
use bson::{Bson, Document, RawDocumentBuf};

use super::super::{Attempt, Failure, MongoBackend, SharedSession, command, error, in_transaction};
use super::size::{MAX_DOCUMENT_BYTES, refused};
use super::{of_the_only, raw_id};
use crate::backend::{Namespace, ReadOptions, WriteResult};
use crate::error::{Error, ErrorKind};

/// How many statements one command may carry.
const MAX_BATCH: usize = 100_000;

/// How large a command can be whose statements are within it. The driver adds session and cluster time, for which the
/// server leaves room.
const MAX_COMMAND_BYTES: usize = MAX_DOCUMENT_BYTES;

/// What a statement costs in its command's array: its type and its place, which has six digits at most.
const PLACE_BYTES: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Update,
    Delete,
}

impl Kind {
    fn names(self) -> (&'static CStr, &'static CStr) {
        match self {
            Kind::Update => (cstr!("update"), cstr!("updates")),
            Kind::Delete => (cstr!("delete"), cstr!("deletes")),
        }
    }
}

/// Statements of one kind, sent as few commands.
pub(super) struct Batch<'a> {
    pub(super) namespace: &'a Namespace,
    pub(super) ordered: bool,
    pub(super) options: &'a ReadOptions,
}

impl Batch<'_> {
    /// Sends the statements in parts that fit; gives whether those behind them are to be tried.
    pub(super) async fn run(
        &self,
        backend: &MongoBackend,
        kind: Kind,
        statements: &[RawDocumentBuf],
        session: Option<&SharedSession>,
        parts: &mut Parts,
    ) -> Attempt<bool> {
        let room = MAX_COMMAND_BYTES.saturating_sub(self.message(kind, &[]).as_bytes().len());
        let mut rest = statements;
        while !rest.is_empty() {
            let sizes = rest
                .iter()
                .map(|statement| statement.as_bytes().len() + PLACE_BYTES);
            let (part, behind) = rest.split_at(fitting(sizes, room).max(1));
            let outcome = self.send(backend, kind, part, session).await;
            if !parts.add(part.len(), outcome)? {
                return Ok(false);
            }
            rest = behind;
        }
        Ok(true)
    }

    fn message(&self, kind: Kind, statements: &[RawDocumentBuf]) -> RawDocumentBuf {
        let (verb, list) = kind.names();
        command::batch(
            verb,
            list,
            &self.namespace.collection,
            statements,
            self.ordered,
            self.options,
        )
    }

    async fn send(
        &self,
        backend: &MongoBackend,
        kind: Kind,
        statements: &[RawDocumentBuf],
        session: Option<&SharedSession>,
    ) -> Attempt<WriteResult> {
        if let [only] = statements
            && let Some(error) = refused(only.as_bytes().len())
        {
            return Ok(failed(error));
        }
        let message = self.message(kind, statements);
        let reply = backend.write(&self.namespace.database, message, session).await;
        match reply {
            Err(Failure::Driver(failure)) if statements.len() == 1 => of_the_only(failure),
            reply => parse_reply(&reply?, kind),
        }
    }
}

/// How many things of these sizes go into one command that has so much room.
pub(super) fn fitting(sizes: impl Iterator<Item = usize>, room: usize) -> usize {
    let mut bytes = 0;
    sizes
        .take(MAX_BATCH)
        .take_while(|size| {
            bytes += size;
            bytes <= room
        })
        .count()
}

/// A batch that is sent in parts, one after another.
pub(super) struct Parts {
    result: WriteResult,
    /// Of the whole batch.
    length: usize,
    /// How many statements were sent.
    sent: usize,
    ordered: bool,
    /// Whether a write whose answer is missing may have taken effect.
    is_in_doubt: bool,
}

impl Parts {
    pub(super) fn new(length: usize, ordered: bool, session: Option<&SharedSession>) -> Parts {
        Parts {
            result: WriteResult::default(),
            length,
            sent: 0,
            ordered,
            is_in_doubt: !in_transaction(session),
        }
    }

    pub(super) fn into_result(self) -> WriteResult {
        self.result
    }

    /// Takes in what became of the next so many statements; gives whether those behind them are to be tried.
    ///
    /// A part that fails as a whole is the failure of the batch only if none was sent before: else what those did
    /// would be forgotten.
    pub(super) fn add(&mut self, statements: usize, outcome: Attempt<WriteResult>) -> Attempt<bool> {
        let first = self.sent;
        match outcome {
            Ok(part) => {
                let failed = !part.errors.is_empty();
                absorb(&mut self.result, part, first);
                self.sent += statements;
                Ok(!(failed && self.ordered))
            }
            Err(failure) if first == 0 => Err(failure),
            Err(failure) => {
                let error = match failure {
                    Failure::Driver(failure) => error::from_driver(failure, self.is_in_doubt),
                    Failure::Own(error) => error,
                };
                if self.ordered {
                    self.result.errors.push((first, error));
                    return Ok(false);
                }
                let unsent = unsent(&error);
                let behind = first + statements;
                let errors = (first..behind).map(|place| (place, error.clone()));
                self.result.errors.extend(errors);
                let errors = (behind..self.length).map(|place| (place, unsent.clone()));
                self.result.errors.extend(errors);
                Ok(false)
            }
        }
    }
}

/// The error of a statement that was not sent, since one before it failed thus.
fn unsent(error: &Error) -> Error {
    let kind = match error.kind() {
        ErrorKind::InDoubt => ErrorKind::Network,
        kind => kind,
    };
    Error::new(kind, "not sent, since the batch failed before it").with_source(error.clone())
}

/// The result of a statement that failed.
pub(super) fn failed(error: Error) -> WriteResult {
    WriteResult {
        errors: vec![(0, error)],
        ..WriteResult::default()
    }
}

fn absorb(total: &mut WriteResult, part: WriteResult, offset: usize) {
    total.summary.inserted += part.summary.inserted;
    total.summary.matched += part.summary.matched;
    total.summary.modified += part.summary.modified;
    total.summary.upserted += part.summary.upserted;
    total.summary.deleted += part.summary.deleted;
    total
        .upserted
        .extend(part.upserted.into_iter().map(|(index, id)| (index + offset, id)));
    total.errors.extend(
        part.errors
            .into_iter()
            .map(|(index, error)| (index + offset, error)),
    );
    total.concern = total.concern.take().or(part.concern);
}

/// What a reply says of the statements of its command.
pub(super) fn parse_reply(reply: &Document, kind: Kind) -> Attempt<WriteResult> {
    let count = |name: &str| -> u64 {
        match reply.get(name) {
            Some(Bson::Int32(n)) => u64::try_from(*n).unwrap_or(0),
            Some(Bson::Int64(n)) => u64::try_from(*n).unwrap_or(0),
            Some(Bson::Double(n)) => *n as u64,
            _ => 0,
        }
    };
    let mut result = WriteResult {
        concern: error::concern_of(reply),
        ..WriteResult::default()
    };
    for entry in documents(reply, "upserted") {
        let index = place(entry);
        if let Some(id) = entry.get("_id") {
            result.upserted.push((index, raw_id(id.clone())?));
        }
    }
    match kind {
        Kind::Update => {
            result.summary.upserted = result.upserted.len() as u64;
            result.summary.matched = count("n").saturating_sub(result.summary.upserted);
            result.summary.modified = count("nModified");
        }
        Kind::Delete => result.summary.deleted = count("n"),
    }
    for entry in documents(reply, "writeErrors") {
        let index = place(entry);
        let message = entry.get_str("errmsg").unwrap_or_default().to_owned();
        let code = entry.get_i32("code").unwrap_or_default();
        let whole = RawDocumentBuf::try_from(entry).ok();
        result
            .errors
            .push((index, error::from_code(code, message, whole.as_ref())));
    }
    Ok(result)
}

/// Which statement of the command an entry of the reply is about.
fn place(entry: &Document) -> usize {
    let index = entry.get_i32("index").unwrap_or_default();
    usize::try_from(index).unwrap_or_default()
}

fn documents<'a>(reply: &'a Document, name: &str) -> impl Iterator<Item = &'a Document> {
    reply
        .get_array(name)
        .ok()
        .into_iter()
        .flatten()
        .filter_map(Bson::as_document)
}
