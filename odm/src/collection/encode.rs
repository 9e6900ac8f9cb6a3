//! What closures and raw documents become on their way into operations.

use bson::{RawBsonRef, RawDocument, RawDocumentBuf};
use serde::Serialize;

use super::record::Record;
use crate::backend::Modification;
use crate::codec::{self, Raw};
use crate::error::{Error, ErrorKind, Result};
use crate::model::Model;
use crate::query::{BuiltUpdate, Filter, Operand, Update};

/// An update in MongoDB's words: operators (`doc! {"$set": ..}`) or the stages of a pipeline (`[doc! {..}]`).
#[derive(Clone, Debug)]
pub struct RawUpdate {
    stages: Stages,
    array_filters: Vec<Raw>,
}

impl RawUpdate {
    /// An update by operators or by a pipeline.
    pub fn new(update: impl Into<RawUpdate>) -> RawUpdate {
        update.into()
    }

    /// Says which elements `$[name]` stands for: `doc! {"name.grade": {"$gte": 85}}`.
    pub fn array_filter(mut self, filter: impl Into<Raw>) -> RawUpdate {
        self.array_filters.push(filter.into());
        self
    }

    fn of(stages: Stages) -> RawUpdate {
        RawUpdate {
            stages,
            array_filters: Vec::new(),
        }
    }
}

#[derive(Clone, Debug)]
enum Stages {
    Operators(Raw),
    Pipeline(Vec<Raw>),
}

impl<T: Into<Raw>> From<T> for RawUpdate {
    fn from(operators: T) -> RawUpdate {
        RawUpdate::of(Stages::Operators(operators.into()))
    }
}

impl<T: Into<Raw>> From<Vec<T>> for RawUpdate {
    fn from(stages: Vec<T>) -> RawUpdate {
        RawUpdate::of(Stages::Pipeline(stages.into_iter().map(Into::into).collect()))
    }
}

impl<T: Into<Raw>, const N: usize> From<[T; N]> for RawUpdate {
    fn from(stages: [T; N]) -> RawUpdate {
        RawUpdate::of(Stages::Pipeline(stages.into_iter().map(Into::into).collect()))
    }
}

pub(crate) fn raw(document: impl Into<Raw>) -> Result<RawDocumentBuf> {
    document.into().into_document()
}

pub(crate) fn filter<M: Model>(filter: impl FnOnce(M::Fields<M>) -> Filter<M>) -> Result<RawDocumentBuf> {
    filter(M::fields()).to_document()
}

/// A filter of documents that change.
pub(crate) struct Asked {
    pub(crate) filter: RawDocumentBuf,
    /// The arrays in whose place an upsert would store what an element is equal to.
    pub(crate) seeded_arrays: Vec<String>,
}

impl From<RawDocumentBuf> for Asked {
    fn from(filter: RawDocumentBuf) -> Asked {
        Asked {
            filter,
            seeded_arrays: Vec::new(),
        }
    }
}

pub(crate) fn asked<M: Model>(filter: impl FnOnce(M::Fields<M>) -> Filter<M>) -> Result<Asked> {
    let filter = filter(M::fields());
    Ok(Asked {
        filter: filter.to_document()?,
        seeded_arrays: filter.seeded_arrays(),
    })
}

pub(crate) fn update<M: Model>(update: impl FnOnce(M::Fields<M>) -> Update<M>) -> Result<BuiltUpdate> {
    update(M::fields()).build()
}

pub(crate) fn raw_update(update: RawUpdate) -> Result<BuiltUpdate> {
    let modification = match update.stages {
        Stages::Operators(operators) => Modification::Operators(operators_only(operators.into_document()?)?),
        Stages::Pipeline(stages) => {
            let stages = stages.into_iter().map(Raw::into_document);
            Modification::Pipeline(stages.collect::<Result<_>>()?)
        }
    };
    let array_filters = update.array_filters.into_iter().map(Raw::into_document);
    Ok(BuiltUpdate::new(
        modification,
        array_filters.collect::<Result<_>>()?,
    ))
}

pub(crate) fn replacement<D: Record>(document: &D) -> Result<BuiltUpdate> {
    Ok(replacement_of(document.encode()?))
}

pub(crate) fn replacement_of(document: RawDocumentBuf) -> BuiltUpdate {
    BuiltUpdate::new(Modification::Replacement(document), Vec::new())
}

/// The filter for a document's `_id`, and the update that puts the document in its place.
pub(crate) fn in_its_place<D: Record>(document: &D) -> (Result<RawDocumentBuf>, Result<BuiltUpdate>) {
    let document = document.encode();
    let filter = document
        .as_ref()
        .map_err(Clone::clone)
        .and_then(|document| by_id_of(document));
    (filter, document.map(replacement_of))
}

/// The filter for the `_id` that an encoded document has.
pub(crate) fn by_id_of(document: &RawDocument) -> Result<RawDocumentBuf> {
    match document.get("_id") {
        Ok(Some(id)) => Ok(by_id(id)),
        Ok(None) => Err(Error::new(
            ErrorKind::InvalidArgument,
            "the document has no `_id` to find it by",
        )),
        Err(error) => Err(Error::new(ErrorKind::Encode, "the document is malformed").with_source(error)),
    }
}

/// The filter for one `_id`.
pub(crate) fn by_key<D: Record>(key: &D::Key) -> Result<RawDocumentBuf> {
    #[derive(Serialize)]
    struct ById<'a, K> {
        #[serde(rename = "_id")]
        id: &'a K,
    }
    if let Some(value) = D::encode_key(key) {
        return Ok(by_id(value?.as_raw_bson_ref()));
    }
    let filter = codec::encode_document(&ById { id: key })?;
    match filter.get("_id") {
        Ok(Some(id)) if is_operator(id) => Ok(by_id(id)),
        _ => Ok(filter),
    }
}

/// The filter for several `_id`s.
pub(crate) fn by_keys<D: Record, K: Operand<D::Key>>(
    keys: impl IntoIterator<Item = K>,
) -> Result<RawDocumentBuf> {
    let mut array = bson::RawArrayBuf::new();
    for key in keys {
        array.push(key.with_operand(|key| match D::encode_key(key) {
            Some(value) => value,
            None => codec::encode_value(key),
        })?);
    }
    let mut condition = RawDocumentBuf::new();
    condition.append(bson::cstr!("$in"), array);
    let mut filter = RawDocumentBuf::new();
    filter.append(bson::cstr!("_id"), condition);
    Ok(filter)
}

fn by_id(id: RawBsonRef<'_>) -> RawDocumentBuf {
    let mut filter = RawDocumentBuf::new();
    if is_operator(id) {
        let mut equal = RawDocumentBuf::new();
        equal.append(bson::cstr!("$eq"), id);
        filter.append(bson::cstr!("_id"), equal);
    } else {
        filter.append(bson::cstr!("_id"), id);
    }
    filter
}

/// Whether a filter would take the value for an operator instead of comparing with it.
fn is_operator(id: RawBsonRef<'_>) -> bool {
    matches!(id, RawBsonRef::Document(_) | RawBsonRef::RegularExpression(_))
}

fn operators_only(update: RawDocumentBuf) -> Result<RawDocumentBuf> {
    let first = update.iter().next();
    match first {
        Some(Ok((name, _))) if name.as_str().starts_with('$') => Ok(update),
        Some(Ok(_)) => Err(Error::new(
            ErrorKind::InvalidArgument,
            "an update must consist of operators such as `$set`; to replace the document, use `replace_one`",
        )),
        Some(Err(error)) => {
            Err(Error::new(ErrorKind::InvalidArgument, "the update is malformed").with_source(error))
        }
        None => Err(Error::new(ErrorKind::InvalidArgument, "the update is empty")),
    }
}
