//! Relations of embedded documents.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use bson::{RawBsonRef, RawDocument};
use serde::de::DeserializeOwned;

use super::plan::{Node, Plan};
use super::relation_trait::{Joinable, Relation};
use super::shape::keyed;
use super::shelf::Shelf;
use super::stored::{Steps, elements};
use crate::error::Result;
use crate::model::{ArrayType, Embedded, Field, MapKey, MapType, Path};

/// A relation of each document that is embedded in an array: a list in the order of the elements. Made by
/// [`Field::every`].
#[must_use = "a relation does nothing until it is loaded"]
pub struct Every<R, E, N> {
    path: Path,
    relation: N,
    marker: PhantomData<fn() -> (R, E)>,
}

/// A relation of each document that is a value of a map: a map with the same keys. Made by [`Field::values`].
#[must_use = "a relation does nothing until it is loaded"]
pub struct Values<R, K, E, N> {
    path: Path,
    relation: N,
    marker: PhantomData<fn(R, K) -> E>,
}

impl<R, T> Field<R, T> {
    /// A relation of each embedded document of this array: `orders.find_all().load(|o| o.items.every(|i| i.product))`
    /// gives `(Order, Vec<Option<Product>>)`, in the order of the items.
    pub fn every<N>(
        &self,
        relation: impl FnOnce(<T::Item as Embedded>::Fields<T::Item>) -> N,
    ) -> Every<R, T::Item, N>
    where
        T: ArrayType<Item: Embedded>,
        N: Relation<T::Item>,
    {
        Every {
            path: self.path().clone(),
            relation: relation(<T::Item as Embedded>::fields_at(Path::root())),
            marker: PhantomData,
        }
    }

    /// A relation of each embedded document that is a value of this map:
    /// `houses.find_all().load(|h| h.rooms.values(|r| r.owner))` gives `(House, BTreeMap<String, Option<Person>>)`.
    pub fn values<N>(
        &self,
        relation: impl FnOnce(<T::Value as Embedded>::Fields<T::Value>) -> N,
    ) -> Values<R, T::Key, T::Value, N>
    where
        T: MapType<Value: Embedded> + MapKey,
        N: Relation<T::Value>,
    {
        Values {
            path: self.path().clone(),
            relation: relation(<T::Value as Embedded>::fields_at(Path::root())),
            marker: PhantomData,
        }
    }
}

fn plan(path: &Path, map: bool, inner: Plan) -> Result<Plan> {
    Ok(Plan(Node::Inside {
        path: Steps::of(path)?,
        map,
        inner: Box::new(inner.of_embedded()),
    }))
}

impl<R: 'static, E: 'static, N: Relation<E>> Relation<R> for Every<R, E, N> {
    type Output = Vec<N::Output>;

    fn plan(&self) -> Result<Plan> {
        plan(&self.path, false, self.relation.plan()?)
    }

    fn take(&self, shelf: &Shelf, document: &RawDocument) -> Result<Vec<N::Output>> {
        let mut all = Vec::new();
        if let Some(RawBsonRef::Array(array)) = Steps::of(&self.path)?.one(document)? {
            elements(array, &mut |element| {
                all.push(self.relation.take(shelf.inside(), embedded(element)?)?);
                Ok(())
            })?;
        }
        Ok(all)
    }
}

impl<R: 'static, E: 'static, N: Joinable<E>> Joinable<R> for Every<R, E, N> {}

impl<R, K, E, N> Relation<R> for Values<R, K, E, N>
where
    R: 'static,
    K: Ord + DeserializeOwned + Send + 'static,
    E: 'static,
    N: Relation<E>,
{
    type Output = BTreeMap<K, N::Output>;

    fn plan(&self) -> Result<Plan> {
        plan(&self.path, true, self.relation.plan()?)
    }

    fn take(&self, shelf: &Shelf, document: &RawDocument) -> Result<BTreeMap<K, N::Output>> {
        keyed(Steps::of(&self.path)?.one(document)?, &mut |value| {
            self.relation.take(shelf.inside(), embedded(value)?)
        })
    }
}

/// The embedded document; one without fields where there is null, or a variant of an enum that is nothing but its name.
fn embedded(value: RawBsonRef<'_>) -> Result<&RawDocument> {
    match value {
        RawBsonRef::Document(document) => Ok(document),
        _ => RawDocument::from_bytes(&[5, 0, 0, 0, 0]).map_err(super::stored::malformed),
    }
}

impl<R, E, N> fmt::Debug for Every<R, E, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Every({})", self.path)
    }
}

impl<R, K, E, N> fmt::Debug for Values<R, K, E, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Values({})", self.path)
    }
}
