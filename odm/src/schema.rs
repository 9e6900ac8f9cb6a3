//! What models declare, as data.

mod index;
mod verify;

pub use self::index::{IndexDeclaration, IndexOrder};
pub(crate) use self::verify::{names, verify};

/// What a model declares. The derive emits one as a constant.
#[derive(Debug)]
#[non_exhaustive]
pub struct ModelDescriptor {
    /// The Rust name.
    pub name: &'static str,
    /// The collection's name.
    pub collection: &'static str,
    /// The fields in declaration order, without skipped ones.
    pub fields: &'static [FieldDescriptor],
    /// Makes the declared indexes, fields' own first.
    pub indexes: fn() -> Vec<IndexDeclaration>,
}

/// A field as declared.
#[derive(Debug)]
#[non_exhaustive]
pub struct FieldDescriptor {
    /// The Rust name.
    pub name: &'static str,
    /// The stored name; empty for a flattened field, whose own fields stand in its place.
    pub stored: &'static str,
}

impl ModelDescriptor {
    /// What a derive found.
    #[doc(hidden)]
    pub const fn new(
        name: &'static str,
        collection: &'static str,
        fields: &'static [FieldDescriptor],
        indexes: fn() -> Vec<IndexDeclaration>,
    ) -> ModelDescriptor {
        ModelDescriptor {
            name,
            collection,
            fields,
            indexes,
        }
    }
}

impl FieldDescriptor {
    /// What a derive found.
    #[doc(hidden)]
    pub const fn new(name: &'static str, stored: &'static str) -> FieldDescriptor {
        FieldDescriptor { name, stored }
    }

    /// Whether the field's own fields stand in its place.
    pub const fn is_flattened(&self) -> bool {
        self.stored.is_empty()
    }
}
