//! Models, embedded documents and their fields.

mod embedded;
mod field;
mod field_type;
mod id;
mod key;
mod kind;
mod lazy;
mod newtype;
mod of_types;
mod path;
mod scalar;
mod tenant_type;
mod variant;
mod with;

pub use self::embedded::{Embedded, Stored};
pub use self::field::{Codec, Field};
pub use self::field_type::{FieldType, Handle};
pub use self::id::Id;
pub use self::key::IdType;
pub use self::kind::{ArrayType, Date, MapKey, MapType, Newtype, Numeric, Ordered, Text};
pub use self::lazy::Lazy;
pub(crate) use self::of_types::OfTypes;
pub use self::path::{ArrayCondition, Base, Path, Segment};
pub use self::tenant_type::TenantType;
pub use self::variant::{Variant, VariantTest};
pub use self::with::{SerializeWith, encode_with, parse_shown, show_with};

use crate::error::Result;
use crate::lifecycle::{Lifecycle, schema_of};
use crate::schema::ModelDescriptor;

/// How a key is decoded when serde is told to do it in its own way.
#[doc(hidden)]
pub type KeyReader<K> = fn(bson::RawBsonRef<'_>) -> crate::error::Result<K>;

/// How a key is written in formats for people. Hidden: the derive's own.
#[doc(hidden)]
pub type KeyShow<K> = fn(&K) -> crate::error::Result<bson::Bson>;

/// How a key is read from formats for people. Hidden: the derive's own.
#[doc(hidden)]
pub type KeyParse<K> = fn(bson::Bson) -> crate::error::Result<K>;

/// A type whose values are the documents of a collection. Derive it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a model",
    label = "not a model",
    note = "derive it: `#[derive(Serialize, Deserialize, odm::Model)]`"
)]
pub trait Model: Embedded + Send + Sync + 'static {
    /// The type of `_id`.
    type Key: serde::Serialize + serde::de::DeserializeOwned + Clone + Send + Sync + 'static;

    /// What was declared: names, fields, indexes.
    const DESCRIPTOR: &'static ModelDescriptor;

    /// How `_id` is encoded, if not by its own `Serialize` (`#[serde(with = ..)]`).
    const KEY_CODEC: Option<Codec<Self::Key>> = None;

    /// How `_id` is decoded, if not by its own `Deserialize`.
    #[doc(hidden)]
    const KEY_READER: Option<KeyReader<Self::Key>> = None;

    /// How `_id` is written in formats for people, if not by its own `Serialize`.
    #[doc(hidden)]
    const KEY_SHOW: Option<KeyShow<Self::Key>> = None;

    /// How `_id` is read from formats for people, if not by its own `Deserialize`.
    #[doc(hidden)]
    const KEY_PARSE: Option<KeyParse<Self::Key>> = None;

    /// What is declared of the life of the documents: dates, version, soft deletion, hooks.
    #[doc(hidden)]
    const LIFECYCLE: Lifecycle = Lifecycle::NONE;

    /// What happens to a document that was read.
    #[doc(hidden)]
    const AFTER_LOAD: Option<fn(&mut Self) -> Result<()>> = None;

    /// The value of `_id`.
    fn key(&self) -> &Self::Key;

    /// The fields, rooted in this model: what closures such as `|b| b.title.eq("Ulysses")` get.
    fn fields() -> Self::Fields<Self> {
        Self::fields_at(Path::root())
    }

    /// The field of `_id`, for code that is generic over the model: `M::key_field().eq(document.key())`.
    ///
    /// ```
    /// use odm::{Filter, Model};
    ///
    /// fn same<M: Model>(document: &M) -> Filter<M> {
    ///     M::key_field().eq(document.key())
    /// }
    /// ```
    fn key_field() -> Field<Self, Self::Key> {
        let path = Path::root().child("_id");
        let field = match Self::KEY_CODEC {
            Some(codec) => Field::with_codec(path, codec),
            None => Field::new(path),
        };
        match Self::KEY_READER {
            Some(reader) => field.reading(reader),
            None => field,
        }
    }

    /// The stored name of the field with the document's version (`#[odm(version)]`), where there is one.
    fn version_field() -> Option<&'static str> {
        Self::LIFECYCLE.version_name()
    }

    /// The stored name of the field with the date of the last change (`#[odm(updated)]`), where there is one.
    ///
    /// ```
    /// use odm::{Model, bson::DateTime};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize, odm::Model)]
    /// struct Page {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     #[odm(updated)]
    ///     changed: DateTime,
    /// }
    ///
    /// assert_eq!(Page::updated_field(), Some("changed"));
    /// ```
    fn updated_field() -> Option<&'static str> {
        Self::LIFECYCLE.updated_name()
    }

    /// The stored name of the field that says whose a document is (`#[odm(tenant)]`), where there is one.
    fn tenant_field() -> Option<&'static str> {
        Self::LIFECYCLE.tenant_name()
    }

    /// The declared rules as MongoDB's `$jsonSchema`, for the collection's validator: see
    /// [`CreateCollection::validated`](crate::action::CreateCollection::validated). Custom functions have no place in
    /// it.
    ///
    /// ```
    /// use odm::{Model, bson::doc};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize, odm::Model)]
    /// struct Book {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     #[odm(validate(min = 1))]
    ///     pages: i32,
    /// }
    ///
    /// let expected = doc! { "bsonType": "object", "properties": { "pages": { "minimum": 1 } } };
    /// assert_eq!(Book::json_schema(), expected);
    /// ```
    fn json_schema() -> bson::Document {
        schema_of(Self::declared())
    }
}
