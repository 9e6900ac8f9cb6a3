//! What models declare, as data.

/// What a model declares. The derive emits one as a constant.
#[derive(Debug)]
#[non_exhaustive]
pub struct ModelDescriptor {
    /// The Rust name.
    pub name: &'static str,
    /// The collection's name.
    pub collection: &'static str,
}
