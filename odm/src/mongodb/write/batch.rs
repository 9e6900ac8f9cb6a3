//! Statements of one kind in few commands.

use bson::raw::cstr;
use bson::{Bson, Document, RawDocumentBuf};

use super::super::{Attempt, Failure, MongoBackend, SharedSession, command, error};
use super::raw_id;
use crate::backend::{Namespace, ReadOptions, WriteResult};
use crate::error::{Error, ErrorKind};

/// How many statements one command may carry.
const MAX_BATCH: usize = 100_000;

/// How many bytes of statements one command carries; the server takes 48,000,000 in a message.
const MAX_BATCH_BYTES: usize = 40_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Update,
    Delete,
}

/// Statements of one kind, sent as few commands.
pub(super) struct Batch<'a> {
    pub(super) namespace: &'a Namespace,
    pub(super) ordered: bool,
    pub(super) options: &'a ReadOptions,
}

impl Batch<'_> {
    pub(super) async fn run(
        &self,
        backend: &MongoBackend,
        kind: Kind,
        statements: &[RawDocumentBuf],
        session: Option<&SharedSession>,
    ) -> Attempt<WriteResult> {
        let mut total = WriteResult::default();
        let mut start = 0;
        while start < statements.len() {
            let mut bytes = 0;
            let fitting = statements[start..]
                .iter()
                .take(MAX_BATCH)
                .take_while(|statement| {
                    bytes += statement.as_bytes().len();
                    bytes <= MAX_BATCH_BYTES
                })
                .count();
            let end = start + fitting.max(1);
            let part = self.send(backend, kind, &statements[start..end], session).await?;
            let failed = !part.errors.is_empty();
            absorb(&mut total, part, start);
            if failed && self.ordered {
                break;
            }
            start = end;
        }
        Ok(total)
    }

    async fn send(
        &self,
        backend: &MongoBackend,
        kind: Kind,
        statements: &[RawDocumentBuf],
        session: Option<&SharedSession>,
    ) -> Attempt<WriteResult> {
        let (verb, list) = match kind {
            Kind::Update => (cstr!("update"), cstr!("updates")),
            Kind::Delete => (cstr!("delete"), cstr!("deletes")),
        };
        let mut message = command::batch(
            verb,
            list,
            &self.namespace.collection,
            statements,
            self.ordered,
            self.options,
        );
        // The driver adds the client's write concern to its own methods only; inside a transaction none is allowed.
        if session.is_none()
            && let Some(concern) = backend.client.write_concern()
            && let Ok(concern) = bson::serialize_to_raw_document_buf(concern)
            && !concern.is_empty()
        {
            message.append(cstr!("writeConcern"), concern);
        }
        let reply = backend
            .command(&self.namespace.database, message, session)
            .await?;
        parse_reply(&reply, kind)
    }
}

pub(super) fn absorb(total: &mut WriteResult, part: WriteResult, offset: usize) {
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
}

fn parse_reply(reply: &Document, kind: Kind) -> Attempt<WriteResult> {
    let count = |name: &str| -> u64 {
        match reply.get(name) {
            Some(Bson::Int32(n)) => u64::try_from(*n).unwrap_or(0),
            Some(Bson::Int64(n)) => u64::try_from(*n).unwrap_or(0),
            Some(Bson::Double(n)) => *n as u64,
            _ => 0,
        }
    };
    let mut result = WriteResult::default();
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
    if let Ok(concern) = reply.get_document("writeConcernError") {
        let message = concern.get_str("errmsg").unwrap_or_default();
        return Err(Failure::Own(
            Error::new(
                ErrorKind::InDoubt,
                format!("write concern was not satisfied: {message}"),
            )
            .with_code(concern.get_i32("code").unwrap_or_default()),
        ));
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
