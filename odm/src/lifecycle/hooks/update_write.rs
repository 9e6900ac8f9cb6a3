//! Updates and deletions as hooks see them.

use std::fmt;
use std::marker::PhantomData;

use bson::{RawDocument, RawDocumentBuf};
use serde::de::DeserializeOwned;

use crate::codec;
use crate::error::{Error, Result};
use crate::lifecycle::document;
use crate::lifecycle::write::{Kind, Write};
use crate::model::{Field, Model};
use crate::query::update::{Action, Form};
use crate::query::{Filter, Update};

/// An update of one document or many, which a hook can look at and add to.
pub struct UpdateWrite<M> {
    filter: RawDocumentBuf,
    form: Form,
    many: bool,
    upsert: bool,
    marker: PhantomData<fn() -> M>,
}

impl<M: Model> UpdateWrite<M> {
    pub(crate) fn new(write: &Write) -> UpdateWrite<M> {
        let form = match &write.kind {
            Kind::Update(form) => form.clone(),
            _ => Form::none(),
        };
        UpdateWrite {
            filter: write.filter.clone(),
            form,
            many: write.multi,
            upsert: write.upsert,
            marker: PhantomData,
        }
    }

    pub(crate) fn put_into(self, write: &mut Write) {
        write.filter = self.filter;
        write.kind = Kind::Update(self.form);
    }

    /// Which documents.
    pub fn filter(&self) -> &RawDocument {
        &self.filter
    }

    /// Whether every document that matches changes, or the first.
    pub fn is_many(&self) -> bool {
        self.many
    }

    /// Whether a document is inserted when none matches.
    pub fn is_upsert(&self) -> bool {
        self.upsert
    }

    /// Whether this is an update by a pipeline, of which nothing more can be told, and to which no changes of fields
    /// can be added.
    pub fn is_pipeline(&self) -> bool {
        matches!(self.form, Form::Pipeline(_))
    }

    /// Adds to the update.
    ///
    /// What is added is held to the model's rules and bounds as the update itself is.
    ///
    /// # Errors
    /// `InvalidArgument` when it is an update by a pipeline; as building the update. The update stays as it was.
    pub fn add(&mut self, update: impl FnOnce(M::Fields<M>) -> Update<M>) -> Result<()> {
        let more = update(M::fields()).into_form()?;
        self.form = self.form.clone().and(more)?.reread()?;
        Ok(())
    }

    /// Lets the update be only of documents that match this as well.
    ///
    /// # Errors
    /// As building the filter.
    pub fn narrow(&mut self, filter: impl FnOnce(M::Fields<M>) -> Filter<M>) -> Result<()> {
        let condition = filter(M::fields()).to_document()?;
        self.filter = document::narrowed(&self.filter, &condition)?;
        Ok(())
    }

    /// Whether a field, or something inside it, is changed; always so by a pipeline.
    pub fn touches<T>(&self, field: impl FnOnce(M::Fields<M>) -> Field<M, T>) -> bool {
        let path = field(M::fields()).path().to_string();
        match &self.form {
            Form::Pipeline(_) => true,
            Form::Changes { changes, .. } => changes.iter().any(|change| {
                let changed = change.path.to_string();
                let inside = |outer: &str, inner: &str| {
                    inner
                        .strip_prefix(outer)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                };
                inside(&path, &changed) || inside(&changed, &path)
            }),
        }
    }

    /// The value that a field is set to, if it is.
    ///
    /// # Errors
    /// `Decode` when the value does not fit the type.
    pub fn set_value<T: DeserializeOwned>(
        &self,
        field: impl FnOnce(M::Fields<M>) -> Field<M, T>,
    ) -> Result<Option<T>> {
        let path = field(M::fields()).path().to_string();
        let Form::Changes { changes, .. } = &self.form else {
            return Ok(None);
        };
        let set = changes.iter().find_map(|change| match &change.action {
            Action::Set(value) if change.path.to_string() == path => Some(value),
            _ => None,
        });
        set.map(|value| codec::decode_value(value.as_raw_bson_ref()))
            .transpose()
            .map_err(|error: Error| error.with_path(path))
    }
}

impl<M> fmt::Debug for UpdateWrite<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpdateWrite")
            .field("filter", &self.filter)
            .field("form", &self.form)
            .field("many", &self.many)
            .field("upsert", &self.upsert)
            .finish()
    }
}

/// A deletion of one document or many, which a hook can look at and narrow.
pub struct DeleteWrite<M> {
    filter: RawDocumentBuf,
    many: bool,
    marker: PhantomData<fn() -> M>,
}

impl<M: Model> DeleteWrite<M> {
    pub(crate) fn new(write: &Write) -> DeleteWrite<M> {
        DeleteWrite {
            filter: write.filter.clone(),
            many: write.multi,
            marker: PhantomData,
        }
    }

    pub(crate) fn put_into(self, write: &mut Write) {
        write.filter = self.filter;
    }

    /// Which documents.
    pub fn filter(&self) -> &RawDocument {
        &self.filter
    }

    /// Whether every document that matches goes, or the first.
    pub fn is_many(&self) -> bool {
        self.many
    }

    /// Lets only documents go that match this as well.
    ///
    /// # Errors
    /// As building the filter.
    pub fn narrow(&mut self, filter: impl FnOnce(M::Fields<M>) -> Filter<M>) -> Result<()> {
        let condition = filter(M::fields()).to_document()?;
        self.filter = document::narrowed(&self.filter, &condition)?;
        Ok(())
    }
}

impl<M> fmt::Debug for DeleteWrite<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeleteWrite")
            .field("filter", &self.filter)
            .field("many", &self.many)
            .finish()
    }
}
