//! Inserting one document.

use std::fmt;

use bson::oid::ObjectId;
use bson::{RawBsonRef, RawDocumentBuf};

use super::Draft;
use super::setters::runs;
use crate::backend;
use crate::collection::{Record, Target};
use crate::error::Result;

/// Inserts a document. One round trip.
///
/// An `_id` that the document does not have is generated here, as an ObjectId.
#[must_use = "an action does nothing until it is awaited"]
pub struct InsertOne<D: Record> {
    draft: Draft<backend::Insert>,
    key: Option<D::Key>,
}

/// What inserting a document did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InsertOneResult<K> {
    /// The `_id`.
    pub id: K,
}

impl<D: Record> InsertOne<D> {
    pub(crate) fn new(target: &Target, document: &D) -> InsertOne<D> {
        let mut draft = Draft::new(
            target,
            backend::Insert {
                namespace: target.namespace().clone(),
                documents: Vec::with_capacity(1),
                ordered: true,
                bypass_validation: false,
                comment: None,
            },
        );
        let mut key = None;
        if let Some((encoded, id)) = draft.keep(prepare(document)) {
            draft.operation.documents.push(encoded);
            key = Some(id);
        }
        InsertOne { draft, key }
    }

    /// Leaves the dates of `#[odm(created)]` and `#[odm(updated)]` as the document has them.
    pub fn without_timestamps(mut self) -> Self {
        self.draft.settings.timeless = true;
        self
    }

    /// A text for the server's log and profiler.
    pub fn comment(mut self, comment: impl Into<String>) -> Self {
        self.draft.operation.comment = Some(comment.into());
        self
    }

    async fn run(self) -> Result<InsertOneResult<D::Key>> {
        let id = self.run_key().await?;
        Ok(InsertOneResult { id })
    }

    async fn run_key(self) -> Result<D::Key> {
        let key = self.key;
        let settings = self.draft.settings.clone();
        let (target, operation) = self.draft.ready()?;
        let answer = target.write(operation, settings).await?;
        // Without a key the draft has failed before.
        let key = key.ok_or_else(|| super::update::nothing_written(&target, "insert"))?;
        super::update::check_single(&target, "insert", answer.write()?)
            .map_err(|error| error.or_id(|| super::insert_many::key_to_bson::<D>(&key)))?;
        Ok(key)
    }
}

runs!([D: Record] InsertOne<D> => InsertOneResult<D::Key>);

/// Inserts a document and gives its `_id`. One round trip.
#[must_use = "an action does nothing until it is awaited"]
pub struct Insert<D: Record> {
    action: InsertOne<D>,
}

impl<D: Record> Insert<D> {
    pub(crate) fn new(target: &Target, document: &D) -> Insert<D> {
        Insert {
            action: InsertOne::new(target, document),
        }
    }

    /// Leaves the dates of `#[odm(created)]` and `#[odm(updated)]` as the document has them.
    pub fn without_timestamps(self) -> Self {
        Insert {
            action: self.action.without_timestamps(),
        }
    }

    async fn run(self) -> Result<D::Key> {
        self.action.run_key().await
    }
}

runs!([D: Record] Insert<D> => D::Key);

/// The encoded document with its `_id` first, and that `_id`.
pub(super) fn prepare<D: Record>(document: &D) -> Result<(RawDocumentBuf, D::Key)> {
    let encoded = document.encode()?;
    let (encoded, generated) = with_id(encoded)?;
    let key = document.key_in(&encoded, generated)?;
    Ok((encoded, key))
}

/// The document with an `_id` as its first field, and whether it was generated.
fn with_id(document: RawDocumentBuf) -> Result<(RawDocumentBuf, bool)> {
    if matches!(document.get("_id"), Ok(Some(_))) {
        return Ok((document, false));
    }
    let mut whole = RawDocumentBuf::new();
    whole.append(bson::cstr!("_id"), ObjectId::new());
    for field in &document {
        let (name, value): (_, RawBsonRef<'_>) = field.map_err(|error| {
            crate::error::Error::new(crate::error::ErrorKind::Encode, "the document is malformed")
                .with_source(error)
        })?;
        whole.append(name, value);
    }
    Ok((whole, true))
}

impl<D: Record> fmt::Debug for InsertOne<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InsertOne").field(&self.draft).finish()
    }
}

impl<D: Record> fmt::Debug for Insert<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Insert").field(&self.action.draft).finish()
    }
}
