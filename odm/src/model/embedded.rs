//! Nested documents.

use super::path::Path;

/// A type with named fields, stored as a document (or a value, for newtypes and unit enums). Derive it.
pub trait Embedded: serde::Serialize + serde::de::DeserializeOwned + Sized {
    /// The fields, rooted at `R`.
    type Fields<R>;

    /// The fields under `path`.
    fn fields_at<R>(path: Path) -> Self::Fields<R>;
}
