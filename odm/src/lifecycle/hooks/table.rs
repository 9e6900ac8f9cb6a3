//! The hooks of a model for code that does not know the model.

use std::fmt;

use bson::{RawDocument, RawDocumentBuf};
use futures_core::future::BoxFuture;

use super::update_write::{DeleteWrite, UpdateWrite};
use super::{HookContext, Hooks};
use crate::codec;
use crate::collection::read;
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::document::{with_field, without};
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
            M::before_insert(&mut value, context).await?;
            *document = encoded(&value, document)?;
        }
        Kind::Replace(document) => {
            let mut value: M = read(document)?;
            M::before_replace(&mut value, context).await?;
            *document = with_unknown::<M>(encoded(&value, document)?, document)?;
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

/// The document as the hook left it, with the fields from before that the model does not know: what was stored may have
/// them.
fn with_unknown<M: Hooks>(after: RawDocumentBuf, before: &RawDocument) -> Result<RawDocumentBuf> {
    if before
        .iter()
        .flatten()
        .map(|(name, _)| name)
        .eq(after.iter().flatten().map(|(name, _)| name))
    {
        return Ok(after);
    }
    let known = codec::encode_document(&read::<M>(before)?)?;
    let mut document = before.to_owned();
    for (name, value) in after.iter().flatten() {
        if known.get(name).ok().flatten() != Some(value) {
            document = with_field(&document, name.as_str(), value.into())?;
        }
    }
    for (name, _) in known.iter().flatten() {
        if matches!(after.get(name), Ok(None)) {
            document = without(&document, name.as_str());
        }
    }
    Ok(document)
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
