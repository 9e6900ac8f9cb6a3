//! Which fields of a model refer to which models.

use bson::{RawBson, RawBsonRef};

use super::ModelDescriptor;
use super::nested_relations::{VALUES_OF_FIELD, nested_relations};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Field, Model};
use crate::relation::{
    Aim, DeleteRule, Link, LinkedReference, Links, NullableReference, Ref, Reference, ReferenceList,
    ReferredBy, RuledReference, Step, links,
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
    /// Makes the embedded document that holds the reference, of a two-way reference in an array or a map.
    pub(crate) link: Option<MakeLink>,
    pub(crate) links: Links,
    /// Whether stored references name their collection.
    pub(crate) named: bool,
    pub(crate) aim: fn(Option<&str>) -> Result<Aim>,
}

/// Makes what is stored for a link to what a stored reference refers to.
pub(crate) type MakeLink = fn(RawBsonRef<'_>) -> Result<RawBson>;

/// A reference inside of an embedded document, as `#[odm(reference(..))]` on a model declares it.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct ReferenceDeclaration {
    pub(super) path: String,
    pub(super) relation: RelationDescriptor,
}

impl ReferenceDeclaration {
    /// What is declared of this field.
    pub fn of<R, X: Reference>(field: &Field<R, X>, relation: RelationDescriptor) -> ReferenceDeclaration {
        ReferenceDeclaration {
            path: field.path().declared(),
            relation,
        }
    }
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
    /// The way of a field that is not the model's own.
    pub(super) within: Option<&'static [Step]>,
}

impl DeclaredRelation {
    /// The way to the references, which ends with the array or map of a field that holds several.
    pub(crate) fn steps(&self) -> Vec<Step> {
        if let Some(steps) = self.within {
            return steps.to_vec();
        }
        let mut steps = vec![Step::Name(self.stored.to_owned())];
        match self.relation.kind {
            RelationKind::One => {}
            RelationKind::Many => steps.push(Step::Each),
            RelationKind::Map => steps.push(Step::Values),
        }
        steps
    }

    /// Whether references are to documents of this model, or of an enum one of whose kinds it is.
    pub(crate) fn refers_to(&self, model: &ModelDescriptor) -> bool {
        let targets = (self.relation.targets)();
        let mut targets = targets.iter();
        targets.any(|target| target.is(model) || target.kinds.iter().any(|kind| kind.model.is(model)))
    }
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
            link: None,
            links: links::<X>(),
            named: <X::Link as Link>::NAMED,
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

    /// The embedded document that holds the reference is taken out of its array or map in the document of `C`.
    #[doc(hidden)]
    pub const fn pull_element<X: RuledReference, C>(self) -> RelationDescriptor
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

    /// The same with what makes the embedded document for a new link: the element at a field of an array or a map.
    #[doc(hidden)]
    pub fn link<R, E, X: LinkedReference>(
        mut self,
        _element: &Field<R, E>,
        _make: fn(Ref<X::Target>) -> E,
        stored: fn(RawBsonRef<'_>) -> Result<RawBson>,
    ) -> RelationDescriptor {
        self.link = Some(stored);
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
        let nested = nested_relations(self);
        let own = self.fields.iter().filter_map(move |field| {
            let relation = DeclaredRelation {
                model: self,
                field: field.name,
                stored: field.stored,
                relation: field.relation?,
                within: None,
            };
            // Of a map of references, what is declared of its values says all.
            let values =
                |nested: &DeclaredRelation| nested.stored.strip_prefix(field.stored) == Some(VALUES_OF_FIELD);
            (relation.relation.kind != RelationKind::Map || !nested.iter().any(values)).then_some(relation)
        });
        own.chain(nested.iter().copied())
    }

    /// Whether what is declared of references inside of embedded documents is true of them.
    ///
    /// # Errors
    /// `Schema` for a path at which no reference is found, and for a link that cannot be made.
    pub(crate) fn check_references(&'static self) -> Result<()> {
        let problem = |text: &'static str, path: &str| {
            let error = Error::new(ErrorKind::Schema, text).with_model(self.name);
            Err(error.with_path(path))
        };
        for declared in (self.references)() {
            let path = declared.path.as_str();
            let Some(found) = nested_relations(self).iter().find(|found| found.stored == path) else {
                return problem(
                    "no reference inside of an embedded document is stored at this path",
                    path,
                );
            };
            if found.relation.two_way.is_none() {
                continue;
            }
            let steps = found.steps();
            let containers = steps.iter().filter(|step| !matches!(step, Step::Name(_))).count();
            let is_own = steps.last() == Some(&Step::Each);
            match (containers, is_own, found.relation.link.is_some()) {
                (0, _, true) | (1, true, true) => {
                    return problem(
                        "`link` makes elements of an array or a map, and the reference is in none",
                        path,
                    );
                }
                (1, false, false) => {
                    return problem(
                        "a link in an array or a map needs `link`, which makes its element",
                        path,
                    );
                }
                (2.., ..) => {
                    return problem("a two-way reference is in one array or map, not in several", path);
                }
                _ => {}
            }
        }
        Ok(())
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
