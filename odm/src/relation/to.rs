//! Loading what a field refers to.

use std::fmt;
use std::marker::PhantomData;

use bson::{RawDocument, RawDocumentBuf};

use super::key::ReferenceKey;
use super::link::Link;
use super::plan::{Forward, Links, Node, Plan};
use super::reference::Ref;
use super::relation_trait::{Joinable, Relation};
use super::shape::Reference;
use super::shelf::Shelf;
use super::stored::Steps;
use crate::action::projection;
use crate::codec;
use crate::collection::read_rest;
use crate::error::Result;
use crate::lifecycle::{Life, Scope};
use crate::model::{Embedded, Field, Model, Path};
use crate::schema::{RelationKind, names};

/// What the references in a field of `R` refer to: with other relations nested (`N`), decoded as `Q`.
///
/// Made by [`Field::load`], [`Field::project`] and [`Field::from_collection`]. Loading it costs one query for each
/// collection that is referred to.
#[must_use = "a relation does nothing until it is loaded"]
pub struct To<R, X: Reference, Q, N> {
    path: Path,
    decode: Decode<Q>,
    projection: Option<Result<RawDocumentBuf>>,
    collection: Option<String>,
    scope: Scope,
    nested: N,
    marker: PhantomData<fn() -> (R, X)>,
}

type Decode<Q> = fn(&str, &RawDocument) -> Result<Q>;

/// What is given for each target, besides or instead of the target itself.
pub trait Extra<Q: Send>: Send + Sync + 'static {
    /// The target alone, or in a tuple with what is nested.
    type Value: Send;

    #[doc(hidden)]
    fn plan(&self) -> Result<Plan>;

    #[doc(hidden)]
    fn extend(&self, target: Q, shelf: &Shelf, stored: &RawDocument) -> Result<Self::Value>;
}

/// Targets without anything nested.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

/// Targets, each in a tuple with what the relation `N` of `T` gives for it.
#[derive(Debug)]
pub struct Nested<T, N>(N, PhantomData<fn() -> T>);

impl<T, N> Nested<T, N> {
    pub(super) fn new(relation: N) -> Nested<T, N> {
        Nested(relation, PhantomData)
    }
}

impl<Q: Send> Extra<Q> for Alone {
    type Value = Q;

    fn plan(&self) -> Result<Plan> {
        Ok(Plan(Node::Nothing))
    }

    fn extend(&self, target: Q, _shelf: &Shelf, _stored: &RawDocument) -> Result<Q> {
        Ok(target)
    }
}

impl<Q: Send, T: 'static, N: Relation<T>> Extra<Q> for Nested<T, N> {
    type Value = (Q, N::Output);

    fn plan(&self) -> Result<Plan> {
        self.0.plan()
    }

    fn extend(&self, target: Q, shelf: &Shelf, stored: &RawDocument) -> Result<(Q, N::Output)> {
        Ok((target, self.0.take(shelf, stored)?))
    }
}

type Target<X> = <<X as Reference>::Link as Link>::Document;

impl<R, X: Reference> Field<R, X> {
    /// What the field refers to, each target with another relation of its own:
    /// `books.find_all().load(|b| b.publisher.load(|p| p.country))` gives
    /// `(Book, Option<(Publisher, Option<Country>)>)`. One more query, however many targets there are.
    pub fn load<N>(
        &self,
        relation: impl FnOnce(<Target<X> as Embedded>::Fields<Target<X>>) -> N,
    ) -> To<R, X, Target<X>, Nested<Target<X>, N>>
    where
        Target<X>: Model,
        N: Relation<Target<X>>,
    {
        self.referred().nest(relation(Target::<X>::fields()))
    }

    /// What the field refers to, each target with relations that refer back to it; as [`load`](Field::load), with
    /// [`HasMany`](crate::HasMany) and its like.
    pub fn with<N>(&self, relation: N) -> To<R, X, Target<X>, Nested<Target<X>, N>>
    where
        Target<X>: Model,
        N: Relation<Target<X>>,
    {
        self.referred().nest(relation)
    }

    /// What the field refers to, of which only the stored fields of another type are fetched.
    pub fn project<Q: Embedded + Send>(&self) -> To<R, X, Q, Alone>
    where
        Target<X>: Model,
    {
        self.referred().project()
    }

    /// What the field refers to, in another collection of the same model than its own.
    pub fn from_collection(&self, name: impl Into<String>) -> To<R, X, Target<X>, Alone>
    where
        Target<X>: Model,
    {
        self.referred().from_collection(name)
    }

    /// What the field refers to, also when it is softly deleted; otherwise such a target counts as missing, as it does
    /// for a find: `books.find_all().load(|b| b.publisher.with_deleted())`.
    pub fn with_deleted(&self) -> To<R, X, Target<X>, Alone> {
        self.referred().with_deleted()
    }

    /// What the field refers to, also when the `#[odm(scope = ..)]` of its model leaves it out; otherwise such a target
    /// counts as missing, as it does for a find: `books.find_all().load(|b| b.publisher.unscoped())`.
    pub fn unscoped(&self) -> To<R, X, Target<X>, Alone> {
        self.referred().unscoped()
    }

    pub(super) fn referred(&self) -> To<R, X, Target<X>, Alone> {
        To {
            path: self.path().clone(),
            decode: <X::Link as Link>::decode,
            projection: None,
            collection: None,
            scope: Scope::default(),
            nested: Alone,
            marker: PhantomData,
        }
    }
}

impl<R, X: Reference, Q, N> To<R, X, Q, N> {
    /// Fetches only the stored fields of another type, and decodes that.
    pub fn project<P: Embedded + Send>(self) -> To<R, X, P, N>
    where
        Target<X>: Model,
    {
        To {
            path: self.path,
            decode: match names::<P>() {
                Some(_) => |_, document| codec::decode_document(document),
                None => |_, document| read_rest::<Target<X>, P>(document),
            },
            projection: projection::<P>().transpose(),
            collection: self.collection,
            scope: self.scope,
            nested: self.nested,
            marker: PhantomData,
        }
    }

    /// Softly deleted targets too; as [`Field::with_deleted`].
    pub fn with_deleted(mut self) -> Self {
        self.scope.life = Life::All;
        self
    }

    /// Targets that the `#[odm(scope = ..)]` of their model leaves out too; as [`Field::unscoped`].
    pub fn unscoped(mut self) -> Self {
        self.scope.is_lifted = true;
        self
    }

    /// Looks in another collection of the target's model than its own.
    pub fn from_collection(mut self, name: impl Into<String>) -> Self {
        self.collection = Some(name.into());
        self
    }
}

impl<R, X: Reference, Q> To<R, X, Q, Alone> {
    /// The field's path, the collection if it is another one, and which targets count as there.
    pub(super) fn into_parts(self) -> (Path, Option<String>, Scope) {
        (self.path, self.collection, self.scope)
    }

    /// Loads another relation of each target; as [`Field::load`].
    pub fn load<N>(
        self,
        relation: impl FnOnce(<Target<X> as Embedded>::Fields<Target<X>>) -> N,
    ) -> To<R, X, Q, Nested<Target<X>, N>>
    where
        Target<X>: Model,
        N: Relation<Target<X>>,
    {
        self.nest(relation(Target::<X>::fields()))
    }

    fn nest<N>(self, relation: N) -> To<R, X, Q, Nested<Target<X>, N>> {
        To {
            path: self.path,
            decode: self.decode,
            projection: self.projection,
            collection: self.collection,
            scope: self.scope,
            nested: Nested::new(relation),
            marker: PhantomData,
        }
    }
}

impl<R, X, Q, N> Relation<R> for To<R, X, Q, N>
where
    R: 'static,
    X: Reference + 'static,
    Q: Send + 'static,
    N: Extra<Q>,
{
    type Output = X::Output<N::Value>;

    fn plan(&self) -> Result<Plan> {
        Ok(Plan(Node::Forward(Forward {
            path: Steps::of(&self.path)?,
            links: links::<X>(),
            key: Steps::dotted(&<X::Link as Link>::key_path()),
            aim: <X::Link as Link>::aim,
            collection: self.collection.clone(),
            projection: self.projection.clone().transpose()?,
            scope: self.scope,
            nested: Box::new(self.nested.plan()?),
        })))
    }

    fn take(&self, shelf: &Shelf, document: &RawDocument) -> Result<Self::Output> {
        let value = Steps::of(&self.path)?.one(document)?;
        X::assemble(value, &mut |value| {
            let Some(pointer) = <X::Link as Link>::pointer(value)? else {
                return Ok(None);
            };
            let Some((group, stored)) = shelf.referred(&pointer) else {
                return Ok(None);
            };
            let collection = pointer.collection.unwrap_or_default();
            let decoded = (self.decode)(collection, stored);
            let decoded = decoded.map_err(|error| group.target.explain(error, "find"))?;
            self.nested.extend(decoded, &group.nested, stored).map(Some)
        })
    }
}

impl<R, X, T, K, Q, N> Joinable<R> for To<R, X, Q, N>
where
    R: 'static,
    X: Reference<Link = Ref<T, K>> + super::shape::Searchable + 'static,
    T: Model,
    K: ReferenceKey<T>,
    Q: Send + 'static,
    N: Extra<Q>,
{
}

impl<R: 'static, X: Reference + 'static> Relation<R> for Field<R, X> {
    type Output = X::Output<Target<X>>;

    fn plan(&self) -> Result<Plan> {
        self.referred().plan()
    }

    fn take(&self, shelf: &Shelf, document: &RawDocument) -> Result<Self::Output> {
        self.referred().take(shelf, document)
    }
}

impl<R, X, T, K> Joinable<R> for Field<R, X>
where
    R: 'static,
    X: Reference<Link = Ref<T, K>> + super::shape::Searchable + 'static,
    T: Model,
    K: ReferenceKey<T>,
{
}

/// How values of the type are taken apart.
pub(crate) const fn links<X: Reference>() -> Links {
    Links {
        values: |value, give| {
            X::assemble::<()>(value, &mut |value| {
                give(value)?;
                Ok(None)
            })?;
            Ok(())
        },
        pointer: <X::Link as Link>::pointer,
        single: matches!(X::KIND, RelationKind::One),
    }
}

impl<R, X: Reference, Q, N: Clone> Clone for To<R, X, Q, N> {
    fn clone(&self) -> Self {
        To {
            path: self.path.clone(),
            decode: self.decode,
            projection: self.projection.clone(),
            collection: self.collection.clone(),
            scope: self.scope,
            nested: self.nested.clone(),
            marker: PhantomData,
        }
    }
}

impl<T, N: Clone> Clone for Nested<T, N> {
    fn clone(&self) -> Self {
        Nested::new(self.0.clone())
    }
}

impl<R, X: Reference, Q, N> fmt::Debug for To<R, X, Q, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "To({})", self.path)
    }
}
