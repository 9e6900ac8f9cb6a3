//! What models declare, as data.

mod index;
mod relation;
mod verify;

pub use self::index::{IndexDeclaration, IndexOrder};
pub use self::relation::{
    DeclaredRelation, InverseDescriptor, NoRelation, RelationDescriptor, RelationKind, RelationProbe,
    model_graph,
};
pub(crate) use self::verify::{names, verify};
use crate::collection::Target;
use crate::model::Model;
use crate::relation::Open;

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
    /// The models whose references to this one have rules for its deletion.
    pub referred_by: &'static [fn() -> &'static ModelDescriptor],
    pub(crate) open: Open,
}

/// A field as declared.
#[derive(Debug)]
#[non_exhaustive]
pub struct FieldDescriptor {
    /// The Rust name.
    pub name: &'static str,
    /// The stored name; empty for a flattened field, whose own fields stand in its place.
    pub stored: &'static str,
    /// Whether serde writes the field but does not read it back.
    pub is_write_only: bool,
    /// What the field refers to, if its type is one of references.
    pub relation: Option<RelationDescriptor>,
}

impl ModelDescriptor {
    /// What a derive found.
    #[doc(hidden)]
    pub const fn new<M: Model>(
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
            referred_by: &[],
            open: Target::sibling::<M>,
        }
    }

    /// The same with the models that refer to it.
    #[doc(hidden)]
    pub const fn referred_by(
        mut self,
        referrers: &'static [fn() -> &'static ModelDescriptor],
    ) -> ModelDescriptor {
        self.referred_by = referrers;
        self
    }

    /// Whether it is the same model: a constant has no address of its own to compare by.
    pub(crate) fn is(&self, other: &ModelDescriptor) -> bool {
        (self.name, self.collection) == (other.name, other.collection)
    }
}

impl FieldDescriptor {
    /// What a derive found.
    #[doc(hidden)]
    pub const fn new(name: &'static str, stored: &'static str) -> FieldDescriptor {
        FieldDescriptor {
            name,
            stored,
            is_write_only: false,
            relation: None,
        }
    }

    /// What a derive found, for a field that is written but not read.
    #[doc(hidden)]
    pub const fn write_only(name: &'static str, stored: &'static str) -> FieldDescriptor {
        FieldDescriptor {
            name,
            stored,
            is_write_only: true,
            relation: None,
        }
    }

    /// The same field with what it refers to.
    #[doc(hidden)]
    pub const fn refers(mut self, relation: Option<RelationDescriptor>) -> FieldDescriptor {
        self.relation = relation;
        self
    }

    /// Whether the field's own fields stand in its place.
    pub const fn is_flattened(&self) -> bool {
        self.stored.is_empty()
    }
}
