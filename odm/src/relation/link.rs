//! What one stored reference says: which collection, which key.

use bson::{RawBsonRef, RawDocument};

use super::key::ReferenceKey;
use super::reference::Ref;
use crate::backend::Namespace;
use crate::collection::{Record, Target};
use crate::error::Result;
use crate::model::Model;
use crate::schema::ModelDescriptor;

/// A type whose values refer to one document each: [`Ref`], [`DbRef`](crate::DbRef), and enums that derive
/// [`Reference`](macro@crate::Reference).
#[diagnostic::on_unimplemented(
    message = "`{Self}` refers to no other document",
    label = "not a reference",
    note = "a `Ref<T>`, a `DbRef<T>` or an enum that derives `odm::Reference` is one"
)]
pub trait Link: Send + Sync + 'static {
    /// What is loaded.
    type Document: Send + 'static;

    /// Whether a stored reference names its collection.
    #[doc(hidden)]
    const NAMED: bool = true;

    /// The models that values can refer to; none when any.
    fn targets() -> Vec<&'static ModelDescriptor>;

    /// The stored field of the targets whose value is the key.
    #[doc(hidden)]
    fn key_path() -> String {
        "_id".to_owned()
    }

    /// What a stored value says; nothing for null.
    #[doc(hidden)]
    fn pointer(value: RawBsonRef<'_>) -> Result<Option<Pointer<'_>>>;

    /// Where documents of this collection are; of the only target's, when the value names none.
    #[doc(hidden)]
    fn aim(collection: Option<&str>) -> Result<Aim>;

    /// Decodes a loaded document of this collection.
    #[doc(hidden)]
    fn decode(collection: &str, document: &RawDocument) -> Result<Self::Document>;
}

/// A stored reference taken apart.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Pointer<'a> {
    pub(crate) database: Option<&'a str>,
    pub(crate) collection: Option<&'a str>,
    pub(crate) key: RawBsonRef<'a>,
}

impl Pointer<'_> {
    /// Whether the reference leads there; one that names nothing leads anywhere.
    pub(super) fn leads_to(&self, place: &Namespace) -> bool {
        self.collection
            .is_none_or(|collection| collection == place.collection)
            && self.database.is_none_or(|database| database == place.database)
    }
}

/// A collection to look in, and how to get there.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Aim {
    pub(crate) collection: String,
    pub(crate) open: Open,
}

/// Makes a collection beside another one.
pub(crate) type Open = fn(&Target, Option<&str>, &str) -> Result<Target>;

impl<T: Model, K: ReferenceKey<T>> Link for Ref<T, K> {
    type Document = T;

    const NAMED: bool = false;

    fn targets() -> Vec<&'static ModelDescriptor> {
        vec![T::DESCRIPTOR]
    }

    fn key_path() -> String {
        K::path().to_string()
    }

    fn pointer(value: RawBsonRef<'_>) -> Result<Option<Pointer<'_>>> {
        Ok(match value {
            RawBsonRef::Null => None,
            key => Some(Pointer {
                database: None,
                collection: None,
                key,
            }),
        })
    }

    fn aim(_collection: Option<&str>) -> Result<Aim> {
        Ok(Aim {
            collection: T::DESCRIPTOR.collection.to_owned(),
            open: Target::sibling::<T>,
        })
    }

    fn decode(_collection: &str, document: &RawDocument) -> Result<T> {
        <T as Record>::decode(document)
    }
}
