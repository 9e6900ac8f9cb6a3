//! Replies, in the server's fields and their order.

use super::super::document::doc::framed;
use super::super::document::{Doc, Fields, Owned, Value};
use super::super::exec::statement::Outcome;
use super::super::fault::{CollatedKey, Fault};

/// A reply being built.
#[derive(Debug, Default)]
pub(super) struct Reply {
    fields: Fields,
}

impl Reply {
    pub(super) fn new() -> Reply {
        Reply::default()
    }

    pub(super) fn with(mut self, name: &str, value: Owned) -> Reply {
        self.fields.push((name.to_owned(), value));
        self
    }

    pub(super) fn with_all(mut self, fields: Fields) -> Reply {
        self.fields.extend(fields);
        self
    }

    /// With `ok: 1.0` at the end.
    pub(super) fn done(self) -> Vec<u8> {
        self.done_with(Owned::Double(1.0))
    }

    /// With another `ok` at the end.
    pub(super) fn done_with(self, ok: Owned) -> Vec<u8> {
        let fields = self.with("ok", ok).fields;
        Doc::Fields(&fields).to_bytes()
    }

    /// As a document within another.
    pub(super) fn inner(self) -> Owned {
        Owned::Document(self.fields)
    }
}

/// `{ok: 1.0}`.
pub(super) fn ok() -> Vec<u8> {
    Reply::new().done()
}

pub(super) fn text(text: impl Into<String>) -> Owned {
    Owned::String(text.into())
}

/// A count as an int where it fits, as the server counts.
pub(super) fn count(number: u64) -> Owned {
    match i32::try_from(number) {
        Ok(number) => Owned::Int32(number),
        Err(_) => Owned::Int64(i64::try_from(number).unwrap_or(i64::MAX)),
    }
}

/// `{cursor: {firstBatch: .., id: .., ns: ..}, ok: 1.0}`.
pub(super) fn cursor(batch: &str, documents: Vec<Vec<u8>>, id: i64, ns: &str) -> Vec<u8> {
    let inner = Reply::new()
        .with(batch, array(documents))
        .with("id", Owned::Int64(id))
        .with("ns", text(ns))
        .inner();
    Reply::new().with("cursor", inner).done()
}

/// The same of a change stream: with where it is, and whether it has ended.
pub(super) fn changes(
    batch: &str,
    documents: Vec<Vec<u8>>,
    (token, is_over): (Vec<u8>, bool),
    id: i64,
    ns: &str,
) -> Vec<u8> {
    let mut inner = Reply::new()
        .with(batch, array(documents))
        .with("postBatchResumeToken", Owned::RawDocument(token));
    if is_over {
        inner = inner.with("invalidated", Owned::Bool(true));
    }
    let inner = inner.with("id", Owned::Int64(id)).with("ns", text(ns)).inner();
    Reply::new().with("cursor", inner).done()
}

/// The same with the batch last, as listings have it.
pub(super) fn listing(documents: Vec<Vec<u8>>, id: i64, ns: &str) -> Vec<u8> {
    let inner = Reply::new()
        .with("id", Owned::Int64(id))
        .with("ns", text(ns))
        .with("firstBatch", array(documents))
        .inner();
    Reply::new().with("cursor", inner).done()
}

pub(super) fn array(documents: Vec<Vec<u8>>) -> Owned {
    let mut bytes = Vec::new();
    framed(&mut bytes, |out| {
        for (at, document) in documents.iter().enumerate() {
            Value::Document(Doc::Raw(document)).write_element(at.to_string().as_bytes(), out);
        }
    });
    Owned::RawArray(bytes)
}

/// The reply to a pipeline that writes.
pub(crate) fn written_out(ns: &str) -> Vec<u8> {
    cursor("firstBatch", Vec::new(), 0, ns)
}

/// Which write a reply is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Insert,
    Update,
    Delete,
}

/// The reply to a batch of writes; a statement's error does not make it one.
pub(crate) fn written(verb: Verb, outcome: &Outcome) -> Vec<u8> {
    let number = match verb {
        Verb::Insert => outcome.inserted,
        Verb::Update => outcome.matched + outcome.upserted.len() as u64,
        Verb::Delete => outcome.deleted,
    };
    let mut reply = Reply::new().with("n", count(number));
    if !outcome.errors.is_empty() {
        let errors = outcome.errors.iter();
        let errors = errors.map(|(index, fault)| write_error(*index, fault)).collect();
        reply = reply.with("writeErrors", Owned::Array(errors));
    }
    if !outcome.upserted.is_empty() {
        let upserted = outcome.upserted.iter().map(|(index, id)| {
            Reply::new()
                .with("index", count(*index as u64))
                .with("_id", id.clone())
                .inner()
        });
        reply = reply.with("upserted", Owned::Array(upserted.collect()));
    }
    if verb == Verb::Update {
        reply = reply.with("nModified", count(outcome.modified));
    }
    reply.done()
}

fn write_error(index: usize, fault: &Fault) -> Owned {
    let mut error = Reply::new()
        .with("index", count(index as u64))
        .with("code", Owned::Int32(fault.code()))
        .with("errmsg", text(fault.message()));
    if let Some(key) = fault.duplicate_key() {
        error = error
            .with("keyPattern", Owned::RawDocument(key.pattern.clone()))
            .with("keyValue", Owned::RawDocument(key.value.clone()));
        if let Some(collated) = &key.collated {
            error = with_collation(error, collated);
        }
    }
    if let Some(details) = fault.details() {
        error = error.with("errInfo", Owned::RawDocument(details.to_vec()));
    }
    for beside in fault.fields().elements() {
        error = error.with(beside.name_str(), beside.value().into());
    }
    error.inner()
}

/// Says how the strings of a refused key are shown, if it has some, and how they compare.
fn with_collation(error: Reply, collated: &CollatedKey) -> Reply {
    let error = match collated.hex.contains(&true) {
        true => error.with(
            "hexEncoded",
            Owned::Array(collated.hex.iter().map(|is| Owned::Bool(*is)).collect()),
        ),
        false => error,
    };
    error.with("collation", Owned::RawDocument(collated.collation.clone()))
}
