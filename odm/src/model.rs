//! Models, embedded documents and their fields.

mod embedded;
mod field;
mod id;
mod path;

pub use self::embedded::Embedded;
pub use self::field::{Codec, Field, FieldType};
pub use self::id::Id;
pub use self::path::{Path, Segment};

use crate::schema::ModelDescriptor;

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

    /// The value of `_id`.
    fn key(&self) -> &Self::Key;
}
