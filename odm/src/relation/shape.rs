//! In which shapes a field can hold references.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::{BuildHasher, Hash};

use bson::{RawBsonRef, RawDocumentBuf};
use serde::de::DeserializeOwned;

use super::delete_rule::{ReferenceList, RuledReference};
use super::link::Link;
use super::place::Step;
use super::stored::{elements, malformed};
use crate::codec;
use crate::error::{Error, ErrorKind, Result};
use crate::schema::RelationKind;

/// A field's type that refers to other documents: one link, or options, lists, sets and maps of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` refers to no other document",
    label = "not a reference",
    note = "what can be loaded is a field of type `Ref<T>` or `DbRef<T>`, an enum that derives `odm::Reference`, or an `Option`, `Vec`, set or map of them"
)]
pub trait Reference {
    /// What one reference is.
    type Link: Link;

    /// What stands for the field when each of its references stands for a `V`: `Option<V>` for one reference, of
    /// which `None` says that nothing is referred to or that it is missing; a list in the stored order for a list.
    type Output<V: Send>: Send;

    /// How many references there can be.
    const KIND: RelationKind;

    /// How many maps the references are in, one in another.
    #[doc(hidden)]
    const MAPS: usize = 0;

    /// Adds the way from a value of the type to its references.
    #[doc(hidden)]
    fn steps(_steps: &mut Vec<Step>) {}

    /// Goes through a stored value of the type.
    #[doc(hidden)]
    fn assemble<V: Send>(
        value: Option<RawBsonRef<'_>>,
        pick: &mut dyn FnMut(RawBsonRef<'_>) -> Result<Option<V>>,
    ) -> Result<Self::Output<V>>;
}

/// References that a filter can search for.
#[diagnostic::on_unimplemented(
    message = "no filter reaches the references in `{Self}`",
    label = "cannot be joined, and takes no rule",
    note = "options, lists and sets of references can be joined, linked and ruled; those in a map's values are loaded: `.load(..)`"
)]
pub trait Searchable: Reference {}

#[diagnostic::do_not_recommend]
impl<L: Link> Reference for L {
    type Link = L;
    type Output<V: Send> = Option<V>;

    const KIND: RelationKind = RelationKind::One;

    fn assemble<V: Send>(
        value: Option<RawBsonRef<'_>>,
        pick: &mut dyn FnMut(RawBsonRef<'_>) -> Result<Option<V>>,
    ) -> Result<Option<V>> {
        match value {
            None | Some(RawBsonRef::Null) => Ok(None),
            Some(value) => pick(value),
        }
    }
}

#[diagnostic::do_not_recommend]
impl<L: Link> Searchable for L {}

impl<X: Reference> Reference for Option<X> {
    type Link = X::Link;
    type Output<V: Send> = X::Output<V>;

    const KIND: RelationKind = X::KIND;
    const MAPS: usize = X::MAPS;

    fn steps(steps: &mut Vec<Step>) {
        X::steps(steps);
    }

    fn assemble<V: Send>(
        value: Option<RawBsonRef<'_>>,
        pick: &mut dyn FnMut(RawBsonRef<'_>) -> Result<Option<V>>,
    ) -> Result<X::Output<V>> {
        X::assemble(value, pick)
    }
}

impl<X: Searchable> Searchable for Option<X> {}

impl<X: ReferenceList> ReferenceList for Option<X> where Option<X>: RuledReference {}

macro_rules! growing {
    ($([$($generics:tt)*] $list:ty;)*) => {$(
        impl<X: Reference, $($generics)*> ReferenceList for $list where $list: RuledReference {}
    )*};
}

growing! {
    [] Vec<X>;
    [] VecDeque<X>;
    [] LinkedList<X>;
    [] BTreeSet<X>;
    [S] HashSet<X, S>;
}

macro_rules! lists {
    ($([$($generics:tt)*] $list:ty;)*) => {$(
        impl<X: Reference, $($generics)*> Reference for $list {
            type Link = X::Link;
            type Output<V: Send> = Vec<X::Output<V>>;

            const KIND: RelationKind = RelationKind::Many;
            const MAPS: usize = X::MAPS;

            fn steps(steps: &mut Vec<Step>) {
                steps.push(Step::Each);
                X::steps(steps);
            }

            fn assemble<V: Send>(
                value: Option<RawBsonRef<'_>>,
                pick: &mut dyn FnMut(RawBsonRef<'_>) -> Result<Option<V>>,
            ) -> Result<Vec<X::Output<V>>> {
                list::<X, V>(value, pick)
            }
        }

        impl<X: Searchable, $($generics)*> Searchable for $list {}
    )*};
}

lists! {
    [] Vec<X>;
    [] VecDeque<X>;
    [] LinkedList<X>;
    [] BTreeSet<X>;
    [S] HashSet<X, S>;
    [const N: usize] [X; N];
}

fn list<X: Reference, V: Send>(
    value: Option<RawBsonRef<'_>>,
    pick: &mut dyn FnMut(RawBsonRef<'_>) -> Result<Option<V>>,
) -> Result<Vec<X::Output<V>>> {
    let mut all = Vec::new();
    match value {
        None | Some(RawBsonRef::Null) => {}
        Some(RawBsonRef::Array(array)) => elements(array, &mut |element| {
            all.push(X::assemble(Some(element), pick)?);
            Ok(())
        })?,
        Some(_) => {
            return Err(Error::new(
                ErrorKind::Decode,
                "a list of references is not stored as an array",
            ));
        }
    }
    Ok(all)
}

impl<K: Ord + DeserializeOwned + Send, X: Reference> Reference for BTreeMap<K, X> {
    type Link = X::Link;
    type Output<V: Send> = BTreeMap<K, X::Output<V>>;

    const KIND: RelationKind = RelationKind::Map;
    const MAPS: usize = X::MAPS + 1;

    fn steps(steps: &mut Vec<Step>) {
        steps.push(Step::Values);
        X::steps(steps);
    }

    fn assemble<V: Send>(
        value: Option<RawBsonRef<'_>>,
        pick: &mut dyn FnMut(RawBsonRef<'_>) -> Result<Option<V>>,
    ) -> Result<BTreeMap<K, X::Output<V>>> {
        keyed(value, &mut |value| X::assemble(Some(value), pick))
    }
}

impl<K, X, S> Reference for HashMap<K, X, S>
where
    K: Hash + Eq + DeserializeOwned + Send,
    X: Reference,
    S: BuildHasher + Default + Send,
{
    type Link = X::Link;
    type Output<V: Send> = HashMap<K, X::Output<V>, S>;

    const KIND: RelationKind = RelationKind::Map;
    const MAPS: usize = X::MAPS + 1;

    fn steps(steps: &mut Vec<Step>) {
        steps.push(Step::Values);
        X::steps(steps);
    }

    fn assemble<V: Send>(
        value: Option<RawBsonRef<'_>>,
        pick: &mut dyn FnMut(RawBsonRef<'_>) -> Result<Option<V>>,
    ) -> Result<HashMap<K, X::Output<V>, S>> {
        keyed(value, &mut |value| X::assemble(Some(value), pick))
    }
}

/// The entries of a stored map, their keys read as the map's own are.
pub(super) fn keyed<K, O, C>(
    value: Option<RawBsonRef<'_>>,
    give: &mut dyn FnMut(RawBsonRef<'_>) -> Result<O>,
) -> Result<C>
where
    K: DeserializeOwned,
    C: Default + Extend<(K, O)>,
{
    let document = match value {
        None | Some(RawBsonRef::Null) => return Ok(C::default()),
        Some(RawBsonRef::Document(document)) => document,
        Some(_) => {
            return Err(Error::new(
                ErrorKind::Decode,
                "a map of references is not stored as a document",
            ));
        }
    };
    let mut all = C::default();
    for field in document {
        let (name, value) = field.map_err(malformed)?;
        let mut key = RawDocumentBuf::new();
        key.append(name, true);
        let keys: Keys<K> = codec::decode_document(&key)?;
        let value = give(value)?;
        all.extend(keys.0.map(|key| (key, value)));
    }
    Ok(all)
}

/// The key of a document of one entry, read as a map's key.
struct Keys<K>(Option<K>);

impl<'de, K: serde::Deserialize<'de>> serde::Deserialize<'de> for Keys<K> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Keys<K>, D::Error> {
        struct First<K>(std::marker::PhantomData<K>);

        impl<'de, K: serde::Deserialize<'de>> serde::de::Visitor<'de> for First<K> {
            type Value = Keys<K>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Keys<K>, A::Error> {
                let entry = map.next_entry::<K, serde::de::IgnoredAny>()?;
                Ok(Keys(entry.map(|(key, _)| key)))
            }
        }

        deserializer.deserialize_map(First(std::marker::PhantomData))
    }
}
