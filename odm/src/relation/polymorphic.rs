//! Enums whose variants refer to different collections.

use bson::{Bson, RawBsonRef, RawDocument};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::db_ref::{DbRef, pointer};
use super::delete_rule::ReferredBy;
use super::inverse::LinksTo;
use super::link::{Aim, Link, Open, Pointer};
use super::reference::Ref;
use crate::codec;
use crate::collection::Record;
use crate::collection::Target;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Model;
use crate::schema::ModelDescriptor;

/// An enum of references to different models. Derive it: [`Reference`](macro@crate::Reference).
pub trait ReferenceEnum: Send + Sync + Sized + 'static {
    /// The enum of the models themselves.
    type Document: Send + 'static;

    /// The variants.
    #[doc(hidden)]
    const VARIANTS: &'static [ReferenceVariant<Self>];
}

/// An enum of references of which a variant holds an `R`.
#[doc(hidden)]
pub trait HasVariant<R>: ReferenceEnum {}

#[diagnostic::do_not_recommend]
impl<P: Model, E: HasVariant<Ref<P>>> LinksTo<P> for E {}

/// What a variant holds, whose model names `C` as one that refers.
#[doc(hidden)]
pub trait ReferredVariant<C> {}

impl<C, T: Model + ReferredBy<C>> ReferredVariant<C> for Ref<T> {}

/// A variant that refers to one model.
#[doc(hidden)]
#[derive(Debug)]
pub struct ReferenceVariant<E: ReferenceEnum> {
    model: fn() -> &'static ModelDescriptor,
    open: Open,
    read: fn(Bson, bool) -> Result<E>,
    document: fn(&RawDocument) -> Result<E::Document>,
}

impl<E: ReferenceEnum> ReferenceVariant<E> {
    /// The variant that refers to `T`.
    pub const fn new<T: Model>(
        read: fn(Bson, bool) -> Result<E>,
        document: fn(&RawDocument) -> Result<E::Document>,
    ) -> ReferenceVariant<E> {
        ReferenceVariant {
            model: || T::DESCRIPTOR,
            open: Target::sibling::<T>,
            read,
            document,
        }
    }

    fn of(collection: &str) -> Result<&'static ReferenceVariant<E>> {
        let variant = E::VARIANTS
            .iter()
            .find(|variant| (variant.model)().collection == collection);
        variant.ok_or_else(|| {
            let message = "no variant of the reference is about this collection";
            Error::new(ErrorKind::Decode, message).with_namespace(collection)
        })
    }
}

#[diagnostic::do_not_recommend]
impl<E: ReferenceEnum> Link for E {
    type Document = E::Document;

    fn targets() -> Vec<&'static ModelDescriptor> {
        E::VARIANTS.iter().map(|variant| (variant.model)()).collect()
    }

    fn pointer(value: RawBsonRef<'_>) -> Result<Option<Pointer<'_>>> {
        pointer(value)
    }

    fn aim(collection: Option<&str>) -> Result<Aim> {
        let collection = collection.unwrap_or_default();
        Ok(Aim {
            collection: collection.to_owned(),
            open: ReferenceVariant::<E>::of(collection)?.open,
        })
    }

    fn decode(collection: &str, document: &RawDocument) -> Result<E::Document> {
        (ReferenceVariant::<E>::of(collection)?.document)(document)
    }
}

/// Writes a variant's reference with its collection.
#[doc(hidden)]
pub fn write_variant<T: Model, S: Serializer>(reference: &Ref<T>, serializer: S) -> Result<S::Ok, S::Error> {
    DbRef::<T>::new(T::DESCRIPTOR.collection, reference.key().clone()).serialize(serializer)
}

/// Reads the variant of the stored collection.
#[doc(hidden)]
pub fn read_variant<'de, E: ReferenceEnum, D: Deserializer<'de>>(deserializer: D) -> Result<E, D::Error> {
    let is_readable = deserializer.is_human_readable();
    let stored = DbRef::<bson::Document>::deserialize(deserializer)?;
    ReferenceVariant::<E>::of(stored.collection())
        .and_then(|variant| (variant.read)(stored.id().clone(), is_readable))
        .map_err(serde::de::Error::custom)
}

/// The reference with this `_id`, as it is stored or as people read it.
#[doc(hidden)]
pub fn read_key<T: Model>(id: Bson, is_readable: bool) -> Result<Ref<T>> {
    if is_readable && T::KEY_PARSE.is_some() {
        return <T as Record>::parse_key(id).map(Ref::keyed);
    }
    let id = codec::encode_value(&id)?;
    codec::decode_value(id.as_raw_bson_ref())
}
