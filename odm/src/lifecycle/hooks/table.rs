//! The hooks of a model for code that does not know the model.

use std::fmt;

use bson::{RawDocument, RawDocumentBuf};
use futures_core::future::BoxFuture;

use super::kept::with_changes;
use super::update_write::{DeleteWrite, UpdateWrite};
use super::{HookContext, Hooks};
use crate::codec;
use crate::collection::read;
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::write::{Kind, Write};

/// A model's hooks.
#[derive(Clone, Copy)]
pub struct HookTable {
    pub(crate) before: for<'a> fn(&'a mut Write, &'a HookContext) -> BoxFuture<'a, Result<()>>,
    pub(crate) after: for<'a> fn(&'a Write, &'a HookContext) -> BoxFuture<'a, Result<()>>,
}

impl HookTable {
    /// The hooks of `M`.
    pub const fn of<M: Hooks>() -> HookTable {
        HookTable {
            before: |write, context| Box::pin(before::<M>(write, context)),
            after: |write, context| Box::pin(after::<M>(write, context)),
        }
    }
}

async fn before<M: Hooks>(write: &mut Write, context: &HookContext) -> Result<()> {
    match &mut write.kind {
        Kind::Insert(document) => {
            let mut value: M = codec::decode_document(document)?;
            let seen = codec::encode_document(&value)?;
            M::before_insert(&mut value, context).await?;
            *document = with_changes(document, &seen, encoded(&value, document)?)?;
        }
        Kind::Replace(document) => {
            let mut value: M = read(document)?;
            let seen = codec::encode_document(&value)?;
            M::before_replace(&mut value, context).await?;
            *document = with_changes(document, &seen, encoded(&value, document)?)?;
        }
        Kind::Update(_) => {
            let mut update = UpdateWrite::<M>::new(write);
            M::before_update(&mut update, context).await?;
            update.put_into(write);
        }
        Kind::Delete => {
            let mut delete = DeleteWrite::<M>::new(write);
            M::before_delete(&mut delete, context).await?;
            delete.put_into(write);
        }
    }
    Ok(())
}

/// The document as the hook left it. Its `_id` is what the action gives, so that it must be the same.
fn encoded<M: Hooks>(value: &M, before: &RawDocument) -> Result<RawDocumentBuf> {
    let document = codec::encode_document(value)?;
    match before.get("_id").ok() == document.get("_id").ok() {
        true => Ok(document),
        false => Err(Error::new(
            ErrorKind::InvalidArgument,
            "a hook cannot change the `_id` of a document",
        )
        .with_path("_id")),
    }
}

async fn after<M: Hooks>(write: &Write, context: &HookContext) -> Result<()> {
    match &write.kind {
        Kind::Insert(document) => {
            let value: M = read(document)?;
            M::after_insert(&value, context).await
        }
        Kind::Replace(document) => {
            let value: M = read(document)?;
            M::after_replace(&value, context).await
        }
        Kind::Update(_) => M::after_update(&UpdateWrite::new(write), context).await,
        Kind::Delete => M::after_delete(&DeleteWrite::new(write), context).await,
    }
}

impl fmt::Debug for HookTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HookTable")
    }
}
