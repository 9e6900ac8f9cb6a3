//! Which fields of a model refer to which models.

use super::ModelDescriptor;
use super::nested_relations::nested_relations;
use crate::error::Result;
use crate::model::Model;
use crate::relation::{
    Aim, DeleteRule, Link, Links, NullableReference, Reference, ReferenceList, ReferredBy, RuledReference,
    links,
};

/// What a field refers to. Part of its [`FieldDescriptor`](crate::FieldDescriptor).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RelationDescriptor {
    /// How many documents the field can refer to.
    pub kind: RelationKind,
    /// The models that it can refer to; none when any. A function, because models may refer to each other.
    pub targets: fn() -> Vec<&'static ModelDescriptor>,
    /// The stored field of the targets whose value a reference holds, mostly `_id`.
    pub by: fn() -> String,
    /// The inverse that is declared on the field.
    pub inverse: Option<InverseDescriptor>,
    /// What becomes of the document when one that it refers to is deleted.
    pub on_delete: Option<DeleteRule>,
    /// The stored field of the target that refers back, as a path.
    pub two_way: Option<fn() -> String>,
    pub(crate) links: Links,
    pub(crate) aim: fn(Option<&str>) -> Result<Aim>,
}

/// An inverse as declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InverseDescriptor {
    /// The name of the function that makes it.
    pub name: &'static str,
    /// Whether at most one document refers.
    pub one: bool,
}

/// How many documents a field can refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RelationKind {
    /// One, or none.
    One,
    /// A list of them.
    Many,
    /// One for each key of a map.
    Map,
}

/// A relation with where it stands.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct DeclaredRelation {
    /// The model.
    pub model: &'static ModelDescriptor,
    /// The field's Rust name; of a field in an embedded document its stored path.
    pub field: &'static str,
    /// The field's stored name, or its path; empty for a flattened one.
    pub stored: &'static str,
    /// What it refers to.
    pub relation: RelationDescriptor,
}

impl RelationDescriptor {
    /// What a field of the type refers to.
    #[doc(hidden)]
    pub const fn of<X: Reference>() -> RelationDescriptor {
        RelationDescriptor {
            kind: X::KIND,
            targets: <X::Link as Link>::targets,
            by: <X::Link as Link>::key_path,
            inverse: None,
            on_delete: None,
            two_way: None,
            links: links::<X>(),
            aim: <X::Link as Link>::aim,
        }
    }

    /// The document of `C` is deleted with what it refers to.
    #[doc(hidden)]
    pub const fn cascade<X: RuledReference, C>(self) -> RelationDescriptor
    where
        X::Target: ReferredBy<C>,
    {
        self.on_delete(DeleteRule::Cascade)
    }

    /// The reference of the document of `C` becomes null.
    #[doc(hidden)]
    pub const fn nullify<X: NullableReference, C>(self) -> RelationDescriptor
    where
        X::Target: ReferredBy<C>,
    {
        self.on_delete(DeleteRule::Nullify)
    }

    /// The reference is taken out of the list in the document of `C`.
    #[doc(hidden)]
    pub const fn pull<X: ReferenceList, C>(self) -> RelationDescriptor
    where
        X::Target: ReferredBy<C>,
    {
        self.on_delete(DeleteRule::Pull)
    }

    /// What the document of `C` refers to cannot be deleted.
    #[doc(hidden)]
    pub const fn deny<X: RuledReference, C>(self) -> RelationDescriptor
    where
        X::Target: ReferredBy<C>,
    {
        self.on_delete(DeleteRule::Deny)
    }

    /// The same with the field that refers back.
    #[doc(hidden)]
    pub const fn two_way(mut self, partner: fn() -> String) -> RelationDescriptor {
        self.two_way = Some(partner);
        self
    }

    const fn on_delete(mut self, rule: DeleteRule) -> RelationDescriptor {
        self.on_delete = Some(rule);
        self
    }

    /// The same with a declared inverse.
    #[doc(hidden)]
    pub const fn inverse(mut self, name: &'static str, one: bool) -> RelationDescriptor {
        self.inverse = Some(InverseDescriptor { name, one });
        self
    }
}

impl ModelDescriptor {
    /// The fields that refer to other models, its own first, then those of embedded documents, by their paths:
    /// `lines.book`, and `shelves.*.book` for the values of a map.
    pub fn relations(&'static self) -> impl Iterator<Item = DeclaredRelation> {
        let own = self.fields.iter().filter_map(move |field| {
            Some(DeclaredRelation {
                model: self,
                field: field.name,
                stored: field.stored,
                relation: field.relation?,
            })
        });
        own.chain(nested_relations(self).iter().copied())
    }
}

/// The relations of a model and of all models that it reaches, each model once.
pub fn model_graph<M: Model>() -> Vec<DeclaredRelation> {
    let mut models = vec![M::DESCRIPTOR];
    let mut all = Vec::new();
    let mut next = 0;
    while let Some(model) = models.get(next).copied() {
        next += 1;
        for relation in model.relations() {
            for target in (relation.relation.targets)() {
                if !models.iter().any(|known| known.is(target)) {
                    models.push(target);
                }
            }
            all.push(relation);
        }
    }
    all
}

/// Tells whether a field's type refers, without asking the user: as an inherent constant where it does, as that of
/// [`NoRelation`] otherwise.
#[doc(hidden)]
#[derive(Debug)]
pub struct RelationProbe<T>(std::marker::PhantomData<T>);

impl<X: Reference> RelationProbe<X> {
    /// It refers.
    pub const RELATION: Option<RelationDescriptor> = Some(RelationDescriptor::of::<X>());
}

/// What is true of types that do not refer.
#[doc(hidden)]
pub trait NoRelation {
    /// It does not refer.
    const RELATION: Option<RelationDescriptor> = None;
}

impl<T> NoRelation for RelationProbe<T> {}
