//! What a collection holds.

mod key;

use bson::{Bson, Document, RawBson, RawBsonRef, RawDocument, RawDocumentBuf};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec;
use crate::error::Result;
use crate::lifecycle::Plan;
use crate::model::Model;
use crate::schema::{self, ModelDescriptor, names};

/// What a collection holds: the documents of a model, or untyped ones ([`Document`]).
///
/// Every [`Model`] is one; it cannot be implemented otherwise.
pub trait Record: Sized + Send + Sync + 'static {
    /// The type of `_id`.
    type Key: Serialize + DeserializeOwned + Clone + Send + Sync + 'static;

    /// The model's Rust name.
    #[doc(hidden)]
    const MODEL: Option<&'static str>;

    /// What the model declares.
    #[doc(hidden)]
    fn descriptor() -> Option<&'static ModelDescriptor>;

    #[doc(hidden)]
    fn verify() -> Result<()>;

    /// What its writes go through.
    #[doc(hidden)]
    #[expect(private_interfaces, reason = "only this crate implements the trait")]
    fn plan() -> Option<&'static Plan> {
        None
    }

    #[doc(hidden)]
    fn encode(&self) -> Result<RawDocumentBuf>;

    #[doc(hidden)]
    fn decode(document: &RawDocument) -> Result<Self>;

    /// The encoded `_id`, where it has a way of its own to be encoded.
    #[doc(hidden)]
    fn encode_key(key: &Self::Key) -> Option<Result<RawBson>>;

    /// The `_id` from its stored value.
    #[doc(hidden)]
    fn decode_key(key: &Bson) -> Result<Self::Key>;

    /// As [`decode_key`](Record::decode_key), where it is still encoded.
    #[doc(hidden)]
    fn read_key(key: RawBsonRef<'_>) -> Result<Self::Key>;

    /// The `_id` for people, where it has a way of its own to be encoded.
    #[doc(hidden)]
    fn show_key(_key: &Self::Key) -> Option<Result<Bson>> {
        None
    }

    /// The `_id` as people read it, or as it is stored.
    #[doc(hidden)]
    fn parse_key(shown: Bson) -> Result<Self::Key> {
        Self::decode_key(&shown)
    }

    /// The `_id`, given the encoded document that has it.
    #[doc(hidden)]
    fn key_in(&self, encoded: &RawDocument, generated: bool) -> Result<Self::Key>;
}

impl<M: Model> Record for M {
    type Key = M::Key;

    const MODEL: Option<&'static str> = Some(M::DESCRIPTOR.name);

    fn descriptor() -> Option<&'static ModelDescriptor> {
        Some(M::DESCRIPTOR)
    }

    fn verify() -> Result<()> {
        schema::verify::<M>()
    }

    fn encode(&self) -> Result<RawDocumentBuf> {
        codec::encode_document(self).map_err(|error| {
            let id = Self::encode_key(self.key()).unwrap_or_else(|| codec::encode_value(self.key()));
            match id.map(Bson::try_from) {
                Ok(Ok(id)) if id != Bson::Null => error.with_id(id),
                _ => error,
            }
        })
    }

    fn decode(document: &RawDocument) -> Result<M> {
        let mut value: M = match M::LIFECYCLE.versions {
            None => read(document)?,
            Some(versions) => match versions.upgraded(document)? {
                None => read(document)?,
                Some(upgraded) => read(&upgraded)?,
            },
        };
        key::check(&value, document)?;
        if let Some(after_load) = M::AFTER_LOAD {
            after_load(&mut value)?;
        }
        Ok(value)
    }

    #[expect(private_interfaces, reason = "only this crate implements the trait")]
    fn plan() -> Option<&'static Plan> {
        Plan::of::<M>()
    }

    fn encode_key(key: &M::Key) -> Option<Result<RawBson>> {
        M::KEY_CODEC.map(|codec| codec(key))
    }

    fn decode_key(key: &Bson) -> Result<M::Key> {
        Self::read_key(codec::encode_value(key)?.as_raw_bson_ref())
    }

    fn read_key(key: RawBsonRef<'_>) -> Result<M::Key> {
        match M::KEY_READER {
            Some(read) => read(key),
            None => codec::decode_value(key),
        }
    }

    fn show_key(key: &M::Key) -> Option<Result<Bson>> {
        M::KEY_SHOW.map(|show| show(key))
    }

    fn parse_key(shown: Bson) -> Result<M::Key> {
        match M::KEY_PARSE {
            None => Self::decode_key(&shown),
            Some(parse) => parse(shown.clone()).or_else(|error| Self::decode_key(&shown).map_err(|_| error)),
        }
    }

    fn key_in(&self, encoded: &RawDocument, generated: bool) -> Result<M::Key> {
        if generated {
            match encoded.get("_id") {
                Ok(Some(id)) => Self::read_key(id),
                Ok(None) | Err(_) => Self::read_key(RawBsonRef::Null),
            }
        } else {
            Ok(self.key().clone())
        }
    }
}

impl Record for Document {
    type Key = Bson;

    const MODEL: Option<&'static str> = None;

    fn descriptor() -> Option<&'static ModelDescriptor> {
        None
    }

    fn verify() -> Result<()> {
        Ok(())
    }

    fn encode(&self) -> Result<RawDocumentBuf> {
        codec::encode_untyped(self)
    }

    fn decode(document: &RawDocument) -> Result<Document> {
        codec::decode_untyped(document)
    }

    fn encode_key(_key: &Bson) -> Option<Result<RawBson>> {
        None
    }

    fn decode_key(key: &Bson) -> Result<Bson> {
        Ok(key.clone())
    }

    fn read_key(key: RawBsonRef<'_>) -> Result<Bson> {
        codec::decode_untyped_value(key)
    }

    fn key_in(&self, encoded: &RawDocument, _generated: bool) -> Result<Bson> {
        match encoded.get("_id") {
            Ok(Some(id)) => codec::decode_untyped_value(id),
            Ok(None) | Err(_) => Ok(Bson::Null),
        }
    }
}

/// Decodes a document of the model, in its present shape. What the framework keeps beside the model's fields does not
/// get into what takes all other fields.
pub(crate) fn read<M: Model>(document: &RawDocument) -> Result<M> {
    if const { M::DESCRIPTOR.has_flattened() } {
        return read_rest::<M, M>(document);
    }
    codec::decode_document(document)
}

/// How documents are decoded as another type than their model: only one that does not name its fields may get others.
pub(crate) fn projected<D: Record, Q: DeserializeOwned>() -> fn(&RawDocument) -> Result<Q> {
    match names::<Q>() {
        Some(_) => codec::decode_document::<Q>,
        None => read_rest::<D, Q>,
    }
}

/// Decodes a document of the model as a type that may take all fields that it does not name.
pub(crate) fn read_rest<D: Record, Q: DeserializeOwned>(document: &RawDocument) -> Result<Q> {
    match D::plan().and_then(|plan| plan.unmarked(document)) {
        Some(unmarked) => codec::decode_document(&unmarked),
        None => codec::decode_document(document),
    }
}
