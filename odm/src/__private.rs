//! What the derives' code names. Not part of the public API.

pub use std::marker::PhantomData;
pub use std::ops::Deref;
pub use std::option::Option;
pub use std::result::Result as StdResult;
pub use std::string::String;
pub use std::vec::Vec;

pub use serde::Serializer;

pub use crate::lifecycle::{
    Declare, Declared, Deletion, HookTable, Hooks, KindOf, Lifecycle, Literal, OfAny, OfArray,
    OfArrayOfArrays, OfField, OfMap, OfMapOfArrays, OfMapOfMaps, OfMapOfMapsOfMaps, OfMapOfMapsOfUntyped,
    OfMapOfUntyped, OfUntyped, Probe, Rule, Save, Timestamp, Version, Versions, checked, deletion, scope_of,
    stamp, stamp_with, tenant, tenant_opaque, tenant_with,
};
pub use crate::model::{
    Base, Codec, Embedded, Field, FieldType, Handle, IdType, KeyParse, KeyReader, KeyShow, Model, Newtype,
    Path, SerializeWith, Stored, TenantType, Variant, VariantTest, encode_with, parse_shown, show_with,
};
pub use crate::relation::{
    CopyDeclaration, CopyOf, HasMany, HasOne, HasVariant, Link, LinkedReference, LinksTo, NamedLink, Ref,
    Reference, ReferenceEnum, ReferenceKey, ReferenceVariant, ReferredBy, ReferredVariant, RuledLink,
    Searchable, TwoWayReference, link_element, partner, read_key, read_variant, write_variant,
};
pub use crate::schema::{
    FieldDescriptor, IndexDeclaration, KindDescriptor, ModelDescriptor, NoRelation, ReferenceDeclaration,
    RelationDescriptor, RelationProbe,
};
pub use serde::{Deserialize, Deserializer, Serialize};

pub use crate::error::Result as OdmResult;
pub use crate::model::{ArrayType, MapType};
pub use crate::{__declare as declare, __probe as probe};

/// The handle of a field of type `T`.
pub type At<T, R> = <T as FieldType>::Handle<R>;

/// The handle of the field with this stored name.
pub fn at<H: Handle>(base: &Base, name: &'static str) -> H {
    H::at(base.child(name))
}

/// The document of a model, as a variant of an enum of references loads it.
///
/// # Errors
/// As decoding any document.
pub fn decode<T: Model>(stored: &bson::RawDocument) -> crate::Result<T> {
    <T as crate::collection::Record>::decode(stored)
}

/// Decodes one value.
///
/// # Errors
/// As decoding any value.
pub fn read<T: serde::de::DeserializeOwned>(value: bson::RawBsonRef<'_>) -> crate::Result<T> {
    crate::codec::decode_value(value)
}

/// Decodes a document of any type, from its own bytes: nothing is copied.
///
/// # Errors
/// As decoding any document.
pub fn read_document<T: serde::de::DeserializeOwned>(stored: &bson::RawDocument) -> crate::Result<T> {
    crate::codec::decode_document(stored)
}

/// The value of `_id`, whose type must be able to be one.
pub fn key<T: IdType>(key: &T) -> &T {
    key
}

/// What a model is beside its fields.
pub trait ModelBounds: Send + Sync + 'static {}
impl<T: Send + Sync + 'static> ModelBounds for T {}

/// What an `_id` is.
pub trait KeyBounds: Stored + Clone + Send + Sync + 'static {}
impl<T: Stored + Clone + Send + Sync + 'static> KeyBounds for T {}

/// What is declared of a type.
#[doc(hidden)]
#[macro_export]
macro_rules! __probe {
    ($type:ty) => {{
        #[allow(unused_imports)]
        use $crate::__private::{
            OfAny, OfArray, OfArrayOfArrays, OfField, OfMap, OfMapOfArrays, OfMapOfMaps, OfMapOfMapsOfMaps,
            OfMapOfMapsOfUntyped, OfMapOfUntyped, OfUntyped,
        };
        (&&&&&&&&&&$crate::__private::Probe::<$type>::NEW).declared()
    }};
}

/// What is declared of a field.
#[doc(hidden)]
#[macro_export]
macro_rules! __declare {
    ($name:literal, $type:ty) => {
        $crate::__private::Declare::new($name, || $crate::__probe!($type))
    };
}
