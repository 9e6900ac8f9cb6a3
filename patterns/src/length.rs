//! How long arrays are, as a condition of a write.

use odm::bson::{Document, doc};

use crate::exact;

/// The schema of documents in which the array at a dotted path has at most so many elements, if there is one. What the
/// elements hold says nothing of it, as it would if the place behind the last one were asked for.
pub(crate) fn at_most(path: &str, elements: usize) -> Document {
    let most = i64::try_from(elements).unwrap_or(i64::MAX);
    exact::at(path, doc! { "maxItems": most })
}
