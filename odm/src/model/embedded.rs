//! Nested documents.

use super::field_type::{FieldType, Handle};
use super::path::Path;

/// A type with named fields, stored as a document. Derive it.
///
/// The derive also accepts newtypes and enums without data. They are stored as plain values, so they become
/// [`FieldType`]s (and [`Newtype`](super::Newtype)s) but have no fields of their own.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an embedded document",
    label = "has no fields to reach into",
    note = "derive it: `#[derive(Serialize, Deserialize, odm::Embedded)]`"
)]
pub trait Embedded: FieldType + Stored {
    /// The fields, rooted at `R`.
    type Fields<R>: Handle;

    /// The fields under `path`.
    fn fields_at<R>(path: Path) -> Self::Fields<R> {
        Handle::at(path)
    }
}

/// A type that serde writes and reads: every type that derives `serde::Serialize` and `serde::Deserialize`.
#[diagnostic::on_unimplemented(
    message = "serde does not write and read `{Self}`",
    label = "cannot be stored without serde",
    note = "derive both: `#[derive(serde::Serialize, serde::Deserialize)]`"
)]
pub trait Stored: serde::Serialize + serde::de::DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: serde::Serialize + serde::de::DeserializeOwned> Stored for T {}
