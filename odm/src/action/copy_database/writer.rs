//! Writing documents as they are, in their order.

use bson::spec::ElementType;
use bson::{Bson, Document, RawArrayBuf, RawBsonRef, RawDocument, RawDocumentBuf, Timestamp, rawdoc};

use super::about;
use crate::backend::{Insert, Operation, RunCommand};
use crate::codec::decode_untyped;
use crate::collection::Target;
use crate::error::{Error, ErrorKind, Result};

/// How many bytes of documents go together.
const BATCH_BYTES: usize = 16 << 20;

/// How many bytes of measurements go together: they are a command, which has 16 MB with what is around them.
const COMMAND_BYTES: usize = 8 << 20;

/// Gathers documents and inserts them in order, so that what is stored is always the beginning of what was given.
pub(super) struct Writer {
    target: Target,
    bypass_validation: bool,
    most: usize,
    documents: Vec<RawDocumentBuf>,
    bytes: usize,
    are_measurements: bool,
}

impl Writer {
    pub(super) fn new(target: &Target, bypass_validation: bool, batch: u32) -> Writer {
        Writer {
            target: target.clone(),
            bypass_validation,
            most: usize::try_from(batch).unwrap_or(usize::MAX),
            documents: Vec::new(),
            bytes: 0,
            are_measurements: false,
        }
    }

    /// Takes a document in; gives how many were written meanwhile.
    pub(super) async fn push(&mut self, document: &RawDocument) -> Result<u64> {
        if has_empty_timestamp(document) {
            let written = self.finish().await?;
            self.put(document).await?;
            return Ok(written + 1);
        }
        self.add(document, BATCH_BYTES).await
    }

    /// The same with a measurement of a time series, which may have no `_id` and is to get none.
    pub(super) async fn push_measurement(&mut self, document: &RawDocument) -> Result<u64> {
        self.are_measurements = true;
        self.add(document, COMMAND_BYTES).await
    }

    async fn add(&mut self, document: &RawDocument, most_bytes: usize) -> Result<u64> {
        let size = document.as_bytes().len();
        let is_full = self.documents.len() >= self.most || self.bytes + size > most_bytes;
        let written = match is_full {
            true => self.finish().await?,
            false => 0,
        };
        self.bytes += size;
        self.documents.push(document.to_owned());
        Ok(written)
    }

    /// Writes what was gathered.
    pub(super) async fn finish(&mut self) -> Result<u64> {
        let documents = std::mem::take(&mut self.documents);
        self.bytes = 0;
        let count = documents.len() as u64;
        if count == 0 {
            return Ok(0);
        }
        let namespace = self.target.namespace().clone();
        if self.are_measurements {
            let documents: RawArrayBuf = documents.iter().map(AsRef::<RawDocument>::as_ref).collect();
            let command = rawdoc! { "insert": namespace.collection, "documents": documents, "ordered": true };
            self.command(command).await?;
            return Ok(count);
        }
        let insert = Insert {
            namespace,
            documents,
            ordered: true,
            bypass_validation: self.bypass_validation,
            comment: None,
        };
        let result = self.target.execute(insert.into()).await?.write()?;
        match result.errors.into_iter().next() {
            Some((_, error)) => Err(self.target.explain(error, "insert")),
            None => Ok(count),
        }
    }

    /// Writes a document by a pipeline: an insert would put the time in the place of an empty timestamp.
    async fn put(&mut self, document: &RawDocument) -> Result<()> {
        let Ok(Some(id)) = document.get("_id") else {
            let text = "a document without an _id and with an empty timestamp cannot be copied";
            return Err(about(ErrorKind::Unsupported, text, &self.target));
        };
        let update = rawdoc! {
            "q": { "_id": { "$eq": id } },
            "u": [{ "$replaceWith": { "$literal": document.to_owned() } }],
            "upsert": true,
        };
        let collection = self.target.namespace().collection.as_str();
        self.command(rawdoc! {
            "update": collection,
            "updates": [update],
            "bypassDocumentValidation": self.bypass_validation,
        })
        .await
    }

    /// Runs a command that writes.
    async fn command(&self, command: RawDocumentBuf) -> Result<()> {
        let database = self.target.namespace().database.clone();
        let run = Operation::RunCommand(RunCommand { database, command });
        let reply = self.target.execute(run).await?.document()?;
        let reply = reply.as_deref().map(decode_untyped).transpose()?;
        match reply.as_ref().and_then(failure) {
            Some(error) => Err(self.target.explain(error, "runCommand")),
            None => Ok(()),
        }
    }
}

/// The first failure that a reply tells of.
fn failure(reply: &Document) -> Option<Error> {
    let first = reply
        .get_array("writeErrors")
        .ok()
        .and_then(|errors| errors.first());
    let failed = first.and_then(Bson::as_document);
    let failed = failed.or_else(|| reply.get_document("writeConcernError").ok())?;
    let code = failed.get_i32("code").unwrap_or_default();
    let message = failed.get_str("errmsg").unwrap_or("the write failed").to_owned();
    let kind = match failed.contains_key("index") {
        true => ErrorKind::of_code(code),
        false => ErrorKind::InDoubt,
    };
    Some(Error::new(kind, message).with_code(code))
}

/// Whether one of the fields but `_id` is a timestamp of zero.
fn has_empty_timestamp(document: &RawDocument) -> bool {
    let empty = Timestamp {
        time: 0,
        increment: 0,
    };
    document.iter_elements().map_while(Result::ok).any(|field| {
        field.element_type() == ElementType::Timestamp
            && field.key() != "_id"
            && matches!(field.value(), Ok(RawBsonRef::Timestamp(time)) if time == empty)
    })
}
