//! The different values of a field.

use std::fmt;
use std::marker::PhantomData;

use bson::{RawBsonRef, RawDocumentBuf};
use serde::de::DeserializeOwned;

use super::setters::{runs, setters};
use super::whose::{Narrowed, Related};
use super::{Draft, Explain};
use crate::backend::{self, Operation, ReadOptions};
use crate::codec::{self, Raw};
use crate::collection::{Target, encode};
use crate::error::Result;
use crate::model::Model;
use crate::query::Filter;

/// The different values of a field, in no order that is promised. An array counts as each of its elements;
/// a missing field as nothing. One round trip; the answer is one message, so at most 16 MiB.
#[must_use = "an action does nothing until it is awaited"]
pub struct Distinct<D, T> {
    draft: Draft<backend::Distinct>,
    /// How the field's own codec reads values.
    reader: Option<fn(RawBsonRef<'_>) -> Result<T>>,
    marker: PhantomData<fn() -> (D, T)>,
}

impl<D, T> Distinct<D, T> {
    pub(crate) fn new(target: &Target, key: String) -> Distinct<D, T> {
        let operation = backend::Distinct {
            namespace: target.namespace().clone(),
            key,
            filter: RawDocumentBuf::new(),
            options: ReadOptions::default(),
        };
        Distinct {
            draft: Draft::new(target, operation),
            reader: None,
            marker: PhantomData,
        }
    }

    pub(crate) fn reading(mut self, reader: Option<fn(RawBsonRef<'_>) -> Result<T>>) -> Distinct<D, T> {
        self.reader = reader;
        self
    }

    /// Decodes the values as another type: `distinct(|b| b.authors).values::<String>()` for a field that is an
    /// array of strings.
    pub fn values<U>(self) -> Distinct<D, U> {
        Distinct {
            draft: self.draft,
            reader: None,
            marker: PhantomData,
        }
    }

    /// Only in the documents that match, in MongoDB's words.
    pub fn filter_raw(mut self, filter: impl Into<Raw>) -> Self {
        if let Some(filter) = self.draft.keep(encode::raw(filter)) {
            self.draft.operation.filter = filter;
        }
        self
    }

    /// How the values would be found.
    pub fn explain(self) -> Explain {
        Explain::new(self.draft.map(Operation::Distinct))
    }
}

impl<M: Model, T> Distinct<M, T> {
    /// Only in the documents that match.
    pub fn filter(mut self, filter: impl FnOnce(M::Fields<M>) -> Filter<M>) -> Self {
        let filter = filter(M::fields()).to_document();
        if let Some(filter) = self.draft.keep(filter) {
            self.draft.operation.filter = filter;
        }
        self
    }
}

impl<D, T: DeserializeOwned> Distinct<D, T> {
    async fn run(self) -> Result<Vec<T>> {
        let path = self.draft.operation.key.clone();
        let (target, operation) = self.draft.asked().await?;
        let answer = target.execute(operation).await?;
        let values = answer.values()?;
        let decode = |value: &bson::RawBson| {
            let value = value.as_raw_bson_ref();
            self.reader
                .map_or_else(|| codec::decode_value(value), |read| read(value))
                .map_err(|error| target.explain(error.with_path(path.as_str()), "distinct"))
        };
        values.iter().map(decode).collect()
    }
}

setters!([D, T] Distinct<D, T>: hint, comment, max_time, collation, scope);
runs!([D: 'static, T: DeserializeOwned + Send + 'static] Distinct<D, T> => Vec<T>);

impl<D, T> Narrowed for Distinct<D, T> {
    fn related(&mut self) -> &mut Option<Box<Related>> {
        &mut self.draft.related
    }
}

impl<D, T> fmt::Debug for Distinct<D, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Distinct").field(&self.draft).finish()
    }
}
